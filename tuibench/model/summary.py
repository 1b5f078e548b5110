"""The summary of a run, and comparisons of summaries.

Summary of a run, under the keys of `tuibench.summary/1`, and of `tuibench slap`.

Comparison of runs with the first one, and the history of one plan over time.
"""

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Any, Literal

import msgspec

from tuibench.model.cluster import HostTotals
from tuibench.model.effect import AbTestResult, CommitCost, Effect
from tuibench.model.event import Event
from tuibench.model.findings import Crash, Headline, OperationCost, Steadiness
from tuibench.model.probe import ProbeResult
from tuibench.model.server import Transport
from tuibench.model.tick import Latency, SlowTransaction
from tuibench.model.tune import TuneResult

RunOutcome = Literal["done", "stopped", "interrupted", "failed", "cut short"]
"""The reason a run ended: time limit, operator, signal, error, or loss of the session."""


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

    foreign = questions_server - own - questions_client: statements of other clients. None if the server's
    counters decreased (restart, FLUSH STATUS) or could not be read, or if a worker did not report its end.
    Commits are compared in the same way with Com_commit.
    """

    questions_client: int
    questions_server: int | None
    own: int
    foreign: int | None
    commits_client: int
    commits_server: int | None


class ClientTotals(Transport, frozen=True, kw_only=True):
    """Cost of the load on the client. `cpu_share` is the busiest worker's share of one core (0 to 1).

    `engine` is the engine that ran the load, native or asyncio; `engine_reason` is the reason why it was not
    native, unless asyncio was requested. `tls` are protocol and cipher of the connections, empty without
    TLS; `is_compressed` is True if packets were compressed. `hosts` are the hosts that drove the load, empty
    for this host alone.
    """

    workers: int
    cpu_share: float
    cpu_seconds: float
    limited: bool
    engine: str = ""
    engine_reason: str = ""
    hosts: tuple[HostTotals, ...] = ()


def engine_text(client: ClientTotals) -> str:
    """The engine that ran the load, why not the native one, and how it travelled; empty if not recorded."""
    engine = f"{client.engine} ({client.engine_reason})" if client.engine_reason else client.engine
    return ", ".join(filter(None, (engine, *client.transport_words)))


class Fairness(msgspec.Struct, frozen=True, kw_only=True):
    """How evenly the work was distributed among connections: mean and population standard deviation."""

    events_avg: float
    events_stddev: float
    seconds_avg: float
    seconds_stddev: float


class ConnectionTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Connections in addition to the load, and users who shared the load's connections.

    `idle` connections were open at the end. `logins` are successful additional and planned logins, `login_ms`
    their times, `missed_logins` those that were due but not started. `wait_ms` is how long the `users` waited
    for a connection.
    """

    idle: int = 0
    idle_wanted: int = 0
    logins: int = 0
    logins_per_second: float = 0.0
    missed_logins: int = 0
    login_ms: Latency | None = None
    users: int = 0
    wait_ms: Latency | None = None


class WatchedTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of the server's traffic in addition to those of every summary.

    `latency_note` is the source of the statement times, or the reason why there are none.
    """

    rollbacks: int = 0
    threads_running_avg: float | None = None
    threads_running_max: int | None = None
    latency_avg_ms: float | None = None
    latency_note: str = ""


class ReplicationTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas of a session: their names, the longest lag of any in seconds and in bytes of the source's
    binary log, and the number of samples in which one was not replicating or could not be read.
    """

    replicas: tuple[str, ...]
    lag_max_seconds: float | None
    lag_max_bytes: int | None
    stopped_ticks: int = 0


RESTORE_COMMAND = "tuibench restore"


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
    """Figures of a whole run. Latencies are milliseconds, `seconds` is the measured time of the load.

    With the outcome "failed", `failure` is the reason. `latency_histogram` has all transaction latencies in
    µs, in HdrHistogram's compressed encoding (base64), so that runs can be merged and compared.
    `by_transaction` is empty if the profile has one kind of transaction. `client_delay_ms` is the largest
    simulated network delay per round trip. `ab` is the result of an A/B test, `earlier_ab_tests` are those
    that an operator ran before it; `tune` is the result of a screening, if the run was one; `probe` is the
    result of the last probe, if there was one; `crashes` are those of its private server. `headline` is the
    profile's headline figure, if it has one.
    `steadiness` is None if there was no sample.

    `connection_load` is None for a load without idle connections, planned logins and users.

    `slowest` are the slowest transactions with their statements. `operation_cost` is the cost of a
    transaction and of a query, as far as it is known. `replication` is None if no replica was read.

    `figures` has every figure of the table in `metrics.figures` that was measured, by its name.

    `is_complete` is False if some work is missing from the figures: a host was lost, or a worker did not
    report the end of its load. `warnings` name them.

    `deviations` say how the run of a sysbench command line differed from sysbench's.

    `not_restored` are the settings that still have a value of this session.

    With `watched`, it is the summary of a session without load: transactions, queries and latencies are those
    of the server's own traffic, and figures of a load (errors, retries, reconnects, fairness) are unknown. If
    `seconds` is 0, the server does not count its statements.
    """

    schema: Literal["tuibench.summary/1"] = "tuibench.summary/1"
    session: str
    profile: str
    threads: int
    seconds: float
    rate: float
    percentiles: dict[str, float | None]
    outcome: RunOutcome
    failure: str = ""
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
    fairness: Fairness
    statements: dict[str, Latency]
    by_transaction: dict[str, KindTotals] = {}
    server: ServerTotals
    reconciliation: Reconciliation
    client: ClientTotals
    events: tuple[Event, ...]
    warnings: tuple[str, ...]
    client_delay_ms: float = 0.0
    effects: tuple[Effect, ...] = ()
    costs: tuple[CommitCost, ...] = ()
    ab: AbTestResult | None = None
    earlier_ab_tests: tuple[AbTestResult, ...] = ()
    tune: TuneResult | None = None
    probe: ProbeResult | None = None
    crashes: tuple[Crash, ...] = ()
    headline: Headline | None = None
    steadiness: Steadiness | None = None
    watched: WatchedTotals | None = None
    slowest: tuple[SlowTransaction, ...] = ()
    operation_cost: OperationCost = OperationCost()
    connection_load: ConnectionTotals | None = None
    replication: ReplicationTotals | None = None
    figures: dict[str, float] = {}
    is_complete: bool = True
    deviations: tuple[str, ...] = ()
    not_restored: tuple[UnrestoredSetting, ...] = ()

    @property
    def ab_tests(self) -> tuple[AbTestResult, ...]:
        """All A/B tests, the last one last."""
        return self.earlier_ab_tests + ((self.ab,) if self.ab is not None else ())


