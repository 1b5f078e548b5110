"""The guard rail: what breaks it is put back within two samples, and a calm load does not break it."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.examples import PLAN, SAMPLE
from tests.tables import for_each
from tests.ticks import measured_tick
from tests.unit.features.tune.tune_examples import candidate
from tests.unit.session.simulated_session import PlayedFleet, simulate_session
from tests.unit.session.test_laboratory import FLUSH, SYNC, Session
from tests.unit.session.worker_reports import report
from tests.unit.tuning.fakes import FakeClock
from tuibench.base.errors import UsageError
from tuibench.features.ab.experiment import AbTest
from tuibench.features.tune.experiment import TuneRun
from tuibench.load.messages import Counters, WorkerReport
from tuibench.metrics.thresholds import LEVEL_SAMPLES, OF_TRAFFIC, Guard, parse_guard
from tuibench.model.effect import AbTestPlan
from tuibench.model.event import EventKind
from tuibench.model.message import ChangeSetting
from tuibench.model.plan import RunPlan
from tuibench.model.summary import Summary
from tuibench.model.tick import Tick
from tuibench.model.tune import TuneLogHead, TunePlan, TuneVerdict
from tuibench.session.hardware import SimulatedHardware
from tuibench.session.laboratory import NO_ANSWER, Experiment, ExperimentSession

Level = Callable[[Mapping[str, str]], float]
"""The queries per second with these values."""

RUINOUS = "3"


def halved(values: Mapping[str, str]) -> float:
    return 1040.0 * (0.48 if values[SYNC] == RUINOUS else 1.3 if values[FLUSH] == "2" else 1.0)


class Watched(Session):
    """A session with viewers."""

    @property
    def experiment_session(self) -> ExperimentSession:
        played: Any = self
        disk = SimulatedHardware("", FakeClock())
        return ExperimentSession(
            played, played, None, played, disk, played, played, self.submit, self.start_task, self.publish
        )

    def publish(self, message: object) -> None:
        return


class Traffic:
    """A session on a server's own traffic, whose level depends on its settings, with noise like a real one's.

    `held` are the seconds for which each ruinous value was held.
    """

    def __init__(
        self, level: Level = halved, *, seed: int, guard: tuple[str, ...] = (), seconds: float = 1.0
    ) -> None:
        self.rng = random.Random(seed)
        self.level, self.seconds = level, seconds
        self.session = Watched(plan=replace(PLAN, is_watch=True, guard=guard))
        self.session.values = {SYNC: "1", FLUSH: "1"}
        self.drift = 0.0
        self.held: list[float] = []
        self.is_answered = True

    async def tick(self, samples: int = 1) -> None:
        for _ in range(samples):
            session, is_ruinous = self.session, self.session.values[SYNC] == RUINOUS
            session.now += self.seconds
            self.drift = 0.7 * self.drift + self.rng.gauss(0, 0.04)
            rate = self.level(session.values) * (1 + self.drift) * self.is_answered
            queries = max(0.0, self.rng.gauss(rate * self.seconds, (rate * self.seconds) ** 0.5))
            p95_ms = 9000 / max(rate, 1.0) * self.rng.lognormvariate(0, 0.1)
            slot = measured_tick(
                session.now, self.seconds, queries / 19, queries=queries, p95_ms=round(p95_ms, 2)
            )
            session.laboratory.tick(slot, SAMPLE, "" if self.is_answered else NO_ANSWER)
            for task in session.tasks:
                await task
            session.tasks.clear()
            if is_ruinous:
                self.held[-1] += self.seconds
            elif session.values[SYNC] == RUINOUS:
                self.held.append(0.0)

    async def plan_test(self) -> AbTest:
        """The A/B test of the plan, which is tried before the load starts."""
        test = await AbTest.of_plan(self.session.experiment_session)
        assert test is not None
        await self.session.laboratory.plan(test)
        self.session.now = 0.0
        self.session.event(EventKind.START)
        return test

    async def start(self, experiment: Experiment) -> None:
        await self.tick(LEVEL_SAMPLES)
        await self.session.laboratory.start(experiment)
        if self.session.values[SYNC] == RUINOUS:
            self.held.append(0.0)


def screening(seed: int = 5, **plan: object) -> TuneRun:
    """Three values, of which one is ruinous and one is better."""
    return screening_by(((SYNC, RUINOUS), (SYNC, "100"), (FLUSH, "2")), seed, **plan)


def screening_of(names: Sequence[str], seed: int) -> TuneRun:
    return screening_by([(name, RUINOUS) for name in names], seed)


def screening_by(values: Sequence[tuple[str, str]], seed: int, **plan: object) -> TuneRun:
    candidates = tuple(
        candidate(number, setting, value, original="1", change=f"1 → {value}")
        for number, (setting, value) in enumerate(values, 1)
    )
    order = TunePlan(budget_seconds=240.0, window_seconds=7.0, primary="qps", seed=seed, **plan)  # type: ignore[arg-type]
    head = TuneLogHead(profile="watch", server="box", threads=0, candidates=candidates)
    return TuneRun(order, head, is_by_hand=True)


def tries(tune: TuneRun) -> bool:
    return tune.is_on_trial


def ab_test(seed: int = 5, a: str = "1", b: str = RUINOUS) -> AbTest:
    plan = AbTestPlan(
        subject=SYNC, a=a, b=b, cycles=20, window_seconds=6.0, seed=seed, primary="qps", is_sequential=True
    )
    return AbTest(plan, is_by_hand=True, before={SYNC: (ChangeSetting(SYNC, "1"),)})


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
async def test_a_ruinous_value_of_a_screening_is_put_back_and_not_tried_again(seconds: float) -> None:
    await screened(range(2), seconds)


@pytest.mark.whole
async def test_a_ruinous_value_is_put_back_in_50_of_50_screenings() -> None:
    await screened(range(50), 1.0)


class RuinousAtRandom:
    """Queries per second with values of which any may be ruinous, alone or beside another one, at once or
    some samples after it was set. `longest` is for how many samples in a row a ruin was held.
    """

    def __init__(self, names: Sequence[str], seed: int) -> None:
        rng = random.Random(seed)
        alone = {(name,): rng.uniform(0, 0.5) for name in names if rng.random() < 0.3}
        beside = {pair: rng.uniform(0, 0.5) for pair in combinations(names, 2) if rng.random() < 0.2}
        self.ruin = {which: (factor, rng.choice([0, 0, 1, 4])) for which, factor in (alone | beside).items()}
        self.better = {name: rng.uniform(0.95, 1.25) for name in names}
        self.held: dict[tuple[str, ...], int] = {}
        self.run = self.longest = self.tried = 0

    def __call__(self, values: Mapping[str, str]) -> float:
        changed = {name for name in self.better if values[name] == RUINOUS}
        self.held = {each: self.held.get(each, 0) + 1 for each in self.ruin if changed.issuperset(each)}
        acting = [factor for each, (factor, after) in self.ruin.items() if self.held.get(each, 0) > after]
        self.run = self.run + 1 if acting else 0
        self.tried += self.run == 1
        self.longest = max(self.longest, self.run)
        return 1040.0 * (min(acting) if acting else math.prod(self.better[name] for name in changed))


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 60), marks=pytest.mark.whole)])
async def test_a_screening_never_holds_a_broken_guard_for_longer_than_two_samples(seeds: range) -> None:
    """Whatever is ruinous: one value, two together, the best of all; at once, or some samples later."""
    names = ("innodb_io_capacity", "innodb_lru_scan_depth", "innodb_spin_wait_delay", "sync_binlog",
             "innodb_flush_neighbors", "innodb_max_dirty_pages_pct")  # fmt: skip
    tried = 0
    for seed in seeds:
        level = RuinousAtRandom(names, seed)
        traffic, tune = Traffic(level, seed=seed), screening_of(names, seed)
        traffic.session.values = dict.fromkeys(names, "1")
        await traffic.start(tune)
        while not tune.is_over:
            await traffic.tick()
        assert level.longest <= 2, seed
        assert set(traffic.session.values.values()) <= {"1", "original"}
        tried += level.tried
    assert tried > len(seeds)


async def screened(seeds: range, seconds: float) -> None:
    for seed in seeds:
        traffic, tune = Traffic(seed=seed, seconds=seconds), screening(seed)
        await traffic.start(tune)
        while not tune.is_over:
            await traffic.tick()
        await traffic.tick()
        assert traffic.held == [2 * seconds], seed
        found = tune.result.result_of(1)
        assert found.verdict is TuneVerdict.HARMFUL
        assert "is broken" in found.failure
        assert {tune.result.result_of(number).verdict for number in (2, 3)} <= {
            TuneVerdict.BETTER,
            TuneVerdict.NO_EFFECT,
            TuneVerdict.CANNOT_TELL,
        }
        assert sum(1 in window.candidates for block in tune.blocks for window in block.windows) == 1
        assert traffic.session.values == {SYNC: "original", FLUSH: "original"}


async def test_a_screening_goes_on_after_a_harmful_value() -> None:
    traffic, tune = Traffic(seed=11), screening(11)
    await traffic.start(tune)
    while not tune.is_over:
        await traffic.tick()
    assert tune.result.result_of(3).verdict is TuneVerdict.BETTER
    resumed = TuneRun(TunePlan(primary="qps"), tune.head, blocks=tune.blocks)
    assert resumed.result.result_of(1).verdict is TuneVerdict.HARMFUL


async def test_an_ab_test_ends_with_a_ruinous_value() -> None:
    for seed in range(50):
        traffic, test = Traffic(seed=seed), ab_test(seed, *(("1", RUINOUS) if seed % 2 else (RUINOUS, "1")))
        await traffic.start(test)
        while not test.is_over:
            await traffic.tick()
        assert traffic.held == [2.0], seed
        assert test.result.harm.startswith(f"{SYNC} {RUINOUS} is harmful: qps>70% is broken: ")
        assert test.result.harm in test.result.sentence
        assert traffic.session.values[SYNC] == "1"


PLANNED = (("1", RUINOUS), (RUINOUS, "1"), ("100", RUINOUS))
"""The values of a planned test of a server with 1: it has A, B, or neither."""


@pytest.mark.parametrize("is_watch", [True, False])
@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
async def test_a_planned_ab_test_holds_a_ruinous_value_for_two_samples(
    seconds: float, is_watch: bool
) -> None:
    """In its first window, too: 50 of 50, on a server's own traffic and in a run, windows of 12 samples."""
    for seed in range(50):
        a, b = PLANNED[seed % len(PLANNED)]
        traffic = Traffic(seed=seed, seconds=seconds, guard=() if is_watch else ("tps>70%", "qps>70%"))
        traffic.session.plan = replace(
            traffic.session.plan, is_watch=is_watch, trial=planned(seed, a, b, seconds)
        )
        test = await traffic.plan_test()
        assert not traffic.held, seed
        while not test.is_over:
            await traffic.tick()
        assert traffic.held == [2 * seconds], seed
        assert f"{SYNC} {RUINOUS} is harmful: " in test.result.harm, seed
        await traffic.tick()
        assert traffic.session.values[SYNC] == "1"
        assert traffic.session.stopped == "done"


