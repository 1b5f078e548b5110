"""Limits of a private server: control groups in a copied hierarchy, affinity otherwise."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tuibench.demo import limits
from tuibench.demo.limits import Confinement, check_limits, confine
from tuibench.errors import UsageError
from tuibench.model.server import ServerLimits

GIB = 2**30
BOTH = ServerLimits(cpus=1.5, memory_bytes=GIB)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups and affinity are Linux's")


class Hierarchy:
    """A folder that looks like cgroup v2; its groups have the files that the kernel makes."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.own = tmp_path / "cgroup", tmp_path / "own"
        self.own.write_text("4:memory:/elsewhere\n0::/user.slice/session-1.scope\n")
        self.scope = self.root / "user.slice" / "session-1.scope"
        self.scope.mkdir(parents=True)
        (self.root / "cgroup.controllers").write_text("cpu memory\n")
        make = Path.mkdir

        def mkdir(path: Path, *args: object) -> None:
            make(path)
            (path / "cgroup.procs").touch()

        monkeypatch.setattr(Path, "mkdir", mkdir)
        monkeypatch.setattr(Path, "rmdir", lambda path: shutil.rmtree(path))

    def hands_down(self, group: Path, controllers: str) -> None:
        (group / "cgroup.subtree_control").write_text(controllers + "\n")

    def confine(self, wanted: ServerLimits = BOTH) -> Confinement:
        return confine(wanted, "tuibench-demo-1", self.root, self.own)


@pytest.fixture
def hierarchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hierarchy:
    return Hierarchy(tmp_path, monkeypatch)


def test_a_group_below_the_nearest_that_hands_down_its_controllers(hierarchy: Hierarchy) -> None:
    hierarchy.hands_down(hierarchy.scope, "")
    hierarchy.hands_down(hierarchy.root / "user.slice", "cpu memory pids")
    hierarchy.hands_down(hierarchy.root, "cpu memory")
    found = hierarchy.confine()
    group = hierarchy.root / "user.slice" / "tuibench-demo-1"
    assert found.group == group
    assert (group / "cpu.max").read_text() == "150000 100000"
    assert (group / "memory.max").read_text() == str(GIB)
    assert (group / "memory.swap.max").read_text() == "0"
    assert found.words == f"1.5 CPUs and 1 GiB of memory by cgroup v2 ({group})"
    found.enter()
    assert (group / "cgroup.procs").read_text() == "0"
    found.remove()
    assert not group.exists()


def test_a_server_that_the_kernel_killed(tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    seen = []
    for text in ("low 0\noom 0\noom_kill 0\n", "low 0\noom 1\noom_kill 2\noom_group_kill 0\n"):
        events.write_text(text)
        seen.append(Confinement(tmp_path).was_out_of_memory)
    events.unlink()
    assert [*seen, Confinement(tmp_path).was_out_of_memory] == [False, True, False]


def test_what_a_killed_supervisor_left_is_removed(hierarchy: Hierarchy) -> None:
    hierarchy.hands_down(hierarchy.root, "cpu memory")
    assert hierarchy.confine().group is not None
    limits.remove_group("tuibench-demo-1", hierarchy.root, hierarchy.own)
    assert not (hierarchy.root / "tuibench-demo-1").exists()


def test_only_the_controllers_that_are_needed_must_be_there(hierarchy: Hierarchy) -> None:
    hierarchy.hands_down(hierarchy.root, "memory")
    assert hierarchy.confine(ServerLimits(memory_bytes=GIB)).group == hierarchy.root / "tuibench-demo-1"


def test_without_a_group_processors_are_bound_and_the_buffer_pool_follows(hierarchy: Hierarchy) -> None:
    hierarchy.hands_down(hierarchy.root, "memory")
    last = max(os.sched_getaffinity(0))
    found = hierarchy.confine(ServerLimits(cpus=1, memory_bytes=4 * GIB))
    assert found.group is None
    assert found.words == (
        f"1 CPU and 4 GiB of memory by CPU affinity ({last}) and its buffer pool only; "
        f"no cgroup: {hierarchy.root} does not delegate the cpu controller"
    )
    script = "import os; print(os.sched_getaffinity(0))"
    bound = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, preexec_fn=found.enter
    )
    assert bound.stdout == f"{{{last}}}\n"


def test_a_group_that_no_process_may_enter_is_not_used(
    hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch
) -> None:
    hierarchy.hands_down(hierarchy.root, "cpu memory")
    monkeypatch.setattr(limits, "_may_enter", lambda group: False)
    found = hierarchy.confine(ServerLimits(memory_bytes=GIB))
    assert found.words.endswith(f"no cgroup: processes may not be moved to {hierarchy.root}")
    assert not (hierarchy.root / "tuibench-demo-1").exists()


def test_a_fraction_of_a_processor_takes_a_group(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--cpus=0\.5: a fraction needs cgroup v2.*no cgroup v2 is mounted"):
        confine(ServerLimits(cpus=0.5), "x", tmp_path, tmp_path / "nothing")


def test_no_limits_confine_nothing() -> None:
    found = confine(ServerLimits(), "x")
    assert (found.group, found.words) == (None, "")
    before = os.sched_getaffinity(0)
    found.enter()
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (ServerLimits(cpus=0), "--cpus must be above 0 and at most"),
        (ServerLimits(cpus=10_000), "--cpus must be above 0 and at most"),
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
