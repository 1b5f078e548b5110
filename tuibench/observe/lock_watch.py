"""Watches lock waits beside the account of the time: which rows are hot, and who is to blame for a stall.

The account's samples say for free whether connections wait for locks. While some do, who waits for whom is
read, as often as a share of the time allows. That share is small, because the reading holds up the server's
locks, but larger while most connections wait: there is nothing to hold up, and a stall may be as short as
half a second.
"""

from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from tuibench.base import sanitize
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.metrics.lock_graph import Root, lock_graph
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.findings import Culprit
from tuibench.model.server import Blocker, Flavour, HotRow, LockKind
from tuibench.mysql.connection import Connection
from tuibench.observe.lock_waits import KeyWait, LockReader, LockReading
from tuibench.observe.statement_times import QueryTimer, timed
from tuibench.observe.status import MonitoringConnection

LOCKS = frozenset((WaitClass.ROW_LOCK, WaitClass.METADATA_LOCK))


class Pace(NamedTuple):
    """How often the waits are read."""

    shortest_seconds: float
    """The shortest time between two readings."""
    most_share: float
    """The share of the time that readings may take."""


USUAL, STALLED = Pace(1.0, 0.02), Pace(0.3, 0.2)
"""The pace usually, and while most connections wait."""
RAREST_SECONDS = 30.0
MOST_CULPRITS = 64
PRESENT_SECONDS = 2.0
"""The time from which on a connection that blocks the others is told while it does."""
LEAST_BLOCKED = 0.5
"""A connection is to blame if it blocks this share of those that have something to do."""


MOST_KEYS, MOST_SHOWN = 2000, 20
"""Rows that are remembered, and that are reported."""
LONGEST_WEIGHT_SECONDS = 5.0
"""The longest time for which a reading stands."""


class RowName(NamedTuple):
    """A locked record."""

    table: str
    of_index: str
    key: str


@dataclass
class Blame:
    """A connection that blocks others, from the first reading that finds it to the last one."""

    last: Culprit
    first_ns: int
    last_ns: int

    def __post_init__(self) -> None:
        self._told = {self.last.doing: self.last}
        self._spent_ns = {self.last.doing: 0}
        self._blocked = self.last.blocked

    def add(self, culprit: Culprit, at_ns: int) -> None:
        """Add a reading. The time since the one before counts half for what each of the two found."""
        for doing in (self.last.doing, culprit.doing):
            self._spent_ns[doing] = self._spent_ns.get(doing, 0) + (at_ns - self.last_ns) // 2
        self._told[culprit.doing] = self.last = culprit
        self._blocked = max(self._blocked, culprit.blocked)
        self.last_ns = at_ns

    @property
    def culprit(self) -> Culprit:
        """With what it did for the longest time, if that is known, and the most that it blocked. The last
        reading may find it as it ends.
        """
        longest = max(self._spent_ns, key=lambda doing: (bool(doing), self._spent_ns[doing]))
        return replace(self._told[longest], blocked=self._blocked)