def planned(seed: int, a: str, b: str, seconds: float = 1.0, cycles: int = 20) -> AbTestPlan:
    return AbTestPlan(
        subject=SYNC, a=a, b=b, cycles=cycles, window_seconds=12 * seconds, seed=seed, primary="qps"
    )


async def test_a_planned_ab_test_waits_for_the_guard_with_the_present_value() -> None:
    traffic = Traffic(lambda values: 900.0, seed=6)
    traffic.session.plan = replace(traffic.session.plan, trial=planned(6, "100", "1", cycles=2))
    test = await traffic.plan_test()
    tried = list(traffic.session.submitted)
    assert not traffic.session.is_timed
    await traffic.tick(LEVEL_SAMPLES - 1)
    assert traffic.session.submitted == tried, "no value before the guard knows the level"
    assert traffic.session.values[SYNC] == "1"
    await traffic.tick(2 + 48)
    assert test.is_over
    assert {pair.cycle for pair in test.result.pairs} == {1, 2}
    assert traffic.session.stopped == "done"
    assert traffic.session.now == pytest.approx(LEVEL_SAMPLES + 1 + 48, abs=1.0)


async def test_a_guard_that_never_holds_fails_a_planned_test() -> None:
    traffic = Traffic(seed=1, guard=("p95<2ms",))
    traffic.session.plan = replace(traffic.session.plan, trial=planned(1, "1", "100"))
    await traffic.plan_test()
    tried = list(traffic.session.submitted)
    await traffic.tick(20)
    assert traffic.session.submitted == tried, "no value before the guard holds"
    assert str(traffic.session.failure).startswith("the guard does not hold: p95<2ms is broken: ")


