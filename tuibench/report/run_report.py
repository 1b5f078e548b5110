"""Report of a run as a document, for Markdown and HTML: verdict, warnings, charts, results, environment."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from tuibench.base import numerals, units
from tuibench.base.document import (
    Block,
    Document,
    HtmlChart,
    Section,
    Shape,
    Table,
    TableStyle,
    Text,
    properties,
    section,
    write_markdown,
)
from tuibench.base.units import (
    binary_size,
    count,
    decimal,
    first_to_last,
    hms,
    local_time,
    milliseconds,
    pluralize,
    three_digits,
)
from tuibench.metrics.costs import cost_rows
from tuibench.metrics.figures import FIGURES, FigureUnit, read
from tuibench.metrics.series import slow_parts
from tuibench.model.event import CHANGE_KINDS, Event, EventKind, bands, one_entry_an_experiment
from tuibench.model.plan import OptionValue, RunPlan, setup_rows
from tuibench.model.settings import REPORTED_READ_ONLY, SettingRole, settings_with
from tuibench.model.summary import Summary, engine_text
from tuibench.model.tick import Latency, Tick, total_tick
from tuibench.mysql.errors import error_name
from tuibench.record.reader import Run
from tuibench.report.analysis import analysis
from tuibench.report.anomalies import anomalies_section
from tuibench.report.answer import answer_sentence, answer_table
from tuibench.report.effects import cost_table, effect_card, trial_section
from tuibench.report.html_chart import (
    ChartMark,
    ChartSpan,
    Markup,
    TimeAxis,
    join_markup,
    tag,
    whole_changes,
)
from tuibench.report.html_plots import (
    DrawnChart,
    document_page,
    draw_charts,
    latency_chart,
    tooltip_script,
)
from tuibench.report.part import answering_part, report_parts
from tuibench.report.reproduce import reproduction_commands
from tuibench.workload.script import is_script

MOST_MARKS = 60
"""Maximum number of changes that are marked and listed: those of a screening would hide the figures."""

HINT = "All charts share one time axis; point at one to see the values of all at that time. {marks}"
LEAST_SECONDS = 3.0
"""Minimum duration of a level of threads; the steps of a ramp are shorter."""


def run_markdown(run: Run) -> str:
    """The report as Markdown, for an issue or a chat; ends in a newline."""
    return write_markdown(run_document(run))


def html_report(run: Run) -> str:
    """The report as a self-contained page, ending in a newline."""
    title = f"{run.plan.plan.profile}, {run.id}"
    if not run.samples:
        return document_page(run_document(run), title=title)
    axis = TimeAxis(run.samples)
    marks = _marks(run)
    span = ChartSpan(axis.start, axis.end, marks if len(marks) <= MOST_MARKS else [], axis.times)
    pictures = dict(draw_charts(axis, span, run.summary.figures))
    return document_page(run_document(run, pictures), tooltip_script(axis.times, span, pictures), title=title)


def run_document(run: Run, pictures: Mapping[str, DrawnChart] | None = None) -> Document:
    """The report as a document. `pictures` are its charts over time by id, for HTML."""
    what = "Traffic of" if run.plan.plan.is_watch else f"{run.plan.plan.profile} on"
    return Document(
        title=f"{what} {run.plan.server.flavour} {run.plan.server.version}",
        lead=tuple(_lead(run, pictures or {})),
        sections=tuple(each for each in _sections(run, pictures or {}) if each.blocks),
        foot=f"Written by tuibench {run.plan.version or ''} from the record of run {run.id}. "
        f"Times count from the start of the measured load; {units.DASH} means not measured.",
    )


def _sections(run: Run, pictures: Mapping[str, DrawnChart]) -> Iterator[Section]:
    """The sections, from the main results to the commands that repeat the run."""
    summary, levels = run.summary, thread_levels(run)
    parts = report_parts(summary)
    yield from (each for part in parts if part.effects_note for each in part.sections(summary))
    yield section("Changes", *_changes(run))
    if summary.ab_tests:
        yield section("A against B", *map(trial_section, summary.ab_tests))
    yield from (each for part in parts if not part.effects_note for each in part.sections(summary))
    if further := {name: each for name, each in pictures.items() if _is_further(run, name)}:
        yield section("Over time", HtmlChart(partial(_over_time, run, further)))
    yield section("Result", *_results(run, levels))
    if (anomalies := anomalies_section(summary.figures)) is not None:
        yield anomalies
    latencies = run.latencies()
    if latencies.count:
        yield section("Latency distribution", HtmlChart(partial(latency_chart, latencies)))
    if summary.slowest:
        yield section("Slowest transactions", _slowest(run))
    yield section("Analysis", *analysis(run))
    yield section("All figures", *_all_figures(run))
    yield section("Environment", *_environment(run))
    yield section("Method", *_method(run))
    yield section("Commands", *_commands(run))


# Answer


def _lead(run: Run, pictures: Mapping[str, DrawnChart]) -> Iterator[Block]:
    """The beginning of the report: the answer with its chart and figures, the conditions, the warnings."""
    summary = run.summary
    words = (
        f"{local_time(run.plan.started_at)} · {summary.outcome} after {hms(summary.seconds)} · run {run.id}"
    )
    yield Text((words,), role="soft")
    answer = (answer_sentence(summary) or _plain_sentence(run)).rstrip(".")
    yield Text((whole_changes(f"{answer}."),), role="answer")
    part = answering_part(summary)
    if part is not None and part.is_of_whole_run:
        yield HtmlChart(partial(part.chart, summary))
    elif ANSWER_CHART in pictures:
        yield HtmlChart(lambda: pictures[ANSWER_CHART].figure)
    table = answer_table(summary)
    yield table or Table(rows=tuple(_tiles(run)), words=1, remarks=1, style=TableStyle.TILES)
    yield properties(_conditions(run))
    warnings = tuple(filter(None, (*summary.warnings, run.refusal)))
    yield (
        Text(warnings, Shape.LIST, "warnings", "Warnings")
        if warnings
        else Text(("No warnings.",), role="fine")
    )


ANSWER_CHART = "tps"


def _plain_sentence(run: Run) -> str:
    """The sentence for a run without an experiment and without a measured change."""
    summary, latency = run.summary, run.summary.latency_ms
    if not summary.transactions.total and summary.watched is None:
        return "No transaction was committed"
    p95 = f", p95 {milliseconds(latency.p95)}" if latency is not None else ""
    return f"{three_digits(summary.transactions.per_second)} {_transactions(summary)} per second{p95}"


def _transactions(summary: Summary) -> str:
    """The word for what is counted: transactions, or commits for other clients' traffic."""
    return "transactions" if summary.watched is None else "commits"


