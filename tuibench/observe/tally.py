"""Reads the counts that a data set's tables keep, and compares them with the commits that clients have seen.

At any moment one SELECT reads one snapshot, so the counts of a tick are exact, also under load. What was
acknowledged is compared only when no transaction is in flight:

| commits of the tally's transaction | are in the tables | are not |
|---|---|---|
| acknowledged | as they should be | missing: lost, although the server said OK |
| of unknown fate | committed | rolled back |
| neither | repeated: applied twice, or by somebody else | |
"""

from collections.abc import Mapping

from tuibench.base.clock import Clock
from tuibench.model.server import Target
from tuibench.model.tick import ANOMALY, TALLY
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.info import Manner, connect_with_defaults
from tuibench.observe.status import (
    GIVE_UP_SECONDS,
    MAX_TIMEOUT_SECONDS,
    TIMEOUT_SHARE,
    MonitoringConnection,
)
from tuibench.workload.dataset import Tally

MISSING, REPEATED = TALLY + "missing_commits", ANOMALY + "repeated_commits"
SNAPSHOT_SQL = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
"""A server's default may be READ UNCOMMITTED, at which a SELECT reads no snapshot."""


class TallyReader:
    """Reads the counts of one data set over a connection of its own, one of `own`."""

    def __init__(
        self, target: Target, tally: Tally, clock: Clock, interval_seconds: float, own: OwnConnections
    ) -> None:
        self.tally = tally
        self._connection = MonitoringConnection(
            target,
            clock,
            timeout_seconds=min(TIMEOUT_SHARE * interval_seconds, MAX_TIMEOUT_SECONDS),
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=_log_in,
            own=own,
        )
        self._first: dict[str, int] | None = None
        self._last: dict[str, int] | None = None

    async def begin(self) -> None:
        """The reading with which all later ones are compared."""
        self._first = self._last = await self._connection.run(self._read)

    async def growth(self) -> dict[str, float]:
        """How much each count has grown since the last reading, by its name in a tick; empty without an
        answer, whose growth the next reading includes.
        """
        before, now = self._last, await self._connection.run(self._read)
        if now is None:
            return {}
        self._last = now
        if before is None:
            self._first = now
            return {}
        return {name: now[name] - before[name] for name in now}

    @property
    def total(self) -> dict[str, float] | None:
        """The growth from the first reading to the last one; None without both."""
        first, last = self._first, self._last
        return None if first is None or last is None else {name: last[name] - first[name] for name in last}

    async def close(self) -> None:
        await self._connection.close()

    async def _read(self, connection: Connection) -> dict[str, int]:
        (row,) = await connection.query(self.tally.sql)
        return {name: int(str(value)) for name, value in zip(self.tally.names, row, strict=True)}


async def _log_in(target: Target) -> Connection:
    connection = await connect_with_defaults(target, manner=Manner.IS_TIMED)
    await connection.execute(SNAPSHOT_SQL)
    return connection


def seen_by_readers(tally: Tally, rolled_back: Mapping[str, float]) -> dict[str, float]:
    """The anomalies that transactions have seen, by their names in a tick; 0 for those of which there is
    none. `rolled_back` are intended rollbacks by kind of transaction.
    """
    return {name: rolled_back.get(transaction, 0) for transaction, name in tally.seen.items()}


def compared(tally: Tally, grown: Mapping[str, float], acknowledged: int, unknown: int) -> dict[str, float]:
    """What the tables' growth lacks or has too much, as an addition to it.

    `acknowledged` are the commits of the tally's transaction, `unknown` those of any whose answer was lost.
    No transaction may be in flight.
    """
    committed = grown[tally.committed]
    missing = max(0.0, acknowledged - committed)
    repeated = max(0.0, committed - acknowledged - unknown)
    lost = max(0.0, grown[tally.lost] + missing - repeated)
    return {MISSING: missing, REPEATED: repeated, tally.lost: lost - grown[tally.lost]}