def test_a_guarded_run_lasts_until_its_test_is_over(tmp_path: Path) -> None:
    """A run with a load, in virtual time: twice the threads halve the throughput, or do nothing."""

    def lasted(folder: str, factor: float) -> Summary:
        done: dict[str, float] = {"work": 0.0, "at": 0.0}

        def play(fleet: PlayedFleet) -> list[WorkerReport]:
            now, threads = fleet.clock.time(), [each for each in fleet.told if each.startswith("threads")]
            is_doubled = bool(threads) and threads[-1] == "threads 16"
            done["work"] += (now - done["at"]) * 200 * (factor if is_doubled else 1.0)
            done["at"] = now
            count = round(done["work"])
            opened = 16 if is_doubled else 8
            return [report(0, counters=Counters(scheduled=count, completed=count), connections=opened)]

        trial = AbTestPlan(subject="threads", a="8", b="16", cycles=3, window_seconds=6.0, seed=3)
        plan = RunPlan(
            profile="oltp_point_select", threads=8, seconds=trial.seconds, trial=trial, guard=("tps>70%",)
        )
        return simulate_session(plan, play, tmp_path / folder)

    harmless, harmful = lasted("harmless", 1.0), lasted("harmful", 0.4)
    assert harmless.failure == ""
    assert harmless.seconds == pytest.approx(LEVEL_SAMPLES + 36, abs=2.0)
    assert harmless.ab is not None
    assert len(harmless.ab.pairs) == 3
    assert harmful.ab is not None
    assert harmful.ab.harm.startswith("threads 16 is harmful: tps>70% is broken")
    first = next(event.elapsed_seconds for event in harmful.events if event.text.startswith("threads"))
    assert first >= LEVEL_SAMPLES
    assert harmful.seconds <= first + 3 * 6.0


