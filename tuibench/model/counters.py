"""Status counters of the server: name, meaning, unit, flavour, recording, and Prometheus name.

Only this table contains a counter's name. A `Counter` is its name in SHOW GLOBAL STATUS, so it serves as
a key into a sample's counters and gauges. Names with a dot are values that MySQL reports in tables:
`performance_schema.` for the binary log's files, `innodb_metrics.` for information_schema.innodb_metrics.

To add a counter, add a member here: it is sampled, recorded and, with a `metric`, exported. To show it, add a
row to `tui/panels/server.py`.

A quantity that the servers count under different names is a tuple of counters in order of preference
(`LOG_FSYNCS`); `first_known` selects the first one that a server has.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Self, TypeVar

import msgspec

from tuibench.model.server import Flavour

Number = TypeVar("Number", int, float)


class Unit(StrEnum):
    """A counter's unit."""

    COUNT = "count"
    BYTES = "bytes"
    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"

    @property
    def in_metric(self) -> float:
        """The conversion factor to the unit of the exported metric: Prometheus counts time in seconds."""
        return 1e-3 if self is Unit.MILLISECONDS else 1.0


class Recording(StrEnum):
    """Where a counter is stored."""

    CUMULATIVE = "cumulative"
    """Monotonic: a tick has its growth, and the total."""

    GAUGE = "gauge"
    """A tick has its current value."""

    FIELD = "field"
    """Read with every sample, and shown with it: a tick has its current value."""

    PREFLIGHT = "preflight"
    """Not stored: read before a run only."""


class CounterFacts(msgspec.Struct, frozen=True):
    """One row of the table."""

    name: str
    meaning: str
    recording: Recording = Recording.CUMULATIVE
    unit: Unit = Unit.COUNT
    flavour: Flavour | None = None
    """The only flavour that has the counter; None for both."""
    metric: str = ""
    """The Prometheus name after `tuibench_server_`, without suffix. A counter without one is not exported."""


BYTES = Unit.BYTES
GAUGE, FIELD, PREFLIGHT = Recording.GAUGE, Recording.FIELD, Recording.PREFLIGHT
_Row = CounterFacts
_mariadb = partial(_Row, flavour=Flavour.MARIADB)
_mysql = partial(_Row, flavour=Flavour.MYSQL)


