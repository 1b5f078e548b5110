"""Messages between session and workers: assignments, reports, gaps between completions, lease.

Messages are length-prefixed MessagePack over a socketpair; `cluster.messages` adds those between a session
and the agent of another host.

Reports have cumulative counters, so that a lost report loses no counts (readers subtract), and the latency
histograms of the interval. Merging is associative.

Gaps are the times in which an engine completed nothing (`GapRecorder`; `native/src/measure/gaps.rs` for the
native engine). Stalls are found from them, independent of samples. A load stalls when none of its workers
completes anything, so the gaps of workers and hosts are intersected. A gap has two parts: until `wanted_ns`
the worker had nothing to complete, from then on a transaction was in flight or due. So a worker without work
does not hide a stall of the others, and a load without work does not stall. A report repeats the last gaps
and the gap that is still open, so a lost report loses nothing.

The load continues only while messages from the session arrive, its lease:

    session ──Beat──> agent ──Beat──> worker      every half second
                      3 s without one: the load ends, transactions in flight have 2 s more

The processes that run the load hold the lease themselves. So the load ends whether an agent is killed,
stopped, or cut off from its session.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec.structs import astuple

from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND
from tuibench.model.callers import CallerPolicy
from tuibench.model.findings import ErrorMessage
from tuibench.model.plan import Arrival, Backlog, OnError, RunPlan
from tuibench.model.server import Target
from tuibench.model.tick import Histogram, NamedHistograms, SlowTransaction
from tuibench.mysql.connection import CHARSET
from tuibench.mysql.login import FirstLogin
from tuibench.workload.program import Program

SHORTEST_NS = 500 * NS_PER_MS
"""A shorter gap is not noted: it cannot contain a common gap of this length."""

MOST_GAPS = 64
FOREVER_NS = 1 << 62


class Gap(msgspec.Struct, frozen=True, array_like=True):
    """A time without a completion, by the monotonic clock."""

    start_ns: int
    end_ns: int
    wanted_ns: int
    """From this time on, a transaction was in flight or due."""

    def shifted(self, by_ns: int) -> "Gap":
        return Gap(self.start_ns + by_ns, self.end_ns + by_ns, self.wanted_ns + by_ns)


class CompletionGaps(msgspec.Struct, frozen=True, array_like=True):
    """The gaps of a worker, or the common gaps of several, in order; complete until `until_ns`.

    The default is a worker that never has work: the neutral element of `&`.
    """

    until_ns: int = FOREVER_NS
    gaps: tuple[Gap, ...] = (Gap(0, FOREVER_NS, FOREVER_NS),)

    def __and__(self, other: "CompletionGaps") -> "CompletionGaps":
        """The times in which neither completed anything. Associative and commutative."""
        common, ours, theirs = [], deque(self.gaps), deque(other.gaps)
        while ours and theirs:
            one, another = ours[0], theirs[0]
            start, end = max(one.start_ns, another.start_ns), min(one.end_ns, another.end_ns)
            if end - start >= SHORTEST_NS:
                wanted = min(one.wanted_ns, another.wanted_ns)
                common.append(Gap(start, end, min(max(start, wanted), end)))
            (ours if one.end_ns <= another.end_ns else theirs).popleft()
        return CompletionGaps(min(self.until_ns, other.until_ns), tuple(common))

    def shifted(self, by_ns: int) -> "CompletionGaps":
        """The same gaps on another clock."""
        return CompletionGaps(self.until_ns + by_ns, tuple(gap.shifted(by_ns) for gap in self.gaps))

    def closed(self) -> "CompletionGaps":
        """The gaps of a worker that has ended: it never completes anything again."""
        start_ns = next((gap.start_ns for gap in self.gaps if gap.end_ns >= self.until_ns), self.until_ns)
        past = tuple(gap for gap in self.gaps if gap.end_ns < self.until_ns)
        return CompletionGaps(gaps=(*past, Gap(start_ns, FOREVER_NS, FOREVER_NS)))

    def standstills(self, since_ns: int, *, is_over: bool = False) -> list[tuple[int, int]]:
        """Start and end of the gaps with work, from `since_ns` on. A gap that may still be open is left out,
        unless the load `is_over`.
        """
        ended = [gap for gap in self.gaps if is_over or gap.end_ns < self.until_ns]
        found = [(max(gap.wanted_ns, since_ns), gap.end_ns) for gap in ended]
        return [(start, end) for start, end in found if end - start >= SHORTEST_NS]


class GapsOfWorkers:
    """The latest gaps of each worker, by its number, and their common gaps."""

    def __init__(self) -> None:
        self._known: dict[int, CompletionGaps] = {}

    def add(self, worker: int, reported: CompletionGaps) -> None:
        """Adds the gaps of a report."""
        known = self._known.get(worker, CompletionGaps(gaps=()))
        # Gaps of a later report replace those that it repeats or that have grown.
        first_ns = reported.gaps[0].start_ns if reported.gaps else FOREVER_NS
        kept = [gap for gap in known.gaps if gap.end_ns <= first_ns]
        self._known[worker] = CompletionGaps(reported.until_ns, (*kept, *reported.gaps)[-MOST_GAPS:])

    @property
    def common(self) -> CompletionGaps:
        """The times in which no worker completed anything."""
        return reduce(CompletionGaps.__and__, self._known.values(), CompletionGaps())


class GapRecorder:
    """The gaps of the asyncio engine. A failed transaction does not end a gap: its work is still to
    be done.
    """

    def __init__(self) -> None:
        self._last_ns = self._woken_ns = 0
        self._is_held = False
        self._gaps: deque[Gap] = deque(maxlen=MOST_GAPS)

    def woken(self, now_ns: int) -> None:
        """The only transaction in flight started, or came due, at this time. The first call since the last
        completion counts.
        """
        if self._woken_ns <= self._last_ns:
            self._woken_ns = now_ns

    def completed(self, now_ns: int) -> None:
        if now_ns - self._last_ns >= SHORTEST_NS and not self._is_held:
            self._gaps.append(self._gap(now_ns))
        self._last_ns = now_ns

    def failed(self) -> None:
        self._woken_ns = max(self._woken_ns, self._last_ns + 1)

    def all_left(self) -> None:
        """No connection is left: there is no work."""
        self._woken_ns = 0

    def hold(self, now_ns: int, outstanding: int) -> None:
        """A pause begins, with `outstanding` transactions in flight or due: there is no work any more."""
        self._gaps.extend(self._open(now_ns, outstanding))
        self._is_held = True

    def release(self, now_ns: int) -> None:
        self._last_ns, self._is_held = now_ns, False

    def report(self, now_ns: int, outstanding: int) -> CompletionGaps:
        """The last gaps, with the gap that is still open."""
        return CompletionGaps(now_ns, (*self._gaps, *self._open(now_ns, outstanding))[-MOST_GAPS:])

    def _open(self, now_ns: int, outstanding: int) -> list[Gap]:
        if self._is_held or now_ns - self._last_ns < SHORTEST_NS:
            return []
        has_work = outstanding > 0 or self._woken_ns > self._last_ns
        return [self._gap(now_ns) if has_work else Gap(self._last_ns, now_ns, now_ns)]

    def _gap(self, now_ns: int) -> Gap:
        return Gap(self._last_ns, now_ns, max(self._last_ns, self._woken_ns))


Name = TypeVar("Name", int, str)


class Counters(msgspec.Struct):
    """Counters since the start of the worker.

    Invariant: scheduled = completed + failed + abandoned + in_flight + backlog. A closed loop schedules a
    transaction when it starts. Retries are separate. While there is a deadline, each completed transaction is
    counted as good or late.
    """

    scheduled: int = 0
    resent: int = 0
    """How many of the scheduled ones are further attempts of a caller."""
    backlog: int = 0
    completed: int = 0
    good: int = 0
    late: int = 0
    failed: int = 0
    abandoned: int = 0
    unknown_commits: int = 0
    """Statements whose connection was lost before the answer: COMMITs of transactions that write, and
    statements that write outside of a transaction.
    """
    in_flight: int = 0
    reads: int = 0
    writes: int = 0
    others: int = 0
    commits: int = 0
    questions: int = 0
    """Counts as the server's Questions: including failed statements, rollbacks and disconnects."""
    retries: int = 0
    reconnects: int = 0
    logins: int = 0
    """Successful logins of --connect-rate and --reconnect."""
    missed_logins: int = 0
    """Logins that were due but not started, because too many were in progress."""
    errors: dict[int, int] = {}
    refused: dict[int, int] = {}
    retried: dict[str, int] = {}
    """By kind of transaction."""
    rolled_back: dict[str, int] = {}
    """Intentional rollbacks, which also count as completed, by kind of transaction."""

    @property
    def queries(self) -> int:
        """Statements that returned without an error."""
        return self.reads + self.writes + self.others

    @property
    def failures(self) -> int:
        """Failed statements, of all codes."""
        return sum(self.errors.values())

    def count_error(self, code: int) -> None:
        self.errors[code] = self.errors.get(code, 0) + 1

    def count_refusal(self, code: int) -> None:
        self.refused[code] = self.refused.get(code, 0) + 1

    def count_retry(self, transaction: str) -> None:
        self.retries += 1
        self.retried[transaction] = self.retried.get(transaction, 0) + 1

    def count_rollback(self, transaction: str) -> None:
        self.rolled_back[transaction] = self.rolled_back.get(transaction, 0) + 1

    def __add__(self, other: "Counters") -> "Counters":
        return self._with(other, 1)

    def __sub__(self, other: "Counters") -> "Counters":
        return self._with(other, -1)

    def _with(self, other: "Counters", sign: int) -> "Counters":
        plain = {name: getattr(self, name) + sign * getattr(other, name) for name in INTEGER_COUNTERS}
        return Counters(
            **plain,
            errors=_combine_counts(self.errors, other.errors, sign),
            refused=_combine_counts(self.refused, other.refused, sign),
            retried=_combine_counts(self.retried, other.retried, sign),
            rolled_back=_combine_counts(self.rolled_back, other.rolled_back, sign),
        )


