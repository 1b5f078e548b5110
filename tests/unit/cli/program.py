"""The program in this process, as a script meets it: exit code, stdout, stderr."""

import sys
from typing import NamedTuple

import pytest

from tuibench.cli import main as program


class Ended(NamedTuple):
    code: int | str | None
    out: str
    err: str


class Program:
    """Runs a command line to its end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ended:
        self._monkeypatch.setattr(sys, "argv", ["tuibench", *arguments])
        with pytest.raises(SystemExit) as ending:
            program.main()
        captured = self._capsys.readouterr()
        return Ended(ending.value.code, captured.out, captured.err)
