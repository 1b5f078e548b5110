"""The table of figures: name, title, unit, which direction is better, and how a figure is read from a tick.

Everything that shows, compares, limits, exports or records figures uses this table: thresholds, comparisons,
histories, sweeps, summaries. To add a figure, add an entry to `FIGURES`.

A figure is read from a tick, or from several added up. A ratio is one of sums, so its value for a window is
weighted by what the ticks of the window counted; its parts are what an interval is estimated from.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from tuibench import units
from tuibench.errors import UsageError
from tuibench.model.counters import (
    BINLOG_BYTES,
    BINLOG_SYNCS,
    LOG_FSYNCS,
    REDO_BYTES,
    Counter,
    Recording,
)
from tuibench.model.counters import (
    Unit as CounterUnit,
)
from tuibench.model.histogram import US_PER_MS
from tuibench.model.tick import ERROR, HOST, RESPONSE, SERVICE, Tick
from tuibench.suggestions import did_you_mean


class FigureUnit(StrEnum):
    """The unit of a figure as it is written after its value."""

    PER_SECOND = "/s"
    MILLISECONDS = "ms"
    SECONDS = "s"
    PERCENT = "%"
    BYTES = "B"
    BYTES_PER_SECOND = "B/s"
    NUMBER = ""


class Better(StrEnum):
    """The direction in which a figure improves."""

    HIGHER = "higher"
    LOWER = "lower"


class Ratio(NamedTuple):
    """`factor` times a sum over another one. `above` are alternatives in order of preference, `below` are
    added up; "seconds" is the tick's own time, and a name that ends with a dot stands for all sums of that
    prefix.
    """

    above: tuple[str, ...]
    below: tuple[str, ...] = ("seconds",)
    factor: float = 1.0


class Remainder(NamedTuple):
    """100 % less a ratio in percent: hits from misses."""

    ratio: Ratio


class Count(NamedTuple):
    """A sum as it is."""

    of: str


class Quantile(NamedTuple):
    """The `share`-th quantile (0 to 1) of latencies, in ms; 0 is the minimum and 1 the maximum."""

    of: str
    share: float


class Mean(NamedTuple):
    """The mean of latencies, in ms."""

    of: str


class Level(NamedTuple):
    """A value at the end of the tick."""

    of: str
    factor: float = 1.0


class Peak(NamedTuple):
    """The largest value in the tick."""

    of: str


Source = Ratio | Remainder | Count | Quantile | Mean | Level | Peak


class Figure(NamedTuple):
    """One figure. `share` is the name of the figure that is the same in percent, if there is one."""

    name: str
    title: str
    unit: FigureUnit
    better: Better | None
    source: Source
    meaning: str
    share: str = ""

    def value(self, tick: Tick) -> float | None:
        """The figure of a tick; None if it was not measured."""
        return _value(self.source, tick)

    @property
    def heading(self) -> str:
        """Title and unit: p95 (ms)."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def text(self, value: float | None) -> str:
        """A value with its unit: 12.3 ms, 1.2 KiB."""
        match self.unit:
            case FigureUnit.MILLISECONDS:
                return units.milliseconds(value)
            case FigureUnit.PERCENT:
                return units.percent(value, 1)
            case FigureUnit.BYTES:
                return units.binary_size(value)
            case FigureUnit.BYTES_PER_SECOND:
                return units.DASH if value is None else f"{units.binary_size(value)}/s"
            case FigureUnit.SECONDS:
                return units.DASH if value is None else f"{units.small_number(value)} s"
            case FigureUnit.PER_SECOND | FigureUnit.NUMBER:
                return units.decimal(value, 1) if value is None or value >= 10 else units.small_number(value)

    def parts(self, tick: Tick) -> tuple[float, float] | None:
        """What a ratio or a mean is made of, its factor included; None for others, and if not measured."""
        match self.source:
            case Ratio(above, below, factor):
                upper, lower = _first(above, tick), _total(below, tick)
                return None if upper is None or lower is None else (factor * upper, lower)
            case Remainder(Ratio(above, below, factor)):
                upper, lower = _first(above, tick), _total(below, tick)
                return None if upper is None or lower is None else (100 * lower - factor * upper, lower)
            case Mean(name):
                histogram = tick.hist(name)
                return histogram.sum_us / US_PER_MS, float(histogram.count)
            case _:
                return None


