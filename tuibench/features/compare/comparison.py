"""Comparison of recorded runs, or of groups of runs, with the first one, and its document.

The unit of observation is the start of a server. Runs on the same start are one observation of its level, so
a verdict on two sides requires several starts on each. There are two exceptions. If all runs were on the same
start, each run is an observation. Two single runs are compared by the noise of their ticks.

All levels of a figure are on one scale: logarithms, or plain values if some level is near zero. The level of
a side is the mean over its starts on this scale.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, Literal

import msgspec

from tuibench.base import units
from tuibench.base.document import (
    Block,
    Document,
    Section,
    Shape,
    Table,
    Text,
    section,
    write_markdown,
    write_text,
)
from tuibench.base.units import pluralize
from tuibench.features.compare.audit import (
    CAVEAT_MARK,
    TABLES,
    about_servers,
    audit,
    audit_table,
    caveat,
    decided_by,
)
from tuibench.metrics import inference
from tuibench.metrics.figures import MAIN_FIGURES, Figure, figure_named
from tuibench.metrics.inference import TOO_NOISY, TickSeries, compare_figure, judge, merge_ticks
from tuibench.metrics.series import slow_text
from tuibench.metrics.thresholds import Threshold, crossed_relative_thresholds
from tuibench.metrics.wait_changes import because_text, time_changes
from tuibench.model.event import CHANGE_KINDS, EventKind
from tuibench.model.findings import Resource, ResourceUnit, Steadiness
from tuibench.model.settings import ServerVariable
from tuibench.model.summary import ComparisonRow, ComparisonVerdict, Contrast, RunComparison, SetupDifference
from tuibench.model.sweep import SweepEnvironment
from tuibench.model.tick import Tick, slowest_of, total_tick
from tuibench.record.reader import Run
from tuibench.report.effects import stalls_line

TOLERANCE = 0.05
ROUNDING_SECONDS = 5.0
"""Two start times of a server that differ by less are the same: they are computed from an uptime in whole
seconds, which is read shortly before or after the recorded start of the run.
"""

Side = Sequence[Run]
SideTicks = Sequence[Sequence[TickSeries]]
"""The ticks of a side's runs, grouped by start."""


def by_start(side: Side) -> list[list[Run]]:
    """The runs of a side grouped by the start of their server, in time order."""
    found: list[list[Run]] = []
    for run in sorted(side, key=_started):
        same = next((runs for runs in found if is_same_start(runs[0], run)), None)
        if same is None:
            found.append([run])
        else:
            same.append(run)
    return found


def is_same_start(one: Run, other: Run) -> bool:
    """True if two runs were measured on the same start of a server."""
    is_same_server = one.plan.server.identity == other.plan.server.identity
    return is_same_server and abs(_started(one)[1] - _started(other)[1]) <= ROUNDING_SECONDS


def compare_figure_of_sides(
    figure: Figure, sides: Sequence[SideTicks], is_one_start: Sequence[bool]
) -> ComparisonRow:
    """A figure of all sides, each compared with the first one.

    `is_one_start` has an entry for each further side: whether its runs and those of the first side were all
    on the same start.
    """
    first, *others = levels = [_levels(figure, side) for side in sides]
    known = [side for side in levels if side is not None]
    scale = inference.scale_of_starts(*known) if known else inference.Scale()
    return ComparisonRow(
        metric=figure.name,
        title=figure.title,
        unit=figure.unit,
        better=figure.better or "",
        first=None if first is None else inference.level_of_starts(first, scale),
        others=tuple(
            Contrast(value=None if other is None else inference.level_of_starts(other, scale))
            if first is None or other is None
            else _compare_measured(figure, (sides[0], side), (first, other), scale, is_one_start=is_one)
            for side, other, is_one in zip(sides[1:], others, is_one_start, strict=True)
        ),
    )


