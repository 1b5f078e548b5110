"""How private servers are set up by options."""

from pathlib import Path

import pytest

from tuibench.cli.options.private_server_options import PrivateServerOptions, server_option
from tuibench.demo.binaries import Binary
from tuibench.errors import UsageError
from tuibench.model.notation import parse_size
from tuibench.model.server import Flavour, ServerLimits

BINARY = Binary(path="/x/mysqld", flavour=Flavour.MYSQL, version="8.4.3")


def test_options_given_win_over_those_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nsync_binlog=0\nport=3306\n")
    options = PrivateServerOptions(my_cnf=str(file), mysqld_option=["--sync_binlog=100", "skip-log-bin"])
    assert options.server_options(BINARY) == ("--sync-binlog=0", "--sync_binlog=100", "--skip-log-bin")
    assert options.left_out(BINARY) == ("port",)


def test_nothing_given() -> None:
    options = PrivateServerOptions()
    assert options.server_options(BINARY) == options.left_out(BINARY) == ()
    assert options.limits() == ServerLimits()


def test_limits() -> None:
    one = ServerLimits(cpus=1, memory_bytes=2**30)
    assert PrivateServerOptions(cpus="1", memory="1G").limits() == one


def test_several_limits_in_a_sweep() -> None:
    options = PrivateServerOptions(cpus="0.5, 1", memory="512M,1G")
    assert options.every_limit() == [
        ServerLimits(cpus=cpus, memory_bytes=size) for cpus in (0.5, 1) for size in (2**29, 2**30)
    ]
    with pytest.raises(UsageError, match="take one value each here"):
        options.limits()
    assert PrivateServerOptions().every_limit() == [ServerLimits()]


@pytest.mark.parametrize(
    ("cpus", "memory", "said"),
    [
        ("many", "", "--cpus: 'many' is not a number"),
        ("nan", "", "--cpus must be between"),
        ("1,", "", "--cpus takes values separated by commas"),
        ("1,1", "", "--cpus: 1 is given twice"),
        ("1,1.0", "", "name the same limits twice"),
        ("", "1G,1024M", "name the same limits twice"),
        ("", "1G,lots", "--memory: 'lots' is not a size"),
    ],
)
def test_limits_that_are_none(cpus: str, memory: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        PrivateServerOptions(cpus=cpus, memory=memory).every_limit()


@pytest.mark.parametrize("memory", ["many", "-1G", "1 G", ""])
def test_no_size(memory: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(memory)


def test_a_memory_that_is_none() -> None:
    with pytest.raises(UsageError, match="--memory: 'lots' is not a size"):
        PrivateServerOptions(memory="lots").limits()


@pytest.mark.parametrize(("text", "size"), [("4G", 2**32), ("512m", 2**29), ("1.5GiB", 3 * 2**29), ("7", 7)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "--", "=5", "a b=1", "--x;rm=1"])
def test_no_option(text: str) -> None:
    with pytest.raises(UsageError, match="--mysqld-option takes NAME=VALUE"):
        server_option(text)
