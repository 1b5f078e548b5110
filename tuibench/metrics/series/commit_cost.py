"""Cost of a commit under each value of the durability settings: averages over the whole time of each value.

An interval with a change of a value, a reset of the counters or a missing reading is excluded.
"""

from collections.abc import Iterable, Mapping

from tuibench.metrics.series.rates import ratio
from tuibench.model.counters import BINLOG_BYTES, LOG_FSYNCS, REDO_BYTES, Counter, first_known
from tuibench.model.experiments.effect import CommitCost
from tuibench.model.settings import ServerVariable, SettingRole, SettingState
from tuibench.model.tick import Tick

SOURCES: dict[str, tuple[Counter, ...]] = {
    "log_fsyncs": LOG_FSYNCS,
    "log_bytes": REDO_BYTES,
    "binlog_bytes": BINLOG_BYTES,
    "row_lock_waits": (Counter.ROW_LOCK_WAITS,),
}
"""For each figure, its possible counters in order of preference."""

FIGURES = (*SOURCES, "binlog_syncs")


class _CostTotals:
    """The sums for one value."""

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
    """Calculates costs from readings."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[str, _CostTotals]] = {}
        self._always_reported: tuple[str, ...] = ()
        self._values: Mapping[str, str] | None = None

    def changed(self) -> None:
        """Exclude the current interval, because a value changed."""
        self._values = None

    def add(self, tick: Tick, settings: Iterable[SettingState]) -> None:
        """Add a tick, with the settings at its end."""
        costed = [setting for setting in settings if setting.is_costed]
        values = {setting.name: setting.value for setting in costed if setting.value}
        self._always_reported = tuple(each.name for each in costed if SettingRole.COST in each.roles)
        before, self._values = self._values, values
        transactions = tick.sums.get("server.completed")
        if before == values and transactions is not None:
            self._add(tick, transactions, values)

    @property
    def costs(self) -> tuple[CommitCost, ...]:
        """The cost of each value so far, in order of appearance. Settings without the role COST are omitted
        until their value changes.
        """
        changed = [name for name, values in self._sums.items() if len(values) > 1]
        reported = dict.fromkeys([*(name for name in self._always_reported if name in self._sums), *changed])
        return tuple(
            _cost(name, value, total) for name in reported for value, total in self._sums[name].items()
        )

    def _add(self, tick: Tick, transactions: float, values: Mapping[str, str]) -> None:
        figures = _figures(tick, values)
        for name, value in values.items():
            total = self._sums.setdefault(name, {}).setdefault(value, _CostTotals())
            total.add(tick.sums["server.seconds"], round(transactions), figures)


def _figures(tick: Tick, values: Mapping[str, str]) -> dict[str, float]:
    found: dict[str, float | None] = {
        name: first_known(sources, tick.sums) for name, sources in SOURCES.items()
    }
    found["binlog_syncs"] = _binlog_syncs(tick, values.get(ServerVariable.SYNC_BINLOG, ""))
    return {name: growth for name, growth in found.items() if growth is not None}


def _binlog_syncs(tick: Tick, sync_binlog: str) -> float | None:
    """Binary log syncs: counted by MySQL's performance schema; on MariaDB one for every `sync_binlog`
    group commits.
    """
    if Counter.PERFORMANCE_BINLOG_SYNCS in tick.sums:
        return tick.sums[Counter.PERFORMANCE_BINLOG_SYNCS]
    groups = tick.sums.get(Counter.BINLOG_GROUP_COMMITS)
    if groups is None or not sync_binlog.isdigit():
        return None
    every = int(sync_binlog)
    return groups / every if every else 0.0


def _cost(name: str, value: str, total: _CostTotals) -> CommitCost:
    return CommitCost(
        setting=name,
        value=value,
        seconds=total.seconds,
        transactions=total.transactions,
        **{figure: total.each(figure) for figure in FIGURES},
    )