OWN_QUERIES = "query"
"""The load type of a user's own statements."""


class SlapBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One engine with one number of clients, with the `seconds` of each iteration.

    `engine` is empty for the server's default; `load_type` is `OWN_QUERIES` for a user's statements.
    `queries` are those that the clients sent in all iterations, without COMMITs and logins; `latency_ms` is
    the latency of single queries. `errors` are by the server's code, `retries` is the number of retried
    queries. `server` is the increase of the server's counters while the clients ran, `cpu_share` the CPU
    usage of the client: 1 is one core per worker.
    """

    engine: str
    load_type: str
    clients: int
    queries_per_client: int
    seconds: tuple[float, ...]
    queries: QueryTotals
    latency_ms: Latency | None
    errors: dict[str, int] = {}
    retries: int = 0
    server: dict[str, int] = {}
    cpu_share: float = 0.0


class ComparisonVerdict(StrEnum):
    """EQUAL means within 5 %. DIFFERENT: the figure has no better direction. STARTS: the runs differ, which
    may be due to the different starts of the server. CANNOT_TELL also means that a run did not measure the
    figure, or is too short.
    """

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    DIFFERENT = "different"
    STARTS = "may be the start"
    CANNOT_TELL = "cannot tell"


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a run compared with the first run.

    `relative` is the ratio to the first run (1.0 is equal), `percent` the difference with its 95 % interval
    from `low` to `high`, all relative to the first run; None if that is zero or was not measured.
    """

    value: float | None
    relative: float | None = None
    percent: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: ComparisonVerdict = ComparisonVerdict.CANNOT_TELL


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over all runs: `first` is that of the first run, `others` those of the other runs."""

    metric: str
    title: str
    unit: str
    better: str = ""
    first: float | None
    others: tuple[Contrast, ...]


class SetupDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A value that differs between the runs: its subject, its path, and its value in each run.

    A difference in effect, found by `compare.audit`, also has what it is worth. It is `intended` if the
    comparison is about it; any other one that `has_weight` is a caveat of the verdicts.
    """

    group: str
    path: str
    values: tuple[str, ...]
    worth: str = ""
    intended: bool = False
    has_weight: bool = False


class RunComparison(msgspec.Struct, frozen=True, kw_only=True, tag="compare", tag_field="type"):
    """Comparison of runs. `runs` has a name for each side, `starts` the number of server starts on which it
    was measured. `doubts` are reasons against the comparison, `crossed` are the crossed thresholds. `stalls`
    and `slowest` have the stalls and the slowest transaction of each side, `because` what took more or less
    of a transaction on each further side, if it is of the same server start as the first. `audit` are the
    differences in effect, `caveats` what the verdicts on each further side must say because of them.
    """

    schema: Literal["tuibench.compare/1"] = "tuibench.compare/1"
    runs: tuple[str, ...]
    starts: tuple[int, ...]
    differences: tuple[SetupDifference, ...]
    doubts: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]
    crossed: tuple[str, ...] = ()
    stalls: tuple[str, ...] = ()
    slowest: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    audit: tuple[SetupDifference, ...] = ()
    caveats: tuple[str, ...] = ()


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
    """A run of the history; `started_at` is in seconds since the epoch."""

    run: str
    started_at: float
    value: float


class LevelChange(msgspec.Struct, frozen=True, kw_only=True):
    """The level changes at `run` by a percentage, None if it was zero before. A regression, a change for the
    worse, was detected at run `seen`.
    """

    run: str
    percent: float | None
    before: float
    after: float
    seen: str = ""


class History(msgspec.Struct, frozen=True, kw_only=True, tag="history", tag_field="type"):
    """History of a plan. `other_plans` is the number of runs of the profile with another plan; they are left
    out.

    `since` is the first run that was checked for a regression, None if none was. `note` is the reason why
    there is no result, otherwise empty.
    """

    schema: Literal["tuibench.history/1"] = "tuibench.history/1"
    profile: str
    figure: str
    runs: tuple[HistoryRun, ...]
    changes: tuple[LevelChange, ...]
    regression: LevelChange | None = None
    since: str | None = None
    other_plans: int = 0
    note: str = ""
