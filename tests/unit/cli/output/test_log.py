"""Messages on stderr: whole, and none that pretends to be another one."""

import pytest

from tuibench.cli.output.log import failure, info


def test_the_lines_of_a_failure_are_lines_and_those_of_others_are_indented(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failure("mariadbd did not start; its log ends:\n  [ERROR] no space left\nwarning: \x1b[31mall is lost")
    assert capsys.readouterr().err == (
        "tuibench: mariadbd did not start; its log ends:\n"
        "  [ERROR] no space left\n"
        "  warning: \\x1b[31mall is lost\n"
    )


def test_a_message_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    info("a\nb")
    assert capsys.readouterr().err == "a\\nb\n"
