"""Mistakes in the command line of a price list end before a server is started."""

import pytest

from tests.unit.cli.program import Program
from tuibench.base.errors import ExitCode


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "missing argument 'profile'"),
        (("oltp_read_only", "--cycles=1"), "--cycles"),
        (("oltp_read_only", "--window=0.1"), "--window"),
        (("oltp_read_only", "--disk=sync=2ms"), "no 'sync'"),
        (("oltp_read_only", "--format=yaml"), "--format"),
        (("oltp_raed_only",), "oltp_read_only"),
    ],
)
def test_a_mistake_is_named(tuibench: Program, words: tuple[str, ...], message: str) -> None:
    ended = tuibench("prices", *words)
    assert ended.code == ExitCode.USAGE_ERROR
    assert message in ended.err
    assert "starting a private server" not in ended.err
    assert ended.out == ""
