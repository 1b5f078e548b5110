"""The conductor of a run: owns its state, workers, samplers, settings and record.

    open ──> start ──> warm up ──> measure ──> close
                        ^ commands (see steering)

Whatever happens after `open`, `close` ends the load, puts the settings back and writes the summary.
"""

import asyncio
import os
from functools import partial

from msgspec.structs import replace

from tuibench.clock import Clock, SystemClock
from tuibench.errors import ExitCode, TuibenchError
from tuibench.load.fleet import Fleet
from tuibench.model.command import Command, WatchActivity
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Hello, RunState, Status
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Outcome, Summary
from tuibench.record.addenda import addenda
from tuibench.record.text import report_text
from tuibench.session.caution import Caution
from tuibench.session.closing import close
from tuibench.session.comparing import Comparing
from tuibench.session.events import EventLog
from tuibench.session.greeting import greeting, past, status_of
from tuibench.session.honesty import simulated
from tuibench.session.loading import Load, most_workers
from tuibench.session.measuring import Measuring
from tuibench.session.observer import Observer
from tuibench.session.planned import Due, Planned
from tuibench.session.preflight import Foreseen, look
from tuibench.session.probing import Level, Probing
from tuibench.session.ranges import checked_threads
from tuibench.session.recording import Recording
from tuibench.session.settings import Settings
from tuibench.session.spec import SessionSpec
from tuibench.session.steering import Steering
from tuibench.session.voice import IntervalListener, Listener, Voice
from tuibench.session.watching import Watching
from tuibench.workload import library
from tuibench.workload.datasets import data_set


