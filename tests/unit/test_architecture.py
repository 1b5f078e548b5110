"""What no linter checks: which processes stay light, and what every file says of itself."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tuibench

PACKAGE = Path(tuibench.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


def imported_by(*modules: str) -> set[str]:
    """All modules that a fresh interpreter holds after importing these, and their top-level names."""
    statement = f"import sys, {', '.join(modules)}; print(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    found = done.stdout.split()
    return {*found, *(name.partition(".")[0] for name in found)}


@pytest.mark.parametrize(
    "modules",
    [
        ("tuibench.load.workers.worker",),
        ("tuibench.session.service.service", "tuibench.tuning.undo.guardian"),
    ],
)
def test_processes_without_a_screen_load_nothing_to_draw_with(modules: tuple[str, ...]) -> None:
    loaded = imported_by(*modules)
    assert "tuibench" in loaded
    assert not loaded & {"textual", "rich", "click"}


def test_a_viewer_loads_what_it_draws_with_and_nothing_that_drives_or_records() -> None:
    """All of it stands between the command and its first picture."""
    loaded = imported_by("tuibench.cli.main", "tuibench.cli.commands.attach", "tuibench.tui.viewer")
    assert {"textual", "tuibench.session.service.client"} <= loaded
    rooms = (
        "load",
        "mysql",
        "observe",
        "tuning",
        "demo",
        "session.load_run",
        "session.watcher",
        "session.replay",
        "record.files.run",
    )
    assert not loaded & {f"tuibench.{room}" for room in rooms}
    assert not loaded & {
        "asyncmy",
        "cryptography",
        "hdrh",
        "prometheus_client",
        "psutil",
        "pydantic",
        "uvloop",
    }


def test_there_is_something_to_check() -> None:
    assert len(FILES) > 80


def test_a_file_says_what_it_is_for() -> None:
    silent = [
        str(path) for path in FILES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