INTEGER_COUNTERS = tuple(field.name for field in msgspec.structs.fields(Counters) if field.type is int)


def _combine_counts(ours: dict[Name, int], theirs: dict[Name, int], sign: int) -> dict[Name, int]:
    codes = {code: ours.get(code, 0) + sign * theirs.get(code, 0) for code in ours.keys() | theirs.keys()}
    return {code: times for code, times in sorted(codes.items()) if times}


class FairnessStats(msgspec.Struct, frozen=True):
    """Transactions and busy seconds of connections, as sums and sums of squares that can be merged.

    Connections that never logged in do not count.
    """

    n: int = 0
    events: float = 0.0
    events_squared: float = 0.0
    seconds: float = 0.0
    seconds_squared: float = 0.0

    @classmethod
    def of(cls, figures: Iterable[tuple[float, float]]) -> "FairnessStats":
        """The sums of the connections' transactions and busy seconds."""
        known = tuple(figures)
        return cls(
            n=len(known),
            events=sum(events for events, _ in known),
            events_squared=sum(events**2 for events, _ in known),
            seconds=sum(seconds for _, seconds in known),
            seconds_squared=sum(seconds**2 for _, seconds in known),
        )

    def __add__(self, other: "FairnessStats") -> "FairnessStats":
        return FairnessStats(*map(add, astuple(self), astuple(other)))

    @property
    def moments(self) -> dict[str, float]:
        """Mean and population standard deviation of both, by their names in a summary."""
        n = self.n or 1
        events, seconds = self.events / n, self.seconds / n
        return {
            "events_avg": events,
            "events_stddev": max(0.0, self.events_squared / n - events**2) ** 0.5,
            "seconds_avg": seconds,
            "seconds_stddev": max(0.0, self.seconds_squared / n - seconds**2) ** 0.5,
        }


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """A worker has finished all transactions of its quota."""

    grants: int
    """The number of quotas that it had received: if another one is in transit, the message is outdated."""


