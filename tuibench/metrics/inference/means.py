"""Mean of a short autocorrelated series with its 95 % confidence interval, and means over repeated runs.

Adjacent ticks are correlated: n of them are worth n·(1−φ)/(1+φ) independent ones in an AR(1) series (Box,
Jenkins & Reinsel, Time Series Analysis, ch. 2). φ is the conservative estimate of `bootstrap`, and Student's
t is used with the remaining degrees of freedom.
"""

import math
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from tuibench.metrics.figures import MAIN_FIGURES, OTHER_FIGURES
from tuibench.metrics.inference import students_t
from tuibench.metrics.inference.bootstrap import LEVEL, autocorrelation
from tuibench.model.measurements.operation_cost import Resource
from tuibench.model.results.sweep import CellFigures, CellResult, Mean, SweepPlan, SweepPoint

FEWEST_VALUES = 4


class MeanEstimate(NamedTuple):
    """A mean; `half_width` is that of its 95 % interval as a share of it, infinite if unknown."""

    mean: float
    half_width: float


def estimate_mean(values: Sequence[float]) -> MeanEstimate:
    """The mean of a settled series."""
    count = len(values)
    if not count:
        return MeanEstimate(0.0, math.inf)
    mean = math.fsum(values) / count
    if count < FEWEST_VALUES or mean <= 0:
        return MeanEstimate(mean, math.inf)
    phi = autocorrelation(values)
    independent = count * (1 - phi) / (1 + phi)
    error = stdev(values) / math.sqrt(independent)
    return MeanEstimate(mean, students_t.two_sided(LEVEL, max(2.0, independent - 1)) * error / mean)


COSTS = tuple(
    f"{resource}_per_{operation}" for operation in ("transaction", "query") for resource in Resource
)
"""The cost of an operation."""
MORE = tuple(
    figure.name
    for figure in (*MAIN_FIGURES, *OTHER_FIGURES)
    if figure.name not in CellFigures.__struct_fields__
    and f"{figure.name}_ms" not in CellFigures.__struct_fields__
)
"""Figures of the table beside those with a field of their own."""
FIGURES = (
    *(name for name in CellFigures.__struct_fields__ if name not in ("per_transaction", "per_query", "more")),
    *MORE,
    *COSTS,
)
"""All figures of a run, by name."""


def mean_with_interval(values: Sequence[float]) -> Mean:
    """Mean and 95 % interval by Student's t, of at least one value."""
    if len(values) < 2:
        return Mean(mean=values[0], half_width=None, count=1)
    half = students_t.two_sided(LEVEL, len(values) - 1) * stdev(values) / sqrt(len(values))
    return Mean(mean=fmean(values), half_width=half, count=len(values))


def sweep_points(plan: SweepPlan, results: Iterable[CellResult]) -> tuple[SweepPoint, ...]:
    """Each combination that has a result, in the order of the plan."""
    runs: dict[tuple[str, str, int], list[CellResult]] = {}
    for result in results:
        if result.outcome == "done" and result.figures is not None:
            cell = result.cell
            runs.setdefault((cell.case.name, cell.variant.name, cell.threads), []).append(result)
    wanted = (
        (case.name, variant.name, threads)
        for case in plan.cases
        for variant in plan.variants
        for threads in plan.threads
    )
    return tuple(_sweep_point(runs[key]) for key in wanted if key in runs)


def _sweep_point(runs: Sequence[CellResult]) -> SweepPoint:
    first = runs[0]
    measured = [run.figures for run in runs if run.figures is not None]
    known = {
        name: [value for each in measured if (value := each.value(name)) is not None] for name in FIGURES
    }
    return SweepPoint(
        case=first.cell.case,
        variant=first.cell.variant,
        threads=first.cell.threads,
        headline=first.headline,
        figures={name: mean_with_interval(values) for name, values in known.items() if values},
        limited=any(run.limited for run in runs),
    )
