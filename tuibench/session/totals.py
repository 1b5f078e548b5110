"""Totals of a session: workers' reports, the server's traffic, replication lag; alarms; the summary.

Most workers report at every tick. The report of a worker that was silent covers more than the tick, that of a
new worker covers less. So the length of an interval is taken from the workers that reported at both of its
ends, if there are any.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from tuibench.base.units import pluralize
from tuibench.load.fleet import Loss
from tuibench.load.messages import CompletionGaps, Counters, FairnessStats, GapsOfWorkers, WorkerReport
from tuibench.load.native_engine import Chosen
from tuibench.metrics.figures import all_values
from tuibench.model.cluster import HostTotals
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.findings import Headline
from tuibench.model.message import SessionSpec
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo, error_text
from tuibench.model.summary import (
    ClientTotals,
    ConnectionTotals,
    Fairness,
    Reconciliation,
    ReplicationTotals,
    ServerTotals,
    Summary,
)
from tuibench.model.tick import (
    ERROR,
    LOGIN,
    ROLLED_BACK,
    WAIT,
    Histogram,
    NamedHistograms,
    ReplicaSample,
    SlowTransaction,
    Tick,
    fold_histograms,
    slowest_of,
)
from tuibench.mysql.errors import TOO_MANY_CONNECTIONS_HINTS
from tuibench.observe.status import ServerObservation
from tuibench.record.sysbench_report import FullReport, load_fields
from tuibench.record.watch_totals import WatchTotals

NO_TIME = 1e-9


class WorkerShare(msgspec.Struct):
    """One worker's part of an interval."""

    grown: Counters
    """The increase of its counters."""
    seconds: float = 0.0
    """The time that its reports cover."""
    steady_seconds: float = 0.0
    """The time covered by reports that followed a report at the previous tick."""
    cpu_seconds: float = 0.0
    """CPU time of its busiest thread."""
    all_cpu_seconds: float = 0.0
    """CPU time of all of its threads."""

    def include(self, other: "WorkerShare") -> None:
        self.grown = self.grown + other.grown
        self.seconds += other.seconds
        self.steady_seconds += other.steady_seconds
        self.cpu_seconds += other.cpu_seconds
        self.all_cpu_seconds += other.all_cpu_seconds


class ReportAggregate(NamedHistograms):
    """The sum of workers' reports, in any number and order."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.hists: dict[str, Histogram] = {}
        self.slowest: tuple[SlowTransaction, ...] = ()
        self.cpu_seconds = 0.0
        self.lag_p99_ms = 0.0
        self._shares: dict[int, WorkerShare] = {}

    def add(self, report: WorkerReport, grown: Counters, *, is_steady: bool = True) -> None:
        """Adds a report; `grown` is the increase of its counters since this worker's previous one."""
        self.counters = self.counters + grown
        self._add_figures(report)
        share = self._shares.setdefault(report.worker, WorkerShare(Counters()))
        share.grown = share.grown + grown
        share.seconds += report.seconds
        share.steady_seconds += report.seconds * is_steady
        share.all_cpu_seconds += report.cpu_seconds
        share.cpu_seconds += report.cpu_seconds if report.core_seconds is None else report.core_seconds

    def include(self, other: "ReportAggregate") -> None:
        """Adds the sum of another interval."""
        self.counters = self.counters + other.counters
        self._add_figures(other)
        for worker, share in other._shares.items():
            self._shares.setdefault(worker, WorkerShare(Counters())).include(share)

    def _add_figures(self, other: "WorkerReport | ReportAggregate") -> None:
        fold_histograms(self.hists, other.hists)
        self.slowest = slowest_of((*self.slowest, *other.slowest))
        self.cpu_seconds += other.cpu_seconds
        self.lag_p99_ms = max(self.lag_p99_ms, other.lag_p99_ms)

    @property
    def is_empty(self) -> bool:
        return not self._shares

    @property
    def seconds(self) -> float:
        """The length of the interval; never zero."""
        shares = self._shares.values()
        steady = max((share.steady_seconds for share in shares), default=0.0)
        return steady or max((share.seconds for share in shares), default=0.0) or NO_TIME

    def share_of(self, worker: int) -> WorkerShare:
        """One worker's part; an empty one if it has not reported."""
        return self._shares.get(worker, WorkerShare(Counters()))

    @property
    def worker_cpu(self) -> float:
        """The busiest worker's share of a core."""
        shares = self._shares.values()
        return max((share.cpu_seconds / share.seconds for share in shares if share.seconds), default=0.0)

    def tick(self) -> Tick:
        """The interval as a tick, without its end. The work of a silent worker is spread over its silence:
        the part before this interval is in arrears.
        """
        seconds = self.seconds
        sums: dict[str, float] = {}
        arrears: dict[str, float] = {}
        for share in self._shares.values():
            now = min(1.0, seconds / share.seconds) if share.seconds > ROUNDING * seconds else 1.0
            for name, count in counter_sums(share.grown).items():
                sums[name] = sums.get(name, 0) + now * count
                if now < 1.0:
                    arrears[name] = arrears.get(name, 0) + (1.0 - now) * count
        return Tick(
            seconds=seconds,
            sums=sums,
            arrears=arrears,
            peaks={"worker_cpu": self.worker_cpu, "lag_p99_ms": self.lag_p99_ms},
            hists={name: each for name, each in self.hists.items() if each.count},
        )


