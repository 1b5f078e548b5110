"""How processes of ours start: one module says it, and none imports from the folder it is started in."""

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.tables import for_each
from tuibench.base.own_process import SEARCHED, leave_current_folder, own_command

PLANTED = (
    "random",
    "queue",
    "msgspec",
    "contextlib",
    "asyncio/__init__",
    "tuibench/__init__",
    "tuibench_native",
)
"""Modules of a neighbour in the current folder."""
AT_THE_START = ("contextlib", "tuibench/__init__")
"""What `python -m tuibench` imports before anything of ours."""
UNREACHABLE = ("doctor", "--host=127.0.0.1", "--port=1")


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder has modules of a neighbour. The file has the names of those that ran."""
    folder, ran = tmp_path / "planted", tmp_path / "ran"
    for name in PLANTED:
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"with open({str(ran)!r}, 'a') as ran: ran.write(__name__ + ' ')\n")
    monkeypatch.chdir(folder)
    ran.touch()
    return ran


def run(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_no_process_of_ours_imports_from_the_current_folder(ran: Path) -> None:
    """Each is started without its request, and ends at once. The times of its imports show that it ran."""
    for module, argument in (
        ("tuibench", "--version"),
        ("tuibench", "agent"),
        ("tuibench.load.worker", "0"),
        ("tuibench.session.service", ""),
        ("tuibench.tuning.guardian", ""),
        ("tuibench.servers.supervisor", "0"),
    ):
        done = run([*own_command(module, *filter(None, (argument,)))], PYTHONPROFILEIMPORTTIME="1")
        assert "tuibench._version" in done.stderr, (module, done.stderr)
        assert ran.read_text() == "", module


@pytest.mark.parametrize("word", ["-psecret", "--password=secret"])
def test_what_inherits_the_password_does_not_either(ran: Path, word: str) -> None:
    done = run([*own_command("tuibench", *UNREACHABLE, word)])
    assert (done.returncode, ran.read_text()) == (3, ""), done.stderr


def test_nor_does_the_program_that_python_runs_as_a_module(ran: Path) -> None:
    """Apart from what comes before its first line."""
    for name in AT_THE_START:
        Path(f"{name}.py").unlink()
    Path("tuibench").rmdir()
    done = run([sys.executable, "-m", "tuibench", *UNREACHABLE, "-psecret"])
    assert (done.returncode, ran.read_text()) == (3, ""), done.stderr


@for_each(
    ("variable", "left", "searched"),
    [
        (None, None, ["/lib"]),
        ("/a:/b", "/a:/b", ["/a", "/b", "/lib"]),
        (":/a", "/a", ["/a", "/lib"]),
        ("/a:", "/a", ["/a", "/lib"]),
        (":/a:{here}", "/a:{here}", ["{here}", "/a", "/lib"]),
        (".:/a", ".:/a", ["{here}", "/a", "/lib"]),
    ],
)
def test_an_empty_element_of_the_path_is_left_out_and_a_named_one_kept(
    variable: str | None,
    left: str | None,
    searched: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python has made one element of the current folder, at its first place, when the program begins."""
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    elements = [] if variable is None else variable.format(here=here).split(":")
    monkeypatch.delenv(SEARCHED, raising=False)
    if variable is not None:
        monkeypatch.setenv(SEARCHED, variable.format(here=here))
    monkeypatch.setattr(sys, "path", [here, *dict.fromkeys(map(os.path.abspath, elements)), "/lib"])
    leave_current_folder()
    assert os.environ.get(SEARCHED) == (left and left.format(here=here))
    assert sys.path == [each.format(here=here) for each in searched]


def test_one_module_names_the_interpreter() -> None:
    """Others would forget what keeps the current folder out."""
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tuibench").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr in ("executable", "_base_executable", "orig_argv"))
        or (
            isinstance(node, ast.Import | ast.ImportFrom)
            and {"multiprocessing", "concurrent.futures.process"}
            & {getattr(node, "module", ""), *(each.name for each in node.names)}
        )
        or (isinstance(node, ast.Name) and node.id == "ProcessPoolExecutor")
    }
    assert found == {"tuibench/base/own_process.py"}
