"""The table of figures: name, title, unit, the direction in which it improves, and how it is read from a
tick.

Everything that shows, compares, limits, exports or records figures uses this table: thresholds, comparisons,
histories, sweeps, summaries. To add a figure, add an entry to `FIGURES`.

A figure is read from one tick, or from the sum of several. A ratio is one of sums, so its value for a window
is weighted by what the window's ticks counted; intervals are estimated from its parts.
"""

import math
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

import msgspec

from tuibench.base import units
from tuibench.base.errors import UsageError, did_you_mean
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.counters import (
    BINLOG_BYTES,
    BINLOG_SYNCS,
    BINLOG_TRANSACTIONS,
    DEADLOCKS,
    HISTORY_LIST_LENGTH,
    LOG_FSYNCS,
    REDO_BYTES,
    ROWS_DELETED,
    ROWS_INSERTED,
    ROWS_READ,
    ROWS_UPDATED,
    Counter,
    Recording,
)
from tuibench.model.counters import (
    Unit as CounterUnit,
)
from tuibench.model.tick import (
    ANOMALY,
    ERROR,
    HOST,
    LOGIN,
    RESPONSE,
    SERVICE,
    TALLY,
    UNSEEN,
    US_PER_MS,
    WAIT,
    Tick,
)


class FigureUnit(StrEnum):
    """The unit of a figure, as it is written after a value."""

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


PER_TRANSACTION = " per transaction"
"""The end of the title of a figure per transaction."""

Parts = tuple[float, float]
"""Numerator (with the factor) and denominator of a figure that is a ratio."""


class Source(msgspec.Struct, frozen=True):
    """How a figure is read from a tick."""

    def value(self, tick: Tick) -> float | None:
        """The figure; None if it was not measured."""
        raise NotImplementedError

    def parts(self, tick: Tick) -> Parts | None:
        """Numerator and denominator of a ratio or a mean; None for other sources, or if it was
        not measured.
        """
        return None


class Ratio(Source, frozen=True):
    """`factor` times a sum over another sum."""

    above: tuple[str, ...]
    """Alternatives for the numerator, in order of preference. A name that ends with a dot stands for all sums
    with this prefix.
    """
    below: tuple[str, ...] = ("seconds",)
    """Sums that are added up; "seconds" is the length of the tick."""
    factor: float = 1.0
    of_process: bool = False
    """Leave out the time in which the server's process was not found."""
    less: tuple[str, ...] = ()
    """Sums that are subtracted from the denominator, if they are known."""

    def value(self, tick: Tick) -> float | None:
        parts = self.parts(tick)
        return parts[0] / parts[1] if parts is not None and parts[1] else None

    def parts(self, tick: Tick) -> Parts | None:
        read = _amount_of_process if self.of_process else amount
        for name in self.above:
            upper = read(name, tick)
            if upper is not None:
                break
        else:
            return None
        lower = 0.0
        for name in self.below:
            known = read(name, tick)
            if known is None:
                return None
            lower += known
        for name in self.less:
            lower -= read(name, tick) or 0.0
        return self.factor * upper, lower


class Percent(Ratio, frozen=True):
    """A ratio in percent, at most 100: its parts may be read at slightly different moments."""

    factor: float = 100.0

    def value(self, tick: Tick) -> float | None:
        share = super().value(tick)
        return None if share is None else min(100.0, share)


class Remainder(Source, frozen=True):
    """The rest of 100 %, or of the percentage `whole`, after others are subtracted; never below 0. With
    `whole`, unknown ones count as 0.
    """

    less: tuple[Source, ...]
    whole: Source | None = None

    def value(self, tick: Tick) -> float | None:
        parts = [each.value(tick) for each in self.less]
        whole = self.whole.value(tick) if self.whole else None if None in parts else 100.0
        return None if whole is None else max(0.0, whole - sum(part for part in parts if part is not None))

    def parts(self, tick: Tick) -> Parts | None:
        parts = self.less[0].parts(tick) if self.whole is None else None
        return None if parts is None else (100 * parts[1] - parts[0], parts[1])


class Count(Source, frozen=True):
    """A sum as it is."""

    of: str

    def value(self, tick: Tick) -> float | None:
        return amount(self.of, tick)


