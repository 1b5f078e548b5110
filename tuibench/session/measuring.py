"""The beats of a run: warm-up, measuring, and what is done at every tick.

A tick never overlaps another one, nor the moment in which the figures begin anew, nor the end.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from tuibench.clock import NS_PER_SECOND, Clock, Tick, ticks
from tuibench.model.event import EventKind
from tuibench.model.message import RunState
from tuibench.model.sample import HostPart, LoadPart, Sample
from tuibench.session import anew
from tuibench.session.beats import until
from tuibench.session.comparing import Comparing
from tuibench.session.events import EventLog
from tuibench.session.honesty import ClientLimit
from tuibench.session.loading import Load, Measured
from tuibench.session.observer import Look, Observer
from tuibench.session.planned import Planned
from tuibench.session.probing import Probing
from tuibench.session.settings import Settings
from tuibench.session.spec import SessionSpec
from tuibench.session.voice import Voice
from tuibench.session.watching import Watching
from tuibench.units import counted


class Run(Protocol):
    """What measuring needs of a session."""

    spec: SessionSpec
    state: RunState
    over: asyncio.Event
    voice: Voice
    load: Load
    observer: Observer
    settings: Settings
    watch: Watching
    planned: Planned
    comparing: Comparing
    probing: Probing

    @property
    def own_statements(self) -> int: ...

    def enter(self, state: RunState) -> None: ...

    def tell(self, kind: EventKind, text: str) -> None: ...

    def announce(self) -> None: ...


class Measuring:
    """One run's ticks. `turn` is held by whoever reads the load; `limit` doubts the client."""

    def __init__(self, run: Run, log: EventLog, clock: Clock) -> None:
        self.turn = asyncio.Lock()
        self.limit = ClientLimit()
        self._run = run
        self._log = log
        self._clock = clock
        self._ticked = 0

    async def warm_up(self) -> None:
        """Runs for a while unmeasured, then drains: measuring begins with nothing in flight or due."""
        run = self._run
        seconds = run.spec.plan.warmup_seconds
        if not seconds or run.over.is_set():
            return
        begun_ns = await run.load.begin()
        self._log.start(begun_ns + int(seconds * NS_PER_SECOND))
        run.enter(RunState.WARMING)
        run.load.fleet.resume()
        await self._tick_until(begun_ns, self._log.zero_ns)
        await run.load.drain(run.spec.drain_seconds)

    async def measure(self) -> None:
        """The run proper: from the server's first reading until the time is up or the work is done."""
        run, plan = self._run, self._run.spec.plan
        self.limit = ClientLimit()
        await run.observer.begin(run.own_statements)
        zero_ns = await run.load.begin()
        self._log.start(zero_ns)
        if run.over.is_set():
            return
        run.load.fleet.resume()
        run.tell(EventKind.START, f"{plan.profile} with {counted(run.load.threads, 'thread')}")
        run.enter(RunState.RUNNING)
        beside = [asyncio.create_task(work) for work in (self._wait_for_work(), run.planned.run())]
        end_ns = zero_ns + int(plan.seconds * NS_PER_SECOND) if plan.seconds else None
        checkpoints = [zero_ns + seconds * NS_PER_SECOND for seconds in plan.checkpoints]
        try:
            await self._tick_until(zero_ns, end_ns, checkpoints)
        finally:
            for task in beside:
                task.cancel()

    async def begin_anew(self) -> None:
        """The run's figures count from now on; its time axis, its samples and its end stay as they are."""
        run = self._run
        async with self.turn:
            anew.demand_possible(run.spec.plan, is_over=run.over.is_set())
            try:
                await anew.begin_anew(run.load, run.observer, run.own_statements, run.spec.drain_seconds)
                self.limit = ClientLimit()
            finally:
                if run.state is RunState.RUNNING:
                    run.load.fleet.resume()

    def tell_refused(self, text: str) -> None:
        """The server would not let all connections in; the run goes on with those it has."""
        if text:
            self._run.tell(EventKind.THREADS, text)
            self._run.announce()

    async def _wait_for_work(self) -> None:
        """A limit of transactions ends the run as soon as they are done."""
        await self._run.load.fleet.finished()
        self._run.over.set()

    async def _tick_until(self, start_ns: int, end_ns: int | None, checkpoints: Sequence[int] = ()) -> None:
        """Ticks until the end, or until the run is over."""
        run = self._run
        interval_ns = int(run.spec.plan.interval_seconds * NS_PER_SECOND)
        async for tick in until(run.over, ticks(self._clock, start_ns, interval_ns, end_ns, checkpoints)):
            async with self.turn:
                await (self._tick(tick) if tick.number else run.load.checkpoint())

    async def _tick(self, tick: Tick) -> None:
        """One sample: what the workers did, what the server says, what the host does."""
        run = self._run
        self._ticked += 1
        measured = await run.load.tick()
        observed = await run.observer.observe(
            tick.number, measured.part.transactions_total, run.settings.ours
        )
        sample = Sample(
            number=self._ticked,
            at=self._clock.wall_seconds(),
            elapsed_seconds=self._log.elapsed_at(tick.due_ns),
            late_ms=tick.late_ns / 1e6,
            load=measured.part if measured.is_heard else None,
            server=observed.server,
            host=observed.host,
        )
        run.voice.sample(sample, measured.detail)
        run.watch.tick()
        if run.state is not RunState.WARMING and measured.is_heard:
            run.voice.interval(sample.elapsed_seconds, measured.interval)
            run.comparing.tick(sample, measured.interval)
            run.probing.tick(sample, measured.interval)
        await self._notice(measured, observed)

    async def _notice(self, measured: Measured, observed: Look) -> None:
        """What the operator should know of this tick."""
        run = self._run
        for kind, text in (*observed.events, *run.load.alarms.look(measured.part)):
            run.tell(kind, text)
        if observed.settings_changed or run.settings.is_behind:
            for text in await run.settings.catch_up(restarted=observed.restarted):
                run.tell(EventKind.RESTORE, text)
        if measured.is_heard:
            self._doubt(measured.part, observed.host)
        self.tell_refused(measured.refused)

    def _doubt(self, load: LoadPart, host: HostPart | None) -> None:
        """Raises or lowers the warning that the client, not the server, is the bottleneck."""
        before = self.limit.now
        self.limit.look(load, host)
        if self.limit.now != before:
            for warning in self.limit.standing:
                self._run.tell(EventKind.WARNING, warning)
            self._run.announce()
