"""Restore of settings: at the end of a session, by the guardian, by `tuibench restore`.

Journals of other sessions on the same server are read and settled only under `server_lock`. A journal that
cannot be read is ignored.

A statement may outlive the session that sent it: MariaDB changes the size of its log for seconds, reports the
old value meanwhile, and accepts it as a new one. So a setting that the server is still changing is not read,
but left to the next attempt.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path

import msgspec

from tuibench.base import paths
from tuibench.base.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.base.errors import (
    ConnectionLostError,
    DeniedError,
    RunError,
    ServerUnavailableError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.base.paths import PRIVATE_SERVER_PREFIX
from tuibench.base.units import pluralize
from tuibench.model.server import Target
from tuibench.model.settings import RESTORE_COMMAND
from tuibench.tuning import catalogue, ownership
from tuibench.tuning.connection import AdminConnection, admin_connector
from tuibench.tuning.journal import (
    SUFFIX,
    Journal,
    JournalBusyError,
    JournalError,
    JournalHeader,
    OpenChanges,
    OurValues,
    Settlement,
    decode_journal,
    is_locked,
    read_journal,
    remove,
)
from tuibench.tuning.ownership import (
    OtherSession,
    RestoreAction,
    RestoreDecision,
    decide_restore,
)
from tuibench.tuning.server_lock import ServerLockError, server_turn


def other_sessions(journal: Journal) -> list[OtherSession]:
    """The sessions with open changes on the server of this journal."""
    found = []
    for path in sorted(journal.path.parent.glob(f"*{SUFFIX}")):
        if path == journal.path:
            continue
        try:
            header, entries, _ = decode_journal(read_journal(path), str(path))
        except (OSError, JournalError):
            continue
        ledger = OpenChanges(entries)
        if header.identity == journal.header.identity and ledger.open_settings:
            # A session on another host may still be running.
            is_live = is_locked(path) or not header.is_of_this_host
            found.append(OtherSession(path.stem, ledger, is_live))
    return found


def next_seq(journal: Journal) -> int:
    """The number of the next change: greater than all open ones on this server."""
    return max([journal.ledger.next_seq, *(other.ledger.next_seq for other in other_sessions(journal))])


def is_restored_by_other_session(journal: Journal, setting: str) -> bool:
    """True if another session will restore this setting: only a further change keeps its value."""
    return any(setting in other.ledger.open_settings for other in other_sessions(journal))


def unconfirmed_values(journal: Journal, setting: str, server_start: int) -> tuple[str, OurValues] | None:
    """The original value and this session's, if the last open change of the setting, of any session, is
    unconfirmed and newer than `server_start`.
    """
    return ownership.unconfirmed_values(setting, journal.ledger, other_sessions(journal), server_start)


def settle_for_session(
    journal: Journal, session: str, seqs: tuple[int, ...], how: Settlement, at: float
) -> None:
    """Closes changes of an ended session, which this one has restored along with its own.

    If that journal is locked, it stays unchanged: the next check finds the value restored.
    """
    try:
        other = Journal.claim(journal.path.with_name(f"{session}{SUFFIX}"))
    except JournalError:
        return
    if other:
        with other:
            other.settle(seqs, how, at, f"by session {journal.path.stem}")


UNKNOWN_AUTHOR, OWN_AUTHOR = "another session set", "this session set"


class ChangeAttribution:
    """Names the authors of changes by others, each change once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._changes: dict[str, tuple[str, str]] = {}
        """The session that changed a setting, and the value that it will restore."""

    def author_of(self, setting: str, value: str) -> str:
        """The session that set this value, and how, as the beginning of a sentence.

        A session removes its journal when it ends. So a value that it restores is recognised by the change
        that was read before. A change of this session whose reply was lost is noticed like one of another
        session.
        """
        unconfirmed = ownership.unconfirmed_values(setting, self._journal.ledger, ())
        if unconfirmed and unconfirmed[1].has(value):
            return OWN_AUTHOR
        found = [
            (each.change.seq, other.session, other.ledger.original(setting) or "")
            for other in other_sessions(self._journal)
            for each in other.ledger.changes_of(setting)
            if each.may_have_set(value)
        ]
        if found:
            _, session, original = max(found)
            self._changes[setting] = session, original
            return f"session {session} set"
        session, original = self._changes.pop(setting, ("", ""))
        return f"session {session} restored" if session and original == value else UNKNOWN_AUTHOR


