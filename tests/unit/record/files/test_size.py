"""An hour at a tick a second stays small, however many statements and kinds of transactions there are."""

from pathlib import Path

import pytest

from tests.unit.record.hours import written_hour
from tuibench.record.files.loading import load_run
from tuibench.record.files.recorder import HISTOGRAMS, SAMPLES

TICKS, HOUR = 60, 3600


@pytest.mark.parametrize(
    ("profile", "per_second", "most_bytes"), [("tpcc", 200, 18_000_000), ("oltp_read_write", 500, 12_000_000)]
)
def test_an_hour_stays_small(tmp_path: Path, profile: str, per_second: int, most_bytes: int) -> None:
    folder = written_hour(tmp_path / "r1", profile, per_second, ticks=TICKS)
    size = sum((folder / name).stat().st_size for name in (SAMPLES, HISTOGRAMS))
    assert size / TICKS * HOUR <= most_bytes
    run = load_run(folder)
    assert (len(run.measured), run.unreadable_lines) == (TICKS, 0)
