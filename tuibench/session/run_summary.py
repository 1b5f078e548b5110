"""Summaries: of a run from its accounting and the server's counters, of a watch from the server's traffic."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from tuibench.load.messages import Counters
from tuibench.load.native_engine import Chosen
from tuibench.metrics.figures import all_values
from tuibench.metrics.series import ratio
from tuibench.model.cluster import HostTotals
from tuibench.model.counters import Counter
from tuibench.model.findings import Headline
from tuibench.model.message import SessionSpec
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo
from tuibench.model.summary import (
    ClientTotals,
    ConnectionTotals,
    Fairness,
    Reconciliation,
    ServerTotals,
    Summary,
    WatchedTotals,
)
from tuibench.model.tick import (
    LOGIN,
    RESPONSE,
    WAIT,
    Tick,
)
from tuibench.observe.status import ServerObservation
from tuibench.record.sysbench_report import FullReport, load_fields
from tuibench.session.totals import LoadTotals, counter_sums

Reading = ServerObservation | None
"""The server's counters at one moment; its own statements are all that the session had sent by then."""


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
    """Client against server: what is left over was sent by others, if the client's figures are complete."""
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
    """The whole run in figures; `known` are the fields of the summary that do not follow from the accounting.

    `seconds` is the time of the load, `tick` the sum of the whole run; `kinds` are the profile's
    transactions, in its order. Unless it `is_complete`, some of what the workers did was never reported.
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
    """The `seconds` since the last checkpoint in figures, as sysbench has them at the next or the end."""
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


class WatchTotals:
    """Ticks in, totals out: `tick` is their sum, whose seconds are those with figures of the traffic."""

    def __init__(self) -> None:
        self.tick = Tick()
        self._threads_seconds = self._threads_counted_seconds = 0.0
        self._most_threads: int | None = None

    def add(self, tick: Tick) -> None:
        """One more interval. Of its levels, only the running threads are used."""
        shown = Tick(
            end=tick.end,
            seconds=tick.seconds,
            sums={name: tick.sums[name] for name in TRAFFIC_SUMS if name in tick.sums},
            hists={RESPONSE: tick.hists[RESPONSE]} if RESPONSE in tick.hists else {},
            missing=tick.missing,
        )
        self.tick += shown
        running = tick.levels.get(Counter.THREADS_RUNNING)
        if running is not None:
            self._threads_seconds += running * tick.seconds
            self._threads_counted_seconds += tick.seconds
            self._most_threads = max(self._most_threads or 0, int(running))

    def add_last(self, observations: Iterable[ServerObservation]) -> None:
        """The readings after the last tick."""
        for observed in observations:
            if observed.traffic is not None and observed.tick is not None:
                self.add(replace(observed.traffic, end=self.tick.end, levels=observed.tick.levels))

    def count(self, name: str) -> int:
        """One of the sums, over all ticks."""
        return round(self.tick.sums.get(name, 0))

    @property
    def watched(self) -> WatchedTotals:
        """What the summary of a run has no field for."""
        sums = self.tick.sums
        return WatchedTotals(
            rollbacks=self.count("rollbacks"),
            threads_running_avg=ratio(self._threads_seconds, self._threads_counted_seconds),
            threads_running_max=self._most_threads,
            latency_avg_ms=ratio(sums.get("statement_ms"), sums.get("timed")),
            latency_note=self.tick.missing.get("latency", ""),
        )


TRAFFIC_SUMS = (
    "completed", "commits", "rollbacks", "queries", "questions", "reads", "writes", "others", "timed",
    "statement_ms",
)  # fmt: skip


def build_watch_summary(
    spec: SessionSpec, server: ServerInfo, totals: WatchTotals, ending: Mapping[str, Any]
) -> Summary:
    """The whole session in figures; `ending` are arguments of `build_summary`."""
    return replace(
        build_summary(spec, server, LoadTotals(), **ending),
        **load_fields(totals.tick, totals.tick.seconds, spec.plan.percentiles),
        steadiness=ending.get("steadiness") if totals.count("completed") else None,
        watched=totals.watched,
    )
