"""Who puts a setting back, and to what, when several sessions have changed it: changes in, a decision out.

The changes of all journals of one server stand in one order. The last session that lives restores what was
before the first of them. A session that ends earlier puts back what the others expect to find if its own
value is on top; changes of its own that lie below theirs it leaves to them ("handed over"). No I/O.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from tuibench.tuning.ledger import Ledger, Open, fold


class Action(StrEnum):
    RESTORE = "restore"
    NOTHING = "nothing"
    LEAVE = "leave"
    HAND_OVER = "hand over"


class Keeper(StrEnum):
    """Who looks after a change: we ourselves, another session that lives, or nobody any more."""

    OURS = "ours"
    LIVE = "live"
    GONE = "gone"


class Neighbour(msgspec.Struct, frozen=True):
    """Another session's journal on the same server. `is_live` while somebody holds it."""

    session: str
    ledger: Ledger
    is_live: bool


class Held(msgspec.Struct, frozen=True):
    """An open change, and who looks after it."""

    session: str
    keeper: Keeper
    open: Open

    @property
    def seq(self) -> int:
        return self.open.change.seq


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with a setting.

    `seqs` are the changes of ours that this settles, `gone` those of sessions that are gone, by session.
    `handed` are changes of ours that stay open for the session `heir`. `last` is what we asked for last.
    """

    setting: str
    action: Action
    current: str
    original: str
    last: str
    seqs: tuple[int, ...]
    gone: dict[str, tuple[int, ...]] = {}
    handed: tuple[int, ...] = ()
    heir: str = ""


def decide(setting: str, current: str, own: Ledger, others: Iterable[Neighbour] = ()) -> Decision:
    """What to do with a setting of `own.open_settings` that has the value `current` now."""
    held = _held(setting, own, others)
    lives = [place for place, each in enumerate(held) if each.keeper is Keeper.LIVE]
    below, top = (held[: lives[-1] + 1], held[lives[-1] + 1 :]) if lives else ([], held)
    heir = below[-1].session if below else ""
    last = [each.open.change.new for each in held if each.keeper is Keeper.OURS][-1]
    first, _ = fold(each.open for each in held)
    if not _seqs(top):
        return Decision(
            setting=setting,
            action=Action.HAND_OVER,
            current=current,
            original=first,
            last=last,
            seqs=(),
            handed=_seqs(below),
            heir=heir,
        )
    original, ours = fold(each.open for each in top)
    return Decision(
        setting=setting,
        action=_action(current, original, ours, first),
        current=current,
        original=original,
        last=last,
        seqs=_seqs(top),
        gone=_gone(top),
        handed=_seqs(below),
        heir=heir,
    )


def _action(current: str, original: str, ours: frozenset[str], first: str) -> Action:
    """A server that was restarted has the very `first` value again, whatever was there in between."""
    if current == original:
        return Action.NOTHING
    if current in ours:
        return Action.RESTORE
    return Action.NOTHING if current == first else Action.LEAVE


def _held(setting: str, own: Ledger, others: Iterable[Neighbour]) -> list[Held]:
    """All open changes of a setting, in the order in which they were made."""
    held = [Held("", Keeper.OURS, each) for each in own.changes_of(setting)]
    for other in others:
        for each in other.ledger.changes_of(setting):
            keeper = Keeper.LIVE if other.is_live and not each.handed else Keeper.GONE
            held.append(Held(other.session, keeper, each))
    return sorted(held, key=lambda each: each.seq)


def _seqs(held: Sequence[Held]) -> tuple[int, ...]:
    """Our own among them."""
    return tuple(each.seq for each in held if each.keeper is Keeper.OURS)


def _gone(held: Sequence[Held]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for each in held:
        if each.keeper is Keeper.GONE:
            found[each.session] = (*found.get(each.session, ()), each.seq)
    return found
