"""Effects of changes during a run."""

import asyncio
import math
import random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.examples import LATENCY, PLAN, load_part, sample
from tests.fakes import FakeClock
from tests.tables import for_each
from tests.ticks import host_tick, measured_tick, server_tick, traffic_tick
from tests.unit.features.ab.late_trials import late_trial, plan
from tests.unit.features.ab.test_experiment import trial as a_trial
from tests.unit.metrics.noises import white
from tuibench.features.ab.experiment import AbTest
from tuibench.metrics.figures import figure_named
from tuibench.metrics.stalls import SteadinessLog
from tuibench.model.effect import CommitCosts, EffectProgress, Verdict, latest_effects
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import Stall
from tuibench.model.message import RunState, SessionMessage
from tuibench.model.settings import COMMIT_ROLES, PresetState, SettingState
from tuibench.model.tick import Tick
from tuibench.session.dispatch import Origin
from tuibench.session.effects import MEASURED_AGAIN, EffectTracker
from tuibench.session.events import EventLog
from tuibench.session.laboratory import Change, ExperimentSession

# Effects, costs and the trial of a session: from its samples and events to what everybody hears.


FLUSH = "innodb_flush_log_at_trx_commit"


STEADY = replace(LATENCY, count=20, min=9.0, avg=9.0, p50=9.0, p95=9.0, p99=9.0, p999=9.0, max=9.0)


class Run:
    """A session whose clock moves when it ticks."""

    def __init__(self) -> None:
        self.plan = PLAN
        self.clock = FakeClock()
        self.on_event: list[SessionMessage] = []
        self.flush = "1"
        self.fsyncs = 0
        self.outcome = "done"
        self.state = RunState.RUNNING
        self.log = EventLog(self.clock, self._on_event)
        played: Any = self
        self.published: list[EffectProgress | None] = []
        self.effect_tracker = EffectTracker(
            PLAN.interval_seconds,
            ExperimentSession(
                spec=played,
                server=played,
                load=None,
                settings=played,
                hardware=played,
                lifecycle=played,
                log=self.log,
                submit=self.submit,
                start_task=lambda work, name: asyncio.create_task(work, name=name),
                publish=self.on_event.append,
            ),
        )
        self.log.start(0)
        self.log.emit(EventKind.START, "go")

    async def submit(self, change: Change) -> str:
        return ""

    def publish_status(self) -> None:
        self.published.append(self.effect_tracker.effect_progress)

    @property
    def presets(self) -> tuple[PresetState, ...]:
        return ()

    @property
    def states(self) -> tuple[SettingState, ...]:
        return (
            SettingState(
                name=FLUSH,
                value=self.flush,
                original="1",
                meaning="",
                at_risk=False,
                roles=COMMIT_ROLES,
            ),
        )

    @property
    def effects(self) -> list[Event]:
        return [event for event in self.log.events if event.effect is not None]

    @property
    def not_measured(self) -> list[tuple[int | None, str]]:
        """The changes whose effects were not measured, and the reasons."""
        return [(event.marker, event.not_measured) for event in self.log.events if event.not_measured]

    def tick(self, tps: int = 100, **changes: Any) -> None:
        """One tick of a load, with something that is not as it should be."""
        self.clock.advance(1)
        parts = {"server": self._server(1.0), **changes}
        load = parts.pop("load", load_part(transactions_per_second=tps))
        self.effect_tracker.tick(sample(1, load=load, **parts))

    def ticks(self, count: int, tps: int, fsyncs_each: float = 1.0, rate: float = 0.0) -> None:
        for _ in range(count):
            self.clock.advance(1)
            self.fsyncs += round(tps * fsyncs_each)
            load = load_part(transactions_per_second=tps, rate=rate, latency=STEADY)
            server = self._server(fsyncs_each, tps)
            self.effect_tracker.tick(sample(1, load=load, server=server))

    def outage(self, seconds: int) -> None:
        """The server has gone away."""
        for _ in range(seconds):
            self.clock.advance(1)
            load = load_part(transactions_per_second=0, latency=None, errors_by_code={"2003": 4, "1213": 1})
            self.effect_tracker.tick(sample(1, load=load, server=None))

    def change(self, kind: EventKind = EventKind.SETTING) -> None:
        self.clock.advance(0.1)
        self.log.emit(kind, f"{kind}!")

    def _server(self, fsyncs_each: float, tps: int = 100) -> Tick:
        return server_tick(
            uptime_seconds=1,
            threads_running=1,
            threads_connected=1,
            max_connections=1,
            open_tables=1,
            table_open_cache=1,
            questions_total=1,
            slow_queries_total=0,
            log_fsyncs_per_second=tps * fsyncs_each,
            completed=tps,
            counters={"Innodb_os_log_fsyncs": self.fsyncs},
        )

    def _on_event(self, event: Event) -> None:
        self.on_event.append(event)
        self.effect_tracker.on_event(event)


