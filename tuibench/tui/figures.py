"""The figures in the lists of server and host, and those that a chart can show.

A row of a list names a figure of `metrics.figures`, and defines how it is displayed. The values of a sample
are stored as an array of 4-byte numbers in the order of the figures, so that hours of all figures fit into
the viewer's memory. The lags of replicas are stored by name, because the set of replicas changes during a
run.
"""

import math
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from tuibench.base.units import DASH, binary_size, count, decimal, milliseconds, percent, si, small_number
from tuibench.metrics.figures import (
    FIGURES,
    MAIN_FIGURES,
    OTHER_FIGURES,
    SERVER_TIME,
    Figure,
    FigureUnit,
    Level,
    Ratio,
)
from tuibench.model.counters import Counter, redo_limit
from tuibench.model.tick import HOST, Latency, Sample, Tick

NumberFormat = Callable[[float | None], str]


def rate_text(value: float | None) -> str:
    """A rate with the digits that are significant to a reader."""
    return decimal(value, 1) if value is not None and 0 < value < 100 else count_text(value)


def per_second_text(value: float | None) -> str:
    """A rate with its unit."""
    return DASH if value is None else f"{rate_text(value)}/s"


def count_text(value: float | None) -> str:
    """A count in at most eight cells."""
    return count(value) if value is None or value < 999_999.5 else si(value, in_column=True)


def bytes_per_second(value: float | None) -> str:
    return DASH if value is None else f"{binary_size(value)}/s"


def seconds_text(value: float | None) -> str:
    return DASH if value is None else f"{small_number(value)} s"


WRITERS: dict[FigureUnit, NumberFormat] = {
    FigureUnit.PER_SECOND: rate_text,
    FigureUnit.MILLISECONDS: milliseconds,
    FigureUnit.SECONDS: seconds_text,
    FigureUnit.PERCENT: percent,
    FigureUnit.BYTES: binary_size,
    FigureUnit.BYTES_PER_SECOND: bytes_per_second,
    FigureUnit.NUMBER: small_number,
}


COLUMN_UNITS = frozenset({FigureUnit.MILLISECONDS, FigureUnit.BYTES, FigureUnit.BYTES_PER_SECOND})
LATENCIES = frozenset(FIGURES) & frozenset(Latency.__struct_fields__)
"""Figures of the response times that a sample already contains."""


class FigureRow(NamedTuple):
    """One row of a list."""

    figure: str
    """The name of the figure in `metrics.figures`."""
    name: str
    """Its name below the heading."""
    title: str = ""
    """The title of its chart."""
    format: NumberFormat | None = None
    """The format of its value; None for that of its unit."""
    beside: Callable[[Tick], str] = lambda _: ""
    """The text beside the value, such as a limit; for a counter it is the total."""
    why: str = "not reported here"
    """The reason if there is no value."""
    alarms: bool = False
    """Whether any value above 0 is highlighted."""
    rare: bool = False
    """Whether the row is left out if space is short."""
    called: str = ""
    """Its name on a server that has only another counter, which counts something else."""
    of: Callable[[Sample], Tick | None] = lambda sample: sample.tick
    """The tick of a sample from which the figure is read."""

    @property
    def facts(self) -> Figure:
        return FIGURES[self.figure]

    @property
    def write(self) -> NumberFormat:
        return self.format or (count_text if self.facts.is_count else WRITERS[self.facts.unit])

    def cell(self, value: float | None) -> str:
        """A value in the column of a list, with trailing zeros."""
        is_plain = self.format is None and self.facts.unit in COLUMN_UNITS
        return self.facts.text(value, in_column=True) if is_plain else self.write(value)

    @property
    def is_counter(self) -> bool:
        """True for the rate of a counter of the server, which also has a total."""
        source = self.facts.source
        return isinstance(source, Ratio) and source.below == SERVER_TIME

    @property
    def counters(self) -> tuple[str, ...]:
        """The status variables that the figure can be read from, in order of preference."""
        source = self.facts.source
        return source.above if isinstance(source, Ratio) else source.of if isinstance(source, Level) else ()

    def counter(self, tick: Tick) -> str | None:
        """The first of the counters that this server has; None if it has none."""
        return next((name for name in self.counters if name in tick.levels), None)

    def total(self, value: float) -> str:
        """The total of a counter as text."""
        is_bytes = self.facts.unit is FigureUnit.BYTES_PER_SECOND
        return binary_size(value, in_column=True) if is_bytes else count_text(value)

    def value(self, sample: Sample) -> float | None:
        """The figure of a sample; None if unknown."""
        if self.figure in LATENCIES:
            return None if sample.latency is None else float(getattr(sample.latency, self.figure))
        tick = self.of(sample)
        return None if tick is None else FIGURES[self.figure].source.value(tick)


