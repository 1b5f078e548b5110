"""HTML page of a sweep: its tables, and charts of the figures against threads."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tuibench import units
from tuibench.document import Chart, Document, Section, Text, properties, section
from tuibench.metrics.inference.means import sweep_points
from tuibench.model.results.sweep import Sweep, SweepPoint
from tuibench.record.html.markup import Markup, join_markup, tag
from tuibench.record.html.page import document_page
from tuibench.record.html.threads_chart import LARGE, SMALL, ThreadsLine, threads_chart
from tuibench.record.sweep import tables
from tuibench.record.sweep.tables import variant_label

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
"""Figures with a small chart, in pairs."""


def sweep_html(sweep: Sweep) -> str:
    """The self-contained page, ending in a newline."""
    server = sweep.record.surroundings.server
    document = Document(
        title=f"Sweep on {server.flavour} {server.version}",
        lead=(Text((_subtitle(sweep),), role="soft"),),
        sections=(
            *case_sections(sweep),
            *runs_sections(sweep),
            section("Server and method", properties(_facts(sweep))),
        ),
    )
    return document_page(document, title=f"Sweep {sweep.record.name}")


def _subtitle(sweep: Sweep) -> str:
    started = units.local_time(sweep.record.started_at)
    failed = len(sweep.results) - len(sweep.done)
    failures = f", {failed} failed" if failed else ""
    return f"{started} · {len(sweep.done)} runs{failures} · {sweep.record.name}"


def runs_sections(sweep: Sweep) -> list[Section]:
    """The table of runs, if any have ended."""
    return [section("All runs", tables.runs_table(sweep))] if sweep.done else []


def case_sections(sweep: Sweep) -> Iterator[Section]:
    """The tables and charts of each case with results."""
    known = sweep_points(sweep.record.plan, sweep.results)
    for case in sweep.record.plan.cases:
        if own := [point for point in known if point.case.name == case.name]:
            first, *others = tables.case_tables(sweep, case)
            yield section(case.name, first, Chart(partial(_charts, sweep, own)), *others)


def _charts(sweep: Sweep, own: Sequence[SweepPoint]) -> Markup:
    """The headline over the whole width, the other figures in pairs."""
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
