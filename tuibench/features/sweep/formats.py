"""The output formats of a sweep and of a comparison of server programs: text, Markdown, CSV, JSON, HTML.

Text and Markdown contain one table, whose values are formatted. CSV has plain numbers, a row per combination
or per run. JSON has all data. The HTML page has all tables and charts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from tuibench.base import units
from tuibench.base.document import (
    Document,
    HtmlChart,
    Section,
    Table,
    Text,
    properties,
    section,
    write_csv,
    write_markdown,
    write_text,
)
from tuibench.base.errors import UsageError, did_you_mean
from tuibench.features.sweep import tables
from tuibench.features.sweep.bisection import bisection_blocks
from tuibench.features.sweep.tables import (
    GEOMETRIC_MEAN,
    data_files_bytes,
    differing_variables,
    has_binlog,
    interval_text,
    ping_ms,
    variant_label,
    version_comparisons,
    versions_csv,
    versions_table,
)
from tuibench.metrics.inference import FIGURES, sweep_points
from tuibench.model.summary import SetupDifference
from tuibench.model.sweep import (
    SUMMARY,
    CellResult,
    ServerStart,
    Sweep,
    SweepPoint,
    SweepRecord,
    VersionComparison,
    VersionsSetup,
)
from tuibench.record.recorder import pretty_json
from tuibench.report.html_chart import LARGE, SMALL, Markup, in_both_widths, join_markup, tag, whole_changes
from tuibench.report.html_plots import ThreadsLine, colour, document_page, threads_chart

PAIRED: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("p95_ms", "latency p95", units.milliseconds),
    ("qps", "QPS", units.si),
    ("slow_queries", "slow queries", units.si),
    ("open_tables", "open tables", units.si),
    ("questions_per_second", "Questions/s", units.si),
    ("cpu_server", "CPU of the server", units.percent),
    ("server_cpu_us_per_transaction", "server CPU of a transaction (µs)", units.si),
    ("client_cpu_us_per_transaction", "client CPU of a transaction (µs)", units.si),
)
"""Figures with a small chart, two side by side: name, title, format."""


def sweep_html(sweep: Sweep) -> str:
    """A self-contained page with the tables and charts of the figures against threads; ends in a newline."""
    server = sweep.record.surroundings.server
    started = units.local_time(sweep.record.started_at)
    failed = len(sweep.results) - len(sweep.done)
    failures = f", {failed} failed" if failed else ""
    document = Document(
        title=f"Sweep on {server.flavour} {server.version}",
        lead=(
            Text((f"{started} · {len(sweep.done)} runs{failures} · {sweep.record.name}",), role="soft"),
            *_answer(tables.sweep_answer(sweep)),
        ),
        sections=(
            *case_sections(sweep),
            *runs_sections(sweep),
            section("Server and method", properties(_facts(sweep))),
            *_audit_sections(sweep),
        ),
    )
    return document_page(document, title=f"Sweep {sweep.record.name}")


def _answer(lines: tuple[str, ...]) -> Iterator[Text]:
    """The answers, one sentence per line; nothing if there are none yet."""
    if lines:
        yield Text(tuple(map(whole_changes, lines)), role="answer")


def runs_sections(sweep: Sweep) -> list[Section]:
    """The table of runs, if any have ended."""
    return [section("All runs", tables.runs_table(sweep))] if sweep.done else []


def case_sections(sweep: Sweep) -> Iterator[Section]:
    """The tables and charts of each case with results."""
    known = sweep_points(sweep.record.plan, sweep.results)
    for case in sweep.record.plan.cases:
        if own := [point for point in known if point.case.name == case.name]:
            first, *others = tables.case_tables(sweep, case)
            yield section(case.name, first, HtmlChart(partial(_charts, sweep, own)), *others)


def _charts(sweep: Sweep, own: Sequence[SweepPoint]) -> Markup:
    """The chart of the headline figure over the whole width, those of the other figures in pairs."""
    small = [
        _chart(sweep, own, *each, width=SMALL)
        for each in PAIRED
        if any(each[0] in point.figures for point in own)
    ]
    return join_markup(_chart(sweep, own, "headline", own[0].headline), tag("div", small, class_="pair"))


def _chart(
    sweep: Sweep,
    own: Sequence[SweepPoint],
    figure: str,
    title: str,
    write: Callable[[float | None], str] = units.si,
    width: int = LARGE,
) -> Markup:
    lines = [
        ThreadsLine(
            variant_label(variant),
            {
                point.threads: point.figures[figure]
                for point in own
                if point.variant.name == variant.name and figure in point.figures
            },
        )
        for variant in sweep.record.plan.variants
    ]
    return threads_chart(title, sorted(sweep.record.plan.threads), lines, write, width=width)


def _facts(sweep: Sweep) -> list[tuple[str, str]]:
    record = sweep.record
    plan, around = record.plan, record.surroundings
    host, base = around.environment.host, plan.base
    return [
        ("Server", f"{around.server.version_text} at {around.server.where}"),
        *(("Limits", line) for line in (record.servers.limit_lines if record.servers else [])),
        ("Round trip", units.milliseconds(around.ping_ms)),
        ("Client host", ", ".join(word for word in (host.os, host.cpu_model, f"{host.cores} cores") if word)),
        ("Each run", f"{base.warmup_seconds:g} s of warm-up, then {base.seconds or 0:g} s"),
        ("Repeats", f"{plan.repeats}, {plan.order}"),
        ("Intervals", "95 %, Student's t over the repeats"),
    ]


NAMES_SHARE, RIGHT, TOP, ROW, BOTTOM = 0.3, 24, 10, 22, 27
DOT = 4
STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Distances between two lines of the ratio chart's grid, as ratios."""