class Quantile(Source, frozen=True):
    """The `share`-th quantile (0 to 1) of latencies, in ms; 0 is the minimum and 1 the maximum."""

    of: str
    share: float

    def value(self, tick: Tick) -> float | None:
        histogram, known = tick.hist(self.of), tick.quantiles
        if not histogram.count:
            return None
        if self.share in (0, 1):
            return (histogram.max_us if self.share else histogram.min_us) / US_PER_MS
        if (self.of, self.share) not in known:
            known[self.of, self.share] = histogram.percentiles((100 * self.share,))[0] / US_PER_MS
        return known[self.of, self.share]


class MeanLatency(Source, frozen=True):
    """The mean of latencies, in ms."""

    of: str

    def value(self, tick: Tick) -> float | None:
        histogram = tick.hist(self.of)
        return histogram.sum_us / histogram.count / US_PER_MS if histogram.count else None

    def parts(self, tick: Tick) -> Parts:
        histogram = tick.hist(self.of)
        return histogram.sum_us / US_PER_MS, float(histogram.count)


class Level(Source, frozen=True):
    """A value at the end of the tick."""

    of: tuple[str, ...]
    """Names, of which the first known one counts."""
    less: str = ""
    """Name of a value to subtract."""
    whole: str = ""
    """Name of a value of which the level is a percentage."""
    is_optional: bool = False
    """A zero counts as not measured."""

    def value(self, tick: Tick) -> float | None:
        levels = tick.levels
        value = next((levels[name] for name in self.of if name in levels), None)
        if self.is_optional:
            return value or None
        if value is not None and self.less:
            value = value - levels[self.less] if self.less in levels else None
        if value is not None and self.whole:
            value = 100 * value / levels[self.whole] if levels.get(self.whole) else None
        return value


class FirstKnown(Source, frozen=True):
    """The first of several sources that is known."""

    sources: tuple[Source, ...]

    def value(self, tick: Tick) -> float | None:
        return next((value for each in self.sources if (value := each.value(tick)) is not None), None)


class Largest(Source, frozen=True):
    """The largest of the sources that are known."""

    sources: tuple[Source, ...]

    def value(self, tick: Tick) -> float | None:
        return max((value for each in self.sources if (value := each.value(tick)) is not None), default=None)


class Peak(Source, frozen=True):
    """`factor` times the largest value in the tick."""

    of: str
    factor: float = 1.0

    def value(self, tick: Tick) -> float | None:
        peak = tick.peaks.get(self.of)
        return None if peak is None else self.factor * peak