class Counter(StrEnum):
    """All counters that are read, recorded or shown."""

    facts: CounterFacts

    def __new__(cls, facts: CounterFacts) -> Self:
        member = str.__new__(cls, facts.name)
        member._value_ = facts.name
        member.facts = facts
        return member

    # Statements
    QUESTIONS = _Row(
        "Questions", "statements that clients sent; closing a connection counts as one", metric="questions"
    )
    SLOW_QUERIES = _Row(
        "Slow_queries", "statements that took longer than long_query_time", metric="slow_queries"
    )
    COM_SELECT = _Row("Com_select", "SELECT statements")
    COM_INSERT = _Row("Com_insert", "INSERT statements")
    COM_UPDATE = _Row("Com_update", "UPDATE statements")
    COM_DELETE = _Row("Com_delete", "DELETE statements")
    COM_BEGIN = _Row("Com_begin", "BEGIN and START TRANSACTION statements")
    COM_COMMIT = _Row(
        "Com_commit", "COMMIT statements; autocommitted statements are not included", metric="commits"
    )
    COM_XA_COMMIT = _Row("Com_xa_commit", "XA COMMIT statements")
    QUERY_CACHE_HITS = _mariadb("Qcache_hits", "SELECT statements answered by the query cache")
    COM_ROLLBACK = _Row("Com_rollback", "ROLLBACK statements", metric="rollbacks")
    COM_SET_OPTION = _Row("Com_set_option", "SET statements")
    COM_STMT_EXECUTE = _Row(
        "Com_stmt_execute", "executions of prepared statements; each also counts under its own kind"
    )
    COM_STMT_PREPARE = _Row("Com_stmt_prepare", "statements prepared")
    COM_DELETE_MULTI = _Row("Com_delete_multi", "multi-table DELETE statements")
    COM_INSERT_SELECT = _Row("Com_insert_select", "INSERT ... SELECT statements")
    COM_LOAD = _Row("Com_load", "LOAD DATA statements")
    COM_REPLACE = _Row("Com_replace", "REPLACE statements")
    COM_REPLACE_SELECT = _Row("Com_replace_select", "REPLACE ... SELECT statements")
    COM_UPDATE_MULTI = _Row("Com_update_multi", "multi-table UPDATE statements")
    PREPARED_STMT_COUNT = _Row("Prepared_stmt_count", "prepared statements that are open now", PREFLIGHT)

    # Connections
    UPTIME = _Row("Uptime", "seconds since the server started", FIELD, Unit.SECONDS)
    FLUSH_AGE = _Row("Uptime_since_flush_status", "seconds since FLUSH STATUS", FIELD, Unit.SECONDS)
    THREADS_RUNNING = _Row("Threads_running", "threads that execute a statement now", FIELD)
    THREADS_CONNECTED = _Row("Threads_connected", "connections that are open now", FIELD)
    THREADS_CACHED = _Row("Threads_cached", "threads in the thread cache", GAUGE)
    THREADPOOL_THREADS = _mariadb("Threadpool_threads", "threads in the thread pool", GAUGE)
    THREADS_CREATED = _Row(
        "Threads_created", "threads created because the thread cache was empty", metric="threads_created"
    )
    MAX_USED_CONNECTIONS = _Row(
        "Max_used_connections", "most connections at a time since the server started", GAUGE
    )
    CONNECTIONS = _Row("Connections", "connection attempts", metric="connections")
    ABORTED_CLIENTS = _Row(
        "Aborted_clients", "connections that ended without COM_QUIT", metric="aborted_clients"
    )
    ABORTED_CONNECTS = _Row("Aborted_connects", "connection attempts that failed", metric="aborted_connects")
    BYTES_RECEIVED = _Row(
        "Bytes_received", "bytes received from clients", unit=BYTES, metric="received_bytes"
    )
    BYTES_SENT = _Row("Bytes_sent", "bytes sent to clients", unit=BYTES, metric="sent_bytes")

    # Tables and rows
    OPEN_FILES = _Row("Open_files", "files that are open now", GAUGE)
    OPEN_TABLES = _Row("Open_tables", "tables in the table cache now", FIELD)
    OPENED_TABLES = _Row("Opened_tables", "tables opened", metric="opened_tables")
    TABLE_CACHE_HITS = _Row("Table_open_cache_hits", "table lookups found in the table cache")
    TABLE_CACHE_MISSES = _Row(
        "Table_open_cache_misses", "table lookups not found in the table cache", metric="table_cache_misses"
    )
    TABLE_CACHE_OVERFLOWS = _Row(
        "Table_open_cache_overflows",
        "tables closed because the table cache was full",
        metric="table_cache_overflows",
    )
    OPENED_TABLE_DEFINITIONS = _Row("Opened_table_definitions", "table definitions read from the dictionary")
    QCACHE_INSERTS = _mariadb("Qcache_inserts", "results put into the query cache")
    TMP_TABLES = _Row("Created_tmp_tables", "internal temporary tables", metric="temporary_tables")
    TMP_DISK_TABLES = _Row(
        "Created_tmp_disk_tables", "internal temporary tables on disk", metric="temporary_disk_tables"
    )
    SORT_MERGE_PASSES = _Row("Sort_merge_passes", "merge passes of sorts that exceeded the sort buffer")
    SELECT_FULL_JOIN = _Row("Select_full_join", "joins that scanned a table completely for each row")
    SELECT_SCAN = _Row("Select_scan", "joins that scanned their first table completely")
    ROWS_READ = _mariadb("Rows_read", "rows read")
    HANDLER_COMMIT = _Row(
        "Handler_commit", "internal commits: several for one transaction (engine, binary log)"
    )
    HANDLER_ROLLBACK = _Row("Handler_rollback", "internal rollbacks")
    HANDLER_WRITE = _Row("Handler_write", "rows inserted, including internal temporary tables")
    HANDLER_UPDATE = _Row("Handler_update", "rows updated, including internal temporary tables")
    HANDLER_DELETE = _Row("Handler_delete", "rows deleted, including internal temporary tables")
    HANDLER_READ_KEY = _Row("Handler_read_key", "rows read through an index")
    HANDLER_READ_RND_NEXT = _Row("Handler_read_rnd_next", "rows read by scanning")

    # Binary log
    BINLOG_CACHE_USE = _Row("Binlog_cache_use", "transactions written to the binary log")
    BINLOG_CACHE_DISK_USE = _Row(
        "Binlog_cache_disk_use", "transactions that exceeded the binary log cache and used a temporary file"
    )
    BINLOG_COMMITS = _mariadb("Binlog_commits", "transactions in the binary log", metric="binlog_commits")
    BINLOG_GROUP_COMMITS = _mariadb(
        "Binlog_group_commits", "group commits to the binary log", metric="binlog_group_commits"
    )
    BINLOG_BYTES_WRITTEN = _mariadb("Binlog_bytes_written", "bytes written to the binary log", unit=BYTES)
    PERFORMANCE_BINLOG_SYNCS = _mysql("performance_schema.binlog_syncs", "fsyncs of the binary log")
    PERFORMANCE_BINLOG_BYTES = _mysql(
        "performance_schema.binlog_bytes", "bytes written to the binary log", unit=BYTES
    )

    # Group replication
    GROUP_QUEUE = _mysql(
        "performance_schema.group_queue",
        "group replication: transactions that wait for their certification",
        GAUGE,
    )
    GROUP_APPLIER_QUEUE = _mysql(
        "performance_schema.group_applier_queue",
        "group replication: transactions of other members that wait to be applied here",
        GAUGE,
    )

    # InnoDB: buffer pool and files
    POOL_READ_REQUESTS = _Row(
        "Innodb_buffer_pool_read_requests",
        "page requests to the buffer pool",
        metric="buffer_pool_read_requests",
    )
    POOL_READS = _Row(
        "Innodb_buffer_pool_reads", "page requests that had to read from disk", metric="buffer_pool_reads"
    )
    READ_AHEAD = _Row("Innodb_buffer_pool_read_ahead", "pages read ahead of their use")
    POOL_WAIT_FREE = _Row("Innodb_buffer_pool_wait_free", "waits for a free page in the buffer pool")
    POOL_PAGES_FLUSHED = _Row(
        "Innodb_buffer_pool_pages_flushed",
        "pages flushed from the buffer pool",
        metric="buffer_pool_flushed_pages",
    )
    PAGE_SIZE = _Row("Innodb_page_size", "size of a page", GAUGE, BYTES)
    POOL_PAGES_TOTAL = _Row("Innodb_buffer_pool_pages_total", "pages of the buffer pool", GAUGE)
    POOL_PAGES_FREE = _Row("Innodb_buffer_pool_pages_free", "free pages of the buffer pool", GAUGE)
    POOL_BYTES_DIRTY = _Row(
        "Innodb_buffer_pool_bytes_dirty", "bytes in the buffer pool that are not flushed yet", GAUGE, BYTES
    )
    DATA_FSYNCS = _Row(
        "Innodb_data_fsyncs",
        "fsyncs by InnoDB: data files and, in MariaDB, the redo log",
        metric="data_fsyncs",
    )
    DATA_READS = _Row("Innodb_data_reads", "read operations by InnoDB")
    DATA_WRITES = _Row("Innodb_data_writes", "write operations by InnoDB")
    DATA_READ = _Row("Innodb_data_read", "bytes read by InnoDB", unit=BYTES, metric="data_read_bytes")
    DATA_WRITTEN = _Row(
        "Innodb_data_written", "bytes written by InnoDB", unit=BYTES, metric="data_written_bytes"
    )
    DBLWR_WRITES = _Row("Innodb_dblwr_writes", "batches written through the doublewrite buffer")

    # InnoDB: redo log
    LOG_WAITS = _Row("Innodb_log_waits", "waits because the log buffer was too small")
    LOG_WRITES = _Row("Innodb_log_writes", "writes to the redo log")
    OS_LOG_FSYNCS = _Row("Innodb_os_log_fsyncs", "fsyncs of the redo log", metric="log_fsyncs")
    OS_LOG_WRITTEN = _Row(
        "Innodb_os_log_written", "bytes written to the redo log", unit=BYTES, metric="log_written_bytes"
    )
    LSN_CURRENT = _mariadb("Innodb_lsn_current", "log sequence number: bytes of redo generated", unit=BYTES)
    REDO_LOG_CURRENT_LSN = _mysql(
        "Innodb_redo_log_current_lsn", "log sequence number: bytes of redo generated", unit=BYTES
    )
    CHECKPOINT_AGE = _mariadb(
        "Innodb_checkpoint_age", "bytes of redo since the last checkpoint", GAUGE, BYTES
    )
    CHECKPOINT_MAX_AGE = _mariadb(
        "Innodb_checkpoint_max_age", "checkpoint age at which writes are stalled", GAUGE, BYTES
    )
    REDO_LOG_CHECKPOINT_LSN = _mysql(
        "Innodb_redo_log_checkpoint_lsn", "log sequence number of the last checkpoint", GAUGE, BYTES
    )
    REDO_LOG_CAPACITY = _mysql("Innodb_redo_log_capacity_resized", "capacity of the redo log", GAUGE, BYTES)

    # InnoDB: rows and locks
    HISTORY_LIST_LENGTH = _mariadb(
        "Innodb_history_list_length", "history list length: transactions not purged yet", GAUGE
    )
    METRICS_HISTORY_LIST_LENGTH = _mysql(
        "innodb_metrics.history_list_length", "history list length: transactions not purged yet", GAUGE
    )
    ROW_LOCK_CURRENT_WAITS = _Row(
        "Innodb_row_lock_current_waits", "row locks that are being waited for now", GAUGE
    )
    ROW_LOCK_WAITS = _Row("Innodb_row_lock_waits", "waits for a row lock", metric="row_lock_waits")
    ROW_LOCK_TIME = _Row(
        "Innodb_row_lock_time",
        "time spent waiting for row locks",
        unit=Unit.MILLISECONDS,
        metric="row_lock_wait_seconds",
    )
    DEADLOCKS = _mariadb("Innodb_deadlocks", "deadlocks", metric="deadlocks")
    METRICS_DEADLOCKS = _mysql("innodb_metrics.deadlocks", "deadlocks")
    INNODB_ROWS_READ = _Row("Innodb_rows_read", "rows read")
    INNODB_ROWS_INSERTED = _Row("Innodb_rows_inserted", "rows inserted")
    INNODB_ROWS_UPDATED = _Row("Innodb_rows_updated", "rows updated")
    INNODB_ROWS_DELETED = _Row("Innodb_rows_deleted", "rows deleted")