class Reassign(msgspec.Struct, frozen=True, tag="hand over"):
    """Work that a worker without connections passes to another worker, through the session."""

    due_ns: tuple[int, ...] = ()
    """The intended starts of its backlog."""
    quota: int = 0
    """The number of transactions that it might still have scheduled."""

    def __bool__(self) -> bool:
        return bool(self.due_ns or self.quota)


class CommitNote(NamedTuple):
    """When a commit of a connection was sent or acknowledged."""

    connection: int
    kind: int
    number: int
    at_ns: int
    """By the monotonic clock."""


class CommitNotes(msgspec.Struct, frozen=True, array_like=True):
    """The commits of a worker's connections; refused ones by connection, kind and number."""

    sent: tuple[CommitNote, ...]
    acknowledged: tuple[CommitNote, ...]
    refused: tuple[tuple[int, int, int], ...]


class WorkerReport(NamedHistograms, msgspec.Struct, frozen=True, tag="report", kw_only=True):
    """One worker's report for a tick."""

    worker: int = 0
    seconds: float = 0.0
    """The length of the histograms' interval."""
    cpu_seconds: float = 0.0
    """The process's CPU time in the interval."""
    lag_p99_ms: float
    """The scheduling delay of its event loop or threads."""
    connections: int = 0
    counters: Counters
    fairness: FairnessStats = FairnessStats()
    """Since the start of the measurement."""
    fairness_since: FairnessStats = FairnessStats()
    """Since the last checkpoint."""
    hists: dict[str, Histogram] = {}
    """The latencies of the interval, by their names in a tick.

    Response times count from the intended start; those of each kind of transaction are kept if there are
    several. Service times, from the actual start, exist in an open loop only. Login times are those of extra
    and planned logins, wait times those of users for a connection.
    """
    core_seconds: float | None = None
    """The CPU time of its busiest thread; None if it has only one."""
    last_refusal: str = ""
    """The latest error of a login that is retried."""
    idle_connections: int = 0
    """Open in addition to the load."""
    idle_refusal: str = ""
    """Why there are not more idle connections."""
    slowest: tuple[SlowTransaction, ...] = ()
    """The slowest transactions of the interval."""
    gaps: CompletionGaps = CompletionGaps()
    """The times without a completion."""
    commits: CommitNotes | None = None
    """Those since the last report, for a load that keeps a ledger; a load from other hosts keeps none."""
    failure: ErrorMessage = ErrorMessage()
    """The error that ended the worker."""


