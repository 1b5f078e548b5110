"""Tables of a sweep and of a comparison of server programs, without their format.

- The summary has the headline figure against threads for each variant, then related figures.
- The table of runs has a row per run, with the conditions that affect the result.
- Relative tables have a row per case and number of threads. Their first column is 1.00, the others are ratios
  to it. The columns are the variants of one sweep, or the servers of several sweeps.

Private servers are compared over their starts: the figure of a start is one observation, because the starts
of one server differ from each other.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from types import MappingProxyType

from msgspec.structs import replace

from tuibench.base import units
from tuibench.base.document import Table, write_csv
from tuibench.features.compare.audit import (
    CAVEAT_MARK,
    PROGRAM,
    about_servers,
    audit,
    audit_table,
    caveat,
    decided_by,
)
from tuibench.metrics import inference
from tuibench.metrics.costs import resource_text
from tuibench.metrics.inference import sweep_points
from tuibench.model.effect import Verdict
from tuibench.model.findings import Mean, Resource
from tuibench.model.settings import ServerVariable
from tuibench.model.summary import SetupDifference, struct_differences
from tuibench.model.sweep import (
    TPS,
    CellResult,
    ServerBuild,
    Sweep,
    SweepCase,
    SweepPoint,
    SweepVariant,
    VersionComparison,
)

AS_IT_STANDS = "unchanged"
"""The label of the variant without settings."""

SIDE_FIGURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("tps", TPS, partial(units.significant, digits=3)),
    ("qps", "QPS", partial(units.significant, digits=3)),
    ("avg_ms", "latency avg (ms)", lambda value: f"{value:.2f}"),
    ("p50", "latency p50 (ms)", lambda value: f"{value:.2f}"),
    ("p95_ms", "latency p95 (ms)", lambda value: f"{value:.2f}"),
    ("p99", "latency p99 (ms)", lambda value: f"{value:.2f}"),
    ("errors", "errors", partial(units.significant, digits=4)),
    ("slow_queries", "slow queries", partial(units.significant, digits=4)),
    ("open_tables", "open tables", lambda value: f"{value:,.0f}"),
    ("questions_per_second", "Questions/s", partial(units.significant, digits=3)),
    ("cpu_server", "CPU server (%)", lambda value: f"{value:.0f}"),
    ("cpu_tuibench", "CPU tuibench (%)", lambda value: f"{value:.0f}"),
    ("memory_server_bytes", "memory server", partial(units.binary_size, in_column=True)),
    *(
        (
            f"{resource}_per_transaction",
            f"{resource.facts.label}/trx",
            partial(resource_text, resource, in_column=True),
        )
        for resource in Resource
    ),
)
"""A figure of each run, its title, and the format of its mean."""

LIMITED_MARK = "*"


def summary_tables(sweep: Sweep) -> tuple[Table, ...]:
    """The tables of all cases."""
    return tuple(grid for case in sweep.record.plan.cases for grid in case_tables(sweep, case))


def case_tables(sweep: Sweep, case: SweepCase) -> Iterator[Table]:
    """The headline table of a case, then one table for each variant; empty without results."""
    plan = sweep.record.plan
    known = [point for point in sweep_points(plan, sweep.results) if point.case.name == case.name]
    if not known:
        return
    variants = [one for one in plan.variants if any(point.variant.name == one.name for point in known)]
    threads = [one for one in plan.threads if any(point.threads == one for point in known)]
    found = {(point.variant.name, point.threads): point for point in known}
    yield _headline(sweep, case, variants, threads, found)
    for variant in variants:
        yield _side_table(case, variant, threads, found, headline=known[0].headline)


Found = dict[tuple[str, int], SweepPoint]


def _headline(
    sweep: Sweep, case: SweepCase, variants: Sequence[SweepVariant], threads: Sequence[int], found: Found
) -> Table:
    plan, name = sweep.record.plan, next(iter(found.values())).headline
    rows = [
        (variant_label(one), *(_headline_cell(found.get((one.name, n))) for n in threads)) for one in variants
    ]
    comparisons = version_comparisons(sweep)
    compared = {(one.build, one.threads): one for one in comparisons if one.case == case.name}
    rows += [
        (
            f"{variant_label(one)} : {variant_label(variants[0])}",
            *(
                comparison_cell(compared[one.name, n])
                if (one.name, n) in compared
                else _ratio(found, one, variants[0], n)
                for n in threads
            ),
        )
        for one in variants[1:]
    ]
    runs = f"{plan.repeats} runs" if plan.repeats > 1 else "one run"
    mean = ", mean ± 95 % interval" if plan.repeats > 1 else ""
    size = "; ".join([case.size, *shared_settings(plan.variants)])
    return Table(
        title=f"{case.name} ({size}): {name} by threads{mean}; {runs} of {plan.base.seconds:g} s",
        header=("threads", *map(str, threads)),
        rows=tuple(rows),
        notes=(
            f"{LIMITED_MARK} client-limited: the load generator is the bottleneck, or too slow to measure "
            "latency exactly",
        )
        * any(point.limited for point in found.values())
        + tuple(_notes(sweep, [one for one in comparisons if one.build != plan.variants[0].name])),
    )


def sweep_answer(sweep: Sweep) -> tuple[str, ...]:
    """A sentence for each case: the combination with the highest headline figure, and the number of others
    whose intervals overlap with it.
    """
    known = sweep_points(sweep.record.plan, sweep.results)
    lines = []
    for case in sweep.record.plan.cases:
        own = [point for point in known if point.case.name == case.name]
        if not own:
            continue
        best = max(own, key=lambda point: point.figures["headline"].mean)
        most = best.figures["headline"]
        alike = sum(point is not best and _overlap(point.figures["headline"], most) for point in own)
        others = f"; {units.pluralize(alike, 'other combination')} not clearly less" if alike else ""
        lines.append(f"{case.name}: most {best.headline} {_place(best)}, {plus_minus(most)}{others}.")
    return tuple(lines)


def _place(point: SweepPoint) -> str:
    """A combination in words: with unsafe 0/0 and 4 threads."""
    threads = units.pluralize(point.threads, "thread")
    return f"with {point.variant.name} and {threads}" if point.variant.name else f"with {threads}"


def versions_answer(sweep: Sweep) -> tuple[str, ...]:
    """A sentence for each build against the first one, over all tests, or in the only test."""
    comparisons = version_comparisons(sweep)
    tests = {(one.case, one.threads) for one in comparisons if one.case}
    first = sweep.record.plan.variants[0].name
    decisive = [
        one for one in comparisons if one.build != first and (not one.case if len(tests) > 1 else one.case)
    ]
    headline = next((one.headline for one in comparisons if one.headline), TPS)
    over = f", the geometric mean of {len(tests)} tests" if len(tests) > 1 else ""
    return tuple(
        f"{one.build} against {first}: {headline} {_relative_words(one)}{over}."
        for one in decisive
        if one.relative is not None
    )


def _relative_words(one: VersionComparison) -> str:
    assert one.relative is not None  # noqa: S101
    percent = 100 * (one.relative - 1)
    if one.low is None or one.high is None:
        return f"{units.difference(percent)} on one start"
    edges = (100 * (edge - 1) for edge in (one.low, one.high))
    estimate, interval = units.difference_and_interval(percent, *edges)
    between = f" ({interval})" if interval else ""
    if one.verdict is Verdict.CANNOT_TELL:
        return f"{inference.TOO_NOISY}{between}"
    words = f"{estimate}{between}"
    return f"equal within ±{100 * TOLERANCE:.0f} %{between}" if one.verdict is Verdict.EQUAL else words


def shared_settings(variants: Sequence[SweepVariant]) -> list[str]:
    """The settings that all variants have in common, which are not part of their names."""
    first = variants[0]
    alike = {
        name: value
        for name, value in first.settings.items()
        if all(one.settings.get(name) == value for one in variants)
    }
    words = [f"{name}={value}" for name, value in alike.items()]
    return [word for word in words if word not in first.name.split(", ")]


def _headline_cell(point: SweepPoint | None) -> str:
    if point is None:
        return units.DASH
    return plus_minus(point.figures["headline"]) + LIMITED_MARK * point.limited


def plus_minus(mean: Mean) -> str:
    """A mean with its interval, if it has one: 1,234 ± 56."""
    if mean.half_width is None:
        return units.significant(mean.mean, 3)
    write = partial(units.significant, digits=3) if mean.mean < 100 else units.count
    return f"{units.significant(mean.mean, 3)} ± {write(mean.half_width)}"


def _ratio(found: Found, one: SweepVariant, first: SweepVariant, threads: int) -> str:
    there, here = found.get((first.name, threads)), found.get((one.name, threads))
    if there is None or here is None or not there.figures["headline"].mean:
        return units.DASH
    return f"{here.figures['headline'].mean / there.figures['headline'].mean:.2f}"


def _side_table(
    case: SweepCase, variant: SweepVariant, threads: Sequence[int], found: Found, *, headline: str
) -> Table:
    rows = (
        (words, *(_cell(found.get((variant.name, n)), figure, write) for n in threads))
        for figure, words, write in SIDE_FIGURES
        if words != headline
    )
    known = tuple(row for row in rows if set(row[1:]) != {units.DASH})
    return Table(
        title=f"{case.name}, {variant_label(variant)}", header=("threads", *map(str, threads)), rows=known
    )


def _cell(point: SweepPoint | None, figure: str, write: Callable[[float], str]) -> str:
    mean = point.figures.get(figure) if point else None
    return units.DASH if mean is None else write(mean.mean)


def variant_label(variant: SweepVariant) -> str:
    return variant.name or AS_IT_STANDS


COLUMNS = (
    "CPU",
    "Mem",
    "Ping",
    "Binlog",
    "Threads",
    "Table Size",
    "Files Size",
    "CPU Used",
    "Mem Used",
    TPS,
    "QPS",
    "ERR",
    "Latency",
)

NOTES = (
    "CPU Used, Mem Used: the server's process, the former as a share of its host; Latency: 95th percentile",
)
WITHOUT_BINLOG = {"off", "0", "false", "no"}


def runs_table(sweep: Sweep) -> Table:
    """The runs that count, in the order of their ends. Profile, settings and run have a column only if there
    are several.
    """
    plan = sweep.record.plan
    shown = {
        "Profile": len(plan.cases) > 1,
        "Settings": len(plan.variants) > 1,
        "Run": plan.repeats > 1,
    }
    before = tuple(name for name, is_shown in shown.items() if is_shown)
    rows = []
    for result in sweep.done:
        cell = result.cell
        words = {"Profile": cell.case.name, "Settings": variant_label(cell.variant), "Run": str(cell.repeat)}
        rows.append((*(words[name] for name in before), *_row(sweep, result)))
    return Table(
        title="", header=(*before, *_columns(sweep)), rows=tuple(rows), words=len(before), notes=NOTES
    )


def _columns(sweep: Sweep) -> tuple[str, ...]:
    """The columns of the table; the column TPS is named after the profiles' headline figure."""
    names = " or ".join(dict.fromkeys(result.headline for result in sweep.done))
    return tuple(names or TPS if column == TPS else column for column in COLUMNS)


