"""Restore of settings, for the session's end, the guardian and `tuibench restore`.

A statement may outlive the session that sent it: MariaDB changes the size of its log for seconds, reports the
old value meanwhile, and accepts it as a new one. So a setting that the server is still changing is not read,
but left to the next attempt.

Retries while the server is away or busy: their duration, interval and messages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from enum import StrEnum

import msgspec

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import (
    ConnectionLostError,
    DeniedError,
    RunError,
    ServerUnavailableError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.tuning.admin_connection import AdminConnection
from tuibench.tuning.catalogue import setting_lookup
from tuibench.tuning.undo import other_sessions, ownership
from tuibench.tuning.undo.journal import Journal
from tuibench.tuning.undo.journal_entries import JournalError, Settlement
from tuibench.tuning.undo.ownership import RestoreAction, RestoreDecision, decide_restore
from tuibench.tuning.undo.server_lock import ServerLockError, server_lock

SLOW_ATTEMPTS, SLOW_PAUSE_SECONDS = 20, 0.25
"""A change in the background keeps a server from taking the next one for so long at most."""


class OtherServerError(RunError):
    """Behind the address there is another server than the one whose settings were changed."""


class ChangingError(RunError):
    """The server is still executing an earlier change of a setting."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the server is still executing an earlier change of {name}", "try again later")


class RestoreOutcome(StrEnum):
    """How putting a setting back ended. The last three leave it in the journal; so does HANDED, for another.

    UNREACHABLE is worth another attempt: the server is away or busy.
    """

    RESTORED = "restored"
    UNCHANGED = "unchanged"
    LEFT = "left"
    HANDED = "handed over"
    UNCLEAR = "unclear"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


