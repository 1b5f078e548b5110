"""Ownership of a setting's value that several sessions changed, its messages, and the lock on a server.

The changes of all journals of one server have one order. The last session that lives restores what was
before the first of them. A session that ends earlier restores what the others expect to find if its own
value is on top; it hands over its own changes below theirs.

Lock: one session of this account changes a server at a time. A change and a restore are each one turn:
between reading a value, journalling it and setting another one, no neighbour can do the same.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from tuibench import paths
from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import SQLError, TuibenchError
from tuibench.tuning import catalogue, journal
from tuibench.tuning.connection import manual_statement
from tuibench.tuning.journal import JournalError, Ledger, OpenChange, OurValues, original_and_ours


class RestoreAction(StrEnum):
    RESTORE = "restore"
    NOTHING = "nothing"
    LEAVE = "leave"
    HAND_OVER = "hand over"
    UNCLEAR = "unclear"


class ChangeOwner(StrEnum):
    """The owner of a change: this session, another live session, or none."""

    OURS = "ours"
    LIVE = "live"
    GONE = "gone"


class OtherSession(msgspec.Struct, frozen=True):
    """Another session's journal on the same server. `is_live` while it is locked."""

    session: str
    ledger: Ledger
    is_live: bool


class OwnedChange(msgspec.Struct, frozen=True):
    """An open change and its owner."""

    session: str
    owner: ChangeOwner
    open: OpenChange

    @property
    def seq(self) -> int:
        return self.open.change.seq


class RestoreDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with a setting.

    `seqs` are the changes of ours that this settles, `gone` those of sessions that are gone, by session.
    `handed` are changes of ours that stay open for the session `successor`. `last` is what we asked for last.
    """

    setting: str
    action: RestoreAction
    current: str
    original: str
    last: str
    seqs: tuple[int, ...]
    gone: dict[str, tuple[int, ...]] = {}
    handed: tuple[int, ...] = ()
    successor: str = ""


def decide_restore(
    setting: str, current: str, own: Ledger, others: Iterable[OtherSession] = ()
) -> RestoreDecision:
    """What to do with a setting of `own.open_settings` that has the value `current` now."""
    held = _owned_changes(setting, own, others)
    live = [place for place, each in enumerate(held) if each.owner is ChangeOwner.LIVE]
    below, top = (held[: live[-1] + 1], held[live[-1] + 1 :]) if live else ([], held)
    successor = below[-1].session if below else ""
    last = [each.open.change.new for each in held if each.owner is ChangeOwner.OURS][-1]
    first, _ = original_and_ours(each.open for each in held)
    if not _seqs(top):
        return RestoreDecision(
            setting=setting,
            action=RestoreAction.HAND_OVER,
            current=current,
            original=first,
            last=last,
            seqs=(),
            handed=_seqs(below),
            successor=successor,
        )
    original, ours = original_and_ours(each.open for each in top)
    gone: dict[str, tuple[int, ...]] = {}
    for each in top:
        if each.owner is ChangeOwner.GONE:
            gone[each.session] = (*gone.get(each.session, ()), each.seq)
    return RestoreDecision(
        setting=setting,
        action=_action(current, original, ours, first),
        current=current,
        original=original,
        last=last,
        seqs=_seqs(top),
        gone=gone,
        handed=_seqs(below),
        successor=successor,
    )


def _action(current: str, original: str, ours: OurValues, first: str) -> RestoreAction:
    """A server that was restarted has the very `first` value again, whatever was there in between.

    An unconfirmed change that goes on in the background may be still to come: then the original is set, too.
    """
    if current == original:
        is_late = not ours.is_confirmed and catalogue.is_slow(ours.setting)
        return RestoreAction.RESTORE if is_late else RestoreAction.NOTHING
    if ours.has(current):
        return RestoreAction.RESTORE
    if current == first:
        return RestoreAction.NOTHING
    return RestoreAction.LEAVE if ours.is_confirmed else RestoreAction.UNCLEAR


def unconfirmed_values(
    setting: str, own: Ledger, others: Iterable[OtherSession]
) -> tuple[str, OurValues] | None:
    """The original value and ours, if the last open change of the setting, of any session, is unconfirmed."""
    held = _owned_changes(setting, own, others)
    if not held:
        return None
    original, ours = original_and_ours(each.open for each in held)
    return None if ours.is_confirmed else (original, ours)


def _owned_changes(setting: str, own: Ledger, others: Iterable[OtherSession]) -> list[OwnedChange]:
    """All open changes of a setting, in the order in which they were made."""
    held = [OwnedChange("", ChangeOwner.OURS, each) for each in own.changes_of(setting)]
    for other in others:
        for each in other.ledger.changes_of(setting):
            owner = ChangeOwner.LIVE if other.is_live and not each.handed else ChangeOwner.GONE
            held.append(OwnedChange(other.session, owner, each))
    return sorted(held, key=lambda each: each.seq)


def _seqs(held: Sequence[OwnedChange]) -> tuple[int, ...]:
    """Our own among them."""
    return tuple(each.seq for each in held if each.owner is ChangeOwner.OURS)


def restored_message(decision: RestoreDecision) -> str:
    if decision.current == decision.original:
        return already_original(decision)
    why = f"as session {decision.successor} has it" if decision.successor else "as before"
    return f"{decision.setting} {decision.current} → {decision.original}, {why}"


def already_original(decision: RestoreDecision) -> str:
    return f"{decision.setting} is {decision.current}, as before"


def handed_over(decision: RestoreDecision) -> str:
    return (
        f"{decision.setting} stays {decision.current}: session {decision.successor} has changed it, too, "
        f"and restores {decision.original} when it ends"
    )


def left_unchanged(decision: RestoreDecision) -> str:
    return (
        f"{decision.setting} is kept at {decision.current}: tuibench set it to {decision.last}, and another "
        f"session changed it later; before tuibench it was {decision.original}"
    )


def of_unknown_origin(decision: RestoreDecision) -> str:
    return (
        f"{decision.setting} stays {decision.current} and in the journal: tuibench set it to {decision.last} "
        "and got no answer, so the server or another session may have set it; before tuibench it was "
        f"{decision.original}{_by_hand(decision.setting, decision.original)}"
    )


def restore_refused(decision: RestoreDecision, error: TuibenchError) -> str:
    code = f" (error {error.code})" if isinstance(error, SQLError) else ""
    return (
        f"{decision.setting} stays {decision.current}, it was {decision.original}: {error.message}{code}"
        + _by_hand(decision.setting, decision.original)
    )


def without_effect(decision: RestoreDecision, value: str) -> str:
    return (
        f"{decision.setting} was restored to {decision.original}, and the server returns {value}"
        + _by_hand(decision.setting, decision.original)
    )


def not_restored(name: str, original: str, error: TuibenchError) -> str:
    return f"{name} could not be restored to {original}: {error.message}" + _by_hand(name, original)


def journal_not_written(error: TuibenchError) -> str:
    """Added to what became of a setting."""
    return f"; it stays in the journal until the next tuibench restore: {error.message}"


def _by_hand(name: str, value: str) -> str:
    return f"; manually: {manual_statement(name, value)}"


def reset_by_restart(decision: RestoreDecision) -> str:
    """After a restart of the server."""
    if decision.action not in (RestoreAction.LEAVE, RestoreAction.UNCLEAR):
        return f"{decision.setting} is {decision.current} again, as before tuibench"
    return (
        f"{decision.setting} is {decision.current} now, as the server is configured; "
        f"before tuibench it was {decision.original}"
    )


def unchanged_by_restart(decision: RestoreDecision) -> str:
    """After a restart of the server that did not reset the setting."""
    return f"{decision.setting} is still {decision.current}, and is restored at the end"


LOCK_TIMEOUT_SECONDS = 30.0
PAUSE_SECONDS = 0.02


class ServerLockError(JournalError):
    """Another session is changing settings on this server, and does not come to an end."""


@contextlib.asynccontextmanager
async def server_lock(journals: Path, identity: str, clock: Clock) -> AsyncIterator[None]:
    """The right to change the server `identity`, of which `journals` holds the journals.

    Raises ServerLockError when another session keeps it for too long.
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
            if error.errno not in journal.UNWRITABLE:
                raise
            # The lock that read-only users share for restoring settings, or else its parent folder.
            place = path if path.exists() else path.parent.parent
            return os.open(place, os.O_RDONLY | os.O_CLOEXEC)
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