class Figure(NamedTuple):
    """One figure."""

    name: str
    title: str
    source: Source
    meaning: str
    unit: FigureUnit = FigureUnit.NUMBER
    better: Better | None = Better.LOWER
    share: str = ""
    """Name of the same figure in percent, if there is one."""

    def value(self, tick: Tick) -> float | None:
        """The figure of a tick; None if it was not measured."""
        return self.source.value(tick)

    def meaning_of(self, *, is_traffic: bool) -> str:
        """The meaning. Latencies of a watched server's traffic are those of statements."""
        is_latency = isinstance(self.source, Quantile | MeanLatency) and self.source.of == RESPONSE
        return self.meaning.replace("transaction", "statement") if is_traffic and is_latency else self.meaning

    @property
    def heading(self) -> str:
        """Title and unit: `p95 (ms)`."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def key(self) -> str:
        """The name with its unit, as in JSON fields: `p95_ms`, `fsyncs_per_transaction`, rows_trx."""
        if self.title.endswith(PER_TRANSACTION) and not self.name.endswith("_trx"):
            return f"{self.name}_per_transaction"
        return f"{self.name}_ms" if self.unit is FigureUnit.MILLISECONDS else self.name

    @property
    def label(self) -> str:
        """The title for narrow places: TPS, p95, log fsyncs/trx, log fsyncs/s."""
        if self.title.endswith(PER_TRANSACTION):
            return f"{self.title.removesuffix(PER_TRANSACTION)}/trx"
        is_rate = self.unit is FigureUnit.PER_SECOND and not self.title.isupper()
        return f"{self.title}/s" if is_rate else self.title

    @property
    def brief(self) -> str:
        """The shortest title: TPS, p95, fsyncs/trx, fsyncs/s."""
        return self.label.removeprefix("log ")

    @property
    def is_comparable(self) -> bool:
        """True if the value of a window does not depend on its length: a ratio, a mean or a quantile of what
        it counted.
        """
        source = self.source
        parts = source.less if isinstance(source, Remainder) else (source,)
        return all(isinstance(each, Ratio | Quantile | MeanLatency) for each in parts)

    @property
    def is_count(self) -> bool:
        """True for a count, which has no decimals unless it is a mean."""
        return self.unit is FigureUnit.NUMBER and isinstance(self.source, Count | Level)

    @property
    def may_be_zero(self) -> bool:
        """True if a setting may reduce the figure to zero. Zero throughput or a zero latency means that the
        load stood still.
        """
        return self.better is not Better.HIGHER and not isinstance(self.source, Quantile | MeanLatency)

    def events(self, tick: Tick) -> float:
        """The number of events that the figure counted; infinite for a figure that counts no events."""
        if (source := self._of_events) is None:
            return math.inf
        parts = source.parts(tick)
        return parts[0] / source.factor if parts is not None else 0.0

    def event(self, tick: Tick) -> float:
        """How much one further event would raise the figure; 0 for a figure that counts no events."""
        source = self._of_events
        parts = source.parts(tick) if source is not None else None
        return source.factor / parts[1] if source is not None and parts and parts[1] else 0.0

    @property
    def _of_events(self) -> Ratio | None:
        """The source of a figure that counts events, such as fsyncs or waits."""
        is_of_events = self.may_be_zero and self.unit in (FigureUnit.NUMBER, FigureUnit.PER_SECOND)
        return self.source if is_of_events and isinstance(self.source, Ratio) else None

    def text(self, value: float | None, *, in_column: bool = False) -> str:
        """A value with its unit: `12.3 ms`, `1.2 KiB`. In a column it keeps trailing zeros: `1.20 KiB`."""
        match self.unit:
            case FigureUnit.MILLISECONDS:
                return units.milliseconds(value, in_column=in_column)
            case FigureUnit.PERCENT:
                return units.percent(value, 1)
            case FigureUnit.BYTES:
                return units.binary_size(value, in_column=in_column)
            case FigureUnit.BYTES_PER_SECOND if value is None:
                return units.DASH
            case FigureUnit.BYTES_PER_SECOND:
                return f"{units.binary_size(value, in_column=in_column)}/s"
            case FigureUnit.SECONDS:
                return units.DASH if value is None else f"{units.small_number(value)} s"
            case FigureUnit.NUMBER if self.is_count and value is not None and float(value).is_integer():
                return units.count(value)
            case _ if value is None or value < 10:
                return units.small_number(value)
            case FigureUnit.PER_SECOND | FigureUnit.NUMBER:
                return units.three_digits(value) if in_column else units.decimal(value, 1)

    def parts(self, tick: Tick) -> Parts | None:
        """Numerator (with the factor) and denominator of a ratio or a mean; None for others, or if it was not
        measured.
        """
        return self.source.parts(tick)


PROCESS_CPU = HOST + "server_cpu"
CONFLICTS = {
    "1020": ("conflicts", "snapshot conflicts"),
    "1213": ("deadlock_errors", "deadlock errors"),
    "1205": ("lock_timeouts", "lock wait timeouts"),
}
"""Errors of a transaction that conflicts with another one, by code: name and title of their figure."""
LOAD_COUNTS = frozenset(
    {
        "scheduled", "failed", "abandoned", "unknown_commits", "commits", "questions", "retries",
        "reconnects", "logins", ERROR,
    }
)  # fmt: skip
"""Sums of a load that a tick leaves out if they are zero."""


def amount(name: str, tick: Tick) -> float | None:
    """A sum of a tick by its name in a source; None if it was not measured."""
    if name in tick.sums:
        return tick.sums[name]
    if name == "seconds":
        return tick.seconds or None
    if name.endswith("."):
        found = [value for each, value in tick.sums.items() if each.startswith(name)]
        if found:
            return sum(found)
    if name == HOST + "throttled" and HOST + "seconds" in tick.sums:
        return 0.0
    return 0.0 if name in LOAD_COUNTS and "completed" in tick.sums else None


def _amount_of_process(name: str, tick: Tick) -> float | None:
    """The same without the time in which the server's process was not found."""
    known = amount(name, tick)
    if known is None or PROCESS_CPU not in tick.sums:
        return known
    return known - tick.sums.get(HOST + UNSEEN + name.removeprefix(HOST), 0.0)


