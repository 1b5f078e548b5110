"""Who changed a setting on the server, if it was another session: its journal tells, while it is open."""

from typing import NamedTuple

from tuibench.tuning.journal import Journal
from tuibench.tuning.neighbours import neighbours

SOMEBODY = "somebody else set"


class _Hand(NamedTuple):
    """A session that changed a setting, and what it will go back to."""

    session: str
    original: str


class Authors:
    """Names the authors of what others changed, each change once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._hands: dict[str, _Hand] = {}

    def who(self, setting: str, value: str) -> str:
        """Who gave a setting this value, and how, as the beginning of a sentence.

        A session that ends takes its journal away: that it puts a value back is known from its change.
        """
        found = [
            (each.change.seq, _Hand(other.session, other.ledger.original(setting) or ""))
            for other in neighbours(self._journal)
            for each in other.ledger.changes_of(setting)
            if each.change.new == value
        ]
        if found:
            _, hand = max(found)
            self._hands[setting] = hand
            return f"session {hand.session} set"
        before = self._hands.pop(setting, None)
        if before is not None and before.original == value:
            return f"session {before.session} put back"
        return SOMEBODY
