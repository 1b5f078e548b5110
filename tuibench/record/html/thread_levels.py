"""Figures of a run for each number of threads, because an average over several is meaningless."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from tuibench.metrics.figures import FIGURES
from tuibench.model.tick import Tick, total_tick
from tuibench.record.files.run import Run
from tuibench.record.html.markup import Markup, figure_table
from tuibench.units import count, decimal, pluralize

LEAST_SECONDS = 3.0
"""The minimum length of a level; the steps of a ramp are shorter."""


class ThreadLevel(NamedTuple):
    """A stretch with one number of threads. `p95_ms` is None without transactions."""

    threads: int
    from_seconds: float
    seconds: float
    tps: float
    p95_ms: float | None


def thread_levels(run: Run) -> list[ThreadLevel]:
    """The levels in time order; a repeated number of threads is a level of its own."""
    ticks = [sample.tick for sample in run.measured if sample.load is not None]
    stretches = (list(each) for _, each in groupby(ticks, lambda tick: tick.levels["threads"]))
    return [level for each in stretches if (level := _level(each)).seconds >= LEAST_SECONDS]


def _level(ticks: list[Tick]) -> ThreadLevel:
    whole = total_tick(ticks)
    return ThreadLevel(
        threads=int(ticks[0].levels["threads"]),
        from_seconds=ticks[0].end - ticks[0].seconds,
        seconds=whole.seconds,
        tps=FIGURES["tps"].value(whole) or 0.0,
        p95_ms=FIGURES["p95"].value(whole),
    )


def has_several(levels: list[ThreadLevel]) -> bool:
    return len({level.threads for level in levels}) > 1


def level_tiles(levels: list[ThreadLevel]) -> Iterator[tuple[str, str, str]]:
    """The level with the most transactions per second, instead of averages over all of them."""
    best = max(levels, key=lambda level: level.tps)
    words = f"with {pluralize(best.threads, 'thread')}, for {best.seconds:.0f} s"
    yield "most transactions per second", decimal(best.tps, 1), words
    if best.p95_ms is not None:
        yield "p95 there", f"{decimal(best.p95_ms, 1)} ms", "of its transactions"


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
