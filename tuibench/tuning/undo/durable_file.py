"""A crash-safe file that shows whether its owner lives: whole lines, synced, locked.

It appears under its name complete and locked, and the kernel drops the lock with its owner, however that
ended; so unlike a process id, a lock is never mistaken for that of another process. Raises OSError.
"""

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from tuibench import paths

UNWRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""What opening for writing meets where a file can only be read, as on a disk that failed."""

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC


def create_locked(path: Path, first_line: bytes) -> int:
    """Makes the file with its first line; returns its descriptor. FileExistsError if it is there already."""
    paths.ensure_private(path.parent)
    if path.exists():
        raise FileExistsError(0, "the file exists already")
    draft = path.with_suffix(".new")
    fd = os.open(draft, _FLAGS | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        append(fd, first_line, sync=True)
        draft.rename(path)
        _sync_directory(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        os.close(fd)
        raise
    return fd


def open_locked(path: Path) -> int | None:
    """A locked descriptor of the file that has this name now; None if there is none.

    It is good for reading only where the file cannot be written. BlockingIOError if a live process holds it.
    """
    while True:
        try:
            fd = _opened(path)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:
                return fd
        except OSError:
            os.close(fd)
            raise
        os.close(fd)


def _opened(path: Path) -> int:
    try:
        return os.open(path, _FLAGS)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def is_locked(path: Path) -> bool:
    """True if a live process has the file's lock."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def append(fd: int, line: bytes, *, sync: bool) -> None:
    """Adds a line, whole or not at all; with `sync` it is on the disk afterwards."""
    if not _is_writable(fd):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
    before = os.fstat(fd).st_size
    try:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if sync:
            os.fsync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, before)
        raise


def truncate(fd: int, length: int) -> None:
    """Drops what is behind this many bytes, in a file that can be written."""
    if _is_writable(fd):
        os.ftruncate(fd, length)


def _is_writable(fd: int) -> bool:
    return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def rename_with_suffix(path: Path, suffix: str) -> None:
    """Keeps the file under another name, for inspection."""
    with contextlib.suppress(FileNotFoundError):
        path.rename(path.with_name(path.name + suffix))
    _sync_directory(path.parent)


def remove(path: Path) -> None:
    """Deletes the file durably."""
    path.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
