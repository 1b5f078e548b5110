"""The right to change the settings of a server: one turn after the other, and one home at a time.

Within a home (TUIBENCH_HOME, the state folder of an account), each change and each restore is a turn, under
the lock of a file: between reading a value, journalling it and setting another one, no other session of the
home can do the same.

Between homes, hosts and accounts there is a lock on the server itself (`GET_LOCK`), which changing and
restoring both need. A session takes it on its control connection before its first change, and releases it
when nothing is left to restore. The lock ends with its connection, so a session that died blocks nobody;
whoever restores its changes takes the lock first. So a home that changes a setting after another home has
always restored it before the other home does, and the oldest value remains.

The sessions of a home share this lock, because they know each other's journals: the file of the turn names
the connection that took it. On a server without such locks, settings are changed without; then the sessions
of other homes count as other clients.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from tuibench.base import paths
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import ConnectionLostError
from tuibench.tuning import journal as journals
from tuibench.tuning.connection import AdminConnection
from tuibench.tuning.journal import Journal, JournalError

LOCK_TIMEOUT_SECONDS = 30.0
PAUSE_SECONDS = 0.02
LOCK_NAME = "tuibench.settings"


class ServerLockError(JournalError):
    """Another session is changing settings on this server for too long."""


@contextlib.asynccontextmanager
async def server_turn(
    control: AdminConnection, journal: Journal, clock: Clock, *, is_restore: bool = False
) -> AsyncIterator[bool]:
    """A turn at the settings of the server of a journal; yields True if no other session has the server's
    lock.

    A restore is possible even if the file of the turn cannot be created. Raises ServerLockError if another
    session keeps the turn for too long, or a session of another home has the server's lock.
    """
    async with file_lock(journal.path.parent, journal.header.identity, clock, is_restore=is_restore) as turn:
        start = await control.server_start(journal.header.flavour)
        is_alone = await _take(control, turn, start)

        async def check_again() -> None:
            # A new connection has no lock, and may lead to a server that has lost the changes.
            if await control.server_start(journal.header.flavour) != start:
                raise ConnectionLostError(2013, "the server was restarted meanwhile")
            await _take(control, turn, start)

        control.before_repeating = check_again
        try:
            yield is_alone
        finally:
            control.before_repeating = None
            if not journal.ledger.open_settings:
                await control.release_lock(LOCK_NAME)


async def _take(control: AdminConnection, turn: int, start: int) -> bool:
    """Takes the server's lock, unless a session of this home has it. True if this connection has it."""
    holder, own = await control.lock_holder(LOCK_NAME)
    if not holder and await control.take_lock(LOCK_NAME):
        await asyncio.to_thread(_note, turn, f"{start} {own}")
        return True
    if not holder:
        holder, own = await control.lock_holder(LOCK_NAME)
    if holder is None or holder == own:
        return holder is not None
    if await asyncio.to_thread(_noted, turn) == f"{start} {holder}":
        return False
    who = await control.describe_connection(holder)
    raise ServerLockError(
        f"another tuibench, of another home or host, has changed settings of this server: {who}",
        f"wait until it has restored them; if it is gone for certain: KILL {holder}",
    )


def _note(turn: int, text: str) -> None:
    """Writes the connection into the file of the turn. Without it, the other sessions of this home wait for
    this one as for those of other homes.
    """
    with contextlib.suppress(OSError):
        os.pwrite(turn, text.ljust(MAX_NOTE_BYTES).encode(), 0)


def _noted(turn: int) -> str:
    try:
        return os.pread(turn, MAX_NOTE_BYTES, 0).decode(errors="replace").strip()
    except OSError:
        return ""


MAX_NOTE_BYTES = 64


@contextlib.asynccontextmanager
async def file_lock(
    folder: Path, identity: str, clock: Clock, *, is_restore: bool = False
) -> AsyncIterator[int]:
    """The turn of this home at the server `identity`, whose journals are in `folder`; yields its descriptor.

    The descriptor is -1 for a restore without a file. Raises ServerLockError if another session keeps the
    turn for too long.
    """
    try:
        fd = await asyncio.to_thread(_open, folder.with_name("locks"), identity)
    except JournalError:
        if not is_restore:
            raise
        yield -1
        return
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
        yield fd
    finally:
        os.close(fd)


def _open(folder: Path, identity: str) -> int:
    path = folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.lock"
    try:
        try:
            paths.ensure_private(folder)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError as error:
            if error.errno not in journals.UNWRITABLE:
                raise
            # The lock that read-only users share for restoring settings, or else its parent folder.
            place = path if path.exists() else path.parent.parent
            return os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise JournalError(
            f"cannot use {path}: {error.strerror or error}",
            "without it no setting is changed; TUIBENCH_HOME sets another place",
        ) from error


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
