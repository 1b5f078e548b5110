"""Figures of the server screen: counters and gauges by flavour."""

from collections.abc import Sequence

from tuibench.model import counters
from tuibench.model.counters import Counter, first_known
from tuibench.model.measurements.sample import ServerSample
from tuibench.tui.charts.figures.figure import CounterRow, GaugeRow, bytes_per_second, gauge_reader
from tuibench.units import binary_size, percent


def _pool_used(part: ServerSample) -> float | None:
    total, free = part.gauges.get(Counter.POOL_PAGES_TOTAL), part.gauges.get(Counter.POOL_PAGES_FREE)
    return 100 * (1 - free / total) if total and free is not None else None


def _pool_size(part: ServerSample) -> str:
    pages, size = part.gauges.get(Counter.POOL_PAGES_TOTAL), part.gauges.get(Counter.PAGE_SIZE)
    return f"of {binary_size(pages * size)}" if pages and size else ""


def _redo_room(part: ServerSample) -> str:
    room = first_known(counters.REDO_CAPACITY, part.gauges)
    return f"of {binary_size(room)}" if room else ""


def _of_connections(part: ServerSample) -> str:
    return f"of {part.max_connections:,}" if part.max_connections else ""


def _of_tables(part: ServerSample) -> str:
    return f"of {part.table_open_cache:,}" if part.table_open_cache else ""


ServerRow = CounterRow | GaugeRow

COMMANDS: tuple[ServerRow, ...] = (
    CounterRow("Questions", (Counter.QUESTIONS,)),
    CounterRow("SELECT", (Counter.COM_SELECT,)),
    CounterRow("INSERT", (Counter.COM_INSERT,)),
    CounterRow("UPDATE", (Counter.COM_UPDATE,)),
    CounterRow("DELETE", (Counter.COM_DELETE,)),
    CounterRow("COMMIT", (Counter.COM_COMMIT,)),
    CounterRow("ROLLBACK", (Counter.COM_ROLLBACK,), rare=True),
    CounterRow("Slow queries", (Counter.SLOW_QUERIES,), alarms=True),
)
CONNECTIONS: tuple[ServerRow, ...] = (
    GaugeRow("Threads running", lambda part: part.threads_running),
    GaugeRow("connected", lambda part: part.threads_connected, beside=_of_connections, title="Connections"),
    CounterRow("created", (Counter.THREADS_CREATED,), rare=True, title="Threads created"),
    CounterRow("Aborted clients", (Counter.ABORTED_CLIENTS,), alarms=True),
    CounterRow("aborted logins", (Counter.ABORTED_CONNECTS,), alarms=True, title="Aborted logins"),
)
TABLES: tuple[ServerRow, ...] = (
    GaugeRow("Open tables", lambda part: part.open_tables, beside=_of_tables),
    CounterRow("cache hits", (Counter.TABLE_CACHE_HITS,), rare=True, title="Table cache hits"),
    CounterRow("cache misses", (Counter.TABLE_CACHE_MISSES,), title="Cache misses"),
    CounterRow("cache overflows", (Counter.TABLE_CACHE_OVERFLOWS,), alarms=True, title="Cache overflows"),
)
BINARY_LOG: tuple[ServerRow, ...] = (
    CounterRow("Written", counters.BINLOG_BYTES, bytes_per_second, binary_size, title="Binlog written"),
    CounterRow("syncs", counters.BINLOG_SYNCS, called="group commits", title="Binlog syncs"),
    CounterRow("transactions", counters.BINLOG_TRANSACTIONS, rare=True, title="Binlog trx"),
    CounterRow(
        "spilled to disk", (Counter.BINLOG_CACHE_DISK_USE,), alarms=True, rare=True, title="Binlog spills"
    ),
)
ROWS: tuple[ServerRow, ...] = (
    CounterRow("Rows read", counters.ROWS_READ),
    CounterRow("inserted", counters.ROWS_INSERTED, title="Rows inserted"),
    CounterRow("updated", counters.ROWS_UPDATED, title="Rows updated"),
    CounterRow("deleted", counters.ROWS_DELETED, title="Rows deleted"),
    CounterRow("Row lock waits", (Counter.ROW_LOCK_WAITS,)),
    GaugeRow("waiting now", gauge_reader(Counter.ROW_LOCK_CURRENT_WAITS), title="Rows waited for"),
    CounterRow("Deadlocks", counters.DEADLOCKS),
    CounterRow("Tmp tables", (Counter.TMP_TABLES,)),
    CounterRow("on disk", (Counter.TMP_DISK_TABLES,), title="Tmp on disk"),
)
INNODB: tuple[ServerRow, ...] = (
    GaugeRow("Buffer pool", _pool_used, percent, _pool_size, title="Pool used"),
    GaugeRow("dirty", gauge_reader(Counter.POOL_BYTES_DIRTY), binary_size, title="Pool dirty"),
    GaugeRow(
        "hits",
        lambda part: part.buffer_pool_hit,
        lambda value: percent(value, 2),
        why="no reads",
        title="Pool hits",
    ),
    CounterRow("pages read", (Counter.POOL_READS,), title="Pages read"),
    CounterRow("pages flushed", (Counter.POOL_PAGES_FLUSHED,), rare=True, title="Pages flushed"),
    CounterRow(
        "Redo written",
        counters.REDO_BYTES,
        bytes_per_second,
        binary_size,
    ),
    GaugeRow(
        "checkpoint age", lambda part: part.checkpoint_age, binary_size, _redo_room, title="Checkpoint age"
    ),
    CounterRow("log waits", (Counter.LOG_WAITS,), alarms=True, rare=True, title="Log waits"),
    CounterRow("Log fsyncs", (Counter.OS_LOG_FSYNCS,), why="part of data fsyncs", title="Log fsyncs"),
    CounterRow("Data fsyncs", (Counter.DATA_FSYNCS,), title="Data fsyncs"),
    GaugeRow("History list", gauge_reader(*counters.HISTORY_LIST_LENGTH), needs=counters.HISTORY_LIST_LENGTH),
)
GROUP: tuple[ServerRow, ...] = (
    GaugeRow("Certification", gauge_reader(Counter.GROUP_QUEUE), why="no member", title="Group queue"),
    GaugeRow("Applier", gauge_reader(Counter.GROUP_APPLIER_QUEUE), why="no member", title="Applier queue"),
)
"""Queues of a group replication member; listed on a member only."""
GROUP_HEADING = "GROUP REPLICATION QUEUES"
ServerTable = Sequence[tuple[str, Sequence[ServerRow]]]
LEFT_TABLES: ServerTable = (
    ("COMMANDS", COMMANDS),
    ("CONNECTIONS", CONNECTIONS),
    ("TABLES", TABLES),
    ("BINARY LOG", BINARY_LOG),
    (GROUP_HEADING, GROUP),
)
RIGHT_TABLES: ServerTable = (("INNODB", INNODB), ("ROWS AND LOCKS", ROWS))