async def test_a_better_value_makes_the_original_one_not_harmful() -> None:
    traffic = Traffic(lambda values: 2600.0 if values[SYNC] == "100" else 900.0, seed=8)
    test = ab_test(b="100")
    await traffic.start(test)
    await traffic.tick(60)
    assert test.result.pairs
    assert not test.result.harm


@pytest.mark.whole
def test_a_calm_load_breaks_no_guard_in_an_hour() -> None:
    """Less than 1 % of the hours have a false trip: of these none."""
    assert sum(false_trips(seed, 3600) for seed in range(20)) == 0


def test_a_calm_load_breaks_no_guard() -> None:
    assert sum(false_trips(seed, 400) for seed in range(4)) == 0


TAIL = 6
"""Degrees of freedom of Student's t: large deviations are more frequent than normal ones."""


def false_trips(seed: int, samples: int) -> int:
    """Windows of 7 samples, of which every other one is of original values. The load drifts by 15 % either
    way, varies by 7 % around that, with heavy tails and for some seconds, and each checkpoint slows it by up
    to a fifth for up to 3 seconds.
    """
    rng, guard = random.Random(seed), Guard(parse_guard(OF_TRAFFIC))
    broken, trips, level, latency, checkpoint, slowed = 0, 0, 0.0, 0.0, 30.0, 1.0
    period = rng.uniform(900, 3600)
    for at in range(samples):
        shock = rng.gauss(0, 1) / math.sqrt(rng.gammavariate(TAIL / 2, 2 / TAIL))
        level = 0.8 * level + 0.033 * shock
        latency = 0.8 * latency + rng.gauss(0, 0.1)
        if at >= checkpoint:
            slowed = rng.uniform(0.8, 0.95) if at < checkpoint + rng.uniform(0.5, 3) else 1.0
            checkpoint += rng.uniform(20, 60) * (slowed == 1.0)
        rate = 800.0 * math.exp(0.15 * math.sin(math.tau * at / period) + level) * slowed
        queries, p95_ms = rng.gauss(rate, math.sqrt(rate)), 11 * math.exp(latency - level) / slowed**2
        slot = measured_tick(at + 1.0, 1.0, queries / 19, queries=queries, p95_ms=round(p95_ms, 2))
        if at // 7 % 2 == 0:
            guard.learn(slot)
            broken = 0
            continue
        broken = broken + 1 if guard.broken(slot) else 0
        trips += broken == 2
    return trips


