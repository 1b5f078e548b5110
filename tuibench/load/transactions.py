"""What one connection of the load sends: transactions with their retries, counted and timed. The hot path.

A script is a generator that `mysql.exchange` plays: it yields packets and is given what each statement
affected, without a task in between. It yields a function only for what is not hot: a back-off, a wait for
work, a statement whose rows decide what comes next. Errors are thrown in where the statement was yielded.

    one      a transaction, in the books from its start to whichever end
    _tried   its attempts, with a rollback and a back-off between them
    _known   an attempt whose statements are known beforehand: nearly all time is spent here
    _talk    an attempt that hangs on what it captures
"""

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.login import Line, back_off
from tuibench.load.recorder import OTHER, WRITE
from tuibench.load.work import Work
from tuibench.model.plan import OnError
from tuibench.mysql.exchange import Wish
from tuibench.workload.generate import Call, Conversation, Rows
from tuibench.workload.generate import Generator as Values

RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS = 0.001, 0.1
ROLLBACK = "ROLLBACK"
INTENDED_ROLLBACK = "rollback"
"""The name of the statement that ends a transaction rolled back by intent."""

Part = Generator[bytes | Wish, Any, bool]
"""Part of a script; true at its end if all went well."""


class Transactions:
    """Those of one connection. `events` counts the ones that succeeded, `busy_us` the time they took."""

    def __init__(self, work: Work, values: Values, chance: Callable[[], float]) -> None:
        self.events = 0
        self.busy_us = 0
        self._work = work
        self._values = values
        self._chance = chance

    def forget(self) -> None:
        """Counts from nothing again."""
        self.events = self.busy_us = 0

    def one(self, line: Line, intended_ns: int, *, is_paced: bool) -> Part:
        """One transaction with its retries; its latency covers them all, as sysbench counts it.

        Response time counts from the intended start, service time from now.
        """
        recorder, now = self._work.recorder, self._work.clock.now_ns
        counters = recorder.counters
        which = self._values.draw()
        started_ns = now()
        counters.in_flight += 1
        try:
            done = yield from self._tried(line, which)
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
        recorder.completed(which, ended_ns, started_ns, intended_ns, is_paced=is_paced)
        return True

    def _tried(self, line: Line, which: int) -> Part:
        """True once it succeeded; False when it is given up. Raises what ends the connection or the run."""
        rules, recorder = self._work.rules, self._work.recorder
        is_explicit = self._work.transactions[which].explicit
        for attempt in range(rules.max_retries + 1):
            try:
                if self._work.interactive[which]:
                    is_committed = yield from self._talk(line, self._values.converse(which))
                else:
                    is_committed = yield from self._known(line, self._values.calls(which))
            except ConnectionLostError as error:
                recorder.failed(error)
                raise
            except SQLError as error:
                recorder.failed(error)
                if is_explicit:
                    yield from self._roll_back(line)
                if not rules.ignores(error.code):
                    if rules.on_error is OnError.STOP:
                        raise
                    return False
            else:
                recorder.counters.commits += is_explicit and is_committed
                return True
            if attempt < rules.max_retries:
                recorder.counters.retries += 1
                yield partial(
                    self._work.clock.sleep,
                    back_off(attempt, RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS, self._chance()),
                )
        return False

    def _known(self, line: Line, calls: Sequence[Call]) -> Part:
        """One statement after the other; its latency ends when the last byte of the answer is there."""
        recorder, packets, now = self._work.recorder, line.packets, self._work.clock.now_ns
        delay = self._work.delay
        tally, kinds, latencies = recorder.tally, recorder.kinds, recorder.latencies_us
        try:
            for index, values in calls:
                packet = packets[index](values)
                sent_ns = now()
                affected = (yield from delay.answer(packet)) if delay.ns else (yield packet)
                latencies[index].append((now() - sent_ns) // 1000)
                kind = kinds[index]
                tally[kind if affected or kind != WRITE else OTHER] += 1
        except GeneratorExit:
            recorder.unanswered += 1
            raise
        return True

    def _talk(self, line: Line, talk: Conversation) -> Part:
        """Statements that may hang on what those before them captured. False: rolled back by intent."""
        work, recorder, now = self._work, self._work.recorder, self._work.clock.now_ns
        delay = work.delay
        answer, last = None, ""
        try:
            while (call := _next_call(talk, answer)) is not None:
                index, values = call
                statement = work.statements[index]
                sent_ns = now()
                if statement.captures:
                    answer = yield from delay.answer(partial(line.fetch[index], values))
                    affected = len(answer)
                else:
                    answer = None
                    affected = yield from delay.answer(line.packets[index](values))
                recorder.latencies_us[index].append((now() - sent_ns) // 1000)
                kind = recorder.kinds[index]
                recorder.tally[kind if affected or kind != WRITE else OTHER] += 1
                last = statement.name
        except GeneratorExit:
            recorder.unanswered += 1
            raise
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
