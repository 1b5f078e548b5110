"""Runs a program on many connections of one process, and tells what came of it.

The surface is small on purpose (`set_connections`, `pause`, `resume`, `report`, `stop`): another engine
can run the same programs behind it.
"""

import asyncio
import itertools
import time
from collections.abc import Iterable
from typing import NamedTuple

from tuibench.clock import Clock, SystemClock
from tuibench.load.lag import LagProbe
from tuibench.load.recorder import Recorder
from tuibench.load.report import Moments, WorkerReport
from tuibench.load.user import Connect, VirtualUser, Work
from tuibench.load.wire import Begin
from tuibench.mysql.connection import connect
from tuibench.workload.generate import Generator
from tuibench.workload.program import flat_statements

OPENING_AT_ONCE = 32
"""Connections of one worker that log in at the same time; a server's accept queue is often 80 long."""

Member = tuple[VirtualUser, asyncio.Task[None]]


class Engine:
    """The virtual users of one worker."""

    def __init__(self, begin: Begin, *, connect: Connect = connect, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        self._begin = begin
        self._recorder = Recorder(flat_statements(begin.program))
        self._work = Work(
            begin.target,
            begin.program,
            self._recorder,
            ignored_errors=frozenset(begin.ignored_errors),
            max_retries=begin.max_retries,
            opening=asyncio.Semaphore(OPENING_AT_ONCE),
            connect=connect,
            clock=clock,
        )
        self._users: dict[int, Member] = {}
        self._departing: list[Member] = []
        self._departed = Fairness()
        self._lag = LagProbe(clock)
        self._reported_at = time.monotonic()
        self._cpu_at = time.process_time()

    def set_connections(self, wanted: int) -> None:
        """Keeps this many connections from now on. Returns at once; they come and go in the background."""
        self._bury()
        while len(self._users) > wanted:
            _, (user, task) = self._users.popitem()
            user.leave()
            self._departing.append((user, task))
        free = (position for position in itertools.count() if position not in self._users)
        while len(self._users) < wanted:
            position = next(free)
            self._users[position] = self._new_user(position)

    def pause(self) -> None:
        self._work.paused = True

    def resume(self) -> None:
        self._work.paused = False
        for user, _ in self._users.values():
            user.wake()

    def report(self) -> WorkerReport:
        """What happened since the last report, and the counters since the beginning."""
        now, cpu = time.monotonic(), time.process_time()
        transactions, statements = self._recorder.take()
        present = [user for user, _ in (*self._users.values(), *self._departing)]
        fairness = self._departed.merged(Fairness.of(present))
        failure = self._work.failure
        report = WorkerReport(
            worker=self._begin.worker,
            seconds=now - self._reported_at,
            cpu_seconds=cpu - self._cpu_at,
            lag_p99_ms=self._lag.take_p99_ms(),
            connections=sum(user.connected for user in present),
            counters=self._recorder.totals(),
            transactions=transactions,
            statements=statements,
            events_per_connection=fairness.events,
            seconds_per_connection=fairness.seconds,
            failure=failure.message if failure else "",
            failure_hint=failure.hint if failure else "",
            failure_exit=failure.exit_code if failure else 0,
        )
        self._reported_at, self._cpu_at = now, cpu
        return report

    async def stop(self, grace_seconds: float) -> None:
        """Lets transactions in flight end; those that outlast the grace are abandoned."""
        self.set_connections(0)
        tasks = [task for _, task in self._departing]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._bury()
        self._lag.close()

    def _new_user(self, position: int) -> Member:
        begin = self._begin
        number = position * begin.workers + begin.worker
        user = VirtualUser(self._work, Generator(begin.program, begin.seed, number), number)
        return user, asyncio.create_task(user.run(), name=f"connection {number}")

    def _bury(self) -> None:
        """Forgets users that ended: their places are free, their figures stay."""
        members = (*self._users.values(), *self._departing)
        self._departed = self._departed.merged(Fairness.of(user for user, task in members if task.done()))
        self._departing = [(user, task) for user, task in self._departing if not task.done()]
        self._users = {
            position: (user, task) for position, (user, task) in self._users.items() if not task.done()
        }


class Fairness(NamedTuple):
    """Transactions and busy seconds of users, one value each; refused ones never took part."""

    events: Moments = Moments()
    seconds: Moments = Moments()

    @classmethod
    def of(cls, users: Iterable[VirtualUser]) -> "Fairness":
        admitted = [user for user in users if user.admitted]
        return cls(
            Moments.of([float(user.events) for user in admitted]),
            Moments.of([user.busy_us / 1e6 for user in admitted]),
        )

    def merged(self, other: "Fairness") -> "Fairness":
        return Fairness(self.events + other.events, self.seconds + other.seconds)
