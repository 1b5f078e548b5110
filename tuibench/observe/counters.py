"""Which of the server's counters are kept, and which of them a figure on the screen is made of."""

from collections.abc import Mapping, Sequence

UPTIME = "Uptime"
FLUSH_AGE = "Uptime_since_flush_status"
THREADS_RUNNING = "Threads_running"
THREADS_CONNECTED = "Threads_connected"
OPEN_TABLES = "Open_tables"
QUESTIONS = "Questions"
SLOW_QUERIES = "Slow_queries"
BINLOG_SYNCS = "performance_schema.binlog_syncs"
BINLOG_BYTES = "performance_schema.binlog_bytes"
HISTORY = "innodb_metrics.history_list_length"
DEADLOCKS = "innodb_metrics.deadlocks"

NEEDED = (UPTIME, THREADS_RUNNING, THREADS_CONNECTED, OPEN_TABLES, QUESTIONS, SLOW_QUERIES)
"""Without these a reading is no reading."""

COUNTERS: dict[str, str] = {
    QUESTIONS: "statements that clients sent; also one for each connection that says goodbye",
    "Com_select": "SELECT statements",
    "Com_insert": "INSERT statements",
    "Com_update": "UPDATE statements",
    "Com_delete": "DELETE statements",
    "Com_begin": "BEGIN and START TRANSACTION",
    "Com_commit": "COMMIT statements; statements that commit by themselves are not among them",
    "Com_rollback": "ROLLBACK statements",
    "Com_set_option": "SET statements",
    "Com_stmt_execute": "executions of prepared statements, which are counted under their own kind as well",
    "Com_stmt_prepare": "statements prepared",
    SLOW_QUERIES: "statements that took longer than long_query_time",
    "Connections": "attempts to connect",
    "Aborted_clients": "connections that ended without a goodbye",
    "Aborted_connects": "attempts to connect that failed",
    "Threads_created": "threads that the thread cache did not have",
    "Bytes_received": "bytes from clients",
    "Bytes_sent": "bytes to clients",
    "Created_tmp_tables": "internal temporary tables",
    "Created_tmp_disk_tables": "internal temporary tables on disk",
    "Sort_merge_passes": "sorts that did not fit the sort buffer",
    "Select_scan": "joins that scanned their first table whole",
    "Opened_tables": "tables opened",
    "Table_open_cache_hits": "tables found in the open table cache",
    "Table_open_cache_misses": "tables not found there",
    "Table_open_cache_overflows": "tables closed again because the cache was full",
    "Handler_commit": "commits inside the server: several for one transaction (engine, binary log)",
    "Handler_write": "rows inserted, those of internal temporary tables too",
    "Handler_update": "rows updated, those of internal temporary tables too",
    "Handler_delete": "rows deleted, those of internal temporary tables too",
    "Rows_read": "rows read (MariaDB)",
    "Handler_rollback": "rollbacks inside the server",
    "Handler_read_key": "rows read through an index",
    "Handler_read_rnd_next": "rows read by scanning",
    "Binlog_cache_use": "transactions written to the binary log",
    "Binlog_cache_disk_use": "transactions that did not fit the binary log's cache",
    "Binlog_commits": "transactions in the binary log (MariaDB)",
    "Binlog_group_commits": "groups in which they were committed (MariaDB)",
    "Binlog_bytes_written": "bytes written to the binary log (MariaDB)",
    BINLOG_SYNCS: "syncs of the binary log (MySQL, see binlog)",
    BINLOG_BYTES: "bytes written to the binary log (MySQL, see binlog)",
    "Innodb_buffer_pool_read_requests": "pages asked of the buffer pool",
    "Innodb_buffer_pool_reads": "pages that had to come from disk for it",
    "Innodb_buffer_pool_wait_free": "waits for a free page in the buffer pool",
    "Innodb_buffer_pool_pages_flushed": "pages written back",
    "Innodb_data_fsyncs": "fsyncs by InnoDB: of data files, and of the redo log too in MariaDB",
    "Innodb_data_read": "bytes read by InnoDB",
    "Innodb_data_written": "bytes written by InnoDB",
    "Innodb_dblwr_writes": "batches written through the doublewrite buffer",
    "Innodb_log_waits": "waits because the log buffer was too small",
    "Innodb_log_writes": "writes to the redo log",
    "Innodb_os_log_fsyncs": "fsyncs of the redo log",
    "Innodb_os_log_written": "bytes written to the redo log",
    "Innodb_lsn_current": "bytes of redo made since the server's data began (MariaDB)",
    "Innodb_redo_log_current_lsn": "bytes of redo made since the server's data began (MySQL)",
    "Innodb_row_lock_waits": "waits for a row lock",
    "Innodb_row_lock_time": "milliseconds spent in them",
    "Innodb_deadlocks": "deadlocks (MariaDB)",
    DEADLOCKS: "deadlocks (MySQL, see innodb)",
    "Innodb_rows_read": "rows read",
    "Innodb_rows_inserted": "rows inserted",
    "Innodb_rows_updated": "rows updated",
    "Innodb_rows_deleted": "rows deleted",
}
"""Cumulative counters and what they count; recorded with every sample. What a server lacks is absent."""

