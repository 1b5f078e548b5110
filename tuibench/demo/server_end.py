"""The end of a private server, as the sessions that use it notice it.

The supervisor is the server's parent. When the server ends, it writes the reason into the server's directory.
A session of another process than the owner's polls for it: it has neither the server's exit code nor the
supervisor's pipes. A server also counts as ended without its supervisor, or without its directory.
"""

import contextlib
import fcntl
import os
from pathlib import Path

import msgspec

from tuibench.demo.layout import DirectoryLayout
from tuibench.errors import ServerUnavailableError
from tuibench.files import DECODE_ERRORS

WHAT = "the private server has ended"
RESERVED_BYTES = 4096


class ServerEnd(msgspec.Struct, frozen=True):
    """Why a server ended: was killed by SIGKILL, and how to avoid it."""

    words: str
    hint: str = ""


def reserve_end(layout: DirectoryLayout) -> None:
    """Before a server starts: reserve the space of the reason, since a full disk may be what ends it."""
    layout.server_end.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        _reserved(layout).write_bytes(b" " * RESERVED_BYTES)


def write_end(layout: DirectoryLayout, end: ServerEnd) -> None:
    """Write the reason into the reserved space, and name it so, at once as a whole."""
    with contextlib.suppress(OSError):
        with _reserved(layout).open("r+b") as file:
            file.write(msgspec.json.encode(end)[:RESERVED_BYTES])
        _reserved(layout).replace(layout.server_end)


def _reserved(layout: DirectoryLayout) -> Path:
    return layout.server_end.with_suffix(".new")


def find_end(layout: DirectoryLayout) -> ServerUnavailableError | None:
    """The error that says why the server has ended; None while it runs."""
    try:
        end = msgspec.json.decode(layout.server_end.read_bytes(), type=ServerEnd)
    except FileNotFoundError:
        return _without_reason(layout)
    except (OSError, *DECODE_ERRORS):
        return ServerUnavailableError(WHAT)
    return ServerUnavailableError(f"{WHAT}: {end.words}", end.hint)


def _without_reason(layout: DirectoryLayout) -> ServerUnavailableError | None:
    try:
        descriptor = os.open(layout.supervisor_lock, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ServerUnavailableError(f"{WHAT}: it was stopped, and {layout.root} is removed")
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return None
    return ServerUnavailableError(f"{WHAT}: its supervisor has ended")