def _size(value: str) -> str:
    """A number of bytes in binary units; any other value unchanged."""
    size = numerals.count(value)
    return value if size is None else binary_size(size)


def _conditions(run: Run) -> Iterator[tuple[str, str]]:
    """Names and values of load, server and host, a line each."""
    seen, server = run.environment, run.plan.server
    variables = {} if seen is None else seen.variables
    values = [
        f"{label} {_size(value) if name == BUFFER_POOL else value}"
        for name, label in CONDITIONS
        if (value := variables.get(name, ""))
    ]
    yield "load", _load_words(run)
    yield "server", ", ".join((f"{server.flavour} {server.version_text}", *values))
    if seen is not None:
        host = seen.host
        memory = binary_size(host.memory_bytes) if host.memory_bytes else ""
        place = "the server's host" if seen.location == "local" else "not the server's host"
        words = (
            host.name,
            place,
            host.cpu_model,
            pluralize(host.cores or 0, "core") * bool(host.cores),
            memory,
        )
        yield "host", ", ".join(filter(None, words))


BUFFER_POOL = "innodb_buffer_pool_size"
CONDITIONS = (
    ("innodb_flush_log_at_trx_commit", "flush_log"),
    ("sync_binlog", "sync_binlog"),
    (BUFFER_POOL, "buffer pool"),
)
"""The variables with the largest influence on a result, with their short names."""


