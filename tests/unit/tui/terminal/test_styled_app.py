"""When a terminal gets plain characters, and that then it gets no others."""

import io

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from tuibench.tui.terminal.styled_app import ascii_driver, needs_ascii


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, False),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, True),
        ({"LANG": "en_US.UTF-8", "TERM": "linux"}, True),
    ],
)
def test_the_locale_and_the_terminal_decide(
    environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LC_ALL", "LC_CTYPE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.__stdout__", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    assert needs_ascii() is expected


def test_a_plain_driver_sends_ascii_in_as_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "write", lambda _, data: sent.append(data))
    driver = object.__new__(ascii_driver(HeadlessDriver))
    driver.write("\x1b[1m╭─ Help ─╮▸ ● ↑ é 🔎")
    assert sent == ["\x1b[1m+- Help -+> * ^ ? > "]
