"""A run as Markdown, for an issue or a chat: warnings first, what was run and where, figures, changes."""

import time
from collections.abc import Iterable, Iterator, Sequence

from tuibench.model.environment import Environment
from tuibench.model.event import CHANGES, EventKind
from tuibench.model.sample import Latency
from tuibench.model.summary import StatementTotals
from tuibench.record.effects import cost_line, effect_words
from tuibench.record.run import Run
from tuibench.units import clock, count, data, decimal, from_to

Row = Sequence[str]


def markdown(run: Run) -> str:
    """The whole report, ending in a newline."""
    parts = (_head(run), _warnings(run), _setting(run), _results(run), _latencies(run), _happened(run))
    return "\n".join(line for part in parts for line in part).rstrip("\n") + "\n"


def _head(run: Run) -> Iterator[str]:
    started = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(run.plan.started_at))
    yield f"# {run.plan.plan.profile} on {run.plan.server.flavour} {run.plan.server.version}\n"
    yield f"Run `{run.id}`, {started}, {run.summary.outcome} after {clock(run.summary.seconds)}.\n"


def _warnings(run: Run) -> Iterator[str]:
    warnings = [*run.summary.warnings]
    if run.spoilt_lines:
        warnings.append(f"{run.spoilt_lines} lines of the record cannot be read")
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
        ("threads", from_to(plan.threads, run.summary.threads)),
        ("rate", f"{plan.rate:,g}/s" if plan.rate else ""),
        ("seed", str(plan.seed)),
        ("server", f"{server.version_text} at {server.where}"),
        *(_environment(run.environment) if run.environment else ()),
    ]
    yield "## Run\n"
    yield from _table(("", ""), [row for row in rows if row[1]])


def _environment(seen: Environment) -> Iterator[tuple[str, str]]:
    host, disk, trip = seen.host, seen.disk, seen.round_trip
    cores = f"{host.cores} cores" + (f", limited to {host.cpu_limit:g}" if host.cpu_limit else "")
    yield "client", f"{host.name}, {seen.location} to the server, tuibench {seen.tuibench}"
    yield "system", f"{host.os}, {host.kernel}"
    yield "processor", f"{host.cpu_model}, {cores}"
    yield "memory", data(host.memory_bytes)
    yield "virtual", ", ".join(part for part in (host.virtualisation, host.container) if part)
    yield "disk", f"{disk.kind or disk.device} ({disk.file_system})" if disk else ""
    yield "round trip", f"{trip.median_ms:.3f} ms (least {trip.min_ms:.3f} ms)" if trip else ""
    for name in ("innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_buffer_pool_size"):
        yield f"`{name}`", seen.variables.get(name, "")


def _results(run: Run) -> Iterator[str]:
    figures = run.summary
    rows = [
        ("transactions", count(figures.transactions.total), decimal(figures.transactions.per_second)),
        ("queries", count(figures.queries.total), decimal(figures.queries.per_second)),
        ("errors", count(figures.errors.total), decimal(figures.errors.total / (figures.seconds or 1))),
        ("retries", count(figures.retries), ""),
        ("reconnects", count(figures.reconnects), ""),
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


def _cells(latency: Latency) -> Row:
    told = (latency.min, latency.avg, latency.p50, latency.p95, latency.p99, latency.p999, latency.max)
    return [decimal(value) for value in told]


def _totals(named: tuple[str, StatementTotals]) -> Row:
    name, each = named
    return (name, count(each.count), *(decimal(ms) for ms in (each.p50, each.p95, each.p99, each.max)))


def _happened(run: Run) -> Iterator[str]:
    rows = [
        (clock(event.elapsed_seconds), str(event.marker or ""), _words(event.text, event.kind))
        for event in run.events
        if event.kind in CHANGES or event.kind is EventKind.EFFECT
    ]
    if rows:
        yield "## Changes\n"
        yield from _table(("at", "no.", "what"), rows)
    for cost in run.summary.costs:
        if cost.transactions:
            yield f"- {cost_line(cost)}"
    effects = [effect for effect in run.summary.effects if not effect.settled]
    yield from (f"- not settled: {effect.change}: {effect_words(effect)}" for effect in effects)


def _words(text: str, kind: EventKind) -> str:
    return f"effect: {text}" if kind is EventKind.EFFECT else text


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
    """What would end a cell of a table is taken off its meaning."""
    return text.replace("|", "\\|").replace("\n", " ")
