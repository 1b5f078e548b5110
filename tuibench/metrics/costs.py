"""Costs: of a commit under each value of the durability settings, of a query and a transaction by resource.

Costs are averages over many ticks, because server and load are read at slightly different moments of a tick.
Counters are used as their growth between two readings. The server's CPU, context switches and storage bytes
are those of its process. The texts are the same in summary, report and on screen.
"""

from collections.abc import Iterable, Mapping

from tuibench.base import numerals, units
from tuibench.metrics.series import ratio
from tuibench.model.counters import BINLOG_BYTES, LOG_FSYNCS, REDO_BYTES, Counter, first_known
from tuibench.model.effect import CommitCost, Effect
from tuibench.model.findings import OperationCost, Resource, ResourceUnit, ResourceUse
from tuibench.model.settings import ServerVariable, SettingRole, SettingState
from tuibench.model.tick import CLIENT, HOST, Tick

SOURCES: dict[str, tuple[Counter, ...]] = {
    "log_fsyncs": LOG_FSYNCS,
    "log_bytes": REDO_BYTES,
    "binlog_bytes": BINLOG_BYTES,
    "row_lock_waits": (Counter.ROW_LOCK_WAITS,),
}
"""The possible counters of each figure, in order of preference."""

FIGURES = (*SOURCES, "binlog_syncs")


class _CostTotals:
    """The sums for one value of a setting."""

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
    """Costs of a commit under each value of the costed settings, over the whole time of each value.

    An interval in which a value changed, counters were reset, or a reading is missing, is left out.
    """

    def __init__(self) -> None:
        self._sums: dict[str, dict[str, _CostTotals]] = {}
        self._always_reported: tuple[str, ...] = ()
        self._values: Mapping[str, str] | None = None

    def changed(self) -> None:
        """Leave out the present interval, because a value changed."""
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
        """The cost under each value so far, in order of appearance. A setting without the role COST is left
        out until its value changes.
        """
        changed = [name for name, values in self._sums.items() if len(values) > 1]
        reported = dict.fromkeys([*(name for name in self._always_reported if name in self._sums), *changed])
        return tuple(
            CommitCost(
                setting=name,
                value=value,
                seconds=total.seconds,
                transactions=total.transactions,
                **{figure: total.each(figure) for figure in FIGURES},
            )
            for name in reported
            for value, total in self._sums[name].items()
        )

    def _add(self, tick: Tick, transactions: float, values: Mapping[str, str]) -> None:
        found: dict[str, float | None] = {
            name: first_known(sources, tick.sums) for name, sources in SOURCES.items()
        }
        found["binlog_syncs"] = _binlog_syncs(tick, values.get(ServerVariable.SYNC_BINLOG, ""))
        figures = {name: growth for name, growth in found.items() if growth is not None}
        for name, value in values.items():
            total = self._sums.setdefault(name, {}).setdefault(value, _CostTotals())
            total.add(tick.sums["server.seconds"], round(transactions), figures)


def _binlog_syncs(tick: Tick, sync_binlog: str) -> float | None:
    """Syncs of the binary log: counted by MySQL's performance schema; in MariaDB one for every `sync_binlog`
    group commits.
    """
    if Counter.PERFORMANCE_BINLOG_SYNCS in tick.sums:
        return tick.sums[Counter.PERFORMANCE_BINLOG_SYNCS]
    groups = tick.sums.get(Counter.BINLOG_GROUP_COMMITS)
    every = numerals.count(sync_binlog)
    if groups is None or every is None:
        return None
    return groups / every if every else 0.0


def cost_rows(cost: OperationCost) -> list[tuple[str, str, str]]:
    """For each resource its name and the costs of a transaction and of a query."""
    return [
        (
            resource.facts.label,
            resource_text(resource, cost.per_transaction.get(resource), in_column=True),
            resource_text(resource, cost.per_query[resource], in_column=True),
        )
        for resource in Resource
        if resource in cost.per_query
    ]


def resource_text(resource: Resource, value: float | None, *, in_column: bool = False) -> str:
    """A value with its unit: `412 µs`, `2.37 ms`, `1.2 KiB`, `0.98`. In a column, sizes keep trailing zeros:
    `1.20 KiB`.
    """
    match resource.facts.unit:
        case ResourceUnit.MICROSECONDS:
            return units.microseconds(value)
        case ResourceUnit.BYTES:
            return units.binary_size(value, in_column=in_column)
        case ResourceUnit.COUNT:
            return units.small_number(value)


def cost_lines(cost: OperationCost) -> list[str]:
    """One line for transactions and one for queries, with the known resources."""
    kinds = {"transaction": cost.per_transaction, "query": cost.per_query}
    lines = []
    for name, values in kinds.items():
        known = [resource for resource in Resource if resource in values]
        parts = [f"{resource_text(each, values[each])} {each.facts.label}" for each in known]
        lines += [f"cost of a {name}: {', '.join(parts)}"] if values else []
    return lines


