"""A run from its warm-up to its summary, with workers that are played."""

from pathlib import Path

import pytest

from tests.unit.session.conducting import PlayedFleet, conducted
from tests.unit.session.reports import report
from tuibench.load.report import WorkerReport
from tuibench.model.plan import Plan

PLAN = Plan(profile="oltp_point_select", threads=4, seconds=8, warmup_seconds=8)


@pytest.mark.parametrize(("busy_in_the_warm_up", "limited"), [(True, False), (False, True)])
def test_a_busy_warm_up_does_not_put_the_run_in_doubt(
    tmp_path: Path, busy_in_the_warm_up: bool, limited: bool
) -> None:
    def play(fleet: PlayedFleet) -> list[WorkerReport]:
        is_warm = "start_over" in fleet.told
        return [report(0, cpu_seconds=0.2 if is_warm is busy_in_the_warm_up else 0.99)]

    summary = conducted(PLAN, play, tmp_path)
    assert summary.seconds == pytest.approx(8)
    assert summary.client.limited is limited
    assert any("client-limited" in warning for warning in summary.warnings) is limited