PER_SECOND, MS, SECONDS = FigureUnit.PER_SECOND, FigureUnit.MILLISECONDS, FigureUnit.SECONDS
NUMBER, PERCENT, BYTES = FigureUnit.NUMBER, FigureUnit.PERCENT, FigureUnit.BYTES
BYTES_PER_SECOND = FigureUnit.BYTES_PER_SECOND
HIGHER, LOWER = Better.HIGHER, Better.LOWER
SERVER_TIME, SERVER_TRX = ("server.seconds",), ("server.completed",)
HOST_TIME, HOST_CPU, HOST_TRX = (HOST + "seconds",), (HOST + "core_seconds",), (HOST + "completed",)
TRX = ("completed",)
POOL_MISSES = Percent((Counter.POOL_READS,), (Counter.POOL_READ_REQUESTS,))
CHECKPOINT_AGE = FirstKnown(
    (
        Level((Counter.CHECKPOINT_AGE,)),
        Level((Counter.REDO_LOG_CURRENT_LSN,), less=Counter.REDO_LOG_CHECKPOINT_LSN),
    )
)
"""Reported by MariaDB; in MySQL it is the redo log written since the last checkpoint."""
CPU_TOTAL = Percent((HOST + "busy",), (HOST + "total",))
CPU_SERVER = Percent((PROCESS_CPU,), HOST_CPU, of_process=True)
CPU_REST = Remainder(
    (CPU_SERVER, Percent((HOST + "tuibench_cpu",), HOST_CPU, of_process=True)),
    Percent((HOST + "busy",), (HOST + "total",), of_process=True),
)
CPU_TUIBENCH = Percent((HOST + "tuibench_cpu",), HOST_CPU)


def _host(name: str, title: str, source: str, unit: FigureUnit, meaning: str) -> Figure:
    return Figure(name, title, Ratio((HOST + source,), HOST_TIME), meaning, unit)


MAIN_FIGURES = (
    Figure("tps", "TPS", Ratio(TRX), "committed transactions per second", PER_SECOND, HIGHER),
    Figure("qps", "QPS", Ratio(("queries",)), "statements per second", PER_SECOND, HIGHER),
    Figure("p50", "p50", Quantile(RESPONSE, 0.5), "half of the transactions are slower", MS),
    Figure("p95", "p95", Quantile(RESPONSE, 0.95), "1 of 20 transactions is slower", MS),
    Figure("p99", "p99", Quantile(RESPONSE, 0.99), "1 of 100 transactions is slower", MS),
    Figure(
        "errors_percent", "errors", Percent((ERROR,), ("completed", ERROR)),
        "failed statements, of all attempts", PERCENT,
    ),
    Figure(
        "cpu", "server CPU per transaction", Ratio((PROCESS_CPU,), HOST_TRX, 1e3, of_process=True),
        "processor time of the server's process for a transaction", MS,
    ),
    Figure(
        "fsyncs", "log fsyncs per transaction", Ratio(LOG_FSYNCS, SERVER_TRX),
        "fsyncs of the redo log for a transaction",
    ),
)  # fmt: skip
"""The rows of every comparison."""


def wait_figure(wait: WaitClass) -> str:
    """The name of the figure of a wait class."""
    return f"time_{wait}"


TIME_FIGURES = tuple(
    Figure(
        wait_figure(wait),
        wait.label + PER_TRANSACTION,
        Ratio((wait.key,), (TIME + "completed",), 1e-3),
        wait.meaning,
        MS,
        None if wait is WaitClass.CLIENT else LOWER,
    )
    for wait in WaitClass
)
"""The account of time; see `observe.wait_sampler`."""

ANOMALY_KINDS = {
    "lost_updates": (
        "lost updates",
        "acknowledged, and overwritten from an older value or missing in the table",
        "lost_updates_share",
    ),
    "write_skews": ("write skews", "two decisions on one state whose results exclude each other", ""),
    "read_skews": ("read skews", "two rows read from different states", ""),
    "fuzzy_reads": ("fuzzy reads", "a row read twice in a transaction, with two values", ""),
    "phantoms": ("phantoms", "rows of one condition read twice in a transaction, with two results", ""),
    "dirty_reads": ("dirty reads", "a value read that its transaction never committed", ""),
    "aborted_reads": ("aborted reads", "a value read whose transaction was rolled back", ""),
    "repeated_commits": ("repeated commits", "changes in the tables that no client has committed", ""),
}
"""Anomalies by name: title, meaning, and the figure that is their share."""

