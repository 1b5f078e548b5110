"""One step of a probe: collects ticks until the level is known well enough. Without a clock.

A tick counts once all connections are open and it began after the level was set. The first that counts is
discarded, and more of them until throughput and p95 are at rest (see `settling`). The step is over when the
95 % interval of the mean throughput is narrower than ±3 %, from at least five ticks, or when its time is up.

What a probe reads from a sample: the highest level on this server, and the figures of a tick.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tuibench.diagnosis.evidence import collect_evidence
from tuibench.metrics.figures import read
from tuibench.metrics.inference.ab_tests.ab_windows import settling_slots
from tuibench.metrics.inference.means import estimate_mean
from tuibench.metrics.series.settling import is_at_rest
from tuibench.metrics.series.slots import Slot
from tuibench.metrics.thresholds.absolute import Threshold
from tuibench.model.experiments.probe import ProbeOrder, ProbeStep, StepPurpose
from tuibench.model.histogram import US_PER_MS, merge_histograms
from tuibench.model.measurements.finding import Evidence
from tuibench.model.measurements.sample import Sample
from tuibench.model.schedule import MAX_RATE, Quantity
from tuibench.model.tick import RESPONSE, Tick, total_tick

WIDTH = 0.03
FEWEST_TICKS = 5
DISCARDED = 1
CHANCE = 2.0
"""Arrivals of an open loop come at random: their number is known no better than this many roots of it."""


class ProbeTick(NamedTuple):
    """One sample, placed in the run. `threads` are requested; None if unknown."""

    slot: Slot
    sample: Sample
    threads: int | None = None


class StepRun:
    """A level under measurement, from second `at_seconds` of the run.

    `known` is what is known so far of its throughput, from the samples that count.
    """

    def __init__(
        self, by: Quantity, level: float, purpose: StepPurpose, at_seconds: float, most_seconds: float
    ) -> None:
        self.level = level
        self.purpose = purpose
        self.at_seconds = at_seconds
        self.most_seconds = most_seconds
        self._by = by
        self._ticks: list[ProbeTick] = []
        self._kept: list[ProbeTick] = []
        self.known = estimate_mean([])
        self._connections: int | None = None
        self._threads: int | None = None

    def add_tick(self, tick: ProbeTick) -> None:
        """Process one sample."""
        if tick.slot.start_seconds < self.at_seconds - 1e-3:
            return
        connections = read("open_connections", tick.sample.load)
        self._connections = None if connections is None else int(connections)
        self._threads = tick.threads
        self._ticks = [] if self.is_connecting else [*self._ticks, tick]
        after = self._ticks[DISCARDED:]
        self._kept = after[settling_slots([each.slot for each in after]) :]
        self.known = estimate_mean([each.slot.tps for each in self._kept])

    def is_over(self, now: float) -> bool:
        """True if enough is known, or the time is up."""
        return self.is_stable or self.is_late(now)

    def is_late(self, now: float) -> bool:
        return now - self.at_seconds >= self.most_seconds - 1e-3

    @property
    def is_stable(self) -> bool:
        """True if the throughput is known precisely enough and does not move any more."""
        rates = [tick.slot.tps for tick in self._kept]
        return len(rates) >= FEWEST_TICKS and self.known.half_width <= self._wanted and is_at_rest(rates)

    @property
    def p95_ms(self) -> float | None:
        latencies = merge_histograms(tick.sample.tick.hist(RESPONSE) for tick in self._kept)
        return latencies.percentiles((95,))[0] / US_PER_MS if latencies.count else None

    def waiting(self) -> str:
        """What the step waits for, as text."""
        if self.is_connecting:
            return f"connections: {self._connections:,} of {self.level:,.0f} are open"
        if len(self._kept) < FEWEST_TICKS:
            return f"settled samples: {len(self._kept)} of {FEWEST_TICKS}"
        width = self.known.half_width
        known = f"±{100 * width:.1f} %" if math.isfinite(width) else "unknown"
        return f"a throughput known to ±{100 * self._wanted:.1f} %: now {known}"

    def finished(self, now: float, objectives: Sequence[Threshold], *, is_local: bool) -> ProbeStep:
        """The step as measured so far; `is_local` is True if the server runs on this host."""
        measured = total_tick(tick.sample.tick for tick in self._kept)
        seconds = math.fsum(tick.slot.seconds for tick in self._kept)
        known = self.known
        return ProbeStep(
            level=self.level,
            purpose=self.purpose,
            at_seconds=self.at_seconds,
            seconds=seconds,
            settling_seconds=max(0.0, now - self.at_seconds - seconds),
            tps=known.mean,
            half_width=known.half_width if math.isfinite(known.half_width) else None,
            is_stable=self.is_stable,
            qps=read("qps", measured) or 0.0,
            p95_ms=self.p95_ms,
            errors_percent=read("errors_percent", measured) or 0.0,
            missed=_missed(measured, objectives),
            evidence=self._evidence(is_local=is_local),
        )

    def _evidence(self, *, is_local: bool) -> Evidence:
        """That of the samples; the threads are those of the step, also if the server refused some."""
        found = collect_evidence([tick.sample for tick in self._kept], is_local=is_local)
        threads = self.level if self._by is Quantity.THREADS else found.threads
        return replace(found, threads=threads, connections=self._connections or found.connections)

    @property
    def is_connecting(self) -> bool:
        """Whether connections are still being opened. False where the server accepts no more."""
        if self._by is Quantity.RATE or self._connections is None:
            return False
        return self._connections < min(self.level, self._threads or self.level)

    @property
    def _wanted(self) -> float:
        """The half-width that will do; arrivals at random are not known better than chance lets them be."""
        if self._by is Quantity.THREADS:
            return WIDTH
        transactions = math.fsum(tick.slot.transactions for tick in self._kept)
        return max(WIDTH, CHANCE / math.sqrt(transactions)) if transactions else WIDTH


def _missed(step: Tick, objectives: Sequence[Threshold]) -> tuple[str, ...]:
    """The objectives that were not kept; one that cannot be judged was not."""
    return tuple(
        f"{objective.text}: {objective.measured_text(step)}"
        for objective in objectives
        if not objective.holds(step)
    )


MOST_THREADS = 1024
"""Default maximum: enough to see a knee."""

RESERVE, RESERVE_SHARE = 5, 20
"""Connections reserved for the operator: this number, or this share of what the server allows."""


def level_ceiling(order: ProbeOrder, sample: Sample) -> float:
    """The highest level: the requested one, limited so that connections of the operator remain."""
    if order.by is Quantity.RATE:
        return order.most or float(MAX_RATE)
    most = order.most or float(MOST_THREADS)
    allowed = sample.tick.levels.get("max_connections")
    if not allowed:
        return most
    others = max(
        0, (read("threads_connected", sample.server) or 0) - (read("open_connections", sample.load) or 0)
    )
    return max(1.0, min(most, allowed - others - max(RESERVE, allowed // RESERVE_SHARE)))


def probe_tick(sample: Sample, now: float, threads: int | None = None) -> ProbeTick:
    """A sample that was taken at this second of the run."""
    tick = sample.tick
    slot = Slot(
        end_seconds=now,
        seconds=tick.seconds or 1e-9,
        transactions=tick.sums.get("completed", 0),
        p95_ms=read("p95", tick),
    )
    return ProbeTick(slot, sample, threads)
