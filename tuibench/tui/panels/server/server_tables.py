"""Tables of the server screen: the counters and gauges of each figure, by flavour."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench.model import counters
from tuibench.model.counters import Counter, first_known
from tuibench.model.measurements.sample import Sample, ServerSample
from tuibench.tui.panels.trend import TrendRow, TrendSection
from tuibench.tui.view import View
from tuibench.units import DASH, binary_size, count, decimal, percent, si

GaugeReader = Callable[[ServerSample], float | None]
NumberFormat = Callable[[float | None], str]


def _rate_text(value: float | None) -> str:
    """A rate with as many digits as are worth reading."""
    return decimal(value, 1) if value is not None and 0 < value < 100 else _count_text(value)


def _count_text(value: float | None) -> str:
    """A count in at most eight cells."""
    return count(value) if value is None or value < 999_999.5 else si(value)


def _bytes_per_second(value: float | None) -> str:
    return DASH if value is None else f"{binary_size(value)}/s"


class CounterRow(NamedTuple):
    """How fast a counter grows: the first of these names that the server has.

    `called` is what the figure is called where it comes from another counter than the first, if that counts
    something else.
    """

    name: str
    counters: tuple[Counter, ...]
    write: NumberFormat = _rate_text
    write_total: NumberFormat = _count_text
    why: str = "not counted here"
    alarms: bool = False
    rare: bool = False
    called: str = ""


class GaugeRow(NamedTuple):
    """What holds now, and what it is measured by."""

    name: str
    value: GaugeReader
    write: NumberFormat = _count_text
    beside: Callable[[ServerSample], str] = lambda _: ""
    needs: tuple[Counter, ...] = ()
    why: str = "not told here"


def _gauge_reader(*names: Counter) -> GaugeReader:
    """The first of these that the server tells."""
    return lambda part: first_known(names, part.gauges)


def _pool_used(part: ServerSample) -> float | None:
    total, free = part.gauges.get(Counter.POOL_PAGES_TOTAL), part.gauges.get(Counter.POOL_PAGES_FREE)
    return 100 * (1 - free / total) if total and free is not None else None


def _pool_size(part: ServerSample) -> str:
    pages, size = part.gauges.get(Counter.POOL_PAGES_TOTAL), part.gauges.get(Counter.PAGE_SIZE)
    return f"of {binary_size(pages * size)}" if pages and size else ""


def _checkpoint_age(part: ServerSample) -> float | None:
    """MariaDB tells it; of MySQL it is what was written since the last checkpoint."""
    if Counter.CHECKPOINT_AGE in part.gauges:
        return part.gauges[Counter.CHECKPOINT_AGE]
    now = part.counters.get(Counter.REDO_LOG_CURRENT_LSN)
    checkpoint = part.gauges.get(Counter.REDO_LOG_CHECKPOINT_LSN)
    return now - checkpoint if now is not None and checkpoint is not None else None


def _redo_room(part: ServerSample) -> str:
    room = first_known(counters.REDO_CAPACITY, part.gauges)
    return f"of {binary_size(room)}" if room else ""


def _of_connections(part: ServerSample) -> str:
    return f"of {part.max_connections:,}"


def _of_tables(part: ServerSample) -> str:
    return f"of {part.table_open_cache:,}"


TableItem = CounterRow | GaugeRow

COMMANDS: tuple[TableItem, ...] = (
    CounterRow("Questions", (Counter.QUESTIONS,)),
    CounterRow("SELECT", (Counter.COM_SELECT,)),
    CounterRow("INSERT", (Counter.COM_INSERT,)),
    CounterRow("UPDATE", (Counter.COM_UPDATE,)),
    CounterRow("DELETE", (Counter.COM_DELETE,)),
    CounterRow("COMMIT", (Counter.COM_COMMIT,)),
    CounterRow("ROLLBACK", (Counter.COM_ROLLBACK,), rare=True),
    CounterRow("Slow queries", (Counter.SLOW_QUERIES,), alarms=True),
)
CONNECTIONS: tuple[TableItem, ...] = (
    GaugeRow("Threads running", lambda part: part.threads_running),
    GaugeRow("connected", lambda part: part.threads_connected, beside=_of_connections),
    CounterRow("created", (Counter.THREADS_CREATED,), rare=True),
    CounterRow("Aborted clients", (Counter.ABORTED_CLIENTS,), alarms=True),
    CounterRow("aborted logins", (Counter.ABORTED_CONNECTS,), alarms=True),
)
TABLES: tuple[TableItem, ...] = (
    GaugeRow("Open tables", lambda part: part.open_tables, beside=_of_tables),
    CounterRow("cache hits", (Counter.TABLE_CACHE_HITS,), rare=True),
    CounterRow("cache misses", (Counter.TABLE_CACHE_MISSES,)),
    CounterRow("cache overflows", (Counter.TABLE_CACHE_OVERFLOWS,), alarms=True),
)
BINARY_LOG: tuple[TableItem, ...] = (
    CounterRow("Written", counters.BINLOG_BYTES, _bytes_per_second, binary_size),
    CounterRow("syncs", counters.BINLOG_SYNCS, called="group commits"),
    CounterRow("transactions", counters.BINLOG_TRANSACTIONS, rare=True),
    CounterRow("spilled to disk", (Counter.BINLOG_CACHE_DISK_USE,), alarms=True, rare=True),
)
ROWS: tuple[TableItem, ...] = (
    CounterRow("Rows read", counters.ROWS_READ),
    CounterRow("inserted", counters.ROWS_INSERTED),
    CounterRow("updated", counters.ROWS_UPDATED),
    CounterRow("deleted", counters.ROWS_DELETED),
    CounterRow("Row lock waits", (Counter.ROW_LOCK_WAITS,)),
    GaugeRow("waiting now", _gauge_reader(Counter.ROW_LOCK_CURRENT_WAITS)),
    CounterRow("Deadlocks", counters.DEADLOCKS),
    CounterRow("Tmp tables", (Counter.TMP_TABLES,)),
    CounterRow("on disk", (Counter.TMP_DISK_TABLES,)),
)
HISTORY = counters.HISTORY_LIST_LENGTH
INNODB: tuple[TableItem, ...] = (
    GaugeRow("Buffer pool", _pool_used, percent, _pool_size),
    GaugeRow("dirty", _gauge_reader(Counter.POOL_BYTES_DIRTY), binary_size),
    GaugeRow("hits", lambda part: part.buffer_pool_hit, lambda value: percent(value, 2), why="no reads"),
    CounterRow("pages read", (Counter.POOL_READS,)),
    CounterRow("pages flushed", (Counter.POOL_PAGES_FLUSHED,), rare=True),
    CounterRow(
        "Redo written",
        counters.REDO_BYTES,
        _bytes_per_second,
        binary_size,
    ),
    GaugeRow("checkpoint age", _checkpoint_age, binary_size, _redo_room),
    CounterRow("log waits", (Counter.LOG_WAITS,), alarms=True, rare=True),
    CounterRow("Fsyncs, log", (Counter.OS_LOG_FSYNCS,), why="among data fsyncs"),
    CounterRow("fsyncs, data", (Counter.DATA_FSYNCS,)),
    GaugeRow(
        "History list", _gauge_reader(*counters.HISTORY_LIST_LENGTH), needs=counters.HISTORY_LIST_LENGTH
    ),
)
ServerTable = Sequence[tuple[str, Sequence[TableItem]]]
LEFT_TABLES: ServerTable = (
    ("COMMANDS", COMMANDS),
    ("CONNECTIONS", CONNECTIONS),
    ("TABLES", TABLES),
    ("BINARY LOG", BINARY_LOG),
)
RIGHT_TABLES: ServerTable = (("INNODB", INNODB), ("ROWS AND LOCKS", ROWS))


def server_sections(view: View, chosen: ServerTable) -> list[TrendSection]:
    """The tables with what is known now."""
    return [
        TrendSection(title, [table_row(item, view.recent) for item in items], "total")
        for title, items in chosen
    ]


def replica_sections(view: View) -> list[TrendSection]:
    """The replicas with their lag in seconds, and beside it in bytes; nothing where none are read."""
    names = list(dict.fromkeys(each.name for sample in view.recent for each in sample.replicas))
    if not names:
        return []
    return [TrendSection("REPLICAS", [_replica_row(name, view.recent) for name in names], "behind")]


def _replica_row(name: str, samples: Sequence[Sample]) -> TrendRow:
    found = [next((each for each in sample.replicas if each.name == name), None) for sample in samples]
    values = [each.lag_seconds if each is not None else None for each in found]
    newest = found[-1]
    if newest is None or newest.lag_seconds is None:
        why = "is gone" if newest is None else newest.note or newest.state
        return TrendRow(name, DASH, why, values, alarm=True)
    return TrendRow(name, f"{newest.lag_seconds:g} s", binary_size(newest.lag_bytes), values)


def table_row(item: TableItem, samples: Sequence[Sample]) -> TrendRow:
    """One figure, with its last minute."""
    return _counter_trend(item, samples) if isinstance(item, CounterRow) else _gauge_trend(item, samples)


def _counter_trend(item: CounterRow, samples: Sequence[Sample]) -> TrendRow:
    part = samples[-1].server if samples else None
    name = _first_counter(item.counters, part)
    if part is None or name is None:
        return TrendRow(item.name, DASH, _reason_missing(part, item.counters, item.why))
    called = item.called if item.called and name != item.counters[0] else item.name
    values = [_rate_between(name, before, after) for before, after in pairwise(samples)]
    total = item.write_total(part.counters[name])
    if not values or values[-1] is None:
        return TrendRow(called, DASH, "next tick", values)
    alarm = item.alarms and values[-1] > 0
    return TrendRow(called, item.write(values[-1]), total, values, alarm, item.rare)


def _gauge_trend(item: GaugeRow, samples: Sequence[Sample]) -> TrendRow:
    values = [item.value(sample.server) if sample.server else None for sample in samples]
    part = samples[-1].server if samples else None
    if part is None or values[-1] is None:
        return TrendRow(item.name, DASH, _reason_missing(part, item.needs, item.why), values)
    return TrendRow(item.name, item.write(values[-1]), item.beside(part), values)


def _first_counter(names: Sequence[Counter], part: ServerSample | None) -> Counter | None:
    return next((name for name in names if part is not None and name in part.counters), None)


def _rate_between(name: str, before: Sample, after: Sample) -> float | None:
    """Per second, over the time between two samples; None over a gap, a restart or a reset."""
    if before.server is None or after.server is None:
        return None
    old, new = before.server.counters.get(name), after.server.counters.get(name)
    seconds = after.elapsed_seconds - before.elapsed_seconds + (after.late_ms - before.late_ms) / 1000
    return (
        (new - old) / seconds if old is not None and new is not None and new >= old and seconds > 0 else None
    )


def _reason_missing(part: ServerSample | None, names: Sequence[str], otherwise: str) -> str:
    """The reason in the place of the value: no answer, no privilege, not on this flavour."""
    if part is None:
        return "no answer"
    return next((part.untold[name] for name in names if name in part.untold), otherwise)