ROUNDING = 1.05
"""Reports that cover up to this many times the tick were not late: the workers are asked one by one."""


def counter_sums(grown: Counters) -> dict[str, float]:
    """The counts of a tick by name. Zeros are left out, except for the counts that every load has."""
    plain = {name: getattr(grown, name) for name in COUNTED}
    named: dict[str, Mapping[int, int] | Mapping[str, int]] = {
        ERROR: grown.errors,
        "retried.": grown.retried,
        ROLLED_BACK: grown.rolled_back,
    }
    return {
        "completed": grown.completed,
        "queries": grown.queries,
        "reads": grown.reads,
        "writes": grown.writes,
        "others": grown.others,
        **{name: value for name, value in plain.items() if value},
        **{f"{prefix}{key}": times for prefix, counts in named.items() for key, times in counts.items()},
    }


COUNTED = (
    "scheduled", "resent", "good", "late", "failed", "abandoned", "unknown_commits", "commits", "questions",
    "retries", "reconnects", "logins", "missed_logins",
)  # fmt: skip


class LoadTotals:
    """Sums of the workers' reports. Counters are cumulative per worker; each report adds the difference.

    Histograms are wide, so each report is added once, to the open part. The open part is added once to the
    section between two checkpoints, and is the tick, or a part of it if a checkpoint splits the tick. A
    section is added to the run when it ends.
    """

    def __init__(self) -> None:
        self.slowest: tuple[SlowTransaction, ...] = ()
        """The slowest transactions of the last tick."""
        self.idle_connections = 0
        """Open ones at the last tick."""
        self._before = ReportAggregate()
        self._done_before = 0
        self._closed_sections: ReportAggregate | None = None
        self._section = ReportAggregate()
        self._tick = ReportAggregate()
        self._open = ReportAggregate()
        self._last: dict[int, WorkerReport] = {}
        self._latest_round: frozenset[int] = frozenset()
        self._gaps = GapsOfWorkers()

    def begin(self, reports: Sequence[WorkerReport]) -> None:
        """Start counting: what was reported before, such as logins, is not part of the run."""
        self._last = {report.worker: report for report in reports}
        self._latest_round = frozenset(self._last)
        for report in reports:
            self._gaps.add(report.worker, report.gaps)

    @property
    def completion_gaps(self) -> CompletionGaps:
        """The times in which no worker completed a transaction."""
        return self._gaps.common

    @property
    def since_checkpoint(self) -> ReportAggregate:
        """The sum since the last checkpoint, or since the figures began to count."""
        self._close_open_part()
        return self._section

    @property
    def run(self) -> ReportAggregate:
        """The sum since the figures began to count."""
        section = self.since_checkpoint
        if self._closed_sections is None:
            return section
        whole = ReportAggregate()
        whole.include(self._closed_sections)
        whole.include(section)
        return whole

    @property
    def totals(self) -> Counters:
        """The counters of the whole run, over all workers."""
        counters = self._section.counters + self._open.counters
        return counters if self._closed_sections is None else self._closed_sections.counters + counters

    @property
    def cpu_seconds(self) -> float:
        return self.run.cpu_seconds

    @property
    def all_parts(self) -> tuple[ReportAggregate, ...]:
        """The sums since the measurement began: before and after the last reset of the figures."""
        return self._before, self.run

    @property
    def connections(self) -> int:
        return sum(report.connections for report in self._last.values())

    @property
    def fairness(self) -> tuple[FairnessStats, FairnessStats]:
        """How the work was distributed among the connections: in all, and since the last checkpoint."""
        reports = self._last.values()
        return (
            sum((report.fairness for report in reports), FairnessStats()),
            sum((report.fairness_since for report in reports), FairnessStats()),
        )

    def add_reports(self, reports: Sequence[WorkerReport]) -> None:
        """Adds the reports of all workers at one time."""
        for report in reports:
            before = self._last.get(report.worker)
            grown = report.counters - (before.counters if before else Counters())
            is_steady = report.worker in self._latest_round
            self._open.add(report, grown, is_steady=is_steady)
            self._last[report.worker] = report
            self._gaps.add(report.worker, report.gaps)
        self._latest_round = frozenset(report.worker for report in reports)

    def reset_stats(self, reports: Sequence[WorkerReport]) -> None:
        """Resets the run's figures; the current tick continues, and so does the sample's total.

        Transactions in flight end in the new figures, so they count as started in them.
        """
        self.add_reports(reports)
        self._done_before += self.totals.completed
        self._before.include(self.run)
        counters = [report.counters for report in self._last.values()]
        flying, waiting = sum(each.in_flight for each in counters), sum(each.backlog for each in counters)
        self._closed_sections, self._section = None, ReportAggregate()
        self._section.counters = Counters(scheduled=flying + waiting, in_flight=flying, backlog=waiting)

    @property
    def transactions_total(self) -> int:
        """Transactions since the measurement began, including those before a reset."""
        return self._done_before + self.totals.completed

    def checkpoint(self) -> None:
        """Ends the current section, and begins that of the next checkpoint."""
        self._closed_sections, self._section = self.run, ReportAggregate()

    def tick(self, reports: Sequence[WorkerReport], threads: int, rate: float) -> Tick:
        """Adds the reports; returns the sum since the last tick."""
        self.add_reports(reports)
        self._close_open_part()
        gathered, self._tick = self._tick, ReportAggregate()
        self.slowest = gathered.slowest
        self.idle_connections = sum(report.idle_connections for report in self._last.values())
        return replace(gathered.tick(), levels=self._levels | {"threads": threads, "rate": rate})

    @property
    def _levels(self) -> dict[str, float]:
        counters = [report.counters for report in self._last.values()]
        return {
            "connections": self.connections,
            "backlog": sum(each.backlog for each in counters),
            "in_flight": sum(each.in_flight for each in counters),
        }

    def _close_open_part(self) -> None:
        """Adds the open part to the section; it becomes the tick, or a part of it."""
        part, self._open = self._open, ReportAggregate()
        if part.is_empty:
            return
        self._section.include(part)
        if self._tick.is_empty:
            self._tick = part
        else:
            self._tick.include(part)

    def remainder(self) -> Tick | None:
        """The sum since the last tick; None without a report."""
        self._close_open_part()
        return None if self._tick.is_empty else replace(self._tick.tick(), levels=self._levels)


