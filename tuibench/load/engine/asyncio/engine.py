"""The engine on asyncio, portable and the reference: each connection is a task of one event loop."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from tuibench.clock import Clock, SystemClock
from tuibench.load.engine.asyncio.virtual_user import VirtualUser
from tuibench.load.engine.base import BaseEngine, ConnectionFairness, ReportParts
from tuibench.load.engine.recorder import EventLoopLagProbe
from tuibench.load.engine.surface import Emit
from tuibench.load.engine.worker_context import Connect
from tuibench.load.messages import StartLoad
from tuibench.load.pacing.arrival_schedule import ArrivalSchedule
from tuibench.load.pacing.timer import Timer, system_timer
from tuibench.load.pacing.work_queue import WorkQueue
from tuibench.load.worker_report import Counters, FairnessStats
from tuibench.workload.generate.draw import stream
from tuibench.workload.generate.generator import Generator
from tuibench.workload.generate.layout import ProgramLayout
from tuibench.workload.program.program import with_weights

US_PER_SECOND = 1e6


def fairness_of(users: Iterable[VirtualUser]) -> tuple[ConnectionFairness, ConnectionFairness]:
    """Transactions and busy time of each user: since the start, and since the last checkpoint."""
    admitted = [user.transactions for user in users if user.is_admitted]
    return (
        _fairness([(each.events, each.busy_us) for each in admitted]),
        _fairness([(each.events_since, each.busy_us_since) for each in admitted]),
    )


def _fairness(figures: Sequence[tuple[int, int]]) -> ConnectionFairness:
    return ConnectionFairness(
        FairnessStats.of([float(events) for events, _ in figures]),
        FairnessStats.of([busy_us / US_PER_SECOND for _, busy_us in figures]),
    )


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
        queue = WorkQueue(schedule, clock, timer, begin.limit)
        layout = ProgramLayout(begin.program)
        super().__init__(begin, queue, layout, connect=connect, clock=clock, emit=emit, timer=timer)
        self._program = begin.program
        self._generators: dict[int, Generator] = {}
        self._left = self._left_since = ConnectionFairness()
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

    def checkpoint(self) -> None:
        self._reap()
        self._left_since = ConnectionFairness()
        for user in self._present():
            user.transactions.checkpoint()

    def expect_kill(self, connection_id: int) -> None:
        for user in self._present():
            if user.connection_id == connection_id:
                user.transactions.expect_kill()

    def _reset_figures(self, limit: int | None) -> int:
        dropped = self._queue.forget()
        self._queue.grant_quota(limit)
        self._left = self._left_since = ConnectionFairness()
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

    def _report_parts(self, now_ns: int) -> ReportParts:
        latencies = self._recorder.take()
        share, since = self._fairness_with(self._present())
        gaps = self._recorder.gaps.report(now_ns, self._outstanding)
        return ReportParts(self._counters(), latencies, share, since, self._lag.take_p99_ms(), gaps)

    def _fairness_with(self, users: Iterable[VirtualUser]) -> tuple[ConnectionFairness, ConnectionFairness]:
        """The figures of these users and of those that have left."""
        share, since = fairness_of(users)
        return self._left.merged(share), self._left_since.merged(since)

    def _counters(self) -> Counters:
        counters = self._recorder.totals()
        counters.scheduled, counters.backlog = self._queue.scheduled, self._queue.backlog
        return counters

    def _wake_all(self) -> None:
        for user, _ in self._users.values():
            user.wake()

    def _new_user(
        self, number: int, before: asyncio.Task[None] | None, *, waits_for_slot: bool
    ) -> VirtualUser:
        generator = self._generators.get(number)
        if generator is None:
            generator = Generator(self._program, self._begin.seed, number, self._layout)
            self._generators[number] = generator
        return VirtualUser(self._context, generator, number, waits_for_slot=waits_for_slot)

    def _close(self) -> None:
        self._lag.close()
        self._queue.close()

    def _reap(self) -> list[VirtualUser]:
        ended = super()._reap()
        self._left, self._left_since = self._fairness_with(ended)
        return ended