ANOMALY_FIGURES = (
    *(
        Figure(name, title, Count(ANOMALY + name), f"anomalies: {meaning}", share=share)
        for name, (title, meaning, share) in ANOMALY_KINDS.items()
    ),
    Figure(
        "lost_updates_share",
        "lost updates",
        Percent((ANOMALY + "lost_updates",), (TALLY + "updates",)),
        "lost updates, of all that the tables have got",
        PERCENT,
    ),
    Figure(
        "counted_updates", "updates", Count(TALLY + "updates"), "of which lost ones are counted", NUMBER, None
    ),
    Figure("anomalies", "anomalies", Count(ANOMALY), "of all kinds"),
    Figure("anomalies_per_second", "anomalies", Ratio((ANOMALY,)), "of all kinds", PER_SECOND),
    Figure(
        "missing_commits",
        "missing commits",
        Count(TALLY + "missing_commits"),
        "acknowledged, and not in the tables at the end; they are lost updates, too",
    ),
    *(
        Figure(name, title, Ratio((ERROR + code,)), f"error {code}", PER_SECOND)
        for code, (name, title) in CONFLICTS.items()
    ),
)
"""Anomalies of isolation, in a load that counts them, and the errors with which a server prevents some."""

OTHER_FIGURES = (
    Figure("p999", "p99.9", Quantile(RESPONSE, 0.999), "1 of 1,000 transactions is slower", MS),
    Figure("min", "min", Quantile(RESPONSE, 0), "the fastest transaction", MS),
    Figure("avg", "average", MeanLatency(RESPONSE), "mean response time of a transaction", MS),
    Figure("max", "max", Quantile(RESPONSE, 1), "the slowest transaction", MS),
    Figure(
        "service_p50", "p50 from the actual start", Quantile(SERVICE, 0.5),
        "the p50 of an open loop without the wait for a free connection", MS,
    ),
    Figure(
        "service_p95", "p95 from the actual start", Quantile(SERVICE, 0.95),
        "the p95 of an open loop without the wait for a free connection", MS,
    ),
    Figure(
        "goodput", "goodput", Ratio(("good",)), "transactions per second that ended within the deadline",
        PER_SECOND, HIGHER, share="goodput_percent",
    ),
    Figure(
        "goodput_percent", "goodput", Percent(("good",), ("scheduled",), less=("resent",)),
        "transactions that ended within the deadline, of all that were due, without further attempts",
        PERCENT, HIGHER,
    ),
    Figure(
        "late", "late transactions", Count("late"), "transactions that ended after the deadline",
        share="late_percent",
    ),
    Figure(
        "late_percent", "late transactions", Percent(("late",), ("scheduled",)),
        "transactions that ended after the deadline, of all that were due", PERCENT,
    ),
    Figure(
        "resent", "further attempts", Ratio(("resent",)),
        "transactions per second that a caller sent again after the deadline", PER_SECOND,
    ),
    Figure("reads", "reads", Ratio(("reads",)), "SELECT statements per second", PER_SECOND, HIGHER),
    Figure("writes", "writes", Ratio(("writes",)), "changes of rows per second", PER_SECOND, HIGHER),
    Figure("others", "others", Ratio(("others",)), "BEGIN, COMMIT and others per second", PER_SECOND, HIGHER),
    Figure("errors", "errors", Count(ERROR), "failed statements", share="errors_percent"),
    Figure(
        "failed", "failed transactions", Count("failed"), "transactions that were given up",
        share="failed_percent",
    ),
    Figure(
        "failed_percent", "failed transactions", Percent(("failed",), ("scheduled",)),
        "transactions that were given up, of all that were due", PERCENT,
    ),
    Figure(
        "abandoned", "abandoned transactions", Count("abandoned"),
        "transactions that were due and did not run to their end: given up by their caller, or at the end of "
        "the run", share="abandoned_percent",
    ),
    Figure(
        "abandoned_percent", "abandoned transactions", Percent(("abandoned",), ("scheduled",)),
        "abandoned transactions, of all that were due", PERCENT,
    ),
    Figure(
        "unknown_commits", "commits of unknown fate", Count("unknown_commits"),
        "COMMIT was sent, and the connection lost before the answer",
    ),
    Figure("retries", "retries", Count("retries"), "transactions that were tried again"),
    Figure("reconnects", "reconnects", Count("reconnects"), "connections that were reopened"),
    Figure(
        "errors_per_second", "errors", Ratio((ERROR,)), "failed statements per second", PER_SECOND,
        share="errors_percent",
    ),
    Figure("reconnects_per_second", "reconnects", Ratio(("reconnects",)), "per second", PER_SECOND),
    Figure("rollbacks", "rollbacks", Ratio(("rollbacks",)), "of a server's clients", PER_SECOND),
    Figure("headline", "headline", Ratio(("headline",)), "the profile's own figure, as tpmC", NUMBER, HIGHER),
    Figure(
        "statement_avg", "average of a statement", Ratio(("statement_ms",), ("timed",)),
        "mean time of a watched server's statements", MS,
    ),
    Figure("requested_threads", "threads", Level(("threads",)), "of the load, as requested", NUMBER, None),
    Figure("open_connections", "open connections", Level(("connections",)), "of the load", NUMBER, None),
    Figure("target_rate", "target rate", Level(("rate",), is_optional=True), "open loop", PER_SECOND, None),
    Figure("idle", "idle connections", Level(("idle",)), "open in addition to the load's", NUMBER, None),
    Figure("logins", "logins", Ratio(("logins",)), "additional and planned ones", PER_SECOND, None),
    Figure("missed_logins", "missed logins", Ratio(("missed_logins",)), "not started", PER_SECOND),
    Figure("login_p95", "p95 of a login", Quantile(LOGIN, 0.95), "1 of 20 logins takes longer", MS),
    Figure("users", "users", Level(("users",)), "who share the load's connections", NUMBER, None),
    Figure("users_waiting", "users waiting", Level(("waiting",)), "for a connection"),
    Figure("wait_p95", "p95 of the wait", Quantile(WAIT, 0.95), "1 of 20 users waits longer", MS),
    Figure(
        "outage", "longest outage", Peak("outage_seconds"),
        "without a commit, of a whole run with a load; 0 without a stall", SECONDS,
    ),
    Figure("lag", "replica lag", Peak("lag_seconds"), "the longest lag of a replica", SECONDS),
    Figure("worker_cpu", "busiest worker", Peak("worker_cpu"), "share of a core, 0 to 1"),
    Figure("worker_cpu_percent", "busiest worker", Peak("worker_cpu", 100.0), "of a core", PERCENT),
    Figure(
        "scheduling_delay", "scheduling delay", Peak("lag_p99_ms"),
        "p99 of the worker that was scheduled latest", MS,
    ),
    Figure("backlog", "backlog", Level(("backlog",)), "transactions due and not started"),
    Figure(
        "client_cpu", "client CPU per transaction", Ratio((HOST + "tuibench_cpu",), HOST_TRX, 1e3),
        "processor time of tuibench for a transaction, if it runs on the server's host", MS,
    ),
    Figure(
        "fsyncs_per_second", "log fsyncs", Ratio(LOG_FSYNCS, SERVER_TIME),
        "fsyncs of the redo log per second", PER_SECOND,
    ),
    Figure(
        "redo_bytes", "redo log per transaction", Ratio(REDO_BYTES, SERVER_TRX),
        "bytes written to the redo log for a transaction", BYTES,
    ),
    Figure(
        "binlog_bytes", "binary log per transaction", Ratio(BINLOG_BYTES, SERVER_TRX),
        "bytes written to the binary log for a transaction", BYTES,
    ),
    Figure(
        "binlog_syncs", "binary log syncs per transaction", Ratio(BINLOG_SYNCS, SERVER_TRX),
        "fsyncs of the binary log (MariaDB: group commits) for a transaction",
    ),
    Figure(
        "pool_hit", "buffer pool hit", Remainder((POOL_MISSES,)),
        "page requests that needed no read from disk", PERCENT, HIGHER,
    ),
    Figure(
        "threads_running", "threads running", Level((Counter.THREADS_RUNNING,)),
        "threads that execute a statement", NUMBER, None,
    ),
    Figure(
        "threads_connected", "threads connected", Level((Counter.THREADS_CONNECTED,)),
        "connections to the server", NUMBER, None,
    ),
    Figure(
        "redo_written", "redo log written", Ratio(REDO_BYTES, SERVER_TIME), "bytes per second",
        BYTES_PER_SECOND,
    ),
    Figure(
        "binlog_written", "binary log written", Ratio(BINLOG_BYTES, SERVER_TIME), "bytes per second",
        BYTES_PER_SECOND,
    ),
    Figure(
        "binlog_syncs_per_second", "binary log syncs", Ratio(BINLOG_SYNCS, SERVER_TIME),
        "fsyncs of the binary log (MariaDB: group commits)", PER_SECOND,
    ),
    Figure(
        "binlog_transactions", "binary log transactions", Ratio(BINLOG_TRANSACTIONS, SERVER_TIME),
        "transactions in the binary log", PER_SECOND, HIGHER,
    ),
    Figure(
        "commits", "commits",
        Largest((Ratio((Counter.COM_COMMIT,), SERVER_TIME), Ratio(BINLOG_TRANSACTIONS, SERVER_TIME))),
        "COMMIT statements; with autocommit the transactions in the binary log, if these are more",
        PER_SECOND, HIGHER,
    ),
    Figure("row_reads", "rows read", Ratio(ROWS_READ, SERVER_TIME), "per second", PER_SECOND, None),
    Figure("row_inserts", "rows inserted", Ratio(ROWS_INSERTED, SERVER_TIME), "per second", PER_SECOND, None),
    Figure("row_updates", "rows updated", Ratio(ROWS_UPDATED, SERVER_TIME), "per second", PER_SECOND, None),
    Figure("row_deletes", "rows deleted", Ratio(ROWS_DELETED, SERVER_TIME), "per second", PER_SECOND, None),
    Figure("deadlocks", "deadlocks", Ratio(DEADLOCKS, SERVER_TIME), "of all clients", PER_SECOND),
    Figure(
        "lock_waiters", "threads waiting for row locks", Ratio((Counter.ROW_LOCK_TIME,), SERVER_TIME, 1e-3),
        "mean number",
    ),
    Figure("slow", "slow queries", Count(Counter.SLOW_QUERIES), "longer than long_query_time"),
    Figure(
        "table_misses", "table cache misses",
        Percent((Counter.TABLE_CACHE_MISSES,), (Counter.TABLE_CACHE_MISSES, Counter.TABLE_CACHE_HITS)),
        "of all lookups in the table cache", PERCENT,
    ),
    Figure(
        "disk_reads", "pages read from disk per transaction", Ratio((Counter.POOL_READS,), SERVER_TRX),
        "pages that were not in the buffer pool",
    ),
    Figure(
        "pool_used", "buffer pool used",
        Remainder((Level((Counter.POOL_PAGES_FREE,), whole=Counter.POOL_PAGES_TOTAL),)),
        "pages that are not free", PERCENT, None,
    ),
    Figure("checkpoint_age", "checkpoint age", CHECKPOINT_AGE, "redo since the last checkpoint", BYTES),
    Figure(
        "history_list", "history list length", Level(HISTORY_LIST_LENGTH),
        "transactions that are not purged yet",
    ),
    Figure(
        "table_open_cache", "table cache", Level(("table_open_cache",), is_optional=True),
        "most tables in the table cache", NUMBER, None,
    ),
    Figure("open_tables", "open tables", Level((Counter.OPEN_TABLES,)), "in the table cache", NUMBER, None),
    Figure("cpu_server", "server's CPU", CPU_SERVER, "of all processors of the server's host", PERCENT, None),
    Figure("cpu_tuibench", "tuibench's CPU", CPU_TUIBENCH, "of all processors of this host", PERCENT, None),
    Figure("cpu_total", "host's CPU", CPU_TOTAL, "of all processors of the server's host", PERCENT, None),
    Figure("cpu_rest", "other CPU", CPU_REST, "that of neither the server nor tuibench", PERCENT),
    Figure("cpu_idle", "idle CPU", Remainder((CPU_TOTAL,)), "of the server's host", PERCENT, None),
    Figure(
        "throttled", "throttled time", Percent((HOST + "throttled",), HOST_TIME),
        "in which the CPU limit of the control group stopped its threads", PERCENT,
    ),
    Figure(
        "steal", "stolen CPU", Percent((HOST + "steal",), (HOST + "total",)),
        "what the hypervisor gave to other guests", PERCENT,
    ),
    _host("disk_read", "disk read", "read_bytes", BYTES_PER_SECOND, "from the disks of the host"),
    _host("disk_write", "disk written", "written_bytes", BYTES_PER_SECOND, "to the disks of the host"),
    _host("net_received", "network in", "received_bytes", BYTES_PER_SECOND, "received by the host"),
    _host("net_sent", "network out", "sent_bytes", BYTES_PER_SECOND, "sent by the host"),
    Figure(
        "disk_read_ms", "time of a disk read", Ratio((HOST + "read_ms",), (HOST + "reads",)),
        "mean time of a read, including the queue", MS,
    ),
    Figure(
        "disk_write_ms", "time of a disk write", Ratio((HOST + "write_ms",), (HOST + "writes",)),
        "mean time of a write, including the queue", MS,
    ),
    Figure(
        "memory_server", "server's memory", Level((HOST + "memory_server",)),
        "resident set of the server's process", BYTES, None,
    ),
    Figure("memory_used", "memory used", Level((HOST + "memory_used",)), "of the server's host", BYTES, None),
    Figure(
        "memory_used_percent", "memory used", Level((HOST + "memory_used",), whole=HOST + "memory_total"),
        "of the server's host", PERCENT, None,
    ),
    Figure("swap_used", "swap used", Level((HOST + "swap_used",)), "of the server's host", BYTES, None),
    *ANOMALY_FIGURES,
    *TIME_FIGURES,
)  # fmt: skip


