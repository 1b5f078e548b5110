"""Which directories are swept, and which are nobody's business."""

import os
from pathlib import Path

import pytest

from tuibench.demo import instance, stale
from tuibench.demo.layout import Layout


def left_behind(layout: Layout, *, keep: bool = False) -> None:
    """As after kill -9 of the keeper: everything is there, the lock is free."""
    instance.lock(layout, instance.Mark(keeper=1, keep=keep)).close()
    (layout.data / "mysql").mkdir(parents=True)
    layout.error_log.write_text("log")


def test_left_behind(layout: Layout) -> None:
    left_behind(layout)
    assert stale.sweep(layout.root.parent) == [layout.root]
    assert not layout.root.exists()


def test_in_use(layout: Layout) -> None:
    with instance.lock(layout, instance.Mark(keeper=1, keep=False)):
        assert stale.sweep(layout.root.parent) == []
    assert layout.root.exists()


def test_to_be_kept(layout: Layout) -> None:
    left_behind(layout, keep=True)
    assert stale.sweep(layout.root.parent) == []
    assert layout.data.exists()


def test_without_a_lock(layout: Layout) -> None:
    assert stale.sweep(layout.root.parent) == []
    assert layout.root.exists()


def test_of_another_name(layout: Layout, tmp_path: Path) -> None:
    left_behind(layout)
    other = layout.root.rename(tmp_path / "demo-x")
    assert stale.sweep(tmp_path) == []
    assert other.exists()


def test_of_another_user(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    left_behind(layout)
    stranger = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: stranger)
    assert stale.sweep(layout.root.parent) == []
    assert layout.data.exists()


def test_behind_a_link(layout: Layout, tmp_path: Path) -> None:
    left_behind(layout)
    base = tmp_path / "base"
    base.mkdir()
    (base / layout.root.name).symlink_to(layout.root)
    assert stale.sweep(base) == []
    assert layout.data.exists()


def test_a_pid_that_is_somebody_else_now(layout: Layout) -> None:
    left_behind(layout)
    layout.server_pid.write_text(f"{os.getpid()}\n")
    assert stale.server_pid(layout) is None
    assert stale.sweep(layout.root.parent) == [layout.root]
