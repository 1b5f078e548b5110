"""Journals of other sessions on the same server: their changes, and whether they live.

Read and settled only under `server_lock`. A journal that cannot be read has no say.

Which other session changed a setting on the server, by its open journal.
"""

from pathlib import Path
from typing import NamedTuple

from tuibench.tuning.undo import durable_file, journal_entries, ownership
from tuibench.tuning.undo.journal import SUFFIX, Journal
from tuibench.tuning.undo.journal_entries import JournalError, Ledger, OurValues, Settlement
from tuibench.tuning.undo.ownership import OtherSession


def other_sessions(journal: Journal) -> list[OtherSession]:
    """Those with open changes on the server that this journal is about."""
    found = []
    for path in sorted(journal.path.parent.glob(f"*{SUFFIX}")):
        if path != journal.path and (ledger := _read_ledger(path, journal.header.identity)):
            found.append(OtherSession(path.stem, ledger, durable_file.is_locked(path)))
    return found


def next_seq(journal: Journal) -> int:
    """The number of the next change: greater than all that are open on this server."""
    return max([journal.ledger.next_seq, *(other.ledger.next_seq for other in other_sessions(journal))])


def is_restored_by_other_session(journal: Journal, setting: str) -> bool:
    """True if another session will restore this setting: its value stays only by a further change."""
    return any(setting in other.ledger.open_settings for other in other_sessions(journal))


def unconfirmed_values(journal: Journal, setting: str) -> tuple[str, OurValues] | None:
    """The original value and ours, if the last open change of the setting, of any session, is unconfirmed."""
    return ownership.unconfirmed_values(setting, journal.ledger, other_sessions(journal))


def settle_for_session(
    journal: Journal, session: str, seqs: tuple[int, ...], how: Settlement, at: float
) -> None:
    """Closes changes of a session that is gone, which this one has restored along with its own.

    If that journal is locked, it stays as it is: the next check finds the value restored.
    """
    try:
        other = Journal.claim(journal.path.with_name(f"{session}{SUFFIX}"))
    except JournalError:
        return
    if other:
        with other:
            other.settle(seqs, how, at, f"by session {journal.path.stem}")


def _read_ledger(path: Path, identity: str) -> Ledger | None:
    try:
        contents = journal_entries.decode_journal(path.read_bytes(), str(path))
    except (OSError, JournalError):
        return None
    ledger = Ledger(contents.entries)
    return ledger if contents.header.identity == identity and ledger.open_settings else None


UNKNOWN_AUTHOR, OWN_AUTHOR = "another session set", "this session set"


class _AttributedChange(NamedTuple):
    """A session that changed a setting, and what it will go back to."""

    session: str
    original: str


class ChangeAttribution:
    """Names the authors of what others changed, each change once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._changes: dict[str, _AttributedChange] = {}

    def author_of(self, setting: str, value: str) -> str:
        """Which session set this value, and how, as the beginning of a sentence.

        A session that ends takes its journal away: that it puts a value back is known from its change. A
        change of this session whose reply was lost is noticed like one of another session.
        """
        unconfirmed = ownership.unconfirmed_values(setting, self._journal.ledger, ())
        if unconfirmed and unconfirmed[1].has(value):
            return OWN_AUTHOR
        found = [
            (each.change.seq, _AttributedChange(other.session, other.ledger.original(setting) or ""))
            for other in other_sessions(self._journal)
            for each in other.ledger.changes_of(setting)
            if each.may_have_set(value)
        ]
        if found:
            _, change = max(found)
            self._changes[setting] = change
            return f"session {change.session} set"
        before = self._changes.pop(setting, None)
        if before is not None and before.original == value:
            return f"session {before.session} restored"
        return UNKNOWN_AUTHOR
