"""How often MySQL syncs its binary log, and how much it writes there: its status has no counter for either.

The performance schema sums up the operations on the binary log's files; those that are neither reads nor
writes are its syncs, and a few for each file that is begun. MariaDB's status tells groups and bytes itself.
"""

from collections.abc import Mapping

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.connection import Connection
from tuibench.observe.counters import BINLOG_BYTES, BINLOG_SYNCS

BINLOG_SQL = (
    "SELECT COUNT_MISC, SUM_NUMBER_OF_BYTES_WRITE FROM performance_schema.file_summary_by_event_name "
    "WHERE EVENT_NAME = 'wait/io/file/sql/binlog'"
)
ASKED_IF = {"performance_schema": "ON", "log_bin": "ON"}


class BinlogFile:
    """Asks the performance schema where there is one; a login that may not is not asked again."""

    def __init__(self) -> None:
        self._is_refused = False

    async def counters(self, connection: Connection, variables: Mapping[str, str]) -> dict[str, int]:
        """The counters, under names of our own; empty where they cannot be had."""
        if self._is_refused or any(variables.get(name) != value for name, value in ASKED_IF.items()):
            return {}
        try:
            rows = await connection.query(BINLOG_SQL)
        except ConnectionLostError:
            raise
        except SQLError:
            self._is_refused = True
            return {}
        return {BINLOG_SYNCS: int(rows[0][0]), BINLOG_BYTES: int(rows[0][1])} if rows else {}