class Session:
    """One run. Listeners hear every message that a viewer would."""

    def __init__(self, spec: SessionSpec, clock: Clock | None = None) -> None:
        checked_threads(spec.plan.most_threads)
        self.spec = spec
        self.state = RunState.STARTING
        self.viewer_pids: set[int] = set()
        self.error: TuibenchError | None = None
        self.outcome: Outcome = "done"
        self.over = asyncio.Event()
        self._clock = clock or SystemClock()
        self._program = library.program(spec.plan.profile, spec.plan.profile_options, spec.plan.profile_text)
        self.voice = Voice(Recording(spec, self._clock, partial(self.tell, EventKind.WARNING)))
        self.log = EventLog(self._clock, self._on_event)
        self.comparing = Comparing(self, spec.plan, self.log, self.voice.publish)
        self.planned = Planned(spec.plan.schedule, self.log, self._clock, self._follow_plan)
        self.probing = Probing(self, spec.plan, spec.target, self.log, self.voice.publish)
        self.measuring = Measuring(self, self.log, self._clock)
        self._steering = Steering(self)
        self._foreseen = Foreseen()
        self.gate: Caution
        self.server: ServerInfo
        self.settings: Settings
        self.load: Load
        self.watch: Watching
        self.observer: Observer

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
            await self.comparing.rehearse()
            self.observer = Observer.of(
                target, self.server, self._clock, plan.interval_seconds, self._own_pids, self.settings.who
            )
            await self.observer.log_in()
            self.watch = Watching.of(
                self.spec,
                self.server,
                self._own_connections,
                self.voice.publish,
                self._clock,
                self.load.fleet.spare,
            )
            await self.voice.recording.open(self.server, self._program, self.load)
        except BaseException:
            await self._abandon()
            raise

    async def run(self) -> Summary:
        """Drives the load until its time is up, it is told to stop, or it fails; then closes."""
        try:
            await self._start()
            await self.measuring.warm_up()
            await self.measuring.measure()
        except TuibenchError as error:
            self.fail(error)
        finally:
            summary = await close(self)
        return summary

    async def submit(self, command: Command) -> str:
        """Carries out a command; its answer in words. Raises TuibenchError for a refusal."""
        try:
            with self.comparing.steering():
                return await self._steering.carry_out(command)
        finally:
            if not isinstance(command, WatchActivity):
                self.announce()

    def request_stop(self, outcome: Outcome = "stopped") -> None:
        """Ends the run in good order; `outcome` goes into the summary."""
        if not self.over.is_set():
            self.outcome = outcome
            self.over.set()

    def fail(self, error: TuibenchError) -> None:
        """The run cannot go on."""
        self.error = error
        self.outcome = "failed"
        self.over.set()
        self.tell(EventKind.WARNING, str(error))

    def text(self, summary: Summary) -> str:
        """The summary as the terminal shows it; like sysbench's it begins at the last checkpoint."""
        return report_text(self.load.since_checkpoint()) + addenda(summary)

    @property
    def exit_code(self) -> ExitCode:
        """What a script should be told of the end."""
        if self.error is not None:
            return ExitCode(self.error.exit_code)
        return ExitCode.INTERRUPTED if self.outcome == "interrupted" else ExitCode.DONE

    def hello(self, samples: int, *, with_events: bool) -> Hello:
        """What somebody who comes now must know, with so many samples of the past."""
        costs, headline = self.comparing.costs, self.load.headline
        now = greeting(self.spec, self.server, self.data_set, self.status(), costs, headline)
        now = replace(now, probe=self.probing.state)
        return replace(now, **past(self.log, self.voice.history, samples, with_events=with_events))

    @property
    def data_set(self) -> str:
        """The tables in words."""
        return data_set(self._program).describe()

    def status(self) -> Status:
        """What holds now."""
        now = status_of(self.state, self.load, self.settings, self.gate.signs)
        warnings = (*self._foreseen.warnings, *self.measuring.limit.standing)
        return replace(now, plan=self.planned.state, warnings=warnings)

    # What everybody hears.

    @property
    def listeners(self) -> list[Listener]:
        return self.voice.listeners

    @property
    def interval_listeners(self) -> list[IntervalListener]:
        return self.voice.interval_listeners

    def announce(self) -> None:
        """Says what holds now."""
        self.voice.publish(self.status())

    def enter(self, state: RunState) -> None:
        self.state = state
        self.announce()

    def tell(self, kind: EventKind, text: str) -> None:
        self.log.tell(kind, text)

    def _on_event(self, event: Event) -> None:
        self.voice.event(event)
        self.comparing.heard(event)
        self.probing.heard(event)

    # What steering, measuring and closing do with the session.

    @property
    def hand(self) -> Settings:
        return self.settings

    @property
    def pace(self) -> Load:
        return self.load

    @property
    def foreseen_warnings(self) -> tuple[str, ...]:
        return self._foreseen.warnings

    @property
    def own_statements(self) -> int:
        """What steering and the list of sessions have sent; sampling counts its own."""
        return self.settings.statements + self.watch.statements

    def hold(self) -> None:
        self.load.fleet.pause()
        self.planned.pause()
        self.enter(RunState.PAUSED)

    def go_on(self) -> None:
        self.load.fleet.resume()
        self.planned.go_on()
        self.enter(RunState.RUNNING)

    async def lead(self, level: Level) -> None:
        """The load that a probe wants."""
        await self._steering.moving.lead(*level)
        self.announce()

    async def begin_anew(self) -> None:
        """The run's figures count from now on."""
        await self.measuring.begin_anew()

    # The beginning of a run.

    async def _start_workers(self, server: ServerInfo) -> None:
        plan = self.spec.plan
        fleet = Fleet(plan, self.spec.target, self._program, most_workers(plan, is_local=server.is_local))
        self.load = Load(plan, self._program, fleet, self._clock)
        await fleet.start()

    async def _abandon(self) -> None:
        """Undoes a half-done `open`."""
        if hasattr(self, "load"):
            await self.load.fleet.kill()
        if hasattr(self, "observer"):
            await self.observer.close()
        if hasattr(self, "settings"):
            await self.settings.close()

    async def _own_connections(self) -> set[int]:
        """The server's ids of all our connections."""
        ids = await self.load.fleet.connection_ids()
        return ids | self.observer.connection_ids | self.settings.connection_ids

    def _own_pids(self) -> set[int]:
        pids = {os.getpid(), *self.load.fleet.pids, *self.viewer_pids, self.settings.guardian_pid}
        return pids - {0}

    async def _start(self) -> None:
        """Opens the connections while the load is held."""
        for warning in (*self._foreseen.warnings, *simulated(self.load.client_delay_ms)):
            self.tell(EventKind.WARNING, warning)
        self.measuring.tell_refused(await self.load.open(self.over.is_set))

    async def _follow_plan(self, due: Due) -> None:
        try:
            await self._steering.moving.follow(due)
        except TuibenchError as error:
            self.fail(error)
        self.announce()