SEE_ABOVE = "see above"
NO_ANSWER, NO_SAMPLE = "no answer", "no sample yet"
"""Why there is no value."""
CLIENT = "CLIENT"
"""Heading of the client's host."""


def _of_memory(host: Tick) -> str:
    limit = host.levels.get(HOST + "memory_limit")
    return f"max {binary_size(limit)}" if limit is not None else f"of {binary_size(memory_total(host))}"


def memory_total(host: Tick) -> float:
    return host.levels.get(HOST + "memory_total", 0.0)


def _of_swap(host: Tick) -> str:
    total = host.levels.get(HOST + "swap_total")
    return f"of {binary_size(total)}" if total else "no swap"


def _of_limit(host: Tick) -> str:
    limit = host.levels.get(HOST + "cpu_limit")
    return "no limit" if limit is None else f"max {limit:g} cores"


_host = partial(FigureRow, of=lambda sample: sample.shown_host, why="not readable here")
_client = partial(FigureRow, of=lambda sample: sample.client_host, why="not readable here")

HOST_TABLES: dict[str, tuple[FigureRow, ...]] = {
    "PROCESSOR": (
        _host("cpu_server", "Server", "CPU, server", why=SEE_ABOVE),
        _host("cpu_tuibench", "tuibench", "CPU, tuibench"),
        _host("cpu_rest", "Rest", "CPU, rest"),
        _host("cpu_idle", "Idle", "CPU, idle"),
        _host("steal", "Steal", rare=True),
        _host("throttled", "Throttled", beside=_of_limit, rare=True),
    ),
    "MEMORY": (
        _host("memory_used", "Used", "Memory used", beside=_of_memory),
        _host("memory_server", "by the server", "Server's memory", why=SEE_ABOVE),
        _host("swap_used", "Swap", "Swap used", beside=_of_swap),
    ),
    "DISKS": (
        _host("disk_read", "Read", "Disk read"),
        _host("disk_write", "Write", "Disk write"),
        _host("disk_read_ms", "a read takes", "A read takes", why="no reads"),
        _host("disk_write_ms", "a write takes", "A write takes", why="no writes"),
    ),
    "NETWORK": (_host("net_received", "In", "Network in"), _host("net_sent", "Out", "Network out")),
}

CLIENT_TABLE = (
    _client("cpu_total", "CPU"),
    _client("cpu_tuibench", "tuibench", "CPU, tuibench"),
    _client("memory_used", "Memory", "Memory used", beside=_of_memory, rare=True),
    _client("net_received", "Network in", "Network in", rare=True),
    _client("net_sent", "out", "Network out", rare=True),
    _client("steal", "Steal", rare=True),
    _client("throttled", "Throttled", beside=_of_limit, rare=True),
)


def _pool_size(tick: Tick) -> str:
    pages, size = tick.levels.get(Counter.POOL_PAGES_TOTAL), tick.levels.get(Counter.PAGE_SIZE)
    return f"of {binary_size(pages * size)}" if pages and size else ""


def _redo_room(tick: Tick) -> str:
    room = redo_limit(tick.levels)
    return f"of {binary_size(room)}" if room else ""


