"""Limits of a private server: control groups, affinity, systemd."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.servers.conftest import Hierarchy
from tuibench.base.errors import UsageError
from tuibench.model.server import ServerLimits
from tuibench.servers import limits
from tuibench.servers.duty_cycle import PERIOD_SECONDS, Quota, cpu_seconds
from tuibench.servers.limits import Confinement, check_limits, confine, limit_names, scope_command

# Limits of a private server: control groups in a copied hierarchy, affinity otherwise.


GIB = 2**30
BOTH = ServerLimits(cpus=1.5, memory_bytes=GIB)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups and affinity are Linux's")


def confined(hierarchy: Hierarchy, wanted: ServerLimits = BOTH, no_scope: str = "") -> Confinement:
    return confine(wanted, "tuibench-demo-1", no_scope, hierarchy.root, hierarchy.own)


def test_a_confinement_by_a_group(hierarchy: Hierarchy) -> None:
    hierarchy.delegates(hierarchy.root, "cpu memory")
    found = confined(hierarchy)
    group = hierarchy.root / "tuibench-demo-1"
    assert found.groups == [group]
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
    assert found.groups == []
    assert found.words == (
        f"1 CPU and 4 GiB of memory by CPU affinity ({last}) and its buffer pool only; "
        f"no cgroup: {hierarchy.scope} does not delegate the cpu and memory controllers; systemd-run: no bus"
    )
    script = "import os; print(os.sched_getaffinity(0))"
    bound = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, preexec_fn=found.enter
    )
    assert bound.stdout == f"{{{last}}}\n"


def version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A hierarchy of version 1 for each controller, and the file of this process's groups."""
    own = tmp_path / "own"
    own.write_text("4:memory:/job/1\n1:cpu,cpuacct:/\n0::/\n")
    for folder in ("cpu", "memory/job/1", "unified"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(Path, "rmdir", lambda path: shutil.rmtree(path))
    return tmp_path, own


def test_groups_of_version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, own = version_1(tmp_path, monkeypatch)
    found = confine(BOTH, "tuibench-demo-1", root=root, own=own)
    cpu, memory = root / "cpu" / "tuibench-demo-1", root / "memory" / "job" / "1" / "tuibench-demo-1"
    assert found.words == f"1.5 CPUs and 1 GiB of memory by cgroup v1 ({cpu}) and cgroup v1 ({memory})"
    assert [(cpu / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")] == ["150000", "100000"]
    assert (memory / "memory.limit_in_bytes").read_text() == str(GIB)
    assert (memory / "memory.memsw.limit_in_bytes").read_text() == str(GIB)
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    assert found.oom_kills == 3
    found.change(ServerLimits(cpus=0.5, memory_bytes=2 * GIB), 1)
    assert (cpu / "cpu.cfs_quota_us").read_text() == "50000"
    assert (memory / "memory.limit_in_bytes").read_text() == str(2 * GIB)
    (memory / "memory.stat").write_text(f"cache 5\ntotal_rss {GIB}\n")
    with pytest.raises(UsageError, match="the server uses 1 GiB that is not page cache"):
        found.change(ServerLimits(memory_bytes=GIB // 2), 1)
    found.change(ServerLimits(), 1)
    assert (cpu / "cpu.cfs_quota_us").read_text() == "-1"
    assert (memory / "memory.limit_in_bytes").read_text() == "-1"
    found.remove()
    assert not cpu.exists()
    assert not memory.exists()


def test_processors_are_limited_while_a_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, own = version_1(tmp_path, monkeypatch)
    found = Confinement(name="tuibench-demo-1", root=root, own=own)
    with pytest.raises(UsageError, match="made at its start"):
        found.change(ServerLimits(memory_bytes=GIB), 77)
    group = root / "cpu" / "tuibench-demo-1"
    found.change(ServerLimits(cpus=0.5), 77)
    assert found.words == f"0.5 CPUs by cgroup v1 ({group})"
    assert (group / "cgroup.procs").read_text() == "77"
    assert (group / "cpu.cfs_quota_us").read_text() == "50000"
    found.change(ServerLimits(), 77)
    assert (root / "cpu" / "cgroup.procs").read_text() == "77"
    assert not group.exists()
    assert (found.groups, found.words) == ([], "")


def test_a_fraction_of_a_processor_is_a_duty_cycle_without_groups(tmp_path: Path) -> None:
    """A process that would use a processor has a tenth of it, and runs freely at the end."""
    script = "while True: sum(range(1000))"
    with subprocess.Popen([sys.executable, "-c", script]) as busy:
        try:
            found = Confinement(root=tmp_path, own=tmp_path / "nothing")
            found.change(ServerLimits(cpus=0.1), busy.pid)
            last = max(os.sched_getaffinity(0))
            assert os.sched_getaffinity(busy.pid) == {last}
            assert found.words == (
                f"0.1 CPUs by CPU affinity ({last}) and a duty cycle; "
                "no cgroup: no cgroup v1 has the cpu controller"
            )
            used, now = cpu_seconds(busy.pid), time.monotonic()
            assert until(lambda: state_of(busy.pid) == "T")
            while cpu_seconds(busy.pid) < used + 0.1:
                os.sched_yield()
            # So much CPU time takes a second; a period's quota and one look may be used before it is stopped.
            assert time.monotonic() - now > 0.7
            found.change(ServerLimits(), busy.pid)
            assert state_of(busy.pid) != "T"
            assert os.sched_getaffinity(busy.pid) == os.sched_getaffinity(0)
        finally:
            busy.kill()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def until(condition: Callable[[], bool]) -> bool:
    """Look until it holds, for a minute at most."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if condition():
            return True
    return False


@given(st.lists(st.tuples(st.floats(0.001, 0.006), st.floats(0, 4)), min_size=1), st.floats(0.1, 8))
def test_a_quota_is_never_exceeded_by_more_than_a_look(looks: list[tuple[float, float]], cpus: float) -> None:
    now = used = longest = 0.0
    quota, is_stopped = Quota(cpus, 0.0, 0.0), False
    for seconds, speed in looks:
        now += seconds
        took = 0.0 if is_stopped else seconds * speed
        used, longest = used + took, max(longest, took)
        is_stopped = quota.is_used_up(now, used)
        assert used <= cpus * (now + PERIOD_SECONDS) + longest + 1e-9


def test_a_process_that_needs_less_than_its_quota_is_never_stopped() -> None:
    quota = Quota(0.5, 0.0, 0.0)
    looks = [(0.005 * number, 0.005 * number * 0.45) for number in range(1, 400)]
    assert not any(quota.is_used_up(now, used) for now, used in looks)


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


# Where a control group is created, in a copied hierarchy, and the reasons if there is none.


FILES = {"cpu.max": "150000 100000", "memory.max": "1073741824"}


def make(hierarchy: Hierarchy, files: dict[str, str] = FILES) -> tuple[Path | None, str]:
    return limits.make_group(files, "tuibench-demo-1", hierarchy.root, hierarchy.own)


def test_a_group_below_the_nearest_that_delegates_its_controllers(hierarchy: Hierarchy) -> None:
    hierarchy.delegates(hierarchy.scope, "")
    hierarchy.delegates(hierarchy.root / "user.slice", "cpu memory pids")
    hierarchy.delegates(hierarchy.root, "cpu memory")
    group = hierarchy.root / "user.slice" / "tuibench-demo-1"
    assert make(hierarchy) == (group, "")
    assert {file: (group / file).read_text() for file in FILES} == FILES
    assert (group / "memory.swap.max").read_text() == "0"


def test_only_the_controllers_that_are_needed_must_be_there(hierarchy: Hierarchy) -> None:
    hierarchy.delegates(hierarchy.root, "memory")
    assert make(hierarchy, {"memory.max": "1"}) == (hierarchy.root / "tuibench-demo-1", "")


def test_a_supervisor_makes_room_in_its_own_scope(
    hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch
) -> None:
    delegated = limits._delegated
    # The kernel shows the controllers without the signs.
    monkeypatch.setattr(limits, "_delegated", lambda group: {one.lstrip("+") for one in delegated(group)})
    scope = hierarchy.in_scope("tuibench-12ab.scope")
    hierarchy.delegates(hierarchy.root, "cpu memory")
    control = scope / "cgroup.subtree_control"
    control.touch()
    assert make(hierarchy) == (scope / "tuibench-demo-1", "")
    assert control.read_text() == "+cpu +memory"
    assert (scope / "supervisor" / "cgroup.procs").read_text() == "0"


def test_the_nearest_group_that_denies_is_the_reason(
    hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch
) -> None:
    hierarchy.delegates(hierarchy.root / "user.slice", "cpu memory")
    hierarchy.delegates(hierarchy.root, "cpu memory")

    def mkdir(path: Path, **_options: bool) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert make(hierarchy) == (None, f"{hierarchy.root / 'user.slice'}: Permission denied")


def test_nothing_delegates(hierarchy: Hierarchy) -> None:
    group, why_not = make(hierarchy)
    assert group is None
    assert why_not == f"{hierarchy.scope} does not delegate the cpu and memory controllers"


def test_a_group_that_no_process_may_enter_is_not_used(
    hierarchy: Hierarchy, monkeypatch: pytest.MonkeyPatch
) -> None:
    hierarchy.delegates(hierarchy.root, "cpu memory")
    monkeypatch.setattr(limits, "_may_enter", lambda group: False)
    assert make(hierarchy) == (None, f"processes may not be moved to {hierarchy.root}")
    assert not (hierarchy.root / "tuibench-demo-1").exists()


@pytest.mark.parametrize(
    ("own", "why_not"),
    [
        ("0::/x\n", "no cgroup v2 is mounted"),
        ("", "no cgroup v2 is mounted"),
        ("4:memory:/\n0::/\n", "this host uses cgroup v1"),
    ],
)
def test_a_host_without_controllers(tmp_path: Path, own: str, why_not: str) -> None:
    (tmp_path / "own").write_text(own)
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified" / "cgroup.controllers").write_text("\n")
    for root in (tmp_path, tmp_path / "unified"):
        assert limits.make_group(FILES, "x", root, tmp_path / "own") == (None, why_not)


def test_processes_that_the_kernel_killed(tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    seen = []
    for text in ("low 0\noom 0\noom_kill 0\n", "low 0\noom 1\noom_kill 2\noom_group_kill 0\n"):
        events.write_text(text)
        seen.append(limits.oom_kills(tmp_path))
    events.unlink()
    assert [*seen, limits.oom_kills(tmp_path)] == [0, 2, 0]


def test_only_groups_are_removed(hierarchy: Hierarchy, tmp_path: Path) -> None:
    hierarchy.delegates(hierarchy.root, "cpu memory")
    group, _ = make(hierarchy)
    assert group is not None
    for path in (group, group, tmp_path / "own"):
        limits.remove_group(path, hierarchy.root)
    assert not group.exists()
    assert (tmp_path / "own").exists()


# The scope of a supervisor, with a program that stands for systemd-run.


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A hierarchy with controllers."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    return tmp_path


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    """Put a systemd-run with this script on the path."""
    program = folder / "systemd-run"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return program


BECOME = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'
"""As systemd-run --scope does: become the program."""


@pytest.mark.parametrize(("user", "manager"), [(0, []), (1000, ["--user"])])
def test_a_command_in_a_scope(
    monkeypatch: pytest.MonkeyPatch, root: Path, user: int, manager: list[str]
) -> None:
    program = install(monkeypatch, root, BECOME)
    monkeypatch.setattr("os.geteuid", lambda: user)
    first, why_not = scope_command(root, root)
    second, _ = scope_command(root, root)
    assert why_not == ""
    assert first[: 2 + len(manager)] == [str(program), *manager, "--scope"]
    assert "--property=Delegate=cpu memory" in first
    assert first != second
    ran = subprocess.run([*first, "echo", "x"], capture_output=True, text=True, check=True)
    assert ran.stdout == "x\n"


@pytest.mark.parametrize(
    ("script", "why_not"),
    [
        (
            "echo first >&2; echo Failed to connect to bus >&2; exit 1",
            "systemd-run: Failed to connect to bus",
        ),
        ("exit 7", "systemd-run: exit code 7"),
    ],
)
def test_why_there_is_no_scope(
    monkeypatch: pytest.MonkeyPatch, root: Path, script: str, why_not: str
) -> None:
    install(monkeypatch, root, script)
    assert scope_command(root, root) == ([], why_not)


def test_a_manager_that_does_not_respond(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    install(monkeypatch, root, "exec sleep 600")
    monkeypatch.setattr(limits, "TRIAL_SECONDS", 0.05)
    assert scope_command(root, root) == ([], "systemd-run does not respond within 0 s")


def test_no_scope_is_expected_without_systemd_or_controllers(
    monkeypatch: pytest.MonkeyPatch, root: Path, tmp_path: Path
) -> None:
    install(monkeypatch, root, "exit 1")
    assert scope_command(root, booted=root / "nothing") == ([], "")
    assert scope_command(root / "nothing", booted=root) == ([], "")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert scope_command(root, root) == ([], "")
