"""The summary of a run, and comparisons of runs: with the first of them, and of one plan over time.

`Summary` has the keys of `tuibench.summary/1`, `RunComparison` those of `tuibench.compare/1`.
"""

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Any, Literal

import msgspec

from tuibench.model.cluster import HostTotals
from tuibench.model.effect import AbTestResult, CommitCost, Effect
from tuibench.model.event import Event
from tuibench.model.findings import Crash, Headline, OperationCost, Steadiness
from tuibench.model.prices import PriceList
from tuibench.model.probe import ProbeResult
from tuibench.model.server import HotRow, Transport
from tuibench.model.settings import RESTORE_COMMAND
from tuibench.model.tick import Latency, SlowTransaction
from tuibench.model.tune import TuneResult

RunOutcome = Literal["done", "stopped", "interrupted", "failed", "cut short"]
"""The reason why a run ended: time limit, operator, signal, error, or loss of the session."""


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
    """Failed statements by the server's error code."""

    total: int
    by_code: dict[str, int]


class KindTotals(Latency, frozen=True, kw_only=True):
    """One kind of transaction: its latency, and how often it was retried or rolled back intentionally.

    Intentional rollbacks are included in `count`.
    """

    p90: float = 0.0
    rolled_back: int = 0
    retries: int = 0


class ServerTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The server, and the increase of its counters during the load."""

    version: str
    flavour: str
    deltas: dict[str, int]


class Reconciliation(msgspec.Struct, frozen=True, kw_only=True):
    """tuibench's statements compared with the server's own count, over the whole run.

    `commits_client` and `commits_server` (Com_commit) are compared in the same way.
    """

    questions_client: int
    questions_server: int | None
    """None if the server's counters decreased (restart, FLUSH STATUS) or could not be read, or if a worker
    did not report its end.
    """
    own: int
    foreign: int | None
    """Statements of other clients: questions_server - own - questions_client."""
    commits_client: int
    commits_server: int | None


class ClientTotals(Transport, frozen=True, kw_only=True):
    """Cost of the load on the client."""

    workers: int
    cpu_share: float
    """The busiest worker's share of one core, 0 to 1."""
    cpu_seconds: float
    limited: bool
    engine: str = ""
    """The engine that ran the load: native or asyncio."""
    engine_reason: str = ""
    """The reason why it was not the native one, unless asyncio was requested."""
    hosts: tuple[HostTotals, ...] = ()
    """The hosts that drove the load; empty for this host alone."""


def engine_text(client: ClientTotals) -> str:
    """The engine that ran the load, why it was not the native one, and TLS and compression of the
    connections; empty if not recorded.
    """
    engine = f"{client.engine} ({client.engine_reason})" if client.engine_reason else client.engine
    return ", ".join(filter(None, (engine, *client.transport_words)))


class Fairness(msgspec.Struct, frozen=True, kw_only=True):
    """How evenly the work was distributed among connections: mean and population standard deviation."""

    events_avg: float
    events_stddev: float
    seconds_avg: float
    seconds_stddev: float


class ConnectionTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Connections in addition to the load, and users who shared the load's connections."""

    idle: int = 0
    """Connections open at the end."""
    idle_wanted: int = 0
    logins: int = 0
    """Successful additional and planned logins."""
    logins_per_second: float = 0.0
    missed_logins: int = 0
    """Logins that were due but not started."""
    login_ms: Latency | None = None
    """The time of a login."""
    users: int = 0
    wait_ms: Latency | None = None
    """How long the users waited for a connection."""


class WatchedTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the server's traffic in addition to those of every summary."""

    rollbacks: int = 0
    threads_running_avg: float | None = None
    threads_running_max: int | None = None
    latency_avg_ms: float | None = None
    latency_note: str = ""
    """The source of the statement times, or the reason why there are none."""


class ReplicationTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas of a session, and the longest lag of any of them."""

    replicas: tuple[str, ...]
    """Their names."""
    lag_max_seconds: float | None
    lag_max_bytes: int | None
    """In bytes of the source's binary log."""
    stopped_ticks: int = 0
    """Samples in which a replica was not replicating or could not be read."""


class UnrestoredSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that the end of a session could not restore."""

    setting: str
    value: str
    """The value that the server has; empty if it did not say."""
    original: str
    """The value to go back to."""
    reason: str
    """The result as a sentence, with the statement that restores it manually."""
    command: str = RESTORE_COMMAND
    """The command that restores it."""

    @property
    def text(self) -> str:
        return f"not restored: {self.reason}; when the cause is gone: {self.command}"


class Summary(msgspec.Struct, frozen=True, kw_only=True, tag="summary", tag_field="type"):
    """Figures of a whole run. Latencies are milliseconds.

    With `watched`, it is the summary of a session without load: transactions, queries and latencies are those
    of the server's own traffic, and figures of a load (errors, retries, reconnects, fairness) are unknown.
    """

    schema: Literal["tuibench.summary/1"] = "tuibench.summary/1"
    session: str
    profile: str
    threads: int
    seconds: float
    """The measured time of the load; 0 if there is none, and the server does not count its statements."""
    rate: float
    percentiles: dict[str, float | None]
    outcome: RunOutcome
    failure: str = ""
    """The reason for the outcome "failed"."""
    transactions: TransactionTotals
    queries: QueryTotals
    errors: ErrorTotals
    retries: int
    reconnects: int
    scheduled: int
    failed: int
    abandoned: int
    unknown_commits: int = 0
    latency_ms: Latency | None
    service_ms: Latency | None
    latency_sum_ms: float
    latency_histogram: str
    """All transaction latencies in µs, in HdrHistogram's compressed encoding (base64), so that runs can be
    merged and compared.
    """
    fairness: Fairness
    statements: dict[str, Latency]
    by_transaction: dict[str, KindTotals] = {}
    """Empty if the profile has one kind of transaction."""
    server: ServerTotals
    reconciliation: Reconciliation
    client: ClientTotals
    events: tuple[Event, ...]
    warnings: tuple[str, ...]
    """What makes the figures doubtful or incomplete."""
    client_delay_ms: float = 0.0
    """The largest simulated network delay per round trip."""
    effects: tuple[Effect, ...] = ()
    costs: tuple[CommitCost, ...] = ()
    ab: AbTestResult | None = None
    """The A/B test of the run, or the last one."""
    earlier_ab_tests: tuple[AbTestResult, ...] = ()
    """Those that an operator ran before `ab`."""
    tune: TuneResult | None = None
    """The screening of settings, if the run was one."""
    probe: ProbeResult | None = None
    """The last probe."""
    prices: PriceList | None = None
    """The price list, if the run was made for one."""
    crashes: tuple[Crash, ...] = ()
    """Crashes of the session's private server."""
    headline: Headline | None = None
    """The profile's headline figure, if it has one."""
    steadiness: Steadiness | None = None
    """None if there was no sample."""
    hot_rows: tuple[HotRow, ...] = ()
    """The rows for which transactions waited the longest."""
    watched: WatchedTotals | None = None
    slowest: tuple[SlowTransaction, ...] = ()
    """The slowest transactions with their statements."""
    operation_cost: OperationCost = OperationCost()
    """The cost of a transaction and of a query, as far as it is known."""
    connection_load: ConnectionTotals | None = None
    """None for a load without idle connections, planned logins and users."""
    replication: ReplicationTotals | None = None
    """None if no replica was read."""
    figures: dict[str, float] = {}
    """Every measured figure of the table in `metrics.figures`, by its name."""
    is_complete: bool = True
    """False if some work is missing from the figures: a host was lost, or a worker did not report the end of
    its load. `warnings` name them.
    """
    deviations: tuple[str, ...] = ()
    """How the run of a sysbench command line differed from sysbench's."""
    not_restored: tuple[UnrestoredSetting, ...] = ()
    """The settings that still have a value of this session."""

    @property
    def ab_tests(self) -> tuple[AbTestResult, ...]:
        """All A/B tests, the last one last."""
        return self.earlier_ab_tests + ((self.ab,) if self.ab is not None else ())


OWN_QUERIES = "query"
"""The load type of a user's own statements."""


class SlapBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One engine with one number of clients."""

    engine: str
    """Empty for the server's default."""
    load_type: str
    """`OWN_QUERIES` for a user's statements."""
    clients: int
    queries_per_client: int
    seconds: tuple[float, ...]
    """The time of each iteration."""
    queries: QueryTotals
    """Those that the clients sent in all iterations, without COMMITs and logins."""
    latency_ms: Latency | None
    """The latency of single queries."""
    errors: dict[str, int] = {}
    """By the server's error code."""
    retries: int = 0
    """Retried queries."""
    server: dict[str, int] = {}
    """The increase of the server's counters while the clients ran."""
    cpu_share: float = 0.0
    """CPU usage of the client: 1 is one core per worker."""


