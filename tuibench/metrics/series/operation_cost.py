"""Cost per operation: conversion of samples to resources per query and per transaction.

The server's CPU, switches and storage bytes are those of its process; counters are the growth between two
readings. Server and load are read at slightly different moments of a tick: costs are averages over many
ticks.
"""

from collections.abc import Iterable, Mapping

from tuibench.metrics.series.rates import growth
from tuibench.metrics.series.slots import Slot
from tuibench.model.counters import BINLOG_BYTES, LOG_FSYNCS, REDO_BYTES, Counter, first_known
from tuibench.model.measurements.operation_cost import OperationCost, Resource, ResourceUse
from tuibench.model.measurements.sample import HostSample, Sample

US_PER_SECOND = 1e6
PERCENT = 100.0
LONGEST_READING = 1.5
"""The longest usable reading of a host, in ticks: a longer one includes more than the tick's operations."""

COUNTED: dict[Resource, tuple[Counter, ...]] = {
    Resource.DISK_READS: (Counter.DATA_READS,),
    Resource.DISK_WRITES: (Counter.DATA_WRITES,),
    Resource.FSYNCS: LOG_FSYNCS,
    Resource.REDO_BYTES: REDO_BYTES,
    Resource.BINLOG_BYTES: BINLOG_BYTES,
}
"""Resources that the server counts, with their possible counters in order of preference."""


def resource_use(before: Sample | None, after: Sample) -> ResourceUse:
    """The resources used between two consecutive samples; empty over a gap."""
    done = after.throughput
    if before is None or done is None or before.throughput is None:
        return ResourceUse()
    used = {**_of_server_host(after), **_of_client_host(after), **_of_counters(before, after)}
    transactions = done.transactions_per_second * done.seconds
    queries = done.queries_per_second * done.seconds
    return ResourceUse(
        used=used, transactions=dict.fromkeys(used, transactions), queries=dict.fromkeys(used, queries)
    )


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


def _of_client_host(sample: Sample) -> dict[str, float]:
    host = sample.client
    if host is None or sample.load is None or not host.seconds:
        return {}
    return {str(Resource.CLIENT_CPU): _cpu_us(host, host.cpu_tuibench)}


def _of_server_host(sample: Sample) -> dict[str, float]:
    """Resources of the server's host; a reading of another host that took far longer than the tick is
    omitted. If another host does not report its processes, the usage of all its processors is counted.
    """
    host, done = sample.host, sample.throughput
    if host is None or done is None or not host.seconds or host.seconds > LONGEST_READING * done.seconds:
        return {}
    whole = _cpu_us(host, host.cpu_total - host.cpu_steal) if host.origin else None
    found = {
        Resource.SERVER_CPU: None if host.cpu_server is None else _cpu_us(host, host.cpu_server),
        Resource.HOST_CPU: whole if host.cpu_server is None else None,
        Resource.VOLUNTARY_SWITCHES: host.server_voluntary_switches,
        Resource.INVOLUNTARY_SWITCHES: host.server_involuntary_switches,
        Resource.DISK_READ_BYTES: host.server_read_bytes,
        Resource.DISK_WRITTEN_BYTES: host.server_written_bytes,
    }
    return {str(name): float(value) for name, value in found.items() if value is not None}


def _cpu_us(host: HostSample, percent: float) -> float:
    return percent / PERCENT * host.cores * host.seconds * US_PER_SECOND


def _of_counters(before: Sample, after: Sample) -> dict[str, float]:
    if before.server is None or after.server is None:
        return {}
    old, new = before.server.counters, after.server.counters
    if growth(old.get(Counter.QUESTIONS), new.get(Counter.QUESTIONS)) is None:
        return {}
    grown = {name: value - old[name] for name, value in new.items() if name in old and value >= old[name]}
    found = {str(name): first_known(counters, grown) for name, counters in COUNTED.items()}
    received, sent = grown.get(Counter.BYTES_RECEIVED), grown.get(Counter.BYTES_SENT)
    if received is not None and sent is not None:
        found[str(Resource.NETWORK_BYTES)] = received + sent
    return {name: float(value) for name, value in found.items() if value is not None}
