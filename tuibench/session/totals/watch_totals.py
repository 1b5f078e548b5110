"""The totals of a session without load: the server's own traffic from its first tick to its last."""

from collections.abc import Iterable

from msgspec.structs import replace

from tuibench.metrics.series.rates import ratio
from tuibench.model.counters import Counter
from tuibench.model.results.summary import QueryTotals, Summary, TransactionTotals, WatchedTotals
from tuibench.model.server import ServerInfo
from tuibench.model.tick import RESPONSE, Tick
from tuibench.observe.server.status_reading import ServerObservation
from tuibench.record.files.hdr_log import encode_histogram
from tuibench.session.spec import SessionSpec
from tuibench.session.totals.report_aggregation import LoadTotals
from tuibench.session.totals.run_summary import RunEnding, build_summary, latency_fields


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
    spec: SessionSpec, server: ServerInfo, totals: WatchTotals, ending: RunEnding
) -> Summary:
    """The whole session in figures."""
    seconds = totals.tick.seconds or 1e-9
    latency = totals.tick.hist(RESPONSE)
    commits = totals.count("completed")
    reads, writes, others = map(totals.count, ("reads", "writes", "others"))
    queries = reads + writes + others
    return replace(
        build_summary(spec, server, LoadTotals(), ending),
        transactions=TransactionTotals(total=commits, per_second=commits / seconds),
        queries=QueryTotals(
            read=reads, write=writes, other=others, total=queries, per_second=queries / seconds
        ),
        **latency_fields(latency, spec.plan.percentiles),
        latency_histogram=encode_histogram(latency),
        steadiness=ending.steadiness if commits else None,
        watched=totals.watched,
    )
