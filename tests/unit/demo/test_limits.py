"""Limits of a private server: control groups in a copied hierarchy, affinity otherwise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.demo.conftest import Hierarchy
from tuibench.demo import limits
from tuibench.demo.limits import Confinement, check_limits, confine, limit_names
from tuibench.errors import UsageError
from tuibench.model.server import ServerLimits

GIB = 2**30
BOTH = ServerLimits(cpus=1.5, memory_bytes=GIB)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups and affinity are Linux's")


def confined(hierarchy: Hierarchy, wanted: ServerLimits = BOTH, no_scope: str = "") -> Confinement:
    return confine(wanted, "tuibench-demo-1", no_scope, hierarchy.root, hierarchy.own)


def test_a_confinement_by_a_group(hierarchy: Hierarchy) -> None:
    hierarchy.delegates(hierarchy.root, "cpu memory")
    found = confined(hierarchy)
    group = hierarchy.root / "tuibench-demo-1"
    assert found.group == group
    assert found.words == f"1.5 CPUs and 1 GiB of memory by cgroup v2 ({group})"
    found.enter()
    assert (group / "cgroup.procs").read_text() == "0"
    assert found.oom_kills == 0
    (group / "memory.events").write_text("oom 4832\noom_kill 1\n")
    assert found.oom_kills == 1
    found.remove()
    assert not group.exists()


def test_without_a_group_processors_are_bound_and_the_buffer_pool_follows(hierarchy: Hierarchy) -> None:
    hierarchy.delegates(hierarchy.root, "memory")
    last = max(os.sched_getaffinity(0))
    wanted = ServerLimits(cpus=1, memory_bytes=4 * GIB)
    found = confined(hierarchy, wanted, "systemd-run: no bus")
    assert found.group is None
    assert found.words == (
        f"1 CPU and 4 GiB of memory by CPU affinity ({last}) and its buffer pool only; "
        f"no cgroup: {hierarchy.scope} does not delegate the cpu and memory controllers; systemd-run: no bus"
    )
    script = "import os; print(os.sched_getaffinity(0))"
    bound = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, preexec_fn=found.enter
    )
    assert bound.stdout == f"{{{last}}}\n"


def test_a_fraction_of_a_processor_takes_a_group(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--cpus=0\.5: a fraction needs cgroup v2.*no cgroup v2 is mounted"):
        confine(ServerLimits(cpus=0.5), "x", root=tmp_path, own=tmp_path / "nothing")


def test_no_limits_confine_nothing() -> None:
    found = confine(ServerLimits(), "x")
    assert (found.group, found.words) == (None, "")
    before = os.sched_getaffinity(0)
    found.enter()
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (ServerLimits(cpus=0), "--cpus must be between 0.1 and"),
        (ServerLimits(cpus=0.05), "--cpus must be between 0.1 and"),
        (ServerLimits(cpus=10_000), "--cpus must be between 0.1 and"),
        (ServerLimits(memory_bytes=2**20), "--memory must be between 512 MiB and"),
        (ServerLimits(memory_bytes=2**60), "--memory must be between 512 MiB and"),
    ],
)
def test_what_this_host_does_not_have(wanted: ServerLimits, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_limits(wanted)


@pytest.mark.parametrize(("memory", "pool"), [(GIB // 2, GIB // 8), (4 * GIB, 2 * GIB), (8 * GIB, 6 * GIB)])
def test_the_buffer_pool_follows_from_the_memory(memory: int, pool: int) -> None:
    assert limits.buffer_pool_bytes(memory) == pool


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (ServerLimits(), []),
        (ServerLimits(cpus=1), ["1 CPU"]),
        (ServerLimits(cpus=1.5, memory_bytes=4 * GIB), ["1.5 CPUs", "4 GiB"]),
        (ServerLimits(memory_bytes=3 * GIB // 2), ["1,536 MiB"]),
        (ServerLimits(memory_bytes=GIB + 2**20), ["1,025 MiB"]),
    ],
)
def test_names_of_limits_are_exact(wanted: ServerLimits, names: list[str]) -> None:
    assert limit_names(wanted) == names
