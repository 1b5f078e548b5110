"""HTML page of a sweep: its tables, and charts of the figures against threads."""

from collections.abc import Callable, Sequence

from tuibench import units
from tuibench.metrics.inference.means import sweep_points
from tuibench.model.results.sweep import Sweep, SweepCase, SweepPoint
from tuibench.record.html.markup import Markup, figure_table, join_markup, property_table, tag
from tuibench.record.html.page import html_page
from tuibench.record.html.threads_chart import LARGE, SMALL, ThreadsLine, threads_chart
from tuibench.record.report.text_table import TextTable
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
    content = tag(
        "main",
        tag("h1", f"Sweep on {server.flavour} {server.version}"),
        tag("p", _subtitle(sweep), class_="soft"),
        [
            tag("section", tag("h2", case.name), body)
            for case in sweep.record.plan.cases
            if (body := case_section(sweep, case)) is not None
        ],
        tag("section", tag("h2", "All runs"), grid_markup(tables.runs_table(sweep))) if sweep.done else None,
        tag("section", tag("h2", "Server and method"), property_table(_facts(sweep))),
    )
    return html_page(f"Sweep {sweep.record.name}", content)


def _subtitle(sweep: Sweep) -> str:
    started = units.local_time(sweep.record.started_at)
    failed = len(sweep.results) - len(sweep.done)
    failures = f", {failed} failed" if failed else ""
    return f"{started} · {len(sweep.done)} runs{failures} · {sweep.record.name}"


def case_section(sweep: Sweep, case: SweepCase) -> Markup | None:
    """The tables and charts of a case; None without results."""
    known = sweep_points(sweep.record.plan, sweep.results)
    own = [point for point in known if point.case.name == case.name]
    if not own:
        return None
    first, *others = tables.case_tables(sweep, case)
    return join_markup(
        grid_markup(first),
        _chart(sweep, own, "headline", own[0].headline),
        tag(
            "div",
            [_chart(sweep, own, *small, width=SMALL) for small in PAIRED if _is_known(own, small[0])],
            class_="pair",
        ),
        [grid_markup(grid) for grid in others],
    )


def _is_known(own: Sequence[SweepPoint], figure: str) -> bool:
    return any(figure in point.figures for point in own)


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


def grid_markup(grid: TextTable) -> Markup:
    """A table with its title and notes."""
    return join_markup(
        tag("h3", grid.title) if grid.title else None,
        figure_table(grid.header, grid.rows, words=grid.words),
        [tag("p", note, class_="note") for note in grid.notes],
    )


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