def _load_words(run: Run) -> str:
    """Profile, tables and threads in words, or that there was no load."""
    plan = run.plan.plan
    if plan.is_watch or run.summary.watched is not None:
        return "the server's own traffic"
    threads = first_to_last(plan.threads, run.summary.threads)
    tables = run.plan.data_set or "tables not described"
    return f"{plan.profile} · {tables} · {threads} thread{'s' * (threads != '1')}"


def _tiles(run: Run) -> Iterator[tuple[str, str, str]]:
    summary, latency = run.summary, run.summary.latency_ms
    part = answering_part(summary)
    if part is not None and (tiles := part.tiles(summary)):
        yield from tiles
        return
    if has_several(levels := thread_levels(run)):
        best = max(levels, key=lambda level: read("tps", level) or 0.0)
        words = f"with {pluralize(int(best.levels['threads']), 'thread')}, for {best.seconds:.0f} s"
        yield "most transactions per second", three_digits(read("tps", best) or 0.0), words
        if (p95_ms := read("p95", best)) is not None:
            yield "p95 there", milliseconds(p95_ms), "of its transactions"
        yield "transactions", count(summary.transactions.total), f"in {hms(summary.seconds)}"
        yield "errors", count(summary.errors.total), f"{pluralize(summary.retries, 'transaction')} retried"
        return
    yield (
        f"{_transactions(summary)} per second",
        three_digits(summary.transactions.per_second),
        f"{count(summary.transactions.total)} in all",
    )
    yield (
        "queries per second",
        three_digits(summary.queries.per_second),
        f"{count(summary.queries.total)} in all",
    )
    if latency is not None:
        yield "p95", milliseconds(latency.p95), f"median {milliseconds(latency.p50)}"
        yield "p99", milliseconds(latency.p99), f"slowest {milliseconds(latency.max)}"
    if summary.watched is not None:
        yield "rollbacks", count(summary.watched.rollbacks), "by ROLLBACK statements"
        return
    yield "errors", count(summary.errors.total), f"{pluralize(summary.retries, 'transaction')} retried"


def _is_kept_apart(summary: Summary) -> bool:
    """True if figures of the whole run would mix what the run's experiment keeps apart."""
    part = answering_part(summary)
    return part is not None and part.is_of_whole_run


# Charts over time, changes


def _is_further(run: Run, name: str) -> bool:
    """True for a chart that is not part of the answer."""
    return name != ANSWER_CHART or _is_kept_apart(run.summary)


def _over_time(run: Run, pictures: Mapping[str, DrawnChart]) -> Markup:
    """The charts: large ones below each other, small ones in pairs under the names of their groups."""
    changes = len(_marks(run))
    many = f"{count(changes)} changes are too many to be marked; the events list them."
    hint = HINT.format(marks="Numbers mark changes." if changes <= MOST_MARKS else many)
    groups: dict[str, list[Markup]] = {}
    for each in pictures.values():
        groups.setdefault(each.group, []).append(each.figure)
    large = groups.pop("", [])
    small = [
        join_markup(tag("h3", name, class_="group"), tag("div", pair, class_="pair"))
        for name, pair in groups.items()
    ]
    return join_markup(tag("p", hint, class_="note screen"), large, small)


def _marks(run: Run) -> list[ChartMark]:
    """The marks of all changes and experiments."""
    changes = [
        ChartMark(event.elapsed_seconds, event.marker, event.text)
        for event in run.events
        if event.kind in CHANGE_KINDS and event.marker is not None and not event.experiment
    ]
    return changes + [
        ChartMark(band.start_seconds, band.marker, band.entry.text, band.end_seconds, band.name)
        for band in bands(run.events)
    ]