def _of_most(limit: str, tick: Tick) -> str:
    most = tick.levels.get(limit)
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
    _gauge("threads_connected", "connected", "Connections", beside=partial(_of_most, "max_connections")),
    _counter("threads_created", "created", "Threads created", rare=True),
    _counter("aborted_clients", "Aborted clients", alarms=True),
    _counter("aborted_connects", "aborted logins", "Aborted logins", alarms=True),
)
TABLES = (
    _gauge("open_tables", "Open tables", beside=partial(_of_most, "table_open_cache")),
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
"""Queues of a member of a replication group; listed for members only."""
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


UNKNOWN = -math.inf
AXIS_CELLS = 6
REPLICA = "replica/"
"""Prefix of the key of a replica's lag, before the replica's name."""


class ChartedFigure(NamedTuple):
    """A figure that a chart can show."""

    key: str
    """Identifies the figure in the viewer, see `figure_key`."""
    title: str
    """The title of its chart."""
    section: str
    """Its heading in the list."""
    write: NumberFormat
    unit: FigureUnit

    @property
    def is_rate(self) -> bool:
        """True for a rate per second."""
        return self.unit in (FigureUnit.PER_SECOND, FigureUnit.BYTES_PER_SECOND)

    @property
    def is_bytes(self) -> bool:
        """True for a size, or a rate of bytes."""
        return self.unit in (FigureUnit.BYTES, FigureUnit.BYTES_PER_SECOND)

    def axis(self, value: float | None) -> str:
        """The value in the six cells of an axis label: 150 MiB/s becomes 150MiB, 14.3 MiB/s 14.3Mi."""
        text = self.write(value).removesuffix("/s")
        for left_out in (" ", "B" if self.is_bytes else ""):
            text = text if len(text) <= AXIS_CELLS else text.replace(left_out, "")
        return text if len(text) <= AXIS_CELLS else si(value)


def figure_key(section: str, name: str) -> str:
    """Key of a row, from its heading and its name."""
    return f"{section}/{name}"


LISTS = (*LEFT_TABLES, *RIGHT_TABLES, *HOST_TABLES.items(), (CLIENT, CLIENT_TABLE))
_LISTED = {row.figure for _, rows in LISTS[:-1] for row in rows}
OTHERS_SECTION = "FIGURES"
"""The section of figures that are in no list."""
OTHERS = tuple(
    FigureRow(figure.name, figure.name, figure.heading)
    for figure in (*MAIN_FIGURES, *OTHER_FIGURES)
    if figure.name not in _LISTED
)
"""Figures in no list; the command palette puts them on a chart."""
SOURCES: tuple[tuple[str, FigureRow], ...] = tuple(
    (section, row) for section, rows in (*LISTS, (OTHERS_SECTION, OTHERS)) for row in rows
)


def _chart_figure(section: str, row: FigureRow) -> ChartedFigure:
    """The figure of a row. Unlike the list, its chart names the unit of a rate."""
    write, unit = row.write, row.facts.unit
    heading = "InnoDB" if section == "INNODB" else section.lower()
    return ChartedFigure(
        figure_key(section, row.name),
        row.title or row.name,
        heading,
        per_second_text if write is rate_text else write,
        unit,
    )


CHARTED_FIGURES = tuple(_chart_figure(section, row) for section, row in SOURCES)
PLACES = {figure.key: place for place, figure in enumerate(CHARTED_FIGURES)}


def figure_number(key: str) -> int:
    """A number for a figure key, constant while the viewer runs."""
    return PLACES[key] if key in PLACES else len(CHARTED_FIGURES) + zlib.crc32(key.encode())


def lag_text(value: float | None) -> str:
    """A lag in seconds: an integer as the server reports it, a mean with one decimal."""
    return DASH if value is None else f"{value:g} s" if value == round(value) else f"{decimal(value, 1)} s"


def figure_of(key: str) -> ChartedFigure | None:
    """The figure of a key; None for an unknown key."""
    if key.startswith(REPLICA):
        return ChartedFigure(key, key.removeprefix(REPLICA), "replica lag", lag_text, FigureUnit.SECONDS)
    return CHARTED_FIGURES[PLACES[key]] if key in PLACES else None


def read_figures(sample: Sample) -> Sequence[float]:
    """Values of all figures in a sample, in the order of the table."""
    values = (row.value(sample) for _, row in SOURCES)
    return array("f", [UNKNOWN if value is None else value for value in values])


def read_lags(sample: Sample) -> dict[str, float]:
    """Lag of each replica that reported it, in seconds, by name."""
    return {each.name: each.lag_seconds for each in sample.replicas if each.lag_seconds is not None}


def figure_value(key: str, figures: Sequence[float], lags: Mapping[str, float]) -> float | None:
    """Value of one figure; None if unknown."""
    if key.startswith(REPLICA):
        return lags.get(key.removeprefix(REPLICA))
    place = PLACES.get(key)
    if place is None or not figures or figures[place] == UNKNOWN:
        return None
    return figures[place]


def mean_figures(weighted: Sequence[tuple[Sequence[float], int]]) -> Sequence[float]:
    """Mean of each figure, weighted by the number of ticks; unknown values are ignored."""
    known = [(figures, ticks) for figures, ticks in weighted if figures]
    if not known:
        return ()
    mean, whole = known[0]
    for figures, ticks in known[1:]:
        old, new = whole / (whole + ticks), ticks / (whole + ticks)
        mean = array(
            "f",
            [
                (a * old + b * new) if a != UNKNOWN != b else max(a, b)
                for a, b in zip(mean, figures, strict=True)
            ],
        )
        whole += ticks
    return mean


def worst_lags(lags: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Maximum lag of each replica."""
    known = [each for each in lags if each]
    if len(known) < 2:
        return known[0] if known else {}
    names = {name for each in known for name in each}
    return {name: max(each[name] for each in known if name in each) for name in sorted(names)}