@pytest.mark.parametrize(
    "kind", [EventKind.SETTING, EventKind.THREADS, EventKind.RATE, EventKind.DELAY, EventKind.MARK]
)
def test_every_change_has_an_effect_that_carries_its_number(kind: EventKind) -> None:
    run = Run()
    run.ticks(20, 100)
    run.change(kind)
    run.ticks(20, 150)
    (event,) = run.effects
    assert event.marker == 1
    assert event.effect is not None
    assert event.effect.change == f"{kind}!"
    assert event.text == (
        "TPS +50 % (50..50 %), p95 equal within ±5 % (0.0..0.0 %), fsyncs/trx equal within ±5 % (0.0..0.0 %)"
    )
    assert run.effect_tracker.effects == [event.effect]


@pytest.mark.parametrize(("rate", "leads"), [(0.0, "tps"), (120.5, "p95_ms")])
def test_the_effect_leads_with_the_figure_that_decides(rate: float, leads: str) -> None:
    run = Run()
    run.ticks(20, 100, rate=rate)
    run.change()
    run.ticks(20, 150, rate=rate)
    (event,) = run.effects
    assert event.effect is not None
    assert event.effect.comparisons[0].figure == leads
    assert event.text.startswith(figure_named(leads).brief)
    assert len(event.effect.comparisons) == 3


def test_an_effect_that_is_measured_again_takes_the_place_of_the_earlier_one() -> None:
    run = Run()
    run.ticks(20, 100)
    run.change()
    run.ticks(33, 100)
    run.ticks(20, 80)
    first, again = run.effects
    assert not first.text.startswith(MEASURED_AGAIN)
    assert again.text.startswith(f"{MEASURED_AGAIN}: TPS too noisy to tell")
    assert "it fell by 20 % 33 s after the change" in again.text
    assert run.effect_tracker.effects == [again.effect]
    assert latest_effects(event.effect for event in run.effects if event.effect) == (again.effect,)


def test_fsyncs_are_taken_for_each_transaction() -> None:
    run = Run()
    run.ticks(20, 100, fsyncs_each=1.02)
    run.change()
    run.ticks(20, 100, fsyncs_each=0.0)
    assert run.effects[0].effect is not None
    found = run.effects[0].effect.comparison("fsyncs_per_transaction")
    assert found is not None
    assert (round(found.before, 2), found.after) == (1.02, 0)


@pytest.mark.parametrize("kind", [EventKind.PAUSE, EventKind.RESUME, EventKind.RESTART])
def test_a_stall_is_no_effect_and_no_window_spans_it(kind: EventKind) -> None:
    run = Run()
    run.ticks(20, 100)
    run.change(kind)
    run.ticks(60, 0)
    assert run.effects == []


def test_a_server_that_goes_away_is_not_the_changes_doing() -> None:
    run = Run()
    run.ticks(30, 100)
    run.change()
    run.ticks(9, 150)
    run.outage(30)
    run.change(EventKind.RESTART)
    run.ticks(30, 150)
    (effect,) = run.effects
    assert "TPS +50" in effect.text
    run.change()
    run.outage(30)
    run.ticks(30, 150)
    assert len(run.effects) == 1


def test_a_change_that_took_its_time_began_when_it_was_asked_for() -> None:
    run = Run()
    run.ticks(20, 100)
    with run.effect_tracker.command_running(Origin.OPERATOR):
        run.ticks(3, 5000)
        run.change()
    run.ticks(20, 100)
    assert not any(one.differs for one in run.effect_tracker.effects[0].comparisons)


def test_what_others_changed_was_noticed_late() -> None:
    run = Run()
    run.ticks(20, 100)
    run.ticks(9, 500)
    run.change(EventKind.FOREIGN)
    run.ticks(20, 500)
    tps = run.effect_tracker.effects[0].comparison("tps")
    assert tps is not None
    assert tps.before == pytest.approx(100)


def test_the_end_tells_what_is_known() -> None:
    run = Run()
    run.ticks(20, 100)
    run.change()
    run.ticks(9, 150)
    assert run.effects == []
    run.effect_tracker.end()
    assert len(run.effects) == 1


def test_the_warm_up_is_no_change() -> None:
    run = Run()
    run.log.start(round(30e9))
    run.change()
    run.ticks(40, 100)
    assert run.effects == []


