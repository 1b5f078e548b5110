"""HTML section of a run's figures and their analysis, with the report's header: main figures and warnings."""

from collections.abc import Iterator, Mapping

from tuibench import units
from tuibench.metrics.series.cost_messages import cost_rows
from tuibench.metrics.series.slow_messages import slow_parts
from tuibench.model.histogram import Latency
from tuibench.model.results.summary import StatementTotals
from tuibench.mysql.errors import error_name
from tuibench.record.files.run import Run
from tuibench.record.html.markup import Markup, figure_table, join_markup, tag
from tuibench.record.html.thread_levels import has_several, level_table, level_tiles, thread_levels
from tuibench.record.report.analysis import analysis
from tuibench.record.report.effect_text import effect_text
from tuibench.units import count, decimal, hms, local_time, milliseconds, pluralize


def results_section(run: Run) -> Markup:
    """The figures of the run."""
    summary = run.summary
    seconds = summary.seconds or 1.0
    totals = [
        ("transactions", summary.transactions.total),
        ("queries", summary.queries.total),
        ("· reads", summary.queries.read),
        ("· writes", summary.queries.write),
        ("· others", summary.queries.other),
        ("errors", summary.errors.total),
        ("retries", summary.retries),
        ("reconnects", summary.reconnects),
    ]
    latencies = [("response time", summary.latency_ms), ("service time", summary.service_ms)]
    if (connections := summary.connection_load) is not None:
        totals += [("logins", connections.logins), ("logins missed", connections.missed_logins)]
        latencies += [("wait for a connection", connections.wait_ms), ("login", connections.login_ms)]
    levels = thread_levels(run)
    rates = [(name, count(total), decimal(total / seconds)) for name, total in totals]
    return join_markup(
        level_table(levels),
        figure_table(("", "total"), [row[:2] for row in rates], wide=False)
        if has_several(levels)
        else figure_table(("", "total", "per second"), rates, wide=False),
        tag("h3", "Latency, ms"),
        figure_table(
            ("", "count", "min", "avg", "p50", "p95", "p99", "p99.9", "max"),
            [(name, *_latency(each)) for name, each in latencies if each is not None],
        ),
        _totals("Kinds of transactions, ms", "transaction", summary.by_transaction),
        _totals("Statements, ms", "statement", summary.statements),
        _errors(run),
        _operation_cost(run),
    )


def _operation_cost(run: Run) -> Markup | None:
    """The cost of a transaction and of a query."""
    rows = cost_rows(run.summary.operation_cost)
    if not rows:
        return None
    return join_markup(
        tag("h3", "Cost of an operation"),
        figure_table(("", "per transaction", "per query"), rows, wide=False),
    )


def _latency(each: Latency) -> list[str]:
    figures = (each.min, each.avg, each.p50, each.p95, each.p99, each.p999, each.max)
    return [count(each.count), *map(decimal, figures)]


def _totals(title: str, name: str, kinds: Mapping[str, StatementTotals]) -> Markup | None:
    if not kinds:
        return None
    rows = [
        (kind, count(each.count), *(decimal(ms) for ms in (each.p50, each.p95, each.p99, each.max)))
        for kind, each in kinds.items()
    ]
    return join_markup(tag("h3", title), figure_table((name, "count", "p50", "p95", "p99", "max"), rows))


def _errors(run: Run) -> Markup | None:
    codes = run.summary.errors.by_code
    if not codes:
        return None
    rows = [(code, error_name(int(code)), count(times)) for code, times in codes.items()]
    return join_markup(
        tag("h3", "Errors"), figure_table(("code", "name", "times"), rows, words=2, wide=False)
    )


def analysis_section(run: Run) -> Markup:
    """The analysis, chapter by chapter."""
    return join_markup(
        [
            join_markup(tag("h3", chapter.heading), tag("p", " ".join(chapter.sentences)))
            for chapter in analysis(run)
        ]
    )


