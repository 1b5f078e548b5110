"""What one connection of the load sends: transactions with their retries, counted and timed. The hot path.

A script is a generator that `mysql.exchange` plays: it yields packets and is given what each statement
affected, or the answer whose rows decide what comes next, without a task in between. It yields a function
only for what is not hot: a back-off, a wait for work. Errors are thrown in where the statement was yielded.

    in_a_row    transactions, each in the books from its start to whichever end
    _again      what follows a failed attempt
    _retries    what that calls for first: a rollback, a back-off
    _talk       an attempt that hangs on what it captures
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.arrivals import UNASKED
from tuibench.load.login import Line, back_off
from tuibench.load.recorder import OTHER, WRITE, Recorder
from tuibench.load.resting import Rest
from tuibench.load.work import Work
from tuibench.model.plan import OnError
from tuibench.mysql.exchange import Said, Script, Whole
from tuibench.workload.generate import Call, Conversation, Rows
from tuibench.workload.generate import Generator as Values

RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS = 0.001, 0.1
ROLLBACK = "ROLLBACK"
INTERRUPTED = 1317
INTENDED_ROLLBACK = "rollback"
"""The name of the statement that ends a transaction rolled back by intent."""

Outcome = TypeVar("Outcome")
Part = Generator[Said, Any, Outcome]
"""Part of a script, and what came of it."""


class Unfinished(AbstractContextManager[None]):
    """Books the transaction that is cut short: by the end of its connection, of the run, or of the load."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._recorder.in_flight -= 1
            self._recorder.counters.abandoned += kind is GeneratorExit
            self._recorder.counters.failed += kind is not GeneratorExit


