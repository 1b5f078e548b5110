"""Which directories are removed, and which are kept."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.unit.demo.conftest import Hierarchy
from tuibench.demo import instance, leftovers
from tuibench.demo.layout import DirectoryLayout


def left_behind(layout: DirectoryLayout, *, keep: bool = False) -> None:
    """The state after kill -9 of the supervisor: all files exist, the lock is free."""
    instance.lock_directory(layout, instance.LockOwner(supervisor_pid=1, keep=keep)).close()
    (layout.data / "mysql").mkdir(parents=True)
    layout.error_log.write_text("log")


def test_left_behind(layout: DirectoryLayout) -> None:
    left_behind(layout)
    assert leftovers.remove_leftovers(layout.root.parent) == [layout.root]
    assert not layout.root.exists()


def test_the_control_group_of_a_killed_supervisor(layout: DirectoryLayout, hierarchy: Hierarchy) -> None:
    group = hierarchy.scope / layout.root.name
    group.mkdir()
    leftovers.remove_server_group(layout, hierarchy.root)
    assert group.exists()
    layout.server_group.write_text(str(group))
    leftovers.remove_server_group(layout, hierarchy.root)
    assert not group.exists()


def test_in_use(layout: DirectoryLayout) -> None:
    with instance.lock_directory(layout, instance.LockOwner(supervisor_pid=1, keep=False)):
        assert leftovers.remove_leftovers(layout.root.parent) == []
    assert layout.root.exists()


def test_to_be_kept(layout: DirectoryLayout) -> None:
    left_behind(layout, keep=True)
    assert leftovers.remove_leftovers(layout.root.parent) == []
    assert layout.data.exists()


def test_without_a_lock(layout: DirectoryLayout) -> None:
    assert leftovers.remove_leftovers(layout.root.parent) == []
    assert layout.root.exists()


OLD = 1_000_000_000


@pytest.mark.parametrize("has_lock", [False, True])
def test_killed_before_the_mark(layout: DirectoryLayout, has_lock: bool) -> None:
    if has_lock:
        layout.supervisor_lock.touch()
    assert leftovers.remove_leftovers(layout.root.parent) == []
    os.utime(layout.root, (OLD, OLD))
    assert leftovers.remove_leftovers(layout.root.parent) == [layout.root]
    assert not layout.root.exists()


def test_without_a_mark_but_with_something_in_it(layout: DirectoryLayout) -> None:
    layout.supervisor_lock.touch()
    for made in (layout.data, layout.tmp / "something"):
        made.mkdir()
        os.utime(layout.root, (OLD, OLD))
        assert leftovers.remove_leftovers(layout.root.parent) == []
        made.rmdir()
    assert layout.tmp.exists()


def test_without_a_mark_while_its_supervisor_starts(layout: DirectoryLayout) -> None:
    with layout.supervisor_lock.open("xb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.utime(layout.root, (OLD, OLD))
        assert leftovers.remove_leftovers(layout.root.parent) == []
    assert layout.supervisor_lock.exists()


def test_of_another_name(layout: DirectoryLayout, tmp_path: Path) -> None:
    left_behind(layout)
    other = layout.root.rename(tmp_path / "demo-x")
    assert leftovers.remove_leftovers(tmp_path) == []
    assert other.exists()


def test_of_another_user(layout: DirectoryLayout, monkeypatch: pytest.MonkeyPatch) -> None:
    left_behind(layout)
    stranger = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: stranger)
    assert leftovers.remove_leftovers(layout.root.parent) == []
    assert layout.data.exists()


def test_behind_a_link(layout: DirectoryLayout, tmp_path: Path) -> None:
    left_behind(layout)
    base = tmp_path / "base"
    base.mkdir()
    (base / layout.root.name).symlink_to(layout.root)
    assert leftovers.remove_leftovers(base) == []
    assert layout.data.exists()


def test_a_reused_pid(layout: DirectoryLayout) -> None:
    left_behind(layout)
    layout.server_pid.write_text(f"{os.getpid()}\n")
    assert leftovers.server_pid(layout) is None
    assert leftovers.remove_leftovers(layout.root.parent) == [layout.root]
