"""What remains of a run: the figures of its summary, under the keys of `tuibench.summary/1`."""

from typing import Literal

import msgspec

from tuibench.model.cost import CommitCost
from tuibench.model.effect import Effect
from tuibench.model.event import Event
from tuibench.model.headline import HeadlineTotals
from tuibench.model.probe import ProbeResult
from tuibench.model.sample import Latency
from tuibench.model.trial import TrialResult

Outcome = Literal["done", "stopped", "interrupted", "failed", "cut short"]
"""Time was up, the operator or a signal ended it, it could not go on, or its session ended without a word."""


class TransactionTotals(msgspec.Struct, frozen=True, kw_only=True):
    total: int
    per_second: float


class QueryTotals(msgspec.Struct, frozen=True, kw_only=True):
    read: int
    write: int
    other: int
    total: int
    per_second: float


class ErrorTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Failed statements, by the server's error number."""

    total: int
    by_code: dict[str, int]


class StatementTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Latency of one statement of the profile, in milliseconds."""

    count: int
    p50: float
    p95: float
    p99: float
    max: float


class KindTotals(StatementTotals, frozen=True, kw_only=True):
    """One kind of transaction: its latency, and how often it was tried again, or rolled back by intent.

    Those rolled back by intent are in `count`, too.
    """

    p90: float = 0.0
    rolled_back: int = 0
    retries: int = 0


class ServerTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The server, and by how much its counters grew while the load ran."""

    version: str
    flavour: str
    deltas: dict[str, int]


class Reconciliation(msgspec.Struct, frozen=True, kw_only=True):
    """Our statements against the server's own count, over the whole run.

    foreign = questions_server - own - questions_client: what other clients sent. None when the server's
    counters went back (restart, FLUSH STATUS) or could not be read, or when a worker did not report its end.
    Commits likewise, against Com_commit.
    """

    questions_client: int
    questions_server: int | None
    own: int
    foreign: int | None
    commits_client: int
    commits_server: int | None


class ClientTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What the load cost this side. `cpu_share` is the busiest worker's share of one core, 0 to 1."""

    workers: int
    cpu_share: float
    cpu_seconds: float
    limited: bool


class Fairness(msgspec.Struct, frozen=True, kw_only=True):
    """How evenly connections got through: mean and population deviation."""

    events_avg: float
    events_stddev: float
    seconds_avg: float
    seconds_stddev: float


class Summary(msgspec.Struct, frozen=True, kw_only=True, tag="summary", tag_field="type"):
    """The whole run in figures. Latencies are milliseconds, `seconds` is the measured time of the load.

    With the outcome "failed", `failure` says why. `latency_histogram` holds all transaction latencies in µs,
    in HdrHistogram's compressed encoding (base64), so that runs can be merged and compared. `by_transaction`
    is empty for a profile with one kind of transaction. `client_delay_ms` is the longest make-believe network
    delay that the run had on each round trip. `ab` is the result of a trial, if the run was one; `probe` that
    of the last probe, if there was one. `headline` is the figure that the profile is known by, if it has one.
    """

    schema: Literal["tuibench.summary/1"] = "tuibench.summary/1"
    session: str
    profile: str
    threads: int
    seconds: float
    rate: float
    percentiles: dict[str, float | None]
    outcome: Outcome
    failure: str = ""
    transactions: TransactionTotals
    queries: QueryTotals
    errors: ErrorTotals
    retries: int
    reconnects: int
    scheduled: int
    failed: int
    abandoned: int
    latency_ms: Latency | None
    service_ms: Latency | None
    latency_sum_ms: float
    latency_histogram: str
    fairness: Fairness
    statements: dict[str, StatementTotals]
    by_transaction: dict[str, KindTotals] = {}
    server: ServerTotals
    reconciliation: Reconciliation
    client: ClientTotals
    events: tuple[Event, ...]
    warnings: tuple[str, ...]
    client_delay_ms: float = 0.0
    effects: tuple[Effect, ...] = ()
    costs: tuple[CommitCost, ...] = ()
    ab: TrialResult | None = None
    probe: ProbeResult | None = None
    headline: HeadlineTotals | None = None