LOAD_COUNTS = frozenset(
    {"scheduled", "failed", "abandoned", "commits", "questions", "retries", "reconnects", "logins", ERROR}
)
"""Sums of a load that a tick leaves out where they are zero."""


def amount(name: str, tick: Tick) -> float | None:
    """A sum of a tick by its name in a source; None if it was not measured."""
    if name == "seconds":
        return tick.seconds or None
    if name.endswith("."):
        found = tick.counts(name)
        if found:
            return sum(found.values())
    elif name in tick.sums:
        return tick.sums[name]
    return 0.0 if name in LOAD_COUNTS and "completed" in tick.sums else None


def _first(names: Sequence[str], tick: Tick) -> float | None:
    return next((value for name in names if (value := amount(name, tick)) is not None), None)


def _total(names: Sequence[str], tick: Tick) -> float | None:
    known = [value for name in names if (value := amount(name, tick)) is not None]
    return sum(known) if len(known) == len(names) else None


def _value(source: Source, tick: Tick) -> float | None:
    match source:
        case Ratio(above, below, factor):
            upper, lower = _first(above, tick), _total(below, tick)
            return None if upper is None or not lower else factor * upper / lower
        case Remainder(ratio):
            missed = _value(ratio, tick)
            return None if missed is None else max(0.0, 100 - missed)
        case Count(name):
            return amount(name, tick)
        case Quantile(name, share):
            histogram = tick.hist(name)
            if not histogram.count:
                return None
            if share in (0, 1):
                return (histogram.max_us if share else histogram.min_us) / US_PER_MS
            return histogram.percentiles((100 * share,))[0] / US_PER_MS
        case Mean(name):
            histogram = tick.hist(name)
            return histogram.sum_us / histogram.count / US_PER_MS if histogram.count else None
        case Level(name, factor):
            level = tick.levels.get(name)
            return None if level is None else factor * level
        case Peak(name):
            return tick.peaks.get(name)


PER_SECOND, MS, PERCENT = (
    FigureUnit.PER_SECOND,
    FigureUnit.MILLISECONDS,
    FigureUnit.PERCENT,
)
NUMBER, SECONDS, BYTES, BYTES_PER_SECOND = (
    FigureUnit.NUMBER,
    FigureUnit.SECONDS,
    FigureUnit.BYTES,
    FigureUnit.BYTES_PER_SECOND,
)
HIGHER, LOWER = Better.HIGHER, Better.LOWER
SERVER_TIME, SERVER_TRX = ("server.seconds",), ("server.completed",)
HOST_TIME, HOST_CPU, HOST_TRX = (HOST + "seconds",), (HOST + "core_seconds",), (HOST + "completed",)
TRX = ("completed",)


def _host(name: str, title: str, source: str, unit: FigureUnit, meaning: str) -> Figure:
    return Figure(name, title, unit, LOWER, Ratio((HOST + source,), HOST_TIME), meaning)


MAIN_FIGURES = (
    Figure("tps", "TPS", PER_SECOND, HIGHER, Ratio(TRX), "committed transactions per second"),
    Figure("qps", "QPS", PER_SECOND, HIGHER, Ratio(("queries",)), "statements per second"),
    Figure("p50", "p50", MS, LOWER, Quantile(RESPONSE, 0.5), "half of the transactions are slower"),
    Figure("p95", "p95", MS, LOWER, Quantile(RESPONSE, 0.95), "1 of 20 transactions is slower"),
    Figure("p99", "p99", MS, LOWER, Quantile(RESPONSE, 0.99), "1 of 100 transactions is slower"),
    Figure(
        "errors_percent", "errors", PERCENT, LOWER, Ratio((ERROR,), ("completed", ERROR), 100.0),
        "failed statements, of all attempts",
    ),
    Figure(
        "cpu", "server CPU per transaction", MS, LOWER, Ratio((HOST + "server_cpu",), HOST_TRX, 1e3),
        "processor time of the server's process for a transaction",
    ),
    Figure(
        "fsyncs", "log fsyncs per transaction", NUMBER, LOWER, Ratio(LOG_FSYNCS, SERVER_TRX),
        "fsyncs of the redo log for a transaction",
    ),
)  # fmt: skip
"""The rows of every comparison."""

