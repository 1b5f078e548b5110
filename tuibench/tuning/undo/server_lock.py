"""Lock on a server: one session of this account changes it at a time.

A change and a restore are each one turn: between reading a value, journalling it and setting another one, no
neighbour can do the same.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from tuibench import paths
from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.tuning.undo import durable_file
from tuibench.tuning.undo.journal_entries import JournalError

LOCK_TIMEOUT_SECONDS = 30.0
PAUSE_SECONDS = 0.02


class ServerLockError(JournalError):
    """Another session is changing settings on this server, and does not come to an end."""


@contextlib.asynccontextmanager
async def server_lock(journals: Path, identity: str, clock: Clock) -> AsyncIterator[None]:
    """The right to change the server `identity`, of which `journals` holds the journals.

    Raises TurnError when another session keeps it for too long.
    """
    fd = await asyncio.to_thread(_open, journals.with_name("locks"), identity)
    try:
        deadline_ns = clock.now_ns() + int(LOCK_TIMEOUT_SECONDS * NS_PER_SECOND)
        while not _locked(fd):
            if clock.now_ns() > deadline_ns:
                raise ServerLockError(
                    "another tuibench has been changing settings on this server "
                    f"for {LOCK_TIMEOUT_SECONDS:.0f} s",
                    "it may be stopped, or wait for the server; see tuibench sessions",
                )
            await clock.sleep(PAUSE_SECONDS)
        yield
    finally:
        os.close(fd)


def _open(folder: Path, identity: str) -> int:
    path = folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.lock"
    try:
        try:
            paths.ensure_private(folder)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in durable_file.UNWRITABLE:
                raise
            return _readable(path)
    except OSError as error:
        raise JournalError(
            f"cannot use {path}: {error.strerror or error}",
            "without it no setting is changed; TUIBENCH_HOME sets another place",
        ) from error


def _readable(path: Path) -> int:
    """The lock that read-only users share for restoring settings, or else its parent folder."""
    place = path if path.exists() else path.parent.parent
    return os.open(place, os.O_RDONLY | os.O_CLOEXEC)


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