def _compare_measured(
    figure: Figure,
    ticks: tuple[SideTicks, SideTicks],
    levels: tuple[inference.Starts, inference.Starts],
    scale: inference.Scale,
    *,
    is_one_start: bool,
) -> Contrast:
    a, b = ([run for start in side for run in start] for side in levels)
    if not any((*a, *b)):
        return Contrast(
            value=0.0, relative=1.0, percent=0.0, low=0.0, high=0.0, verdict=ComparisonVerdict.EQUAL
        )
    if len(a) == len(b) == 1:
        found = compare_figure(figure, ticks[0][0][0], ticks[1][0][0])
        if is_one_start:
            return found
        # The runs were on different starts, which may be the reason for a difference.
        is_unknown = found.verdict in (ComparisonVerdict.EQUAL, ComparisonVerdict.CANNOT_TELL)
        verdict = ComparisonVerdict.CANNOT_TELL if is_unknown else ComparisonVerdict.STARTS
        return msgspec.structs.replace(found, verdict=verdict)
    first, other = ([[run] for run in a], [[run] for run in b]) if is_one_start else levels
    interval = inference.compare(first, other, scale=scale)
    value = inference.level_of_starts(levels[1], scale)
    verdict = judge(figure.better, interval.verdict(TOLERANCE))
    if not any(a):
        return Contrast(value=value, verdict=verdict)
    percent = interval.percent
    is_known = math.isfinite(percent.low) and math.isfinite(percent.high)
    return Contrast(
        value=value,
        relative=1 + percent.estimate / 100,
        percent=percent.estimate,
        low=percent.low if is_known else None,
        high=percent.high if is_known else None,
        verdict=verdict,
    )


def start_warnings(sides: Sequence[Side], names: Sequence[str]) -> Iterator[str]:
    """A warning for each side that has no verdict, because it or the first one has a single start, or a
    single run on a common start.
    """
    for side, name in zip(sides[1:], names[1:], strict=True):
        if len(by_start([*sides[0], *side])) == 1:
            if min(len(sides[0]), len(side)) == 1 < max(len(sides[0]), len(side)):
                yield (
                    f"{names[0]} and {name}: only one run on a side, so there is no verdict (give several: "
                    "compare A1,A2,A3 B1,B2,B3)"
                )
        elif min(len(by_start(sides[0])), len(by_start(side))) == 1:
            yield (
                f"{names[0]} and {name}: only one start of the server per side; starts of one server often "
                "differ by 5 to 10 %, so there is no verdict (give several: compare A1,A2,A3 B1,B2,B3)"
            )


def _levels(figure: Figure, side: SideTicks) -> list[list[float]] | None:
    found = [[figure.value(total_tick(ticks)) for ticks in start] for start in side]
    known = [[level for level in start if level is not None] for start in found]
    return known if found == known else None


def _started(run: Run) -> tuple[str, float]:
    """The server's identity and the Unix time of its start, 0 if it does not report its uptime."""
    uptime = run.plan.server.uptime_seconds
    return run.plan.server.identity, 0.0 if uptime is None else run.plan.started_at - uptime


PASSED_OVER = (
    "*.seed",
    "plan.options.threads",
    "*.free_bytes",
    "*.swap_used_bytes",
    "*.disk_free_bytes",
    "*.uptime_seconds",
    "*.load_average",
    "*.busy_share",
    "*.steal_share",
    "server.identity",
    "server.pid_file",
    "server.datadir",
    "server.socket",
    "server.where",
    "server.port",
    "variables.gtid_*",
    "variables.timestamp",
)
"""Fields that are not compared: they differ in every run, or contain only paths."""

ABSENT = "–"
STATEMENTS, OPTIONS = "statements", "options."
DECIMALS = 3
"""Decimals to which numbers are compared."""

Direction = Literal["higher", "lower"]
STEADINESS: tuple[tuple[str, str, str, Direction, Callable[[Steadiness], float | None]], ...] = (
    ("tps_p1", "p1 of one-second TPS", "/s", "higher", lambda found: found.p1),
    ("tps_p50", "p50 of one-second TPS", "/s", "higher", lambda found: found.p50),
    ("tps_p99", "p99 of one-second TPS", "/s", "higher", lambda found: found.p99),
    ("variation", "coefficient of variation of TPS", "", "lower", lambda found: found.variation),
    ("stalls", "stalls", "", "lower", lambda found: float(len(found.stalls))),
    ("stall", "longest stall", "s", "lower", lambda found: found.longest_stall_seconds),
)
JUDGED = frozenset({Resource.SERVER_CPU, Resource.FSYNCS})
STEERED = CHANGE_KINDS - {EventKind.MARK}
MOST_NAMED, LONGEST_NAMED = 5, 30
"""The maximum number of differences that a warning names, and the maximum length of a value in it."""


