"""The saturation probe as it runs."""

import asyncio
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.tui.support import script
from tests.unit.features.probe.simulated_probe import Curve, Noise, Queue, probe
from tests.unit.session.simulated_session import PlayedFleet, PlayedSampler, simulate_session
from tests.unit.session.worker_reports import report
from tuibench.base.errors import TuibenchError
from tuibench.features.probe import experiment
from tuibench.features.probe.experiment import result_of, usl_of
from tuibench.features.probe.plan import FARTHEST, ProbeProgress, objective_edge
from tuibench.load.messages import Counters, WorkerReport
from tuibench.metrics.diagnosis import CLIENT_LIMITED
from tuibench.model.event import Event, EventKind, bands
from tuibench.model.message import (
    Command,
    HoldPlan,
    NextStep,
    Pause,
    Resume,
    SetDelay,
    SetPlan,
    SetThreads,
    StartAbTest,
    StartProbe,
    StopExperiment,
)
from tuibench.model.plan import RunPlan
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeState, UslFit
from tuibench.model.schedule import Quantity, parse_schedule
from tuibench.model.summary import Summary
from tuibench.session.load_run import LoadRun
from tuibench.session.sampling import Sampler, TickObservation

# A probe inside a run: whole runs in make-believe time, on workers that do what a known curve lets them.


ORDER = ProbeOrder(seconds=60.0, step_seconds=6.0, most=64.0)
AB = StartAbTest(subject="threads", a="4", b="8")
PLAN = RunPlan(profile="oltp_point_select", threads=1, seconds=None, interval_seconds=0.5, probe=ORDER)
LIVE = RunPlan(profile="oltp_point_select", threads=6, seconds=70, interval_seconds=0.5)


@pytest.fixture(autouse=True)
def _no_threads_in_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fitted(gone: ProbeProgress) -> UslFit:
        return usl_of(gone)

    monkeypatch.setattr(experiment, "fit_usl", fitted)


class Workers:
    """They do as many transactions as a server by `tps` lets so many threads do."""

    def __init__(self, tps: Callable[[float], float], cpu_share: float = 0.2) -> None:
        self._tps = tps
        self._cpu_share = cpu_share
        self._done = self._at = 0.0
        self.told: list[str] = []

    def __call__(self, fleet: PlayedFleet) -> list[WorkerReport]:
        now = fleet.clock.time()
        threads = next((int(w.split()[1]) for w in reversed(fleet.told) if w.startswith("threads")), 1)
        seconds, self._at = now - self._at, now
        self._done += self._tps(threads) * seconds
        self.told = fleet.told
        done = round(self._done)
        return [
            report(
                0,
                *([2_000] * 20),
                seconds=seconds or 1e-9,
                cpu_seconds=self._cpu_share * seconds,
                connections=threads,
                lag_p99_ms=0.01,
                counters=Counters(scheduled=done, completed=done, reads=done),
            )
        ]


def bent(threads: float) -> float:
    """In proportion up to 16 threads, and hardly more above."""
    return 1000 * min(threads, 16.0) + threads


class Script:
    """Submits commands at their seconds; keeps the answers, and what the session said of the probe."""

    def __init__(self, *commands: tuple[float, Command]) -> None:
        self.answers: list[str] = []
        self.states: list[ProbeState] = []
        self.session: LoadRun
        self._commands = commands
        self._running: list[asyncio.Future[None]] = []

    def __call__(self, session: LoadRun) -> None:
        self.session = session
        session.watcher.bus.listeners.append(self._hear)
        loop = asyncio.get_running_loop()
        for at, command in self._commands:
            loop.call_later(at, self._begin, command)

    def _hear(self, message: Any) -> None:
        if isinstance(message, ProbeState):
            self.states.append(message)

    def _begin(self, command: Command) -> None:
        self._running.append(asyncio.ensure_future(self._submit(command)))

    async def _submit(self, command: Command) -> None:
        try:
            self.answers.append(await self.session.submit(command))
        except TuibenchError as error:
            self.answers.append(str(error))