def _row(sweep: Sweep, result: CellResult) -> tuple[str, ...]:
    cell, figures = result.cell, result.figures
    if not figures:
        return (units.DASH,) * len(COLUMNS)
    return (
        units.count(result.cores),
        units.binary_size(result.memory_total_bytes),
        units.milliseconds(ping_ms(sweep)),
        "on" if has_binlog(sweep, cell.variant) else "off",
        str(cell.threads),
        cell.case.size,
        units.binary_size(data_files_bytes(sweep, cell.case.data), in_column=True),
        units.percent(figures.get("cpu_server")),
        units.binary_size(figures.get("memory_server_bytes"), in_column=True),
        units.significant(figures["headline"], 3),
        units.significant(figures["qps"], 3),
        f"{figures['errors']:,.0f}",
        units.milliseconds(figures.get("p95_ms")),
    )


def ping_ms(sweep: Sweep) -> float | None:
    """The round trip including the plan's simulated delay; None if unknown."""
    known = sweep.record.surroundings.ping_ms
    return None if known is None else known + sweep.record.plan.base.client_delay_ms


def has_binlog(sweep: Sweep, variant: SweepVariant) -> bool:
    """True if the writes of the load go to the binary log."""
    binlog = variant.settings.get("sql_log_bin", "on").lower()
    return sweep.record.surroundings.binlog and binlog not in WITHOUT_BINLOG


