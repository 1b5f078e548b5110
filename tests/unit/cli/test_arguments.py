"""Command lines before the parser: spellings, and passwords that must not stay on them."""

import os
import sys
from collections.abc import Sequence

import pytest

from tuibench.cli.arguments import (
    PASSWORD_PIPE,
    inherited_password,
    normalised,
    unknown_command,
    without_password,
)
from tuibench.errors import UsageError


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["run", "--table_size=1000"], ["run", "--table-size=1000"]),
        (["--mysql_host", "my_host"], ["--mysql-host", "my_host"]),
        (["--rand_type=a_b"], ["--rand-type=a_b"]),
        (["run", "oltp_read_write", "-u", "my_user"], ["run", "oltp_read_write", "-u", "my_user"]),
        (["-P", "3306", "-p"], ["-P", "3306", "-p"]),
        (["--percentile=99", "--port=1"], ["--percentile=99", "--port=1"]),
        ([], []),
    ],
)
def test_underscores_in_option_names_are_dashes_and_nothing_else_is_touched(
    given: list[str], meant: list[str]
) -> None:
    assert normalised(given) == meant


@pytest.mark.parametrize(
    ("given", "password", "rest"),
    [
        (["run", "-psecret", "x"], "secret", ["run", "x"]),
        (["--password=s=t", "x"], "s=t", ["x"]),
        (["--mysql-password", "secret", "x"], "secret", ["x"]),
        (["--mysql-password=secret"], "secret", []),
        (["--password="], "", []),
        (["--password"], "", []),
        (["--password=a", "-pb"], "b", []),
        (["-p", "run"], None, ["-p", "run"]),
        (["-P3306", "--port=1", "--percentile=1"], None, ["-P3306", "--port=1", "--percentile=1"]),
    ],
)
def test_a_password_is_found_in_every_spelling(
    given: list[str], password: str | None, rest: list[str]
) -> None:
    assert without_password(given) == (password, rest)


class StartedAnewError(Exception):
    """The program was started anew."""


@pytest.mark.parametrize(
    "given",
    [
        ["run", "--mysql_password=sé cret", "x"],
        ["run", "-psé cret", "x"],
        ["run", "--password", "sé cret", "x"],
    ],
)
def test_a_password_leaves_the_command_line_through_a_pipe(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[Sequence[str]] = []

    def execv(program: str, arguments: Sequence[str]) -> None:
        started.append([program, *arguments])
        raise StartedAnewError

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setenv(PASSWORD_PIPE, "")
    with pytest.raises(StartedAnewError):
        normalised(given)
    assert started == [[sys.executable, sys.executable, "-m", "tuibench", "run", "x"]]
    assert "sé cret" not in "".join(os.environ.values())
    assert os.get_inheritable(int(os.environ[PASSWORD_PIPE]))
    assert inherited_password() == "sé cret"
    assert inherited_password() is None
    said = capsys.readouterr().err
    assert "visible to others" in said
    assert "sé cret" not in said


def test_an_empty_password_is_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """sysbench's users write --mysql-password= where there is none."""
    monkeypatch.setattr(os, "execv", lambda *_: None)
    monkeypatch.setenv(PASSWORD_PIPE, "")
    normalised(["run", "--mysql-password=", "x"])
    assert inherited_password() == ""
    assert capsys.readouterr().err == ""


def test_without_a_first_start_there_is_no_password_to_inherit() -> None:
    assert inherited_password() is None


@pytest.mark.parametrize(
    ("name", "hint"),
    [("rnu", "did you mean 'run'?"), ("prepar", "did you mean 'prepare'?"), ("xyz", "--help")],
)
def test_an_unknown_command_is_told_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"no command '{name}'") as caught:
        unknown_command(name, ["run", "prepare", "live"])
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (["run", "--password=s\udcfcss"], "argument 2 (--password) is not valid UTF-8"),
        (["run", "-ps\udcfcss"], "argument 2 is not valid UTF-8"),
        (["\udcff"], "argument 1 is not valid UTF-8"),
    ],
)
def test_bytes_that_are_no_text_are_refused_and_not_shown(given: list[str], where: str) -> None:
    with pytest.raises(UsageError) as caught:
        normalised(given)
    assert caught.value.message == where
