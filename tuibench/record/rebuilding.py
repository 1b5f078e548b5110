"""What a record allows to be computed anew, tick by tick: printed intervals, and what commits had cost."""

from collections.abc import Mapping, Sequence

from tuibench.metrics.cost import CostLedger
from tuibench.metrics.histogram import US_PER_MS
from tuibench.model.cost import CommitCost
from tuibench.model.event import COSTED, Event
from tuibench.model.message import Status
from tuibench.model.sample import LoadPart, Sample
from tuibench.record.hdr import decoded
from tuibench.record.hdrlog import LogLine
from tuibench.record.lines import TickCounts
from tuibench.record.text import Interval


def interval(load: LoadPart, counts: TickCounts, line: LogLine) -> Interval:
    """A tick as it was printed, to the last digit."""
    latency = load.latency
    return Interval(
        seconds=load.seconds,
        threads=load.threads,
        rate=load.rate,
        transactions=counts.completed,
        reads=counts.reads,
        writes=counts.writes,
        others=counts.others,
        errors=counts.failures,
        reconnects=counts.reconnects,
        backlog=load.backlog,
        in_flight=counts.in_flight,
        latency=decoded(
            line.payload,
            sum_us=counts.sum_us,
            min_us=round(latency.min * US_PER_MS) if latency else 0,
            max_us=line.max_us,
        ),
    )


def costs(
    samples: Sequence[Sample], events: Sequence[Event], states: Sequence[tuple[float, Status]]
) -> tuple[tuple[CommitCost, ...], ...]:
    """What commits had cost by the time of each sample, as the session told it."""
    ledger = CostLedger()
    changes = [event.elapsed_seconds for event in events if event.kind in COSTED]
    found: list[tuple[CommitCost, ...]] = []
    values: Mapping[str, str] = {}
    waiting, told = 0, 0
    for sample in samples:
        while waiting < len(changes) and changes[waiting] <= sample.elapsed_seconds:
            ledger.changed()
            waiting += 1
        while told < len(states) and states[told][0] <= sample.elapsed_seconds:
            values = {setting.name: setting.value for setting in states[told][1].settings}
            told += 1
        if sample.elapsed_seconds > 0 and sample.server and sample.load and sample.server.counters:
            total = sample.load.transactions_total
            ledger.take(sample.server.counters, total, sample.elapsed_seconds, values)
        found.append(ledger.costs)
    return tuple(found)
