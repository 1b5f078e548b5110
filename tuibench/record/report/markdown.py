"""Markdown report of a run, for an issue or a chat: warnings first, plan, environment, figures, changes."""

from collections.abc import Iterable, Iterator, Sequence

from tuibench import sanitize
from tuibench.metrics.series.cost_messages import cost_rows
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.histogram import Latency
from tuibench.model.measurements.environment import Environment
from tuibench.model.results.summary import StatementTotals, Summary, engine_text
from tuibench.record.files.run import Run
from tuibench.record.report.effect_text import cost_line, effect_text
from tuibench.record.report.variables import important_variables
from tuibench.units import binary_size, count, decimal, first_to_last, hms, local_time

Row = Sequence[str]


def run_markdown(run: Run) -> str:
    """The whole report, ending in a newline."""
    parts = (
        _head(run),
        _warnings(run),
        _setting(run),
        _results(run),
        _latencies(run),
        _cost(run),
        _changes(run),
    )
    return "\n".join(line for part in parts for line in part).rstrip("\n") + "\n"


def _head(run: Run) -> Iterator[str]:
    started = local_time(run.plan.started_at)
    profile, server = _escaped(run.plan.plan.profile), run.plan.server
    yield f"# {profile} on {server.flavour} {_escaped(server.version)}\n"
    yield f"Run `{_escaped(run.id)}`, {started}, {run.summary.outcome} after {hms(run.summary.seconds)}.\n"


def _warnings(run: Run) -> Iterator[str]:
    warnings = [*run.summary.warnings]
    if run.refusal:
        warnings.append(run.refusal)
    if warnings:
        yield "## Warnings\n"
        yield from (f"- {_escaped(warning)}" for warning in warnings)
        yield ""


def _setting(run: Run) -> Iterator[str]:
    plan, server = run.plan.plan, run.plan.server
    options = " ".join(f"{name}={value}" for name, value in sorted(plan.options.items()))
    rows = [
        ("profile", f"{plan.profile} {options}".strip()),
        ("data", run.plan.data_set),
        ("threads", "" if plan.is_watch else first_to_last(plan.threads, run.summary.threads)),
        ("rate", f"{plan.rate:,g}/s" if plan.rate else ""),
        ("engine", engine_text(run.summary.client)),
        ("seed", "" if plan.is_watch else str(plan.seed)),
        ("server", f"{server.version_text} at {server.where}"),
        *(_environment(run, run.environment) if run.environment else ()),
    ]
    yield "## Run\n"
    yield from _table(("", ""), [row for row in rows if row[1]])


def _environment(run: Run, seen: Environment) -> Iterator[tuple[str, str]]:
    host, disk, trip = seen.host, seen.disk, seen.round_trip
    cores = f"{host.cores} cores" + (f", limited to {host.cpu_limit:g}" if host.cpu_limit else "")
    yield "client", f"{host.name}, {seen.location} to the server, tuibench {seen.tuibench}"
    yield "system", f"{host.os}, {host.kernel}"
    yield "processor", f"{host.cpu_model}, {cores}"
    yield "memory", binary_size(host.memory_bytes)
    yield "virtual", ", ".join(part for part in (host.virtualisation, host.container) if part)
    yield "disk", f"{disk.kind or disk.device} ({disk.file_system})" if disk else ""
    yield "round trip", f"{trip.median_ms:.3f} ms (min {trip.min_ms:.3f} ms)" if trip else ""
    for name, value in important_variables(run):
        yield f"`{name}`", value


def _load_results(figures: Summary) -> Iterator[Row]:
    """Figures that only a load has."""
    yield "errors", count(figures.errors.total), decimal(figures.errors.total / (figures.seconds or 1))
    yield "retries", count(figures.retries), ""
    yield "reconnects", count(figures.reconnects), ""


def _results(run: Run) -> Iterator[str]:
    figures = run.summary
    rows = [
        ("transactions", count(figures.transactions.total), decimal(figures.transactions.per_second)),
        ("queries", count(figures.queries.total), decimal(figures.queries.per_second)),
        *(_load_results(figures) if figures.watched is None else ()),
    ]
    yield "## Result\n"
    yield from _table(("", "total", "per second"), rows)


def _latencies(run: Run) -> Iterator[str]:
    figures = run.summary
    named = [("response", figures.latency_ms), ("service", figures.service_ms)]
    rows = [(name, *_cells(each)) for name, each in named if each]
    yield "## Latency (ms)\n"
    yield from _table(("", "min", "avg", "p50", "p95", "p99", "p99.9", "max"), rows)
    for title, kinds in (("transaction", figures.by_transaction), ("statement", figures.statements)):
        if kinds:
            yield from _table((title, "count", "p50", "p95", "p99", "max"), map(_totals, kinds.items()))


def _cost(run: Run) -> Iterator[str]:
    """The cost of a transaction and of a query."""
    rows = cost_rows(run.summary.operation_cost)
    if rows:
        yield "## Cost of an operation\n"
        yield from _table(("", "per transaction", "per query"), rows)


def _cells(latency: Latency) -> Row:
    figures = (latency.min, latency.avg, latency.p50, latency.p95, latency.p99, latency.p999, latency.max)
    return [decimal(value) for value in figures]


def _totals(named: tuple[str, StatementTotals]) -> Row:
    name, each = named
    return (name, count(each.count), *(decimal(ms) for ms in (each.p50, each.p95, each.p99, each.max)))


def _changes(run: Run) -> Iterator[str]:
    rows = [
        (hms(event.elapsed_seconds), str(event.marker or ""), _words(event))
        for event in run.events
        if event.kind in CHANGE_KINDS or event.kind is EventKind.EFFECT
    ]
    if rows:
        yield "## Changes\n"
        yield from _table(("at", "no.", "what"), rows)
    for cost in run.summary.costs:
        if cost.transactions:
            yield f"- {_escaped(cost_line(cost))}"
    effects = [effect for effect in run.summary.effects if not effect.settled]
    yield from (f"- not settled: {_escaped(effect.change)}: {effect_text(effect)}" for effect in effects)


def _words(event: Event) -> str:
    is_effect = event.kind is EventKind.EFFECT and not event.not_measured
    return f"effect: {event.text}" if is_effect else event.text


def _table(heading: Row, rows: Iterable[Row]) -> Iterator[str]:
    """The first column to the left, figures to the right; an empty line after it."""
    wide = len(heading) > 2
    yield _row(heading)
    yield _row([":--", *(["--:" if wide and heading[-1] != "what" else ":--"] * (len(heading) - 1))])
    yield from (_row([_escaped(cell) for cell in row]) for row in rows)
    yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Escape a text for one line, so that it neither ends a table cell nor becomes an element, a link or
    an image.
    """
    return sanitize.markdown_text(text)