SLOW_ATTEMPTS, SLOW_PAUSE_SECONDS = 20, 0.25
"""Limits of the wait for a server that accepts no change while it executes another one in the background."""


class OtherServerError(RunError):
    """The address leads to another server than the one whose settings were changed."""


class ChangingError(RunError):
    """The server is still executing an earlier change of a setting."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the server is still executing an earlier change of {name}", "try again later")


class RestoreOutcome(StrEnum):
    """The result of restoring a setting. UNCLEAR, REFUSED and UNREACHABLE leave it in the journal; so does
    HANDED, for another session.
    """

    RESTORED = "restored"
    UNCHANGED = "unchanged"
    LEFT = "left"
    HANDED = "handed over"
    UNCLEAR = "unclear"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    """The server is unavailable or busy; another attempt may succeed."""


PENDING = frozenset({RestoreOutcome.UNCLEAR, RestoreOutcome.REFUSED, RestoreOutcome.UNREACHABLE})
SETTLEMENTS = {
    RestoreAction.RESTORE: Settlement.RESTORED,
    RestoreAction.NOTHING: Settlement.UNCHANGED,
    RestoreAction.LEAVE: Settlement.LEFT,
    RestoreAction.CONFIGURED: Settlement.LEFT,
    RestoreAction.UNCLEAR: Settlement.LEFT,
}


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of restoring one setting."""

    setting: str
    outcome: RestoreOutcome
    value: str
    """Its value now; empty if unknown."""
    original: str
    text: str
    """The result as a sentence."""

    @property
    def pending(self) -> bool:
        """True if it is still to be restored."""
        return self.outcome in PENDING


async def restore_settings(
    control: AdminConnection,
    journal: Journal,
    clock: Clock,
    only: Collection[str] = (),
    *,
    even_restarted: bool = False,
) -> list[RestoreResult]:
    """Restores the journal's settings, or only those in `only`.

    A setting stays unchanged if it was changed since, or if the server was started since, unless
    `even_restarted`. Failures are reported, not raised.
    """
    names = tuple(name for name in journal.ledger.open_settings if not only or name in only)
    done: list[RestoreResult] = []
    try:
        if names:
            async with server_turn(control, journal, clock, is_restore=True) as is_alone:
                _expect_dead_session(journal.header, is_alone=is_alone)
                busy = await control.being_changed(names)
                for name in busy:
                    done += _pending(journal, (name,), RestoreOutcome.UNREACHABLE, ChangingError(name))
                if still := _rest(names, done):
                    for decision in await restore_decisions(
                        control, journal, still, even_restarted=even_restarted
                    ):
                        done.append(await _carry_out(control, journal, clock, decision))
    except (ServerUnavailableError, ConnectionLostError, ServerLockError) as error:
        rest = _rest(names, done)
        if await asyncio.to_thread(_is_of_gone_private_server, journal.header):
            done += await _drop(journal, clock, rest)
        else:
            done += _pending(journal, rest, RestoreOutcome.UNREACHABLE, error)
    except TuibenchError as error:
        done += _pending(journal, _rest(names, done), RestoreOutcome.REFUSED, error)
    return sorted(done, key=lambda one: names.index(one.setting))


def _expect_dead_session(header: JournalHeader, *, is_alone: bool) -> None:
    """Raises ServerLockError for a journal of another host, unless no other session has the server's lock."""
    if not (is_alone or header.is_of_this_host):
        raise ServerLockError(
            f"session {header.session} ran on host {header.host}, and may still run there",
            f"on that host: {RESTORE_COMMAND}",
        )