class Lease:
    """Expires unless renewed. Time is an argument; with `seconds` 0 it never expires."""

    def __init__(self, seconds: float, now_ns: int) -> None:
        self._ns = round(seconds * NS_PER_SECOND)
        self._until_ns = now_ns + self._ns
        self._has_ended = False

    def end(self) -> None:
        self._has_ended = True

    def renew(self, now_ns: int) -> None:
        """Renews the lease, unless it has expired: a load that was ordered to end does not continue."""
        if not self.is_over(now_ns):
            self._until_ns = now_ns + self._ns

    def is_over(self, now_ns: int) -> bool:
        return self._has_ended or (bool(self._ns) and now_ns >= self._until_ns)

    def seconds_left(self, now_ns: int) -> float | None:
        """Seconds until it expires; None if it does not."""
        return max(0, self._until_ns - now_ns) / NS_PER_SECOND if self._ns else None


class ExecutionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Error handling and protocol of a load."""

    ignored_errors: frozenset[int] | None
    """Errors after which a transaction is retried; None for every error."""
    max_retries: int
    on_error: OnError
    """Applies to other errors."""
    backlog: Backlog
    prepared: bool
    """False to send every statement as text."""
    session_sql: tuple[str, ...]
    """Executed after each login."""
    reconnect: int = 0
    """A connection logs in again after this many transactions; 0 for never."""

    def ignores(self, code: int) -> bool:
        return self.ignored_errors is None or code in self.ignored_errors


def execution_options(plan: RunPlan) -> ExecutionOptions:
    isolation = plan.isolation.upper().replace("-", " ")
    return ExecutionOptions(
        ignored_errors=None if plan.ignored_errors is None else frozenset(plan.ignored_errors),
        max_retries=plan.max_retries,
        on_error=plan.on_error,
        backlog=plan.backlog,
        prepared=plan.prepared,
        session_sql=(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}",) if isolation else (),
        reconnect=plan.reconnect,
    )


LENGTH_BYTES = 4
MAX_FRAME_BYTES = 1 << 28
"""Maximum length of a message: anything longer is invalid."""


class StartLoad(msgspec.Struct, frozen=True, tag="begin", kw_only=True):
    """First message of a load to a worker."""

    worker: int
    workers: int
    """The number of workers, by which evenly spaced arrivals are offset."""
    target: Target
    program: Program
    seed: int
    execution: ExecutionOptions
    arrival: Arrival
    limit: int | None
    """The number of transactions that this worker may start; None for no limit."""
    charset: str = CHARSET
    """The connections' character set."""
    is_native: bool = False
    """True to use the native engine."""
    has_begun: bool = False
    """True if the server has accepted a connection of the load before."""
    is_replacement: bool = False
    """True for a worker that opens the connections of a lost worker again."""
    lease_seconds: float = 0.0
    """The load ends unless a Beat arrives within this time; 0 for no lease."""
    first_logins: tuple[FirstLogin, ...] = ()
    """The session's first logins, for the worker's own."""
    keeps_ledger: bool = False
    """True to note the commits (`load.commit_ledger`), on the asyncio engine."""


class Beat(msgspec.Struct, frozen=True, tag="beat"):
    """The session is alive, and the load may continue."""

    sent_ns: int
    """The session's clock."""


class Adjust(msgspec.Struct, frozen=True, omit_defaults=True, tag="adjust", kw_only=True):
    """New values of a running load; None leaves a value unchanged."""

    connections: tuple[int, ...] | None = None
    """The numbers of the connections that the worker keeps open."""
    rate: float | None = None
    """The worker's part of the rate, in transactions per second; 0 for a closed loop."""
    users: int | None = None
    """The number of users that share the worker's connections; 0 without a pool."""
    idle: int | None = None
    """The worker's part of the idle connections."""
    logins_per_second: float | None = None
    """The worker's part of the extra logins."""
    weights: tuple[float, ...] | None = None
    """Those of the program's transactions, in their order."""
    delay_ns: int | None = None
    """The simulated network delay of every response."""
    session_sql: tuple[str, ...] | None = None
    """Executed by every connection between two transactions, and by new ones after login."""
    callers: CallerPolicy | None = None
    """What the callers do."""
    paused: bool | None = None
    """True to start no transaction."""


