"""What a commit costs under each value of the durability settings: averages over all the time it had it.

An interval in which a value changed, the counters began anew or a reading is missing belongs to none.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tuibench.metrics.rates import Interval, between, ratio
from tuibench.model.cost import CommitCost

FLUSH_LOG, SYNC_BINLOG = "innodb_flush_log_at_trx_commit", "sync_binlog"
ALWAYS_SHOWN = (FLUSH_LOG, SYNC_BINLOG)
SHOWN_IF_CHANGED = (
    "innodb_flush_log_at_timeout",
    "innodb_doublewrite",
    "binlog_order_commits",
    "sql_log_bin",
    "innodb_redo_log",
)

SOURCES: dict[str, tuple[str, ...]] = {
    "log_fsyncs": ("Innodb_os_log_fsyncs", "Innodb_data_fsyncs"),
    "log_bytes": ("Innodb_lsn_current", "Innodb_redo_log_current_lsn", "Innodb_os_log_written"),
    "binlog_bytes": ("Binlog_bytes_written", "performance_schema.binlog_bytes"),
    "row_lock_waits": ("Innodb_row_lock_waits",),
}
"""A figure, and the counters it may come from: the first that the server has.

log_fsyncs on MariaDB 10.8 and newer hold those of data files, too: it has no counter for the log's alone.
"""

BINLOG_SYNCS = "performance_schema.binlog_syncs"
GROUP_COMMITS = "Binlog_group_commits"
FIGURES = (*SOURCES, "binlog_syncs")


class _Reading(NamedTuple):
    counters: Mapping[str, int]
    transactions: int
    at_seconds: float
    values: Mapping[str, str]


class _Sum:
    """What has come together for one value."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.transactions = 0
        self.figures: dict[str, float] = {}
        self.over: dict[str, int] = {}

    def add(self, seconds: float, transactions: int, figures: Mapping[str, float]) -> None:
        self.seconds += seconds
        self.transactions += transactions
        for name, growth in figures.items():
            self.figures[name] = self.figures.get(name, 0.0) + growth
            self.over[name] = self.over.get(name, 0) + transactions

    def each(self, name: str) -> float | None:
        return ratio(self.figures.get(name), self.over.get(name))


class CostLedger:
    """Readings in, costs out."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[str, _Sum]] = {}
        self._last: _Reading | None = None

    def changed(self) -> None:
        """A value changed just now: the interval under way belongs to neither value."""
        self._last = None

    def take(
        self, counters: Mapping[str, int], transactions: int, at_seconds: float, values: Mapping[str, str]
    ) -> None:
        """The server's counters, our transactions so far, and the values of the settings at one moment."""
        before, now = self._last, _Reading(counters, transactions, at_seconds, dict(values))
        self._last = now
        if before is None or before.values != now.values:
            return
        interval = between(before.counters, now.counters, at_seconds - before.at_seconds)
        if not interval.reset:
            self._add(interval, transactions - before.transactions, values)

    @property
    def costs(self) -> tuple[CommitCost, ...]:
        """One for each value seen, in the order they came; the lesser settings only if they moved."""
        told = [name for name in ALWAYS_SHOWN if name in self._sums]
        told += [name for name in SHOWN_IF_CHANGED if len(self._sums.get(name, ())) > 1]
        return tuple(_cost(name, value, total) for name in told for value, total in self._sums[name].items())

    def _add(self, interval: Interval, transactions: int, values: Mapping[str, str]) -> None:
        figures = _figures(interval, values)
        for name in (*ALWAYS_SHOWN, *SHOWN_IF_CHANGED):
            if value := values.get(name):
                total = self._sums.setdefault(name, {}).setdefault(value, _Sum())
                total.add(interval.seconds, transactions, figures)


def _figures(interval: Interval, values: Mapping[str, str]) -> dict[str, float]:
    found: dict[str, float | None] = {
        name: next((interval.deltas[one] for one in sources if one in interval.deltas), None)
        for name, sources in SOURCES.items()
    }
    found["binlog_syncs"] = _binlog_syncs(interval, values.get(SYNC_BINLOG, ""))
    return {name: growth for name, growth in found.items() if growth is not None}


def _binlog_syncs(interval: Interval, sync_binlog: str) -> float | None:
    """Counted by MySQL's performance schema; on MariaDB one for every `sync_binlog` group commits."""
    if BINLOG_SYNCS in interval.deltas:
        return interval.deltas[BINLOG_SYNCS]
    groups = interval.delta(GROUP_COMMITS)
    if groups is None or not sync_binlog.isdigit():
        return None
    every = int(sync_binlog)
    return groups / every if every else 0.0


def _cost(name: str, value: str, total: _Sum) -> CommitCost:
    return CommitCost(
        setting=name,
        value=value,
        seconds=total.seconds,
        transactions=total.transactions,
        **{figure: total.each(figure) for figure in FIGURES},
    )
