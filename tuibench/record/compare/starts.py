"""Grouping of runs by the server start that they were measured on.

Runs on one start are one observation of that start's level, so a verdict on two groups requires several
starts on either side (`across_starts`). Two single runs on the same start are compared by the noise of their
own ticks.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean

import msgspec

from tuibench.metrics.figures import Figure
from tuibench.metrics.inference import across_starts
from tuibench.metrics.inference.contrast import TickSeries, compare_figure, judge
from tuibench.model.results.comparison import ComparisonVerdict, Contrast
from tuibench.model.tick import total_tick
from tuibench.record.files.run import Run

TOLERANCE = 0.05
ROUNDING_SECONDS = 5.0
"""The uptime is in whole seconds, and read slightly before or after the start time of the run."""

Side = Sequence[Run]
SideTicks = Sequence[Sequence[TickSeries]]
"""For each start, the ticks of its runs."""


def by_start(side: Side) -> list[list[Run]]:
    """The runs of each start, in time order."""
    found: list[list[Run]] = []
    for run in sorted(side, key=_started):
        same = next((runs for runs in found if is_same_start(runs[0], run)), None)
        if same is None:
            found.append([run])
        else:
            same.append(run)
    return found


def is_same_start(one: Run, other: Run) -> bool:
    """True if two runs were measured on one server process."""
    is_same_server = one.plan.server.identity == other.plan.server.identity
    return is_same_server and abs(_started(one)[1] - _started(other)[1]) <= ROUNDING_SECONDS


def side_value(figure: Figure, side: SideTicks) -> float | None:
    """The level of a side: the mean of its starts; None if a run did not measure it."""
    levels = _levels(figure, side)
    if levels is None:
        return None
    starts = [fmean(start) for start in levels]
    return math.exp(fmean(map(math.log, starts))) if min(starts) > 0 else fmean(starts)


def compare_sides(figure: Figure, first: SideTicks, other: SideTicks, *, is_one_start: bool) -> Contrast:
    """Compare the figure of another side with that of the first; `is_one_start` if all runs were on one
    start.
    """
    if sum(map(len, first)) == sum(map(len, other)) == 1:
        found = compare_figure(figure, first[0][0], other[0][0])
        return (
            found if is_one_start else msgspec.structs.replace(found, verdict=ComparisonVerdict.CANNOT_TELL)
        )
    a, b = _levels(figure, first), _levels(figure, other)
    value = side_value(figure, other)
    if a is None or b is None or not side_value(figure, first):
        return Contrast(value=value)
    seen = across_starts.compare(a, b, tolerance=TOLERANCE)
    percent = seen.interval.percent
    is_known = math.isfinite(percent.low) and math.isfinite(percent.high)
    return Contrast(
        value=value,
        relative=1 + percent.estimate / 100,
        percent=percent.estimate,
        low=percent.low if is_known else None,
        high=percent.high if is_known else None,
        verdict=judge(figure.better, seen.verdict),
    )


def start_warnings(sides: Sequence[Side], names: Sequence[str]) -> Iterator[str]:
    """The warning that start-to-start differences are unknown, and so there is no verdict."""
    for side, name in zip(sides[1:], names[1:], strict=True):
        is_one = len(by_start([*sides[0], *side])) == 1
        is_single = min(len(by_start(sides[0])), len(by_start(side))) == 1
        if is_single and not (is_one and len(sides[0]) == len(side) == 1):
            yield (
                f"{names[0]} and {name}: only one start of the server per side; starts of one server often "
                "differ by 5 to 10 %, so there is no verdict (give several: compare A1,A2,A3 B1,B2,B3)"
            )


def _levels(figure: Figure, side: SideTicks) -> list[list[float]] | None:
    found = [[figure.value(total_tick(ticks)) for ticks in start] for start in side]
    known = [[level for level in start if level is not None] for start in found]
    return known if found == known else None


def _started(run: Run) -> tuple[str, float]:
    """Server and time of its start. Starts of a server that does not report its uptime count as one."""
    uptime = run.plan.server.uptime_seconds
    return run.plan.server.identity, 0.0 if uptime is None else run.plan.started_at - uptime
