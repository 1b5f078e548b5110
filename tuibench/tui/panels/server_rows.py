"""What the server screen shows, as tables: which counters and gauges a figure is made of on which flavour."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench.model.sample import Sample, ServerPart
from tuibench.tui.panels.trend import Row, Section
from tuibench.tui.view import View
from tuibench.units import DASH, count, data, decimal, percent, si

Gauge = Callable[[ServerPart], float | None]
Text = Callable[[float | None], str]


def _number(value: float | None) -> str:
    """A rate with as many digits as are worth reading."""
    return decimal(value, 1) if value is not None and 0 < value < 100 else _whole(value)


def _whole(value: float | None) -> str:
    """A count in at most eight cells."""
    return count(value) if value is None or value < 999_999.5 else si(value)


def _bytes_per_second(value: float | None) -> str:
    return DASH if value is None else f"{data(value)}/s"


class Rate(NamedTuple):
    """How fast a counter grows: the first of these names that the server has.

    `called` is what the figure is called where it comes from another counter than the first, if that counts
    something else.
    """

    name: str
    counters: tuple[str, ...]
    write: Text = _number
    write_total: Text = _whole
    why: str = "not counted here"
    alarms: bool = False
    rare: bool = False
    called: str = ""


class Level(NamedTuple):
    """What holds now, and what it is measured by."""

    name: str
    value: Gauge
    write: Text = _whole
    beside: Callable[[ServerPart], str] = lambda _: ""
    needs: tuple[str, ...] = ()
    why: str = "not told here"


def _gauge(*names: str) -> Gauge:
    """The first of these that the server tells."""
    return lambda part: next((part.gauges[name] for name in names if name in part.gauges), None)


def _pool_used(part: ServerPart) -> float | None:
    total, free = (part.gauges.get(f"Innodb_buffer_pool_pages_{name}") for name in ("total", "free"))
    return 100 * (1 - free / total) if total and free is not None else None


def _pool_size(part: ServerPart) -> str:
    pages, size = part.gauges.get("Innodb_buffer_pool_pages_total"), part.gauges.get("Innodb_page_size")
    return f"of {data(pages * size)}" if pages and size else ""


def _checkpoint_age(part: ServerPart) -> float | None:
    """MariaDB tells it; of MySQL it is what was written since the last checkpoint."""
    if "Innodb_checkpoint_age" in part.gauges:
        return part.gauges["Innodb_checkpoint_age"]
    now = part.counters.get("Innodb_redo_log_current_lsn")
    checkpoint = part.gauges.get("Innodb_redo_log_checkpoint_lsn")
    return now - checkpoint if now is not None and checkpoint is not None else None


def _redo_room(part: ServerPart) -> str:
    room = _gauge("Innodb_checkpoint_max_age", "Innodb_redo_log_capacity_resized")(part)
    return f"of {data(room)}" if room else ""


def _of_connections(part: ServerPart) -> str:
    return f"of {part.max_connections:,}"


def _of_tables(part: ServerPart) -> str:
    return f"of {part.table_open_cache:,}"


HISTORY = ("Innodb_history_list_length", "innodb_metrics.history_list_length")
DEADLOCKS = ("Innodb_deadlocks", "innodb_metrics.deadlocks")
Item = Rate | Level

COMMANDS: tuple[Item, ...] = (
    Rate("Questions", ("Questions",)),
    Rate("SELECT", ("Com_select",)),
    Rate("INSERT", ("Com_insert",)),
    Rate("UPDATE", ("Com_update",)),
    Rate("DELETE", ("Com_delete",)),
    Rate("COMMIT", ("Com_commit",)),
    Rate("ROLLBACK", ("Com_rollback",), rare=True),
    Rate("Slow queries", ("Slow_queries",), alarms=True),
)
CONNECTIONS: tuple[Item, ...] = (
    Level("Threads running", lambda part: part.threads_running),
    Level("connected", lambda part: part.threads_connected, beside=_of_connections),
    Rate("created", ("Threads_created",), rare=True),
    Rate("Aborted clients", ("Aborted_clients",), alarms=True),
    Rate("aborted logins", ("Aborted_connects",), alarms=True),
)
TABLES: tuple[Item, ...] = (
    Level("Open tables", lambda part: part.open_tables, beside=_of_tables),
    Rate("cache hits", ("Table_open_cache_hits",), rare=True),
    Rate("cache misses", ("Table_open_cache_misses",)),
    Rate("cache overflows", ("Table_open_cache_overflows",), alarms=True),
)
BINARY_LOG: tuple[Item, ...] = (
    Rate("Written", ("Binlog_bytes_written", "performance_schema.binlog_bytes"), _bytes_per_second, data),
    Rate("syncs", ("performance_schema.binlog_syncs", "Binlog_group_commits"), called="group commits"),
    Rate("transactions", ("Binlog_commits", "Binlog_cache_use"), rare=True),
    Rate("spilled to disk", ("Binlog_cache_disk_use",), alarms=True, rare=True),
)
"""MariaDB does not count syncs. With sync_binlog = 1 each group commit is one, with n each n-th."""
ROWS: tuple[Item, ...] = (
    Rate("Rows read", ("Innodb_rows_read", "Rows_read")),
    Rate("inserted", ("Innodb_rows_inserted", "Handler_write")),
    Rate("updated", ("Innodb_rows_updated", "Handler_update")),
    Rate("deleted", ("Innodb_rows_deleted", "Handler_delete")),
    Rate("Row lock waits", ("Innodb_row_lock_waits",)),
    Level("waiting now", _gauge("Innodb_row_lock_current_waits")),
    Rate("Deadlocks", DEADLOCKS),
    Rate("Tmp tables", ("Created_tmp_tables",)),
    Rate("on disk", ("Created_tmp_disk_tables",)),
)
INNODB: tuple[Item, ...] = (
    Level("Buffer pool", _pool_used, percent, _pool_size),
    Level("dirty", _gauge("Innodb_buffer_pool_bytes_dirty"), data),
    Level("hits", lambda part: part.buffer_pool_hit, lambda value: percent(value, 2), why="no reads"),
    Rate("pages read", ("Innodb_buffer_pool_reads",)),
    Rate("pages flushed", ("Innodb_buffer_pool_pages_flushed",), rare=True),
    Rate(
        "Redo written",
        ("Innodb_lsn_current", "Innodb_redo_log_current_lsn", "Innodb_os_log_written"),
        _bytes_per_second,
        data,
    ),
    Level("checkpoint age", _checkpoint_age, data, _redo_room),
    Rate("log waits", ("Innodb_log_waits",), alarms=True, rare=True),
    Rate("Fsyncs, log", ("Innodb_os_log_fsyncs",), why="among data fsyncs"),
    Rate("fsyncs, data", ("Innodb_data_fsyncs",)),
    Level("History list", _gauge(*HISTORY), needs=HISTORY),
)
Table = Sequence[tuple[str, Sequence[Item]]]
LEFT: Table = (
    ("COMMANDS", COMMANDS),
    ("CONNECTIONS", CONNECTIONS),
    ("TABLES", TABLES),
    ("BINARY LOG", BINARY_LOG),
)
RIGHT: Table = (("INNODB", INNODB), ("ROWS AND LOCKS", ROWS))


def sections(view: View, chosen: Table) -> list[Section]:
    """The tables with what is known now."""
    return [Section(title, [row(item, view.recent) for item in items], "total") for title, items in chosen]


def row(item: Item, samples: Sequence[Sample]) -> Row:
    """One figure, with its last minute."""
    return _rate_row(item, samples) if isinstance(item, Rate) else _level_row(item, samples)


def _rate_row(item: Rate, samples: Sequence[Sample]) -> Row:
    part = samples[-1].server if samples else None
    name = _first_of(item.counters, part)
    if part is None or name is None:
        return Row(item.name, DASH, _why(part, item.counters, item.why))
    called = item.called if item.called and name != item.counters[0] else item.name
    values = [_grown(name, before, after) for before, after in pairwise(samples)]
    total = item.write_total(part.counters[name])
    if not values or values[-1] is None:
        return Row(called, DASH, "next tick", values)
    alarm = item.alarms and values[-1] > 0
    return Row(called, item.write(values[-1]), total, values, alarm, item.rare)


def _level_row(item: Level, samples: Sequence[Sample]) -> Row:
    values = [item.value(sample.server) if sample.server else None for sample in samples]
    part = samples[-1].server if samples else None
    if part is None or values[-1] is None:
        return Row(item.name, DASH, _why(part, item.needs, item.why), values)
    return Row(item.name, item.write(values[-1]), item.beside(part), values)


def _first_of(names: Sequence[str], part: ServerPart | None) -> str | None:
    return next((name for name in names if part is not None and name in part.counters), None)


def _grown(name: str, before: Sample, after: Sample) -> float | None:
    """Per second, over the time between two samples; None over a gap, a restart or a reset."""
    if before.server is None or after.server is None:
        return None
    old, new = before.server.counters.get(name), after.server.counters.get(name)
    seconds = after.elapsed_seconds - before.elapsed_seconds + (after.late_ms - before.late_ms) / 1000
    return (
        (new - old) / seconds if old is not None and new is not None and new >= old and seconds > 0 else None
    )


def _why(part: ServerPart | None, names: Sequence[str], otherwise: str) -> str:
    """The reason in the place of the value: no answer, no privilege, not on this flavour."""
    if part is None:
        return "no answer"
    return next((part.untold[name] for name in names if name in part.untold), otherwise)