def run(
    directory: Path, plan: RunPlan = PLAN, *commands: tuple[float, Command], **worker: Any
) -> tuple[Summary, Script, Workers]:
    script, workers = Script(*commands), Workers(**{"tps": bent, **worker})
    return simulate_session(plan, workers, directory, script), script, workers


def told(summary: Summary, kind: EventKind) -> Sequence[Event]:
    return [event for event in summary.events if event.kind is kind]


def test_a_run_that_is_a_probe_ends_with_its_answer(tmp_path: Path) -> None:
    summary, script, _ = run(tmp_path)
    assert summary.probe is not None
    assert summary.probe.end is ProbeEnd.KNEE
    assert summary.probe.knee is not None
    assert 13 <= summary.probe.knee.level <= 19
    assert summary.outcome == "done"
    assert summary.seconds < 60
    levels = [event.text for event in told(summary, EventKind.PROBE)]
    assert levels[:3] == ["probe: 1 thread (up)", "probe: 2 threads (up)", "probe: 4 threads (up)"]
    (band,) = bands(summary.events)
    assert (band.label, [event.marker for event in band.steps]) == (
        "1 probe",
        [1, *[None] * (len(levels) - 1)],
    )
    assert band.end_seconds > band.steps[-1].elapsed_seconds, "its answer is its end"
    assert summary.probe.commands["tuibench"].startswith("tuibench run oltp_point_select --threads=1")
    assert not any("private server" in line for line in summary.probe.lines)
    assert script.states[-1].result == summary.probe
    assert [len(state.steps) for state in script.states] == sorted(
        len(state.steps) for state in script.states
    )
    assert not summary.effects, "a step is no change whose effect is told"


def test_commands_that_name_a_private_server_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "is_private_socket", lambda socket: True)
    summary, _, _ = run(tmp_path)
    assert summary.probe is not None
    assert "private server" in summary.probe.lines[-1]


def test_workers_slower_than_the_server_are_what_is_reported(tmp_path: Path) -> None:
    summary, _, _ = run(tmp_path, cpu_share=0.97)
    assert summary.probe is not None
    assert summary.probe.client_limited
    assert summary.probe.knee is None
    assert summary.probe.bottleneck is not None
    assert summary.probe.bottleneck.id == CLIENT_LIMITED
    assert not any("Saturated" in line for line in summary.probe.lines)


def test_in_a_live_run_the_load_goes_back(tmp_path: Path) -> None:
    summary, script, workers = run(tmp_path, LIVE, (2.2, StartProbe(ORDER)))
    assert script.answers == ["probing by threads, at most 60 s"]
    assert summary.probe is not None
    assert summary.probe.knee is not None
    assert [word for word in workers.told if word.startswith("threads")][-1] == "threads 6"
    assert summary.seconds == pytest.approx(70)


def test_stopped_it_keeps_what_it_has(tmp_path: Path) -> None:
    summary, script, workers = run(tmp_path, LIVE, (2.2, StartProbe(ORDER)), (14.2, StopExperiment("probe")))
    assert script.answers[1] == "the probe is stopped"
    assert summary.probe is not None
    assert summary.probe.end is ProbeEnd.ABORTED
    assert len(summary.probe.steps) >= 2
    assert summary.probe.reason == "stopped by the operator"
    assert [word for word in workers.told if word.startswith("threads")][-1] == "threads 6"


def test_threads_set_by_hand_end_it_and_stay(tmp_path: Path) -> None:
    summary, script, workers = run(tmp_path, LIVE, (2.2, StartProbe(ORDER)), (14.2, SetThreads(50)))
    assert script.answers[1] == "threads: 50; the probe is stopped"
    assert summary.probe is not None
    assert summary.probe.reason == "the threads were set manually"
    assert [word for word in workers.told if word.startswith("threads")][-1] == "threads 50"


def test_a_plan_gives_way(tmp_path: Path) -> None:
    plan = replace(LIVE, schedule=parse_schedule("6:30s,8:40s"))
    _, script, _ = run(tmp_path, plan, (2.2, StartProbe(ORDER)), (3.2, HoldPlan()))
    assert script.answers == [
        "probing by threads, at most 60 s; the plan is held",
        "the plan is already held",
    ]