def _changes(run: Run) -> Iterator[Block | Section]:
    """Each change with its effect, or a list if there are many; the cost of a commit; all events."""
    effects = {effect.markers[-1]: effect for effect in run.summary.effects}
    changes = [
        event
        for event in one_entry_an_experiment(run.events)
        if event.marker is not None and (event.kind in CHANGE_KINDS or event.not_measured)
    ]
    cards = [
        effect_card(effects[event.marker], event.text)
        for event in changes
        if event.kind in CHANGE_KINDS and event.marker in effects
    ]
    yield from cards
    if not cards:
        yield Text((_without_effects(run, changes),))
    if len(changes) > len(cards) and len(changes) <= MOST_MARKS:
        rows = tuple((hms(event.elapsed_seconds), str(event.marker or ""), event.text) for event in changes)
        yield Table(header=("at", "no.", "what"), rows=rows, words=3)
    if (costs := cost_table(run.summary.costs)) is not None:
        yield costs
    events = [event for event in run.events if event.kind is not EventKind.EFFECT or event.not_measured]
    listed = tuple(
        (hms(event.elapsed_seconds), str(event.marker or ""), str(event.kind), event.text) for event in events
    )
    if listed:
        title = "The only event" if len(listed) == 1 else f"All {len(listed)} events"
        yield section(title, Table(header=("at", "no.", "kind", "what"), rows=listed, words=4), folded=True)


def _without_effects(run: Run, changes: Sequence[Event]) -> str:
    part = answering_part(run.summary)
    if part is not None and part.effects_note:
        return part.effects_note
    if any(event.marker is not None for event in changes):
        return "No effect of a change was measured; the events show the reasons."
    return "Nothing was changed during the run."


# Results


def _results(run: Run, levels: Sequence[Tick]) -> Iterator[Block]:
    """The figures of the run; for a run with several levels of threads, those of each level."""
    summary = run.summary
    seconds = summary.seconds or 1.0
    totals = [
        (_transactions(summary), summary.transactions.total),
        ("queries", summary.queries.total),
        ("· reads", summary.queries.read),
        ("· writes", summary.queries.write),
        ("· others", summary.queries.other),
    ]
    if summary.watched is None:
        totals += [
            ("errors", summary.errors.total),
            ("retries", summary.retries),
            ("reconnects", summary.reconnects),
            *[("commits of unknown fate", summary.unknown_commits)] * bool(summary.unknown_commits),
        ]
    latencies = [("response time", summary.latency_ms), ("service time", summary.service_ms)]
    if (connections := summary.connection_load) is not None:
        totals += [("logins", connections.logins), ("logins missed", connections.missed_logins)]
        latencies += [("wait for a connection", connections.wait_ms), ("login", connections.login_ms)]
    if has_several(levels):
        if not _is_kept_apart(summary):
            yield _level_table(levels)
        yield Table(header=("", "total"), rows=tuple((name, count(total)) for name, total in totals))
    else:
        rates = tuple((name, count(total), decimal(total / seconds)) for name, total in totals)
        yield Table(header=("", "total", "per second"), rows=rates)
    header = ("", "count", "min", "avg", "p50", "p95", "p99", "p99.9", "max")
    known = tuple((name, *_latency(each)) for name, each in latencies if each is not None)
    if known:
        yield Table(title="Latency, ms", header=header, rows=known)
    yield from _kinds("Kinds of transactions, ms", "transaction", summary.by_transaction)
    yield from _kinds("Statements, ms", "statement", summary.statements)
    if codes := summary.errors.by_code:
        rows = tuple((code, error_name(int(code)), count(times)) for code, times in codes.items())
        yield Table(title="Errors", header=("code", "name", "times"), rows=rows, words=2)
    if costs := cost_rows(summary.operation_cost):
        yield Table(
            title="Cost of an operation", header=("", "per transaction", "per query"), rows=tuple(costs)
        )


