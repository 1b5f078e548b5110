"""What the reports say about a run beside its figures.

- The analysis: sentences about queries, transactions, latency, fairness, bottleneck, and advice.
- The additions below sysbench's summary: headline figure, kinds of transactions, results of experiments.
- The table of a session's statements.
"""

import collections
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import fmean, pstdev

from tuibench.base.document import Block, Section, Table, Text, section, write_text
from tuibench.base.units import DASH, count, decimal, hms, milliseconds, percent, pluralize
from tuibench.metrics.diagnosis import diagnose
from tuibench.metrics.figures import read
from tuibench.metrics.measurement_warnings import collect_evidence
from tuibench.metrics.series import slow_text
from tuibench.model.findings import Evidence, Finding, Headline
from tuibench.model.server import StatementFigures, StatementReport, StatementRow
from tuibench.model.summary import ConnectionTotals, KindTotals, Summary
from tuibench.model.tick import STATEMENT, Latency, Tick
from tuibench.mysql.errors import error_name
from tuibench.record.reader import Run
from tuibench.report.anomalies import anomalies_section
from tuibench.report.effects import hot_rows_line, stalls_line, steadiness_line, trial_section
from tuibench.report.part import report_parts

STEADY, UNSTEADY = 0.05, 0.25
LONG_TAIL = 5.0
UNEQUAL = 0.10
FEWEST_TICKS = 5


def analysis(run: Run) -> tuple[Section, ...]:
    """A section for each subject; for a run without transactions, one sentence that says so."""
    if not run.summary.transactions.total:
        nothing = Text(("No transaction was committed, so there is nothing to analyse.",))
        return (section("Result", nothing),)
    bottleneck = diagnose(run_evidence(run))
    contents: dict[str, Iterable[str]] = {
        "Queries": _queries(run),
        "Transactions": _transactions(run),
        "Latency": _latency(run),
        "Fairness": _fairness(run),
        "Bottleneck": _bottleneck(bottleneck),
        "Advice": [_capital(bottleneck.remedy) + ".", *(text for holds, text in CAVEATS if holds(run))],
    }
    paragraphs = {title: " ".join(sentences) for title, sentences in contents.items()}
    return tuple(section(title, Text((words,))) for title, words in paragraphs.items() if words)


def run_evidence(run: Run) -> Evidence:
    """The evidence of the measured part of a run."""
    trip = run.environment.round_trip if run.environment else None
    return collect_evidence(
        run.measured,
        is_local=run.plan.server.is_local,
        round_trip_ms=None if trip is None else trip.median_ms,
    )


def statement_shares(ticks: Iterable[Tick]) -> dict[str, float]:
    """Each statement's share (0 to 1) of the time of all statements, the largest first."""
    times: collections.Counter[str] = collections.Counter()
    for tick in ticks:
        for name, histogram in tick.named(STATEMENT).items():
            times[name] += histogram.sum_us
    whole = times.total()
    return {name: time / whole for name, time in times.most_common()} if whole else {}


def _queries(run: Run) -> Iterator[str]:
    queries, transactions = run.summary.queries, run.summary.transactions.total
    each = queries.total / transactions
    kinds = (
        (queries.read, "reads"),
        (queries.write, "writes"),
        (queries.other, "others (BEGIN, COMMIT and the like)"),
    )
    shares = [
        f"{percent(100 * part / queries.total)} {name}" for part, name in kinds if part and queries.total
    ]
    yield (
        f"The server executed {count(queries.per_second)} queries per second, {decimal(each, 1)} per "
        f"transaction: {join_words(shares)}."
    )
    counted = run.summary.reconciliation
    if counted.foreign is None or run.summary.watched is not None:
        return
    if counted.foreign == 0:
        yield f"Its own count of {count(counted.questions_client)} statements is the same."
    elif counted.foreign > 0:
        share = percent(100 * counted.foreign / max(1, counted.questions_server or 0), 1)
        yield f"Other clients sent {count(counted.foreign)} statements meanwhile, {share} of all."