OTHER_FIGURES = (
    Figure("p999", "p99.9", MS, LOWER, Quantile(RESPONSE, 0.999), "1 of 1,000 transactions is slower"),
    Figure("min", "min", MS, LOWER, Quantile(RESPONSE, 0), "the fastest transaction"),
    Figure("avg", "average", MS, LOWER, Mean(RESPONSE), "mean response time of a transaction"),
    Figure("max", "max", MS, LOWER, Quantile(RESPONSE, 1), "the slowest transaction"),
    Figure(
        "service_p95", "p95 from the actual start", MS, LOWER, Quantile(SERVICE, 0.95),
        "the p95 of an open loop without the wait for a free connection",
    ),
    Figure("reads", "reads", PER_SECOND, HIGHER, Ratio(("reads",)), "SELECT statements per second"),
    Figure("writes", "writes", PER_SECOND, HIGHER, Ratio(("writes",)), "changes of rows per second"),
    Figure("others", "others", PER_SECOND, HIGHER, Ratio(("others",)), "BEGIN, COMMIT and others per second"),
    Figure("errors", "errors", NUMBER, LOWER, Count(ERROR), "failed statements", "errors_percent"),
    Figure(
        "failed", "failed transactions", NUMBER, LOWER, Count("failed"), "transactions that were given up",
        "failed_percent",
    ),
    Figure(
        "failed_percent", "failed transactions", PERCENT, LOWER, Ratio(("failed",), ("scheduled",), 100.0),
        "transactions that were given up, of all that were due",
    ),
    Figure(
        "abandoned", "abandoned transactions", NUMBER, LOWER, Count("abandoned"),
        "transactions that were due and not started at the end", "abandoned_percent",
    ),
    Figure(
        "abandoned_percent", "abandoned transactions", PERCENT, LOWER,
        Ratio(("abandoned",), ("scheduled",), 100.0), "abandoned transactions, of all that were due",
    ),
    Figure("retries", "retries", NUMBER, LOWER, Count("retries"), "transactions that were tried again"),
    Figure("reconnects", "reconnects", NUMBER, LOWER, Count("reconnects"), "connections that were reopened"),
    Figure("lag", "replica lag", SECONDS, LOWER, Peak("lag_seconds"), "the longest lag of a replica"),
    Figure(
        "worker_cpu", "busiest worker", NUMBER, LOWER, Peak("worker_cpu"), "share of a core, 0 to 1",
    ),
    Figure("backlog", "backlog", NUMBER, LOWER, Level("backlog"), "transactions due and not started"),
    Figure(
        "client_cpu", "client CPU per transaction", MS, LOWER, Ratio((HOST + "tuibench_cpu",), HOST_TRX, 1e3),
        "processor time of tuibench for a transaction, if it runs on the server's host",
    ),
    Figure(
        "fsyncs_per_second", "log fsyncs", PER_SECOND, LOWER, Ratio(LOG_FSYNCS, SERVER_TIME),
        "fsyncs of the redo log per second",
    ),
    Figure(
        "redo_bytes", "redo log per transaction", BYTES, LOWER, Ratio(REDO_BYTES, SERVER_TRX),
        "bytes written to the redo log for a transaction",
    ),
    Figure(
        "binlog_bytes", "binary log per transaction", BYTES, LOWER, Ratio(BINLOG_BYTES, SERVER_TRX),
        "bytes written to the binary log for a transaction",
    ),
    Figure(
        "binlog_syncs", "binary log syncs per transaction", NUMBER, LOWER, Ratio(BINLOG_SYNCS, SERVER_TRX),
        "fsyncs of the binary log (MariaDB: group commits) for a transaction",
    ),
    Figure(
        "pool_hit", "buffer pool hit", PERCENT, HIGHER,
        Remainder(Ratio((Counter.POOL_READS,), (Counter.POOL_READ_REQUESTS,), 100.0)),
        "page requests that needed no read from disk",
    ),
    Figure(
        "threads_running", "threads running", NUMBER, None, Level(Counter.THREADS_RUNNING),
        "threads that execute a statement",
    ),
    Figure("open_tables", "open tables", NUMBER, None, Level(Counter.OPEN_TABLES), "in the table cache"),
    Figure(
        "cpu_server", "server's CPU", PERCENT, None, Ratio((HOST + "server_cpu",), HOST_CPU, 100.0),
        "of all processors of the server's host",
    ),
    Figure(
        "cpu_tuibench", "tuibench's CPU", PERCENT, None, Ratio((HOST + "tuibench_cpu",), HOST_CPU, 100.0),
        "of all processors of this host",
    ),
    Figure(
        "cpu_total", "host's CPU", PERCENT, None, Ratio((HOST + "busy",), (HOST + "total",), 100.0),
        "of all processors of the server's host",
    ),
    Figure(
        "steal", "stolen CPU", PERCENT, LOWER, Ratio((HOST + "steal",), (HOST + "total",), 100.0),
        "what the hypervisor gave to other guests",
    ),
    _host("disk_read", "disk read", "read_bytes", BYTES_PER_SECOND, "from the disks of the host"),
    _host(
        "disk_write", "disk written", "written_bytes", BYTES_PER_SECOND,
        "to the disks of the host",
    ),
    Figure(
        "disk_write_ms", "time of a disk write", MS, LOWER, Ratio((HOST + "write_ms",), (HOST + "writes",)),
        "mean time of a write, including the queue",
    ),
    Figure(
        "memory_server", "server's memory", BYTES, None, Level(HOST + "memory_server"),
        "resident set of the server's process",
    ),
    Figure(
        "memory_used", "memory used", BYTES, None, Level(HOST + "memory_used"), "of the server's host",
    ),
)  # fmt: skip