async def restore_decisions(
    control: AdminConnection, journal: Journal, only: Collection[str] = (), *, even_restarted: bool = False
) -> list[RestoreDecision]:
    """What to do with each setting, or those in `only`, in an order in which no change breaks the limit of
    another setting.

    The caller must have the server's turn. Raises TuibenchError if this is not the server of the journal.
    """
    await expect_same_server(control, journal)
    names = [name for name in journal.ledger.open_settings if not only or name in only]
    others = await asyncio.to_thread(other_sessions, journal)
    values = await control.values({*names, *(catalogue.paired_setting(name) or name for name in names)})
    start = await control.server_start(journal.header.flavour)
    found = {
        name: decide_restore(
            name, values.get(name, ""), journal.ledger, others, start, even_restarted=even_restarted
        )
        for name in names
    }
    ours = {name: each.original for name, each in found.items() if each.action is RestoreAction.RESTORE}
    return [
        found[name]
        for name in (
            *(name for name in names if name not in ours),
            *catalogue.order_by_limits(ours, values),
        )
    ]


async def settle_decision(journal: Journal, clock: Clock, decision: RestoreDecision, why: str = "") -> None:
    """Closes the changes in all journals that an executed decision has settled, and hands over the others."""
    at = clock.wall_seconds()
    if decision.action is not RestoreAction.HAND_OVER:
        how = SETTLEMENTS[decision.action]
        for session, seqs in decision.gone.items():
            await asyncio.to_thread(settle_for_session, journal, session, seqs, how, at)
        await asyncio.to_thread(journal.settle, decision.seqs, how, at, why)
    if decision.handed:
        await asyncio.to_thread(journal.hand_over, decision.handed, decision.successor, at)


async def expect_same_server(control: AdminConnection, journal: Journal) -> None:
    """Raises OtherServerError if the connection leads to another server than that of the journal."""
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
        case RestoreAction.CONFIGURED:
            outcome, text = RestoreOutcome.LEFT, ownership.left_as_configured(decision)
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
    failed = RestoreOutcome.UNREACHABLE if catalogue.is_slow(decision.setting) else RestoreOutcome.REFUSED
    try:
        # Refused if another client has changed the partner meanwhile: the server would change that, too.
        partner = catalogue.paired_setting(decision.setting)
        if partner:
            other = (await control.values([partner])).get(partner)
            catalogue.check_pair_limit(decision.setting, decision.original, other)
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
    """Settles a decision; returns an addition to its result if a journal cannot be written.

    A full disk must not prevent the restore of the other settings. If a change stays in the journal, the next
    restore finds its value already restored.
    """
    try:
        await settle_decision(journal, clock, decision, why)
    except JournalError as error:
        return ownership.journal_not_written(error)
    return ""


async def _set(control: AdminConnection, clock: Clock, decision: RestoreDecision) -> str:
    """Sets the original value; returns the value read back. A server that is still busy is asked again."""
    name, original = decision.setting, decision.original
    tries = SLOW_ATTEMPTS if catalogue.is_slow(name) else 1
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


async def _drop(journal: Journal, clock: Clock, names: tuple[str, ...]) -> list[RestoreResult]:
    """Closes the changes of a private server that was removed with its data. A journal that cannot be written
    is removed by the next check.
    """
    ledger = journal.ledger
    dropped = [
        RestoreResult(
            setting=name,
            outcome=RestoreOutcome.LEFT,
            value="",
            original=ledger.original(name) or "",
            text=f"{name} is gone with its private server",
        )
        for name in names
    ]
    seqs = tuple(each.change.seq for name in names for each in ledger.changes_of(name))
    with contextlib.suppress(JournalError):
        await asyncio.to_thread(
            journal.settle, seqs, Settlement.LEFT, clock.wall_seconds(), "the private server is gone"
        )
    return dropped


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

Notify = Callable[[str], None]


def retry_delays() -> Iterator[float]:
    """Seconds between attempts: 0.1, doubling up to 5."""
    pause = 0.1
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_DELAY_SECONDS)


async def restore_with_retries(
    attempt: Callable[[], Awaitable[list[RestoreResult]]], clock: Clock, seconds: float, notify: Notify
) -> list[RestoreResult]:
    """Retries until the server answers, or the time is up; returns the last results. Reports what it waits
    for at intervals.
    """
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