ERROR_SHARE = 0.05
"""Errors per transaction that are reported as a burst; a few deadlocks are normal."""

QUIET_TICKS = 10
"""Ticks between two reports of the same problem."""

REFUSALS = {
    1040: "too many connections (error 1040, max_connections)",
    1203: "too many connections of this user (error 1203, max_user_connections)",
    1226: "the account's resource limit (error 1226)",
}
UNPREPARED = {1461: "the server accepts no more prepared statements (error 1461, max_prepared_stmt_count)"}
"""Why statements are sent as text, by the error of their preparation."""

SILENT = "{name} does not answer: its figures are missing until it does"
LATE = (
    "{name} reports late: this host has more runnable threads than CPUs; its figures come with a later report"
)


class Alarms:
    """Checks each tick and reports what is new."""

    def __init__(self) -> None:
        self._quiet_until: dict[EventKind, int] = {}
        self._tick = 0
        self._refused_before: dict[int, int] = {}
        self._reported_unresponsive: dict[str, set[str]] = {}
        self._told_losses = 0
        self._pending: list[str] = []

    def check(self, tick: Tick) -> list[tuple[EventKind, str]]:
        """The events of this tick that an operator should know."""
        self._tick += 1
        alarms = [(EventKind.WARNING, text) for text in self._pending]
        self._pending = []
        errors = tick.errors
        if errors > ERROR_SHARE * (tick.sums.get("completed", 0) + errors):
            codes = ", ".join(f"{error_text(code)} × {times:g}" for code, times in tick.counts(ERROR).items())
            alarms += self._once(EventKind.ERRORS, f"errors: {codes}")
        if reconnects := tick.sums.get("reconnects"):
            count = round(reconnects)
            alarms += self._once(EventKind.RECONNECT, f"{pluralize(count, 'connection')} reopened")
        return alarms

    def report_unresponsive(self, overdue: Sequence[str], silent: Sequence[str]) -> None:
        """Note workers whose report is missing or that do not run; `check` reports each once."""
        for name in overdue:
            if name in silent:
                self._report_once(name, SILENT)
            elif name not in self._reported_unresponsive:
                self._report_once(name, LATE)

    def _report_once(self, name: str, text: str) -> None:
        reported = self._reported_unresponsive.setdefault(name, set())
        if text not in reported:
            reported.add(text)
            self._pending.append(text.format(name=name))

    def lost(self, losses: Sequence[Loss]) -> None:
        """Note all workers that ended so far; `check` reports each once."""
        self._pending += [loss.event for loss in losses[self._told_losses :]]
        self._told_losses = len(losses)

    def notice(self, texts: Sequence[str]) -> None:
        """Note texts that `check` reports unchanged."""
        self._pending += texts

    def refusals(self, reports: Sequence[WorkerReport]) -> int:
        """Connections that the server has refused since the last call."""
        refused = _refused(reports)
        return sum(refused.get(code, 0) - self._refused_before.get(code, 0) for code in REFUSALS)

    def refusal_remedy(self, reports: Sequence[WorkerReport]) -> str:
        """The remedy for the connections that were refused, whenever that was."""
        refused = _refused(reports)
        return "; ".join(
            refusal_remedy for code, refusal_remedy in TOO_MANY_CONNECTIONS_HINTS.items() if code in refused
        )

    def refused(self, reports: Sequence[WorkerReport]) -> str:
        """A description of what the server refuses; empty if nothing new was refused."""
        refused = _refused(reports)
        new = {code: times - self._refused_before.get(code, 0) for code, times in refused.items()}
        self._refused_before = refused
        alarms = [f"{new[code]} refused: {words}" for code, words in REFUSALS.items() if new.get(code)]
        alarms += [
            f"{times} statements are sent as text: "
            f"{UNPREPARED.get(code, f'the server does not prepare them (error {code})')}"
            for code, times in new.items()
            if times and code not in REFUSALS
        ]
        return "; ".join(alarms)

    def _once(self, kind: EventKind, text: str) -> list[tuple[EventKind, str]]:
        if self._tick < self._quiet_until.get(kind, 0):
            return []
        self._quiet_until[kind] = self._tick + QUIET_TICKS
        return [(kind, text)]


