"""Switches and storage bytes of a process, from a /proc of the test's own and from this one."""

import os
from pathlib import Path

import pytest

from tuibench.observe.host import process_io
from tuibench.observe.host.process_io import (
    grown_pair,
    grown_switches,
    storage_bytes,
    thread_switches,
)

IO = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"


def put_thread(proc: Path, thread: int, voluntary: int, involuntary: int) -> None:
    folder = proc / "7" / "task" / str(thread)
    folder.mkdir(parents=True)
    (folder / "status").write_text(
        f"Name:\tmysqld\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
    )


def test_the_switches_of_all_threads_are_read(tmp_path: Path) -> None:
    put_thread(tmp_path, 7, 100, 5)
    put_thread(tmp_path, 8, 20, 1)
    assert thread_switches(7, tmp_path) == {7: (100, 5), 8: (20, 1)}


def test_a_thread_that_has_just_ended_is_left_out(tmp_path: Path) -> None:
    put_thread(tmp_path, 7, 100, 5)
    (tmp_path / "7" / "task" / "9").mkdir()
    assert thread_switches(7, tmp_path) == {7: (100, 5)}


def test_too_many_threads_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_io, "MOST_THREADS", 1)
    put_thread(tmp_path, 7, 100, 5)
    put_thread(tmp_path, 8, 20, 1)
    assert thread_switches(7, tmp_path) is None


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert thread_switches(7, tmp_path) is None
    assert storage_bytes(7, tmp_path) is None
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "io").write_text("rchar: 9\n")
    assert storage_bytes(7, tmp_path) is None


def test_storage_is_what_reached_it(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "io").write_text(IO)
    assert storage_bytes(7, tmp_path) == (4096, 8192)


def test_switches_grow_by_thread() -> None:
    before, after = {1: (10, 1), 2: (50, 5)}, {1: (15, 1), 3: (4, 2)}
    assert grown_switches(before, after) == (9, 2), "thread 2 has ended, thread 3 is new"
    assert grown_switches(None, after) == grown_switches(before, None) == (None, None)


def test_totals_that_went_back_are_of_another_process() -> None:
    assert grown_pair((1, 2), (4, 8)) == (3, 6)
    assert grown_pair((5, 2), (4, 8)) == grown_pair(None, (1, 1)) == (None, None)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="no /proc here")
def test_this_process_is_read() -> None:
    switches = thread_switches(os.getpid())
    assert switches
    assert os.getpid() in switches
    assert storage_bytes(os.getpid()) is not None