def test_a_paused_step_restarts(tmp_path: Path) -> None:
    summary, _, _ = run(tmp_path, PLAN, (3.2, Pause()), (20.2, Resume()))
    assert summary.probe is not None
    assert summary.probe.end is ProbeEnd.KNEE
    assert not any(3.2 < step.at_seconds < 20 for step in summary.probe.steps)


def test_another_change_is_reported_and_its_step_restarts(tmp_path: Path) -> None:
    summary, _, _ = run(tmp_path, PLAN, (5.2, SetDelay(1.0)))
    assert summary.probe is not None
    assert any("simulated network delay 0" in doubt for doubt in summary.probe.doubts)
    assert 5.2 in [pytest.approx(step.at_seconds, abs=0.01) for step in summary.probe.steps]


@pytest.mark.parametrize("kind", [EventKind.WEIGHTS, EventKind.FOREIGN])
def test_what_changes_the_work_of_a_transaction_restarts_its_step(tmp_path: Path, kind: EventKind) -> None:
    def prepare(session: LoadRun) -> None:
        asyncio.get_running_loop().call_later(5.2, session.watcher.emit, kind, "something else")

    summary = simulate_session(PLAN, Workers(bent), tmp_path, prepare)
    assert summary.probe is not None
    assert any("changed during the probe: something else" in doubt for doubt in summary.probe.doubts)
    assert 5.2 in [pytest.approx(step.at_seconds, abs=0.01) for step in summary.probe.steps]


def test_a_restart_ends_it_with_what_it_has(tmp_path: Path) -> None:
    def prepare(session: LoadRun) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(15.2, session.watcher.emit, EventKind.RESTART, "the server was restarted")

    summary = simulate_session(PLAN, Workers(bent), tmp_path, prepare)
    assert summary.probe is not None
    assert summary.probe.end is ProbeEnd.ABORTED
    assert summary.probe.reason == "the server was restarted"
    assert summary.probe.steps
    assert summary.seconds < 20


@pytest.mark.parametrize(("back_at", "end"), [(25.0, ProbeEnd.KNEE), (999.0, ProbeEnd.ABORTED)])
def test_a_server_that_is_away_has_not_collapsed(tmp_path: Path, back_at: float, end: ProbeEnd) -> None:
    """Nothing is done, and it does not tell its counters: the step begins anew when it is back."""

    def tps(threads: float) -> float:
        return 0.0 if sampler.is_away else bent(threads)

    def prepare(session: LoadRun) -> None:
        sampler.now = session.watcher.log.elapsed_seconds
        session.watcher.sampler = cast(Sampler, sampler)

    sampler = AbsentObserver(10.0, back_at)
    summary = simulate_session(PLAN, Workers(tps), tmp_path, prepare)
    assert summary.probe is not None
    assert summary.probe.end is end
    assert all(step.tps > 0 for step in summary.probe.steps)
    if end is ProbeEnd.ABORTED:
        assert summary.probe.reason == "the server does not answer"
        assert summary.seconds < 70


class AbsentObserver(PlayedSampler):
    """Sees a server that is away from one second to another."""

    def __init__(self, gone_at: float, back_at: float) -> None:
        self.now: Callable[[], float] = float
        self._gone_at, self._back_at = gone_at, back_at

    @property
    def is_away(self) -> bool:
        return self._gone_at <= self.now() < self._back_at

    async def observe(self, *_: object) -> TickObservation:
        return TickObservation(
            server=None if self.is_away else script.server_part(1, 100.0, 4, 1.0),
        )


def test_interrupted_it_answers_for_what_there_is(tmp_path: Path) -> None:
    def prepare(session: LoadRun) -> None:
        asyncio.get_running_loop().call_later(15.2, session.request_stop, "interrupted")

    summary = simulate_session(PLAN, Workers(bent), tmp_path, prepare)
    assert summary.outcome == "interrupted"
    assert summary.probe is not None
    assert summary.probe.reason == "the run was interrupted"
    assert summary.probe.steps


def test_a_jump_goes_on_to_the_next_level(tmp_path: Path) -> None:
    summary, script, _ = run(tmp_path, PLAN, (2.2, NextStep()))
    assert script.answers == ["continuing with the next step"]
    assert summary.probe is not None
    assert not summary.probe.steps[0].is_stable
    assert summary.probe.steps[1].at_seconds == pytest.approx(2.2, abs=0.01)


