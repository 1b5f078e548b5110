"""The conductor of a run: owns its state, clock tick, workers, samplers, settings and record.

    open ──> start ──> tick, tick, tick … ──> close
                        ^ commands (see steering)

Whatever happens after `open`, `close` ends the load, puts the settings back and writes the summary.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from tuibench.clock import NS_PER_SECOND, Clock, SystemClock, Tick, ticks
from tuibench.errors import ExitCode, TuibenchError
from tuibench.load.fleet import Fleet
from tuibench.model.command import Command, WatchActivity
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Downward, Hello, RunState, Status
from tuibench.model.sample import LoadPart, Sample
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Outcome, Summary
from tuibench.record.effects import trial_text
from tuibench.record.recorder import Recorder
from tuibench.record.text import Interval, report_text
from tuibench.session import anew, summing
from tuibench.session.beats import until
from tuibench.session.caution import Caution
from tuibench.session.comparing import Comparing
from tuibench.session.events import EventLog
from tuibench.session.greeting import greeting, past, record_of, status_of
from tuibench.session.history import History
from tuibench.session.honesty import ClientLimit, doubts, simulated
from tuibench.session.loading import Load, most_workers
from tuibench.session.observer import Observer
from tuibench.session.planned import Due, Planned
from tuibench.session.preflight import Foreseen, look
from tuibench.session.settings import Settings
from tuibench.session.spec import SessionSpec
from tuibench.session.steering import Steering, checked_threads
from tuibench.session.watching import Watching
from tuibench.workload import library
from tuibench.workload.datasets import data_set

Listener = Callable[[Downward], None]
IntervalListener = Callable[[float, Interval], None]


class Session:
    """One run. Listeners hear every message that a viewer would."""

    def __init__(self, spec: SessionSpec, clock: Clock | None = None) -> None:
        checked_threads(spec.plan.most_threads)
        self.spec = spec
        self.state = RunState.STARTING
        self.listeners: list[Listener] = []
        self.interval_listeners: list[IntervalListener] = []
        self.viewer_pids: set[int] = set()
        self.error: TuibenchError | None = None
        self._outcome: Outcome = "done"
        self._clock = clock or SystemClock()
        self._program = library.program(spec.plan.profile, spec.plan.profile_options)
        self._log = EventLog(self._clock, self._on_event)
        self._comparing = Comparing(self, spec.plan, self._log, self._publish)
        self._limit = ClientLimit()
        self._recorder = Recorder(Path(spec.run_directory))
        self._steering = Steering(self)
        self._history = History()
        self.planned = Planned(spec.plan.schedule, self._log, self._clock, self._follow_plan)
        self._ticked = 0
        self._foreseen = Foreseen()
        self.gate: Caution
        self._over = asyncio.Event()
        self._measuring = asyncio.Lock()
        self.server: ServerInfo
        self.settings: Settings
        self.load: Load
        self.watch: Watching
        self._observer: Observer

    async def open(self) -> None:
        """Connects, checks that the run can work, starts the worker processes.

        Raises a TuibenchError that says what is missing; nothing is left behind then.
        """
        plan, target = self.spec.plan, self.spec.target
        try:
            self.server, self._foreseen = await look(target, plan, self._program, self._start_workers)
            self.gate = Caution(self.server, self._foreseen.signs, self._clock)
            if self.spec.yes_this_server:
                self.gate.say_yes()
            self.settings = await Settings.open(self.spec, self.server, self._clock)
            self.settings.lead(self.load.fleet.set_session)
            await self._comparing.rehearse()
            self._observer = Observer.of(
                target, self.server, self._clock, plan.interval_seconds, self._own_pids
            )
            self.watch = Watching.of(
                self.spec, self.server, self._own_connections, self._publish, self._clock
            )
            self._recorder.open(record_of(self.spec, self.server, self._clock.wall_seconds()))
        except BaseException:
            await self._abandon()
            raise

    async def run(self) -> Summary:
        """Drives the load until its time is up, it is told to stop, or it fails; then closes."""
        try:
            await self._start()
            await self._warm_up()
            await self._measure()
        except TuibenchError as error:
            self.fail(error)
        finally:
            summary = await self._close()
        return summary

    async def submit(self, command: Command) -> str:
        """Carries out a command; its answer in words. Raises TuibenchError for a refusal."""
        try:
            with self._comparing.steering():
                return await self._steering.carry_out(command)
        finally:
            if not isinstance(command, WatchActivity):
                self._publish(self.status())

    def request_stop(self, outcome: Outcome = "stopped") -> None:
        """Ends the run in good order; `outcome` goes into the summary."""
        if not self._over.is_set():
            self._outcome = outcome
            self._over.set()

    def fail(self, error: TuibenchError) -> None:
        """The run cannot go on."""
        self.error = error
        self._outcome = "failed"
        self._over.set()
        self.tell(EventKind.WARNING, str(error))

    def text(self, summary: Summary) -> str:
        """The summary as the terminal shows it; like sysbench's it begins at the last checkpoint."""
        return report_text(self.load.since_checkpoint()) + (trial_text(summary.ab) if summary.ab else "")

    @property
    def exit_code(self) -> ExitCode:
        """What a script should be told of the end."""
        if self.error is not None:
            return ExitCode(self.error.exit_code)
        return ExitCode.INTERRUPTED if self._outcome == "interrupted" else ExitCode.DONE

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        """What somebody who comes now must know, with so many samples of the past."""
        now = greeting(self.spec, self.server, self.data_set, self.status(), self._comparing.costs)
        return replace(now, **past(self._log, self._history, samples, with_events=with_events))

    @property
    def data_set(self) -> str:
        """The tables in words."""
        return data_set(self._program).describe()

    def status(self) -> Status:
        """What holds now."""
        now = status_of(self.state, self.load, self.settings, self.gate.signs)
        warnings = (*self._foreseen.warnings, *self._limit.standing)
        return replace(now, plan=self.planned.state, warnings=warnings)

    # What steering does with the session.

    @property
    def hand(self) -> Settings:
        return self.settings

    @property
    def pace(self) -> Load:
        return self.load

    def hold(self) -> None:
        self.load.fleet.pause()
        self.planned.pause()
        self._enter(RunState.PAUSED)

    def go_on(self) -> None:
        self.load.fleet.resume()
        self.planned.go_on()
        self._enter(RunState.RUNNING)

    async def begin_anew(self) -> None:
        """The run's figures count from now on; its time axis, its samples and its end stay as they are."""
        async with self._measuring:
            anew.demand_possible(self.spec.plan, is_over=self._over.is_set())
            try:
                drain_seconds = self.spec.drain_seconds
                await anew.begin_anew(self.load, self._observer, self._own_statements, drain_seconds)
                self._limit = ClientLimit()
            finally:
                if self.state is RunState.RUNNING:
                    self.load.fleet.resume()

    def tell(self, kind: EventKind, text: str) -> None:
        self._log.tell(kind, text)

    # The life of a run.

    async def _start_workers(self, server: ServerInfo) -> None:
        plan = self.spec.plan
        fleet = Fleet(plan, self.spec.target, self._program, most_workers(plan, is_local=server.is_local))
        self.load = Load(plan, self._program, fleet, self._clock)
        await fleet.start()

    async def _abandon(self) -> None:
        """Undoes a half-done `open`."""
        if hasattr(self, "load"):
            await self.load.fleet.kill()
        if hasattr(self, "settings"):
            await self.settings.close()

    @property
    def _own_statements(self) -> int:
        """What steering and the list of sessions have sent; sampling counts its own."""
        return self.settings.statements + self.watch.statements

    async def _own_connections(self) -> set[int]:
        """The server's ids of all our connections."""
        ids = await self.load.fleet.connection_ids()
        return ids | self._observer.connection_ids | self.settings.connection_ids

    def _own_pids(self) -> set[int]:
        pids = {os.getpid(), *self.load.fleet.pids, *self.viewer_pids, self.settings.guardian_pid}
        return pids - {0}

    async def _start(self) -> None:
        """Opens the connections while the load is held."""
        for warning in (*self._foreseen.warnings, *simulated(self.load.client_delay_ms)):
            self.tell(EventKind.WARNING, warning)
        self._tell_refused(await self.load.open(self._over.is_set))

    async def _warm_up(self) -> None:
        """Runs for a while unmeasured, then drains: measuring begins with nothing in flight or due."""
        seconds = self.spec.plan.warmup_seconds
        if not seconds or self._over.is_set():
            return
        begun_ns = await self.load.begin()
        self._log.start(begun_ns + int(seconds * NS_PER_SECOND))
        self._enter(RunState.WARMING)
        self.load.fleet.resume()
        await self._run_ticks(begun_ns, self._log.zero_ns)
        await self.load.drain(self.spec.drain_seconds)

    async def _measure(self) -> None:
        """The run proper: from the server's first reading until the time is up or the work is done."""
        plan = self.spec.plan
        self._limit = ClientLimit()
        await self._observer.begin(self._own_statements)
        zero_ns = await self.load.begin()
        self._log.start(zero_ns)
        if self._over.is_set():
            return
        self.load.fleet.resume()
        self.tell(EventKind.START, f"{plan.profile} with {self.load.threads} threads")
        self._enter(RunState.RUNNING)
        beside = [asyncio.create_task(work) for work in (self._wait_for_work(), self.planned.run())]
        end_ns = zero_ns + int(plan.seconds * NS_PER_SECOND) if plan.seconds else None
        checkpoints = [zero_ns + seconds * NS_PER_SECOND for seconds in plan.checkpoints]
        try:
            await self._run_ticks(zero_ns, end_ns, checkpoints)
        finally:
            for task in beside:
                task.cancel()

    async def _wait_for_work(self) -> None:
        """A limit of transactions ends the run as soon as they are done."""
        await self.load.fleet.finished()
        self._over.set()

    async def _follow_plan(self, due: Due) -> None:
        try:
            await self._steering.follow(due)
        except TuibenchError as error:
            self.fail(error)
        self._publish(self.status())

    async def _run_ticks(self, start_ns: int, end_ns: int | None, checkpoints: Sequence[int] = ()) -> None:
        """Ticks until the end, or until the run is over."""
        interval_ns = int(self.spec.plan.interval_seconds * NS_PER_SECOND)
        async for tick in until(self._over, ticks(self._clock, start_ns, interval_ns, end_ns, checkpoints)):
            async with self._measuring:
                await (self._tick(tick) if tick.number else self.load.checkpoint())

    async def _tick(self, tick: Tick) -> None:
        """One sample: what the workers did, what the server says, what the host does."""
        self._ticked += 1
        measured = await self.load.tick()
        load = measured.part
        observed = await self._observer.observe(tick.number, load.transactions_total, self.settings.ours)
        sample = Sample(
            number=self._ticked,
            at=self._clock.wall_seconds(),
            elapsed_seconds=self._log.elapsed_at(tick.due_ns),
            late_ms=tick.late_ns / 1e6,
            load=load,
            server=observed.server,
            host=observed.host,
        )
        self._keep(sample)
        self.watch.tick()
        if self.state is not RunState.WARMING:
            for listener in self.interval_listeners:
                listener(sample.elapsed_seconds, measured.interval)
            self._comparing.tick(sample, measured.interval)
        for kind, text in (*observed.events, *self.load.alarms.look(load)):
            self.tell(kind, text)
        if observed.settings_changed or self.settings.is_behind:
            for text in await self.settings.catch_up(restarted=observed.restarted):
                self.tell(EventKind.RESTORE, text)
        self._doubt(load)
        self._tell_refused(measured.refused)

    def _keep(self, sample: Sample) -> None:
        self._history.add(sample)
        self._recorder.sample(sample)
        self._publish(sample)

    def _doubt(self, load: LoadPart) -> None:
        """Raises or lowers the warning that the client, not the server, is the bottleneck."""
        before = self._limit.now
        self._limit.look(load)
        if self._limit.now != before:
            for warning in self._limit.standing:
                self.tell(EventKind.WARNING, warning)
            self._publish(self.status())

    def _tell_refused(self, text: str) -> None:
        """The server would not let all connections in; the run goes on with those it has."""
        if text:
            self.tell(EventKind.THREADS, text)
            self._publish(self.status())

    async def _close(self) -> Summary:
        """Ends the load, reads the counters a last time, puts the settings back, writes the summary."""
        self._over.set()
        self._comparing.end()
        self._enter(RunState.STOPPING)
        async with self._measuring:
            await self.load.finish(self.spec.drain_seconds)
        await self.watch.close()
        before, after = await self._observer.end(self._own_statements)
        for text in await self.settings.restore(partial(self.tell, EventKind.RESTORE)):
            self.tell(EventKind.RESTORE, text)
        self.tell(EventKind.STOP, f"{self._outcome} after {self.load.seconds:.1f} s")
        delay_ms = self.load.longest_delay_ms
        summary = summing.summary(
            self.spec,
            self.server,
            self.load.accounting,
            summing.Ending(
                seconds=self.load.seconds,
                threads=self.load.threads,
                rate=self.load.rate,
                workers=len(self.load.fleet),
                outcome=self._outcome,
                failure=str(self.error) if self.error else "",
                limited=self._limit.overall,
                client_delay_ms=delay_ms,
                warnings=(*self._foreseen.warnings, *doubts(delay_ms, self._limit)),
                events=tuple(self._log.events),
                before=before,
                after=after,
                effects=tuple(self._comparing.effects),
                costs=self._comparing.costs,
                ab=self._comparing.ab,
            ),
        )
        self._recorder.summary(summary)
        self._recorder.close()
        await self._observer.close()
        await self.settings.close()
        self._enter(RunState.ENDED)
        return summary

    # What everybody hears.

    def _enter(self, state: RunState) -> None:
        self.state = state
        self._publish(self.status())

    def _on_event(self, event: Event) -> None:
        self._recorder.event(event)
        self._publish(event)
        self._comparing.heard(event)

    def _publish(self, message: Downward) -> None:
        for listener in self.listeners:
            listener(message)