def _of_counters() -> Iterator[Figure]:
    """Every counter and gauge of the server, by its name in lower case."""
    for counter in Counter:
        facts, is_bytes = counter.facts, counter.facts.unit is CounterUnit.BYTES
        if facts.recording is Recording.CUMULATIVE:
            unit, source = BYTES_PER_SECOND if is_bytes else PER_SECOND, Ratio((counter,), SERVER_TIME)
            yield Figure(counter.lower(), str(counter), source, facts.meaning, unit, None)
        elif facts.recording is Recording.GAUGE:
            unit = BYTES if is_bytes else NUMBER
            yield Figure(counter.lower(), str(counter), Level((counter,)), facts.meaning, unit, None)


FIGURES: dict[str, Figure] = {
    figure.name: figure for figure in (*_of_counters(), *MAIN_FIGURES, *OTHER_FIGURES)
}


BY_KEY = {figure.key: figure for figure in FIGURES.values()}
"""The table by the keys that JSON uses."""

COMPARED = tuple(FIGURES[name] for name in ("tps", "p95", "fsyncs", "anomalies_per_second"))
COMPARED_OF_TRAFFIC = tuple(FIGURES[name] for name in ("tps", "qps", "p95", "fsyncs", "fsyncs_per_second"))
"""The figures that every effect and every experiment compares: those of a load, and those of a watched
server's traffic.
"""