def _transactions(run: Run) -> Iterator[str]:
    figures = run.summary
    yield (
        f"{count(figures.transactions.total)} transactions were committed in {hms(figures.seconds)}, "
        f"{decimal(figures.transactions.per_second, 1)} per second."
    )
    yield from _steadiness(run)
    if run.plan.plan.rate and figures.scheduled:
        share = 100 * figures.transactions.total / figures.scheduled
        yield f"Of {count(figures.scheduled)} transactions that were due, {percent(share, 1)} were done."
    if figures.watched is not None:
        return
    if not figures.errors.total:
        yield "No statement failed."
        return
    codes = [
        f"{code} {error_name(int(code))} ({count(times)})".replace("  ", " ")
        for code, times in figures.errors.by_code.items()
    ]
    attempts = figures.transactions.total + figures.errors.total
    yield (
        f"{pluralize(figures.errors.total, 'statement')} failed, "
        f"{percent(100 * figures.errors.total / attempts, 2)} of the attempts: {join_words(codes)}; "
        f"retried: {pluralize(figures.retries, 'transaction')}, failed: {count(figures.failed)}."
    )


def _steadiness(run: Run) -> Iterator[str]:
    rates = [read("tps", sample.load) or 0.0 for sample in run.measured if sample.load is not None]
    if len(rates) < FEWEST_TICKS or not fmean(rates):
        return
    spread = pstdev(rates) / fmean(rates)
    ordered = sorted(rates)
    edge = round(0.05 * (len(ordered) - 1))
    word = "steady" if spread <= STEADY else "uneven" if spread >= UNSTEADY else "fairly steady"
    changes = ", over all changes of the run," if any(event.marker for event in run.events) else ""
    yield (
        f"The rate was {word}: between seconds it varied{changes} by {percent(100 * spread)} (standard "
        f"deviation), in nine of ten between {count(ordered[edge])} and {count(ordered[-1 - edge])} per "
        "second."
    )
    if (found := run.summary.steadiness) is not None:
        yield f"{steadiness_line(found)}."
        if found.stalls:
            yield f"There were {stalls_line(found)}."
    if line := hot_rows_line(run.summary.hot_rows):
        yield f"{line[:1].upper()}{line[1:]}."


def _latency(run: Run) -> Iterator[str]:
    latency, service = run.summary.latency_ms, run.summary.service_ms
    if latency is None:
        return
    what = "transactions" if run.summary.watched is None else "statements"
    yield (
        f"Half of the {what} took up to {milliseconds(latency.p50)}, 95 % up to "
        f"{milliseconds(latency.p95)}, 99 % up to {milliseconds(latency.p99)}; the slowest took "
        f"{milliseconds(latency.max)}."
    )
    for slow in run.summary.slowest[:1]:
        yield f"Of the slowest, {slow_text(slow)}."
    tail = latency.p99 / latency.p50 if latency.p50 else math.inf
    word = (
        f"a long tail: some {what} wait for something that most do not"
        if tail >= LONG_TAIL
        else "a short tail"
    )
    yield f"The 99th percentile is {decimal(tail, 1)} times the median, {word}."
    if service is not None:
        yield (
            f"That is response time, from the scheduled start; from the actual start, 95 % took up to "
            f"{milliseconds(service.p95)}: the difference is the wait for a free connection."
        )
    p95s = [(p95, sample.elapsed_seconds) for sample in run.measured if (p95 := read("p95", sample.load))]
    if p95s:
        p95, at_seconds = max(p95s, key=lambda each: each[0])
        yield f"It was slowest at {hms(at_seconds)}, with a p95 of {milliseconds(p95)}."
    if shares := list(statement_shares(sample.tick for sample in run.measured).items())[:3]:
        statements = [f"{name} ({percent(100 * share)})" for name, share in shares]
        yield f"Most of the time was spent in {join_words(statements)}."


