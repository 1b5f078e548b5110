"""Runs and sweeps together: which there are, how far a sweep is, which of all is meant."""

import errno
from pathlib import Path

import pytest

from tests import sweeps
from tests.unit.record.written import written
from tuibench import paths
from tuibench.errors import RunError, UsageError
from tuibench.record.files import store
from tuibench.record.files.sweep_folder import SweepFolder
from tuibench.session.sweep.matrix import all_cells

RUN, WHOLE, HALF = (
    "20231114-100000-oltp_insert",
    "20231115-090000-oltp_read_only",
    "20231115-120000-oltp_insert",
)
CELL = "001-oltp_insert-durable-4-threads-1"


def sweep_folder(name: str, cells: int) -> SweepFolder:
    folder = SweepFolder.create(paths.sweeps_dir() / name, sweeps.record())
    for result in sweeps.sweep().results[:cells]:
        folder.add(result)
    return folder


@pytest.fixture
def recorded(tuibench_home: Path) -> Path:
    """A run, a whole sweep with the record of one cell, and one that was cut short."""
    written(paths.runs_dir() / RUN)
    for name, cells in ((WHOLE, 8), (HALF, 3)):
        sweep_folder(name, cells).close()
    written(paths.sweeps_dir() / WHOLE / "cells" / CELL)
    return paths.sweeps_dir()


def test_the_list_has_runs_and_sweeps(recorded: Path) -> None:
    lines = {line.id: line for line in store.list_recorded()}
    assert set(lines) == {RUN, WHOLE, HALF}
    run, whole, half = lines[RUN], lines[WHOLE], lines[HALF]
    assert (run.kind, run.cells, run.cells_done) == ("run", None, None)
    assert (whole.kind, whole.outcome, whole.cells_done, whole.cells) == ("sweep", "done", 8, 8)
    assert (half.outcome, half.cells_done, half.cells) == ("cut short", 3, 8)
    assert (half.profile, half.seconds) == ("oltp_write_only", 24.0)
    assert half.transactions_per_second is None
    assert whole.bytes > half.bytes > 0


def test_a_failed_cell_is_not_done(tuibench_home: Path) -> None:
    folder = sweep_folder(HALF, 7)
    folder.add(sweeps.failed(all_cells(sweeps.PLAN)[7]))
    folder.close()
    (line,) = store.list_recorded()
    assert (line.outcome, line.cells_done) == ("cut short", 7)


def test_a_damaged_sweep_says_so_and_hides_nothing(recorded: Path) -> None:
    (recorded / HALF / "sweep.json").write_text("{")
    lines = {line.id: line for line in store.list_recorded()}
    assert "is damaged" in lines[HALF].error
    assert lines[WHOLE].error == ""


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (WHOLE, WHOLE),
        ("090000", WHOLE),
        ("read_only", WHOLE),
        (f"{WHOLE}/{CELL}", f"{WHOLE}/cells/{CELL}"),
        ("read_only/001", f"{WHOLE}/cells/{CELL}"),
        (f"{WHOLE}/cells/001", f"{WHOLE}/cells/{CELL}"),
        (RUN, f"../runs/{RUN}"),
        ("latest", f"../runs/{RUN}"),
    ],
)
def test_what_is_meant(recorded: Path, wanted: str, found: str) -> None:
    assert store.find_recorded(wanted).resolve() == (recorded / found).resolve()


def test_a_path_is_taken_as_it_is(recorded: Path) -> None:
    assert store.find_recorded(str(recorded / WHOLE)) == recorded / WHOLE
    cell = recorded / WHOLE / "cells" / CELL
    assert store.find_run(str(cell)) == cell


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("insert", "may be any of"),
        ("2023111", "may be any of"),
        ("nothing", "there is no run 'nothing'"),
        (f"{WHOLE}/002", "has no cell '002'"),
        ("nothing/001", "there is no run 'nothing/001'"),
    ],
)
def test_what_is_not_or_not_clear(recorded: Path, wanted: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        store.find_recorded(wanted)


@pytest.mark.parametrize("wanted", [WHOLE, "read_only", "path"])
def test_a_sweep_is_no_run(recorded: Path, wanted: str) -> None:
    with pytest.raises(UsageError, match="is a sweep, its cells are runs") as refused:
        store.find_run(str(recorded / WHOLE) if wanted == "path" else wanted)
    assert f"{WHOLE}/001" in refused.value.hint


def test_a_sweep_is_removed_but_not_while_it_is_run(recorded: Path) -> None:
    running = SweepFolder.resume(recorded / HALF)
    assert store.describe_recorded(recorded / HALF).outcome == "running"
    with pytest.raises(RunError, match="is running"):
        store.remove_recorded(recorded / HALF)
    running.close()
    store.remove_recorded(recorded / HALF)
    assert [line.id for line in store.list_recorded()] == [RUN, WHOLE]


@pytest.mark.parametrize("wanted", ["9" * 5000, "\0"])
def test_what_can_be_no_name_of_a_file_is_no_run(tuibench_home: Path, wanted: str) -> None:
    with pytest.raises(UsageError):
        store.find_recorded(wanted)


def test_records_that_may_not_be_read_are_said(tuibench_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(RunError, match=r"cannot read .*runs: Permission denied"):
        store.run_ids()