def compare_runs(sides: Sequence[Side], bounds: Sequence[Threshold] = ()) -> RunComparison:
    """Compare all sides with the first one; each side is one or more runs."""
    every = run_names([run for side in sides for run in side])
    # The name of a side consists of the names of its runs.
    rest = iter(every)
    names = tuple(", ".join(islice(rest, len(side))) for side in sides)
    ticks = [
        [[merge_ticks(tuple(run.intervals())) for run in start] for start in by_start(side)] for side in sides
    ]
    is_one_start = [len(by_start([*sides[0], *side])) == 1 for side in sides[1:]]
    rows = tuple(
        compare_figure_of_sides(figure, ticks, is_one_start)
        for figure in dict.fromkeys((*MAIN_FIGURES, *(figure_named(bound.figure) for bound in bounds)))
    )
    around = [[each for run in side if (each := _surroundings(run))] for side in sides]
    found = (*_different_work(sides, ticks), *audit(around, _intended(sides)))
    # These figures have one value per run.
    firsts = [side[0] for side in sides] if len(every) == len(sides) else []
    single_rows = (*steadiness_rows(firsts), *operation_cost_rows(firsts)) if firsts else ()
    return RunComparison(
        runs=names,
        starts=tuple(map(len, ticks)),
        differences=_distinct(list(setup_differences([side[0] for side in sides]))),
        doubts=(*start_warnings(sides, names), *comparability_warnings(sides, every, rows)),
        rows=(*rows, *single_rows),
        crossed=tuple(crossed_relative_thresholds(bounds, rows, names)),
        stalls=tuple(map(_stalls, sides)),
        slowest=tuple(map(_slowest, sides)),
        because=tuple(
            _because(ticks[0], each, throughput.verdict) if is_one else ""
            for each, throughput, is_one in zip(ticks[1:], rows[0].others, is_one_start, strict=True)
        ),
        audit=found,
        caveats=tuple(caveat(found, side) for side in range(1, len(sides))),
    )


_DIRECTION = {ComparisonVerdict.BETTER: -1.0, ComparisonVerdict.WORSE: 1.0, ComparisonVerdict.EQUAL: 0.0}
"""The direction in which the time of a transaction changes, by the verdict on the throughput."""


def _because(first: SideTicks, other: SideTicks, throughput: ComparisonVerdict) -> str:
    """The differences between the waits of a transaction, in words; empty without a verdict on the
    throughput.
    """
    if throughput not in _DIRECTION:
        return ""
    return because_text(time_changes(_joined(first), _joined(other), towards=_DIRECTION[throughput]))


def _different_work(sides: Sequence[Side], ticks: Sequence[SideTicks]) -> Iterator[SetupDifference]:
    """The difference between the transactions of the sides: other profiles, or other numbers of statements.
    Throughput and latency of such sides are those of different work.
    """
    plans = [run.plan for side in sides for run in side]
    profiles = [", ".join(dict.fromkeys(run.plan.plan.profile for run in side)) for side in sides]
    statements = [_statements_per_transaction(total_tick(_joined(side))) for side in ticks]
    known = [each for each in statements if each]
    is_more = bool(known) and max(known) > (1 + TOLERANCE) * min(known)
    is_other = len({plan.profile_digest for plan in plans}) > 1 and is_more
    if is_other or len({plan.plan.profile for plan in plans}) > 1:
        yield SetupDifference(
            group="in effect",
            path="work per transaction",
            values=tuple(
                profile if each is None else f"{profile}: {pluralize(round(each), 'statement')}"
                for profile, each in zip(profiles, statements, strict=True)
            ),
            worth="not the same work",
            has_weight=True,
        )


def _statements_per_transaction(total: Tick) -> float | None:
    qps, tps = (figure_named(name).value(total) for name in ("qps", "tps"))
    return qps / tps if qps and tps else None