def change_parts(before: OperationCost | None, after: OperationCost | None) -> list[tuple[Resource, str]]:
    """The cost of an operation before and after: of a transaction if there are any, otherwise of a query."""
    if before is None or after is None:
        return []
    is_transaction = bool(before.per_transaction and after.per_transaction)
    old, new = (each.per_transaction if is_transaction else each.per_query for each in (before, after))
    return [
        (resource, f"{resource_text(resource, old[resource])} → {resource_text(resource, new[resource])}")
        for resource in Resource
        if resource in old and resource in new
    ]


def effect_cost_lines(effect: Effect) -> list[str]:
    """A line with the cost of an operation before and after a change; empty if unknown."""
    return change_cost_lines(effect.cost_before, effect.cost_after)


def change_cost_lines(before: OperationCost | None, after: OperationCost | None) -> list[str]:
    """A line with the cost of an operation under each of two values; empty if unknown."""
    parts = change_parts(before, after)
    if not parts:
        return []
    return [
        "    cost per operation: " + ", ".join(f"{resource.facts.label} {text}" for resource, text in parts)
    ]


US_PER_SECOND = 1e6

COUNTED: dict[Resource, tuple[Counter, ...]] = {
    Resource.DISK_READS: (Counter.DATA_READS,),
    Resource.DISK_WRITES: (Counter.DATA_WRITES,),
    Resource.FSYNCS: LOG_FSYNCS,
    Resource.REDO_BYTES: REDO_BYTES,
    Resource.BINLOG_BYTES: BINLOG_BYTES,
}
"""The counters of resources that the server counts, in order of preference."""


def resource_use(tick: Tick) -> ResourceUse:
    """The resources used in a tick, each with the operations completed while it was measured."""
    sums = tick.sums
    used: dict[str, float | None] = {
        Resource.SERVER_CPU: _scaled(sums.get(HOST + "server_cpu"), US_PER_SECOND),
        Resource.HOST_CPU: _whole_host_us(tick),
        Resource.VOLUNTARY_SWITCHES: sums.get(HOST + "voluntary_switches"),
        Resource.INVOLUNTARY_SWITCHES: sums.get(HOST + "involuntary_switches"),
        Resource.DISK_READ_BYTES: sums.get(HOST + "server_read_bytes"),
        Resource.DISK_WRITTEN_BYTES: sums.get(HOST + "server_written_bytes"),
    }
    found = _with_operations(used, sums.get(HOST + "completed"), sums.get(HOST + "queries"))
    counted: dict[str, float | None] = {
        name: first_known(counters, sums) for name, counters in COUNTED.items()
    }
    if Counter.BYTES_RECEIVED in sums and Counter.BYTES_SENT in sums:
        counted[Resource.NETWORK_BYTES] = sums[Counter.BYTES_RECEIVED] + sums[Counter.BYTES_SENT]
    of_server = _with_operations(counted, sums.get("server.completed"), sums.get("server.queries"))
    own = CLIENT if CLIENT + "seconds" in sums or HOST + "local" in tick.missing else HOST
    of_client: dict[str, float | None] = (
        {Resource.CLIENT_CPU: _scaled(sums.get(own + "tuibench_cpu"), US_PER_SECOND)}
        if "threads" in tick.levels
        else {}
    )
    done = sums.get("completed"), sums.get("queries")
    return total_use((found, of_server, _with_operations(of_client, *done)))


def _with_operations(
    used: Mapping[str, float | None], transactions: float | None, queries: float | None
) -> ResourceUse:
    known = {str(name): float(value) for name, value in used.items() if value is not None}
    if transactions is None or queries is None:
        return ResourceUse()
    return ResourceUse(
        used=known,
        transactions=dict.fromkeys(known, transactions),
        queries=dict.fromkeys(known, queries),
    )


def _whole_host_us(tick: Tick) -> float | None:
    """CPU time of all processors of another host that does not report its processes, in µs."""
    sums = tick.sums
    if HOST + "local" not in tick.missing or HOST + "server_cpu" in sums or not sums.get(HOST + "total"):
        return None
    busy = sums.get(HOST + "busy", 0.0) - sums.get(HOST + "steal", 0.0)
    return US_PER_SECOND * busy / sums[HOST + "total"] * sums[HOST + "core_seconds"]


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else factor * value


def total_use(uses: Iterable[ResourceUse]) -> ResourceUse:
    """The sum of several intervals."""
    used: dict[str, float] = {}
    transactions: dict[str, float] = {}
    queries: dict[str, float] = {}
    for use in uses:
        for total, part in ((used, use.used), (transactions, use.transactions), (queries, use.queries)):
            for name, value in part.items():
                total[name] = total.get(name, 0.0) + value
    return ResourceUse(used=used, transactions=transactions, queries=queries)


def operation_cost(use: ResourceUse) -> OperationCost:
    """Each resource per operation; a resource without operations is left out."""
    return OperationCost(
        per_transaction=_each(use.used, use.transactions), per_query=_each(use.used, use.queries)
    )


def window_cost(ticks: Iterable[Tick]) -> OperationCost | None:
    """The cost over some ticks; None if unknown."""
    whole = total_use(map(resource_use, ticks))
    return operation_cost(whole) if whole.used else None


def _each(used: Mapping[str, float], done: Mapping[str, float]) -> dict[str, float]:
    return {name: value / done[name] for name, value in used.items() if done.get(name)}