async def test_the_guard_needs_a_level_and_must_hold_before_anything_is_tried() -> None:
    traffic = Traffic(seed=1)
    with pytest.raises(UsageError, match="does not know the level yet") as refused:
        await traffic.session.laboratory.start(ab_test())
    assert "15 samples" in refused.value.hint
    await traffic.tick(LEVEL_SAMPLES)
    traffic.session.event(EventKind.SETTING, "an operator's change, after which the level is another one")
    with pytest.raises(UsageError, match="does not know the level yet"):
        await traffic.session.laboratory.start(ab_test())
    strict = Traffic(seed=1, guard=("p95<2ms",))
    with pytest.raises(UsageError, match="the guard does not hold: p95<2ms is broken: "):
        await strict.start(ab_test())
    assert strict.session.submitted == traffic.session.submitted == []


async def test_a_load_that_falls_by_itself_is_not_tried_on_until_its_level_is_known() -> None:
    """A value is put back even if it is not the cause; nothing is tried while the load is at rest."""
    factor = [1.0]
    traffic, tune = Traffic(lambda values: 900.0 * factor[0], seed=3), screening(3)
    await traffic.start(tune)
    while not tries(tune):
        await traffic.tick()
    factor[0] = 0.3
    await traffic.tick(2)
    assert not tries(tune)
    assert traffic.session.values[SYNC] in ("1", "original")
    await traffic.tick(17)
    assert not tries(tune)
    await traffic.tick(60)
    assert sum(one.verdict is TuneVerdict.HARMFUL for one in tune.result.results) <= 1
    assert tune.blocks


async def test_a_server_that_does_not_answer_breaks_the_guard() -> None:
    traffic, tune = Traffic(lambda values: 700.0, seed=2), screening(2)
    await traffic.start(tune)
    while not tries(tune):
        await traffic.tick()
    traffic.is_answered = False
    await traffic.tick()
    traffic.session.laboratory.gap()
    assert any("did not answer" in text for text in traffic.session.told)
    assert not tries(tune)


async def test_what_is_off_guards_nothing() -> None:
    traffic, test = Traffic(seed=4, guard=("off",)), ab_test(4)
    await traffic.session.laboratory.start(test)
    await traffic.tick(40)
    assert not test.is_over
    assert max(traffic.held, default=0) >= 5


def test_a_guard_is_read() -> None:
    of = [(one.figure, one.limit, one.is_relative) for one in parse_guard(
        ("p95<50ms", "tps > 80%", "errors<1%", "cpu_idle>5%", "lag<2s", "p99.5 <= 250 %"))]  # fmt: skip
    assert of == [
        ("p95", 50.0, False),
        ("tps", 0.8, True),
        ("errors_percent", 1.0, False),
        ("cpu_idle", 5.0, False),
        ("lag", 2.0, False),
        ("p99.5", 2.5, True),
    ]
    assert parse_guard(()) == parse_guard(("off",), is_traffic=True) == ()
    assert tuple(one.text for one in parse_guard((), is_traffic=True)) == OF_TRAFFIC


@for_each("text", ["tps", "tps>", "nothing<5", "tps>80furlongs", "failed<1", "tps>%"])
def test_what_is_no_guard_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_guard((text,))


def test_a_level_of_few_events_has_no_limit() -> None:
    few = Guard(parse_guard(("tps>80%",)))
    for at in range(8):
        few.learn(measured_tick(at + 0.5, 0.5, 3.0))
    assert few.broken(measured_tick(9.0, 0.5, 0.0)) == ""


