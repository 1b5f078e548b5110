"""Comparison of server programs relative to the first: each test with its interval over the starts, and one
table.

A start is one observation (`across_starts`). The geometric mean of all tests is calculated within each start.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from msgspec.structs import replace

from tuibench import units
from tuibench.document import Table, write_csv
from tuibench.metrics import inference
from tuibench.metrics.inference import Interval
from tuibench.model.effect import Verdict
from tuibench.model.sweep import ServerBuild, Sweep, VersionComparison, VersionsSetup
from tuibench.sweep.tables import rate_text

TOLERANCE = 0.05
FEWEST_STARTS = 2
FAR = 100
"""A bound beyond it carries no information."""

GEOMETRIC_MEAN = "geometric mean"
DOUBTFUL, EQUAL = "~", "="
MARKS = {
    Verdict.CANNOT_TELL: (DOUBTFUL, "too noisy to tell: the interval includes 1, and more than ±5 %"),
    Verdict.EQUAL: (EQUAL, "equal within ±5 %"),
}

Levels = dict[int, float]
"""A figure by start."""


def version_comparisons(sweep: Sweep) -> tuple[VersionComparison, ...]:
    """Compare every build in every test; the geometric means come last, of builds that have measured every
    test.
    """
    setup = _setup(sweep)
    levels = _levels(sweep)
    first, *others = [build.name for build in setup.builds]
    tests = list(dict.fromkeys((case, threads) for case, threads, _ in levels))
    headlines = {result.cell.case.name: result.headline for result in sweep.done}
    found = [
        _compared(
            levels.get((case, threads, first), {}),
            levels[case, threads, build],
            VersionComparison(build=build, case=case, threads=threads, headline=headlines[case]),
        )
        for case, threads in tests
        for build in (first, *others)
        if (case, threads, build) in levels
    ]
    if len(tests) < 2:
        return tuple(found)
    means = {
        build: _geometric_means([levels.get((*test, build), {}) for test in tests])
        for build in (first, *others)
    }
    over_all = (
        _compared(means[first], means[build], VersionComparison(build=build))
        for build in (first, *others)
        if means[build] and means[first]
    )
    return (*found, *over_all)


def _setup(sweep: Sweep) -> VersionsSetup:
    setup = sweep.record.versions
    assert setup is not None  # noqa: S101
    return setup


def _levels(sweep: Sweep) -> dict[tuple[str, int, str], Levels]:
    """Levels by test, threads and build, in the order of the plan."""
    plan = sweep.record.plan
    found: dict[tuple[str, int, str], Levels] = {
        (case.name, threads, variant.name): {}
        for case in plan.cases
        for threads in plan.threads
        for variant in plan.variants
    }
    for result in sweep.done:
        cell = result.cell
        if result.figures is not None:
            found[cell.case.name, cell.threads, cell.variant.name][cell.repeat] = result.figures.headline
    return {key: levels for key, levels in found.items() if levels}


def _geometric_means(tests: Sequence[Levels]) -> Levels:
    """Geometric means of the starts in which every test was measured."""
    starts = set.intersection(*(set(levels) for levels in tests)) if tests else set()
    return {
        start: math.exp(fmean(math.log(levels[start]) for levels in tests))
        for start in sorted(starts)
        if all(levels[start] > 0 for levels in tests)
    }


def _compared(first: Levels, here: Levels, one: VersionComparison) -> VersionComparison:
    levels = tuple(here[start] for start in sorted(here))
    one = replace(one, levels=levels)
    if not first or not fmean(first.values()):
        return one
    if here is first:
        return replace(one, relative=1.0, verdict=Verdict.EQUAL)
    seen = inference.compare(
        [[level] for level in first.values()], [[level] for level in levels], tolerance=TOLERANCE
    )
    estimate, low, high = _ratios(seen.interval)
    is_known = math.isfinite(low) and math.isfinite(high)
    return replace(
        one,
        relative=estimate,
        low=low if is_known else None,
        high=high if is_known else None,
        verdict=seen.verdict,
    )


def _ratios(interval: Interval) -> Iterator[float]:
    return (1 + percent / 100 for percent in interval.percent)


# Tables


def versions_table(sweep: Sweep) -> Table:
    """A row per test, a column per build; the first has its figure beside its 1."""
    builds = _setup(sweep).builds
    comparisons = version_comparisons(sweep)
    found = {(one.case, one.threads, one.build): one for one in comparisons}
    tests = list(dict.fromkeys((one.case, one.threads) for one in comparisons))
    rows = tuple(_row(test, builds, found) for test in tests)
    starts = max((len(one.levels) for one in comparisons), default=0)
    return Table(
        title=f"relative to {builds[0].name} (1, with its figure); {_interval_words(starts)}",
        header=("test", "threads", *(build.name for build in builds)),
        rows=rows,
        words=1,
        notes=tuple(_notes(sweep, comparisons, starts)),
    )


def _row(
    test: tuple[str, int | None],
    builds: Sequence[ServerBuild],
    found: dict[tuple[str, int | None, str], VersionComparison],
) -> tuple[str, ...]:
    case, threads = test
    cells = [comparison_cell(found.get((case, threads, build.name)), build is builds[0]) for build in builds]
    return (case or GEOMETRIC_MEAN, "" if threads is None else str(threads), *cells)


def comparison_cell(one: VersionComparison | None, is_first: bool = False) -> str:
    """0.87 (0.82..0.93), with a mark if it is not significant; for the first build the figure itself."""
    if one is None:
        return units.DASH
    if is_first:
        return f"1 ({rate_text(fmean(one.levels))} {one.headline})" if one.case else "1"
    if one.relative is None:
        return units.DASH
    if one.low is None or one.high is None:
        return f"{one.relative:.2f}"
    mark = MARKS[one.verdict][0] if one.verdict in MARKS else ""
    return f"{one.relative:.2f} ({interval_text(one.low, one.high)}){' ' * bool(mark)}{mark}"


def interval_text(low: float, high: float) -> str:
    """0.82..0.93; an upper bound beyond `FAR` is shown as >FAR."""
    return f"{low:.2f}..{high:.2f}" if high < FAR else f"{low:.2f}..>{FAR}"


def _interval_words(starts: int) -> str:
    if starts < FEWEST_STARTS:
        return "one start: no intervals"
    return f"95 % intervals over {starts} starts"


def _notes(sweep: Sweep, comparisons: Sequence[VersionComparison], starts: int) -> Iterator[str]:
    if starts < FEWEST_STARTS:
        yield (
            "starts of one server often differ by 5 to 10 %: --starts=5 distinguishes a difference from "
            "chance"
        )
        return
    compared = [one for one in comparisons if one.low is not None]
    for verdict, (mark, words) in MARKS.items():
        if any(one.verdict is verdict for one in compared):
            yield f"{mark} {words}"
    by_chance = len(compared) / 20
    if by_chance >= 1:
        yield f"of {len(compared)} intervals about {by_chance:.0f} exclude the true ratio by chance"
    if any(result.limited for result in sweep.done):
        yield "in some runs the load generator was the bottleneck: their ratios are too close to 1"


def versions_csv(sweep: Sweep) -> str:
    """A row per test and build; the geometric mean has no test."""
    header = (
        "test",
        "threads",
        "build",
        "headline_name",
        "starts",
        "mean",
        "relative",
        "low",
        "high",
        "verdict",
    )
    rows = tuple(
        (
            one.case,
            "" if one.threads is None else one.threads,
            one.build,
            one.headline,
            len(one.levels),
            fmean(one.levels),
            one.relative,
            one.low,
            one.high,
            str(one.verdict),
        )
        for one in version_comparisons(sweep)
    )
    return write_csv(header, rows)


def differing_variables(builds: Iterable[ServerBuild]) -> list[tuple[str, ...]]:
    """Settings that all builds have, with different values: the name, then the value of each."""
    builds = list(builds)
    shared = set.intersection(*(set(build.variables) for build in builds)) if builds else set()
    return [
        (name, *(build.variables[name] for build in builds))
        for name in sorted(shared)
        if len({build.variables[name] for build in builds}) > 1 and not name.startswith("version")
    ]
