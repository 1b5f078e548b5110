"""Report of `tuibench watch`: a server's own traffic, under the keys of `tuibench.watch/1`."""

from typing import Literal

import msgspec

from tuibench.model.event import Event
from tuibench.model.experiments.effect import AbTestResult, CommitCost, Effect
from tuibench.model.histogram import Latency
from tuibench.model.results.summary import RunOutcome, ServerTotals


class WatchedRate(msgspec.Struct, frozen=True, kw_only=True):
    """A count, and its rate per second; None if the server does not count its statements."""

    total: int | None
    per_second: float | None


class WatchReport(msgspec.Struct, frozen=True, kw_only=True):
    """Report of a session without load. Counts include all clients, without the session's own statements.

    `transactions` are COMMIT statements. `latency_ms` is the latency of statements, None if the server has no
    distribution of times. `server.deltas` is the increase of the server's counters.
    """

    schema: Literal["tuibench.watch/1"] = "tuibench.watch/1"
    session: str
    seconds: float
    outcome: RunOutcome
    failure: str
    queries: WatchedRate
    reads: WatchedRate
    writes: WatchedRate
    others: WatchedRate
    transactions: WatchedRate
    rollbacks: WatchedRate
    latency_ms: Latency | None
    latency_avg_ms: float | None
    latency_note: str
    percentiles: dict[str, float | None]
    threads_running_avg: float | None
    threads_running_max: int | None
    server: ServerTotals
    own_statements: int
    effects: tuple[Effect, ...]
    costs: tuple[CommitCost, ...]
    ab: AbTestResult | None
    earlier_ab_tests: tuple[AbTestResult, ...]
    events: tuple[Event, ...]
    warnings: tuple[str, ...]
