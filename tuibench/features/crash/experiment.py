"""A crash of a session's private server, as an experiment of the session, with the current settings.

    load ──> load with ledger ── kill -9 ──> restart, recovery ──> load

Before the crash, the load is started again with a ledger (`load.commit_ledger`), on the asyncio engine.
After the recovery, the original load is started. The server is restarted with its current settings, so that
its recovery is that of the server that crashed. As an experiment, the crash excludes other experiments, and
no effect of a change is measured while it is under way.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Self

from msgspec.structs import replace

from tuibench.base.errors import TuibenchError, UsageError
from tuibench.features.crash.runner import LedgerLoad, crash_under_load
from tuibench.features.crash.text import crash_sentence
from tuibench.load.commit_ledger import with_ledger
from tuibench.load.fleet import can_begin_again
from tuibench.load.messages import WorkerReport
from tuibench.model.event import CRASH_FAILED, Event, EventKind
from tuibench.model.findings import Crash
from tuibench.model.message import CRASH_REFUSAL, NO_LOAD_REFUSAL, CrashServer
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample, Tick, fold_histograms
from tuibench.servers.server import KillableServer
from tuibench.servers.supervisor import SupervisorControl
from tuibench.session.dispatch import Needs, SteeredSession, handles
from tuibench.session.laboratory import Experiment, ExperimentSession
from tuibench.session.load import LoadController
from tuibench.tuning.setting import SettingScope

WARMUP_SECONDS, SECONDS = 2.0, 4.0
"""Durations of the load with the ledger: until its TPS are measured, and from then to the kill at most. The
kill is up to a second earlier, at random.
"""

REDO_LOG = "redo_log"
KILLED = "kill -9 of the server: a crash of the process, not a loss of power"


class SessionLoad(LedgerLoad):
    """The load of the session, which keeps a ledger between `begin` and `end`."""

    def __init__(self, load: LoadController, *, is_native: bool) -> None:
        super().__init__()
        self._load = load
        self._plain = load.program
        self._recorded = with_ledger(load.program)
        self._is_native = is_native

    async def begin(self) -> None:
        self._load.commit_listeners.append(self._take)
        await self._load.begin_again(self._recorded, is_native=False, keeps_ledger=True)

    async def read(self) -> None:
        await self._load.read_reports()

    async def end(self) -> None:
        await self._load.begin_again(self._plain, is_native=self._is_native, keeps_ledger=False)
        self._load.commit_listeners.remove(self._take)

    def _take(self, report: WorkerReport) -> None:
        if report.commits is not None:
            self.ledger.add(report.commits)
            fold_histograms(self.hists, report.hists)


class CrashOnStage(Experiment):
    """One crash; `crash` is its result, None before the result is known and if the experiment failed."""

    called = name = "crash"
    starts = CrashServer
    told_kind = EventKind.INTERVENTION
    is_announced = False
    is_guarded = False
    reply = "the load begins to keep a ledger; then the server is killed"

    @classmethod
    def in_summary(cls, summary: Summary, begun: Sequence[Self], not_restored: str) -> Summary:
        return replace(summary, crashes=tuple(one.crash for one in begun if one.crash is not None))

    @classmethod
    def of_session(cls, session: ExperimentSession, number: int) -> "CrashOnStage":
        """A crash of the session's private server. Raises UsageError if it is not possible."""
        load, plan, control = session.load, session.spec.plan, session.spec.control
        if load is None:
            raise UsageError(NO_LOAD_REFUSAL)
        if control is None:
            raise UsageError(CRASH_REFUSAL, "tuibench crash PROFILE crashes one of its own")
        if plan.events is not None or plan.cluster is not None:
            raise UsageError("a load with --events or from other hosts cannot be crashed here")
        if not can_begin_again(load.program):
            raise UsageError(
                f"{plan.profile} has serial numbers, which a load that begins again would repeat",
                "tuibench crash PROFILE has a server for each crash",
            )
        if not load.threads:
            raise UsageError("there is no load to crash the server under", "set the threads first")
        changed = [
            state
            for state in session.settings.states
            if state.value and state.changed and state.scope != SettingScope.WORKLOAD
        ]
        if any(REDO_LOG in state.name and state.value == "OFF" for state in changed):
            raise UsageError("without a redo log the server would not start again", "set it to ON first")
        options = tuple(f"--loose-{state.name.replace('_', '-')}={state.value}" for state in changed)
        server = KillableServer(SupervisorControl.inherited(control))
        return cls(session, SessionLoad(load, is_native=load.fleet.is_native), server, options, number)

    def __init__(
        self,
        session: ExperimentSession,
        load: SessionLoad,
        server: KillableServer,
        options: tuple[str, ...],
        number: int,
    ) -> None:
        super().__init__(is_by_hand=True)
        self.crash: Crash | None = None
        self._session = session
        self._load = load
        self._server = server
        self._options = options
        self._number = number
        self._task: asyncio.Task[None] | None = None

    @property
    def refusal(self) -> str:
        """Why a command is refused during the crash: settings and load must stay as they are."""
        is_over = self._task is not None and self._task.done()
        return "" if is_over else "the server is being killed: change load and settings when it is back"

    def begin(self, now: float) -> None:
        self._task = self._session.start_task(self._run(), "crash")

    def applied(self, now: float) -> None:
        return

    def disturb(self, why: str, *, is_late: bool = False) -> None:
        return

    def on_change(self, event: Event) -> None:
        return

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        if self._task is not None and self._task.done():
            self.end(slot.end)
        return bool(self.told)

    async def _run(self) -> None:
        session = self._session
        try:
            crash = await crash_under_load(
                self._load,
                self._server.kill,
                partial(self._server.start_again, self._options),
                session.spec.target,
                warmup_seconds=WARMUP_SECONDS,
                seconds=SECONDS - 1 + Random(f"{session.spec.plan.seed}:{self._number}").random(),
                said=partial(session.log.emit, EventKind.INTERVENTION, KILLED),
            )
        except TuibenchError as error:
            session.log.emit(EventKind.WARNING, f"{CRASH_FAILED}{error}")
            await session.settings.catch_up(restarted=True)
            return
        finally:
            self._server.close()
        self.crash = replace(crash, repeat=self._number)
        session.log.emit(EventKind.WARNING, crash_sentence(self.crash))


@handles(CrashServer, needs=Needs.IDLE_LABORATORY)
async def crash_server(session: SteeredSession, command: CrashServer) -> str:
    crash = CrashOnStage.of_session(session.parts, session.laboratory.next_number())
    return await session.laboratory.start(crash)