class Transactions:
    """Those of one connection. `events` counts the ones that succeeded, `busy_us` the time they took."""

    def __init__(self, work: Work, values: Values, chance: Callable[[], float]) -> None:
        self.events = 0
        self.busy_us = 0
        self._events_before = 0
        self._busy_us_before = 0
        self._work = work
        self._recorder = work.recorder
        self._now = work.clock.now_ns
        self.rest = Rest(values)
        self._rests = values.pauses.are_any
        self._values = values
        self._converse = values.converse
        self._interactive = [transaction.interactive for transaction in work.transactions]
        self._names = [transaction.name for transaction in work.transactions]
        self._explicit = [transaction.explicit for transaction in work.transactions]
        self._chance = chance
        self._is_spared = False
        self._unfinished = Unfinished(work.recorder)

    def spare(self) -> None:
        """The next query that is interrupted is to be tried again, whatever the rules say."""
        self._is_spared = True

    def forget(self) -> None:
        """Counts from nothing again."""
        self.events = self.busy_us = 0
        self.checkpoint()

    def checkpoint(self) -> None:
        """The figures `since` count from here."""
        self._events_before, self._busy_us_before = self.events, self.busy_us

    @property
    def events_since(self) -> int:
        return self.events - self._events_before

    @property
    def busy_us_since(self) -> int:
        return self.busy_us - self._busy_us_before

    def in_a_row(self, line: Line) -> Script:
        """One transaction after the other, until there is something to look at first, or nothing to start.

        All in one frame, since nearly all time is spent here. A latency ends when the last byte of the answer
        is there; a transaction's covers its retries, as sysbench counts it. Response time counts from the
        intended start, service time from the start; in a closed loop both are one.
        """
        work, recorder, now, packets = self._work, self._recorder, self._now, line.packets
        delay, start, changes = work.delay, work.arrivals.start, work.changes
        tally, kinds = recorder.tally, recorder.kinds
        latencies_us, responses_us = recorder.latencies_us, recorder.response_us
        calls, interactive, explicit = self._values.calls, self._interactive, self._explicit
        draw = self.rest.take if self._rests else self._values.draw
        with self._unfinished:
            for _ in self._values.stretch():
                if work.changes != changes or (intended_ns := start()) is None:
                    return
                recorder.in_flight += 1
                which = draw()
                started_ns = ended_ns = now()
                is_committed: bool | None = True
                try:
                    if interactive[which]:
                        is_committed = yield from self._talk(line, which)
                        ended_ns = now()
                    else:
                        for index, values in calls[which]():
                            packet = packets[index](values)
                            sent_ns = now()
                            affected = (yield from delay.answer(packet)) if delay.ns else (yield packet)
                            ended_ns = now()
                            latencies_us[index].append((ended_ns - sent_ns) // 1000)
                            kind = kinds[index]
                            tally[kind if affected or kind != WRITE else OTHER] += 1
                except SQLError as error:
                    is_committed = yield from self._again(line, which, error)
                    ended_ns = now()
                except GeneratorExit:
                    recorder.unanswered += 1
                    raise
                recorder.in_flight -= 1
                if is_committed is None:
                    recorder.counters.failed += 1
                    continue
                if not is_committed:
                    recorder.counters.count_rollback(self._names[which])
                elif explicit[which]:
                    recorder.commits += 1
                recorder.completed += 1
                self.events += 1
                busy_us = (ended_ns - started_ns) // 1000
                self.busy_us += busy_us
                if intended_ns == UNASKED:
                    responses_us[which].append(busy_us)
                else:
                    responses_us[which].append((ended_ns - intended_ns) // 1000)
                    recorder.service_us.append(busy_us)

    def _again(self, line: Line, which: int, error: SQLError) -> Part[bool | None]:
        """What follows an attempt that failed. None if the transaction is given up, else as `_talk`.

        Raises what ends the connection or the run.
        """
        attempt = 0
        while (yield from self._retries(line, which, attempt, error)):
            attempt += 1
            try:
                return (yield from self._talk(line, which))
            except SQLError as another:
                error = another
            except GeneratorExit:
                self._recorder.unanswered += 1
                raise
        return None

    def _retries(self, line: Line, which: int, attempt: int, error: SQLError) -> Part[bool]:
        """What a failed attempt calls for: a rollback, then a back-off if there is to be another (True)."""
        rules, counters = self._work.rules, self._recorder.counters
        self._recorder.failed(error)
        if isinstance(error, ConnectionLostError):
            raise error
        if self._explicit[which]:
            yield from self._roll_back(line)
        if not (rules.ignores(error.code) or self._was_spared(error.code)):
            if rules.on_error is OnError.STOP:
                raise error
            return False
        if attempt == rules.max_retries:
            return False
        counters.count_retry(self._names[which])
        pause = back_off(attempt, RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS, self._chance())
        yield partial(self._work.clock.sleep, pause)
        return True

    def _was_spared(self, code: int) -> bool:
        """Whether this is the interruption that the operator was told to expect; it is forgiven once."""
        spared = self._is_spared and code == INTERRUPTED
        self._is_spared = self._is_spared and not spared
        return spared

    def _talk(self, line: Line, which: int) -> Part[bool]:
        """Statements that may hang on what those before them captured. False: rolled back by intent."""
        work, recorder, now = self._work, self._work.recorder, self._work.clock.now_ns
        delay = work.delay
        talk, answer, last = self._converse(which), None, ""
        try:
            while (call := _next_call(talk, answer)) is not None:
                index, values = call
                statement, packet = work.statements[index], line.packets[index](values)
                said = Whole(packet) if statement.captures else packet
                sent_ns = now()
                told = (yield from delay.answer(said)) if delay.ns else (yield said)
                recorder.latencies_us[index].append((now() - sent_ns) // 1000)
                answer = line.rows[index](told) if statement.captures else None
                affected = told if answer is None else len(answer)
                kind = recorder.kinds[index]
                recorder.tally[kind if affected or kind != WRITE else OTHER] += 1
                last = statement.name
        finally:
            talk.close()
        return last != INTENDED_ROLLBACK

    def _roll_back(self, line: Line) -> Part[None]:
        recorder = self._work.recorder
        try:
            yield from self._work.delay.answer(line.connection.packet(ROLLBACK))
        except GeneratorExit:
            recorder.unanswered += 1
            raise
        except SQLError as error:
            recorder.failed(error)
            raise
        recorder.tally[OTHER] += 1


def _next_call(talk: Conversation, answer: Rows | None) -> Call | None:
    """The next call of a conversation, None at its end."""
    try:
        return talk.send(answer)
    except StopIteration:
        return None