def test_a_load_that_swings_by_itself_has_a_wider_guard() -> None:
    rng, guard = random.Random(6), Guard(parse_guard(("tps>80%",)))
    for at in range(40):
        guard.learn(swinging(rng, at))
    assert not any(guard.broken(swinging(rng, at)) for at in range(40))
    assert guard.broken(measured_tick(1.0, 1.0, 40.0))


def test_a_level_that_has_changed_by_itself_widens_nothing() -> None:
    """As on a host that another program begins to use: the samples before are of another level."""
    guard = Guard(parse_guard(("qps>70%",)))
    for at, rate in enumerate([13_000.0] * 150 + [3_000.0, 3_100.0] * 45):
        guard.learn(measured_tick(at + 1.0, 1.0, rate / 20, queries=rate))
    assert guard.broken(measured_tick(1.0, 1.0, 95.0, queries=1900.0))
    assert not guard.broken(measured_tick(1.0, 1.0, 140.0, queries=2800.0))


def test_the_level_follows_a_load_that_has_become_faster() -> None:
    guard = Guard(parse_guard(("qps>70%",)))
    for at, rate in enumerate([8_300.0, 8_250.0] * 50 + [12_000.0, 12_100.0] * 10):
        guard.learn(measured_tick(at + 1.0, 1.0, rate / 20, queries=rate))
    assert guard.broken(measured_tick(1.0, 1.0, 300.0, queries=6000.0))


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
def test_a_sample_that_began_before_the_value_was_set_is_judged_without_what_was_before(
    seconds: float,
) -> None:
    """The level is 1,000; of 730 a sample, 270 are missing, all of them while the value was on trial."""
    guard = Guard(parse_guard(("qps>70%", "p95<300%")))
    for at in range(40):
        guard.learn(measured_tick(seconds * (at + 1), seconds, 50.0, queries=(1000 + at % 2) * seconds))
    mixed = measured_tick(99.0, seconds, 40.0, queries=730.0 * seconds)
    assert not guard.broken(mixed)
    assert guard.broken(mixed, 0.6) == "qps>70% is broken: 549.7, 1,000.5 before"
    assert not guard.broken(mixed, 0.95)
    assert not guard.broken(mixed, 0.49), "too short to be told from the level before"


async def test_the_sample_in_which_a_ruinous_value_was_set_counts() -> None:
    """It is set after a third of a sample, and is put back at the end of the next one."""
    traffic = Traffic(lambda _: 1000.0, seed=3, seconds=3.0)
    await traffic.tick(LEVEL_SAMPLES)
    session, test = traffic.session, ab_test(seed=4, a=RUINOUS, b="1")

    async def tick(rate: float) -> None:
        slot = measured_tick(session.now, 3.0, rate / 19, queries=rate * 3)
        session.laboratory.tick(slot, SAMPLE, "")
        for task in session.tasks:
            await task

    session.now += 1.0
    await session.laboratory.start(test)
    for task in session.tasks:
        await task
    assert session.values[SYNC] == RUINOUS
    session.now += 2.0
    await tick(720.0)
    assert session.values[SYNC] == RUINOUS
    session.now += 3.0
    await tick(580.0)
    assert session.values[SYNC] == "1"


def test_however_much_a_load_swings_its_guard_has_a_bound() -> None:
    rng, guard = random.Random(6), Guard(parse_guard(("tps>80%", "p95<300%")))
    for at in range(60):
        tps, p95_ms = 400.0 * rng.lognormvariate(0, 0.6), 8.0 * rng.lognormvariate(0, 1.0)
        guard.learn(measured_tick(at + 1.0, 1.0, tps, p95_ms=p95_ms))
    assert not guard.broken(measured_tick(1.0, 1.0, 300.0, p95_ms=28.0))
    assert guard.broken(measured_tick(1.0, 1.0, 200.0, p95_ms=8.0)).startswith("tps>80% is broken")
    assert guard.broken(measured_tick(1.0, 1.0, 400.0, p95_ms=70.0)).startswith("p95<300% is broken")


def swinging(rng: random.Random, at: float) -> Tick:
    return measured_tick(at + 1.0, 1.0, 400.0 * rng.lognormvariate(0, 0.25))
