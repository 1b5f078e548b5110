"""The conductor of a run: owns its state, clock tick, workers, samplers, settings and record.

    open ──> start ──> tick, tick, tick … ──> close
                        ^ commands (see steering)

Whatever happens after `open`, `close` ends the load, puts the settings back and writes the summary.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tuibench.clock import NS_PER_SECOND, Clock, SystemClock, Tick, ticks
from tuibench.errors import ExitCode, RunError, TuibenchError
from tuibench.load.fleet import Fleet
from tuibench.load.prepare_check import check_allowed, check_ready
from tuibench.load.report import WorkerReport
from tuibench.model.command import Command
from tuibench.model.event import Event, EventKind
from tuibench.model.message import PROTOCOL_VERSION, Downward, Hello, RunState, Status
from tuibench.model.sample import Sample
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Outcome, Summary
from tuibench.mysql.connection import connect
from tuibench.mysql.info import server_info
from tuibench.record.recorder import PlanRecord, Recorder
from tuibench.record.text import Interval, summary_text
from tuibench.session import summing
from tuibench.session.accounting import Accounting
from tuibench.session.alarms import Alarms
from tuibench.session.events import EventLog
from tuibench.session.honesty import ClientLimit
from tuibench.session.observer import Observer
from tuibench.session.settings import Settings
from tuibench.session.spec import SessionSpec
from tuibench.session.steering import Steering, checked_threads
from tuibench.workload import library
from tuibench.workload.datasets import data_set

OPENING_POLL_SECONDS = 0.02
OPENING_LIMIT_SECONDS = 30.0
HISTORY_SAMPLES = 3600
"""Samples a viewer that joins late gets at once."""

Listener = Callable[[Downward], None]
IntervalListener = Callable[[float, int, Interval], None]


class Session:
    """One run. Listeners hear every message that a viewer would."""

    def __init__(self, spec: SessionSpec, clock: Clock | None = None) -> None:
        self.spec = spec
        self.state = RunState.STARTING
        self.threads = checked_threads(spec.plan.threads)
        self.listeners: list[Listener] = []
        self.interval_listeners: list[IntervalListener] = []
        self.viewer_pids: set[int] = set()
        self.error: TuibenchError | None = None
        self._outcome: Outcome = "done"
        self._clock = clock or SystemClock()
        self._program = library.program(
            spec.plan.profile, {**spec.plan.options, "threads": spec.plan.threads}
        )
        self._log = EventLog(self._clock, self._on_event)
        self._accounting = Accounting()
        self._alarms = Alarms()
        self._limit = ClientLimit()
        self._recorder = Recorder(Path(spec.run_directory))
        self._steering = Steering(self)
        self._samples: list[Sample] = []
        self._over = asyncio.Event()
        self._zero_ns = 0
        self.server: ServerInfo
        self.settings: Settings
        self._observer: Observer
        self._fleet: Fleet

    async def open(self) -> None:
        """Connects, checks that the run can work, starts the worker processes.

        Raises a TuibenchError that says what is missing; nothing is left behind then.
        """
        plan, target = self.spec.plan, self.spec.target
        connection = await connect(target)
        try:
            self.server = await server_info(connection)
            await check_ready(connection, self._program)
            await check_allowed(connection, self._program)
        finally:
            await connection.close()
        self._fleet = await Fleet.start(self._workers(), plan, target, self._program)
        try:
            self.settings = await Settings.open(self.spec, self.server, self._clock)
            self._observer = Observer.of(
                target, self.server, self._clock, plan.interval_seconds, self._own_pids
            )
            self._recorder.open(
                PlanRecord(
                    session=self.spec.session,
                    started_at=self._clock.wall_seconds(),
                    plan=plan,
                    target=target.without_password(),
                    server=self.server,
                )
            )
        except BaseException:
            await self._abandon()
            raise

    async def run(self) -> Summary:
        """Drives the load until its time is up, it is told to stop, or it fails; then closes."""
        try:
            await self._start()
            async for tick in self._beats():
                await self._tick(tick)
        except TuibenchError as error:
            self.fail(error)
        finally:
            summary = await self._close()
        return summary

    async def submit(self, command: Command) -> str:
        """Carries out a command; its answer in words. Raises TuibenchError for a refusal."""
        try:
            return await self._steering.carry_out(command)
        finally:
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
        """The summary as the terminal shows it."""
        return summary_text(summary)

    def hello(self) -> Hello:
        """What a viewer that joins now must know."""
        return Hello(
            protocol=PROTOCOL_VERSION,
            session=self.spec.session,
            plan=self.spec.plan,
            data_set=data_set(self._program).describe(),
            server=self.server,
            status=self.status(),
            samples=tuple(self._samples),
            events=tuple(self._log.events),
        )

    def status(self) -> Status:
        """What holds now."""
        return Status(
            state=self.state,
            threads=self.threads,
            workers=len(self._fleet),
            settings=self.settings.states,
            presets=self.settings.presets,
            warnings=(self._limit.words(),) if self._limit.now else (),
        )

    # What steering does with the session.

    @property
    def hand(self) -> Settings:
        return self.settings

    def set_threads(self, threads: int) -> None:
        self.threads = threads
        self._fleet.set_threads(threads)

    def hold(self) -> None:
        self._fleet.pause()
        self._enter(RunState.PAUSED)

    def go_on(self) -> None:
        self._fleet.resume()
        self._enter(RunState.RUNNING)

    def tell(self, kind: EventKind, text: str) -> None:
        self._log.tell(kind, text)

    # The life of a run.

    async def _abandon(self) -> None:
        """Undoes a half-done `open`."""
        await self._fleet.kill()
        if hasattr(self, "settings"):
            await self.settings.close()

    def _workers(self) -> int:
        """As many processes as the plan says, else one core is left to a server on this host."""
        if self.spec.plan.workers is not None:
            return self.spec.plan.workers
        cores = os.cpu_count() or 1
        return min(self.threads, max(1, cores - 1 if self.server.is_local else cores))

    def _own_pids(self) -> set[int]:
        pids = {os.getpid(), *self._fleet.pids, *self.viewer_pids, self.settings.guardian_pid}
        return pids - {0}

    async def _start(self) -> None:
        """Opens the connections while the load is held, takes the server's counters, lets go."""
        self._fleet.pause()
        self._fleet.set_threads(self.threads)
        reports = await self._opened()
        await self._observer.begin(self.settings.statements)
        self._accounting.begin(reports)
        self._zero_ns = self._clock.now_ns()
        self._log.start(self._zero_ns)
        self._accounting.begin(await self._fleet.report())
        self._fleet.resume()
        self.tell(EventKind.START, f"{self.spec.plan.profile} with {self.threads} threads")
        self._enter(RunState.RUNNING)

    async def _opened(self) -> list[WorkerReport]:
        """Waits until every connection is open, or the server says that it takes no more."""
        deadline_ns = self._clock.now_ns() + int(OPENING_LIMIT_SECONDS * NS_PER_SECOND)
        while not self._over.is_set():
            reports = await self._fleet.report()
            self._look_for_failure(reports)
            opened = sum(report.connections for report in reports)
            if opened + self._alarms.refusals(reports) >= self.threads:
                if not opened:
                    raise RunError("the server refused every connection", "raise its max_connections")
                break
            if self._clock.now_ns() > deadline_ns:
                raise RunError(
                    f"only {opened} of {self.threads} connections opened in {OPENING_LIMIT_SECONDS:.0f} s"
                )
            await self._clock.sleep(OPENING_POLL_SECONDS)
        self._take_refusals(reports)
        return reports

    async def _beats(self) -> AsyncIterator[Tick]:
        """The ticks of the run, until its time is up or it is told to stop."""
        plan = self.spec.plan
        interval_ns = int(plan.interval_seconds * NS_PER_SECOND)
        end_ns = self._zero_ns + int(plan.seconds * NS_PER_SECOND) if plan.seconds else None
        beats = ticks(self._clock, self._zero_ns, interval_ns, end_ns)
        over = asyncio.create_task(self._over.wait())
        try:
            while not self._over.is_set():
                beat = asyncio.ensure_future(anext(beats, None))
                await asyncio.wait({beat, over}, return_when=asyncio.FIRST_COMPLETED)
                if not beat.done():
                    beat.cancel()
                    return
                if (tick := beat.result()) is None:
                    return
                yield tick
        finally:
            over.cancel()

    async def _tick(self, tick: Tick) -> None:
        """One sample: what the workers did, what the server says, what the host does."""
        reports = await self._fleet.report()
        load, interval = self._accounting.tick(reports, self.threads)
        observed = await self._observer.observe(tick.number, load.transactions_total, self.settings.ours)
        sample = Sample(
            number=tick.number,
            at=self._clock.wall_seconds(),
            elapsed_seconds=(tick.due_ns - self._zero_ns) / NS_PER_SECOND,
            late_ms=tick.late_ns / 1e6,
            load=load,
            server=observed.server,
            host=observed.host,
        )
        self._keep(sample)
        for listener in self.interval_listeners:
            listener(sample.elapsed_seconds, self.threads, interval)
        for kind, text in (*observed.events, *self._alarms.look(load)):
            self.tell(kind, text)
        if observed.settings_changed:
            await self.settings.refresh()
        self._doubt(sample)
        self._take_refusals(reports)
        self._look_for_failure(reports)

    def _keep(self, sample: Sample) -> None:
        self._samples.append(sample)
        del self._samples[:-HISTORY_SAMPLES]
        self._recorder.sample(sample)
        self._publish(sample)

    def _doubt(self, sample: Sample) -> None:
        """Raises or lowers the warning that the client, not the server, is the bottleneck."""
        if sample.load is None:
            return
        before = self._limit.now
        self._limit.look(sample.load)
        if self._limit.now and not before:
            self.tell(EventKind.WARNING, self._limit.words())
        if self._limit.now != before:
            self._publish(self.status())

    def _take_refusals(self, reports: list[WorkerReport]) -> None:
        """Keeps what the server let in, and says so."""
        if text := self._alarms.refused(reports):
            opened = sum(report.connections for report in reports)
            self.set_threads(max(1, min(self.threads, opened)))
            self.tell(EventKind.THREADS, f"{text}; going on with {self.threads}")
            self._publish(self.status())

    def _look_for_failure(self, reports: list[WorkerReport]) -> None:
        for report in reports:
            if report.failure:
                error = RunError(report.failure, report.failure_hint)
                error.exit_code = ExitCode(report.failure_exit)
                raise error

    async def _close(self) -> Summary:
        """Ends the load, reads the counters a last time, puts the settings back, writes the summary."""
        self._over.set()
        self._enter(RunState.STOPPING)
        reports = await self._fleet.finish(self.spec.drain_seconds)
        seconds = max(1e-9, (self._clock.now_ns() - self._zero_ns) / NS_PER_SECOND) if self._zero_ns else 0.0
        if self._zero_ns:
            self._accounting.tick(reports, self.threads)
        await self._fleet.kill()
        before, after = await self._observer.end(self.settings.statements)
        for text in await self.settings.restore():
            self.tell(EventKind.RESTORE, text)
        self.tell(EventKind.STOP, f"{self._outcome} after {seconds:.1f} s")
        summary = summing.summary(
            self.spec,
            self.server,
            self._accounting,
            summing.Ending(
                seconds=seconds,
                threads=self.threads,
                workers=len(self._fleet),
                outcome=self._outcome,
                failure=str(self.error) if self.error else "",
                limited=self._limit.overall,
                warnings=(self._limit.words(),) if self._limit.overall else (),
                events=tuple(self._log.events),
                before=before,
                after=after,
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

    def _publish(self, message: Downward) -> None:
        for listener in self.listeners:
            listener(message)
