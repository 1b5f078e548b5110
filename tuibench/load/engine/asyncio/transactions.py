"""Transactions of one connection with retries, counted and timed. The hot path.

A transaction loop is a generator that `mysql.protocol.statement_protocol` runs: it yields packets and gets
the number of affected rows of each statement, or the response whose rows determine the next statement,
without a task switch. It yields a function only for rare operations: a back-off, a wait for work. Errors are
raised where the statement was yielded.

    run_transactions    runs transactions; each is counted from its start to its end, successful or not
    _retry              retries a failed attempt
    _prepare_retry      the rollback and the back-off before a retry
    _run_interactive    an attempt that depends on captured rows
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from tuibench.clock import NS_PER_SECOND
from tuibench.errors import ConnectionLostError, RunError, SQLError
from tuibench.load.engine.prepared_connection import PreparedConnection, backoff_seconds
from tuibench.load.engine.recorder import OTHER, WRITE, Timed
from tuibench.load.engine.worker_context import WorkerContext
from tuibench.load.pacing.think_time import ThinkTime
from tuibench.load.pacing.work_queue import UNSCHEDULED, WorkQueue
from tuibench.model.plan import OnError
from tuibench.mysql.protocol.statement_protocol import CaptureResponse, Request, TransactionLoop
from tuibench.workload.generate.evaluate import EVALUATION_ERRORS
from tuibench.workload.generate.generator import Generator as Values
from tuibench.workload.generate.generator import uncomputable
from tuibench.workload.generate.interactive import Conversation, Rows
from tuibench.workload.generate.static import Call
from tuibench.workload.program.limits import MAX_CAPTURED_BYTES

RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS = 0.001, 0.1
ROLLBACK = "ROLLBACK"
ER_QUERY_INTERRUPTED = 1317
INTENDED_ROLLBACK = "rollback"
"""The name of the statement that ends a transaction rolled back by intent."""

Outcome = TypeVar("Outcome")
TransactionStep = Generator[Request, Any, Outcome]
"""Part of a transaction loop, with its result."""


class UnfinishedTransaction(AbstractContextManager[None]):
    """Accounts for a transaction that is interrupted: by the end of its connection, of the run, or of the
    load.
    """

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
    """Transactions of one connection. `events` counts the successful ones, `busy_us` the time they took."""

    def __init__(
        self, context: WorkerContext[WorkQueue], values: Values, chance: Callable[[], float]
    ) -> None:
        self.events = 0
        self.busy_us = 0
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
        """Whether the connection is to log in again before the next transaction."""
        return 0 < self._reconnect <= self._since_login

    def logged_in(self) -> None:
        """Counts transactions until the next planned login from here."""
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
        """Returns the user of a pool: it thinks and keys before its next request."""
        self._recorder.wait_us.append((started_ns - intended_ns) // 1000)
        pauses = self._values.pauses
        seconds = pauses.before(which) + pauses.after(which) if pauses.are_any else 0.0
        self._context.queue.user_came_back(ended_ns + int(seconds * NS_PER_SECOND))

    def forget(self) -> None:
        """Resets all figures."""
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

        All in one frame, since nearly all time is spent here. A latency ends with the last byte of a response
        and includes retries. Response time counts from the intended start, service time from the actual one.
        """
        context, recorder, now, packets = self._context, self._recorder, self._now, conn.packets
        delay, queue, changes, start = context.delay, context.queue, context.changes, context.queue.start
        tally, kinds, latencies_us, timed = recorder.tally, recorder.kinds, recorder.latencies_us, self._timed
        gaps, calls, has_users, interactive = (
            recorder.gaps,
            self._values.calls,
            queue.users > 0,
            self._interactive,
        )
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
            raise error
        if self._explicit[which]:
            yield from self._roll_back(conn)
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

    def _was_expected_kill(self, code: int) -> bool:
        """Whether this is the announced interruption, which is retried once."""
        spared = self._kill_expected and code == ER_QUERY_INTERRUPTED
        self._kill_expected = self._kill_expected and not spared
        return spared

    def _run_interactive(self, conn: PreparedConnection, which: int) -> TransactionStep[bool]:
        """Runs statements that may depend on rows captured earlier. False if the transaction is rolled back
        by intent.
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
        """What a function makes of values. Raises RunError where they do not fit, or exceed a limit."""
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