class LeftoverSetting(msgspec.Struct, frozen=True):
    """A setting that a session changed from `original` to `last` and did not restore."""

    name: str
    original: str
    last: str
    is_back: bool = False
    """True if the server confirmed the original value last, as between two windows of an A/B test."""


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """The journal of a session that has ended."""

    path: Path
    header: JournalHeader | None = None
    """None if nothing in the file can be used; then there are no settings."""
    settings: tuple[LeftoverSetting, ...] = ()
    problem: str = ""
    """The part of the file that cannot be used, with a hint."""

    @property
    def text(self) -> str:
        """The leftover in one line."""
        if self.header is None:
            return self.problem
        changes = ", ".join(
            f"{one.name} {one.original} → {one.last}" for one in self.settings if not one.is_back
        )
        session = self.header.session
        if not self.header.is_of_this_host:
            session += f" on host {self.header.host}, which may still run"
        text = f"{changes or 'nothing'} on {self.header.target.where} (session {session})"
        return f"{text}; {self.problem}" if self.problem else text


def leftovers(directory: Path | None = None) -> list[Leftover]:
    """The journals that no live process holds, the oldest name first.

    Removes those that are empty, and those of private servers that were removed. Changes that a live session
    will restore along with its own are not included.
    """
    found = []
    directory = directory or paths.journal_dir()
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(SUFFIX))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [
            Leftover(path=directory, problem=f"cannot read the journals in {directory}: {error.strerror}")
        ]
    for path in (directory / name for name in names):
        try:
            journal = Journal.claim(path)
        except JournalBusyError:
            continue
        except JournalError as error:
            found.append(Leftover(path=path, problem=str(error)))
            continue
        if journal:
            with journal:
                if _is_of_gone_private_server(journal.header):
                    remove(path)
                else:
                    found += _describe(journal)
    return found


def leftover_warnings(directory: Path | None = None) -> list[str]:
    """Warnings about earlier sessions: one line for all their changes, and one for each other problem."""
    found = leftovers(directory)
    changed = [
        one
        for one in found
        if one.header and (one.problem or not all(setting.is_back for setting in one.settings))
    ]
    warnings = [one.problem for one in found if not one.header]
    if changed:
        rest = f"; and by {pluralize(len(changed) - 1, 'other session')}" if len(changed) > 1 else ""
        warnings.insert(0, f"left changed by an earlier session: {changed[-1].text}{rest}")
    return warnings


def _is_of_gone_private_server(header: JournalHeader) -> bool:
    """True if the settings were removed with the data directory of a private server, whose folder has a
    random name.
    """
    host, _, place = header.identity.partition(":")
    parents = Path(place.partition(":")[2]).parents
    folder = next((one for one in parents if one.name.startswith(PRIVATE_SERVER_PREFIX)), None)
    return host == socket.gethostname() and folder is not None and not folder.exists()


async def restore_leftover(
    leftover: Leftover,
    target: Target,
    retry_seconds: float = 0.0,
    notify: Notify = lambda _: None,
    *,
    even_restarted: bool = False,
) -> list[RestoreResult]:
    """Restores the settings of a leftover, with the login of `target`; empty if another process has just done
    so.

    Changes that the server has lost by a restart are restored only with `even_restarted`. While the server is
    unavailable, it retries for `retry_seconds`, with messages to `notify`. Raises JournalBusyError while a
    guardian restores them, JournalError if the journal cannot be used.
    """
    journal = await asyncio.to_thread(Journal.claim, leftover.path)
    if journal is None:
        return []
    control, clock = AdminConnection(admin_connector(target)), SystemClock()
    try:
        return await restore_with_retries(
            partial(restore_settings, control, journal, clock, even_restarted=even_restarted),
            clock,
            retry_seconds,
            notify,
        )
    finally:
        await control.close()
        await asyncio.to_thread(journal.close)


def _describe(journal: Journal) -> list[Leftover]:
    ledger = journal.ledger
    cared_for = {
        name for other in other_sessions(journal) if other.is_live for name in other.ledger.open_settings
    }
    settings = tuple(
        LeftoverSetting(name, original, last.change.new, is_back=last.applied and last.change.new == original)
        for name in ledger.open_settings
        if name not in cared_for and (original := ledger.original(name)) is not None
        for last in ledger.changes_of(name)[-1:]
    )
    if not settings and not journal.faults:
        return []
    problem = f"in {journal.path}, {'; '.join(journal.faults)}" if journal.faults else ""
    return [Leftover(path=journal.path, header=journal.header, settings=settings, problem=problem)]