def report_header(run: Run) -> Markup:
    """Title, time, and the main figures."""
    plan, figures_, server = run.plan.plan, run.summary, run.plan.server
    started = local_time(run.plan.started_at)
    return join_markup(
        tag("h1", f"{plan.profile} on {server.flavour} {server.version}"),
        tag(
            "p",
            f"{started} · {_load_words(run)} · "
            f"{figures_.outcome} after {hms(figures_.seconds)} · run {run.id}",
            class_="soft",
        ),
        tag("div", [_tile(*tile) for tile in _tiles(run)], class_="tiles"),
    )


def _load_words(run: Run) -> str:
    """The tables and the threads, or the absence of a load."""
    plan = run.plan.plan
    if plan.is_watch or run.summary.watched is not None:
        return "the server's own traffic"
    return f"{run.plan.data_set or 'tables not described'} · {pluralize(plan.threads, 'thread')} at the start"


def _tiles(run: Run) -> Iterator[tuple[str, str, str]]:
    figures_, latency = run.summary, run.summary.latency_ms
    if has_several(levels := thread_levels(run)):
        yield from level_tiles(levels)
        yield "transactions", count(figures_.transactions.total), f"in {hms(figures_.seconds)}"
        yield "errors", count(figures_.errors.total), f"{count(figures_.retries)} transactions retried"
        return
    yield (
        "transactions per second",
        decimal(figures_.transactions.per_second, 1),
        f"{count(figures_.transactions.total)} in all",
    )
    yield (
        "queries per second",
        decimal(figures_.queries.per_second, 1),
        f"{count(figures_.queries.total)} in all",
    )
    if latency is not None:
        yield "p95", milliseconds(latency.p95), f"median {milliseconds(latency.p50)}"
        yield "p99", milliseconds(latency.p99), f"slowest {milliseconds(latency.max)}"
    if figures_.watched is not None:
        yield "rollbacks", count(figures_.watched.rollbacks), "by ROLLBACK statements"
        return
    yield "errors", count(figures_.errors.total), f"{count(figures_.retries)} transactions retried"


def _tile(title: str, value: str, more: str) -> Markup:
    return tag("div", tag("span", title), tag("b", value), tag("small", more), class_="tile")


def verdict_section(run: Run) -> Markup | None:
    """The conclusion of the run in a few sentences: the result of a probe, an A/B test, the effects."""
    sentences = list(_verdict_sentences(run))
    return tag("ul", [tag("li", text) for text in sentences], class_="verdict") if sentences else None


def _verdict_sentences(run: Run) -> Iterator[str]:
    summary = run.summary
    if summary.probe is not None and summary.probe.lines:
        yield summary.probe.lines[0]
    yield from (result.sentence for result in summary.ab_tests)
    for effect in summary.effects:
        yield f"{effect.change}: {effect_text(effect)}"


def slowest_section(run: Run) -> Markup | None:
    """The slowest transactions of the run, with the time of their statements."""
    slowest = run.summary.slowest
    if not slowest:
        return None
    rows = [
        (hms(slow.at_seconds), slow.transaction, milliseconds(slow.response_ms), "; ".join(slow_parts(slow)))
        for slow in slowest
    ]
    heading = tag("tr", [tag("th", name) for name in ("at", "transaction", "took", "share of time")])
    return tag("table", heading, [tag("tr", [tag("td", cell) for cell in row]) for row in rows])


def warnings_section(run: Run) -> Markup:
    """The warnings about the figures, at the top of the report."""
    warnings = list(run.summary.warnings)
    if run.refusal:
        warnings.append(run.refusal)
    if run.summary.failure:
        warnings.insert(0, f"the run failed: {run.summary.failure}")
    if not warnings:
        return tag("p", "No warnings.", class_="fine")
    return tag(
        "div", tag("b", "Warnings"), tag("ul", [tag("li", text) for text in warnings]), class_="warnings"
    )


def report_footer(run: Run) -> str:
    """The footer: the file's origin."""
    return (
        f"Written by tuibench {run.plan.version or ''} from the record of run {run.id}. "
        f"Times on the charts count from the start of the measured load; "
        f"{units.DASH} means not measured."
    )