def _surroundings(run: Run) -> SweepEnvironment | None:
    """The server and the environment of a run, with the isolation level of its plan; None if unknown."""
    if run.environment is None:
        return None
    variables = run.environment.variables
    if level := run.plan.plan.isolation:
        variables = {**variables, ServerVariable.ISOLATION: level}
    return SweepEnvironment(
        server=run.plan.server, environment=msgspec.structs.replace(run.environment, variables=variables)
    )


def _intended(sides: Sequence[Side]) -> frozenset[str]:
    """The facts in which the sides differ on purpose: by their plans, or by the version of the server."""
    plans = [run.plan for side in sides for run in side]
    about = set(about_servers(plan.server for plan in plans))
    if len({plan.plan.isolation for plan in plans}) > 1:
        about |= decided_by([ServerVariable.ISOLATION])
    if len({plan.data_set for plan in plans}) > 1:
        about |= {*TABLES}
    return frozenset(about)


def _joined(side: SideTicks) -> TickSeries:
    """All ticks of a side."""
    return [tick for start in side for run in start for tick in run]


def _stalls(side: Side) -> str:
    found = [run.summary.steadiness for run in side]
    texts = [stalls_line(each).partition(": ")[2] for each in found if each is not None and each.stalls]
    return "; ".join(texts) or "none"


def _slowest(side: Side) -> str:
    every = slowest_of((slow for run in side for slow in run.summary.slowest), 1)
    return slow_text(every[0]) if every else ABSENT


def operation_cost_rows(runs: Sequence[Run]) -> Iterator[ComparisonRow]:
    """The cost of a transaction in each run, or of a query if no run had transactions.

    Costs that the rows with verdicts contain are omitted.
    """
    costs = [run.summary.operation_cost for run in runs]
    is_transaction = any(cost.per_transaction for cost in costs)
    kind = "transaction" if is_transaction else "query"
    tables = [cost.per_transaction if is_transaction else cost.per_query for cost in costs]
    for resource in Resource:
        if is_transaction and resource in JUDGED:
            continue
        values = [table.get(resource) for table in tables]
        if any(value is not None for value in values):
            yield ComparisonRow(
                metric=f"{resource}_per_{kind}",
                title=f"{resource.facts.label} per {kind}",
                unit="" if resource.facts.unit is ResourceUnit.COUNT else resource.facts.unit,
                better="lower",
                first=values[0],
                others=tuple(_unjudged(values[0], value) for value in values[1:]),
            )


def steadiness_rows(runs: Sequence[Run]) -> Iterator[ComparisonRow]:
    """Steadiness of the runs; one value per run, so there is no interval and no verdict."""
    for name, title, unit, better, read in STEADINESS:
        values = [None if (found := run.summary.steadiness) is None else read(found) for run in runs]
        yield ComparisonRow(
            metric=name,
            title=title,
            unit=unit,
            better=better,
            first=values[0],
            others=tuple(_unjudged(values[0], value) for value in values[1:]),
        )


def _unjudged(first: float | None, value: float | None) -> Contrast:
    if value is None or not first:
        return Contrast(value=value)
    return Contrast(value=value, relative=value / first, percent=100 * (value / first - 1))


def run_names(runs: Sequence[Run]) -> tuple[str, ...]:
    """The names of the runs; equal names, from different folders, are numbered."""
    ids = [run.id for run in runs]
    return tuple(
        name if ids.count(name) == 1 else f"{name} ({ids[: place + 1].count(name)})"
        for place, name in enumerate(ids)
    )


# Differences in conditions


def setup_differences(runs: Sequence[Run]) -> Iterator[SetupDifference]:
    """Each field of plan, server, host and program that differs between runs.

    A field that is missing in some runs and has its default value in the others is left out.
    """
    tables = [{path: (text, is_known) for path, text, is_known in _facts(run)} for run in runs]
    for path in dict.fromkeys(path for table in tables for path in table):
        values = tuple(table[path][0] if path in table else ABSENT for table in tables)
        is_known = any(path in table and table[path][1] for table in tables)
        if is_known and len(set(values)) > 1 and not any(fnmatchcase(path, each) for each in PASSED_OVER):
            group, _, name = path.partition(".")
            yield SetupDifference(group=group, path=name, values=values)


