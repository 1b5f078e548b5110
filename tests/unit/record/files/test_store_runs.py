"""Which runs there are, and which one is meant."""

from pathlib import Path

import pytest

from tests.unit.record.written import plan_record, written
from tuibench import paths
from tuibench.errors import RunError, UsageError
from tuibench.record.files import store
from tuibench.record.files.recorder import RunRecorder

FIRST, SECOND, THIRD = "20260101-120000-oltp_insert", "20260101-130000-tpcc", "20260102-090000-tpcc"


@pytest.fixture
def folder(tuibench_home: Path) -> Path:
    """Three runs: one done, one cut short, one without a tick."""
    written(paths.runs_dir() / FIRST)
    written(paths.runs_dir() / SECOND, ended=False)
    written(paths.runs_dir() / THIRD, ticks=0, ended=False)
    (paths.runs_dir() / "notes").mkdir()
    return paths.runs_dir()


def test_the_list_has_all_runs_with_how_they_ended(folder: Path) -> None:
    lines = {line.id: line for line in store.list_runs()}
    assert list(lines) == [FIRST, SECOND, THIRD]
    done, cut, empty = lines.values()
    assert (done.outcome, done.transactions_per_second, done.p95_ms) == ("done", 52.0, 590.56)
    assert (cut.outcome, cut.seconds, cut.transactions, cut.p95_ms) == ("cut short", 3.0, 150, None)
    assert (empty.outcome, empty.seconds, empty.transactions_per_second) == ("cut short", 0.0, None)
    assert done.bytes > 1000


def test_a_run_that_is_being_written_says_so_and_stays(folder: Path) -> None:
    recorder = RunRecorder(folder / "live")
    recorder.open(plan_record())
    assert store.describe_run(folder / "live").outcome == "running"
    with pytest.raises(RunError, match="still being written"):
        store.remove_run(folder / "live")
    recorder.close()
    store.remove_run(folder / "live")
    assert not (folder / "live").exists()


def test_a_damaged_record_does_not_hide_the_others(folder: Path) -> None:
    (folder / SECOND / "plan.json").write_text("{}")
    lines = {line.id: line.error for line in store.list_runs()}
    assert "damaged" in lines[SECOND]
    assert not lines[FIRST]
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("wanted", "found"), [(FIRST, FIRST), ("insert", FIRST), ("20260102", THIRD), ("latest", THIRD)]
)
def test_a_part_of_the_id_is_enough(folder: Path, wanted: str, found: str) -> None:
    assert store.find_run_directory(wanted) == folder / found


def test_a_folder_anywhere_is_a_run(folder: Path, tmp_path: Path) -> None:
    (folder / FIRST).rename(tmp_path / "elsewhere")
    assert store.find_run_directory(str(tmp_path / "elsewhere")) == tmp_path / "elsewhere"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("tpcc", "several runs match: .*give a longer part"),
        ("tpc-c", "there is no run 'tpc-c'"),
        ("x", "no run 'x'"),
    ],
)
def test_what_is_not_clear_is_asked_back(folder: Path, wanted: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        store.find_run_directory(wanted)


def test_an_empty_shelf_says_how_it_fills(tuibench_home: Path) -> None:
    assert store.list_runs() == []
    with pytest.raises(UsageError, match=r"no recorded run in .*tuibench run"):
        store.find_run_directory("latest")
