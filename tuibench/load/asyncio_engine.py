"""The asyncio engine, portable and the reference: each connection is a task of one event loop.

`VirtualUser` is one connection, from login to disconnect:

    connecting ──> working ──> leaving
        ^             │
        └── lost <────┘

    connecting  logs in and prepares; retries while the server is unavailable; ends if no slot is free
    working     runs transactions one after the other, or (open loop) each when it is due; waits while paused;
                logs in again after --reconnect transactions
    lost        its transaction has failed; it is opened again after a back-off
    leaving     on request, or without work: the transaction in flight ends, then the connection is closed

`TransactionRunner` runs and times the transactions of one connection: the hot path. A transaction loop is a
generator that `mysql.statements` runs without a task switch. It yields packets, and gets the number of
affected rows of each statement, or the response whose rows determine the next statement. Errors are raised
where the statement was yielded. It yields a function only for rare operations: a back-off, a wait for work.
"""

import asyncio
import random
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from tuibench.base.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.base.errors import ConnectionLostError, ProtocolError, RunError, SQLError
from tuibench.load.connections import (
    OTHER,
    WRITE,
    Connect,
    EventLoopLagProbe,
    LoadConnection,
    PreparedConnection,
    Timed,
    WorkerContext,
    backoff_seconds,
)
from tuibench.load.engine import BaseEngine, Emit
from tuibench.load.messages import Counters, FairnessStats, StartLoad, WorkerReport
from tuibench.load.pacing import UNSCHEDULED, ArrivalSchedule, ThinkTime, Timer, WorkQueue, system_timer
from tuibench.model.callers import CallerPolicy
from tuibench.model.plan import OnError
from tuibench.mysql.statements import (
    CR_SERVER_GONE_ERROR,
    AsyncCall,
    CaptureResponse,
    Request,
    TransactionLoop,
)
from tuibench.workload.draw import EVALUATION_ERRORS, stream
from tuibench.workload.generator import Call, Conversation, Rows, TransactionGenerator, uncomputable
from tuibench.workload.limits import MAX_CAPTURED_BYTES
from tuibench.workload.program import ProgramLayout, with_weights
from tuibench.workload.sql import StatementClass

RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS = 0.001, 0.1
ROLLBACK = "ROLLBACK"
COMMIT = "commit"
"""The name of the statement that commits an explicit transaction."""

ER_QUERY_INTERRUPTED = 1317
OUT_OF_TIME = frozenset({1969, 3024})
"""The server has ended a statement: max_statement_time of MariaDB, max_execution_time of MySQL."""
INTENDED_ROLLBACK = "rollback"
"""The name of the statement that ends a transaction which is rolled back intentionally."""

Outcome = TypeVar("Outcome")
TransactionStep = Generator[Request, Any, Outcome]
"""Part of a transaction loop, with its result."""


class UnfinishedTransaction(AbstractContextManager[None]):
    """Counts a transaction that the end of its connection, of the run, or of the load interrupts."""

    def __init__(self, context: WorkerContext[WorkQueue]) -> None:
        self._recorder = context.recorder
        self._context = context

    def count_failure(self) -> None:
        self._recorder.counters.failed += 1
        self._recorder.gaps.failed()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._recorder.in_flight -= 1
            self._recorder.counters.abandoned += kind is GeneratorExit
            if kind is not GeneratorExit:
                self.count_failure()
            self._context.queue.user_came_back(self._context.clock.now_ns())


