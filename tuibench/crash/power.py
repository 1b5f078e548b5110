"""A loss of power for one private server: a file system of its own that is cut off from its disk.

The server's data is moved to an ext4 file system in a file, behind a loop device. At the loss, the server is
stopped (SIGSTOP), and FS_IOC_SHUTDOWN, which file systems are tested with, cuts the file system off: what was
not synced never reaches the disk, and the journal is not written. Then the server is killed, the file system
is unmounted and mounted again, which replays its journal, and the server is started on what is left. The disk
itself keeps what it was given: one that acknowledges a flush before it is done loses more.

The mount belongs to a mount namespace of this process, and the file has no name: both are gone with the last
process that uses them, whatever ends it. After kill -9 of the command, only the empty directory is left.
"""

import asyncio
import ctypes
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tuibench.demo.process import DirectoryLayout, default_base
from tuibench.demo.server import PrivateServer
from tuibench.errors import RunError, UsageError

PROGRAMS = ("mkfs.ext4", "mount", "umount", "sync")
DISK_BYTES = 4 << 30
"""Size of the file system; its file is sparse."""

STOP_SECONDS = 0.05
"""How long all threads of a process take at most to notice SIGSTOP."""

UNMOUNT_ATTEMPTS = 200

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 16384, 1 << 18
FS_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2


def check_possible() -> None:
    """Raises UsageError that names what is missing for a loss of power."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if sys.platform != "linux":
        missing.append("Linux")
    elif os.geteuid() != 0:
        missing.append("the right to mount (root)")
    elif not Path("/dev/loop-control").exists():
        missing.append("loop devices (/dev/loop-control)")
    if missing:
        raise UsageError(
            f"a loss of power cannot be simulated here; missing: {', '.join(missing)}",
            "without --power the process is killed",
        )


class Disk:
    """A mounted file system that can lose its power. `root` is where it is mounted."""

    def __init__(self, root: Path, device: str) -> None:
        self.root = root
        self._device = device

    @classmethod
    @contextmanager
    def mounted(cls) -> Iterator[Self]:
        """Create and mount it, in a mount namespace of this process and those that it starts from here on.

        Raises RunError if the system refuses that.
        """
        check_possible()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
            raise RunError(f"cannot create a mount namespace: {os.strerror(ctypes.get_errno())}")
        root = Path(tempfile.mkdtemp(prefix="tuibench-disk-", dir=default_base()))
        try:
            with tempfile.NamedTemporaryFile(dir=root.parent) as file:
                file.truncate(DISK_BYTES)
                _run(["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0", file.name])
                _run(["mount", "-o", "loop", file.name, str(root)])
            disk = cls(root, _device_of(root))
            try:
                yield disk
            finally:
                if root.is_mount():
                    _run(["umount", "-l", str(root)])
        finally:
            root.rmdir()

    async def take_data(self, server: PrivateServer) -> None:
        """Move the data of a server, which is restarted, to this disk, synced."""
        data = DirectoryLayout(server.directory).data
        await server.kill()
        await asyncio.to_thread(shutil.move, data, self.root)
        await asyncio.to_thread(_run, ["sync", "--file-system", str(self.root)])
        data.symlink_to(self.root / data.name)
        await server.start_again()

    async def cut_power(self, server: PrivateServer) -> None:
        """Lose what the server has not synced; it has ended when this returns.

        It is stopped before: a server without power acknowledges nothing, and refuses nothing.
        """
        os.kill(server.pid, signal.SIGSTOP)
        await asyncio.sleep(STOP_SECONDS)
        await asyncio.to_thread(self._shut_down)
        await server.kill()
        await asyncio.to_thread(self._mount_again)

    def _shut_down(self) -> None:
        """Nothing reaches the disk from here on; every access fails."""
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(descriptor)

    def _mount_again(self) -> None:
        """Mount it again with what is on the disk; no process may have a file of it open."""
        holder = os.open(self._device, os.O_RDWR)
        try:
            self._unmount()
            _run(["mount", self._device, str(self.root)])
        finally:
            os.close(holder)

    def _unmount(self) -> None:
        """The kernel may release the files of a killed process a little later than its end."""
        for left in range(UNMOUNT_ATTEMPTS - 1, -1, -1):
            try:
                _run(["umount", str(self.root)])
            except RunError:
                if not left:
                    raise
                time.sleep(STOP_SECONDS)
            else:
                return


def _device_of(root: Path) -> str:
    return next(
        line.split()[0]
        for line in Path("/proc/self/mounts").read_text().splitlines()
        if line.split()[1] == str(root)
    )


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunError(f"{command[0]} failed: {done.stderr.strip() or done.returncode}")
