"""A file system of a few megabytes that a test may fill, empty and set read-only."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FILLER = "filler"
CHUNK = 4096
MIB = 1024 * 1024


def can_mount() -> bool:
    """Whether this user may mount file systems here."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    mounted = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    return mounted.returncode == 0


class SmallDisk:
    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self, leave: int = 0) -> None:
        """Writes until nothing more fits, or until so many bytes are left."""
        with contextlib.suppress(OSError), (self.path / FILLER).open("ab", buffering=0) as file:
            free = os.statvfs(self.path).f_bavail * CHUNK - leave
            os.posix_fallocate(file.fileno(), file.tell(), max(free, CHUNK))
            while not leave:
                file.seek(0, os.SEEK_END)
                file.write(bytes(CHUNK))

    def empty(self) -> None:
        """Gives the space back that `fill` took."""
        (self.path / FILLER).unlink()

    def set_read_only(self, is_read_only: bool) -> None:
        mode = "ro" if is_read_only else "rw"
        subprocess.run(["mount", "-o", f"remount,{mode}", str(self.path)], check=True)


@contextlib.contextmanager
def small_disk(megabytes: int) -> Iterator[SmallDisk]:
    folder = tempfile.mkdtemp(prefix="tb-", dir="/tmp")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", folder], check=True)
    try:
        yield SmallDisk(Path(folder))
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        Path(folder).rmdir()