def data_files_bytes(sweep: Sweep, data: str) -> int | None:
    """The size of the files of a case's tables before its first cell; None if unknown."""
    return next((one.files_bytes for one in sweep.data if one.data == data), None)


OVERLAPPING = "~"
NOTE = f"{OVERLAPPING} the 95 % intervals of both overlap: it could be start-to-start variation"

MAY_DIFFER = ("base.seed", "prepare", "cleanup", "order")
"""Fields of the plan in which two compared sweeps may differ."""


RowKey = tuple[str, str, int]
"""A row of a relative table: case, variant, threads. The variant is empty if the variants are the columns."""


def sweep_audit(sweep: Sweep) -> tuple[SetupDifference, ...]:
    """The differences in effect between the builds of a sweep's private servers, over all their starts."""
    builds = _audited_builds(sweep)
    if len(builds) < 2:
        return ()
    sides = [
        [start.around for start in sweep.starts if start.build == build.name and start.around is not None]
        for build in builds
    ]
    every = [option for build in builds for option in build.options]
    varied = [option for option in every if not all(option in build.options for build in builds)]
    intended = set(decided_by(option.removeprefix("--").partition("=")[0] for option in varied))
    if len({build.path for build in builds}) > 1:
        intended |= {*PROGRAM}
    if len({build.limits for build in builds}) > 1:
        intended |= decided_by([ServerVariable.BUFFER_POOL_SIZE])
    return audit(sides, intended)