class LockWatch:
    """Reads who waits for whom while somebody does."""

    def __init__(self, flavour: Flavour, clock: Clock, timer: QueryTimer | None = None) -> None:
        self.locked: dict[int, str] = {}
        """For what each waiting connection waits, and who holds it."""
        self.gap = ""
        """What could not be read, and why; empty if nothing is missing."""
        self.keeps_keys = True
        """False if the keys of rows are private."""
        self._clock = clock
        self._timer = timer
        self._reader = LockReader(flavour)
        self._looked_ns = self._took_ns = 0
        self._blames: deque[Blame] = deque(maxlen=MOST_CULPRITS)
        self.reset()

    def reset(self) -> None:
        """Forget the hot rows so far."""
        self._waited: dict[RowName, float] = {}
        self._holders: dict[RowName, str] = {}
        self._waited_in_all = 0.0

    @property
    def hot_rows(self) -> tuple[HotRow, ...]:
        """The rows for which transactions have waited the longest since the last reset."""
        top = sorted(self._waited.items(), key=lambda each: (-each[1], each[0]))[:MOST_SHOWN]
        return tuple(
            HotRow(
                table=name.table,
                index=name.of_index,
                key=name.key,
                share=waited / self._waited_in_all,
                holder=self._holders[name],
            )
            for name, waited in top
        )

    async def look(
        self, connection: MonitoringConnection, waiting: int, active: int, ours: Set[int], monitors: Set[int]
    ) -> None:
        """Read, if it is time: `waiting` of the `active` connections wait for a lock. `ours` are tuibench's
        own connections; of these, `monitors` only sample and control.
        """
        if not waiting:
            self.locked = {}
            return
        begun_ns = self._clock.now_ns()
        pace = STALLED if 2 * waiting >= active else USUAL
        pause_ns = max(pace.shortest_seconds * NS_PER_SECOND, self._took_ns / pace.most_share)
        if self._looked_ns and begun_ns - self._looked_ns < min(pause_ns, RAREST_SECONDS * NS_PER_SECOND):
            return
        found = await connection.run(partial(self._read, ours=ours, monitors=monitors))
        since = (begun_ns - self._looked_ns) / NS_PER_SECOND if self._looked_ns else pace.shortest_seconds
        self._looked_ns, self._took_ns = begun_ns, self._clock.now_ns() - begun_ns
        if found is None:
            return
        self._count_keys(found.keys, min(since, LONGEST_WEIGHT_SECONDS))
        self.gap = "; ".join(found.gaps)
        self.locked = {}
        roots = lock_graph(found.waits)
        for root in roots:
            for branch in root.branches:
                wait = branch.wait
                held = "probably held by" if wait.is_probable else "held by"
                by = f": {wait.blocking_statement}" if wait.blocking_statement else ""
                self.locked[wait.waiting] = f"{wait.table or wait.kind}, {held} {wait.blocking}{by}"
        for root in roots[:1]:
            blocked = len(root.branches) + found.blocked - len(self.locked)
            known = next((each for each in found.blockers if each.id == root.id), Blocker(id=root.id))
            if blocked >= LEAST_BLOCKED * active and not (root.is_ours or known.is_ours):
                self._blame(culprit_of(root, known, blocked), begun_ns)

    def _count_keys(self, keys: Sequence[KeyWait], seconds: float) -> None:
        """Add a reading that stands for this time. Beyond `MOST_KEYS` the coldest half is forgotten."""
        for each in keys:
            key = sanitize.text(each.key) if self.keeps_keys else ""
            name = RowName(sanitize.text(each.table), sanitize.text(each.index_name), key)
            self._waited[name] = self._waited.get(name, 0.0) + seconds
            self._holders[name] = each.holder or self._holders.get(name, "")
            self._waited_in_all += seconds
        if len(self._waited) > MOST_KEYS:
            kept = sorted(self._waited, key=lambda name: -self._waited[name])[: MOST_KEYS // 2]
            self._waited = {name: self._waited[name] for name in kept}
            self._holders = {name: self._holders[name] for name in kept}

    @property
    def present(self) -> Culprit | None:
        """The connection that has blocked the others for some seconds, and did so in the last reading."""
        last = self._blames[-1] if self._blames else None
        if not self.locked or last is None or last.last_ns != self._looked_ns:
            return None
        return last.culprit if last.last_ns - last.first_ns >= PRESENT_SECONDS * NS_PER_SECOND else None

    def culprit(self, start_ns: int, end_ns: int) -> Culprit | None:
        """The connection that blocked the most others in a span, for the longest time; None without one."""
        found = [each for each in self._blames if each.first_ns <= end_ns and each.last_ns >= start_ns]
        if not found:
            return None

        def weight(each: Blame) -> int:
            overlap_ns = min(each.last_ns, end_ns) - max(each.first_ns, start_ns)
            return (overlap_ns + NS_PER_SECOND // 10) * each.culprit.blocked

        return max(found, key=weight).culprit

    def _blame(self, culprit: Culprit, at_ns: int) -> None:
        last = self._blames[-1] if self._blames else None
        if last is None or (last.last.connection, last.last.lock) != (culprit.connection, culprit.lock):
            self._blames.append(Blame(culprit, at_ns, at_ns))
        else:
            last.add(culprit, at_ns)

    async def _read(self, connection: Connection, ours: Set[int], monitors: Set[int]) -> LockReading:
        return await self._reader.read(timed(connection, self._timer).query, ours, monitors)


def culprit_of(root: Root, known: Blocker, blocked: int) -> Culprit:
    """The root of lock waits as the culprit of a stall."""
    wait = next((each.wait for each in root.branches if each.wait.blocking == root.id), None)
    lock = "" if wait is None else str(wait.kind)
    if wait is not None and wait.table and wait.kind is not LockKind.ROW:
        lock += f" {wait.table.rpartition('.')[2]}"
    is_listed = bool(known.command)
    return Culprit(
        connection=root.id,
        who=f"{known.user}@{known.host.partition(':')[0]}" if known.user else "",
        doing=known.doing if is_listed else "" if root.id else "a prepared XA transaction",
        lock=lock,
        blocked=blocked,
        statement=known.statement,
        is_probable=root.is_probable,
    )
