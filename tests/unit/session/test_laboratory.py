"""The laboratory: it sets what an experiment wants, and puts it back."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import pytest

from tests.examples import PLAN, SAMPLE
from tests.ticks import measured_tick
from tuibench.base.errors import (
    ConnectionLostError,
    RunError,
    ServerUnreachableError,
    TuibenchError,
    UsageError,
)
from tuibench.model.event import Event, EventKind, Trouble
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    RestoreSettings,
    RunState,
    SetCallers,
    SetDelay,
    SetHardware,
    SetThreads,
)
from tuibench.model.plan import RunPlan
from tuibench.model.schedule import Quantity
from tuibench.model.summary import RunOutcome
from tuibench.model.tick import Sample, Tick
from tuibench.session.events import Steps
from tuibench.session.laboratory import (
    NO_ANSWER,
    Change,
    Experiment,
    ExperimentSession,
    Laboratory,
    LoadLevel,
)

SYNC, FLUSH, LOAD = "sync_binlog", "innodb_flush_log_at_trx_commit", "load"
ONE, ZERO = ChangeSetting(SYNC, "1"), ChangeSetting(SYNC, "0")


class Scripted(Experiment):
    """Writes down what it is told."""

    called, name = "trial", "a trial"
    reply = "a trial begins"

    def __init__(
        self,
        *,
        is_by_hand: bool = False,
        before: Mapping[str, Sequence[Change]],
        first: Sequence[Change] = (),
    ) -> None:
        super().__init__(is_by_hand=is_by_hand, before=before)
        self.first = first
        self.heard: list[object] = []
        self.evaluations: list[bool] = []
        self.ends_by_hand = False

    def check_first(self, replies: Sequence[str]) -> None:
        if len(set(replies)) < len(replies):
            raise UsageError("the same value")

    def begin(self, now: float) -> None:
        self.heard.append(("begun", now))

    def applied(self, now: float) -> None:
        self.heard.append("applied")

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        self.heard.append(disturbance or slot.sums["completed"])
        return True

    def disturb(self, why: str, *, is_late: bool = False) -> None:
        self.heard.append((why, is_late))

    def on_manual_load(self, quantity: Quantity, now: float) -> None:
        if self.ends_by_hand:
            self.before = {LOAD: ()}
            self.end(now, "set by hand")

    async def evaluate(self) -> bool:
        self.evaluations.append(self.is_over)
        return False

    @property
    def end_text(self) -> str:
        return f"ended: {self.why_ended}"


class Session:
    """Executes changes; each waits for `gate`, if there is one."""

    def __init__(
        self,
        *,
        is_by_hand: bool = False,
        first: Sequence[Change] = (),
        before: Sequence[Change] = (),
        plan: RunPlan = PLAN,
    ) -> None:
        self.plan = plan
        self.values = {SYNC: "100", FLUSH: "2"}
        self.submitted: list[Change] = []
        self.silent: list[bool] = []
        self.told: list[str] = []
        self.refusals: dict[str, TuibenchError] = {}
        self.gate: asyncio.Event | None = None
        self.is_ending = False
        self.state = RunState.RUNNING
        self.is_timed = True
        self.stopped: RunOutcome | None = None
        self.outcome: RunOutcome = "interrupted"
        self.failure: Exception | None = None
        self.changes = self.restored = 0
        self.threads, self.rate = 8, 0.0
        self.lock = asyncio.Lock()
        self.now = 100.5
        self.steps: object = None
        self.tasks: list[asyncio.Task[None]] = []
        self.guard = self
        played: Any = self
        self.laboratory = Laboratory(
            ExperimentSession(
                played,
                played,
                played,
                played,
                played,
                played,
                played,
                self.submit,
                self.start_task,
                self.publish,
            ),
            self.on_change,
        )
        subject = LOAD if before and isinstance(before[0], LoadLevel) else SYNC
        put_back = {subject: tuple(before)} if before else {}
        self.experiment = Scripted(is_by_hand=is_by_hand, before=put_back, first=first)

    @property
    def states(self) -> Sequence[Any]:
        return [ChangeSetting(name, value) for name, value in self.values.items()]

    def require_confirmation(self) -> None:
        return

    def on_change(self, experiment: Experiment) -> None:
        self.changes += 1

    def elapsed_seconds(self) -> float:
        return self.now

    def emit(self, kind: EventKind, text: str, experiment: str = "", trouble: Trouble | None = None) -> None:
        self.told.append(text)

    def publish_status(self) -> None:
        return

    def publish(self, message: object) -> None:
        raise AssertionError(message)

    def request_stop(self, outcome: RunOutcome) -> None:
        self.stopped = outcome

    def fail(self, error: Exception) -> None:
        self.failure = error

    def start_task(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(work, name=name))
        return self.tasks[-1]

    async def restore(self) -> None:
        self.restored += 1

    async def change(self, name: str, value: str) -> str:
        return await self._set(ChangeSetting(name, value))

    async def apply(self, name: str) -> str:
        return await self._set(ApplyPreset(name))

    async def submit(self, change: Change) -> str:
        self.submitted.append(change)
        self.silent.append(isinstance(self.steps, Steps) and self.steps.is_silent)
        if self.gate is not None:
            await self.gate.wait()
        reply = await self._set(change)
        if not isinstance(change, LoadLevel):
            self.event(EventKind.THREADS if isinstance(change, SetThreads) else EventKind.SETTING)
        return reply

    async def _set(self, change: Change) -> str:
        match change:
            case ChangeSetting(name=name, value=value):
                if error := self.refusals.get(value):
                    raise error
                before, self.values[name] = self.values[name], value
                return f"{name} {before} → {value}"
            case ApplyPreset(name=name):
                return f"preset {name}"
            case SetDelay(milliseconds=delay_ms):
                return f"delay → {delay_ms:g}ms"
            case SetHardware(change=text):
                return f"disk → {text}"
            case RestoreSettings(names=names):
                if error := self.refusals.get("restore"):
                    raise error
                self.values |= dict.fromkeys(names, "original")
                return f"restored {names}"
            case SetCallers(option=option, value=value):
                return f"{option}: {value}"
            case SetThreads(threads=threads):
                self.threads = threads
                return f"→ {threads}"
            case LoadLevel(threads=threads, rate=rate, text=text):
                self.threads, self.rate = threads, rate
                self.told += [text] * bool(text)
                return ""

    def event(self, kind: EventKind, text: str = "") -> None:
        self.laboratory.on_event(Event(at=0, elapsed_seconds=self.now, kind=kind, text=text, marker=1))

    async def tick(self, wanted: Mapping[str, Change] | None = None, *, disturbance: str = "") -> None:
        """A tick, after which the experiment wants something."""
        self.now += 0.5
        self.experiment.wanted = wanted
        self.laboratory.tick(measured_tick(self.now, 0.5, 50.0), SAMPLE, disturbance)
        for _ in range(9):
            await asyncio.sleep(0)

    async def planned(self) -> None:
        await self.laboratory.plan(self.experiment)
        self.event(EventKind.START)


async def started(*before: Change, first: Sequence[Change] = ()) -> Session:
    """An operator's experiment that has begun."""
    session = Session(is_by_hand=True, before=before, first=first)
    await session.laboratory.start(session.experiment)
    await session.tick()
    return session