class ComparisonVerdict(StrEnum):
    """The verdict on a figure of a run, compared with the first run."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    """Within 5 %."""
    DIFFERENT = "different"
    """The figure has no better direction."""
    STARTS = "may be the start"
    """The runs differ, which may be due to the different starts of the server."""
    CANNOT_TELL = "cannot tell"
    """Also if a run did not measure the figure, or is too short."""


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a run compared with the first run; None if that is zero or was not measured."""

    value: float | None
    relative: float | None = None
    """The ratio to the first run; 1.0 is equal."""
    percent: float | None = None
    """The difference, with its 95 % interval from `low` to `high`, in percent of the first run."""
    low: float | None = None
    high: float | None = None
    verdict: ComparisonVerdict = ComparisonVerdict.CANNOT_TELL


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over all runs."""

    metric: str
    title: str
    unit: str
    better: str = ""
    first: float | None
    """The figure of the first run."""
    others: tuple[Contrast, ...]


class SetupDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A value that differs between the runs."""

    group: str
    """What the value is about."""
    path: str
    values: tuple[str, ...]
    """The value in each run."""
    worth: str = ""
    """What a difference in effect, found by `compare.audit`, is worth."""
    intended: bool = False
    """True if the comparison is about this difference."""
    has_weight: bool = False
    """True if the difference may explain a verdict; unless it is intended, it is a caveat of the verdicts."""


class RunComparison(msgspec.Struct, frozen=True, kw_only=True, tag="compare", tag_field="type"):
    """Comparison of runs with the first one."""

    schema: Literal["tuibench.compare/1"] = "tuibench.compare/1"
    runs: tuple[str, ...]
    """A name for each side."""
    starts: tuple[int, ...]
    """The number of server starts on which each side was measured."""
    differences: tuple[SetupDifference, ...]
    doubts: tuple[str, ...]
    """Reasons against the comparison."""
    rows: tuple[ComparisonRow, ...]
    crossed: tuple[str, ...] = ()
    """The crossed thresholds."""
    stalls: tuple[str, ...] = ()
    """The stalls of each side."""
    slowest: tuple[str, ...] = ()
    """The slowest transaction of each side."""
    because: tuple[str, ...] = ()
    """What took more or less of a transaction on each further side, if it is of the same server start as the
    first.
    """
    audit: tuple[SetupDifference, ...] = ()
    """The differences in effect."""
    caveats: tuple[str, ...] = ()
    """What the verdicts on each further side must say because of the differences."""


UNNAMED = "unchanged"
"""The name of a variant without settings."""


def struct_differences(
    there: msgspec.Struct, here: msgspec.Struct, besides: Collection[str] = ()
) -> tuple[str, ...]:
    """The values that differ, each with its path: `base.seconds: 5.0 there, 10.0 here`.

    `besides` are paths to ignore.
    """
    return tuple(
        f"{path}: {_format_value(old)} there, {_format_value(new)} here"
        for path, old, new in _differing_pairs("", _as_json(there), _as_json(here))
        if path not in besides
    )


def _as_json(struct: msgspec.Struct) -> Any:
    """Convert to JSON objects and lists."""
    return msgspec.json.decode(msgspec.json.encode(struct))


def _differing_pairs(path: str, there: Any, here: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys((*there, *here)):
            yield from _differing_pairs(f"{path}.{key}".lstrip("."), there.get(key), here.get(key))
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for number, (old, new) in enumerate(zip(there, here, strict=True), 1):
            yield from _differing_pairs(f"{path}[{number}]", old, new)
    elif there != here:
        yield path, there, here


def _format_value(value: Any) -> str:
    """Format a value: a named object by its name, a list item by item."""
    match value:
        case None | []:
            return "nothing"
        case list():
            return ", ".join(map(_format_value, value))
        case {"name": name}:
            return str(name) or UNNAMED
        case dict():
            return msgspec.json.encode(value).decode()
    return str(value)


class HistoryRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the history."""

    run: str
    started_at: float
    """Unix seconds."""
    value: float


class LevelChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the level, from one run on."""

    run: str
    """The first run at the new level."""
    percent: float | None
    """None if the level was zero before."""
    before: float
    after: float
    seen: str = ""
    """The run at which a regression, a change for the worse, was detected."""


class History(msgspec.Struct, frozen=True, kw_only=True, tag="history", tag_field="type"):
    """History of a figure over the runs of a plan."""

    schema: Literal["tuibench.history/1"] = "tuibench.history/1"
    profile: str
    figure: str
    runs: tuple[HistoryRun, ...]
    changes: tuple[LevelChange, ...]
    regression: LevelChange | None = None
    since: str | None = None
    """The first run that was checked for a regression; None if none was."""
    other_plans: int = 0
    """Runs of the profile with another plan; they are left out."""
    note: str = ""
    """The reason why there is no result; otherwise empty."""
