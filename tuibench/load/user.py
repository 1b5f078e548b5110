"""One connection of the load, from login to goodbye.

    connecting ──> working ──> leaving
        ^             │
        └── lost <────┘

connecting  logs in and prepares; refused for want of connections it ends, for want of a server it tries again
working     runs one transaction after the other, or (open loop) each as it comes due; holds while paused
lost        the connection broke: the transaction failed, a new connection is made after a back-off
leaving     asked to go, or out of work: the transaction in flight ends, then the connection is closed
"""

import asyncio
import random
from collections.abc import Sequence

from tuibench.errors import ConnectionLostError, RunError, SQLError, TuibenchError
from tuibench.load.delay import Executors
from tuibench.load.login import Line, Refused, back_off, open_line
from tuibench.load.recorder import OTHER, WRITE
from tuibench.load.work import Work
from tuibench.model.plan import OnError
from tuibench.workload.generate import Call, Conversation, Generator, Rows

RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS = 0.001, 0.1
ROLLBACK = "ROLLBACK"
INTENDED_ROLLBACK = "rollback"
"""The name of the statement that ends a transaction rolled back by intent."""


def _next_call(talk: Conversation, answer: Rows | None) -> Call | None:
    """The next call of a conversation, None at its end."""
    try:
        return talk.send(answer)
    except StopIteration:
        return None


