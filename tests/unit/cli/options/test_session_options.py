"""`--prometheus`: the addresses it takes, and what is said of others."""

import socket

import pytest

from tests.unit.cli.program import Program
from tuibench.cli.options.session_options import MetricsOptions, parse_address
from tuibench.errors import RunError, UsageError
from tuibench.session.spec import Address


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (":9104", Address("127.0.0.1", 9104)),
        ("9104", Address("127.0.0.1", 9104)),
        ("10.0.0.1:0", Address("10.0.0.1", 0)),
        ("monitor.example:65535", Address("monitor.example", 65535)),
        ("[::1]:9104", Address("::1", 9104)),
    ],
)
def test_an_address(text: str, wanted: Address) -> None:
    assert parse_address(text) == wanted
    assert MetricsOptions(text).address == wanted
    assert parse_address(str(wanted)) == wanted


@pytest.mark.parametrize("text", [":", "host:", ":65536", ":-1", "::1:9104", "[host]:9104", ":http", "host"])
def test_what_is_none_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="--prometheus takes") as error:
        parse_address(text)
    assert ":9104" in error.value.hint


def test_without_it_nothing_is_served() -> None:
    assert MetricsOptions().address is None
    MetricsOptions().check_port_free()


def test_a_port_that_is_taken_is_noticed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RunError, match=f"cannot serve metrics at 127.0.0.1:{port}"):
            MetricsOptions(f":{port}").check_port_free()


@pytest.mark.parametrize("command", ["run oltp_read_only", "live oltp_read_only --detach", "demo --headless"])
def test_a_bad_address_is_wrong_usage(tuibench: Program, command: str) -> None:
    ended = tuibench(*command.split(), "--prometheus", "nonsense")
    assert (ended.code, ended.out) == (2, "")
    assert "--prometheus takes [HOST]:PORT, not 'nonsense'" in ended.err