def _recorded_as(*recordings: Recording) -> frozenset[str]:
    return frozenset(str(counter) for counter in Counter if counter.facts.recording in recordings)


CUMULATIVE_NAMES = _recorded_as(Recording.CUMULATIVE)
SAMPLED_NAMES = _recorded_as(Recording.CUMULATIVE, Recording.GAUGE, Recording.FIELD)
"""All names that are kept from a reading of the status."""

COMMITS = (Counter.COM_COMMIT, Counter.COM_XA_COMMIT)
"""Statements that commit. Autocommitted statements are not included."""

ROLLBACKS = (Counter.COM_ROLLBACK,)
READS = (Counter.COM_SELECT, Counter.QUERY_CACHE_HITS)
"""A SELECT that the query cache answers is not in Com_select."""

ROW_WRITES = (
    Counter.COM_DELETE,
    Counter.COM_DELETE_MULTI,
    Counter.COM_INSERT,
    Counter.COM_INSERT_SELECT,
    Counter.COM_LOAD,
    Counter.COM_REPLACE,
    Counter.COM_REPLACE_SELECT,
    Counter.COM_UPDATE,
    Counter.COM_UPDATE_MULTI,
)
"""Statements that change rows."""

LOG_FSYNCS = (Counter.OS_LOG_FSYNCS, Counter.DATA_FSYNCS)
"""The counters of the redo log's fsyncs. None of them includes fsyncs of the binary log.

MySQL, and MariaDB up to 10.7, have a counter of their own for them. MariaDB 10.8 removed it:
Innodb_data_fsyncs includes the fsyncs of the data files. Under a write load that fits the buffer pool, those
are below 1 %, so the counter is a close upper bound; they are visible only if almost nothing is flushed at
commit. Innodb_log_writes is no substitute: it also grows when innodb_flush_log_at_trx_commit is 0 or 2.
"""