class Adjustable(Protocol):
    """Applies the values of an `Adjust`, apart from its connections: an engine, or the workers of a host."""

    def set_rate(self, rate_per_second: float) -> None: ...

    def set_users(self, users: int) -> None: ...

    def set_extra_connections(self, idle: int, logins_per_second: float) -> None: ...

    def set_weights(self, weights: Sequence[float]) -> None: ...

    def set_delay(self, delay_ns: int) -> None: ...

    def set_session(self, statements: tuple[str, ...]) -> None: ...

    def set_callers(self, policy: CallerPolicy) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


def adjust(load: Adjustable, change: Adjust) -> None:
    """Applies a change, apart from its connections."""
    if change.rate is not None:
        load.set_rate(change.rate)
    if change.users is not None:
        load.set_users(change.users)
    if change.idle is not None and change.logins_per_second is not None:
        load.set_extra_connections(change.idle, change.logins_per_second)
    if change.weights is not None:
        load.set_weights(change.weights)
    if change.delay_ns is not None:
        load.set_delay(change.delay_ns)
    if change.session_sql is not None:
        load.set_session(change.session_sql)
    if change.callers is not None:
        load.set_callers(change.callers)
    if change.paused is not None:
        (load.pause if change.paused else load.resume)()


class ResetLoadStats(msgspec.Struct, frozen=True, tag="start over"):
    """End of the warm-up: drop the backlog and reset each connection's statistics."""

    limit: int | None
    """The number of transactions that this worker may start from now on."""


class RequestReport(msgspec.Struct, frozen=True, tag="ask"):
    """Request a WorkerReport. A checkpoint resets each connection's statistics after it."""

    checkpoint: bool = False


class RequestConnectionIds(msgspec.Struct, frozen=True, tag="ask connections"):
    """Request the ConnectionIds message."""


class ConnectionIds(msgspec.Struct, frozen=True, tag="connection ids"):
    """The server's ids of a worker's connections, to distinguish them from those of other clients."""

    ids: tuple[int, ...]


class ExpectKill(msgspec.Struct, frozen=True, tag="expect_kill"):
    """The operator kills the query of this connection (the server's id); the transaction will be retried."""

    connection_id: int


class FinishLoad(msgspec.Struct, frozen=True, tag="finish"):
    """End all transactions within the grace period, disconnect, send a last report, wait for a StartLoad."""

    grace_seconds: float


WorkerCommand = (
    Adjust | ResetLoadStats | Reassign | RequestReport | RequestConnectionIds | ExpectKill | FinishLoad
)
"""Messages during a load."""

ToWorker = StartLoad | Beat | WorkerCommand
FromWorker = WorkerReport | ConnectionIds | Reassign | Finished

Incoming = TypeVar("Incoming")


class BrokenFrameError(Exception):
    """The bytes read are not a message."""


class MessageChannel(Generic[Incoming]):
    """One end of a connection. `receive` returns None after the other end is closed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, incoming: object) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder: msgspec.msgpack.Decoder[Incoming] = msgspec.msgpack.Decoder(incoming)

    @classmethod
    async def over(cls, sock: socket.socket, incoming: object) -> "MessageChannel[Incoming]":
        reader, writer = await asyncio.open_unix_connection(sock=sock)
        return cls(reader, writer, incoming)

    def send(self, message: msgspec.Struct) -> None:
        """Queues a message.

        If the peer has closed the connection the message is lost; the reader reports this.
        """
        if self._writer.is_closing():
            return
        body = msgspec.msgpack.encode(message)
        self._writer.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)

    async def receive(self) -> Incoming | None:
        """The next message. Raises BrokenFrameError for invalid bytes."""
        try:
            length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            if length > MAX_FRAME_BYTES:
                raise BrokenFrameError(f"a message of {length} bytes")
            return self._decoder.decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except msgspec.MsgspecError as error:
            raise BrokenFrameError(str(error)) from error

    async def close(self) -> None:
        """Sends the queued messages, then closes the connection."""
        try:
            self._writer.close()
            await self._writer.wait_closed()
        except ConnectionError:
            return


SessionChannel = MessageChannel[FromWorker]
WorkerChannel = MessageChannel[ToWorker]
