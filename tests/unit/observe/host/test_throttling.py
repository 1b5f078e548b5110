"""How long a control group was held back by its CPU limit, and what the hypervisor took."""

from pathlib import Path

import pytest

from tuibench.metrics.figures import read
from tuibench.model.tick import HOST
from tuibench.observe.host.figures import HostTotals, MemoryUse, host_tick
from tuibench.observe.host.limits import throttled_seconds
from tuibench.observe.host.totals import CpuTime


@pytest.mark.parametrize(
    ("own", "statistics", "seconds"),
    [
        ("0::/bench\n", "usage_usec 9\nthrottled_usec 2500000\n", 2.5),
        ("1:cpu:/old\n0::/bench\n", "nr_throttled 1\nthrottled_usec 0\n", 0.0),
        ("0::/bench\n", "usage_usec 9\n", None),
        ("0::/elsewhere\n", "throttled_usec 1\n", None),
        ("1:cpu:/old\n", "throttled_usec 1\n", None),
    ],
)
def test_the_time_is_that_of_our_own_group(
    tmp_path: Path, own: str, statistics: str, seconds: float | None
) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "cpu.stat").write_text(statistics)
    (tmp_path / "cgroup").write_text(own)
    assert throttled_seconds(tmp_path / "cgroup", tmp_path) == seconds


def test_steal_is_a_share_of_all_time() -> None:
    memory = MemoryUse(used=1, total=2)
    before = HostTotals(at_ns=0, machine=CpuTime(10.0, 100.0, 1.0), memory=memory)
    after = HostTotals(at_ns=50_000_000_000, machine=CpuTime(60.0, 200.0, 13.0), memory=memory)
    tick = host_tick(before, after, cores=2, server_pid=None)
    assert tick is not None
    assert read("steal", tick.moved("", HOST)) == pytest.approx(12.0)