class TransactionRunner:
    """Runs the transactions of one connection."""

    def __init__(
        self, context: WorkerContext[WorkQueue], values: TransactionGenerator, chance: Callable[[], float]
    ) -> None:
        self.events = 0
        """Successful transactions."""
        self.busy_us = 0
        """The time that the successful transactions took."""
        self._events_before = 0
        self._busy_us_before = 0
        self._context = context
        self._recorder = context.recorder
        self._now = context.clock.now_ns
        self.think_time = ThinkTime(values)
        self._has_think_time = values.pauses.are_any
        self._values = values
        self._profile = values.profile
        self._start_interactive = values.start_interactive
        self._interactive = [transaction.interactive for transaction in context.transactions]
        self._names = [transaction.name for transaction in context.transactions]
        self._explicit = [transaction.explicit for transaction in context.transactions]
        self._writes = [transaction.writes for transaction in context.transactions]
        self._chance = chance
        self._kill_expected = False
        self._timed: list[Timed] = []
        self._unfinished = UnfinishedTransaction(context)
        self._reconnect = context.execution.reconnect
        self._since_login = 0

    def expect_kill(self) -> None:
        """Retries the next interrupted query, regardless of the execution options."""
        self._kill_expected = True

    @property
    def is_login_due(self) -> bool:
        """True if the connection is to log in again before the next transaction."""
        return 0 < self._reconnect <= self._since_login

    def logged_in(self) -> None:
        """Restarts the count of transactions until the next planned login."""
        self._since_login = 0

    def _turns(self) -> Iterable[None]:
        """Yields an item for each transaction that may start without a check in between."""
        turns = self._values.uninterrupted()
        return self._until_login(turns) if self._reconnect else turns

    def _until_login(self, turns: Iterable[None]) -> Iterator[None]:
        for turn in turns:
            if self.is_login_due:
                return
            yield turn
            self._since_login += 1

    def _user_came_back(self, which: int, intended_ns: int, started_ns: int, ended_ns: int) -> None:
        """Returns the user to the pool: it thinks and keys before its next request."""
        self._recorder.wait_us.append((started_ns - intended_ns) // 1000)
        pauses = self._values.pauses
        seconds = pauses.before(which) + pauses.after(which) if pauses.are_any else 0.0
        self._context.queue.user_came_back(ended_ns + int(seconds * NS_PER_SECOND))

    def forget(self) -> None:
        self.events = self.busy_us = 0
        self.checkpoint()

    def checkpoint(self) -> None:
        """Resets the figures since the last checkpoint."""
        self._events_before, self._busy_us_before = self.events, self.busy_us

    @property
    def events_since(self) -> int:
        return self.events - self._events_before

    @property
    def busy_us_since(self) -> int:
        return self.busy_us - self._busy_us_before

    def run_transactions(self, conn: PreparedConnection) -> TransactionLoop:
        """Runs one transaction after the other, until a check is due or there is nothing to start.

        The loop is one function, because nearly all time is spent here. Latencies include retries, and end
        with the last byte of a response. Response time counts from the intended start, service time from the
        actual one.
        """
        context, recorder, now, packets = self._context, self._recorder, self._now, conn.packets
        delay, queue, changes, start = context.delay, context.queue, context.changes, context.queue.start
        tally, kinds, latencies_us, timed = recorder.tally, recorder.kinds, recorder.latencies_us, self._timed
        gaps, calls, has_users = recorder.gaps, self._values.calls, queue.users > 0
        answered = queue.answered if queue.follows_ends else None
        draw = self.think_time.take if self._has_think_time else self._values.draw
        with self._unfinished:
            for _ in self._turns():
                if context.changes != changes or (intended_ns := start()) is None:
                    return
                recorder.in_flight += 1
                which = draw()
                timed.clear()
                started_ns = ended_ns = now()
                if recorder.in_flight == 1:
                    gaps.woken(started_ns if intended_ns == UNSCHEDULED else intended_ns)
                is_committed: bool | None = True
                try:
                    if self._interactive[which]:
                        is_committed = yield from self._run_interactive(conn, which)
                        ended_ns = now()
                    else:
                        for index, values in self._computed(which, calls[which]):
                            try:
                                packet = packets[index](values)
                            except EVALUATION_ERRORS as error:
                                raise self._uncomputable(which, error) from error
                            sent_ns = now()
                            affected = (yield from delay.answer(packet)) if delay.ns else (yield packet)
                            ended_ns = now()
                            latencies_us[index].append(taken_us := (ended_ns - sent_ns) // 1000)
                            timed.append((index, taken_us, 0))
                            kind = kinds[index]
                            tally[kind if affected or kind != WRITE else OTHER] += 1
                except SQLError as error:
                    if not self._interactive[which]:
                        timed.append((index, (now() - sent_ns) // 1000, error.code))
                    is_committed = yield from self._retry(conn, which, error)
                    ended_ns = now()
                except GeneratorExit:
                    recorder.other_questions += 1
                    raise
                recorder.in_flight -= 1
                if has_users:
                    self._user_came_back(which, intended_ns, started_ns, ended_ns)
                if is_committed is None:
                    self._unfinished.count_failure()
                    continue
                if answered is not None:
                    answered(intended_ns, started_ns, ended_ns)
                if not is_committed:
                    recorder.counters.count_rollback(self._names[which])
                recorder.commits += is_committed and self._explicit[which]
                recorder.completed += 1
                gaps.completed(ended_ns)
                self.events += 1
                self.busy_us += (busy_us := (ended_ns - started_ns) // 1000)
                response_us = None if intended_ns == UNSCHEDULED else (ended_ns - intended_ns) // 1000
                recorder.answered(which, response_us, busy_us, timed)

    def _retry(self, conn: PreparedConnection, which: int, error: SQLError) -> TransactionStep[bool | None]:
        """Handles a failed attempt and retries it.

        Returns None if the transaction is given up, else the result of `_run_interactive`. Raises errors that
        end the connection or the run.
        """
        attempt = 0
        while (yield from self._prepare_retry(conn, which, attempt, error)):
            attempt += 1
            try:
                return (yield from self._run_interactive(conn, which))
            except SQLError as another:
                error = another
            except GeneratorExit:
                self._recorder.other_questions += 1
                raise
        return None

    def _prepare_retry(
        self, conn: PreparedConnection, which: int, attempt: int, error: SQLError
    ) -> TransactionStep[bool]:
        """Rolls back a failed attempt; True if it is to be retried, after a back-off."""
        execution, counters = self._context.execution, self._recorder.counters
        self._recorder.failed(error)
        if isinstance(error, ConnectionLostError):
            counters.unknown_commits += self._is_fate_unknown(which, error)
            raise error
        if self._explicit[which]:
            yield from self._roll_back(conn)
        if error.code in OUT_OF_TIME:
            # It is late: its caller decides whether to send it again.
            return False
        if not (execution.ignores(error.code) or self._was_expected_kill(error.code)):
            if execution.on_error is OnError.STOP:
                raise error
            return False
        if attempt == execution.max_retries:
            return False
        counters.count_retry(self._names[which])
        pause = backoff_seconds(attempt, RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS, self._chance())
        yield partial(self._context.clock.sleep, pause)
        return True

    def _is_fate_unknown(self, which: int, lost: ConnectionLostError) -> bool:
        """True if the statement that ends the transaction was sent, and not answered."""
        if not self._writes[which] or lost.code == CR_SERVER_GONE_ERROR:
            return False
        statement = self._context.statements[self._timed[-1][0]]
        return statement.name == COMMIT if self._explicit[which] else statement.cls is StatementClass.WRITE

    def _was_expected_kill(self, code: int) -> bool:
        """True for the announced interruption, which is retried once."""
        spared = self._kill_expected and code == ER_QUERY_INTERRUPTED
        self._kill_expected = self._kill_expected and not spared
        return spared

    def _run_interactive(self, conn: PreparedConnection, which: int) -> TransactionStep[bool]:
        """Runs statements that may depend on rows captured earlier. False if the transaction is rolled back
        intentionally.
        """
        context, recorder, now = self._context, self._context.recorder, self._context.clock.now_ns
        delay = context.delay
        computed = partial(self._computed, which)
        conversation, answer, last = computed(partial(self._start_interactive, which)), None, ""
        try:
            while (call := _next_call(conversation, answer)) is not None:
                index, values = call
                statement = context.statements[index]
                packet = computed(partial(conn.packets[index], values))
                request = CaptureResponse(packet, MAX_CAPTURED_BYTES) if statement.captures else packet
                sent_ns = now()
                try:
                    result = (yield from delay.answer(request)) if delay.ns else (yield request)
                except SQLError as error:
                    self._timed.append((index, (now() - sent_ns) // 1000, error.code))
                    raise
                recorder.latencies_us[index].append(taken_us := (now() - sent_ns) // 1000)
                self._timed.append((index, taken_us, 0))
                answer = computed(partial(conn.rows[index], result)) if statement.captures else None
                affected = result if answer is None else len(answer)
                kind = recorder.kinds[index]
                recorder.tally[kind if affected or kind != WRITE else OTHER] += 1
                last = statement.name
        finally:
            conversation.close()
        return last != INTENDED_ROLLBACK

    def _computed(self, which: int, make: Callable[[], Outcome]) -> Outcome:
        """The result of a function of the profile. Raises RunError if its values are of the wrong type, or
        exceed a limit.
        """
        try:
            return make()
        except EVALUATION_ERRORS as error:
            raise self._uncomputable(which, error) from error

    def _uncomputable(self, which: int, error: Exception) -> RunError:
        return uncomputable(self._profile, self._names[which], error)

    def _roll_back(self, conn: PreparedConnection) -> TransactionStep[None]:
        recorder = self._context.recorder
        try:
            yield from self._context.delay.answer(conn.connection.packet(ROLLBACK))
        except GeneratorExit:
            recorder.other_questions += 1
            raise
        except SQLError as error:
            recorder.failed(error)
            raise
        recorder.tally[OTHER] += 1


def _next_call(conversation: Conversation, answer: Rows | None) -> Call | None:
    """The next call of an interactive transaction, None at its end."""
    try:
        return conversation.send(answer)
    except StopIteration:
        return None


class VirtualUser(LoadConnection[WorkQueue]):
    """A connection of the load with its own stream of values."""

    def __init__(
        self,
        context: WorkerContext[WorkQueue],
        generator: TransactionGenerator,
        number: int,
        *,
        waits_for_slot: bool,
    ) -> None:
        super().__init__(context, number, waits_for_slot=waits_for_slot, chance=random.Random(number).random)
        self.transactions = TransactionRunner(context, generator, self._chance)
        self._generator = generator

    def leave(self) -> None:
        super().leave()
        self._context.changed()
        self.wake()

    def wake(self) -> None:
        """Resumes the transaction loop if it waits."""
        if self._conn is not None:
            self._conn.connection.protocol.wake()

    @property
    def _needed(self) -> Collection[int] | None:
        return self._generator.needed

    def _is_out_of_work(self) -> bool:
        return self._generator.is_exhausted

    def _on_connected(self, conn: PreparedConnection, lost: int) -> None:
        super()._on_connected(conn, lost)
        self.transactions.logged_in()

    async def _run_connection(self, conn: PreparedConnection) -> None:
        loop: TransactionLoop = self._transaction_loop(conn)
        answer: Any = None
        try:
            while (call := await conn.connection.protocol.run(loop, answer)) is not None:
                answer = await _await_call(call)
        except ConnectionLostError as error:
            if isinstance(error, ProtocolError):
                conn.connection.abort()
            await self._disconnect()
            if isinstance(error, ProtocolError):
                await self._outlive(error)
        finally:
            loop.close()
            self._context.queue.withdraw(self)

    def _transaction_loop(self, conn: PreparedConnection) -> TransactionLoop:
        """Yields the requests of transactions one after the other, or (open loop) of each when it is due."""
        context, queue = self._context, self._context.queue
        while not self._is_done():
            if self._generator.needs_reconnect():
                return
            if self.transactions.is_login_due:
                self._renews = True
                return
            if conn.session_sql is not context.session_sql:
                yield partial(conn.set_up, context)
            elif context.paused or (not queue.is_open and self._is_thinking()):
                yield None
            elif queue.is_open and not queue.backlog:
                queue.wait(self)
                yield None
            else:
                yield from self.transactions.run_transactions(conn)

    def _is_thinking(self) -> bool:
        """True if the next transaction is not due yet; the connection is woken in time."""
        think_time = self.transactions.think_time
        if not self._generator.pauses.are_any or think_time.is_over(self._context.clock.now_ns()):
            return False
        if (at_ns := think_time.take_wakeup_ns()) is not None:
            self._context.wakeup_timer.schedule(at_ns, self)
        return True


async def _await_call(call: AsyncCall) -> Any:
    """The result of a call that the transaction loop requested, or its error."""
    try:
        return await call()
    except Exception as error:
        return error


US_PER_MS, US_PER_SECOND = 1e3, 1e6


class AsyncioEngine(BaseEngine[VirtualUser, WorkQueue]):
    """The virtual users of one worker."""

    def __init__(
        self,
        begin: StartLoad,
        *,
        connect: Connect | None = None,
        clock: Clock | None = None,
        emit: Emit = lambda _: None,
        timer: Callable[[Callable[[], None]], Timer] = system_timer,
    ) -> None:
        clock = clock or SystemClock()
        phase = begin.worker / begin.workers
        schedule = ArrivalSchedule(stream(begin.seed, -1 - begin.worker), begin.arrival, phase)
        chance = random.Random(f"tuibench:{begin.seed}:callers:{begin.worker}").random
        queue = WorkQueue(schedule, clock, timer, begin.limit, chance)
        layout = ProgramLayout(begin.program)
        super().__init__(begin, queue, layout, connect=connect, clock=clock, emit=emit, timer=timer)
        self._program = begin.program
        self._generators: dict[int, TransactionGenerator] = {}
        self._left = self._left_since = FairnessStats()
        self._lag = EventLoopLagProbe(clock, timer)

    def set_weights(self, weights: Sequence[float]) -> None:
        self._program = with_weights(self._program, weights)
        for generator in self._generators.values():
            generator.set_weights(weights)
        self._context.changed()

    def set_users(self, users: int) -> None:
        self._queue.set_users(users)

    def set_delay(self, delay_ns: int) -> None:
        self._delay.ns = delay_ns

    def set_callers(self, policy: CallerPolicy) -> None:
        self._recorder.deadline_us = round(policy.deadline_ms * US_PER_MS)
        self._queue.set_callers(policy)
        self._context.changed()

    def checkpoint(self) -> None:
        self._reap()
        self._left_since = FairnessStats()
        for user in self._present():
            user.transactions.checkpoint()

    def expect_kill(self, connection_id: int) -> None:
        for user in self._present():
            if user.connection_id == connection_id:
                user.transactions.expect_kill()

    def _reset_figures(self, limit: int | None) -> int:
        dropped = self._queue.forget()
        self._queue.grant_quota(limit)
        self._left = self._left_since = FairnessStats()
        for user in self._present():
            user.transactions.forget()
        return dropped

    def set_connections(self, numbers: Collection[int]) -> None:
        super().set_connections(numbers)
        if not numbers:
            self._recorder.gaps.all_left()

    def _hold(self) -> None:
        super()._hold()
        self._recorder.gaps.hold(self._clock.now_ns(), self._outstanding)

    def _release(self) -> None:
        super()._release()
        self._recorder.gaps.release(self._clock.now_ns())

    @property
    def _outstanding(self) -> int:
        return self._recorder.in_flight + self._queue.backlog

    def _measured(self, now_ns: int) -> WorkerReport:
        fairness, since = self._fairness_with(self._present())
        return WorkerReport(
            counters=self._counters(),
            hists=self._recorder.take(),
            slowest=self._recorder.take_slowest(),
            fairness=fairness,
            fairness_since=since,
            lag_p99_ms=self._lag.take_p99_ms(),
            gaps=self._recorder.gaps.report(now_ns, self._outstanding),
        )

    def _fairness_with(self, users: Iterable[VirtualUser]) -> tuple[FairnessStats, FairnessStats]:
        """Transactions and busy time of these users and of those that have left: since the start, and since
        the last checkpoint.
        """
        admitted = [user.transactions for user in users if user.is_admitted]
        return (
            self._left + FairnessStats.of((each.events, each.busy_us / US_PER_SECOND) for each in admitted),
            self._left_since
            + FairnessStats.of((each.events_since, each.busy_us_since / US_PER_SECOND) for each in admitted),
        )

    def _counters(self) -> Counters:
        counters = self._recorder.totals()
        counters.scheduled, counters.backlog = self._queue.scheduled, self._queue.backlog
        counters.resent = self._queue.resent
        counters.abandoned += self._queue.abandoned
        return counters

    def _wake_all(self) -> None:
        for user, _ in self._users.values():
            user.wake()

    def _new_user(
        self, number: int, before: asyncio.Task[None] | None, *, waits_for_slot: bool
    ) -> VirtualUser:
        generator = self._generators.get(number)
        if generator is None:
            generator = TransactionGenerator(self._program, self._begin.seed, number, self._layout)
            self._generators[number] = generator
        return VirtualUser(self._context, generator, number, waits_for_slot=waits_for_slot)

    def _close(self) -> None:
        self._lag.close()
        self._queue.close()

    def _reap(self) -> list[VirtualUser]:
        ended = super()._reap()
        self._left, self._left_since = self._fairness_with(ended)
        return ended