def _of_counters() -> Iterator[Figure]:
    """Every cumulative counter of the server, by its name in lower case."""
    for counter in Counter:
        facts = counter.facts
        if facts.recording is Recording.CUMULATIVE:
            unit = BYTES_PER_SECOND if facts.unit is CounterUnit.BYTES else PER_SECOND
            source = Ratio((counter,), SERVER_TIME)
            yield Figure(counter.lower(), str(counter), unit, None, source, facts.meaning)


FIGURES: dict[str, Figure] = {
    figure.name: figure for figure in (*_of_counters(), *MAIN_FIGURES, *OTHER_FIGURES)
}
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?|100)(?:_ms)?")


def figure_named(name: str) -> Figure:
    """The figure of a name: one of the table, or any percentile such as p99.5. Raises UsageError with near
    names for any other.
    """
    name = name.lower()
    if name in FIGURES:
        return FIGURES[name]
    if percentile := _PERCENTILE.fullmatch(name):
        name, share = f"p{percentile[1]}", float(percentile[1]) / 100
        if name in FIGURES:
            return FIGURES[name]
        return Figure(
            name, name, MS, LOWER, Quantile(RESPONSE, share), f"{percentile[1]} % are at most that slow"
        )
    raise UsageError(
        f"there is no figure '{name}'",
        did_you_mean(name, FIGURES) or f"for example {', '.join(MAIN_NAMES)}; docs/running.md lists all",
    )


MAIN_NAMES = tuple(figure.name for figure in MAIN_FIGURES)


def all_values(tick: Tick) -> dict[str, float]:
    """Every figure that was measured, by its name."""
    found = {name: figure.value(tick) for name, figure in FIGURES.items()}
    return {name: value for name, value in found.items() if value is not None}