def test_each_sample_has_the_costs_of_every_value() -> None:
    run = Run()
    run.ticks(5, 100, fsyncs_each=1.0)
    run.flush = "0"
    run.change()
    run.ticks(6, 100, fsyncs_each=0.0)
    told = [message for message in run.on_event if isinstance(message, CommitCosts)]
    assert len(told) == 11
    by_value = {cost.value: cost for cost in told[-1].costs}
    assert (by_value["1"].log_fsyncs, by_value["0"].log_fsyncs) == (1.0, 0.0)
    assert run.effect_tracker.costs == told[-1].costs


async def test_during_an_experiment_no_effect_is_measured() -> None:
    run = Run()
    laboratory = run.effect_tracker.laboratory
    plan = msgspec.structs.replace(a_trial(), subject="threads", a="4", b="8")
    await laboratory.start(AbTest(plan, is_by_hand=True))
    run.ticks(5, 100)
    run.change()
    run.ticks(40, 150)
    run.effect_tracker.end()
    assert run.effect_tracker.effects == []
    test = laboratory.last(AbTest)
    assert test is not None
    assert test.result.left_out == 3


# What was measured while something else happened is nobody's effect

DISTURBED: dict[str, tuple[dict[str, Any], str]] = {
    "network": ({"tps": 0, "server": None}, "the server did not answer"),
    "losses": ({"load": load_part(errors_by_code={"2013": 4})}, "connections to the server were lost"),
    "reconnects": ({"load": load_part(reconnects_per_second=4.0)}, "connections to the server were lost"),
    "stopped": ({"late_ms": 8000.0}, "this host was suspended, or tuibench got no CPU time"),
    "starved": (
        {"load": load_part(lag_p99_ms=900.0)},
        "this host was suspended, or tuibench got no CPU time",
    ),
}


@pytest.mark.parametrize(("changes", "why"), DISTURBED.values(), ids=list(DISTURBED))
def test_a_disturbance_after_a_change_leaves_it_without_an_effect(changes: dict[str, Any], why: str) -> None:
    run = Run()
    run.ticks(20, 100)
    run.change()
    run.ticks(2, 100)
    for _ in range(20):
        run.tick(**changes)
    run.ticks(30, 100)
    assert run.effects == []
    assert run.not_measured == [(1, f"{why} while it was measured")]
    assert f"effect of setting! not measured: {why} while it was measured" in [
        event.text for event in run.log.events
    ]


@pytest.mark.parametrize(("changes", "why"), DISTURBED.values(), ids=list(DISTURBED))
def test_a_disturbance_before_a_change_leaves_it_without_an_effect(changes: dict[str, Any], why: str) -> None:
    run = Run()
    run.ticks(20, 100)
    run.tick(**changes)
    run.ticks(2, 100)
    run.change()
    run.ticks(30, 150)
    assert run.effects == []
    assert run.not_measured == [(1, f"{why} shortly before it")]


@for_each("server", [None, 75.0])
@for_each("is_limit", [False, True])
@for_each(("before", "is_moved"), [(0.0, True), (40.0, False)])
def test_what_other_guests_and_a_cpu_limit_took_after_a_change_is_not_its_effect(
    before: float, is_moved: bool, is_limit: bool, server: float | None
) -> None:
    def host(percent: float) -> Tick:
        if is_limit:
            return host_tick(cpu_total=80.0, cpu_server=server, cpu_throttled=percent)
        return host_tick(cpu_total=80.0, cpu_server=server, cpu_steal=percent)

    run = Run()
    for _ in range(20):
        run.tick(100, host=host(before))
    run.change()
    for _ in range(30):
        run.tick(50, host=host(40.0))
    (effect,) = [event.effect for event in run.effects if event.effect]
    tps = effect.comparison("tps")
    assert tps is not None
    assert (tps.movement is not None) is is_moved


def test_a_change_right_after_the_start_is_said_to_have_too_little_before_it() -> None:
    run = Run()
    run.ticks(5, 100)
    run.change()
    run.ticks(30, 150)
    assert run.effects == []
    assert run.not_measured == [(1, "TPS varied too much in the 6 s before the change")]
    run.change()
    run.ticks(30, 100)
    assert [event.marker for event in run.effects] == [2]


def test_a_mark_right_after_the_start_is_only_a_mark() -> None:
    run = Run()
    run.ticks(5, 100)
    run.change(EventKind.MARK)
    run.ticks(30, 150)
    assert run.not_measured == []