def _refused(reports: Sequence[WorkerReport]) -> dict[int, int]:
    return sum((report.counters for report in reports), Counters()).refused


class LagTotals:
    """The longest replication lag of all ticks."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._seconds: float | None = None
        self._bytes: int | None = None
        self._stopped_ticks = 0

    def add(self, replicas: Sequence[ReplicaSample]) -> None:
        """One tick."""
        for each in replicas:
            self._names.add(each.name)
            if each.lag_seconds is not None:
                self._seconds = max(self._seconds or 0.0, each.lag_seconds)
            if each.lag_bytes is not None:
                self._bytes = max(self._bytes or 0, each.lag_bytes)
        self._stopped_ticks += any(not each.is_running for each in replicas)

    def total(self) -> ReplicationTotals | None:
        """The total of the session; None if it read no replica."""
        if not self._names:
            return None
        return ReplicationTotals(
            replicas=tuple(sorted(self._names)),
            lag_max_seconds=self._seconds,
            lag_max_bytes=self._bytes,
            stopped_ticks=self._stopped_ticks,
        )


Reading = ServerObservation | None
"""The server's counters at one moment. `own_statements` counts the session's statements up to then."""


def counter_deltas(before: Reading, after: Reading) -> dict[str, int] | None:
    """How much each counter grew; None if a reading is missing or the counters were reset in between."""
    if before is None or after is None or (after.uptime_seconds or 0) < (before.uptime_seconds or 0):
        return None
    grown = {
        name: value - before.counters[name]
        for name, value in after.counters.items()
        if name in before.counters
    }
    return None if grown.get(Counter.QUESTIONS, 0) < 0 else grown


def reconcile(
    totals: Counters, before: Reading, after: Reading, *, is_complete: bool = True
) -> Reconciliation:
    """Compares the client's statements with the server's. The difference was sent by others, if the client's
    figures are complete.
    """
    grown = counter_deltas(before, after)
    own = after.own_statements - before.own_statements if before and after else 0
    questions = grown.get(Counter.QUESTIONS) if grown is not None else None
    return Reconciliation(
        questions_client=totals.questions,
        questions_server=questions,
        own=own,
        foreign=None if questions is None or not is_complete else questions - own - totals.questions,
        commits_client=totals.commits,
        commits_server=grown.get(Counter.COM_COMMIT) if grown is not None else None,
    )


def build_summary(
    spec: SessionSpec,
    server: ServerInfo,
    accounting: LoadTotals,
    *,
    seconds: float,
    engine: Chosen,
    tick: Tick,
    readings: tuple[Reading, Reading] = (None, None),
    is_complete: bool = True,
    workers: int = 0,
    is_limited: bool = False,
    hosts: tuple[HostTotals, ...] = (),
    kinds: tuple[str, ...] = (),
    headline: Headline | None = None,
    **known: Any,
) -> Summary:
    """The figures of the whole run; `known` are the fields of the summary that do not follow from the
    accounting.

    `seconds` is the time of the load, `tick` the sum of the whole run, `kinds` are the profile's
    transactions, in its order. If not `is_complete`, some work of the workers was never reported.
    """
    plan, run, measured_seconds, seconds = spec.plan, accounting.run, seconds, seconds or 1e-9
    return Summary(
        session=spec.session,
        profile=plan.profile,
        seconds=measured_seconds,
        deviations=plan.deviations,
        **load_fields(
            Tick(sums=counter_sums(run.counters), hists=run.hists), seconds, plan.percentiles, kinds
        ),
        fairness=Fairness(**accounting.fairness[0].moments),
        server=ServerTotals(
            version=server.version_text,
            flavour=server.flavour,
            deltas=counter_deltas(*readings) or {},
        ),
        reconciliation=reconcile(run.counters, *readings, is_complete=is_complete),
        client=ClientTotals(
            workers=workers,
            cpu_share=run.cpu_seconds / seconds / max(1, workers),
            cpu_seconds=run.cpu_seconds,
            limited=is_limited,
            engine=engine.name,
            engine_reason=engine.reason,
            hosts=hosts,
            **server.transport_fields,
        ),
        figures=all_values(tick),
        is_complete=is_complete,
        headline=headline and headline.measured(run.of_kind(headline.transaction).count, seconds),
        connection_load=_connection_totals(plan, accounting, seconds),
        **known,
    )


def _connection_totals(plan: RunPlan, accounting: LoadTotals, seconds: float) -> ConnectionTotals | None:
    if not plan.has_connection_load:
        return None
    totals, run = accounting.totals, accounting.run
    return ConnectionTotals(
        idle=accounting.idle_connections,
        idle_wanted=plan.idle_connections,
        logins=totals.logins,
        logins_per_second=totals.logins / seconds,
        missed_logins=totals.missed_logins,
        login_ms=run.hist(LOGIN).latency(),
        users=plan.users,
        wait_ms=run.hist(WAIT).latency(),
    )


def full_report(
    accounting: LoadTotals, seconds: float, total_seconds: float, percentiles: tuple[float, ...]
) -> FullReport:
    """The figures of the `seconds` since the last checkpoint, as sysbench reports them at a checkpoint and at
    the end.
    """
    since = accounting.since_checkpoint
    found = load_fields(Tick(sums=counter_sums(since.counters), hists=since.hists), seconds, percentiles)
    return FullReport(
        seconds=seconds,
        total_seconds=total_seconds,
        errors=found["errors"].total,
        latency=found["latency_ms"],
        fairness=Fairness(**accounting.fairness[1].moments),
        **{
            name: found[name]
            for name in ("transactions", "queries", "reconnects", "percentiles", "latency_sum_ms")
        },
    )


def add_last_readings(totals: WatchTotals, observations: Iterable[ServerObservation]) -> None:
    """Adds the traffic after the last tick."""
    for observed in observations:
        if observed.traffic is not None and observed.tick is not None:
            totals.add(replace(observed.traffic, end=totals.tick.end, levels=observed.tick.levels))


def build_watch_summary(
    spec: SessionSpec, server: ServerInfo, totals: WatchTotals, ending: Mapping[str, Any]
) -> Summary:
    """The figures of a session without load; `ending` are arguments of `build_summary`."""
    return replace(
        build_summary(spec, server, LoadTotals(), **ending),
        **load_fields(totals.tick, totals.tick.seconds, spec.plan.percentiles),
        steadiness=ending.get("steadiness") if totals.count("completed") else None,
        watched=totals.watched,
    )
