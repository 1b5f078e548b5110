"""The transactions that are open in InnoDB: the question, and its answer, the oldest first.

The server keeps their start in its own time zone; the session's may be another one.
"""

from collections.abc import Sequence, Set

from tuibench.model.activity import OpenTransaction
from tuibench.mysql.connection import Row

MOST_TRANSACTIONS = 200

COUNT_SQL = "SELECT COUNT(*) FROM information_schema.INNODB_TRX"
_OPEN = """
SELECT trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_started, CONVERT_TZ(NOW(), @@time_zone, 'SYSTEM')),
  trx_rows_locked, trx_rows_modified
FROM information_schema.INNODB_TRX ORDER BY trx_started LIMIT {most}
"""
OPEN_SQL = _OPEN.format(most=MOST_TRANSACTIONS)
"""It needs the PROCESS privilege. Rows locked are InnoDB's estimate."""


def open_transactions(rows: Sequence[Row], own_ids: Set[int]) -> tuple[OpenTransaction, ...]:
    return tuple(
        OpenTransaction(
            connection=int(connection or 0),
            seconds=max(0, int(seconds or 0)),
            rows_locked=int(locked or 0),
            rows_changed=int(changed or 0),
            is_ours=int(connection or 0) in own_ids,
        )
        for connection, seconds, locked, changed in rows
    )