def test_the_progress_of_an_effect_is_published_when_it_begins_and_when_it_ends() -> None:
    run = Run()
    run.ticks(20, 100)
    assert run.published == []
    run.change()
    (progress,) = run.published
    assert progress is not None
    assert (progress.markers, progress.change) == ((1,), "setting!")
    assert progress.at_seconds == pytest.approx(20.1)
    assert progress.earliest_seconds == pytest.approx(34.1)
    assert progress.latest_seconds == pytest.approx(63.1)
    run.ticks(12, 150)
    assert (len(run.published), len(run.effects)) == (1, 0)
    run.ticks(1, 150)
    assert (run.published[1:], len(run.effects)) == ([None], 1)


def test_an_interrupted_measurement_has_no_progress_any_more() -> None:
    run = Run()
    run.ticks(20, 100)
    run.change()
    run.ticks(2, 100)
    run.outage(2)
    assert run.published[1:] == [None]


@pytest.mark.parametrize("kind", [EventKind.PAUSE, EventKind.RESTART])
def test_an_event_after_a_change_says_why_it_has_no_effect(kind: EventKind) -> None:
    run = Run()
    run.ticks(20, 100)
    run.change()
    run.ticks(3, 100)
    run.change(kind)
    run.ticks(30, 100)
    assert run.effects == []
    assert len(run.not_measured) == 1


def test_a_worker_that_does_not_report_leaves_no_effect() -> None:
    run = Run()
    run.ticks(20, 100)
    run.change()
    run.ticks(3, 100)
    run.clock.advance(1)
    run.effect_tracker.gap()
    run.ticks(30, 150)
    assert run.not_measured == [(1, "a worker process did not report while it was measured")]


def test_what_was_measured_before_the_disturbance_is_an_effect_without_its_beginning() -> None:
    """The network was cut within the last slot but one, so that one is left out, too."""
    run = Run()
    run.ticks(30, 100)
    run.change()
    run.ticks(9, 150)
    run.ticks(1, 20)
    for _ in range(20):
        run.tick(tps=0, server=None)
    (effect,) = run.effects
    assert effect.text.startswith("TPS +50 % (50..50 %)")
    assert run.not_measured == []


def test_a_watched_servers_rates_do_not_depend_on_the_length_of_the_ticks() -> None:
    run = Run()

    def watched(fsyncs_per_second: float, queries_per_second: float) -> None:
        for seconds in (0.5, 1.0, 3.0) * 6:
            run.clock.advance(seconds)
            traffic = traffic_tick(
                seconds=seconds,
                transactions_per_second=40,
                queries_per_second=queries_per_second,
                latency=STEADY,
            )
            server = server_tick(seconds=seconds, log_fsyncs_per_second=fsyncs_per_second)
            run.effect_tracker.tick(sample(1, load=None, traffic=traffic, server=server))

    watched(80, 400)
    run.change()
    watched(20, 300)
    (effect,) = [event.effect for event in run.effects if event.effect]
    for figure, before, after in (("fsyncs_per_second", 80, 20), ("qps", 400, 300)):
        found = effect.comparison(figure)
        assert found is not None
        assert (found.before, found.after) == pytest.approx((before, after))
        assert (found.low, found.high) == pytest.approx((after - before, after - before), abs=1)


# Pauses and resets do not count as unsteadiness.


def ticks(log: SteadinessLog, rates: list[float], start: float = 0.0) -> None:
    for place, rate in enumerate(rates, 1):
        log.tick(measured_tick(start + place, 1.0, rate))


def test_a_pause_does_not_count() -> None:
    log = SteadinessLog()
    ticks(log, [100.0] * 10 + [0.0, 0.0] + [100.0] * 5)
    log.on_event(EventKind.PAUSE)
    ticks(log, [40.0, 0.0, 0.0, 0.0], start=17)
    log.on_event(EventKind.RESUME)
    ticks(log, [30.0, 100.0], start=21)
    found = log.result([Stall(9.8, 12.1)])
    assert found is not None
    assert found.stalls == (Stall(9.8, 12.1),)
    assert found.longest_stall_seconds == pytest.approx(2.3)
    assert (found.p1, found.p50, found.p99, len(log)) == (0.0, 100.0, 100.0, 18)


def test_a_reset_starts_over() -> None:
    log = SteadinessLog()
    ticks(log, [0.0, 100.0])
    log.on_event(EventKind.RESET)
    ticks(log, [100.0] * 3)
    found = log.result([])
    assert found is not None
    assert (found.p1, found.variation) == (100.0, 0.0)


def test_a_long_run_is_kept_in_little_room() -> None:
    """Neighbours are added up: what is left out is when within them it was."""
    log = SteadinessLog(most=100)
    for begin in range(0, 1000, 10):
        ticks(log, [100.0] * 10, start=begin)
        assert len(log) < 100
    found = log.result([])
    assert found is not None
    assert (found.p1, found.p50, found.p99, found.variation) == (100.0, 100.0, 100.0, 0.0)
    few = SteadinessLog(most=16)
    ticks(few, [100.0] * 12 + [0.0] * 4)
    assert len(few) == 8