async def test_what_is_wanted_is_set_and_what_is_not_wanted_any_more_is_put_back() -> None:
    session = Session()
    await session.planned()
    await session.tick({SYNC: ONE})
    await session.tick({SYNC: ONE, FLUSH: ChangeSetting(FLUSH, "0")})
    await session.tick({SYNC: ZERO})
    await session.tick({})
    assert session.submitted == [
        ONE,
        ChangeSetting(FLUSH, "0"),
        RestoreSettings((FLUSH,)),
        ZERO,
        RestoreSettings((SYNC,)),
    ]
    assert session.experiment.heard == [("begun", 0.0), *[50.0, "applied"] * 4]


async def test_an_operators_experiment_begins_with_a_tick_and_its_values_are_put_back() -> None:
    session = await started(ChangeSetting(SYNC, "100"))
    assert session.experiment.heard == [("begun", 101.0)]
    assert session.told[0] == "a trial begins"
    await session.tick({SYNC: ZERO})
    session.laboratory.stop("done with it")
    await asyncio.gather(*session.tasks)
    assert session.told[-1] == "ended: done with it"
    assert session.values[SYNC] == "100"
    assert session.laboratory.present is None
    assert session.laboratory.last(Scripted) is session.experiment
    assert session.changes == 2
    assert session.stopped is None