GRID_LINE_WIDTH = 64
"""The least distance between two lines of the grid in pixels, for their labels."""
ROOM = 1.5
"""The axis ends at this multiple of the largest ratio: longer intervals are cut."""


def versions_html(sweep: Sweep) -> str:
    """A self-contained page with the table of ratios, its chart and every test; ends in a newline."""
    setup = sweep.record.versions
    assert setup is not None  # noqa: S101
    names = [build.name for build in setup.builds]
    plan = sweep.record.plan
    started = units.local_time(sweep.record.started_at)
    runs, starts = f"{len(sweep.done)} of {plan.cell_count} runs", units.pluralize(len(sweep.starts), "start")
    rows = differing_variables(setup.builds)
    note = "Only settings that all of them have and that affect speed or durability."
    table = Table(header=("setting", *names), rows=tuple(rows), words=1 + len(names), notes=(note,))
    document = Document(
        title=" against ".join(names),
        lead=(
            Text((f"{started} · {runs}, {starts} · {sweep.record.name}",), role="soft"),
            *_answer(tables.versions_answer(sweep)),
        ),
        sections=(
            section("Result", versions_table(sweep), HtmlChart(partial(ratio_chart, sweep, setup))),
            *case_sections(sweep),
            *runs_sections(sweep),
            section("Servers and method", properties(_versions_page_facts(sweep, setup))),
            *_audit_sections(sweep),
            *([section("Settings that differ", table)] if rows else []),
        ),
    )
    return document_page(document, title=f"Versions: {', '.join(names)}")


def _versions_page_facts(sweep: Sweep, setup: VersionsSetup) -> list[tuple[str, str]]:
    plan, host = sweep.record.plan, sweep.record.surroundings.environment.host
    base = plan.base
    size = "; ".join(dict.fromkeys(case.size for case in plan.cases))
    return [
        *((build.name, f"{build.flavour} {build.version}, {build.path}") for build in setup.builds),
        *((f"Options of {build.name}", " ".join(build.options)) for build in setup.builds),
        ("Limits", "; ".join(setup.limit_lines) or "none"),
        ("Host", ", ".join(word for word in (host.os, host.cpu_model, f"{host.cores} cores") if word)),
        ("Tables", f"{size}, made for every start"),
        ("Each run", f"{base.warmup_seconds:g} s of warm-up, then {base.seconds or 0:g} s"),
        (
            "Starts",
            f"{plan.repeats} of each, in alternating order; a new server in a new directory each time",
        ),
        ("Intervals", "95 %, Welch's t over the starts; the means are geometric"),
    ]


def _audit_sections(sweep: Sweep) -> list[Section]:
    return [
        section("What differs in effect", replace(table, title="")) for table in tables.audit_tables(sweep)
    ]


# Chart of the ratios


class RatioScale:
    """Conversion of ratios to coordinates: a linear axis that contains 1 and all ratios.

    The axis also contains all intervals up to `ROOM` times the largest ratio.
    """

    def __init__(self, found: Sequence[VersionComparison], width: int) -> None:
        self.left, self.right = round(NAMES_SHARE * width), width - RIGHT
        most_lines = (self.right - self.left) // GRID_LINE_WIDTH
        ratios = [1.0, *(one.relative for one in found if one.relative is not None)]
        low = min([*ratios, *(one.low for one in found if one.low is not None)])
        high = max([*ratios, *(one.high for one in found if one.high is not None)])
        high = min(high, ROOM * max(ratios))
        wide = (step for step in STEPS if (high - low) / step <= most_lines)
        self.step = next(wide, high - low)
        self.low = max(0.0, math.floor(low / self.step) * self.step)
        self.high = max(math.ceil(high / self.step) * self.step, self.low + self.step)

    def x(self, ratio: float) -> float:
        share = (min(ratio, self.high) - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)

    @property
    def lines(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + number * self.step for number in range(count + 1)]


