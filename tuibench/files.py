"""Files: reading small text files of the user, writing private files.

Devices, pipes without a writer and very large files are refused before they are read.
"""

import errno
import os
import stat
from pathlib import Path
from typing import IO

MAX_FILE_BYTES = 16 << 20
"""Option files, profiles and scripts are far smaller."""

DECODE_ERRORS = (ValueError, RecursionError)
"""Exceptions of JSON and TOML decoders: invalid text or document, too many digits, wrong types (msgspec's and
tomllib's own errors are ValueErrors), or nesting that is too deep."""


OWNER_ONLY = 0o600


def private(path: Path, mode: str) -> IO[bytes]:
    """Open a binary file for writing that only its owner can read; change the mode of an existing file."""
    stream = open(path, mode, opener=lambda name, flags: os.open(name, flags, OWNER_ONLY))  # noqa: SIM115
    os.fchmod(stream.fileno(), OWNER_ONLY)
    return stream


def expand_path(name: str) -> Path:
    """A path with `~` expanded; a `~` of an unknown user is kept."""
    return Path(os.path.expanduser(name))


def read_text(path: Path, *, encoding: str = "utf-8", errors: str = "strict", pipes: bool = False) -> str:
    """The text of a file; empty for the null device. `pipes` also allows pipes, as in a shell's <(command).

    Raises OSError for another kind of file or a file that is too large, UnicodeDecodeError for invalid text.
    """
    try:
        kind = path.stat()
    except ValueError as error:
        raise OSError(errno.EINVAL, "a name with a zero byte", str(path)) from error
    _require_finite(path, kind, pipes)
    with path.open("rb") as stream:
        found = stream.read(MAX_FILE_BYTES + 1)
    if len(found) > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, f"larger than {MAX_FILE_BYTES >> 20} MiB", str(path))
    return found.decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def _require_finite(path: Path, kind: os.stat_result, pipes: bool) -> None:
    """Raises OSError for files without an end; `open` refuses folders."""
    mode = kind.st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (pipes and stat.S_ISFIFO(mode)):
        return
    if not os.path.samestat(kind, os.stat(os.devnull)):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
