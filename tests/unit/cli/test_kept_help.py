"""Pages of help that are kept: the same text, for as long as the sources are the same."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.program import Program
from tuibench.cli import kept_help, main

PAGE = "Usage: tuibench run\n\nOptions:\n  ±5%"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Pages of these tests are kept here, made from a copy of two sources."""
    package = tmp_path / "package"
    (package / "cli").mkdir(parents=True)
    (package / "cli" / "first.py").write_text("first = 1\n")
    (package / "second.py").write_text("second = 2\n")
    monkeypatch.setattr(kept_help, "_PACKAGE", str(package))
    monkeypatch.setattr(
        kept_help, "_path", lambda command, width: str(tmp_path / "pages" / f"{command}-{width}.txt")
    )
    monkeypatch.setattr(kept_help, "_imported_sources", lambda: ["cli/first.py", "second.py"])
    return package


def test_a_page_is_kept_for_its_width() -> None:
    assert kept_help.kept("run", 80) is None
    kept_help.keep("run", 80, PAGE)
    assert kept_help.kept("run", 80) == PAGE
    assert kept_help.kept("run", 100) is None
    assert kept_help.kept("live", 80) is None


@pytest.mark.parametrize("source", ["cli/first.py", "second.py"])
def test_a_page_is_valid_while_its_sources_are(folder: Path, source: str) -> None:
    kept_help.keep("run", 80, PAGE)
    text = (folder / source).read_text()
    (folder / source).write_text(text.replace("=", "+="))
    assert kept_help.kept("run", 80) is None
    (folder / source).write_text(text)
    assert kept_help.kept("run", 80) == PAGE
    (folder / source).unlink()
    assert kept_help.kept("run", 80) is None


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-1], lambda text: text[30:], lambda text: "x", str.upper]
)
def test_a_damaged_page_is_not_printed(tmp_path: Path, damage: object) -> None:
    kept_help.keep("run", 80, PAGE)
    file = tmp_path / "pages" / "run-80.txt"
    file.write_text(damage(file.read_text()))  # type: ignore[operator]
    assert kept_help.kept("run", 80) is None


def test_a_page_that_cannot_be_kept_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("a file where the folder should be")
    kept_help.keep("run", 80, PAGE)
    assert kept_help.kept("run", 80) is None


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("--help", ""),
        ("run --help", "run"),
        ("help run", "run"),
        ("run", None),
        ("run --help --time=5", None),
        ("../x --help", None),
        ("help --version", None),
        ("", None),
    ],
)
def test_what_a_line_asks_for(line: str, command: str | None) -> None:
    assert kept_help.asked_page(line.split()) == command


@pytest.mark.parametrize(
    ("columns", "width"), [("80", 80), ("200", 100), ("60", 60), ("x", 80), ("", 80), ("-3", 80)]
)
def test_the_width_is_that_of_the_parser(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert kept_help.page_width() == width == min(shutil.get_terminal_size().columns, 100)


def test_the_program_keeps_what_it_printed(tuibench: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    out = tuibench("cleanup", "--help").out
    assert (
        kept_help.kept("cleanup", 80) == out.removesuffix("\n") == main.help_page(main.program(), "cleanup")
    )
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    tuibench("check", "--help")
    assert kept_help.kept("check", 80) is None


# A fresh interpreter


def instructions(*command: str, **environment: str) -> int:
    """What a program executes in its own process, by valgrind."""
    done = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", **environment},
    )
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    assert found, done.stderr
    return int(found[1].replace(",", ""))


def test_a_kept_page_needs_no_parser(tmp_path: Path) -> None:
    """The second time, the help of a run costs less than the import of typer."""
    environment = {"PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"), "COLUMNS": "97"}
    help = (sys.executable, "-P", "-X", "importtime", "-m", "tuibench", "run", "--help")
    first, second = (
        subprocess.run(help, capture_output=True, text=True, check=True, env=environment) for _ in range(2)
    )
    assert first.stdout == second.stdout
    assert first.stdout.startswith("Usage: tuibench run ")
    assert re.search(r"\btyper$", first.stderr, re.MULTILINE)
    assert not re.search(r"\b(typer|msgspec|tuibench\.model.*)$", second.stderr, re.MULTILINE)


@pytest.mark.whole
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="counts instructions by valgrind")
def test_a_kept_page_costs_less_than_the_import_of_the_parser(tmp_path: Path) -> None:
    environment = {"PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode"), "COLUMNS": "97"}
    help = (sys.executable, "-P", "-m", "tuibench", "run", "--help")
    subprocess.run(help, capture_output=True, check=True, env=environment)
    parser = instructions(sys.executable, "-c", "import typer", **environment)
    assert instructions(*help, **environment) <= 0.5 * parser
