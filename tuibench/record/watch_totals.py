"""The totals of the traffic of all clients of a server, summed from ticks."""

from msgspec.structs import replace

from tuibench.metrics.series import ratio
from tuibench.model.counters import Counter
from tuibench.model.summary import WatchedTotals
from tuibench.model.tick import RESPONSE, Tick

TRAFFIC_SUMS = (
    "completed", "commits", "rollbacks", "queries", "questions", "reads", "writes", "others", "timed",
    "statement_ms",
)  # fmt: skip


class WatchTotals:
    """Adds up ticks with traffic; `tick` is their sum."""

    def __init__(self) -> None:
        self.tick = Tick()
        self._threads_seconds = self._threads_counted_seconds = 0.0
        self._most_threads: int | None = None

    def add(self, tick: Tick) -> None:
        """Add the sums, the response times and the number of running threads of a tick."""
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

    def count(self, name: str) -> int:
        """A sum over all ticks, rounded."""
        return round(self.tick.sums.get(name, 0))

    def added_to(self, sampled: Tick) -> Tick:
        """The sum of all samples, in which these totals replace the samples' traffic."""
        return replace(
            sampled,
            seconds=self.tick.seconds,
            sums=sampled.sums | self.tick.sums,
            hists=self.tick.hists,
        )

    @property
    def watched(self) -> WatchedTotals:
        """The totals that only the summary of a session without load has."""
        sums = self.tick.sums
        return WatchedTotals(
            rollbacks=self.count("rollbacks"),
            threads_running_avg=ratio(self._threads_seconds, self._threads_counted_seconds),
            threads_running_max=self._most_threads,
            latency_avg_ms=ratio(sums.get("statement_ms"), sums.get("timed")),
            latency_note=self.tick.missing.get("latency", ""),
        )
