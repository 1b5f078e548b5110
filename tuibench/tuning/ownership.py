"""Ownership of a setting's value that several sessions changed, and its messages.

The changes of all journals of one server have one order. The last live session restores the value before the
first of them. A session that ends earlier restores the value that the others expect, if its own is the
current one; it hands over its own changes that come before theirs.

A server that was started after a change has lost it, and has its own values. They are left unchanged.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from tuibench.base.errors import SQLError, TuibenchError
from tuibench.tuning import catalogue
from tuibench.tuning.connection import manual_statement
from tuibench.tuning.journal import OpenChange, OpenChanges, OurValues, original_and_ours


class RestoreAction(StrEnum):
    RESTORE = "restore"
    NOTHING = "nothing"
    LEAVE = "leave"
    CONFIGURED = "configured"
    """The server was started after the changes, and has its own value."""
    HAND_OVER = "hand over"
    UNCLEAR = "unclear"


class ChangeOwner(StrEnum):
    """The owner of a change: this session, another live session, or none."""

    OURS = "ours"
    LIVE = "live"
    GONE = "gone"


class OtherSession(msgspec.Struct, frozen=True):
    """Another session's journal on the same server."""

    session: str
    ledger: OpenChanges
    is_live: bool
    """True while the journal is locked."""


class OwnedChange(msgspec.Struct, frozen=True):
    """An open change and its owner."""

    session: str
    owner: ChangeOwner
    open: OpenChange

    @property
    def seq(self) -> int:
        return self.open.change.seq


class RestoreDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with a setting."""

    setting: str
    action: RestoreAction
    current: str
    original: str
    last: str
    """The value that this session requested last."""
    seqs: tuple[int, ...]
    """This session's changes that the decision settles."""
    gone: dict[str, tuple[int, ...]] = {}
    """The changes of ended sessions that it settles, by session."""
    handed: tuple[int, ...] = ()
    """This session's changes that stay open for the session `successor`."""
    successor: str = ""


def decide_restore(
    setting: str,
    current: str,
    own: OpenChanges,
    others: Iterable[OtherSession] = (),
    server_start: int = 0,
    *,
    even_restarted: bool = False,
) -> RestoreDecision:
    """What to do with a setting of `own.open_settings` whose current value is `current`.

    The server was started at `server_start` (0 if unknown). Changes that an earlier start has lost are
    restored only with `even_restarted`. The changes that still hold are ordered by time. Those up to the last
    one of another live session are `below`: that session will restore them. Those after it are `top`: this
    session restores them, to the value that the live session expects.
    """
    everything = _owned_changes(setting, own, others)
    lost = [each for each in everything if each.open.is_lost(server_start)]
    held = [each for each in everything if not each.open.is_lost(server_start)]
    last = [each.open.change.new for each in everything if each.owner is ChangeOwner.OURS][-1]
    if not _seqs(held):
        original, _ = original_and_ours(each.open for each in everything)
        action = RestoreAction.RESTORE if even_restarted and not held else RestoreAction.CONFIGURED
        return RestoreDecision(
            setting=setting,
            action=RestoreAction.NOTHING if current == original else action,
            current=current,
            original=original,
            last=last,
            seqs=_seqs(lost),
            gone=_gone(lost),
        )
    live = [place for place, each in enumerate(held) if each.owner is ChangeOwner.LIVE]
    below, top = (held[: live[-1] + 1], held[live[-1] + 1 :]) if live else ([], held)
    successor = below[-1].session if below else ""
    first, _ = original_and_ours(each.open for each in held)
    if not _seqs(top):
        return RestoreDecision(
            setting=setting,
            action=RestoreAction.HAND_OVER,
            current=current,
            original=first,
            last=last,
            seqs=(),
            handed=_seqs([*lost, *below]),
            successor=successor,
        )
    original, ours = original_and_ours(each.open for each in top)
    return RestoreDecision(
        setting=setting,
        action=_action(current, original, ours, first),
        current=current,
        original=original,
        last=last,
        seqs=_seqs([*lost, *top]),
        gone=_gone([*lost, *top]),
        handed=_seqs(below),
        successor=successor,
    )


def _gone(held: Sequence[OwnedChange]) -> dict[str, tuple[int, ...]]:
    """The changes of ended sessions, by session."""
    gone: dict[str, tuple[int, ...]] = {}
    for each in held:
        if each.owner is ChangeOwner.GONE:
            gone[each.session] = (*gone.get(each.session, ()), each.seq)
    return gone


def _action(current: str, original: str, ours: OurValues, first: str) -> RestoreAction:
    """The action for a current value. A restarted server has the very `first` value again, whatever was set
    in between.

    An unconfirmed change that continues in the background may still take effect: then the original is set,
    too.
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
    setting: str, own: OpenChanges, others: Iterable[OtherSession], server_start: int = 0
) -> tuple[str, OurValues] | None:
    """The original value and this session's, if the last open change of the setting, of any session, is
    unconfirmed and newer than `server_start`.
    """
    held = [each for each in _owned_changes(setting, own, others) if not each.open.is_lost(server_start)]
    if not held:
        return None
    original, ours = original_and_ours(each.open for each in held)
    return None if ours.is_confirmed else (original, ours)


def _owned_changes(setting: str, own: OpenChanges, others: Iterable[OtherSession]) -> list[OwnedChange]:
    """All open changes of a setting, in the order in which they were made."""
    held = [OwnedChange("", ChangeOwner.OURS, each) for each in own.changes_of(setting)]
    for other in others:
        for each in other.ledger.changes_of(setting):
            owner = ChangeOwner.LIVE if other.is_live and not each.handed else ChangeOwner.GONE
            held.append(OwnedChange(other.session, owner, each))
    return sorted(held, key=lambda each: each.seq)


def _seqs(held: Sequence[OwnedChange]) -> tuple[int, ...]:
    """The numbers of this session's changes."""
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


def not_kept(decision: RestoreDecision) -> str:
    """Why a value cannot be kept as this session's."""
    if decision.action is RestoreAction.NOTHING:
        return f"{already_original(decision)}: there is nothing to keep"
    if decision.action is RestoreAction.HAND_OVER:
        return (
            f"{decision.setting} is {decision.current}, as session {decision.successor} set it: keep it there"
        )
    return (
        f"{decision.setting} is {decision.current}, and this session set it to {decision.last}: another "
        "client or a restart has changed it since, so there is nothing to keep"
    )


def left_as_configured(decision: RestoreDecision) -> str:
    return (
        f"{decision.setting} is kept at {decision.current}: the server was started after tuibench set it to "
        f"{decision.last}, and has its own value now; before tuibench it was {decision.original}"
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
    """Follows the result of a setting in a message."""
    return f"; it stays in the journal until the next tuibench restore: {error.message}"


def _by_hand(name: str, value: str) -> str:
    return f"; manually: {manual_statement(name, value)}"


def reset_by_restart(decision: RestoreDecision) -> str:
    """The message about a setting that a restart of the server has reset."""
    if decision.action not in (RestoreAction.LEAVE, RestoreAction.UNCLEAR, RestoreAction.CONFIGURED):
        return f"{decision.setting} is {decision.current} again, as before tuibench"
    return (
        f"{decision.setting} is {decision.current} now, as the server is configured; "
        f"before tuibench it was {decision.original}"
    )


def unchanged_by_restart(decision: RestoreDecision) -> str:
    """The message about a setting that a restart of the server did not reset."""
    return f"{decision.setting} is still {decision.current}, and is restored at the end"