def _distinct(found: list[SetupDifference]) -> tuple[SetupDifference, ...]:
    """The differences without those that follow from others: different profiles have different options, and
    different options cause different statements.
    """
    of_plan = {one.path for one in found if one.group == "plan"} - {STATEMENTS}
    return tuple(
        one
        for one in found
        if not (one.path == STATEMENTS and of_plan)
        and not (one.path.startswith(OPTIONS) and "profile" in of_plan and ABSENT in one.values)
    )


def _label(one: SetupDifference) -> str:
    """The name of a difference: plan.threads."""
    return f"{one.group}.{one.path}"


def _named(one: SetupDifference) -> str:
    """A difference with its values: plan.threads (8, 16)."""
    values = dict.fromkeys(units.shorten(value, LONGEST_NAMED) for value in one.values)
    return f"{_label(one)} ({', '.join(values)})"


def _facts(run: Run) -> Iterator[tuple[str, str, bool]]:
    """Everything about a run that may affect its result: path, value as text, and whether it is known."""
    plan, environment = run.plan, run.environment
    options = plan.options or plan.plan.options
    facts: dict[str, Any] = {
        "plan": msgspec.structs.replace(plan.plan, options=options),
        "plan.data": plan.data_set,
        f"plan.{STATEMENTS}": plan.profile_digest[:12],
        "server.target": plan.target.where,
        "server.database": plan.target.database,
        "server": plan.server,
        "program.version": plan.version,
    }
    if environment is not None:
        facts |= {
            "client.location": environment.location,
            "host": environment.host,
            "disk": environment.disk,
            "variables": environment.variables,
        }
    for path, value in facts.items():
        yield from _flat(path, value)


def _flat(path: str, value: Any, default: Any = msgspec.NODEFAULT) -> Iterator[tuple[str, str, bool]]:
    if isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            yield from _flat(f"{path}.{field.name}", getattr(value, field.name), field.default)
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}", inner)
        return
    if isinstance(value, list | tuple):
        text = ", ".join(str(msgspec.to_builtins(inner)) for inner in value)
    elif isinstance(value, float):
        text = f"{round(value, DECIMALS):.15g}"
    else:
        text = "" if value is None else str(value)
    yield path, text or ABSENT, bool(text) and value != default


# Doubts about the comparison


def comparability_warnings(
    sides: Sequence[Side], names: Sequence[str], rows: Sequence[ComparisonRow]
) -> Iterator[str]:
    """The reasons why the runs may not be comparable."""
    for run, name in zip((run for side in sides for run in side), names, strict=True):
        if run.refusal:
            yield f"{name}: {run.refusal}"
        if changes := sum(event.kind in STEERED and event.elapsed_seconds > 0 for event in run.events):
            yield (
                f"{name} was changed {pluralize(changes, 'time')} during the run: its figures mix the times "
                "before and after"
            )
        yield from (f"{name}: {warning}" for warning in run.summary.warnings)
    for side in sides:
        if found := _distinct(list(setup_differences(side))):
            more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
            starts = "not only in the start of the server, but " if len(by_start(side)) > 1 else ""
            yield (
                f"the runs of the side that begins with {side[0].id} differ {starts}"
                f"in {', '.join(map(_named, found[:MOST_NAMED]))}{more}"
            )
    is_single = all(len(side) == 1 for side in sides)
    if is_single and any(other.value is not None and other.low is None for other in rows[0].others):
        yield "a run is too short to distinguish a difference from noise"


PAIR = 2
LONGEST_VALUE = 40
SIGNS = {ComparisonVerdict.EQUAL: " =", ComparisonVerdict.CANNOT_TELL: " ?", ComparisonVerdict.STARTS: " *"}
KEY = f"=  equal within ±5 %;  ?  {TOO_NOISY};  *  may be due to the starts of the server"


def comparison_text(found: RunComparison) -> str:
    """The text for the terminal, ending in a newline."""
    document = comparison_document(found, LONGEST_VALUE)
    return write_text((*document.lead, *document.sections))


def comparison_markdown(found: RunComparison) -> str:
    """The Markdown, ending in a newline."""
    return write_markdown(comparison_document(found))


