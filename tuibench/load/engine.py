"""Runs a program on many connections of one process, and tells what came of it.

The surface is small on purpose (`set_connections`, `set_rate`, `set_weights`, `set_delay`, `pause`, `resume`,
`report`, `stop`): another engine can run the same programs behind it.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

from tuibench.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.load.alarm import Alarm, system_alarm
from tuibench.load.arrivals import Arrivals
from tuibench.load.delay import Delay
from tuibench.load.lag import LagProbe
from tuibench.load.pacing import Pacer
from tuibench.load.recorder import Recorder
from tuibench.load.report import Counters, Finished, HandOver, WorkerReport
from tuibench.load.resting import Reveille
from tuibench.load.shares import Shares
from tuibench.load.user import VirtualUser
from tuibench.load.wire import Begin
from tuibench.load.work import Connect, Work
from tuibench.model.plan import Backlog
from tuibench.mysql.connection import connect as log_in
from tuibench.workload.generate import Generator, stream
from tuibench.workload.layout import Layout
from tuibench.workload.weights import with_weights

OPENING_AT_ONCE = 32
"""Connections of one worker that log in at the same time; a server's accept queue is often 80 long."""

Member = tuple[VirtualUser, asyncio.Task[None]]


class Engine:
    """The virtual users of one worker.

    It uses `tell` when it has ended all that it may start (`finished` is set, too), and to hand over what it
    cannot do for want of connections.
    """

    def __init__(
        self,
        begin: Begin,
        *,
        connect: Connect | None = None,
        clock: Clock | None = None,
        tell: Callable[[HandOver | Finished], None] = lambda _: None,
        alarm: Callable[[Callable[[], None]], Alarm] = system_alarm,
    ) -> None:
        clock = clock or SystemClock()
        self.finished = asyncio.Event()
        self._allowances = 1
        self._tell = tell
        self._begin = begin
        self._program = begin.program
        self._layout = Layout(begin.program)
        transactions, statements = begin.program.transactions, self._layout.statements
        self._recorder = Recorder(statements, [transaction.name for transaction in transactions])
        pacer = Pacer(stream(begin.seed, -1 - begin.worker), begin.arrival, begin.worker / begin.workers)
        self._arrivals = Arrivals(pacer, clock, alarm, begin.limit)
        self._delay = Delay(clock, alarm)
        self._reveille = Reveille(clock, alarm)
        self._work = Work(
            begin.target,
            transactions,
            statements,
            self._recorder,
            begin.rules,
            self._arrivals,
            self._delay,
            self._reveille,
            opening=asyncio.Semaphore(OPENING_AT_ONCE),
            connect=connect or partial(log_in, charset=begin.charset),
            clock=clock,
        )
        self._generators: dict[int, Generator] = {}
        self._wanted: frozenset[int] = frozenset()
        self._users: dict[int, Member] = {}
        self._departing: list[Member] = []
        self._shares = Shares()
        self._lag = LagProbe(clock, alarm)
        self._clock = clock
        self._reported_ns = clock.now_ns()
        self._cpu_at = time.process_time()

    def set_connections(self, numbers: Collection[int]) -> None:
        """Keeps these connections from now on. Returns at once; they come and go in the background."""
        before, self._wanted = self._wanted, frozenset(numbers)
        self._bury()
        for number in self._users.keys() - set(numbers):
            user, task = self._users.pop(number)
            user.leave()
            self._departing.append((user, task))
        for number in numbers:
            if number not in self._users:
                self._users[number] = self._new_user(number, is_patient=number in before)
        self._leave_to_others()

    def set_rate(self, rate_per_second: float) -> None:
        """Paces the load: so many transactions are meant to start a second, 0 for as many as can be."""
        self._recorder.counters.abandoned += self._arrivals.set_rate(rate_per_second)

    def set_weights(self, weights: Sequence[float]) -> None:
        """What each transaction weighs from now on; every connection draws its next one by it."""
        self._program = with_weights(self._program, weights)
        for generator in self._generators.values():
            generator.set_weights(weights)
        self._work.changed()

    def set_delay(self, delay_ns: int) -> None:
        """Answers are handed on so much later: those of the statements that are sent from now on."""
        self._delay.ns = delay_ns

    def set_session(self, statements: tuple[str, ...]) -> None:
        """Each connection runs these before its next transaction, and each new one at its login."""
        self._work.set_session(statements)
        self._wake_all()

    def start_over(self, limit: int | None) -> None:
        """Drops what is due and not started, and what each connection has done; the limit counts from now."""
        self._forget_backlog()
        self._arrivals.allow(limit)
        self._allowed()
        self._shares.forget()
        for user in self._present():
            user.transactions.forget()
        self._leave_to_others()

    def take_over(self, work: HandOver) -> None:
        """Does what another worker has no connections for, with all those that it keeps."""
        self._arrivals.take_over(work)
        self._allowed()
        self.set_connections(self._wanted)

    def checkpoint(self) -> None:
        """What each connection has done counts anew for the next checkpoint."""
        self._bury()
        self._shares.checkpoint()
        for user in self._present():
            user.transactions.checkpoint()

    def pause(self) -> None:
        """Starts nothing more, and lets nothing come due."""
        self._work.pause()
        self._arrivals.hold()

    def resume(self) -> None:
        self._work.resume()
        if self._begin.rules.backlog is Backlog.DROP:
            self._forget_backlog()
        self._arrivals.release()
        self._wake_all()

    def report(self) -> WorkerReport:
        """What happened since the last report, and the counters since the beginning."""
        now_ns, cpu = self._clock.now_ns(), time.process_time()
        latencies = self._recorder.take()
        present = self._present()
        share, since = self._shares.with_those(present)
        failure = self._work.failure
        report = WorkerReport(
            worker=self._begin.worker,
            seconds=(now_ns - self._reported_ns) / NS_PER_SECOND,
            cpu_seconds=cpu - self._cpu_at,
            lag_p99_ms=self._lag.take_p99_ms(),
            connections=sum(user.connected for user in present),
            counters=self._counters(),
            transactions=latencies.response,
            service=latencies.service,
            statements=latencies.statements,
            events_per_connection=share.events,
            seconds_per_connection=share.seconds,
            by_transaction=latencies.by_transaction,
            events_since=since.events,
            seconds_since=since.seconds,
            last_refusal=self._work.last_refusal,
            failure=failure.message if failure else "",
            failure_hint=failure.hint if failure else "",
            failure_exit=failure.exit_code if failure else 0,
        )
        self._reported_ns, self._cpu_at = now_ns, cpu
        return report

    def connection_ids(self) -> tuple[int, ...]:
        """The server's ids of the connections that are open."""
        return tuple(user.connection_id for user in self._present() if user.connection_id is not None)

    def spare(self, connection_id: int) -> None:
        """The operator ends the query of this connection: that is no reason to fail."""
        for user in self._present():
            if user.connection_id == connection_id:
                user.transactions.spare()

    async def stop(self, grace_seconds: float) -> None:
        """Lets transactions in flight end; those that outlast the grace, and the backlog, are abandoned."""
        self._arrivals.hold()
        self._forget_backlog()
        self._arrivals.hand_over()
        self.set_connections(())
        tasks = [task for _, task in self._departing]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=grace_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._bury()
        self._lag.close()
        self._arrivals.close()
        self._delay.close()
        self._reveille.close()

    def _wake_all(self) -> None:
        for user, _ in self._users.values():
            user.wake()

    def _present(self) -> list[VirtualUser]:
        return [user for user, _ in (*self._users.values(), *self._departing)]

    def _forget_backlog(self) -> None:
        self._recorder.counters.abandoned += self._arrivals.forget()

    def _counters(self) -> Counters:
        counters = self._recorder.totals()
        counters.scheduled, counters.backlog = self._arrivals.scheduled, self._arrivals.backlog
        return counters

    def _allowed(self) -> None:
        self._allowances += 1
        self.finished.clear()

    def _leave_to_others(self) -> None:
        """Without connections, present or to come, nothing that is left to do would ever be done here."""
        if self._wanted:
            return
        if work := self._arrivals.hand_over():
            self._tell(work)
        self._look_whether_finished(None)

    def _look_whether_finished(self, _: object) -> None:
        """The last one to leave, when nothing may be started any more, closes the book; nobody rests on."""
        if self._arrivals.is_finished:
            self._wake_all()
        is_finished = self._arrivals.is_finished and all(task.done() for _, task in self._users.values())
        if is_finished and not self.finished.is_set():
            self.finished.set()
            self._tell(Finished(self._allowances))

    def _new_user(self, number: int, *, is_patient: bool) -> Member:
        """A connection that comes back goes on with the stream it had: unique values must stay unique.

        One that was wanted already, and is not there, was refused: there is room for it as soon as those that
        are no longer wanted have left, so it is patient.
        """
        generator = self._generators.get(number)
        if generator is None:
            generator = Generator(self._program, self._begin.seed, number, self._layout)
            self._generators[number] = generator
        user = VirtualUser(self._work, generator, number, is_patient=is_patient)
        task = asyncio.create_task(user.run(), name=f"connection {number}")
        task.add_done_callback(self._look_whether_finished)
        return user, task

    def _bury(self) -> None:
        """Forgets users that ended: their places are free, their figures stay."""
        ended = [user for user, task in (*self._users.values(), *self._departing) if task.done()]
        self._shares.keep(ended)
        self._departing = [(user, task) for user, task in self._departing if not task.done()]
        self._users = {number: member for number, member in self._users.items() if not member[1].done()}
