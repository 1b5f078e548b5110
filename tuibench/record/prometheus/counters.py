"""The metrics that only grow: those of the load, and the server's own, as far as they tell of a load."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.record.prometheus.snapshot import Totals


class Counter(NamedTuple):
    """One metric of the load. The name is without the `_total` that every counter ends in."""

    name: str
    help: str
    read: Callable[[Totals], int]


LOAD = (
    Counter("transactions", "Transactions that were committed.", lambda totals: totals.completed),
    Counter("transactions_failed", "Transactions that failed for good.", lambda totals: totals.failed),
    Counter(
        "transactions_abandoned", "Transactions cut off or never started.", lambda totals: totals.abandoned
    ),
    Counter("transaction_retries", "Transactions tried again.", lambda totals: totals.retries),
    Counter("reconnects", "Connections opened anew after they were lost.", lambda totals: totals.reconnects),
)

QUERIES: dict[str, Callable[[Totals], int]] = {
    "read": lambda totals: totals.reads,
    "write": lambda totals: totals.writes,
    "other": lambda totals: totals.others,
}


class ServerCounter(NamedTuple):
    """A counter of SHOW GLOBAL STATUS: its name there and ours, its meaning, how much of our unit one is."""

    variable: str
    name: str
    help: str
    unit: float = 1.0


MILLISECOND = 1e-3

SERVER = (
    ServerCounter("Questions", "server_questions", "Statements that clients sent."),
    ServerCounter("Com_commit", "server_commits", "COMMIT statements."),
    ServerCounter("Com_rollback", "server_rollbacks", "ROLLBACK statements."),
    ServerCounter("Slow_queries", "server_slow_queries", "Statements slower than long_query_time."),
    ServerCounter("Connections", "server_connections", "Attempts to connect."),
    ServerCounter("Aborted_clients", "server_aborted_clients", "Connections that ended without a goodbye."),
    ServerCounter("Aborted_connects", "server_aborted_connects", "Attempts to connect that failed."),
    ServerCounter("Threads_created", "server_threads_created", "Threads the thread cache did not have."),
    ServerCounter("Bytes_received", "server_received_bytes", "Bytes from clients."),
    ServerCounter("Bytes_sent", "server_sent_bytes", "Bytes to clients."),
    ServerCounter("Created_tmp_tables", "server_temporary_tables", "Internal temporary tables."),
    ServerCounter(
        "Created_tmp_disk_tables", "server_temporary_disk_tables", "Internal temporary tables on disk."
    ),
    ServerCounter("Opened_tables", "server_opened_tables", "Tables opened."),
    ServerCounter(
        "Table_open_cache_misses", "server_table_cache_misses", "Tables not found in the table cache."
    ),
    ServerCounter(
        "Table_open_cache_overflows",
        "server_table_cache_overflows",
        "Tables closed because the table cache was full.",
    ),
    ServerCounter(
        "Innodb_buffer_pool_read_requests",
        "server_buffer_pool_read_requests",
        "Pages asked of the buffer pool.",
    ),
    ServerCounter(
        "Innodb_buffer_pool_reads", "server_buffer_pool_reads", "Pages that came from disk for it."
    ),
    ServerCounter(
        "Innodb_buffer_pool_pages_flushed", "server_buffer_pool_flushed_pages", "Pages written back."
    ),
    ServerCounter(
        "Innodb_data_fsyncs", "server_data_fsyncs", "fsyncs of data files; in MariaDB of the redo log, too."
    ),
    ServerCounter("Innodb_os_log_fsyncs", "server_log_fsyncs", "fsyncs of the redo log."),
    ServerCounter("Innodb_os_log_written", "server_log_written_bytes", "Bytes written to the redo log."),
    ServerCounter("Innodb_data_read", "server_data_read_bytes", "Bytes read by InnoDB."),
    ServerCounter("Innodb_data_written", "server_data_written_bytes", "Bytes written by InnoDB."),
    ServerCounter("Innodb_row_lock_waits", "server_row_lock_waits", "Waits for a row lock."),
    ServerCounter("Innodb_row_lock_time", "server_row_lock_wait_seconds", "Time spent in them.", MILLISECOND),
    ServerCounter("Innodb_deadlocks", "server_deadlocks", "Deadlocks (MariaDB)."),
    ServerCounter("Binlog_commits", "server_binlog_commits", "Transactions in the binary log (MariaDB)."),
    ServerCounter(
        "Binlog_group_commits", "server_binlog_group_commits", "Groups they were committed in (MariaDB)."
    ),
)
"""What a server does not count is absent."""