def ratio_chart(sweep: Sweep, setup: VersionsSetup) -> Markup | None:
    """A row per test with a dot and an interval for each build; None without comparisons."""
    others = [build.name for build in setup.builds[1:]]
    found = [one for one in version_comparisons(sweep) if one.build in others and one.relative is not None]
    if not found:
        return None
    tests = list(dict.fromkeys((one.case, one.threads) for one in found))
    height = TOP + len(tests) * ROW * len(others) + BOTTOM

    def draw(width: int, fits: str) -> Markup:
        scale = RatioScale(found, width)
        return tag(
            "svg",
            [_grid_line(scale, ratio, height) for ratio in scale.lines],
            [_test(scale, test, place, found, others) for place, test in enumerate(tests)],
            class_=fits,
            viewBox=f"0 0 {width} {height}",
            role="img",
            aria_label=f"each test relative to {setup.builds[0].name}",
        )

    key = [tag("span", tag("i"), name, class_=f"key n{colour(number)}") for number, name in enumerate(others)]
    caption = tag(
        "figcaption", tag("b", f"relative to {setup.builds[0].name}"), tag("span", "higher is better"), key
    )
    return tag("figure", caption, in_both_widths(draw))


def _grid_line(scale: RatioScale, ratio: float, height: int) -> Markup:
    x, bottom = scale.x(ratio), height - BOTTOM
    width = 3 if abs(ratio - 1) < 1e-9 else None
    return join_markup(
        tag("line", class_="grid", x1=x, x2=x, y1=TOP, y2=bottom, stroke_width=width),
        tag("text", f"{ratio:.2f}", class_="axis", x=x, y=bottom + 19, text_anchor="middle"),
    )


def _test(
    scale: RatioScale,
    test: tuple[str, int | None],
    place: int,
    found: Sequence[VersionComparison],
    others: Sequence[str],
) -> Markup:
    case, threads = test
    words = f"{case}, {threads}" if case else GEOMETRIC_MEAN
    top = TOP + place * ROW * len(others)
    own = {one.build: one for one in found if (one.case, one.threads) == test}
    return join_markup(
        tag(
            "text",
            words,
            class_="axis",
            x=scale.left - 10,
            y=top + ROW * len(others) / 2 + 4,
            text_anchor="end",
        ),
        [
            _ratio(scale, own[name], top + ROW * (number + 0.5), number)
            for number, name in enumerate(others)
            if name in own
        ],
    )


def _ratio(scale: RatioScale, one: VersionComparison, y: float, number: int) -> Markup:
    """The ratio as a dot, its interval as a line with ends."""
    assert one.relative is not None  # noqa: S101
    whisker = None
    if one.low is not None and one.high is not None:
        low, high = scale.x(one.low), scale.x(one.high)
        path = f"M{low:.1f},{y}H{high:.1f}M{low:.1f},{y - DOT}v{2 * DOT}M{high:.1f},{y - DOT}v{2 * DOT}"
        whisker = tag("path", class_="line", d=path)
    edges = "" if one.low is None or one.high is None else f" ({interval_text(one.low, one.high)})"
    title = tag("title", f"{one.build}: {one.relative:.2f}{edges}")
    dot = tag("circle", title, class_=f"dot n{colour(number)}", cx=scale.x(one.relative), cy=y, r=DOT)
    return tag("g", whisker, dot, class_=f"s{colour(number)}")