PENDING = frozenset({RestoreOutcome.UNCLEAR, RestoreOutcome.REFUSED, RestoreOutcome.UNREACHABLE})
SETTLEMENTS = {
    RestoreAction.RESTORE: Settlement.RESTORED,
    RestoreAction.NOTHING: Settlement.UNCHANGED,
    RestoreAction.LEAVE: Settlement.LEFT,
    RestoreAction.UNCLEAR: Settlement.LEFT,
}


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one setting: its value now (empty if unknown), the original one, and a sentence."""

    setting: str
    outcome: RestoreOutcome
    value: str
    original: str
    text: str

    @property
    def pending(self) -> bool:
        """True if it is still to be restored."""
        return self.outcome in PENDING


async def restore_settings(
    control: AdminConnection, journal: Journal, clock: Clock, only: Collection[str] = ()
) -> list[RestoreResult]:
    """Restores what the journal holds (or `only` these of it), unless it was changed since.

    Failures are reported, not raised.
    """
    names = tuple(name for name in journal.ledger.open_settings if not only or name in only)
    done: list[RestoreResult] = []
    try:
        if names:
            async with server_lock(journal.path.parent, journal.header.identity, clock):
                busy = await control.being_changed(names)
                for name in busy:
                    done += _pending(journal, (name,), RestoreOutcome.UNREACHABLE, ChangingError(name))
                if still := _rest(names, done):
                    for decision in await restore_decisions(control, journal, still):
                        done.append(await _carry_out(control, journal, clock, decision))
    except (ServerUnavailableError, ConnectionLostError, ServerLockError) as error:
        done += _pending(journal, _rest(names, done), RestoreOutcome.UNREACHABLE, error)
    except TuibenchError as error:
        done += _pending(journal, _rest(names, done), RestoreOutcome.REFUSED, error)
    return sorted(done, key=lambda one: names.index(one.setting))


async def restore_decisions(
    control: AdminConnection, journal: Journal, only: Collection[str] = ()
) -> list[RestoreDecision]:
    """What to do with each setting (or `only` with these), so that no change breaks the limit of another one.

    To be called in one's turn. Raises TuibenchError when this is not the server of the journal.
    """
    await expect_same_server(control, journal)
    names = [name for name in journal.ledger.open_settings if not only or name in only]
    others = await asyncio.to_thread(other_sessions.other_sessions, journal)
    values = await control.values({*names, *(setting_lookup.paired_setting(name) or name for name in names)})
    found = {name: decide_restore(name, values.get(name, ""), journal.ledger, others) for name in names}
    ours = {name: each.original for name, each in found.items() if each.action is RestoreAction.RESTORE}
    return [
        found[name]
        for name in (
            *(name for name in names if name not in ours),
            *setting_lookup.order_by_limits(ours, values),
        )
    ]


async def settle_decision(journal: Journal, clock: Clock, decision: RestoreDecision, why: str = "") -> None:
    """Closes in all journals what a decision that was carried out has settled, and hands over the rest."""
    at = clock.wall_seconds()
    if decision.action is not RestoreAction.HAND_OVER:
        how = SETTLEMENTS[decision.action]
        for session, seqs in decision.gone.items():
            await asyncio.to_thread(other_sessions.settle_for_session, journal, session, seqs, how, at)
        await asyncio.to_thread(journal.settle, decision.seqs, how, at, why)
    if decision.handed:
        await asyncio.to_thread(journal.hand_over, decision.handed, decision.successor, at)


async def expect_same_server(control: AdminConnection, journal: Journal) -> None:
    """Raises OtherServerError when the connection leads to another server than the journal is about."""
    identity = await control.identity()
    if identity != journal.header.identity:
        raise OtherServerError(
            f"this is another server ({identity}) than the one that was changed ({journal.header.identity})"
        )


async def _carry_out(
    control: AdminConnection, journal: Journal, clock: Clock, decision: RestoreDecision
) -> RestoreResult:
    match decision.action:
        case RestoreAction.RESTORE:
            return await _restore_value(control, journal, clock, decision)
        case RestoreAction.NOTHING:
            outcome, text = RestoreOutcome.UNCHANGED, ownership.already_original(decision)
        case RestoreAction.LEAVE:
            outcome, text = RestoreOutcome.LEFT, ownership.left_unchanged(decision)
        case RestoreAction.HAND_OVER:
            outcome, text = RestoreOutcome.HANDED, ownership.handed_over(decision)
        case RestoreAction.UNCLEAR:
            return _restored(
                decision, RestoreOutcome.UNCLEAR, decision.current, ownership.of_unknown_origin(decision)
            )
    text += await _settle_or_note(journal, clock, decision, text if outcome is RestoreOutcome.LEFT else "")
    return _restored(decision, outcome, decision.current, text)


async def _restore_value(
    control: AdminConnection, journal: Journal, clock: Clock, decision: RestoreDecision
) -> RestoreResult:
    failed = (
        RestoreOutcome.UNREACHABLE if setting_lookup.is_slow(decision.setting) else RestoreOutcome.REFUSED
    )
    try:
        await _check_pair(control, decision)
        value = await _set(control, clock, decision)
    except ConnectionLostError:
        raise
    except (SQLError, UsageError) as error:
        outcome = RestoreOutcome.REFUSED if isinstance(error, DeniedError | UsageError) else failed
        return _restored(decision, outcome, decision.current, ownership.restore_refused(decision, error))
    if value != decision.original:
        return _restored(decision, failed, value, ownership.without_effect(decision, value))
    text = ownership.restored_message(decision) + await _settle_or_note(journal, clock, decision)
    outcome = RestoreOutcome.UNCHANGED if decision.current == decision.original else RestoreOutcome.RESTORED
    return _restored(decision, outcome, value, text)


async def _settle_or_note(journal: Journal, clock: Clock, decision: RestoreDecision, why: str = "") -> str:
    """Settles; what to add to the sentence where a journal cannot be written.

    A full disk must not keep the other settings from going back. What stays in the journal is found as it
    should be by the next restore.
    """
    try:
        await settle_decision(journal, clock, decision, why)
    except JournalError as error:
        return ownership.journal_not_written(error)
    return ""


async def _check_pair(control: AdminConnection, decision: RestoreDecision) -> None:
    """Raises UsageError if restoring it would change its partner, which another client has changed since."""
    partner = setting_lookup.paired_setting(decision.setting)
    if partner:
        other = (await control.values([partner])).get(partner)
        setting_lookup.check_pair_limit(decision.setting, decision.original, other)


async def _set(control: AdminConnection, clock: Clock, decision: RestoreDecision) -> str:
    """Sets the original value; the value read back. A server that is still busy is asked again."""
    name, original = decision.setting, decision.original
    tries = SLOW_ATTEMPTS if setting_lookup.is_slow(name) else 1
    while True:
        tries -= 1
        try:
            await control.set_global(name, original)
            value = (await control.values([name])).get(name, "")
            if value == original or not tries:
                return value
        except (ConnectionLostError, DeniedError):
            raise
        except SQLError:
            if not tries:
                raise
        await clock.sleep(SLOW_PAUSE_SECONDS)


def _rest(names: tuple[str, ...], done: list[RestoreResult]) -> tuple[str, ...]:
    settled = {one.setting for one in done}
    return tuple(name for name in names if name not in settled)


def _restored(decision: RestoreDecision, outcome: RestoreOutcome, value: str, text: str) -> RestoreResult:
    return RestoreResult(
        setting=decision.setting, outcome=outcome, value=value, original=decision.original, text=text
    )


def _pending(
    journal: Journal, names: tuple[str, ...], outcome: RestoreOutcome, error: TuibenchError
) -> list[RestoreResult]:
    found = []
    for name in names:
        original = journal.ledger.original(name) or ""
        text = ownership.not_restored(name, original, error)
        found.append(RestoreResult(setting=name, outcome=outcome, value="", original=original, text=text))
    return found


LONGEST_DELAY_SECONDS = 5.0
REPORT_EVERY_SECONDS = 5.0

Attempt = Callable[[], Awaitable[list[RestoreResult]]]
Notify = Callable[[str], None]


def retry_delays() -> Iterator[float]:
    """Seconds between tries: 0.1, doubling up to 5."""
    pause = 0.1
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_DELAY_SECONDS)


async def restore_with_retries(
    attempt: Attempt, clock: Clock, seconds: float, notify: Notify
) -> list[RestoreResult]:
    """Tries until the server answers, or time is up; what came of it. Says now and then what it waits for."""
    start_ns = clock.now_ns()
    done: dict[str, RestoreResult] = {}
    reported_at = -REPORT_EVERY_SECONDS
    for pause in retry_delays():
        done |= {one.setting: one for one in await attempt()}
        waiting = [one for one in done.values() if one.outcome is RestoreOutcome.UNREACHABLE]
        waited = (clock.now_ns() - start_ns) / NS_PER_SECOND
        if not waiting or waited + pause > seconds:
            break
        if waited - reported_at >= REPORT_EVERY_SECONDS:
            reported_at = waited
            names = ", ".join(one.setting for one in waiting)
            notify(f"{names}: not restored yet, retrying for {seconds - waited:.0f} s")
        await clock.sleep(pause)
    return list(done.values())
