"""The other journals of the same server: what other sessions have changed there, and whether they live.

Read and settled only during one's own turn (see `turn`). A journal that cannot be read has no say.
"""

from pathlib import Path

from tuibench.tuning import disk, records
from tuibench.tuning.journal import SUFFIX, Journal
from tuibench.tuning.ledger import Ledger
from tuibench.tuning.records import JournalError, Settlement
from tuibench.tuning.shares import Neighbour


def neighbours(journal: Journal) -> list[Neighbour]:
    """Those with open changes on the server that this journal is about."""
    found = []
    for path in sorted(journal.path.parent.glob(f"*{SUFFIX}")):
        if path != journal.path and (ledger := _ledger(path, journal.header.identity)):
            found.append(Neighbour(path.stem, ledger, disk.is_held(path)))
    return found


def next_seq(journal: Journal) -> int:
    """The number of the next change: greater than all that are open on this server."""
    return max([journal.ledger.next_seq, *(other.ledger.next_seq for other in neighbours(journal))])


def care_for(journal: Journal, setting: str) -> bool:
    """True if somebody else will put this setting back: whoever wants its value to stay must say so."""
    return any(setting in other.ledger.open_settings for other in neighbours(journal))


def settle(journal: Journal, session: str, seqs: tuple[int, ...], how: Settlement, at: float) -> None:
    """Closes changes of a session that is gone, which this one has put back along with its own.

    If somebody holds that journal just now, it stays as it is: whoever looks next finds the value in order.
    """
    try:
        other = Journal.claim(journal.path.with_name(f"{session}{SUFFIX}"))
    except JournalError:
        return
    if other:
        with other:
            other.settle(seqs, how, at, f"by session {journal.path.stem}")


def _ledger(path: Path, identity: str) -> Ledger | None:
    try:
        contents = records.decode(path.read_bytes(), str(path))
    except (OSError, JournalError):
        return None
    ledger = Ledger(contents.entries)
    return ledger if contents.header.identity == identity and ledger.open_settings else None