class SweepExport(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of a sweep (`tuibench.sweep/1`)."""

    record: SweepRecord
    results: tuple[CellResult, ...]
    """The result of each cell."""
    points: tuple[SweepPoint, ...]
    """The means over the repeats of each combination."""
    starts: tuple[ServerStart, ...] = ()
    """The starts of private servers; empty for a sweep of one server."""
    comparisons: tuple[VersionComparison, ...] = ()
    """Every test relative to the first build or variant on private servers."""
    audit: tuple[SetupDifference, ...] = ()
    """Differences in effect between the builds."""


def sweep_json(sweep: Sweep) -> str:
    """The whole sweep as JSON; ends in a newline."""
    export = SweepExport(
        record=sweep.record,
        results=sweep.results,
        points=sweep_points(sweep.record.plan, sweep.results),
        starts=sweep.starts,
        comparisons=version_comparisons(sweep),
        audit=tables.sweep_audit(sweep),
    )
    return pretty_json(export).decode()


def sweep_points_csv(sweep: Sweep) -> str:
    """A row per combination: the mean of each figure and half of its 95 % interval, empty if unknown."""
    header = ("case", "settings", "threads", "runs", "headline_name", "client_limited")
    columns = (part for name in FIGURES for part in (name, f"{name}_ci95"))
    rows = [_point_row(point) for point in sweep_points(sweep.record.plan, sweep.results)]
    return write_csv((*header, *columns), tuple(rows))


def _point_row(point: SweepPoint) -> tuple[object, ...]:
    row: list[object] = [
        point.case.name,
        point.variant.name,
        point.threads,
        point.figures["headline"].count,
        point.headline,
        int(point.limited),
    ]
    for name in FIGURES:
        mean = point.figures.get(name)
        row += [mean.mean, mean.half_width] if mean else [None, None]
    return tuple(row)


def sweep_runs_csv(sweep: Sweep) -> str:
    """A row per run that counts, in plain units: bytes, milliseconds, percent."""
    header = (
        "case",
        "settings",
        "threads",
        "run",
        "attempt",
        "started_at",
        "headline_name",
        "client_limited",
    )
    machine = ("cores", "memory_bytes", "ping_ms", "binlog", "data", "files_bytes")
    rows = tuple(_run_row(sweep, result) for result in sweep.done)
    return write_csv((*header, *machine, *FIGURES), rows)


def _run_row(sweep: Sweep, result: CellResult) -> tuple[object, ...]:
    cell = result.cell
    return (
        cell.case.name,
        cell.variant.name,
        cell.threads,
        cell.repeat,
        result.attempt,
        result.started_at,
        result.headline,
        int(result.limited),
        result.cores,
        result.memory_total_bytes,
        ping_ms(sweep),
        "on" if has_binlog(sweep, cell.variant) else "off",
        cell.case.size,
        data_files_bytes(sweep, cell.case.data),
        *map(result.figures.get, FIGURES),
    )


RUNS, RELATIVE = "runs", "relative"

TABLES: dict[str, Callable[[Sweep], Sequence[Table]]] = {
    SUMMARY: lambda sweep: (*tables.summary_tables(sweep), *tables.audit_tables(sweep)),
    RUNS: lambda sweep: (tables.runs_table(sweep),),
    RELATIVE: lambda sweep: (tables.variants_table(sweep),),
}
AS_CSV = {SUMMARY: sweep_points_csv, RUNS: sweep_runs_csv}
"""The tables whose CSV has plain numbers; the CSV of other tables has the formatted values."""

DOCUMENTS: dict[str, Callable[[Sweep], str]] = {"json": sweep_json, "html": sweep_html}
"""Formats that contain the whole sweep, whatever the table."""

FORMATS = ("text", "markdown", "csv", "json", "html")


def check_format(table: str, form: str) -> None:
    """Raises UsageError for an unknown table or format."""
    for option, word, known in (("--table", table, tuple(TABLES)), ("--format", form, FORMATS)):
        if word not in known:
            raise UsageError(f"{option}: '{word}' is unknown", did_you_mean(word, known))


def sweep_text(sweep: Sweep, table: str = SUMMARY, form: str = "text") -> str:
    """A table of a sweep; ends in a newline. JSON and HTML contain the whole sweep, whatever the table.

    Raises UsageError for an unknown table or format.
    """
    check_format(table, form)
    if form in DOCUMENTS:
        return DOCUMENTS[form](sweep)
    if form == "csv" and table in AS_CSV:
        return AS_CSV[table](sweep)
    return tables_text(TABLES[table](sweep), form)


def compare_sweeps(sweeps: Sequence[Sweep], form: str = "text") -> str:
    """Several sweeps, each relative to the first; ends in a newline. Raises UsageError for HTML."""
    check_format(RELATIVE, form)
    if form == "html":
        raise UsageError(
            "sweeps are compared as text, markdown, csv or json", "--show DIR --format html shows one"
        )
    if form == "json":
        return "[\n" + ",\n".join(sweep_json(sweep).rstrip("\n") for sweep in sweeps) + "\n]\n"
    return tables_text((tables.servers_table(sweeps),), form)


VERSIONS_FORMATS: dict[str, Callable[[Sweep], str]] = {
    "text": lambda sweep: tables_text((versions_table(sweep), *tables.audit_tables(sweep)), "text"),
    "markdown": lambda sweep: tables_text((versions_table(sweep), *tables.audit_tables(sweep)), "markdown"),
    "csv": versions_csv,
    "json": sweep_json,
    "html": versions_html,
}


def versions_text(sweep: Sweep, form: str = "text") -> str:
    """A comparison of server programs in a format; ends in a newline."""
    check_format(SUMMARY, form)
    setup = sweep.record.versions
    if setup is not None and setup.bisect and form in ("text", "markdown"):
        blocks = bisection_blocks(sweep)
        return write_text(blocks) if form == "text" else write_markdown(Document(lead=blocks))
    return VERSIONS_FORMATS[form](sweep)


def tables_text(tables: Sequence[Table], form: str) -> str:
    """The tables, one below the other."""
    match form:
        case "csv":
            return "\n".join(write_csv(table.header, table.rows) for table in tables)
        case "markdown":
            return write_markdown(Document(lead=tuple(tables)))
        case _:
            return write_text(tables)