async def test_one_that_is_stopped_before_it_begins_was_none() -> None:
    session = Session(is_by_hand=True, before=[ChangeSetting(SYNC, "100")], first=[ZERO, ONE])
    await session.laboratory.start(session.experiment)
    assert session.laboratory.running(Scripted) is session.experiment
    session.laboratory.stop("stopped")
    await asyncio.gather(*session.tasks)
    assert session.submitted == [ZERO, ONE, ChangeSetting(SYNC, "100")]
    assert session.laboratory.last(Scripted) is None
    with pytest.raises(UsageError, match="no trial is running"):
        session.laboratory.running(Scripted)


@pytest.mark.parametrize("first", [[ZERO, ONE], [ONE, ONE]])
async def test_a_value_that_cannot_be_tested_is_refused_and_put_back(first: Sequence[Change]) -> None:
    """By the server, or because the other one is the same."""
    session = Session(is_by_hand=True, before=[ChangeSetting(SYNC, "7")], first=first)
    session.values[SYNC] = "1"
    session.refusals["0"] = RunError("no")
    with pytest.raises(TuibenchError):
        await session.laboratory.start(session.experiment)
    assert session.values[SYNC] == "7"
    assert session.laboratory.present is None
    assert session.changes == 2


@pytest.mark.parametrize("refused", [True, False])
async def test_values_are_tried_without_events_before_the_load(refused: bool) -> None:
    first: list[Change] = [ZERO, SetThreads(4), ApplyPreset("relaxed"), ONE]
    session = Session(first=first)
    if refused:
        session.refusals["1"] = RunError("no")
        with pytest.raises(RunError):
            await session.laboratory.plan(session.experiment)
        assert session.laboratory.present is None
    else:
        await session.laboratory.plan(session.experiment)
    assert session.submitted == first
    assert session.silent == [True] * 4
    assert session.steps is None
    assert session.threads == 4
    assert session.restored == refused


async def test_the_end_of_the_planned_one_ends_the_run() -> None:
    session = Session()
    await session.planned()
    await session.tick({SYNC: ZERO})
    session.experiment.told.append("found")
    session.laboratory.stop("")
    await asyncio.gather(*session.tasks)
    assert (session.stopped, session.failure) == ("done", None)
    assert session.told == ["found"]
    assert session.values[SYNC] == "0", "the end of the run restores it"


async def test_a_run_is_one_experiment() -> None:
    session = Session()
    await session.planned()
    with pytest.raises(UsageError, match="this run is a trial itself"):
        await session.laboratory.plan(Scripted(before={}))
    assert session.laboratory.begun == [session.experiment]


@pytest.mark.parametrize("refusal", ["0", "restore"])
@pytest.mark.parametrize("is_by_hand", [False, True])
async def test_a_refusal_ends_it(refusal: str, is_by_hand: bool) -> None:
    session = await started() if is_by_hand else Session()
    if not is_by_hand:
        await session.planned()
    session.refusals[refusal] = RunError("the server refuses")
    await session.tick({SYNC: ZERO})
    await session.tick({})
    assert session.experiment.error is session.refusals[refusal]
    assert (session.failure is None) == is_by_hand
    if is_by_hand:
        assert "ended: the server refuses" in session.told
        assert session.laboratory.present is None


@pytest.mark.parametrize("error", [ServerUnreachableError("gone"), ConnectionLostError(2013, "gone")])
async def test_a_server_that_is_away_is_a_disturbance_and_is_asked_again(error: TuibenchError) -> None:
    session = Session()
    await session.planned()
    session.refusals["0"] = error
    await session.tick({SYNC: ZERO})
    session.refusals.clear()
    await session.tick({SYNC: ZERO})
    assert session.submitted == [ZERO, ZERO]
    assert session.experiment.heard == [("begun", 0.0), 50.0, (NO_ANSWER, False), "applied", 50.0, "applied"]


@pytest.mark.parametrize("kind", [EventKind.THREADS, EventKind.SETTING, EventKind.MARK, EventKind.FOREIGN])
async def test_another_change_is_a_disturbance_and_what_holds_is_set_again(kind: EventKind) -> None:
    session = Session()
    await session.planned()
    await session.tick({SYNC: ZERO})
    session.event(kind, "somebody")
    session.event(EventKind.EFFECT, "nobody")
    await session.tick({SYNC: ZERO}, disturbance="the host was busy")
    assert session.submitted == [ZERO, ZERO]
    late = kind is EventKind.FOREIGN
    assert session.experiment.heard[3:] == [("somebody", late), "the host was busy", "applied"]