def _all_figures(run: Run) -> Iterator[Table]:
    """All figures by the names for `--fail-if` and `compare`, first those with a better direction."""
    measured, is_traffic = run.summary.figures, run.summary.watched is not None
    rows = tuple(
        (
            each.name,
            each.title,
            each.text(measured[each.name], in_column=True) + "/s" * (each.unit is FigureUnit.PER_SECOND),
            each.meaning_of(is_traffic=is_traffic),
        )
        for each in sorted(FIGURES.values(), key=lambda each: each.better is None)
        if measured.get(each.name)
    )
    if rows:
        header = ("name", "figure", "value", "meaning")
        notes = ("Figures that are 0 are left out. Levels, such as memory, are those of the last sample.",)
        yield Table(header=header, rows=rows, words=2, remarks=1, notes=notes)


def _latency(each: Latency) -> list[str]:
    figures = (each.min, each.avg, each.p50, each.p95, each.p99, each.p999, each.max)
    return [count(each.count), *map(decimal, figures)]


def _kinds(title: str, name: str, kinds: Mapping[str, Latency]) -> Iterator[Table]:
    rows = tuple(
        (kind, count(each.count), *(decimal(ms) for ms in (each.p50, each.p95, each.p99, each.max)))
        for kind, each in kinds.items()
    )
    if rows:
        yield Table(title=title, header=(name, "count", "p50", "p95", "p99", "max"), rows=rows)


def _slowest(run: Run) -> Table:
    """The slowest transactions, with the time of their statements."""
    rows = tuple(
        (hms(slow.at_seconds), slow.transaction, milliseconds(slow.response_ms), "; ".join(slow_parts(slow)))
        for slow in run.summary.slowest
    )
    return Table(header=("at", "transaction", "took", "share of time"), rows=rows, words=2, remarks=1)


def thread_levels(run: Run) -> list[Tick]:
    """The levels: the sum of each period with a constant number of threads, in time order."""
    ticks = [sample.tick for sample in run.measured if sample.load is not None]
    stretches = (list(each) for _, each in groupby(ticks, lambda tick: tick.levels["threads"]))
    return [level for each in stretches if (level := total_tick(each)).seconds >= LEAST_SECONDS]


def has_several(levels: Sequence[Tick]) -> bool:
    return len({level.levels["threads"] for level in levels}) > 1


def _level_table(levels: Sequence[Tick]) -> Table:
    """A row for each level, because an average over several levels is meaningless."""
    rows = tuple(
        (
            count(level.levels["threads"]),
            f"{max(0.0, level.start):.0f}",
            f"{level.seconds:.0f}",
            decimal(read("tps", level) or 0.0, 1),
            "" if (p95_ms := read("p95", level)) is None else decimal(p95_ms, 1),
        )
        for level in levels
    )
    return Table(header=("threads", "from second", "seconds", "TPS", "p95, ms"), rows=rows)


# Environment, method, commands


def _environment(run: Run) -> Iterator[Block | Section]:
    """Server, host, network and the most important variables; all other variables are folded."""
    seen, server = run.environment, run.plan.server
    rows = [
        ("server", f"{server.flavour} {server.version_text}"),
        ("address", f"{server.where}, database {run.plan.target.database}"),
    ]
    rows += server.transport_facts
    if seen is None:
        yield properties(rows)
        return
    yield properties([*rows, *_host(run), *important_variables(run)])
    if seen.gaps:
        yield Text(tuple(f"Unknown: {gap}" for gap in seen.gaps), role="note")
    if variables := seen.variables:
        title = f"All {len(variables)} server variables that were recorded"
        yield section(title, properties(sorted(variables.items())), folded=True)


