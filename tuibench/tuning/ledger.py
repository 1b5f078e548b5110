"""What is still to be put back, and to which value: journal entries in, decisions out. No I/O.

Only a value that we put there is ever replaced. A value is ours when it is the one our last change asked for,
or, as long as the server has not confirmed that change, the one of ours that it was to replace.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import assert_never

import msgspec

from tuibench.tuning.records import Applied, Change, Entry, Settled


class Action(StrEnum):
    RESTORE = "restore"
    NOTHING = "nothing"
    LEAVE = "leave"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with a setting. `seqs` are the changes this settles, `last` is what we asked for last."""

    setting: str
    action: Action
    current: str
    original: str
    last: str
    seqs: tuple[int, ...]


class Ledger:
    """The open changes of one journal."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._open: dict[int, Change] = {}
        self._applied: set[int] = set()
        self.next_seq = 1
        for entry in entries:
            self.take(entry)

    def take(self, entry: Entry) -> None:
        """Learns one entry, in the order of the journal."""
        match entry:
            case Change():
                self._open[entry.seq] = entry
                self.next_seq = max(self.next_seq, entry.seq + 1)
            case Applied():
                self._applied.add(entry.seq)
            case Settled():
                for seq in entry.seqs:
                    self._open.pop(seq, None)
                    self._applied.discard(seq)
            case _:
                assert_never(entry)

    @property
    def open_settings(self) -> tuple[str, ...]:
        """The settings with changes to put back, in the order of their first one."""
        return tuple(dict.fromkeys(change.setting for change in self._changes()))

    def original(self, setting: str) -> str | None:
        """The value to go back to; None when there is nothing to put back."""
        changes = self._changes_of(setting)
        return self._fold(changes)[0] if changes else None

    def last(self, setting: str) -> str | None:
        """The value we asked for last; None when there is nothing to put back."""
        changes = self._changes_of(setting)
        return changes[-1].new if changes else None

    def decide(self, setting: str, current: str) -> Decision:
        """What to do with a setting of `open_settings` that has the value `current` now."""
        changes = self._changes_of(setting)
        original, ours = self._fold(changes)
        if current == original:
            action = Action.NOTHING
        else:
            action = Action.RESTORE if current in ours else Action.LEAVE
        return Decision(
            setting=setting,
            action=action,
            current=current,
            original=original,
            last=changes[-1].new,
            seqs=tuple(change.seq for change in changes),
        )

    def _changes(self) -> tuple[Change, ...]:
        """A copy: the journal's thread may add a change while a screen asks."""
        return tuple(self._open.values())

    def _changes_of(self, setting: str) -> list[Change]:
        return [change for change in self._changes() if change.setting == setting]

    def _fold(self, changes: list[Change]) -> tuple[str, frozenset[str]]:
        """The original value, and the values that are ours if the server has them now.

        An old value that was not ours was set by somebody else since, who must find it again: it becomes
        the original. A server that fell back to the original by a restart keeps it.
        """
        original, ours = changes[0].old, frozenset[str]()
        for change in changes:
            if change.old not in ours:
                original = change.old
            kept = frozenset() if change.seq in self._applied else ours & {change.old}
            ours = kept | {change.new}
        return original, ours
