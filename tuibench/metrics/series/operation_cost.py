"""Cost per operation: conversion of samples to resources per query and per transaction.

The server's CPU, switches and storage bytes are those of its process; counters are the growth between two
readings. Server and load are read at slightly different moments of a tick: costs are averages over many
ticks.
"""

from collections.abc import Iterable, Mapping

from tuibench.metrics.series.slots import Slot
from tuibench.model.counters import BINLOG_BYTES, LOG_FSYNCS, REDO_BYTES, Counter, first_known
from tuibench.model.measurements.operation_cost import OperationCost, Resource, ResourceUse
from tuibench.model.tick import CLIENT, HOST, Tick

US_PER_SECOND = 1e6

COUNTED: dict[Resource, tuple[Counter, ...]] = {
    Resource.DISK_READS: (Counter.DATA_READS,),
    Resource.DISK_WRITES: (Counter.DATA_WRITES,),
    Resource.FSYNCS: LOG_FSYNCS,
    Resource.REDO_BYTES: REDO_BYTES,
    Resource.BINLOG_BYTES: BINLOG_BYTES,
}
"""Resources that the server counts, with their possible counters in order of preference."""


def resource_use(tick: Tick) -> ResourceUse:
    """The resources used in a tick, each with the operations that were done while it was measured."""
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
    """The usage of all processors of another host that does not report its processes."""
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
    """Each resource per operation; absent if no operation was done."""
    return OperationCost(
        per_transaction=_each(use.used, use.transactions), per_query=_each(use.used, use.queries)
    )


def window_cost(slots: Iterable[Slot]) -> OperationCost | None:
    """The cost over some slots; None if unknown."""
    uses = [slot.use for slot in slots if slot.use is not None and slot.use.used]
    return operation_cost(total_use(uses)) if uses else None


def _each(used: Mapping[str, float], done: Mapping[str, float]) -> dict[str, float]:
    return {name: value / done[name] for name, value in used.items() if done.get(name)}