GAUGES: dict[str, str] = {
    "Threads_cached": "threads that wait for a connection",
    "Max_used_connections": "the most connections at a time since the start",
    "Open_files": "files that are open",
    "Innodb_page_size": "bytes of a page",
    "Innodb_buffer_pool_pages_total": "pages of the buffer pool",
    "Innodb_buffer_pool_pages_free": "pages of it that hold nothing",
    "Innodb_buffer_pool_bytes_dirty": "bytes in it that are not written back yet",
    "Innodb_checkpoint_age": "bytes of redo that a crash would have to go through (MariaDB)",
    "Innodb_checkpoint_max_age": "how many that may be before writes are held up (MariaDB)",
    "Innodb_redo_log_checkpoint_lsn": "where in the redo a crash would begin (MySQL)",
    "Innodb_redo_log_capacity_resized": "bytes of redo that there is room for (MySQL)",
    "Innodb_history_list_length": "transactions whose old row versions are not purged yet (MariaDB)",
    HISTORY: "the same (MySQL, see innodb)",
    "Innodb_row_lock_current_waits": "row locks that are waited for now",
}
"""What holds at the moment, and what it means; recorded with every sample."""

METRICS: dict[str, tuple[str, ...]] = {
    "questions": (QUESTIONS,),
    "slow_queries": (SLOW_QUERIES,),
    "commits": ("Com_commit",),
    "log_fsyncs": ("Innodb_os_log_fsyncs", "Innodb_data_fsyncs"),
    "row_lock_waits": ("Innodb_row_lock_waits",),
    "buffer_pool_misses": ("Innodb_buffer_pool_reads",),
    "buffer_pool_requests": ("Innodb_buffer_pool_read_requests",),
}
"""A figure, and the counters it may come from: the first that the server has.

log_fsyncs: MySQL and MariaDB up to 10.7 count the redo log's fsyncs apart. MariaDB 10.8 dropped that counter;
there Innodb_data_fsyncs counts them together with those of the data files. Under a write load that fits the
buffer pool the latter are below one in a hundred, so it is a close upper bound; only where almost nothing is
flushed at commit do they show. Innodb_log_writes is no substitute: it goes on counting when
innodb_flush_log_at_trx_commit is 0 or 2. The binary log's fsyncs are in none of them: MySQL has no counter.
"""

_KEPT = frozenset(COUNTERS) | frozenset(GAUGES) | frozenset(NEEDED) | {FLUSH_AGE}


def kept(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    """The rows of SHOW GLOBAL STATUS that we keep, as numbers."""
    return {name: int(value) for name, value in rows if name in _KEPT and value.isdigit()}


def counter_of(figure: str, status: Mapping[str, int]) -> str:
    """The counter a figure comes from on a server with this status."""
    names = METRICS[figure]
    return next((name for name in names if name in status), names[0])
