"""Who waits: the statements, tables and locks, connections and transactions in each wait class.

Detail is read only while a viewer asks for it: the process list then includes the text of each statement, and
each connection of a sample counts for its statement, its transaction, itself, and the object that it waits
for, if that is known. The last ticks are kept, so that a report covers several seconds.
"""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence, Set

from tuibench.base.clock import NS_PER_SECOND
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.server import Flavour, TimePart, TimeReport
from tuibench.observe.lock_watch import LOCKS, LockWatch
from tuibench.observe.statements import normalize_sql
from tuibench.workload.program import Program, all_steps

DETAIL_CHARACTERS = 500
LEASE_SECONDS = 5.0
TICKS, MOST_PARTS = 10, 12
"""Ticks that a report covers, and the longest list of one class and kind."""

STATEMENT, OBJECT, CONNECTION, TRANSACTION = "statement", "object", "connection", "transaction"
NOT_READ = "(a statement that the thread has not read yet, or the end of one)"
SEVERAL = "(several have this statement)"

UNKNOWN = {
    Flavour.MARIADB: {
        WaitClass.MUTEX: "MariaDB does not name mutexes here",
    },
    Flavour.MYSQL: {
        WaitClass.MUTEX: "MySQL names mutexes with its wait instruments and events_waits_current enabled",
    },
}
"""What a flavour does not reveal about a class."""
NO_FILE = "which file is known with the right to trace the server: its user, or root"
RUNNABLE = "statements that can run: who has a processor, and who waits for one, is not told apart"


Counts = dict[tuple[WaitClass, str, str], float]
"""Connections by class, kind and name."""


class Detail:
    """Counts who waits while a viewer asks for it."""

    def __init__(self, flavour: Flavour, locks: LockWatch) -> None:
        self._locks = locks
        self.transactions: Mapping[str, Sequence[str]] = {}
        """Names of the load's transactions that have each statement, by its normal form."""
        self._flavour = flavour
        self._until_ns: int | None = None
        self.is_read = False
        self._samples = 0
        self._counts: Counts = defaultdict(float)
        self._ticks: deque[tuple[int, Counts]] = deque(maxlen=TICKS)

    def renew(self, now_ns: int) -> None:
        """Read for `LEASE_SECONDS` from now on."""
        self._until_ns, self.is_read = now_ns + int(LEASE_SECONDS * NS_PER_SECOND), True

    def count_sample(self) -> None:
        self._samples += 1

    def add(self, id: int, text: str, awaited: str, parts: Sequence[tuple[WaitClass, float]]) -> None:
        """Count a connection of a sample: the text of its statement, the file or mutex that it awaits, and
        its classes with their shares.
        """
        statement = normalize_sql(text) if text else NOT_READ
        names = self.transactions.get(statement, ())
        transaction = names[0] if len(names) == 1 else SEVERAL if names else ""
        for wait, part in parts:
            for kind, name in (
                (STATEMENT, statement),
                (CONNECTION, str(id)),
                (OBJECT, self._locks.locked.get(id, awaited) if wait in LOCKS else awaited),
                (TRANSACTION, transaction),
            ):
                if name:
                    self._counts[wait, kind, name] += part

    def end_tick(self, now_ns: int) -> None:
        """Keep what was counted in the tick; forget everything once the lease has run out."""
        if self._samples:
            self._ticks.append((self._samples, self._counts))
        self._samples, self._counts = 0, defaultdict(float)
        if self._until_ns is not None and now_ns > self._until_ns:
            self._until_ns, self.is_read = None, False
            self._ticks.clear()

    def report(self) -> TimeReport | None:
        """The mean number of connections for each name in each class; None before the first sample."""
        samples = sum(number for number, _ in self._ticks)
        if not samples:
            return None
        whole: Counts = defaultdict(float)
        for _, counts in self._ticks:
            for key, count in counts.items():
                whole[key] += count
        listed: dict[tuple[WaitClass, str], int] = defaultdict(int)
        parts = []
        for (wait, kind, name), count in sorted(whole.items(), key=lambda each: -each[1]):
            listed[wait, kind] += 1
            if listed[wait, kind] <= MOST_PARTS:
                parts.append(TimePart(wait=wait, kind=kind, name=name, connections=count / samples))
        return TimeReport(
            samples=samples,
            parts=tuple(parts),
            gaps=self._gaps({wait for wait, _ in listed}),
            hot_rows=self._locks.hot_rows,
        )

    def _gaps(self, waits: Set[WaitClass]) -> dict[str, str]:
        """Why some classes have no objects."""
        named = {wait for _, counts in self._ticks for wait, kind, _ in counts if kind == OBJECT}
        unknown = {wait: why for wait, why in UNKNOWN[self._flavour].items() if wait in waits - named}
        unknown |= dict.fromkeys(FILES & (waits - named), NO_FILE)
        if gap := self._locks.gap:
            unknown |= dict.fromkeys(LOCKS & waits, f"which lock is not known: {gap}")
        return {wait.value: why for wait, why in (*unknown.items(), (WaitClass.CPU, RUNNABLE))}


def transactions_by_statement(program: Program) -> dict[str, Sequence[str]]:
    """The names of the transactions that contain each statement, by its normal form."""
    found: dict[str, list[str]] = defaultdict(list)
    for transaction in program.transactions:
        for step in all_steps(transaction.steps):
            for statement in step.statements:
                part = {f"{{{statement.part.field}}}": statement.part.text} if statement.part else {}
                for sql in statement.sql:
                    for field, text in part.items():
                        sql = sql.replace(field, text)
                    if transaction.name not in (names := found[normalize_sql(sql[:DETAIL_CHARACTERS])]):
                        names.append(transaction.name)
    return dict(found)


FILES = frozenset((WaitClass.PAGE_READ, WaitClass.PAGE_WRITE, WaitClass.COMMIT, WaitClass.BINARY_LOG))