def _audited_builds(sweep: Sweep) -> list[ServerBuild]:
    """The builds that were started; empty if the first one was not, as nothing can then be compared."""
    setup = sweep.record.versions or sweep.record.servers
    known = {start.build for start in sweep.starts if start.around is not None}
    if setup is None or setup.builds[0].name not in known:
        return []
    return [build for build in setup.builds if build.name in known]


def build_caveats(sweep: Sweep) -> dict[str, str]:
    """The caveat of each build's comparison with the first one, by build; builds without one are absent."""
    found = sweep_audit(sweep)
    names = [build.name for build in _audited_builds(sweep)]
    texts = {name: caveat(found, side) for side, name in enumerate(names) if side}
    return {name: text for name, text in texts.items() if text}


def audit_tables(sweep: Sweep) -> tuple[Table, ...]:
    """The table of the differences in effect between the builds; empty if there are none."""
    if not (found := sweep_audit(sweep)):
        return ()
    names = [build.name for build in _audited_builds(sweep)]
    return (replace(audit_table(found, names), title="what differs in effect"),)


def caveat_notes(caveats: Mapping[str, str]) -> tuple[str, ...]:
    """Notes with the caveat of each name."""
    return tuple(f"{CAVEAT_MARK} {name}: {text}" for name, text in caveats.items())


def servers_table(sweeps: Sequence[Sweep]) -> Table:
    """Sweeps of the same plan compared: one column per server."""
    columns = [
        {(one.case.name, variant_label(one.variant), one.threads): one.figures["headline"] for one in known}
        for known in (sweep_points(sweep.record.plan, sweep.results) for sweep in sweeps)
    ]
    around = [sweep.record.surroundings for sweep in sweeps]
    found = audit([[each] for each in around], about_servers(each.server for each in around))
    names = _names(sweeps)
    caveats = {name: text for side, name in enumerate(names) if (text := caveat(found, side))}
    return _grid(names, columns, caveats, notes=tuple(_unlike(sweeps)))


def variants_table(sweep: Sweep) -> Table:
    """The variants of one sweep relative to its first."""
    if sweep.record.servers:
        return versions_table(sweep)
    plan, known = sweep.record.plan, sweep_points(sweep.record.plan, sweep.results)
    columns = [
        {
            (one.case.name, "", one.threads): one.figures["headline"]
            for one in known
            if one.variant.name == variant.name
        }
        for variant in plan.variants
    ]
    return _grid([variant_label(one) for one in plan.variants], columns)


def _grid(
    names: Sequence[str],
    columns: Sequence[dict[RowKey, Mean]],
    caveats: Mapping[str, str] = MappingProxyType({}),
    notes: tuple[str, ...] = (),
) -> Table:
    keys = list(dict.fromkeys(key for column in columns for key in column))
    with_variant = len({variant for _, variant, _ in keys}) > 1
    rows = tuple(
        (
            *((case, variant) if with_variant else (case,)),
            str(threads),
            *(
                _relative_cell(columns, (case, variant, threads), place) + CAVEAT_MARK * (name in caveats)
                for place, name in enumerate(names)
            ),
        )
        for case, variant, threads in keys
    )
    is_doubtful = any(OVERLAPPING in cell for row in rows for cell in row[len(row) - len(names) :])
    heading = ("case", "settings", "threads") if with_variant else ("case", "threads")
    return Table(
        title=f"relative to {names[0]}",
        header=(*heading, *names),
        rows=rows,
        words=len(heading),
        notes=(*([NOTE] * is_doubtful), *caveat_notes(caveats), *notes),
    )


