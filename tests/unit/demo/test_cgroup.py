"""Where a control group is created, in a copied hierarchy, and the reasons if there is none."""

import sys
from pathlib import Path

import pytest

from tests.unit.demo.conftest import Hierarchy
from tuibench.demo import cgroup

FILES = {"cpu.max": "150000 100000", "memory.max": "1073741824"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")


def make(hierarchy: Hierarchy, files: dict[str, str] = FILES) -> tuple[Path | None, str]:
    return cgroup.make_group(files, "tuibench-demo-1", hierarchy.root, hierarchy.own)


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
    delegated = cgroup._delegated
    # The kernel shows the controllers without the signs.
    monkeypatch.setattr(cgroup, "_delegated", lambda group: {one.lstrip("+") for one in delegated(group)})
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
    monkeypatch.setattr(cgroup, "_may_enter", lambda group: False)
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
        assert cgroup.make_group(FILES, "x", root, tmp_path / "own") == (None, why_not)


def test_processes_that_the_kernel_killed(tmp_path: Path) -> None:
    events = tmp_path / "memory.events"
    seen = []
    for text in ("low 0\noom 0\noom_kill 0\n", "low 0\noom 1\noom_kill 2\noom_group_kill 0\n"):
        events.write_text(text)
        seen.append(cgroup.oom_kills(tmp_path))
    events.unlink()
    assert [*seen, cgroup.oom_kills(tmp_path)] == [0, 2, 0]


def test_only_groups_are_removed(hierarchy: Hierarchy, tmp_path: Path) -> None:
    hierarchy.delegates(hierarchy.root, "cpu memory")
    group, _ = make(hierarchy)
    assert group is not None
    for path in (group, group, tmp_path / "own"):
        cgroup.remove_group(path, hierarchy.root)
    assert not group.exists()
    assert (tmp_path / "own").exists()
