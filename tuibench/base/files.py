"""Files: reading small text files of the user, writing private files.

Devices, pipes without a writer and very large files are refused before they are read.
"""

import errno
import os
import re
import stat
from pathlib import Path
from typing import IO, BinaryIO

MAX_FILE_BYTES = 16 << 20
"""Maximum size of a file of the user: option files, profiles and scripts are far smaller."""

INFLATED_BYTES, INFLATED_RATIO = 16 << 20, 100
"""A compressed file may have `INFLATED_BYTES` and `INFLATED_RATIO` times its size when decompressed. The
ratio of records is 10 to 30, that of zeros a thousand.
"""

DECODE_ERRORS = (ValueError, RecursionError)
"""Exceptions of JSON and TOML decoders for an invalid document: ValueError, of which the errors of msgspec
and tomllib are subclasses, and RecursionError for nesting that is too deep.
"""

_DESCRIPTORS = re.compile(r"/dev/fd/|/proc/\d+/(task/\d+/)?fd/")
OWNER_ONLY = 0o600


def private(path: Path, mode: str) -> IO[bytes]:
    """Open a binary file for writing that only its owner can read; change the mode of an existing file."""
    stream = open(path, mode, opener=lambda name, flags: os.open(name, flags, OWNER_ONLY))  # noqa: SIM115
    os.fchmod(stream.fileno(), OWNER_ONLY)
    return stream


def expand_path(name: str) -> Path:
    """A path with `~` expanded; a `~` of an unknown user is kept."""
    return Path(os.path.expanduser(name))


def open_regular(path: Path, *, pipes: bool = False, limit: int | None = None) -> BinaryIO:
    """Open a file of the user for reading. `pipes` also allows unnamed pipes, as in a shell's <(command).

    Raises OSError for a device, for a named pipe, which would block until it has a writer, and for a file of
    more than `limit` bytes. The null device is read as an empty file.
    """
    try:
        _require_finite(path, path.stat(), pipes)
        # O_NONBLOCK: the file may have been replaced by a named pipe after the check.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    except ValueError as error:
        raise OSError(errno.EINVAL, "a name with a zero byte", str(path)) from error
    try:
        kind = os.fstat(descriptor)
        _require_finite(path, kind, pipes)
        if limit is not None and kind.st_size > limit:
            raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB", str(path))
        os.set_blocking(descriptor, True)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, *, pipes: bool = False, limit: int = MAX_FILE_BYTES) -> bytes:
    """The content of a file. Raises OSError as `open_regular` does, also for a pipe with more than
    `limit`.
    """
    with open_regular(path, pipes=pipes, limit=limit) as stream:
        found = stream.read(limit + 1)
    if len(found) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB", str(path))
    return found


def read_text(path: Path, *, encoding: str = "utf-8", errors: str = "strict", pipes: bool = False) -> str:
    """The text of a file; empty for the null device.

    Raises OSError as `open_regular` does, UnicodeDecodeError for invalid text.
    """
    found = read_bytes(path, pipes=pipes)
    return found.decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def inflated_limit(stream: BinaryIO, most: int) -> int:
    """Maximum decompressed size of an open compressed file in bytes, which is never more than `most`."""
    return min(most, INFLATED_BYTES + INFLATED_RATIO * os.fstat(stream.fileno()).st_size)


def _require_finite(path: Path, kind: os.stat_result, pipes: bool) -> None:
    """Raises OSError for a folder, and for a file that may have no end, such as a device."""
    mode = kind.st_mode
    if stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode) and _is_unnamed(path)):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.path.samestat(kind, os.stat(os.devnull)):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def _is_unnamed(path: Path) -> bool:
    """True for a pipe that is an open descriptor of a process: reading it does not wait for a writer to open
    it.
    """
    return _DESCRIPTORS.match(os.path.realpath(path)) is not None
