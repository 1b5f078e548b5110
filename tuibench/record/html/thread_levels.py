"""Figures of a run for each number of threads, because an average over several is meaningless."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from tuibench.model.measurements.sample import LoadSample
from tuibench.record.files.run import Run
from tuibench.record.html.markup import Markup, figure_table
from tuibench.units import count, decimal, pluralize

LEAST_SECONDS = 3.0
"""The minimum length of a level; the steps of a ramp are shorter."""


class ThreadLevel(NamedTuple):
    """A stretch with one number of threads. `p95_ms` is the mean of its ticks, None without transactions."""

    threads: int
    from_seconds: float
    seconds: float
    tps: float
    p95_ms: float | None


def thread_levels(run: Run) -> list[ThreadLevel]:
    """The levels in time order; a repeated number of threads is a level of its own."""
    ticks = [(sample.elapsed_seconds, sample.load) for sample in run.measured if sample.load is not None]
    stretches = (list(each) for _, each in groupby(ticks, lambda tick: tick[1].threads))
    return [level for each in stretches if (level := _level(each)).seconds >= LEAST_SECONDS]


def _level(ticks: list[tuple[float, LoadSample]]) -> ThreadLevel:
    seconds = sum(load.seconds for _, load in ticks)
    latencies = [load.latency.p95 for _, load in ticks if load.latency is not None]
    return ThreadLevel(
        threads=ticks[0][1].threads,
        from_seconds=ticks[0][0] - ticks[0][1].seconds,
        seconds=seconds,
        tps=sum(load.transactions_per_second * load.seconds for _, load in ticks) / (seconds or 1e-9),
        p95_ms=sum(latencies) / len(latencies) if latencies else None,
    )


def has_several(levels: list[ThreadLevel]) -> bool:
    return len({level.threads for level in levels}) > 1


def level_tiles(levels: list[ThreadLevel]) -> Iterator[tuple[str, str, str]]:
    """The level with the most transactions per second, instead of averages over all of them."""
    best = max(levels, key=lambda level: level.tps)
    words = f"with {pluralize(best.threads, 'thread')}, for {best.seconds:.0f} s"
    yield "most transactions per second", decimal(best.tps, 1), words
    if best.p95_ms is not None:
        yield "p95 there", f"{decimal(best.p95_ms, 1)} ms", "mean over its duration"


def level_table(levels: list[ThreadLevel]) -> Markup | None:
    """A row for each level; None for a run with one number of threads."""
    if not has_several(levels):
        return None
    rows = [
        (
            count(level.threads),
            f"{max(0.0, level.from_seconds):.0f}",
            f"{level.seconds:.0f}",
            decimal(level.tps, 1),
            "" if level.p95_ms is None else decimal(level.p95_ms, 1),
        )
        for level in levels
    ]
    return figure_table(("threads", "from second", "seconds", "TPS", "p95, ms"), rows, wide=False)
