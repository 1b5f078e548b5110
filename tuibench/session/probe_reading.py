"""What a probe reads off a sample: how high it may go on this server, and what a tick measured."""

from tuibench.metrics.slots import Slot
from tuibench.model.limits import MAX_RATE
from tuibench.model.probe import ProbeOrder
from tuibench.model.sample import Sample
from tuibench.model.schedule import Quantity
from tuibench.record.text import Interval
from tuibench.session.probe_step import ProbeTick

MOST_THREADS = 1024
"""Nobody needs more to see a knee; an order may say otherwise."""

RESERVE, RESERVE_SHARE = 5, 20
"""Connections that are left to the operator: so many, or one of so many that the server allows."""


def ceiling(order: ProbeOrder, sample: Sample) -> float:
    """The highest level: what was ordered, and room for the operator below the server's limit."""
    if order.by is Quantity.RATE:
        return order.most or float(MAX_RATE)
    most = order.most or float(MOST_THREADS)
    if sample.server is None:
        return most
    ours = sample.load.connections if sample.load is not None else 0
    others = max(0, sample.server.threads_connected - ours)
    allowed = sample.server.max_connections
    return max(1.0, min(most, allowed - others - max(RESERVE, allowed // RESERVE_SHARE)))


def tick_of(sample: Sample, interval: Interval, now: float, threads: int) -> ProbeTick:
    """What a step takes of a tick."""
    latency = sample.load.latency if sample.load else None
    slot = Slot(
        end_seconds=now,
        seconds=interval.seconds or 1e-9,
        transactions=interval.transactions,
        latency=interval.latency,
        p95_ms=latency.p95 if latency else None,
    )
    return ProbeTick(
        slot,
        sample,
        queries=interval.reads + interval.writes + interval.others,
        errors=interval.errors,
        reconnects=interval.reconnects,
        connections=sample.load.connections if sample.load else None,
        threads=threads,
    )