def test_by_rate_it_finds_what_is_kept_up_with(tmp_path: Path) -> None:
    order = ProbeOrder(by=Quantity.RATE, seconds=60.0, step_seconds=6.0)
    plan = replace(PLAN, threads=4, probe=order)
    played = RatedWorkers(800.0)
    summary = simulate_session(plan, played, tmp_path)
    assert summary.probe is not None
    assert summary.probe.steps[0].tps == pytest.approx(800, rel=0.01)
    assert summary.probe.knee is not None
    assert 650 <= summary.probe.knee.level <= 850
    assert "--rate=" in summary.probe.commands["tuibench"]


class RatedWorkers:
    """They start as much as the rate says, and a server does `most` of it. Another rate drops the backlog."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._done = self._due = self._at = self._rate = 0.0

    def __call__(self, fleet: PlayedFleet) -> list[WorkerReport]:
        now = fleet.clock.time()
        seconds, self._at = now - self._at, now
        rate = fleet.rate or math.inf
        if rate != self._rate:
            self._rate, self._due = rate, self._done
        self._due = self._due + rate * seconds if fleet.rate else self._done + self._most * seconds
        self._done = min(self._due, self._done + self._most * seconds)
        counters = Counters(
            scheduled=round(self._due), completed=round(self._done), backlog=round(self._due - self._done)
        )
        latencies = [2_000] * 20
        return [report(0, *latencies, seconds=seconds or 1e-9, lag_p99_ms=0.01, counters=counters)]


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        (((2.2, StopExperiment("probe")),), "no probe is running"),
        (((2.2, NextStep()),), "no probe is running"),
        (((2.2, StartProbe(ProbeOrder(slo=("quick",)))),), "'quick' is not a threshold"),
        (((2.2, Pause()), (3.2, StartProbe(ORDER))), "the load is not running: paused"),
        (((2.2, StartProbe(ORDER)), (4.2, StartProbe(ORDER))), "a probe is already running"),
        (
            ((2.2, StartProbe(ORDER)), (4.2, StartAbTest(subject="threads", a="4", b="8"))),
            "a probe is running",
        ),
        (
            ((2.2, StartProbe(ORDER)), (4.2, SetPlan(parse_schedule("6:30s")))),
            "a probe is running; its load must not be changed",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, commands: Sequence[tuple[float, Command]], words: str
) -> None:
    _, script, _ = run(tmp_path, replace(LIVE, seconds=6), *commands)
    assert words in script.answers[-1]


def test_a_run_that_is_a_probe_is_no_other_experiment(tmp_path: Path) -> None:
    orders = ((2.2, StartProbe(ORDER)), (3.2, AB))
    _, script, _ = run(tmp_path, PLAN, *orders)
    refusal = "this run is a probe itself; no other experiment can be started"
    assert script.answers == [refusal, refusal]


# Simulated servers of known capacity, probed in their noise: how often the answer is right.


RIGHT = 0.9
runs = pytest.mark.parametrize("runs", [2, pytest.param(200, marks=pytest.mark.whole)])
objective_runs = pytest.mark.parametrize("runs", [8, pytest.param(200, marks=pytest.mark.whole)])
NOISE = Noise(deviation=0.02, phi=0.35, settling_seconds=1.0)
NOISES = {
    "calm": NOISE,
    "noise": NOISE._replace(deviation=0.15),
    "busy": NOISE._replace(wandering=0.15),
}
"""Noise of 15 % is one of ±30 % in 19 of 20 samples; that of a busy host lasts longer than a step."""


def a_curve(rng: random.Random) -> Curve:
    """A server with a saturation point somewhere between one thread and a few hundred."""
    sigma, kappa = 10 ** rng.uniform(-2.5, -0.9), 10 ** rng.uniform(-5, -2.7)
    return Curve(lam=rng.uniform(50, 800), sigma=sigma, kappa=kappa)


def an_amdahl_curve(rng: random.Random) -> Curve:
    """It bends gently: its saturation point is some fifteen times its bend, and it never falls."""
    return Curve(lam=rng.uniform(50, 800), sigma=10 ** rng.uniform(-1.7, -0.9), kappa=0.0)


def a_gentle_peak(rng: random.Random) -> Curve:
    return an_amdahl_curve(rng)._replace(kappa=10 ** rng.uniform(-5, -3.7))


def a_queue(rng: random.Random) -> Curve:
    return Queue(lam=rng.uniform(5, 100), sigma=1 / rng.randint(4, 40), kappa=0.0)


def a_retrograde_queue(rng: random.Random) -> Curve:
    return Queue(lam=rng.uniform(5, 100), sigma=1 / rng.randint(4, 40), kappa=rng.uniform(0.003, 0.05))


def neighbours(progress: ProbeProgress, level: float) -> tuple[float, float]:
    """The measured levels next to one, or as far off as steps are at least."""
    levels = [step.level for step in progress.measured]
    below = max((other for other in levels if other < level), default=level / 1.2)
    above = min((other for other in levels if other > level), default=level * 1.2)
    return below, above


IN_EVERY_RUN = {(a_queue, "noise"), (a_retrograde_queue, "calm"), (a_curve, "busy")}


@runs
@pytest.mark.parametrize(
    ("kind", "noise"),
    [
        pytest.param(kind, noise, marks=() if (kind, noise) in IN_EVERY_RUN else pytest.mark.whole)
        for kind in (a_queue, a_retrograde_queue, a_curve, an_amdahl_curve, a_gentle_peak)
        for noise in NOISES
    ],
)
def test_what_is_recommended_is_worth_it(
    kind: Callable[[random.Random], Curve], noise: str, runs: int
) -> None:
    """The recommended level has nearly the plateau, and a p95 at most twice that of the best one; the
    interval contains that, and no level is far above it. A host that is busy may leave a probe inconclusive.
    """
    rng = random.Random(11)
    enough = 0.95 if noise == "calm" else 0.9
    worth = calm = within = low = decided = asked = 0
    for seed in range(runs):
        law = kind(rng)
        plan = probe(ProbeOrder(), law, seed, NOISES[noise])
        found = result_of(plan.progress, plan.end_kind, "", None, ())
        best = law.saturation
        within += (found.knee_low or 0.0) <= best <= (found.knee_high or 0.0)
        low += max(step.level for step in plan.steps) <= FARTHEST * best
        asked += 1
        assert plan.progress.elapsed_seconds <= plan.order.seconds + plan.order.step_seconds
        if found.recommended is None:
            continue
        decided += 1
        worth += law.tps(found.recommended) >= enough * law.plateau - 1e-9
        calm += law.p95_ms(found.recommended) <= 2 * law.p95_ms(best)
    shares = {"worth": worth, "calm": calm, "within": within, "low": low}
    assert decided >= (1.0 if noise == "calm" else 0.5) * asked - SLACK, (decided, shares)
    assert min(worth, calm) >= RIGHT * decided - SLACK, (decided, shares)
    assert within >= RIGHT * asked - SLACK, shares
    assert low >= 0.8 * asked - SLACK, shares


SLACK = 1
"""What the few probes of every run may miss."""


@pytest.mark.whole
@objective_runs
def test_the_objective_is_never_answered_more_than_a_step_above_its_limit(runs: int) -> None:
    rng = random.Random(12)
    right = near = 0
    for seed in range(runs):
        law = a_curve(rng)
        limit_ms = law.p95_ms(2 ** rng.uniform(1, 7))
        plan = probe(ProbeOrder(slo=(f"p95<{limit_ms:.4f}ms",)), law, seed, NOISE)
        most = objective_edge(plan.progress).most
        level = most.level if most else 0.0
        true = law.most_within(limit_ms)
        right += neighbours(plan.progress, level)[0] <= true
        near += level >= true / 2
        assert plan.end_kind in (ProbeEnd.SLO, ProbeEnd.KNEE, ProbeEnd.COLLAPSE)
    assert right >= 0.95 * runs - 1
    assert near >= 0.8 * runs - 1, "an answer that is far too low is of no use either"