def _fairness(run: Run) -> Iterator[str]:
    fairness = run.summary.fairness
    if not fairness.events_avg:
        return
    share = fairness.events_stddev / fairness.events_avg
    word = "unevenly" if share > UNEQUAL else "evenly"
    yield (
        f"Transactions were distributed {word} among connections: {count(fairness.events_avg)} transactions "
        "each on average, with a "
        f"standard deviation of {count(fairness.events_stddev)} ({percent(100 * share, 1)})."
    )
    if share > UNEQUAL and any(event.kind == "threads" and event.marker for event in run.events):
        yield "Threads were added or removed during the run, so not all connections had the same time."


def _bottleneck(bottleneck: Finding) -> Iterator[str]:
    yield f"{_capital(bottleneck.found)}."
    if bottleneck.evidence:
        yield f"{_capital('; '.join(bottleneck.evidence))}."


SHORT_SECONDS = 30.0
CAVEATS: tuple[tuple[Callable[[Run], bool], str], ...] = (
    (
        lambda run: run.summary.seconds < SHORT_SECONDS,
        "This was a short run: repeat it for some minutes before drawing conclusions.",
    ),
    (
        lambda run: run.summary.watched is None and not run.plan.plan.warmup_seconds,
        "There was no warm-up, so cold caches are part of the figures (--warmup-time).",
    ),
    (
        lambda run: run.summary.watched is None and run.plan.server.is_local,
        "Client and server competed for the CPU of one host; use two hosts to measure the server alone.",
    ),
    (
        lambda run: bool(run.summary.client_delay_ms),
        "Part of the latency was simulated (--client-delay): it shows the latency of a distant client.",
    ),
)
"""Conditions under which the results of a run are of limited validity, and the sentence about each."""


def join_words(parts: list[str]) -> str:
    """The parts of a sentence as a list: a, b and c."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


TITLE = "Transactions (ms):"
COLUMNS = ("completed", "rollbacks", "retries", "p50", "p90", "p95", "p99", "max")


def headline_text(summary: Summary) -> str:
    """The headline figure, its share of the ideal value, and a table of the transactions.

    Empty for a profile without a headline figure.
    """
    if summary.headline is None:
        return ""
    lines = [*_figure(summary.headline), "", *kinds_lines(summary.by_transaction), *tpcc_lines(summary)]
    return "\n".join([*lines, "", ""])


TPCC_LIMITS_MS = {
    "new_order": 5_000.0,
    "payment": 5_000.0,
    "order_status": 5_000.0,
    "delivery": 5_000.0,
    "stock_level": 20_000.0,
}
"""The longest 90th percentile of each transaction in TPC-C 5.11, clause 5.2.5.3."""


def tpcc_lines(summary: Summary) -> Iterator[str]:
    """TPC-C's verdict on the response times, and NOPM; empty for other profiles."""
    kinds, headline = summary.by_transaction, summary.headline
    if headline is None or not kinds or not kinds.keys() <= TPCC_LIMITS_MS.keys():
        return
    beyond = [
        f"{name} {each.p90 / 1000:,.1f} s of {TPCC_LIMITS_MS[name] / 1000:g} s"
        for name, each in kinds.items()
        if each.p90 > TPCC_LIMITS_MS[name]
    ]
    yield f"NOPM (new orders per minute):            {headline.value:.2f}"
    if beyond:
        yield f"90th percentiles: beyond TPC-C's limits: {', '.join(beyond)}"
    else:
        yield "90th percentiles: within TPC-C's limits (5 s, stock_level 20 s)"


def _figure(headline: Headline) -> Iterator[str]:
    yield f"{headline.name + ':':<40} {headline.value:.2f}"
    if headline.efficiency is not None and headline.ideal is not None:
        doubt = f" ({headline.doubt})" if headline.doubt else ""
        yield f"    efficiency:{'':<25} {headline.efficiency:.2f} % of {headline.ideal:,.2f}{doubt}"


def kinds_lines(kinds: Mapping[str, KindTotals]) -> Iterator[str]:
    """A line for each kind of transaction; intended rollbacks are included in the completed ones."""
    if not kinds:
        return
    width = max(len(TITLE), *(len(name) + 4 for name in kinds))
    yield TITLE.ljust(width) + "".join(f"{column:>10}" for column in COLUMNS)
    for name, each in kinds.items():
        counts = (each.count, each.rolled_back, each.retries)
        times = (each.p50, each.p90, each.p95, each.p99, each.max)
        yield f"    {name}".ljust(width) + "".join(
            [f"{number:>10}" for number in counts] + [f"{ms:>10.2f}" for ms in times]
        )