def compared_figures(decides: str = "", *, is_traffic: bool = False) -> tuple[Figure, ...]:
    """The figures that are compared, including the one that `decides`."""
    usual = COMPARED_OF_TRAFFIC if is_traffic else COMPARED
    figure = figure_named(decides) if decides else usual[0]
    return usual if figure in usual else (*usual, figure)


def deciding_figure(name: str, *, is_traffic: bool, rate: float) -> Figure:
    """The figure on which verdicts are based: the named one; otherwise queries for a watched server's
    traffic, p95 at a fixed rate, transactions in all other cases. Raises UsageError for a figure that cannot
    be compared.
    """
    if not name:
        return FIGURES["qps" if is_traffic else "p95" if rate else "tps"]
    figure = figure_named(name)
    if figure.is_comparable:
        return figure
    share = f", for example {figure.share}" if figure.share else ""
    raise UsageError(
        f"{figure.name} of two windows cannot be compared", f"choose a rate, a mean or a percentile{share}"
    )


def read(name: str, tick: Tick | None) -> float | None:
    """A figure of the table by its name; None without a tick, or if it was not measured."""
    return None if tick is None else FIGURES[name].source.value(tick)


def throughput(tick: Tick) -> float:
    """The rate that tells whether the load has settled: queries for a watched server's traffic, otherwise
    transactions.
    """
    return read("qps" if tick.is_traffic else "tps", tick) or 0.0


