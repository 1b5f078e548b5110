"""Putting settings back: the one way, for the session's own end, the guardian and `tuibench restore`."""

import asyncio
from collections.abc import Collection
from enum import StrEnum

import msgspec

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, ServerUnavailableError, SQLError, TuibenchError, UsageError
from tuibench.tuning import neighbours, pairs, wording
from tuibench.tuning.catalogue import BY_NAME
from tuibench.tuning.control import Control
from tuibench.tuning.journal import Journal
from tuibench.tuning.records import JournalError, Settlement
from tuibench.tuning.shares import Action, Decision, decide
from tuibench.tuning.turn import TurnError, turn

SLOW_ATTEMPTS, SLOW_PAUSE_SECONDS = 20, 0.25
"""A change in the background keeps a server from taking the next one for so long at most."""


class Outcome(StrEnum):
    """How putting a setting back ended. The last two leave it in the journal; so does HANDED, for another."""

    RESTORED = "restored"
    UNCHANGED = "unchanged"
    LEFT = "left"
    HANDED = "handed over"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


PENDING = frozenset({Outcome.REFUSED, Outcome.UNREACHABLE})
SETTLEMENTS = {
    Action.RESTORE: Settlement.RESTORED,
    Action.NOTHING: Settlement.UNCHANGED,
    Action.LEAVE: Settlement.LEFT,
}


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one setting: its value now (empty if unknown), the original one, and a sentence."""

    setting: str
    outcome: Outcome
    value: str
    original: str
    text: str

    @property
    def pending(self) -> bool:
        """True if it is still to be put back."""
        return self.outcome in PENDING


async def undo(
    control: Control, journal: Journal, clock: Clock, only: Collection[str] = ()
) -> list[Restored]:
    """Puts back what the journal holds (or `only` these of it) and nobody changed since.

    What fails is told, not raised.
    """
    names = tuple(name for name in journal.ledger.open_settings if not only or name in only)
    done: list[Restored] = []
    try:
        if names:
            async with turn(journal.path.parent, journal.header.identity, clock):
                for decision in await decisions(control, journal, only):
                    done.append(await _carry_out(control, journal, clock, decision))
    except (ServerUnavailableError, ConnectionLostError, TurnError) as error:
        done += _pending(journal, _rest(names, done), Outcome.UNREACHABLE, error)
    except TuibenchError as error:
        done += _pending(journal, _rest(names, done), Outcome.REFUSED, error)
    return sorted(done, key=lambda one: names.index(one.setting))


async def decisions(control: Control, journal: Journal, only: Collection[str] = ()) -> list[Decision]:
    """What to do with each setting (or `only` with these), so that no change breaks the limit of another one.

    To be called in one's turn. Raises TuibenchError when this is not the server of the journal.
    """
    await _expect_same_server(control, journal)
    names = [name for name in journal.ledger.open_settings if not only or name in only]
    others = await asyncio.to_thread(neighbours.neighbours, journal)
    values = await control.values({*names, *(pairs.partner(name) or name for name in names)})
    found = {name: decide(name, values.get(name, ""), journal.ledger, others) for name in names}
    ours = {name: each.original for name, each in found.items() if each.action is Action.RESTORE}
    return [
        found[name] for name in (*(name for name in names if name not in ours), *pairs.ordered(ours, values))
    ]


async def settle(journal: Journal, clock: Clock, decision: Decision, why: str = "") -> None:
    """Closes in all journals what a decision that was carried out has settled, and hands over the rest."""
    at = clock.wall_seconds()
    if decision.action is not Action.HAND_OVER:
        how = SETTLEMENTS[decision.action]
        for session, seqs in decision.gone.items():
            await asyncio.to_thread(neighbours.settle, journal, session, seqs, how, at)
        await asyncio.to_thread(journal.settle, decision.seqs, how, at, why)
    if decision.handed:
        await asyncio.to_thread(journal.hand_over, decision.handed, decision.heir, at)


async def _expect_same_server(control: Control, journal: Journal) -> None:
    identity = await control.identity()
    if identity != journal.header.identity:
        raise TuibenchError(
            f"this is another server ({identity}) than the one that was changed ({journal.header.identity})"
        )


async def _carry_out(control: Control, journal: Journal, clock: Clock, decision: Decision) -> Restored:
    match decision.action:
        case Action.RESTORE:
            return await _put_back(control, journal, clock, decision)
        case Action.NOTHING:
            outcome, text = Outcome.UNCHANGED, wording.unchanged(decision)
        case Action.LEAVE:
            outcome, text = Outcome.LEFT, wording.left(decision)
        case Action.HAND_OVER:
            outcome, text = Outcome.HANDED, wording.handed(decision)
    text += await _settled(journal, clock, decision, text if outcome is Outcome.LEFT else "")
    return _restored(decision, outcome, decision.current, text)


async def _put_back(control: Control, journal: Journal, clock: Clock, decision: Decision) -> Restored:
    try:
        await _expect_room(control, decision)
        value = await _set(control, clock, decision)
    except ConnectionLostError:
        raise
    except (SQLError, UsageError) as error:
        return _restored(decision, Outcome.REFUSED, decision.current, wording.refused(decision, error))
    if value != decision.original:
        return _restored(decision, Outcome.REFUSED, value, wording.without_effect(decision, value))
    text = wording.restored(decision) + await _settled(journal, clock, decision)
    return _restored(decision, Outcome.RESTORED, value, text)


async def _settled(journal: Journal, clock: Clock, decision: Decision, why: str = "") -> str:
    """Settles; what to add to the sentence where a journal cannot be written.

    A full disk must not keep the other settings from going back. What stays in the journal is found as it
    should be by the next restore.
    """
    try:
        await settle(journal, clock, decision, why)
    except JournalError as error:
        return wording.not_noted(error)
    return ""


async def _expect_room(control: Control, decision: Decision) -> None:
    """Raises UsageError where putting it back would move its partner, which is somebody else's by now."""
    partner = pairs.partner(decision.setting)
    if partner:
        other = (await control.values([partner])).get(partner)
        pairs.check(decision.setting, decision.original, other)


async def _set(control: Control, clock: Clock, decision: Decision) -> str:
    """Sets the original value; the value read back. A server that is still busy is asked again."""
    name, original = decision.setting, decision.original
    slow = name in BY_NAME and BY_NAME[name].slow
    value = ""
    for attempt in range(SLOW_ATTEMPTS if slow else 1):
        if attempt:
            await clock.sleep(SLOW_PAUSE_SECONDS)
        await control.set_global(name, original)
        value = (await control.values([name])).get(name, "")
        if value == original:
            break
    return value


def _rest(names: tuple[str, ...], done: list[Restored]) -> tuple[str, ...]:
    settled = {one.setting for one in done}
    return tuple(name for name in names if name not in settled)


def _restored(decision: Decision, outcome: Outcome, value: str, text: str) -> Restored:
    return Restored(
        setting=decision.setting, outcome=outcome, value=value, original=decision.original, text=text
    )


def _pending(
    journal: Journal, names: tuple[str, ...], outcome: Outcome, error: TuibenchError
) -> list[Restored]:
    found = []
    for name in names:
        original = journal.ledger.original(name) or ""
        text = wording.pending(name, original, error)
        found.append(Restored(setting=name, outcome=outcome, value="", original=original, text=text))
    return found
