"""What MySQL tells of InnoDB only in a table of its own: the history list's length, and deadlocks.

Reading that table takes about as long as the whole status, so it is asked every few ticks. MariaDB has both
in its status.
"""

from collections.abc import Mapping

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.connection import Connection
from tuibench.observe.counters import DEADLOCKS, HISTORY

METRICS = {"trx_rseg_history_len": HISTORY, "lock_deadlocks": DEADLOCKS}
METRICS_SQL = (
    "SELECT name, count FROM information_schema.innodb_metrics "
    "WHERE name IN ('trx_rseg_history_len', 'lock_deadlocks')"
)
ASKED_EVERY = 5
"""Ticks from one question to the next; what was told last stands meanwhile."""

REFUSED = "needs the PROCESS privilege"


class InnodbMetrics:
    """Asks a MySQL server; a login that may not is not asked again, and `untold` says why."""

    def __init__(self) -> None:
        self.untold: dict[str, str] = {}
        self._known: dict[str, int] = {}
        self._ticks = 0

    async def read(self, connection: Connection, variables: Mapping[str, str]) -> dict[str, int]:
        """Both figures, under names of our own; empty where they cannot be had."""
        if self.untold or "mariadb" in variables.get("version", "").lower():
            return {}
        if self._ticks % ASKED_EVERY == 0:
            await self._ask(connection)
        self._ticks += 1
        return dict(self._known)

    async def _ask(self, connection: Connection) -> None:
        try:
            rows = await connection.query(METRICS_SQL)
        except ConnectionLostError:
            raise
        except SQLError:
            self._known, self.untold = {}, dict.fromkeys(METRICS.values(), REFUSED)
        else:
            self._known = {METRICS[name]: int(count) for name, count in rows}