# Whole A/B tests of settings that act late: no false verdict, and intervals with the truth, or none.


UP, DOWN = math.log(1.2), math.log(0.8)


@pytest.mark.parametrize("effect", [UP, DOWN])
@pytest.mark.parametrize(("delay", "window"), [(3.0, 6.0), (6.0, 12.0)])
def test_a_test_that_ends_with_its_verdict_lengthens_its_windows(
    effect: float, delay: float, window: float
) -> None:
    """With windows of 4 s, an effect that comes after 6 s has the wrong sign."""
    found = late_trial(
        plan(4, until=True, seed=5), white, random.Random(1), effect=effect, response=(delay, 0.0)
    )
    assert found.result.verdict is (Verdict.HIGHER if effect > 0 else Verdict.LOWER)
    assert found.covers
    assert found.result.window_seconds == window


def test_too_late_for_the_time_that_is_left_says_what_is_needed() -> None:
    found = late_trial(plan(4, until=True, seed=5), white, random.Random(2), effect=UP, response=(0.0, 20.0))
    assert found.covers is None
    assert found.needs is not None
    assert found.needs >= 80
    assert found.seconds < 500


@pytest.mark.parametrize(("response", "needs"), [((20.0, 0.0), 40), ((0.0, 5.0), 30)])
def test_a_test_of_a_fixed_length_says_what_windows_it_needs(
    response: tuple[float, float], needs: int
) -> None:
    found = late_trial(plan(10, until=False, seed=6), white, random.Random(2), effect=DOWN, response=response)
    assert found.result.comparisons == ()
    assert found.needs == needs
    assert f"needs windows of {needs} s (--window={needs})" in found.result.sentence


@pytest.mark.parametrize("fsyncs", [(1.0, 0.0), (0.0, 1.0), (1.0, 0.7)])
def test_what_acts_at_once_on_one_figure_stands_although_another_may_act_late(
    fsyncs: tuple[float, float],
) -> None:
    found = late_trial(
        plan(10, until=False, seed=6),
        white,
        random.Random(2),
        effect=DOWN,
        response=(20.0, 0.0),
        fsyncs=fsyncs,
    ).result
    assert found.verdict is Verdict.CANNOT_TELL
    (stands,) = found.comparisons
    assert stands.figure == "fsyncs_per_transaction"
    assert stands.verdict is (Verdict.LOWER if fsyncs[0] > fsyncs[1] else Verdict.HIGHER)
    assert stands.low - 0.05 <= fsyncs[1] - fsyncs[0] <= stands.high + 0.05
    assert "(--window=40); fsyncs/trx " in found.sentence


def test_a_figure_that_may_act_late_itself_has_no_verdict_either() -> None:
    """Without a difference of the fsyncs, it is not known when they would change."""
    found = late_trial(
        plan(10, until=False, seed=6),
        white,
        random.Random(2),
        effect=DOWN,
        response=(20.0, 0.0),
        fsyncs=(1.0, 1.0),
    )
    assert found.result.comparisons == ()


@pytest.mark.parametrize("interval", [0.5, 1.0, 2.5])
def test_half_a_window_is_enough_for_a_delay_that_is_left_out(interval: float) -> None:
    found = late_trial(
        plan(10, until=False, seed=7),
        white,
        random.Random(3),
        effect=UP,
        response=(5.0, 0.0),
        interval=interval,
    )
    assert found.covers
    assert found.result.acts_after_seconds == pytest.approx(5.0)


def test_what_acts_at_once_is_found_as_soon_as_before() -> None:
    found = late_trial(plan(4, until=True, seed=8), white, random.Random(4), effect=UP, response=(0.0, 0.0))
    assert found.is_found
    assert found.covers
    assert found.seconds <= 60
    assert found.result.acts_after_seconds is None
    assert found.result.window_seconds == 4


def test_equal_is_not_said_before_a_late_effect_would_show() -> None:
    same = late_trial(
        plan(4, until=True, seed=9), white, random.Random(5), effect=0.0, response=(0.0, 0.0), size=0.001
    )
    assert same.result.verdict is Verdict.EQUAL
    assert same.seconds == pytest.approx(64)
    late = late_trial(
        plan(4, until=True, seed=9), white, random.Random(5), effect=UP, response=(20.0, 0.0), size=0.001
    )
    assert late.result.verdict is Verdict.HIGHER
