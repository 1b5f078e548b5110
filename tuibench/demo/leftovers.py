"""Cleanup after killed supervisors: their directories and, on systems other than Linux, their servers.

Only directories of this user with tuibench's prefix, without a running supervisor (the lock is free), and
not marked to be kept. A supervisor that was killed before it wrote its mark leaves an empty directory, which
is removed once it is old.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path

import msgspec

from tuibench.demo import cgroup
from tuibench.demo.instance import LockOwner, remove_directory
from tuibench.demo.layout import PREFIX, DirectoryLayout
from tuibench.files import DECODE_ERRORS

DEATH_SECONDS = 10.0
UNMARKED_SECONDS = 600.0
"""Age in seconds from which a directory without a mark counts as abandoned; a newer one may be under
creation.
"""
POLL_SECONDS = 0.02


def remove_leftovers(base: Path) -> list[Path]:
    """Remove directories and servers of killed supervisors below `base`; returns the removed directories."""
    return [
        path
        for path in sorted(base.glob(f"{PREFIX}*"))
        if _is_ours(path) and remove_leftover(DirectoryLayout(path))
    ]


def remove_leftover(layout: DirectoryLayout) -> bool:
    """Remove one directory and end its server; False if it is in use or to be kept."""
    try:
        descriptor = os.open(layout.supervisor_lock, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _remove_unmarked(layout)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            text = file.read()
            if not text:
                return _remove_unmarked(layout)
            mark = msgspec.json.decode(text, type=LockOwner)
        except (OSError, *DECODE_ERRORS):
            return False
        if mark.keep:
            return False
        end_server(layout)
        remove_server_group(layout)
        remove_directory(layout)
    return not layout.root.exists()


def _remove_unmarked(layout: DirectoryLayout) -> bool:
    """Remove a directory that has only files created before the mark, unless it is new."""
    try:
        if time.time() - layout.root.stat().st_mtime < UNMARKED_SECONDS:
            return False
        if {path.name for path in layout.root.iterdir()} - {layout.tmp.name, layout.supervisor_lock.name}:
            return False
        if layout.tmp.exists():
            layout.tmp.rmdir()
        layout.supervisor_lock.unlink(missing_ok=True)
        layout.root.rmdir()
    except OSError:
        return False
    return True


def end_server(layout: DirectoryLayout) -> None:
    """Kill the server of a directory, if it still runs, and wait for its end."""
    pid = server_pid(layout)
    if pid is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for _ in range(int(DEATH_SECONDS / POLL_SECONDS)):
        if server_pid(layout) is None:
            return
        time.sleep(POLL_SECONDS)


def remove_server_group(layout: DirectoryLayout, root: Path = cgroup.ROOT) -> None:
    """Remove the control group of a directory's server, if it had one."""
    with contextlib.suppress(OSError):
        cgroup.remove_group(Path(layout.server_group.read_text()), root)


def server_pid(layout: DirectoryLayout) -> int | None:
    """The server's process, identified by pid file *and* command line, because process ids are reused."""
    try:
        pid = int(layout.server_pid.read_text())
    except (OSError, ValueError):
        return None
    return pid if f"--datadir={layout.data}" in _command_line(pid) else None


def _command_line(pid: int) -> str:
    """A process's arguments; empty if it has ended."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    asked = subprocess.run(
        ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return asked.stdout


def _is_ours(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and path.is_dir() and not path.is_symlink()