REDO_BYTES = (Counter.LSN_CURRENT, Counter.REDO_LOG_CURRENT_LSN, Counter.OS_LOG_WRITTEN)
BINLOG_BYTES = (Counter.BINLOG_BYTES_WRITTEN, Counter.PERFORMANCE_BINLOG_BYTES)
BINLOG_SYNCS = (Counter.PERFORMANCE_BINLOG_SYNCS, Counter.BINLOG_GROUP_COMMITS)
"""MariaDB does not count syncs. With sync_binlog = 1, each group commit is one; with sync_binlog = N, one of
N group commits.
"""

BINLOG_TRANSACTIONS = (Counter.BINLOG_COMMITS, Counter.BINLOG_CACHE_USE)
ROWS_READ = (Counter.INNODB_ROWS_READ, Counter.ROWS_READ)
ROWS_INSERTED = (Counter.INNODB_ROWS_INSERTED, Counter.HANDLER_WRITE)
ROWS_UPDATED = (Counter.INNODB_ROWS_UPDATED, Counter.HANDLER_UPDATE)
ROWS_DELETED = (Counter.INNODB_ROWS_DELETED, Counter.HANDLER_DELETE)
DEADLOCKS = (Counter.DEADLOCKS, Counter.METRICS_DEADLOCKS)
HISTORY_LIST_LENGTH = (Counter.HISTORY_LIST_LENGTH, Counter.METRICS_HISTORY_LIST_LENGTH)

REDO_SHARE = 30 / 32 * 0.95 * 0.95
"""MySQL: the part of the redo log's capacity for changes: without two of its 32 files, a part for its writer
and a margin (InnoDB's log0files_capacity.cc).
"""
REDO_PAGES = 4 * 10
"""MySQL: pages that are reserved for the threads in the background."""


def first_known(counters: Iterable[Counter], values: Mapping[str, Number]) -> Number | None:
    """The value of the first known counter; None if none is known."""
    return next((values[counter] for counter in counters if counter in values), None)


def redo_limit(values: Mapping[str, float]) -> float | None:
    """The bytes of redo since the last checkpoint from which InnoDB lets no change in; None if unknown.

    MariaDB reports it; for MySQL it is computed from the capacity.
    """
    if Counter.REDO_LOG_CAPACITY not in values:
        return values.get(Counter.CHECKPOINT_MAX_AGE)
    reserved = REDO_PAGES * values.get(Counter.PAGE_SIZE, 16_384)
    return max(REDO_SHARE * values[Counter.REDO_LOG_CAPACITY] - reserved, 1.0)
