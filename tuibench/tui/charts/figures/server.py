"""Figures of the server screen: counters and gauges by flavour."""

from collections.abc import Sequence
from functools import partial

from tuibench.model.counters import REDO_CAPACITY, Counter, first_known
from tuibench.model.tick import Tick
from tuibench.tui.charts.figures.figure import FigureRow
from tuibench.units import binary_size, percent


def _pool_size(tick: Tick) -> str:
    pages, size = tick.levels.get(Counter.POOL_PAGES_TOTAL), tick.levels.get(Counter.PAGE_SIZE)
    return f"of {binary_size(pages * size)}" if pages and size else ""


def _redo_room(tick: Tick) -> str:
    room = first_known(REDO_CAPACITY, tick.levels)
    return f"of {binary_size(room)}" if room else ""


def _of_connections(tick: Tick) -> str:
    most = tick.levels.get("max_connections")
    return f"of {most:,.0f}" if most else ""


def _of_tables(tick: Tick) -> str:
    most = tick.levels.get("table_open_cache")
    return f"of {most:,.0f}" if most else ""


_gauge = FigureRow
_counter = partial(FigureRow, why="not counted here")

COMMANDS = (
    _counter("questions", "Questions"),
    _counter("com_select", "SELECT"),
    _counter("com_insert", "INSERT"),
    _counter("com_update", "UPDATE"),
    _counter("com_delete", "DELETE"),
    _counter("com_commit", "COMMIT"),
    _counter("com_rollback", "ROLLBACK", rare=True),
    _counter("slow_queries", "Slow queries", alarms=True),
)
CONNECTIONS = (
    _gauge("threads_running", "Threads running"),
    _gauge("threads_connected", "connected", "Connections", beside=_of_connections),
    _counter("threads_created", "created", "Threads created", rare=True),
    _counter("aborted_clients", "Aborted clients", alarms=True),
    _counter("aborted_connects", "aborted logins", "Aborted logins", alarms=True),
)
TABLES = (
    _gauge("open_tables", "Open tables", beside=_of_tables),
    _counter("table_open_cache_hits", "cache hits", "Table cache hits", rare=True),
    _counter("table_open_cache_misses", "cache misses", "Cache misses"),
    _counter("table_open_cache_overflows", "cache overflows", "Cache overflows", alarms=True),
)
BINARY_LOG = (
    _counter("binlog_written", "Written", "Binlog written"),
    _counter("binlog_syncs_per_second", "syncs", "Binlog syncs", called="group commits"),
    _counter("binlog_transactions", "transactions", "Binlog trx", rare=True),
    _counter("binlog_cache_disk_use", "spilled to disk", "Binlog spills", alarms=True, rare=True),
)
ROWS = (
    _counter("row_reads", "Rows read"),
    _counter("row_inserts", "inserted", "Rows inserted"),
    _counter("row_updates", "updated", "Rows updated"),
    _counter("row_deletes", "deleted", "Rows deleted"),
    _counter("innodb_row_lock_waits", "Row lock waits"),
    _gauge("innodb_row_lock_current_waits", "waiting now", "Rows waited for"),
    _counter("deadlocks", "Deadlocks"),
    _counter("created_tmp_tables", "Tmp tables"),
    _counter("created_tmp_disk_tables", "on disk", "Tmp on disk"),
)
INNODB = (
    _gauge("pool_used", "Buffer pool", "Pool used", beside=_pool_size),
    _gauge("innodb_buffer_pool_bytes_dirty", "dirty", "Pool dirty"),
    _gauge("pool_hit", "hits", "Pool hits", partial(percent, digits=2), why="no reads"),
    _counter("innodb_buffer_pool_reads", "pages read", "Pages read"),
    _counter("innodb_buffer_pool_pages_flushed", "pages flushed", "Pages flushed", rare=True),
    _counter("redo_written", "Redo written"),
    _gauge("checkpoint_age", "checkpoint age", "Checkpoint age", beside=_redo_room),
    _counter("innodb_log_waits", "log waits", "Log waits", alarms=True, rare=True),
    _counter("innodb_os_log_fsyncs", "Log fsyncs", "Log fsyncs", why="part of data fsyncs"),
    _counter("innodb_data_fsyncs", "Data fsyncs", "Data fsyncs"),
    _gauge("history_list", "History list"),
)
GROUP = (
    _gauge("performance_schema.group_queue", "Certification", "Group queue", why="no member"),
    _gauge("performance_schema.group_applier_queue", "Applier", "Applier queue", why="no member"),
)
"""Queues of a group replication member; listed on a member only."""
GROUP_HEADING = "GROUP REPLICATION QUEUES"
ServerTable = Sequence[tuple[str, Sequence[FigureRow]]]
LEFT_TABLES: ServerTable = (
    ("COMMANDS", COMMANDS),
    ("CONNECTIONS", CONNECTIONS),
    ("TABLES", TABLES),
    ("BINARY LOG", BINARY_LOG),
    (GROUP_HEADING, GROUP),
)
RIGHT_TABLES: ServerTable = (("INNODB", INNODB), ("ROWS AND LOCKS", ROWS))
