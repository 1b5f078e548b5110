"""The tables of a sweep: the headline figure against threads for each variant, and what stood beside it."""

from collections.abc import Callable, Iterator, Sequence

from tuibench import units
from tuibench.metrics.repeats import points
from tuibench.model.sweep import TPS, Case, Mean, Point, Sweep, Variant
from tuibench.record.grid import Grid

AS_IT_STANDS = "as it stands"
"""The variant without any settings, where it needs a name."""

BESIDE: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("tps", TPS, lambda value: number(value)),
    ("qps", "QPS", lambda value: number(value)),
    ("avg_ms", "latency avg (ms)", lambda value: f"{value:.2f}"),
    ("p95_ms", "latency p95 (ms)", lambda value: f"{value:.2f}"),
    ("errors", "errors", lambda value: f"{value:,.4g}"),
    ("slow_queries", "slow queries", lambda value: f"{value:,.4g}"),
    ("open_tables", "open tables", lambda value: f"{value:,.0f}"),
    ("questions_per_second", "Questions/s", lambda value: number(value)),
    ("cpu_server", "CPU server (%)", lambda value: f"{value:.0f}"),
    ("cpu_tuibench", "CPU tuibench (%)", lambda value: f"{value:.0f}"),
    ("memory_server_bytes", "memory server", units.data),
)
"""A figure of each run, what it is called, and how its mean is written."""

LIMITED = "*"
FEW = 100
"""Rates below it are told with decimals."""


def number(value: float) -> str:
    """A rate with three digits that count, or all before the point."""
    return f"{value:,.0f}" if value >= FEW else f"{value:.3g}"


def grids(sweep: Sweep) -> tuple[Grid, ...]:
    """Those of each case, one after the other."""
    return tuple(grid for case in sweep.record.plan.cases for grid in grids_of(sweep, case))


def grids_of(sweep: Sweep, case: Case) -> Iterator[Grid]:
    """The headline table of a case, then one table for each variant; none as long as nothing is known."""
    plan = sweep.record.plan
    known = [point for point in points(plan, sweep.results) if point.case.name == case.name]
    if not known:
        return
    variants = [one for one in plan.variants if any(point.variant.name == one.name for point in known)]
    threads = [one for one in plan.threads if any(point.threads == one for point in known)]
    found = {(point.variant.name, point.threads): point for point in known}
    yield _headline(sweep, case, variants, threads, found)
    for variant in variants:
        yield _beside(case, variant, threads, found, headline=known[0].headline)


Found = dict[tuple[str, int], Point]


def _headline(
    sweep: Sweep, case: Case, variants: Sequence[Variant], threads: Sequence[int], found: Found
) -> Grid:
    plan, name = sweep.record.plan, next(iter(found.values())).headline
    rows = [(label(one), *(_headline_cell(found.get((one.name, n))) for n in threads)) for one in variants]
    rows += [
        (f"{label(one)} : {label(variants[0])}", *(_ratio(found, one, variants[0], n) for n in threads))
        for one in variants[1:]
    ]
    runs = f"{plan.repeats} runs" if plan.repeats > 1 else "one run"
    mean = ", mean ± 95 % interval" if plan.repeats > 1 else ""
    size = "; ".join([case.size, *shared(plan.variants)])
    return Grid(
        title=f"{case.name} ({size}): {name} by threads{mean}; {runs} of {plan.base.seconds:g} s",
        header=("threads", *map(str, threads)),
        rows=tuple(rows),
        notes=(
            f"{LIMITED} client-limited: the load generator is the bottleneck, or too late to time it well",
        )
        * any(point.limited for point in found.values()),
    )


def shared(variants: Sequence[Variant]) -> list[str]:
    """The settings of all variants alike, which is why none of them is called by them."""
    first = variants[0]
    alike = {
        name: value
        for name, value in first.settings.items()
        if all(one.settings.get(name) == value for one in variants)
    }
    words = [f"{name}={value}" for name, value in alike.items()]
    return [word for word in words if word not in first.name.split(", ")]


def _headline_cell(point: Point | None) -> str:
    if point is None:
        return units.DASH
    return plus_minus(point.figures["headline"]) + LIMITED * point.limited


def plus_minus(mean: Mean) -> str:
    """A mean with its interval, if it has one: 1,234 ± 56."""
    if mean.half_width is None:
        return number(mean.mean)
    write = number if mean.mean < FEW else units.count
    return f"{number(mean.mean)} ± {write(mean.half_width)}"


def _ratio(found: Found, one: Variant, first: Variant, threads: int) -> str:
    there, here = found.get((first.name, threads)), found.get((one.name, threads))
    if there is None or here is None or not there.figures["headline"].mean:
        return units.DASH
    return f"{here.figures['headline'].mean / there.figures['headline'].mean:.2f}"


def _beside(case: Case, variant: Variant, threads: Sequence[int], found: Found, *, headline: str) -> Grid:
    rows = (
        (words, *(_cell(found.get((variant.name, n)), figure, write) for n in threads))
        for figure, words, write in BESIDE
        if words != headline
    )
    known = tuple(row for row in rows if set(row[1:]) != {units.DASH})
    return Grid(title=f"{case.name}, {label(variant)}", header=("threads", *map(str, threads)), rows=known)


def _cell(point: Point | None, figure: str, write: Callable[[float], str]) -> str:
    mean = point.figures.get(figure) if point else None
    return units.DASH if mean is None else write(mean.mean)


def label(variant: Variant) -> str:
    return variant.name or AS_IT_STANDS
