"""Connections of a load: login, preparing, counting and timing; idle connections and extra logins.

`LoadConnection` is the base class of a connection in both engines: login, work, disconnect, and a new login
after a loss. `WorkerContext` is shared by the connections of a worker.

The hot path appends raw microseconds to the plain lists of `LatencyRecorder`; they become histograms when a
report is taken. A large lag of the event loop (`EventLoopLagProbe`) means that the worker, not the server, is
the bottleneck.

`ExtraConnections` are opened in addition to the load. Idle ones show what open connections cost a server; one
that the server closes is opened again. Logins are an open loop: each is due whether or not the server has
completed earlier ones, and its time counts from its due time. A login that is due while too many are in
progress is missed, and counted.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any, Generic, Protocol, TypeVar

from tuibench.base.clock import Clock
from tuibench.base.errors import (
    ConnectionLostError,
    NotReadyError,
    ProtocolError,
    RunError,
    ServerBusyError,
    ServerUnavailableError,
    ServerUnreachableError,
    SQLError,
    TuibenchError,
)
from tuibench.load.messages import Counters, ExecutionOptions, GapRecorder, Reassign
from tuibench.load.pacing import ArrivalSchedule, NetworkDelay, Timer, WakeupTimer
from tuibench.model.plan import Arrival, Backlog, OnError
from tuibench.model.server import Target
from tuibench.model.tick import (
    LOGIN,
    MOST_SLOW,
    RESPONSE,
    SERVICE,
    STATEMENT,
    TRANSACTION,
    WAIT,
    Histogram,
    SlowTransaction,
    grouped_statements,
    merge_histograms,
    slowest_of,
)
from tuibench.mysql.connection import (
    Connection,
    PacketBuilder,
    PreparedStatement,
    TextStatement,
    constant_packet,
)
from tuibench.mysql.errors import (
    CLIENT_CANNOT_CONNECT,
    CONNECTION_LOST_CODES,
    TOO_MANY_CONNECTIONS_CODES,
    is_refused_command,
)
from tuibench.mysql.packets import PreparedHandle
from tuibench.workload.generator import Rows
from tuibench.workload.limits import MAX_ITEMS
from tuibench.workload.program import FlatStatement, Transaction
from tuibench.workload.sql import StatementClass

Timed = tuple[int, int, int]
"""A statement of a transaction: its flat index, microseconds, and its error code, or 0."""

MOST_TIMED = 256
"""Maximum number of statements kept of one transaction."""

READ, WRITE, OTHER = 0, 1, 2
_KINDS = {StatementClass.READ: READ, StatementClass.WRITE: WRITE, StatementClass.OTHER: OTHER}


def named_latencies(
    responses: Mapping[str, Histogram], service: Histogram, statements: Mapping[str, Histogram]
) -> dict[str, Histogram]:
    """The latencies of an interval by their names in a tick, without empty ones.

    `responses` are those of each kind of transaction, which are named if there are several. `service` is
    empty in a closed loop, in which it equals the response.
    """
    kinds = list(responses.values())
    whole = kinds[0] if len(kinds) == 1 else merge_histograms(kinds)
    named = {RESPONSE: whole, SERVICE: service}
    if len(kinds) > 1:
        named |= {TRANSACTION + name: each for name, each in responses.items()}
    named |= {STATEMENT + name: each for name, each in statements.items()}
    return {name: each for name, each in named.items() if each.count}


class LatencyRecorder:
    """Records for all connections of a worker. They run on one event loop, so nothing is locked."""

    def __init__(self, statements: Sequence[FlatStatement], transactions: Sequence[str]) -> None:
        self.counters = Counters()
        """Without the figures that change with every transaction and statement; `totals` includes them."""
        self.gaps = GapRecorder()
        self.in_flight = self.completed = self.good = self.late = self.commits = 0
        self.deadline_us = 0
        """0 without a deadline."""
        self.tally = [0, 0, 0]
        """Returned statements: reads, writes and others."""
        self.other_questions = 0
        """Statements that the server received in addition to the load: aborted ones, disconnects, and those
        of logins.
        """
        self.rejected = 0
        """Statements that the server answered with an error."""
        self.response_us: list[list[int]] = [[] for _ in transactions]
        """Latencies from the intended start, for each transaction of the program."""
        self.service_us: list[int] = []
        """Latencies from the actual start, in an open loop."""
        self.login_us: list[int] = []
        """Times of extra and planned logins."""
        self.wait_us: list[int] = []
        """How long users waited for a connection."""
        self.slow_us = -1
        """Transactions that take longer are passed to `keep_slow`."""
        self._slowest: list[SlowTransaction] = []
        self._transactions = transactions
        self._statements = statements
        self._by_name: dict[str, list[int]] = {statement.name: [] for statement in statements}
        self.latencies_us = [self._by_name[statement.name] for statement in statements]
        """Latencies of each flat statement; statements of one name share a list."""
        self.kinds = [_KINDS[statement.cls] for statement in statements]

    def answered(self, which: int, response_us: int | None, busy_us: int, timed: Sequence[Timed]) -> None:
        """Records the end of a transaction. In a closed loop `response_us` is None: it equals the service
        time.
        """
        if response_us is None:
            response_us = busy_us
        else:
            self.service_us.append(busy_us)
        self.response_us[which].append(response_us)
        if self.deadline_us:
            is_good = response_us <= self.deadline_us
            self.good += is_good
            self.late += not is_good
        if response_us > self.slow_us:
            self.keep_slow(which, response_us, busy_us, timed)

    def keep_slow(self, which: int, response_us: int, busy_us: int, timed: Sequence[Timed]) -> None:
        """Keeps a transaction that took longer than `slow_us`, with its statements."""
        statements = ((self._statements[index].name, us, error) for index, us, error in timed[:MOST_TIMED])
        slow = SlowTransaction(
            transaction=self._transactions[which],
            response_ms=response_us / 1000,
            service_ms=busy_us / 1000,
            statements=grouped_statements(statements),
        )
        self._slowest = list(slowest_of([*self._slowest, slow]))
        if len(self._slowest) == MOST_SLOW:
            self.slow_us = round(self._slowest[-1].response_ms * 1000)

    def failed(self, error: SQLError) -> None:
        """Counts a statement that failed with an error of the server, or whose response was lost."""
        self.counters.count_error(error.code)
        if not isinstance(error, ConnectionLostError):
            self.rejected += 1

    def totals(self) -> Counters:
        """A copy of the present counters."""
        reads, writes, others = self.tally
        now = self.counters + Counters()
        now.in_flight, now.completed, now.commits = self.in_flight, self.completed, self.commits
        now.good, now.late = self.good, self.late
        now.reads, now.writes, now.others = reads, writes, others
        now.questions = reads + writes + others + self.rejected + self.other_questions
        return now

    def take(self) -> dict[str, Histogram]:
        """The latencies since the last call, by their names in a tick."""
        responses = zip(self._transactions, map(Histogram.of, self.response_us), strict=True)
        statements = {name: Histogram.of(values) for name, values in self._by_name.items() if values}
        taken = named_latencies(dict(responses), Histogram.of(self.service_us), statements)
        for values in (*self.response_us, self.service_us, *self._by_name.values()):
            values.clear()
        return taken

    def take_slowest(self) -> tuple[SlowTransaction, ...]:
        """The slowest transactions since the last call."""
        taken, self._slowest, self.slow_us = tuple(self._slowest), [], -1
        return taken

    def take_waits(self) -> dict[str, Histogram]:
        """The times of logins, and the waits of users for a connection, since the last call."""
        waits = {LOGIN: self.login_us, WAIT: self.wait_us}
        taken = {name: Histogram.of(values) for name, values in waits.items() if values}
        for values in waits.values():
            values.clear()
        return taken


LAG_INTERVAL_NS = 5_000_000


class EventLoopLagProbe:
    """Measures the lag of the event loop: sets an exact timer at short intervals and records its delay."""

    def __init__(self, clock: Clock, timer: Callable[[Callable[[], None]], Timer]) -> None:
        self._clock = clock
        self._lags_ms: list[float] = []
        self._due_ns = 0
        self._timer = timer(self._on_timer)
        self._set()

    def take_p99_ms(self) -> float:
        """The 99th percentile (nearest rank) since the last call, in milliseconds; 0 without a reading."""
        lags, self._lags_ms = sorted(self._lags_ms), []
        return lags[-(-len(lags) * 99 // 100) - 1] if lags else 0.0

    def close(self) -> None:
        self._timer.close()

    def _set(self) -> None:
        self._due_ns = self._clock.now_ns() + LAG_INTERVAL_NS
        self._timer.set(self._due_ns)

    def _on_timer(self) -> None:
        self._lags_ms.append(max(0, self._clock.now_ns() - self._due_ns) / 1e6)
        self._set()


Connect = Callable[[Target], Awaitable[Connection]]


class DueWork(Protocol):
    """The due work of a worker; `pacing.WorkQueue` describes each method."""

    @property
    def is_finished(self) -> bool: ...

    def set_rate(self, rate_per_second: float) -> int: ...

    def forget(self) -> int: ...

    def reassign(self) -> Reassign: ...

    def take_over(self, work: Reassign) -> None: ...

    def hold(self) -> None: ...

    def release(self) -> None: ...


QueueT = TypeVar("QueueT", bound=DueWork)


class WorkerContext(Generic[QueueT]):
    """The shared state of a worker's connections."""

    def __init__(
        self,
        target: Target,
        transactions: Sequence[Transaction],
        statements: Sequence[FlatStatement],
        recorder: LatencyRecorder,
        execution: ExecutionOptions,
        queue: QueueT,
        delay: NetworkDelay,
        wakeup_timer: WakeupTimer,
        *,
        opening: asyncio.Semaphore,
        connect: Connect,
        clock: Clock,
        load_has_begun: bool = False,
    ) -> None:
        self.target = target
        self.transactions = transactions
        self.statements = statements
        self.recorder = recorder
        self.execution = execution
        self.queue = queue
        self.delay = delay
        self.wakeup_timer = wakeup_timer
        self.opening = opening
        self.connect = connect
        self.clock = clock
        self.fixed_packets = {
            index: packet
            for index, flat in enumerate(statements)
            if not (flat.captures or (flat.prepared and execution.prepared))
            and (packet := constant_packet(flat.sql)) is not None
        }
        """By flat index, the packets of statements that are the same on each connection."""
        self.ever_prepared: set[int] = set()
        """The flat indexes of the statements that the server has prepared for any connection."""
        self.changes = 0
        """Counts the changes that every connection must check before its next transaction."""
        self.session_sql: tuple[str, ...] = ()
        self.paused = False
        self.connected = 0
        self.failure: TuibenchError | None = None
        self.last_refusal = ""
        self._has_begun = False
        self._load_has_begun = load_has_begun

    @property
    def is_over(self) -> bool:
        """True when no further transaction starts. False while the load is paused."""
        return self.failure is not None or (self.queue.is_finished and not self.paused)

    @property
    def outlives_refusals(self) -> bool:
        """True if a refused login is retried, because the password or a privilege may be restored.

        Before the first successful login of the load, a refusal is an error in the options.
        """
        return (self._has_begun or self._load_has_begun) and self.execution.on_error is OnError.CONTINUE

    def pause(self) -> None:
        """Stops starting transactions until `resume`."""
        self.paused = True
        self.changed()

    def resume(self) -> None:
        self.paused = False

    def set_session(self, statements: tuple[str, ...]) -> None:
        """Makes each connection run these before its next transaction."""
        self.session_sql = statements
        self.changed()

    def fail(self, error: TuibenchError) -> None:
        """Records the failure of the load; the first reason counts."""
        self.failure = self.failure or error
        self.changed()

    def changed(self) -> None:
        """Makes each connection check for changes once."""
        self.changes += 1

    def connection_opened(self, *, is_planned: bool = False) -> None:
        """Counts one more connection.

        The first one after an outage may drop a backlog. Arrivals before the very first connection, or during
        a planned login, are not part of an outage.
        """
        is_outage = self.connected == 0 and self._has_begun and not is_planned
        if is_outage and self.execution.backlog is Backlog.DROP:
            self.recorder.counters.abandoned += self.queue.forget()
        self._has_begun = True
        self.connected += 1