def connections_lines(connections: ConnectionTotals | None) -> Iterator[str]:
    """Lines about users, idle connections and logins; none if the load had none of them."""
    if connections is None:
        return
    yield "Connections:"
    if connections.users:
        yield f"    {'users who share the connections:':<37}{connections.users}"
        yield f"    {'wait for a connection (ms):':<37}{_spread(connections.wait_ms)}"
    if connections.idle_wanted:
        yield f"    {'idle at the end:':<37}{connections.idle} of {connections.idle_wanted}"
    if connections.logins or connections.missed_logins:
        yield f"    {'logins:':<37}{connections.logins:<6} ({connections.logins_per_second:.2f} per sec.)"
        yield f"    {'login (ms):':<37}{_spread(connections.login_ms)}"
    if connections.missed_logins:
        yield f"    {'logins that were due, not started:':<37}{connections.missed_logins}"
    yield ""


def _spread(latency: Latency | None) -> str:
    if latency is None:
        return "none"
    return f"avg {latency.avg:.2f}, p95 {latency.p95:.2f}, p99 {latency.p99:.2f}, max {latency.max:.2f}"


def addenda(summary: Summary) -> str:
    """All additions below sysbench's summary; empty if there are none."""
    connections = "".join(line + "\n" for line in connections_lines(summary.connection_load))
    return headline_text(summary) + connections + write_text(experiment_blocks(summary))


def experiment_blocks(summary: Summary) -> list[Block | Section]:
    """The anomalies, and the results of A/B tests and of the features' experiments."""
    blocks: list[Block | Section] = [
        *filter(None, [anomalies_section(summary.figures)]),
        *map(trial_section, summary.ab_tests),
    ]
    for part in report_parts(summary):
        blocks += part.blocks(summary)
    return blocks


STATEMENT_COLUMNS = ("calls", "total", "avg", "p95", "rows/call", "lock/call", "CPU/call")
BEFORE = ("avg before", "p95 before")


def statements_text(report: StatementReport) -> str:
    """A line for each statement, in descending order of time, then notes on missing data."""
    since = f"since {report.change}" if report.change else "since statements were first requested"
    has_before = bool(report.before_seconds)
    rows = tuple(
        (*_cells(row.now), *(_before(row) if has_before else ()), row.source, row.text) for row in report.rows
    )
    table = Table(
        title=f"{report.seconds:.1f} s {since}",
        header=(*STATEMENT_COLUMNS, *(BEFORE if has_before else ()), "source", "statement"),
        rows=rows,
        words=0,
        remarks=2,
        notes=tuple(f"{DASH} {gap}" for gap in report.gaps),
    )
    return write_text((table,)).rstrip("\n")


def plan_text(report: StatementReport) -> str:
    """The statement that was read in full, with its plan."""
    detail = report.detail
    if detail is None:
        return ""
    note = (f"{DASH} {detail.note}",) if detail.note else ()
    header, *rows = detail.plan or ((),)
    table = Table(title=detail.statement, header=header, rows=tuple(rows), words=len(header), notes=note)
    return write_text((table,)).rstrip("\n")


def _cells(figures: StatementFigures) -> tuple[str, ...]:
    calls = figures.calls
    rows = DASH if figures.rows_examined is None else f"{figures.rows_examined / calls:,.1f}"
    each = (None if value is None else value / calls for value in (figures.lock_ms, figures.cpu_ms))
    return (
        count(calls),
        milliseconds(figures.total_ms),
        milliseconds(figures.avg_ms),
        milliseconds(figures.p95_ms),
        rows,
        *map(milliseconds, each),
    )


def _before(row: StatementRow) -> tuple[str, str]:
    if row.before is None:
        return DASH, DASH
    return milliseconds(row.before.avg_ms), milliseconds(row.before.p95_ms)