def _relative_cell(columns: Sequence[dict[RowKey, Mean]], key: RowKey, place: int) -> str:
    first, here = columns[0].get(key), columns[place].get(key)
    if first is None or here is None or not first.mean:
        return units.DASH
    doubtful = OVERLAPPING if place and _overlap(first, here) else ""
    return f"{here.mean / first.mean:.2f}{doubtful}"


def _overlap(one: Mean, other: Mean) -> bool:
    """True if the intervals overlap; single runs have no interval."""
    if one.half_width is None or other.half_width is None:
        return False
    return abs(one.mean - other.mean) <= one.half_width + other.half_width


def _names(sweeps: Sequence[Sweep]) -> list[str]:
    """Each server by flavour and version; equal names are numbered."""
    servers = [sweep.record.surroundings.server for sweep in sweeps]
    names = [f"{server.flavour} {server.version}" for server in servers]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: place + 1].count(name)})"
        for place, name in enumerate(names)
    ]


def _unlike(sweeps: Sequence[Sweep]) -> list[str]:
    """Notes on differences between the plans of the sweeps: they affect the ratios, too."""
    first = sweeps[0].record.plan
    return [
        f"sweep {number} differs from the first: {difference}"
        for number, sweep in enumerate(sweeps[1:], 2)
        for difference in struct_differences(first, sweep.record.plan, MAY_DIFFER)
    ]


TOLERANCE = 0.05
FEWEST_STARTS = 2
FAR = 100
"""A bound of a ratio that is larger is not printed."""

GEOMETRIC_MEAN = "geometric mean"
DOUBTFUL, EQUAL = "~", "="
MARKS = {
    Verdict.CANNOT_TELL: (DOUBTFUL, "too noisy to tell: the interval includes 1, and more than ±5 %"),
    Verdict.EQUAL: (EQUAL, "equal within ±5 %"),
}

Levels = dict[int, float]
"""The headline figure of each start, by the number of the start."""


