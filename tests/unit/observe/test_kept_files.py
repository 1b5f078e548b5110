"""Files that are read again and again: what is opened for it, and that each reading is the present one."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes import FakeClock
from tuibench.observe.host import HostSampler, ServerProcess
from tuibench.observe.kept_files import MOST_KEPT, UNUSED_ROUNDS, KeptFiles
from tuibench.observe.wait_sampler import Threads

SYSTEM_FILES = 10
"""What psutil opens for processor, memory, disks and network, and missing files of control groups."""


class Opened:
    """The files that this thread opens while it is counting; an audit hook cannot be removed."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._thread: int | None = None
        sys.addaudithook(self._see)

    def _see(self, event: str, values: tuple[object, ...]) -> None:
        if event == "open" and threading.get_ident() == self._thread:
            self.paths.append(str(values[0]))

    @contextmanager
    def counting(self) -> Iterator[list[str]]:
        self.paths, self._thread = [], threading.get_ident()
        try:
            yield self.paths
        finally:
            self._thread = None


@pytest.fixture(scope="module")
def opened() -> Opened:
    return Opened()


@contextmanager
def idle_threads(count: int) -> Iterator[None]:
    end = threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_tick_opens_few_files_however_many_threads_the_server_has(opened: Opened) -> None:
    sampler = HostSampler(ServerProcess(pid=os.getpid()), lambda: {os.getppid()}, FakeClock())
    threads = Threads(os.getpid())
    with idle_threads(40):
        sampler.sample()
        tids = [int(name) for name in os.listdir("/proc/self/task")]
        first = [threads.times(tid) for tid in tids]
        with opened.counting() as paths:
            sampler.sample()
            again = [threads.times(tid) for tid in tids]
    assert len(tids) > 40
    assert None not in first + again
    assert [path for path in paths if "/task/" in path or f"/{os.getpid()}/" in path] == []
    assert len(paths) <= SYSTEM_FILES, paths


def test_each_reading_is_the_present_one(tmp_path: Path, opened: Opened) -> None:
    file, files = tmp_path / "figure", KeptFiles()
    file.write_text("1")
    assert files.read(str(file)) == b"1"
    file.write_text("22")
    with opened.counting() as paths:
        assert (files.text(str(file)), files.read(str(file), 1)) == ("22", b"2")
    assert paths == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_process_that_has_ended_is_an_error_and_its_descriptor_is_closed() -> None:
    files = KeptFiles()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = f"/proc/{process.pid}/stat"
    assert files.read(stat).startswith(f"{process.pid} ".encode())
    held = os.readlink(f"/proc/self/fd/{files._files[stat][0]}")
    assert held == stat
    process.communicate(b"\n")
    with pytest.raises(OSError, match=str(process.pid)):
        files.read(stat)
    assert (files.text(stat), files._files) == ("", {})


def test_few_descriptors_stay_open_and_those_out_of_use_give_way(tmp_path: Path, opened: Opened) -> None:
    paths = [str(tmp_path / name) for name in "abc"]
    for path in paths:
        Path(path).write_text(path)
    files = KeptFiles(2)
    for _ in range(3):
        assert [files.text(path) for path in paths] == paths
    assert list(files._files) == paths[:2]
    for _ in range(2 * UNUSED_ROUNDS):
        files.read(paths[2])
        files.read(paths[1])
    assert sorted(files._files) == paths[1:]
    with opened.counting() as seen:
        assert [files.text(path) for path in paths] == paths
    assert seen == paths[:1]


def test_without_room_nothing_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    files = KeptFiles(0)
    assert (files.text(str(tmp_path / "a")), files._files) == ("1", {})
    assert (files.text(str(tmp_path / "b")), files.text("a\0b")) == ("", "")


def test_the_descriptors_end_with_their_reader(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    files = KeptFiles()
    files.read(str(tmp_path / "a"))
    ((descriptor, _),) = files._files.values()
    del files
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize(("limit", "most"), [(256, 16), (1024, 64), (1 << 20, MOST_KEPT), (-1, MOST_KEPT)])
def test_a_process_that_may_open_few_files_keeps_few(
    limit: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: limit)
    assert KeptFiles()._most == most
