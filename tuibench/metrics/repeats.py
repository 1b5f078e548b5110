"""Repeated runs taken together: the mean of each figure, and how sure it is."""

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import fmean, stdev

import msgspec

from tuibench.metrics.student import t_95
from tuibench.model.sweep import CellResult, Figures, Mean, Point, SweepPlan

FIGURES = Figures.__struct_fields__


def mean_of(values: Sequence[float]) -> Mean:
    """Mean and 95 % interval by Student's t, of at least one value."""
    if len(values) < 2:
        return Mean(mean=values[0], half_width=None, count=1)
    half = t_95(len(values) - 1) * stdev(values) / sqrt(len(values))
    return Mean(mean=fmean(values), half_width=half, count=len(values))


def points(plan: SweepPlan, results: Iterable[CellResult]) -> tuple[Point, ...]:
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
    return tuple(_point(runs[key]) for key in wanted if key in runs)


def _point(runs: Sequence[CellResult]) -> Point:
    first = runs[0]
    columns = [msgspec.structs.asdict(run.figures) for run in runs if run.figures is not None]
    known = {name: [row[name] for row in columns if row[name] is not None] for name in FIGURES}
    return Point(
        case=first.cell.case,
        variant=first.cell.variant,
        threads=first.cell.threads,
        headline=first.headline,
        figures={name: mean_of(values) for name, values in known.items() if values},
        limited=any(run.limited for run in runs),
    )