def comparison_document(found: RunComparison, longest: int = 0) -> Document:
    """The document; `longest` is the maximum length of a value in the list of differences, 0 for no limit."""
    letters = [chr(ord("A") + place) if place < 26 else f"#{place + 1}" for place in range(len(found.runs))]
    sides = tuple(
        (letter, f"{runs} ({starts} starts)" if starts > 1 else runs)
        for letter, runs, starts in zip(letters, found.runs, found.starts, strict=True)
    )
    lead: list[Block] = [Table(rows=sides, words=2)]
    if found.doubts:
        lead.append(Text(tuple(f"note: {doubt}" for doubt in found.doubts), Shape.LIST))
    return Document(title="Comparison", lead=tuple(lead), sections=tuple(_sections(found, letters, longest)))


def _sections(found: RunComparison, letters: list[str], longest: int) -> Iterator[Section]:
    if found.differences:
        rows = tuple(
            (
                _label(one),
                *(units.shorten(each, longest) if longest else each for each in one.values),
            )
            for one in found.differences
        )
        yield section("What differs", Table(header=("", *letters), rows=rows, words=1 + len(letters)))
    else:
        yield section("What differs", Text(("Plan, server and host are the same.",)))
    if found.audit:
        yield section("What differs in effect", audit_table(found.audit, letters))
    shown = [
        row
        for row in found.rows
        if row.first is not None or any(other.value is not None for other in row.others)
    ]
    first, *others = letters
    if len(found.runs) > PAIR:
        # For two runs, the table of verdicts contains this.
        heading = ("", first, *(f"{letter}/{first}" for letter in others))
        ratios = tuple(
            (
                row_title(row),
                figure_text(row.first),
                *(f"{ratio_text(each)}{CAVEAT_MARK * bool(text)}" for each, text in _others(found, row)),
            )
            for row in shown
        )
        notes = (
            f"{CAVEAT_MARK} {letter}: {text}"
            for letter, (_, text) in zip(others, _others(found, found.rows[0]), strict=True)
            if text
        )
        yield section(f"Relative to {first}", Table(header=heading, rows=ratios, notes=(KEY, *notes)))
    for place, letter in enumerate(others):
        judged = tuple(_judged(row, *_others(found, row)[place]) for row in shown)
        heading = ("", first, letter, "difference", "95 % interval", "verdict")
        because = found.because[place] if found.because else ""
        words = Text((because,)) if because else None
        yield section(f"{letter} against {first}", Table(header=heading, rows=judged), words)
    for title, texts in (("Stalls", found.stalls), ("Slowest transaction", found.slowest)):
        if any(text not in ("", "none", units.DASH) for text in texts):
            yield section(
                title,
                Table(rows=tuple(zip(letters, texts, strict=True)), words=2),
            )


def _others(found: RunComparison, row: ComparisonRow) -> list[tuple[Contrast, str]]:
    """The figures of all sides but the first, each with the caveat of its verdict."""
    return list(zip(row.others, found.caveats or ("",) * len(row.others), strict=True))


def row_title(row: ComparisonRow) -> str:
    """The title of a figure, with its unit unless that is per second."""
    return f"{row.title} ({row.unit})" if row.unit and row.unit != "/s" else row.title


def figure_text(number: float | None) -> str:
    """A figure with three or four significant digits, or a dash."""
    if number is None:
        return units.DASH
    if number >= 1000 or number == 0:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 100 else f"{number:#.3g}"


def ratio_text(other: Contrast) -> str:
    """The ratio to the figure of the first side, marked if it may be chance or has no verdict."""
    if other.relative is None:
        return units.DASH
    return f"{other.relative:.2f}{'  ' if other.low is None else SIGNS.get(other.verdict, '  ')}"


def _difference(other: Contrast) -> tuple[str, str]:
    if other.percent is None:
        return units.DASH, units.DASH
    if other.low is None or other.high is None:
        return units.difference(other.percent), units.DASH
    return units.difference_and_interval(other.percent, other.low, other.high)


def _verdict(other: Contrast, but: str) -> str:
    if other.verdict is ComparisonVerdict.CANNOT_TELL:
        return TOO_NOISY if other.low is not None else units.DASH
    return f"{other.verdict}, {but}" if but else str(other.verdict)


def _judged(row: ComparisonRow, other: Contrast, but: str) -> tuple[str, ...]:
    return (
        row_title(row),
        figure_text(row.first),
        figure_text(other.value),
        *_difference(other),
        _verdict(other, but),
    )
