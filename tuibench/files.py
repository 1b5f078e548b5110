"""Reading what a user wrote: small files of text, and nothing that never ends.

A device, a pipe that nobody writes into, or a dump that was named by mistake is refused before it is read.
"""

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 16 << 20
"""Option files, profiles and scripts are far below it."""

UNREADABLE = (ValueError, RecursionError)
"""What decoding JSON or TOML raises: no text, no document, a number of endless digits, other types (msgspec's
and tomllib's own errors are ValueErrors), or a nesting that does not end."""


def path(name: str) -> Path:
    """A path as a user writes it; a `~` of nobody we know stays what it is."""
    return Path(os.path.expanduser(name))


def text(path: Path, *, encoding: str = "utf-8", errors: str = "strict", pipes: bool = False) -> str:
    """A file's text. The null device has none; `pipes` takes what a shell hands over by <(command), too.

    Raises OSError for what is no such file or too large, UnicodeDecodeError for what is no text.
    """
    try:
        kind = path.stat()
    except ValueError as error:
        raise OSError(errno.EINVAL, "a name with a zero byte", str(path)) from error
    _expect_end(path, kind, pipes)
    with path.open("rb") as stream:
        found = stream.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"larger than {MOST_BYTES >> 20} MiB", str(path))
    return found.decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def _expect_end(path: Path, kind: os.stat_result, pipes: bool) -> None:
    """Raises OSError for what may never come to an end; a folder is for `open` to refuse."""
    mode = kind.st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (pipes and stat.S_ISFIFO(mode)):
        return
    if not os.path.samestat(kind, os.stat(os.devnull)):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