AnyContext = WorkerContext[Any]
"""A context with any kind of queue."""


PARALLEL_IDLE_LOGINS = 8
MAX_LOGINS_UNDER_WAY = 256
"""Maximum number of concurrent extra logins of one worker. If a server does not answer these, more of them
would not help.
"""

LOOK_SECONDS = 1.0
"""How often closed idle connections are replaced."""


class ExtraConnections:
    """The idle connections and the extra logins of one worker."""

    def __init__(
        self,
        context: AnyContext,
        timer: Callable[[Callable[[], None]], Timer],
        arrival: Arrival,
        seed: int,
    ) -> None:
        self.refusal = ""
        """The reason why idle connections are missing."""
        self._context = context
        self._wanted = 0
        self._idle: list[Connection] = []
        self._idle_task: asyncio.Task[None] | None = None
        self._schedule = ArrivalSchedule(Random(f"tuibench:{seed}:logins"), arrival)
        self._timer: Timer | None = None
        self._make_timer = timer
        self._under_way: set[asyncio.Task[None]] = set()
        self._numbers = count()

    @property
    def idle(self) -> int:
        """The number of open idle connections."""
        return sum(connection.is_open for connection in self._idle)

    def connection_ids(self) -> tuple[int, ...]:
        """The server's ids of the idle connections."""
        return tuple(connection.thread_id for connection in self._idle if connection.is_open)

    def set(self, idle: int, logins_per_second: float) -> None:
        self._wanted = idle
        if self._idle_task is None and idle:
            self._idle_task = asyncio.create_task(self._maintain_idle(), name="idle connections")
        if self._timer is None and logins_per_second:
            self._timer = self._make_timer(self._on_timer)
        self._schedule.set_rate(logins_per_second, self._context.clock.now_ns())
        self._on_timer()

    def hold(self) -> None:
        """Stops extra logins until `release`; idle connections stay open."""
        self._schedule.hold(self._context.clock.now_ns())
        self._set_timer(None)

    def release(self) -> None:
        self._schedule.release(self._context.clock.now_ns())
        self._on_timer()

    async def close(self) -> None:
        """Closes all connections and cancels logins in progress."""
        self.hold()
        tasks = [*self._under_way, *([self._idle_task] if self._idle_task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._idle_task = None
        idle, self._idle = self._idle, []
        await asyncio.gather(*(self._say_goodbye(connection) for connection in idle))
        if self._timer is not None:
            self._timer.close()
            self._timer = None

    def _set_timer(self, at_ns: int | None) -> None:
        if self._timer is not None:
            self._timer.set(at_ns)

    # Idle connections

    async def _maintain_idle(self) -> None:
        while True:
            await self._open_missing()
            surplus, self._idle = self._idle[self._wanted :], self._idle[: self._wanted]
            for connection in surplus:
                await self._say_goodbye(connection)
            await self._context.clock.sleep(LOOK_SECONDS)

    async def _open_missing(self) -> None:
        self._idle = [connection for connection in self._idle if connection.is_open]
        while (missing := self._wanted - len(self._idle)) > 0:
            logins = (self._open_idle() for _ in range(min(missing, PARALLEL_IDLE_LOGINS)))
            if not all(await asyncio.gather(*logins)):
                return
        self.refusal = ""

    async def _open_idle(self) -> bool:
        """Opens one more idle connection; False if the server refuses it or is unavailable."""
        try:
            self._idle.append(await self._log_in())
        except TuibenchError as error:
            self.refusal = str(error)
            return False
        return True

    # Logins

    def _on_timer(self) -> None:
        for due_ns in self._schedule.due(self._context.clock.now_ns()):
            if len(self._under_way) >= MAX_LOGINS_UNDER_WAY:
                self._context.recorder.counters.missed_logins += 1
                continue
            task = asyncio.create_task(self._log_in_and_out(due_ns), name="extra login")
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        self._set_timer(self._schedule.next_ns)

    async def _log_in_and_out(self, due_ns: int) -> None:
        recorder = self._context.recorder
        try:
            connection = await self._log_in()
        except SQLError as error:
            recorder.counters.count_error(error.code)
        except TuibenchError as error:
            recorder.counters.count_error(getattr(error, "code", 0) or CLIENT_CANNOT_CONNECT)
            self._context.last_refusal = str(error)
        else:
            recorder.counters.logins += 1
            recorder.login_us.append((self._context.clock.now_ns() - due_ns) // 1000)
            await self._say_goodbye(connection)

    async def _log_in(self) -> Connection:
        """Opens a connection; its statements count as tuibench's own questions."""
        context = self._context
        connection = await context.connect(context.target.for_connection(next(self._numbers)))
        context.recorder.other_questions += connection.statements
        return connection

    async def _say_goodbye(self, connection: Connection) -> None:
        """Closes a connection; the server counts COM_QUIT as a question."""
        self._context.recorder.other_questions += connection.is_open
        await connection.close()


ER_MAX_PREPARED_STMT_COUNT_REACHED = 1461

TRANSIENT_CODES = CONNECTION_LOST_CODES | TOO_MANY_CONNECTIONS_CODES


def is_transient(error: SQLError) -> bool:
    """True for an error of a login while a server restarts, or a node joins its cluster."""
    return error.code in TRANSIENT_CODES or isinstance(error, NotReadyError)


FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.05, 1.0


class TooManyConnections(Exception):  # noqa: N818
    """The server accepts no more connections."""


def backoff_seconds(attempt: int, first_seconds: float, longest_seconds: float, chance: float) -> float:
    """Seconds to wait before attempt n (from 0): doubling, capped, and multiplied by a random factor.

    `chance`, in [0, 1), determines the factor.
    """
    doublings = min(attempt, 32)
    return float(min(longest_seconds, first_seconds * 2**doublings) * (0.5 + chance / 2))


class PreparedConnection:
    """A connection that is ready for work, with every flat statement that it may execute."""

    def __init__(self, connection: Connection, login_us: int = 0) -> None:
        self.connection = connection
        self.login_us = login_us
        """The duration of the login."""
        self.packets: dict[int, PacketBuilder] = {}
        self.rows: dict[int, Callable[[bytes], Rows]] = {}
        """Readers of the responses of capturing statements."""
        self.prepared: dict[int, PreparedHandle] = {}
        """The server's handles of prepared statements."""
        self.session_sql: tuple[str, ...] = ()

    async def set_up(self, context: AnyContext) -> None:
        """Applies the load's present session settings to the connection; a refusal is counted."""
        self.session_sql = context.session_sql
        before = self.connection.statements
        try:
            for sql in self.session_sql:
                await self.connection.execute(sql)
        except ConnectionLostError:
            raise
        except SQLError as error:
            context.recorder.counters.count_error(error.code)
        finally:
            context.recorder.other_questions += self.connection.statements - before

    async def close(self, context: AnyContext) -> None:
        """Closes the connection; the server counts COM_QUIT as a question."""
        context.recorder.other_questions += self.connection.is_open
        await self.connection.close()


async def open_prepared_connection(
    context: AnyContext,
    number: int,
    needed: Collection[int] | None,
    *,
    waits_for_slot: bool,
    is_leaving: Callable[[], bool],
    chance: Callable[[], float],
) -> PreparedConnection | None:
    """Returns a ready connection with the `needed` statements (None: all); None if it has to leave before.

    With several servers, connection `number` uses them in turn. While the server is unavailable, it retries
    with a growing back-off.

    Raises TooManyConnections if the server accepts no more connections, unless this one `waits_for_slot`.
    Raises TuibenchError for errors that a retry would not change, unless the load has begun and continues
    after errors.
    """
    attempt = 0
    while not is_leaving():
        try:
            async with context.opening:
                return await _open(context, number, needed)
        except SQLError as error:
            if error.code in TOO_MANY_CONNECTIONS_CODES and not waits_for_slot:
                context.recorder.counters.count_refusal(error.code)
                raise TooManyConnections from error
            if not is_transient(error):
                if not context.outlives_refusals:
                    raise
                context.recorder.counters.count_error(error.code)
            context.last_refusal = str(error)
        except ServerBusyError as error:
            context.last_refusal = str(error)
        except ServerUnreachableError as error:
            context.recorder.counters.count_error(CLIENT_CANNOT_CONNECT)
            context.last_refusal = str(error)
        except ServerUnavailableError as error:
            if not context.outlives_refusals:
                raise
            context.recorder.counters.count_error(error.code or CLIENT_CANNOT_CONNECT)
            context.last_refusal = str(error)
        await context.clock.sleep(backoff_seconds(attempt, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, chance()))
        attempt += 1
    return None


async def _open(context: AnyContext, number: int, needed: Collection[int] | None) -> PreparedConnection:
    since_ns = context.clock.now_ns()
    connection = await context.connect(context.target.for_connection(number))
    conn = PreparedConnection(connection, (context.clock.now_ns() - since_ns) // 1000)
    try:
        for sql in context.execution.session_sql:
            await conn.connection.execute(sql)
        context.recorder.other_questions += conn.connection.statements
        await conn.set_up(context)
        await _prepare_statements(
            context, conn, range(len(context.statements)) if needed is None else sorted(needed)
        )
    except (SQLError, asyncio.CancelledError):
        await conn.close(context)
        raise
    return conn


async def _prepare_statements(context: AnyContext, conn: PreparedConnection, indexes: Sequence[int]) -> None:
    """Prepares statements, or sends them as text: on request, or if the server does not prepare them."""
    flat, connection, fixed = context.statements, conn.connection, context.fixed_packets
    if len(fixed) == len(flat):
        conn.packets = fixed
        return
    conn.packets.update(fixed)
    indexes = [index for index in indexes if index not in fixed]
    wanted = [index for index in indexes if flat[index].prepared and context.execution.prepared]
    made = await connection.prepare_all([flat[index].sql for index in wanted]) if wanted else []
    prepared = dict(zip(wanted, made, strict=True))
    for index in indexes:
        statement = _prepared_or_text(context, index, prepared.get(index)) or TextStatement(
            connection, flat[index].sql
        )
        conn.packets[index] = statement.packet
        if isinstance(statement, PreparedStatement):
            conn.prepared[index] = statement.prepared
        if flat[index].captures:
            statement.rows.most_values = MAX_ITEMS
            conn.rows[index] = statement.rows.read


def _prepared_or_text(
    context: AnyContext, index: int, made: PreparedStatement | SQLError | None
) -> PreparedStatement | None:
    """The prepared statement; None if it is sent as text because the server does not prepare it.

    Raises the server's error if it has prepared this statement before, for another connection: then the error
    is not about preparing.
    """
    if isinstance(made, PreparedStatement):
        context.ever_prepared.add(index)
    if not isinstance(made, SQLError):
        return made
    is_full = made.code == ER_MAX_PREPARED_STMT_COUNT_REACHED
    if not is_refused_command(made) or (index in context.ever_prepared and not is_full):
        raise made
    context.recorder.counters.count_refusal(made.code)
    return None


class LoadConnection(ABC, Generic[QueueT]):
    """One connection of the load."""

    __slots__ = ("_broken", "_chance", "_conn", "_context", "_is_leaving", "_renews", "_waits_for_slot",
                 "is_admitted", "number")  # fmt: skip

    def __init__(
        self,
        context: WorkerContext[QueueT],
        number: int,
        *,
        waits_for_slot: bool,
        chance: Callable[[], float],
    ) -> None:
        """`waits_for_slot` if the connection waits while the server accepts no more connections. `chance`
        spreads the pauses between logins.
        """
        self.number = number
        self.is_admitted = False
        """True once the server has accepted the first login."""
        self._context = context
        self._waits_for_slot = waits_for_slot
        self._chance = chance
        self._is_leaving = False
        self._renews = False
        self._broken = 0
        self._conn: PreparedConnection | None = None

    @property
    def connected(self) -> bool:
        return self._conn is not None

    @property
    def connection_id(self) -> int | None:
        """The server's id of the connection, if there is one."""
        return self._conn.connection.thread_id if self._conn is not None else None

    def leave(self) -> None:
        """Ends after the transaction in flight."""
        self._is_leaving = True

    async def run(self) -> None:
        """Runs until it is asked to leave, refused by the server, out of work, or cancelled."""
        try:
            lost = 0
            while not self._is_done() and (conn := await self._connect(lost)) is not None:
                lost += 1
                await self._run_connection(conn)
                await self._disconnect()
        except TuibenchError as error:
            self._fail(error)
        except Exception as error:
            self._fail(RunError(f"a connection of the load failed: {type(error).__name__}: {error}"))
        finally:
            await self._disconnect()

    @property
    @abstractmethod
    def _needed(self) -> Collection[int] | None:
        """The flat indexes of the statements that the connection executes; None for all."""

    @abstractmethod
    def _is_out_of_work(self) -> bool:
        """True if the connection has no further transaction to run."""

    def _on_connected(self, conn: PreparedConnection, lost: int) -> None:
        """Counts a login; `lost` is the number of earlier connections that were lost. With `_renews`, the
        login is planned.
        """
        recorder = self._context.recorder
        self._context.connection_opened(is_planned=self._renews)
        if self._renews:
            recorder.counters.logins += 1
            recorder.login_us.append(conn.login_us)
        elif lost:
            recorder.counters.reconnects += 1
        self._renews = False

    @abstractmethod
    async def _run_connection(self, conn: PreparedConnection) -> None:
        """Runs transactions until none is left, or the connection is lost or due for a new login."""

    async def _outlive(self, error: ProtocolError) -> None:
        """Waits before the next login after a protocol error, or raises it with --on-error=stop."""
        if self._context.execution.on_error is OnError.STOP:
            raise error
        pause = backoff_seconds(self._broken, FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, self._chance())
        self._broken += 1
        await self._context.clock.sleep(pause)

    def _fail(self, error: TuibenchError) -> None:
        self._context.fail(error)

    def _is_done(self) -> bool:
        return self._is_leaving or self._context.is_over or self._is_out_of_work()

    async def _connect(self, lost: int) -> PreparedConnection | None:
        """A connection that is ready; None if it has to leave, or the server accepts no more connections."""
        try:
            self._conn = await open_prepared_connection(
                self._context,
                self.number,
                self._needed,
                waits_for_slot=self._waits_for_slot or lost > 0,
                is_leaving=self._is_done,
                chance=self._chance,
            )
        except TooManyConnections:
            return None
        if self._conn is not None:
            self.is_admitted = True
            self._on_connected(self._conn, lost)
        return self._conn

    async def _disconnect(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            self._context.connected -= 1
            await conn.close(self._context)
