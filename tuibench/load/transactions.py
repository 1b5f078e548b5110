"""What one connection of the load sends: transactions with their retries, counted and timed. The hot path.

A script is a generator that `mysql.exchange` plays: it yields packets and is given what each statement
affected, or the answer whose rows decide what comes next, without a task in between. It yields a function
only for what is not hot: a back-off, a wait for work. Errors are thrown in where the statement was yielded.

    one         a transaction, in the books from its start to whichever end
    _attempts   its attempts; the loop over the calls is where nearly all time is spent
    _retries    what a failed attempt calls for: a rollback, a back-off
    _talk       an attempt that hangs on what it captures
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.login import Line, back_off
from tuibench.load.recorder import OTHER, WRITE
from tuibench.load.resting import Rest
from tuibench.load.work import Work
from tuibench.model.plan import OnError
from tuibench.mysql.exchange import Said, Whole
from tuibench.workload.generate import Call, Conversation, Rows
from tuibench.workload.generate import Generator as Values

RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS = 0.001, 0.1
ROLLBACK = "ROLLBACK"
INTERRUPTED = 1317
INTENDED_ROLLBACK = "rollback"
"""The name of the statement that ends a transaction rolled back by intent."""

Part = Generator[Said, Any, bool]
"""Part of a script; true at its end if all went well."""


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
        self._calls, self._converse = values.calls, values.converse
        self._interactive = [transaction.interactive for transaction in work.transactions]
        self._names = [transaction.name for transaction in work.transactions]
        self._explicit = [transaction.explicit for transaction in work.transactions]
        self._chance = chance
        self._is_spared = False

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

    def one(self, line: Line, intended_ns: int | None) -> Part:
        """One transaction with its retries; its latency covers them all, as sysbench counts it.

        Response time counts from the intended start, service time from now; None in a closed loop, where both
        are one.
        """
        recorder, now = self._recorder, self._now
        counters = recorder.counters
        which = self.rest.take() if self._rests else self._values.draw()
        started_ns = now()
        counters.in_flight += 1
        try:
            done = yield from self._attempts(line, which)
        except GeneratorExit:
            counters.abandoned += 1
            raise
        except Exception:
            counters.failed += 1
            raise
        finally:
            counters.in_flight -= 1
        if not done:
            counters.failed += 1
            return False
        ended_ns = now()
        counters.completed += 1
        self.events += 1
        self.busy_us += (ended_ns - started_ns) // 1000
        recorder.completed(which, ended_ns, started_ns, intended_ns)
        return True

    def _attempts(self, line: Line, which: int) -> Part:
        """True once one succeeded; False when it is given up. Raises what ends the connection or the run.

        The loop over the calls is where nearly all time is spent: a latency ends when the last byte of the
        answer is there.
        """
        recorder, packets, now, delay = self._recorder, line.packets, self._now, self._work.delay
        tally, kinds, latencies = recorder.tally, recorder.kinds, recorder.latencies_us
        attempt = 0
        while True:
            try:
                if self._interactive[which]:
                    is_committed = yield from self._talk(line, which)
                else:
                    is_committed = True
                    for index, values in self._calls(which):
                        packet = packets[index](values)
                        sent_ns = now()
                        affected = (yield from delay.answer(packet)) if delay.ns else (yield packet)
                        latencies[index].append((now() - sent_ns) // 1000)
                        kind = kinds[index]
                        tally[kind if affected or kind != WRITE else OTHER] += 1
                recorder.counters.commits += is_committed and self._explicit[which]
                if not is_committed:
                    recorder.counters.count_rollback(self._names[which])
                return True
            except SQLError as error:
                if not (yield from self._retries(line, which, attempt, error)):
                    return False
            except GeneratorExit:
                recorder.unanswered += 1
                raise
            attempt += 1

    def _retries(self, line: Line, which: int, attempt: int, error: SQLError) -> Part:
        """What a failed attempt calls for: a rollback, then a back-off if there is to be another."""
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

    def _talk(self, line: Line, which: int) -> Part:
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

    def _roll_back(self, line: Line) -> Part:
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
        return True


def _next_call(talk: Conversation, answer: Rows | None) -> Call | None:
    """The next call of a conversation, None at its end."""
    try:
        return talk.send(answer)
    except StopIteration:
        return None
