"""A file system of a few megabytes that a test may fill, empty and set read-only, or break."""

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


def can_break() -> bool:
    """Whether a file system can be made on a file here, and broken."""
    return can_mount() and shutil.which("mkfs.ext4") is not None and Path("/dev/loop-control").exists()


class BreakableDisk:
    """An ext4 file system: after an error the kernel takes no more writes, not even to open files."""

    def __init__(self, path: Path, device: str) -> None:
        self.path = path
        self._device = device

    def fail(self) -> None:
        """From now on it is read-only (EROFS), until it is unmounted."""
        Path(f"/sys/fs/ext4/{self._device}/trigger_fs_error").write_text("test")


@contextlib.contextmanager
def breakable_disk(megabytes: int) -> Iterator[BreakableDisk]:
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/tmp"))
    image, place = folder / "image", folder / "d"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(megabytes * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop,errors=remount-ro", str(image), str(place)], check=True)
    try:
        yield BreakableDisk(place, _device_of(place))
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
        shutil.rmtree(folder)


def _device_of(place: Path) -> str:
    """The name of the block device that is mounted there."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return next(Path(device).name for device, mounted, *_ in mounts if mounted == str(place))