def _host(run: Run) -> Iterator[tuple[str, str]]:
    seen = run.environment
    if seen is None:
        return
    host, disk, trip = seen.host, seen.disk, seen.round_trip
    limit = f", limited to {host.cpu_limit:g}" if host.cpu_limit else ""
    place = "on the server's host" if seen.location == "local" else "on another host than the server"
    yield "client", f"{host.name}, {place}; tuibench {seen.tuibench}, Python {seen.python}"
    yield "system", ", ".join(filter(None, (host.os, host.kernel, host.architecture)))
    yield "processor", f"{host.cpu_model or 'unknown'}, {host.cores} cores{limit}"
    yield "memory", binary_size(host.memory_bytes) if host.memory_bytes else ""
    yield (
        "virtual",
        ", ".join(part for part in (host.virtualisation, host.container) if part and part != "none"),
    )
    if disk is not None:
        sizes = (
            f"{binary_size(disk.free_bytes)} of {binary_size(disk.total_bytes)} free"
            if disk.total_bytes
            else ""
        )
        yield "disk", ", ".join(filter(None, (disk.kind, disk.device, disk.file_system, sizes)))
    if trip is not None:
        yield (
            "round trip",
            f"{trip.median_ms:.3f} ms median of {trip.tries} tries "
            f"({trip.min_ms:.3f} to {trip.max_ms:.3f} ms)",
        )


def important_variables(run: Run) -> Iterator[tuple[str, str]]:
    """The most important variables at the start of the run: name and value, sizes also in binary units."""
    if run.environment is None:
        return
    values = run.environment.variables
    first = run.states[0][1].settings if run.states else ()
    reported = {setting.name: setting for setting in settings_with(SettingRole.REPORT, first)}
    for name in (*reported, *REPORTED_READ_ONLY):
        if name in values:
            setting, value = reported.get(name), values[name]
            size = _size(value) if setting is not None and setting.is_size else value
            yield str(name), value if size == value else f"{size} ({value})"


WATCH_METHOD = (
    "The session had no load: it watched the server's own traffic. Queries, reads, writes and commits are "
    "increases of the server's counters, without the session's own statements; an autocommitted statement "
    "is not a commit. Latencies are statement times measured by the server, if it provides them."
)


METHOD = (
    "A transaction counts if its COMMIT, or its only statement, succeeded. Latencies are recorded "
    "in HDR histograms with three significant digits; percentiles of the run are computed from all "
    "transactions, not as means of percentiles."
)


def _method(run: Run) -> Iterator[Block]:
    """The plan, the load and the method of measuring."""
    plan = run.plan.plan
    if plan.is_watch:
        yield Text((WATCH_METHOD,), role="note")
        return
    rows = [("load", f"{plan.profile} on {run.plan.data_set}" if run.plan.data_set else plan.profile)]
    if is_script(Path(plan.profile)):
        # A script is identified by its text, not by its name.
        digest = hashlib.sha256(run.plan.profile_text.encode()).hexdigest()
        rows.append(("Lua script", f"{plan.profile}, SHA-256 {digest[:16]}…"))
    rows += [
        ("pace", _pace(plan)),
        *setup_rows(plan),
        ("engine", engine_text(run.summary.client)),
        ("options", _options(run.plan.options or plan.options)),
    ]
    yield properties(rows)
    yield Text((METHOD,), role="note")


def _pace(plan: RunPlan) -> str:
    if plan.users:
        return f"{count(plan.users)} users share the connections; latency is measured from a user's request"
    if not plan.rate:
        return "closed loop: each connection starts its next transaction when the last one has ended"
    return (
        f"open loop: {plan.rate:g} transactions per second, {plan.arrival} arrivals; latency is measured "
        "from the scheduled start"
    )


def _options(given: Mapping[str, OptionValue]) -> str:
    return ", ".join(
        f"{name} {('on' if value else 'off') if isinstance(value, bool) else value}"
        for name, value in sorted(given.items())
        if value not in ("", None)
    )


def _commands(run: Run) -> Iterator[Block]:
    commands = reproduction_commands(run)
    yield Text(tuple(line for line in (commands.prepare, commands.tuibench) if line), Shape.CODE)
    if commands.sysbench:
        yield Text((commands.sysbench,), Shape.CODE, title="The same load with sysbench:")
    if commands.by_hand:
        yield Text(commands.by_hand, Shape.LIST, title="Changed during the run:")
    if commands.acting:
        yield Text(commands.acting, Shape.LIST, title="Beside the load, these lines have the host do:")
    note = "The password comes from an option file or MYSQL_PWD; it is not recorded."
    yield Text((note,), role="note")
