"""What is left when a keeper was killed: its directory and, where the system did not see to it, its server.

Only directories with our prefix, of our user, whose keeper is gone (its lock is free), and that nobody
asked to keep.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path

import msgspec

from tuibench.demo.instance import Mark, remove_directory
from tuibench.demo.layout import PREFIX, Layout
from tuibench.files import UNREADABLE

DEATH_SECONDS = 10.0
POLL_SECONDS = 0.02


def sweep(base: Path) -> list[Path]:
    """Removes what dead keepers left below `base`; returns the directories that are gone now."""
    return [path for path in sorted(base.glob(f"{PREFIX}*")) if _is_ours(path) and clear(Layout(path))]


def clear(layout: Layout) -> bool:
    """Removes one leftover directory and ends its server; False if it is in use or to be kept."""
    try:
        descriptor = os.open(layout.keeper_lock, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mark = msgspec.json.decode(file.read(), type=Mark)
        except (OSError, *UNREADABLE):
            return False
        if mark.keep:
            return False
        end_server(layout)
        remove_directory(layout)
    return not layout.root.exists()


def end_server(layout: Layout) -> None:
    """Kills the server of a directory, if its process still runs, and waits until it is gone."""
    pid = server_pid(layout)
    if pid is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for _ in range(int(DEATH_SECONDS / POLL_SECONDS)):
        if server_pid(layout) is None:
            return
        time.sleep(POLL_SECONDS)


def server_pid(layout: Layout) -> int | None:
    """The server's process, known by its pid file *and* its command line: pids are used again."""
    try:
        pid = int(layout.server_pid.read_text())
    except (OSError, ValueError):
        return None
    return pid if f"--datadir={layout.data}" in _command_line(pid) else None


def _command_line(pid: int) -> str:
    """A process's arguments; empty for one that is gone."""
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