class VirtualUser:
    """A connection of the load with its own stream of values. `admitted` once the server has let it in."""

    def __init__(self, work: Work, generator: Generator, number: int) -> None:
        self.admitted = False
        self.events = 0
        self.busy_us = 0
        self._work = work
        self._generator = generator
        self._number = number
        self._chance = random.Random(number).random
        self._wake = asyncio.Event()
        self._leaving = False
        self._line: Line | None = None

    @property
    def connected(self) -> bool:
        return self._line is not None

    def leave(self) -> None:
        """Ends after the transaction in flight."""
        self._leaving = True
        self._wake.set()

    def wake(self) -> None:
        """Looks again whether there is something to do."""
        self._wake.set()

    async def run(self) -> None:
        """Lives until told to leave, refused by the server, out of work, or cancelled."""
        try:
            lost = 0
            while not self._is_done() and await self._connect(lost):
                lost += 1
                await self._live()
        except TuibenchError as error:
            self._work.fail(error)
        except Exception as error:
            self._work.fail(RunError(f"a connection of the load broke down: {type(error).__name__}: {error}"))
        finally:
            await self._disconnect()

    def _is_done(self) -> bool:
        return self._leaving or self._work.is_over

    async def _connect(self, lost: int) -> bool:
        """True when the connection is ready; `lost` is how many it had before."""
        try:
            self._line = await open_line(
                self._work,
                self._number,
                self._generator.needed,
                is_new=lost == 0,
                is_leaving=self._is_done,
                chance=self._chance,
            )
        except Refused:
            return False
        if self._line is None:
            return False
        self.admitted = True
        self._work.joined()
        if lost:
            self._work.recorder.counters.reconnects += 1
        return True

    async def _disconnect(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            self._work.parted()
            await line.close(self._work)

    async def _live(self) -> None:
        """Works until it is done or the connection is lost."""
        work, arrivals, line = self._work, self._work.arrivals, self._line
        try:
            while not self._is_done():
                if line is not None and line.session_sql is not work.session_sql:
                    await line.set_up(work)
                elif work.paused:
                    await self._sleep()
                elif not arrivals.is_open:
                    arrivals.start_unasked()
                    await self._run_transaction(work.clock.now_ns(), is_paced=False)
                elif (intended_ns := arrivals.take()) is not None:
                    await self._run_transaction(intended_ns, is_paced=True)
                else:
                    arrivals.wait(self)
                    await self._sleep()
        except ConnectionLostError:
            await self._disconnect()
        finally:
            arrivals.withdraw(self)

    async def _sleep(self) -> None:
        self._wake.clear()
        await self._wake.wait()

    async def _run_transaction(self, intended_ns: int, *, is_paced: bool) -> None:
        """One transaction with its retries; its latency covers them all, as sysbench counts it.

        Response time counts from the intended start, service time from now.
        """
        counters, now = self._work.recorder.counters, self._work.clock.now_ns
        which = self._generator.draw()
        started_ns = now()
        counters.in_flight += 1
        try:
            done = await self._try_until_committed(which)
        except asyncio.CancelledError:
            counters.abandoned += 1
            raise
        except Exception:
            counters.failed += 1
            raise
        finally:
            counters.in_flight -= 1
        if not done:
            counters.failed += 1
            return
        ended_ns = now()
        counters.completed += 1
        self.events += 1
        self.busy_us += (ended_ns - started_ns) // 1000
        self._work.recorder.completed(which, ended_ns, started_ns, intended_ns, is_paced=is_paced)

    async def _try_until_committed(self, which: int) -> bool:
        """True once it succeeded; False when it is given up. Raises what ends the connection or the run."""
        rules, recorder = self._work.rules, self._work.recorder
        transaction = self._work.transactions[which]
        for attempt in range(rules.max_retries + 1):
            try:
                if transaction.interactive:
                    is_committed = await self._converse(which)
                else:
                    is_committed = await self._attempt(self._generator.calls(which))
            except ConnectionLostError as error:
                recorder.failed(error)
                raise
            except SQLError as error:
                recorder.failed(error)
                if transaction.explicit:
                    await self._roll_back()
                if not rules.ignores(error.code):
                    if rules.on_error is OnError.STOP:
                        raise
                    return False
            else:
                recorder.counters.commits += transaction.explicit and is_committed
                return True
            if attempt < rules.max_retries:
                recorder.counters.retries += 1
                await self._work.clock.sleep(
                    back_off(attempt, RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS, self._chance())
                )
        return False

    async def _attempt(self, calls: Sequence[Call]) -> bool:
        """Calls that are known beforehand, one after the other. True: they ended in a COMMIT."""
        recorder, execute = self._work.recorder, self._executors()
        tally, kinds, latencies = recorder.tally, recorder.kinds, recorder.latencies_us
        now = self._work.clock.now_ns
        try:
            for index, values in calls:
                started_ns = now()
                affected = await execute[index](values)
                latencies[index].append((now() - started_ns) // 1000)
                kind = kinds[index]
                tally[kind if affected or kind != WRITE else OTHER] += 1
        except asyncio.CancelledError:
            recorder.unanswered += 1
            raise

        return True

    async def _converse(self, which: int) -> bool:
        """Calls of which each may hang on what the ones before it captured. False: rolled back by intent."""
        work, recorder, execute = self._work, self._work.recorder, self._executors()
        talk, answer, last = self._generator.converse(which), None, ""
        try:
            while (call := _next_call(talk, answer)) is not None:
                index, values = call
                statement = work.statements[index]
                started_ns = work.clock.now_ns()
                result = await execute[index](values)
                recorder.latencies_us[index].append((work.clock.now_ns() - started_ns) // 1000)
                answer = result if statement.captures else None
                affected = len(result) if statement.captures else result
                kind = recorder.kinds[index]
                recorder.tally[kind if affected or kind != WRITE else OTHER] += 1
                last = statement.name
        except asyncio.CancelledError:
            recorder.unanswered += 1
            raise
        finally:
            talk.close()
        return last != INTENDED_ROLLBACK

    def _executors(self) -> Executors:
        if self._line is None:
            raise RunError("a transaction was begun without a connection")
        return self._line.execute

    async def _roll_back(self) -> None:
        recorder = self._work.recorder
        if self._line is None:
            return
        try:
            await self._line.connection.query(ROLLBACK)
            await self._work.delay.passed()
        except asyncio.CancelledError:
            recorder.unanswered += 1
            raise
        except SQLError as error:
            recorder.failed(error)
            raise
        recorder.tally[OTHER] += 1
