"""What one journal still has to put back: entries in, open changes out. No I/O."""

from collections.abc import Iterable
from typing import NamedTuple, assert_never

from tuibench.tuning.records import Applied, Change, Entry, Handed, Settled


class Open(NamedTuple):
    """A change that is not settled. `handed` once its session has ended and left it to another one."""

    change: Change
    applied: bool
    handed: bool


class Ledger:
    """The open changes of one journal."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._open: dict[int, Change] = {}
        self._applied: set[int] = set()
        self._handed: set[int] = set()
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
            case Handed():
                self._handed.update(entry.seqs)
            case Settled():
                for seq in entry.seqs:
                    self._open.pop(seq, None)
                    self._applied.discard(seq)
                    self._handed.discard(seq)
            case _:
                assert_never(entry)

    @property
    def open_settings(self) -> tuple[str, ...]:
        """The settings with changes to put back, in the order of their first one."""
        return tuple(dict.fromkeys(change.setting for change in self._changes()))

    def changes_of(self, setting: str) -> list[Open]:
        """The open changes of a setting, the oldest first."""
        return [
            Open(change, change.seq in self._applied, change.seq in self._handed)
            for change in self._changes()
            if change.setting == setting
        ]

    def original(self, setting: str) -> str | None:
        """The value to go back to, as far as this journal knows; None when there is nothing to put back."""
        changes = self.changes_of(setting)
        return fold(changes)[0] if changes else None

    def last(self, setting: str) -> str | None:
        """The value we asked for last; None when there is nothing to put back."""
        changes = self.changes_of(setting)
        return changes[-1].change.new if changes else None

    def _changes(self) -> tuple[Change, ...]:
        """A copy: the journal's thread may add a change while a screen asks."""
        return tuple(self._open.values())


def fold(changes: Iterable[Open]) -> tuple[str, frozenset[str]]:
    """The original value, and the values that are ours if the server has them now. There must be a change.

    A value is ours when it is the one the last change asked for, or, as long as the server has not confirmed
    that change, the one of ours that it was to replace. An old value that was not ours was set by somebody
    else since, who must find it again: it becomes the original. A server that fell back to the original by a
    restart keeps it.
    """
    original: str | None = None
    ours = frozenset[str]()
    for change, applied, _ in changes:
        if original is None or change.old not in ours:
            original = change.old
        kept = frozenset() if applied else ours & {change.old}
        ours = kept | {change.new}
    if original is None:
        raise ValueError("nothing to fold")
    return original, ours
