"""What was started last from the start screen: servers and loads, never a password."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tuibench import paths
from tuibench.files import UNREADABLE

FILE = "recent.json"
MOST = 8


class Recent(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed, and when by the wall clock. There is no place for a password."""

    place: str = ""
    user: str = ""
    database: str = ""
    profile: str = ""
    options: str = ""
    threads: str = ""
    seconds: str = ""
    at: float = 0.0

    @property
    def target(self) -> tuple[str, str]:
        return self.user, self.place


def recents() -> tuple[Recent, ...]:
    """Newest first; none where the file is not there or not understood: it is a convenience only."""
    try:
        return msgspec.json.decode(_file().read_bytes(), type=tuple[Recent, ...])
    except (OSError, *UNREADABLE):
        return ()


def remember(recent: Recent, now: float | None = None) -> None:
    """Puts it first, in place of an earlier one of the same server. What cannot be written is forgotten."""
    stamped = msgspec.structs.replace(recent, at=time.time() if now is None else now)
    kept = [stamped, *(each for each in recents() if each.target != recent.target)][:MOST]
    try:
        _write(kept)
    except OSError:
        return


def _write(kept: Sequence[Recent]) -> None:
    folder = paths.private(paths.state_dir())
    new = folder / f"{FILE}.{os.getpid()}"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(kept), indent=2))
    new.replace(_file())


def _file() -> Path:
    return paths.state_dir() / FILE
