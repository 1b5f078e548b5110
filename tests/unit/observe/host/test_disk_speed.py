"""Measuring a disk: with a clock of its own, on the test's own folder."""

from pathlib import Path

import pytest

from tuibench.errors import RunError
from tuibench.observe.host import disk_speed
from tuibench.observe.host.disk_speed import measure_disk


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_speed, "READ_FILE_BYTES", disk_speed.MIB)
    monkeypatch.setattr(disk_speed, "LOG_BYTES", disk_speed.MIB)
    monkeypatch.setattr(disk_speed, "FREE_BYTES", 4 * disk_speed.MIB)


class Steps:
    """A clock that advances by a millisecond with each reading."""

    def __init__(self) -> None:
        self.readings = 0

    def __call__(self) -> float:
        self.readings += 1
        return self.readings / 1000


def test_flushes_are_counted_and_timed_and_nothing_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    found = measure_disk(str(folder), seconds=0.3, clock=Steps())
    assert found.flushes_per_second == pytest.approx(1000)
    assert found.flush_p50_us == pytest.approx(1000)
    assert found.flush_max_us == pytest.approx(1000)
    assert found.reads_per_second is None or found.reads_per_second > 0
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert not list(folder.iterdir())


def test_a_folder_that_is_not_there_or_full_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunError, match="cannot be read: No such file"):
        measure_disk(str(tmp_path / "none"))
    monkeypatch.setattr(disk_speed, "FREE_BYTES", 2**60)
    with pytest.raises(RunError, match="too little space is free"):
        measure_disk(str(tmp_path))