def version_comparisons(sweep: Sweep) -> tuple[VersionComparison, ...]:
    """Each variant on private servers compared with the first one, over the starts, test by test.

    In a comparison of versions the builds are the variants. With several tests, the geometric means over the
    starts that measured every test come last. Empty for a sweep of one server: its repeats are not starts.
    """
    if not (sweep.record.versions or sweep.record.servers):
        return ()
    levels = _levels(sweep)
    first, *others = [variant.name for variant in sweep.record.plan.variants]
    tests = list(dict.fromkeys((case, threads) for case, threads, _ in levels))
    headlines = {result.cell.case.name: result.headline for result in sweep.done}
    by_build = build_caveats(sweep)
    caveats = {
        one.name: by_build[one.server or one.name]
        for one in sweep.record.plan.variants
        if (one.server or one.name) in by_build
    }
    found = [
        _compared(
            levels.get((case, threads, first), {}),
            levels[case, threads, build],
            VersionComparison(
                build=build,
                case=case,
                threads=threads,
                headline=headlines[case],
                caveat=caveats.get(build, ""),
            ),
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
        _compared(means[first], means[build], VersionComparison(build=build, caveat=caveats.get(build, "")))
        for build in (first, *others)
        if means[build] and means[first]
    )
    return (*found, *over_all)


def _levels(sweep: Sweep) -> dict[tuple[str, int, str], Levels]:
    """The levels of each test, threads and variant, in the order of the plan."""
    plan = sweep.record.plan
    found: dict[tuple[str, int, str], Levels] = {
        (case.name, threads, variant.name): {}
        for case in plan.cases
        for threads in plan.threads
        for variant in plan.variants
    }
    for result in sweep.done:
        cell = result.cell
        if result.figures:
            found[cell.case.name, cell.threads, cell.variant.name][cell.repeat] = result.figures["headline"]
    return {key: levels for key, levels in found.items() if levels}


def _geometric_means(tests: Sequence[Levels]) -> Levels:
    """The geometric mean over the tests of each start in which every test was measured."""
    starts = set.intersection(*(set(levels) for levels in tests)) if tests else set()
    return {
        start: math.exp(fmean(math.log(levels[start]) for levels in tests))
        for start in sorted(starts)
        if all(levels[start] > 0 for levels in tests)
    }


def start_levels(sweep: Sweep) -> dict[str, Levels]:
    """The levels of each measured variant: for each start, the geometric mean of its tests."""
    levels = _levels(sweep)
    tests = list(dict.fromkeys((case, threads) for case, threads, _ in levels))
    found = {
        variant.name: _geometric_means([levels.get((*test, variant.name), {}) for test in tests])
        for variant in sweep.record.plan.variants
    }
    return {name: own for name, own in found.items() if own}


def _compared(first: Levels, here: Levels, one: VersionComparison) -> VersionComparison:
    levels = tuple(here[start] for start in sorted(here))
    one = replace(one, levels=levels)
    if not first or not fmean(first.values()):
        return one
    if here is first:
        return replace(one, relative=1.0, verdict=Verdict.EQUAL)
    interval = inference.compare([[level] for level in first.values()], [[level] for level in levels])
    estimate, low, high = (1 + percent / 100 for percent in interval.percent)
    is_known = math.isfinite(low) and math.isfinite(high)
    return replace(
        one,
        relative=estimate,
        low=low if is_known else None,
        high=high if is_known else None,
        verdict=interval.verdict(TOLERANCE),
    )


# Tables


def versions_table(sweep: Sweep) -> Table:
    """A row per test, a column per variant; the first column has its figure beside its 1."""
    names = [variant.name for variant in sweep.record.plan.variants]
    comparisons = version_comparisons(sweep)
    found = {(one.case, one.threads, one.build): one for one in comparisons}
    tests = list(dict.fromkeys((one.case, one.threads) for one in comparisons))
    rows = tuple(_versions_row(test, names, found) for test in tests)
    starts = max((len(one.levels) for one in comparisons), default=0)
    intervals = (
        "one start: no intervals" if starts < FEWEST_STARTS else f"95 % intervals over {starts} starts"
    )
    return Table(
        title=f"relative to {names[0]} (1, with its figure); {intervals}",
        header=("test", "threads", *names),
        rows=rows,
        words=1,
        notes=tuple(_notes(sweep, comparisons)),
    )


def _versions_row(
    test: tuple[str, int | None],
    names: Sequence[str],
    found: dict[tuple[str, int | None, str], VersionComparison],
) -> tuple[str, ...]:
    case, threads = test
    cells = [comparison_cell(found.get((case, threads, name)), name is names[0]) for name in names]
    return (case or GEOMETRIC_MEAN, "" if threads is None else str(threads), *cells)


def comparison_cell(one: VersionComparison | None, is_first: bool = False) -> str:
    """A ratio as 0.87 (0.82..0.93), marked if it is not significant; for the first build its figure."""
    if one is None:
        return units.DASH
    if is_first:
        return f"1 ({units.significant(fmean(one.levels), 3)} {one.headline})" if one.case else "1"
    if one.relative is None:
        return units.DASH
    if one.low is None or one.high is None:
        return f"{one.relative:.2f}{' ' + CAVEAT_MARK if one.caveat else ''}"
    mark = (MARKS[one.verdict][0] if one.verdict in MARKS else "") + CAVEAT_MARK * bool(one.caveat)
    return f"{one.relative:.2f} ({interval_text(one.low, one.high)}){' ' * bool(mark)}{mark}"


def interval_text(low: float, high: float) -> str:
    """An interval of a ratio as 0.82..0.93; an upper bound beyond `FAR` is shown as >100."""
    return f"{low:.2f}..{high:.2f}" if high < FAR else f"{low:.2f}..>{FAR}"


def _notes(sweep: Sweep, comparisons: Sequence[VersionComparison]) -> Iterator[str]:
    yield from caveat_notes(build_caveats(sweep))
    if not comparisons:
        return
    starts = max(len(one.levels) for one in comparisons)
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
    """A row per test and build as CSV; the test of a geometric mean is empty."""
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
        "caveat",
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
            one.caveat,
        )
        for one in version_comparisons(sweep)
    )
    return write_csv(header, rows)


def differing_variables(builds: Iterable[ServerBuild]) -> list[tuple[str, ...]]:
    """Settings that all builds have, with different values: a row with the name, then the value of each."""
    builds = list(builds)
    shared = set.intersection(*(set(build.variables) for build in builds)) if builds else set()
    return [
        (name, *(build.variables[name] for build in builds))
        for name in sorted(shared)
        if len({build.variables[name] for build in builds}) > 1 and not name.startswith("version")
    ]
