"""How a session notices that its private server has ended."""

import fcntl
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tuibench.demo.layout import DirectoryLayout
from tuibench.demo.server_end import ServerEnd, find_end, reserve_end, write_end
from tuibench.demo.supervisor import Supervisor

WATCH, SIGNALS = 1001, 1002
"""Numbers of file descriptors; nothing is read from them."""


@pytest.fixture
def lock(layout: DirectoryLayout) -> Iterator[IO[bytes]]:
    """The supervisor's lock, held as long as this file is open."""
    with layout.supervisor_lock.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def test_a_server_runs_as_long_as_its_supervisor_says_nothing(
    layout: DirectoryLayout, lock: IO[bytes]
) -> None:
    assert find_end(layout) is None
    lock.close()
    assert str(find_end(layout)) == "the private server has ended: its supervisor has ended"


def test_the_reason_that_the_supervisor_wrote(layout: DirectoryLayout, lock: IO[bytes]) -> None:
    reserve_end(layout)
    assert find_end(layout) is None
    write_end(layout, ServerEnd("MariaDB was killed by SIGKILL", "give it more"))
    error = find_end(layout)
    assert error is not None
    assert (error.message, error.hint, error.exit_code) == (
        "the private server has ended: MariaDB was killed by SIGKILL",
        "give it more",
        3,
    )
    assert sorted(path.name for path in layout.root.iterdir()) == ["server.end", "supervisor.lock", "tmp"]


def test_a_full_disk_does_not_keep_the_reason_from_being_written(
    layout: DirectoryLayout, lock: IO[bytes]
) -> None:
    """What is written at the end has its space since the start."""
    write_end(layout, ServerEnd("the server of before"))
    assert find_end(layout) is None
    reserve_end(layout)
    (reserved,) = (path for path in layout.root.glob("server.*"))
    before = reserved.stat()
    write_end(layout, ServerEnd("MariaDB ended with exit code 1"))
    after = layout.server_end.stat()
    assert (after.st_ino, after.st_blocks, after.st_size) == (before.st_ino, before.st_blocks, 4096)
    assert "exit code 1" in str(find_end(layout))
    reserve_end(layout)
    assert find_end(layout) is None


def test_a_reason_that_cannot_be_read(layout: DirectoryLayout, lock: IO[bytes]) -> None:
    layout.server_end.write_bytes(b"{")
    assert str(find_end(layout)) == "the private server has ended"


def test_a_server_that_was_stopped_has_no_directory(tmp_path: Path) -> None:
    gone = DirectoryLayout(tmp_path / "gone")
    write_end(gone, ServerEnd("x"))
    assert f"it was stopped, and {gone.root} is removed" in str(find_end(gone))


def test_the_supervisor_notes_the_end_of_its_child() -> None:
    """The signal of a child's end makes it look; its own owner still has the pipe."""
    noted: list[str] = []

    class PlayedInstance:
        alive = False

        def note_end(self) -> None:
            noted.append("noted")

    played: Any = PlayedInstance()
    one = Supervisor(WATCH, SIGNALS)
    one._read(SIGNALS, bytes([signal.SIGCHLD]))
    one._instance = played
    one._read(SIGNALS, bytes([signal.SIGCHLD]))
    assert noted == ["noted"]
    assert not one._ended
