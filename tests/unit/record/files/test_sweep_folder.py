"""The folder of a sweep: what was written can be read again, whatever a crash has left."""

from pathlib import Path

import pytest

from tests import sweeps
from tuibench.errors import RunError, UsageError
from tuibench.model.results.sweep import DataDropped, DataReady
from tuibench.record.files.sweep_folder import RESULTS, SweepFolder, load_sweep
from tuibench.session.sweep.matrix import all_cells

CELLS = all_cells(sweeps.PLAN)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sweep"


def test_what_was_written_can_be_read(directory: Path) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    folder.add(DataReady(data="d", files_bytes=1, prepared=True))
    folder.add(sweeps.result(CELLS[0]))
    folder.close()
    known = load_sweep(directory)
    assert known == folder.sweep
    assert known.record == sweeps.record()
    assert known.done == (sweeps.result(CELLS[0]),)


def test_the_last_result_of_a_cell_counts(directory: Path) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    folder.add(sweeps.failed(CELLS[0]))
    folder.add(sweeps.result(CELLS[0]))
    folder.close()
    assert [result.outcome for result in load_sweep(directory).results] == ["done"]


def test_dropped_tables_keep_their_size(directory: Path) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    folder.add(DataReady(data="d", files_bytes=5, prepared=True))
    folder.add(DataDropped(data="d"))
    folder.close()
    assert load_sweep(directory).data == (DataReady(data="d", files_bytes=5, prepared=False),)


@pytest.mark.parametrize("torn_off", [1, 5, 200])
def test_a_torn_line_counts_for_nothing_and_harms_no_other(directory: Path, torn_off: int) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    folder.add(sweeps.result(CELLS[0]))
    folder.add(sweeps.result(CELLS[1]))
    folder.close()
    path = directory / RESULTS
    path.write_bytes(path.read_bytes()[:-torn_off])
    again = SweepFolder.resume(directory)
    again.add(sweeps.result(CELLS[2]))
    again.close()
    whole = [0, 1, 2] if torn_off == 1 else [0, 2]
    assert [one.cell for one in load_sweep(directory).done] == [CELLS[number] for number in whole]


def test_a_sweep_is_run_by_one_process_at_a_time(directory: Path) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    with pytest.raises(UsageError, match="by another process"):
        SweepFolder.resume(directory)
    folder.close()
    SweepFolder.resume(directory).close()


def test_no_sweep_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a sweep's folder contains sweep\.json"):
        load_sweep(tmp_path)
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(UsageError, match="is damaged"):
        load_sweep(tmp_path)


def test_no_place_for_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write the sweep's record"):
        SweepFolder.create(tmp_path / "file" / "sweep", sweeps.record())


def test_a_sweep_that_never_began_leaves_nothing(directory: Path) -> None:
    SweepFolder.create(directory, sweeps.record()).discard()
    assert not directory.exists()
