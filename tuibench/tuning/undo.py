"""Putting settings back: the one way, for the session's own end, the guardian and `tuibench restore`."""

import asyncio
from enum import StrEnum

import msgspec

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, ServerUnavailableError, SQLError, TuibenchError
from tuibench.tuning import pairs
from tuibench.tuning.control import Control
from tuibench.tuning.journal import Journal
from tuibench.tuning.ledger import Action, Decision
from tuibench.tuning.records import Settlement


class Outcome(StrEnum):
    """How putting a setting back ended. The last two leave it in the journal."""

    RESTORED = "restored"
    UNCHANGED = "unchanged"
    LEFT = "left"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


PENDING = frozenset({Outcome.REFUSED, Outcome.UNREACHABLE})


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


async def undo(control: Control, journal: Journal, clock: Clock) -> list[Restored]:
    """Puts back what the journal holds and nobody changed since. What fails is told, not raised."""
    names = journal.ledger.open_settings
    done: list[Restored] = []
    try:
        if names:
            await _expect_same_server(control, journal)
            for decision in await _decisions(control, journal, names):
                done.append(await _carry_out(control, journal, clock, decision))
    except (ServerUnavailableError, ConnectionLostError) as error:
        done += _pending(journal, _rest(names, done), Outcome.UNREACHABLE, error)
    except TuibenchError as error:
        done += _pending(journal, _rest(names, done), Outcome.REFUSED, error)
    return sorted(done, key=lambda one: names.index(one.setting))


def _rest(names: tuple[str, ...], done: list[Restored]) -> tuple[str, ...]:
    settled = {one.setting for one in done}
    return tuple(name for name in names if name not in settled)


async def _decisions(control: Control, journal: Journal, names: tuple[str, ...]) -> list[Decision]:
    """What to do with each setting, in an order in which no change breaks the limit of another one."""
    values = await control.values(names)
    decisions = {name: journal.ledger.decide(name, values.get(name, "")) for name in names}
    ours = {name: each.original for name, each in decisions.items() if each.action is Action.RESTORE}
    order = [name for name in names if name not in ours] + pairs.ordered(ours, values)
    return [decisions[name] for name in order]


async def _expect_same_server(control: Control, journal: Journal) -> None:
    identity = await control.identity()
    if identity != journal.header.identity:
        raise TuibenchError(
            f"this is another server ({identity}) than the one that was changed ({journal.header.identity})"
        )


async def _carry_out(control: Control, journal: Journal, clock: Clock, decision: Decision) -> Restored:
    name, current = decision.setting, decision.current
    if decision.action == Action.RESTORE:
        return await _put_back(control, journal, clock, decision)
    left = decision.action == Action.LEAVE
    outcome = Outcome.LEFT if left else Outcome.UNCHANGED
    text = _left_text(decision) if left else f"{name} is {current} already"
    how = Settlement.LEFT if left else Settlement.UNCHANGED
    await asyncio.to_thread(journal.settle, decision.seqs, how, clock.wall_seconds(), text if left else "")
    return _restored(decision, outcome, current, text)


async def _put_back(control: Control, journal: Journal, clock: Clock, decision: Decision) -> Restored:
    name, original = decision.setting, decision.original
    try:
        await control.set_global(name, original)
        value = (await control.values([name])).get(name, "")
    except ConnectionLostError:
        raise
    except SQLError as error:
        text = f"{name} stays {decision.current}, it was {original}: {error.message} (error {error.code})"
        return _restored(decision, Outcome.REFUSED, decision.current, text)
    if value != original:
        text = f"{name} was set back to {original}, and the server says {value}"
        return _restored(decision, Outcome.REFUSED, value, text)
    await asyncio.to_thread(journal.settle, decision.seqs, Settlement.RESTORED, clock.wall_seconds())
    return _restored(decision, Outcome.RESTORED, value, f"{name} {decision.current} → {original}, as before")


def _left_text(decision: Decision) -> str:
    return (
        f"{decision.setting} is left at {decision.current}: tuibench had set it to {decision.last} "
        f"and somebody else changed it since; before tuibench it was {decision.original}"
    )


def _restored(decision: Decision, outcome: Outcome, value: str, text: str) -> Restored:
    return Restored(
        setting=decision.setting, outcome=outcome, value=value, original=decision.original, text=text
    )


def _pending(
    journal: Journal, names: tuple[str, ...], outcome: Outcome, error: TuibenchError
) -> list[Restored]:
    return [
        Restored(
            setting=name,
            outcome=outcome,
            value="",
            original=journal.ledger.original(name) or "",
            text=f"{name} could not be put back to {journal.ledger.original(name)}: {error.message}",
        )
        for name in names
    ]
