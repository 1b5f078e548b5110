"""The program for the tests of this folder."""

import pytest

from tests.unit.cli.program import Program


@pytest.fixture
def tuibench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)