def core_shares(host: Tick) -> tuple[float, ...]:
    """The usage of each core of a host in percent; empty if it was not measured."""
    seconds, used = host.sums.get(HOST + "seconds"), host.counts(HOST + "core.").values()
    return tuple(round(min(100.0, 100 * each / seconds), 1) for each in used) if seconds else ()


_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?|100)(?:_ms)?")


def figure_named(name: str) -> Figure:
    """The figure with this name: one of the table, or any percentile such as p99.5. Raises UsageError with
    similar names for any other.
    """
    name = name.lower()
    if name in FIGURES or name in BY_KEY:
        return FIGURES.get(name) or BY_KEY[name]
    if percentile := _PERCENTILE.fullmatch(name):
        name, share = f"p{percentile[1]}", float(percentile[1]) / 100
        if name in FIGURES:
            return FIGURES[name]
        return Figure(name, name, Quantile(RESPONSE, share), f"{percentile[1]} % are at most that slow", MS)
    raise UsageError(
        f"there is no figure '{name}'",
        did_you_mean(name, FIGURES) or f"for example {', '.join(MAIN_NAMES)}; docs/running.md lists all",
    )


MAIN_NAMES = tuple(figure.name for figure in MAIN_FIGURES)


def all_values(tick: Tick) -> dict[str, float]:
    """Every figure that was measured, by its name."""
    found = {name: figure.value(tick) for name, figure in FIGURES.items()}
    return {name: float(value) for name, value in found.items() if value is not None}