async def test_a_change_during_our_own_may_have_undone_it() -> None:
    session = Session()
    await session.planned()
    session.gate = asyncio.Event()
    await session.tick({SYNC: ZERO})
    session.event(EventKind.FOREIGN, "somebody")
    session.gate.set()
    await session.tick({SYNC: ZERO})
    assert session.submitted == [ZERO, ZERO]


async def test_what_is_wanted_during_a_change_is_set_after_it() -> None:
    session = Session()
    await session.planned()
    session.gate = asyncio.Event()
    await session.tick({SYNC: ZERO})
    await session.tick({SYNC: ONE})
    assert session.submitted == [ZERO]
    session.gate.set()
    await asyncio.gather(*session.tasks)
    assert session.submitted == [ZERO, ONE]
    assert len(session.tasks) == 1


async def test_stopped_during_a_change_it_puts_back_after_it() -> None:
    session = await started()
    session.gate = asyncio.Event()
    await session.tick({SYNC: ZERO})
    session.laboratory.stop("stopped")
    session.gate.set()
    await asyncio.gather(*session.tasks)
    assert session.submitted == [ZERO, RestoreSettings((SYNC,))]
    assert session.laboratory.present is None


@pytest.mark.parametrize("is_changing", [False, True])
async def test_at_the_end_of_the_session_nothing_is_set_any_more(is_changing: bool) -> None:
    session = await started()
    session.gate = asyncio.Event() if is_changing else None
    await session.tick({SYNC: ZERO})
    session.laboratory.close()
    session.is_ending = True
    if session.gate is not None:
        session.gate.set()
    await session.tick({SYNC: ONE})
    assert session.submitted == [ZERO]
    assert session.experiment.ended_at == 101.5


async def test_a_value_that_cannot_be_put_back_is_a_warning() -> None:
    session = await started()
    await session.tick({SYNC: ZERO})
    session.refusals["restore"] = RunError("no")
    session.laboratory.stop("stopped")
    await asyncio.gather(*session.tasks)
    assert session.told[-1] == "a value could not be restored after the trial: no"
    assert session.laboratory.present is None


BEFORE, HIGH = LoadLevel(8, 0.0), LoadLevel(64, 500.0, "step: 64 threads")


@pytest.mark.parametrize("is_by_hand", [False, True])
async def test_a_level_of_the_load_is_one_event_and_is_put_back_at_the_end_of_any_experiment(
    is_by_hand: bool,
) -> None:
    session = await started(BEFORE) if is_by_hand else Session(before=[BEFORE])
    if not is_by_hand:
        await session.planned()
    await session.tick({LOAD: HIGH})
    assert (session.threads, session.rate, session.told[-1]) == (64, 500.0, HIGH.text)
    assert session.submitted == [HIGH]
    session.laboratory.stop("stopped")
    await asyncio.gather(*session.tasks)
    assert (session.threads, session.rate) == (8, 0.0)
    assert session.told.count(HIGH.text) == 1
    assert session.experiment.evaluations == [False, True], "before the change, and at the end"


@pytest.mark.parametrize("ends", [False, True])
async def test_a_load_set_by_hand_may_end_an_experiment_and_stays(ends: bool) -> None:
    session = await started(BEFORE)
    session.experiment.ends_by_hand = ends
    await session.tick({LOAD: HIGH})
    session.threads = 50
    note = session.laboratory.on_manual_load(Quantity.THREADS)
    assert note == ("; the trial is stopped" if ends else "")
    await asyncio.gather(*session.tasks)
    assert (session.threads, session.experiment.is_over) == (50, ends)
    assert session.laboratory.on_manual_load(Quantity.THREADS) == ""


async def test_what_is_over_with_the_session_is_evaluated_after_the_load() -> None:
    session = await started()
    session.laboratory.close()
    assert session.experiment.why_ended == "the run was interrupted"
    assert session.experiment.evaluations == []
    await session.laboratory.finish()
    assert session.experiment.evaluations == [True]
