"""The plan of a probe: which levels it asks for, when a step is over, and how it ends."""

import math
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.examples import sample
from tests.ticks import load_tick
from tests.unit.session.probe.simulated_probe import TICK_SECONDS, Curve, Noise, probe
from tuibench.errors import UsageError
from tuibench.metrics.thresholds.absolute import parse_objectives
from tuibench.model.experiments.probe import ProbeEnd, ProbeOrder, ProbeStep, StepPurpose
from tuibench.model.measurements.finding import Evidence
from tuibench.model.schedule import Quantity
from tuibench.session.probe.level_search import ProbeProgress, end_of_climb, next_level
from tuibench.session.probe.plan import ProbePlan
from tuibench.session.probe.step import FEWEST_TICKS, probe_tick

CALM = Noise(deviation=0.005, settling_seconds=0.0)
Server = Callable[[float], float]


class Driven:
    """A plan on a server whose throughput is a function of the level, tick by tick."""

    def __init__(self, order: ProbeOrder, server: Server = math.sqrt, ceiling: float = 64.0) -> None:
        self.now = 0.0
        self.plan = ProbePlan(order, ceiling, 0.0)
        self.level = 0.0
        self._server = server

    def enter(self) -> None:
        assert self.plan.next_level is not None
        self.level = self.plan.next_level.level
        self.plan.level_applied(self.now)

    def ticks(self, count: int, **load: int) -> None:
        """Samples of a load with all connections, or as given."""
        for number in range(count):
            self.now += TICK_SECONDS
            rate = 1000 * self._server(self.level) * (1 + 0.004 * (-1) ** number)
            part = load_tick(
                seconds=TICK_SECONDS,
                **{"connections": self.level, "transactions_per_second": rate} | load,
            )
            seen = sample(elapsed_seconds=self.now, load=part)
            self.plan.add_tick(probe_tick(seen, self.now, load.get("threads")), self.now)


def test_the_way_up_doubles_then_levels_between_then_back() -> None:
    plan = probe(ProbeOrder(), Curve(), seed=1, noise=CALM)
    levels: dict[StepPurpose, list[float]] = {}
    for step in plan.steps:
        levels.setdefault(step.purpose, []).append(step.level)
    assert levels[StepPurpose.UP] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert all(16 < level < 32 for level in levels[StepPurpose.REFINE])
    assert levels[StepPurpose.BACK] == [16, 4]
    assert plan.end is ProbeEnd.KNEE
    assert [step.purpose for step in plan.steps] == sorted(
        (step.purpose for step in plan.steps), key=list(StepPurpose).index
    )


def test_a_step_is_over_when_its_throughput_is_known() -> None:
    driven = Driven(ProbeOrder())
    driven.enter()
    driven.ticks(FEWEST_TICKS)
    assert not driven.plan.steps, "the first tick does not count"
    driven.ticks(6)
    (step,) = driven.plan.steps
    assert step.is_stable
    assert step.half_width is not None
    assert step.half_width <= 0.03
    assert driven.plan.next_level is not None
    assert driven.plan.next_level.level == 2


def test_a_step_that_does_not_come_to_rest_ends_with_its_time() -> None:
    driven = Driven(ProbeOrder(step_seconds=4.0), lambda level: level * (1 + driven.now))
    driven.enter()
    driven.ticks(7)
    assert not driven.plan.steps
    driven.ticks(1)
    (step,) = driven.plan.steps
    assert not step.is_stable
    assert step.seconds + step.settling_seconds == pytest.approx(4.0)


def test_ticks_before_all_connections_are_open_do_not_count() -> None:
    driven = Driven(ProbeOrder(least=8.0))
    driven.enter()
    driven.ticks(6, connections=3, threads=8)
    assert driven.plan.state(driven.now).waiting == "connections: 3 of 8 are open"
    driven.ticks(2, connections=8, threads=8)
    assert driven.plan.state(driven.now).waiting == f"settled samples: 1 of {FEWEST_TICKS}"


def test_a_step_whose_connections_never_opened_says_nothing_of_the_server() -> None:
    driven = Driven(ProbeOrder(step_seconds=4.0))
    driven.enter()
    driven.ticks(12, connections=1, threads=1)
    driven.enter()
    driven.ticks(8, connections=1, threads=2)
    assert [step.level for step in driven.plan.steps] == [1]
    assert (driven.plan.end, driven.plan.reason) == (ProbeEnd.TIME, "connections: 1 of 2 are open")


def test_the_server_lets_no_more_in() -> None:
    driven = Driven(ProbeOrder(least=8.0))
    driven.enter()
    driven.ticks(12, connections=5, threads=5)
    (step,) = driven.plan.steps
    assert step.tps > 0, "it is measured with those it has"
    assert end_of_climb(driven.plan.progress()) is ProbeEnd.CONNECTIONS


@pytest.mark.parametrize(
    ("slo", "curve", "end"),
    [
        (("p95<20ms",), Curve(), ProbeEnd.SLO),
        (("p95<20s",), Curve(), ProbeEnd.KNEE),
        (("tps>1000",), Curve(), ProbeEnd.KNEE),
        ((), Curve(kappa=0.5), ProbeEnd.KNEE),
        ((), Curve(sigma=0.0, kappa=0.0), ProbeEnd.LIMIT),
    ],
)
def test_why_the_way_up_ends(slo: tuple[str, ...], curve: Curve, end: ProbeEnd) -> None:
    assert probe(ProbeOrder(slo=slo), curve, 1, CALM, ceiling=256).end is end


def test_it_stays_below_its_ceiling_and_measures_there() -> None:
    plan = probe(ProbeOrder(), Curve(sigma=0.0, kappa=0.0), 1, CALM, ceiling=100)
    assert max(step.level for step in plan.steps) == 100


def test_a_collapse_ends_the_way_up() -> None:
    plan = probe(ProbeOrder(), Falling(), 1, CALM)
    assert plan.end is ProbeEnd.COLLAPSE
    assert max(step.level for step in plan.steps) == 32


class Falling(Curve):
    """In proportion up to 16, and next to nothing above it."""

    def tps(self, threads: float) -> float:
        return 100 * threads if threads <= 16 else 50.0


@pytest.mark.parametrize("slo", [("p95<20ms", "errors<1%")])
def test_the_edge_of_an_objective_is_refined(slo: tuple[str, ...]) -> None:
    law = Curve()
    plan = probe(ProbeOrder(slo=slo), law, 3, CALM)
    levels = sorted({step.level for step in plan.steps})
    true = law.most_within(20)
    below, above = max(x for x in levels if x <= true), min(x for x in levels if x > true)
    assert above / below <= 1.25


def test_a_rate_is_stepped_up_until_it_is_not_kept_up_with() -> None:
    steps = [
        rate_step(0, 1000, StepPurpose.SCALE),
        *(rate_step(rate, min(rate, 1000.0)) for rate in (125.0, 250.0, 500.0, 1000.0, 2000.0)),
    ]
    order = ProbeOrder(by=Quantity.RATE)
    asked = [next_level(ProbeProgress(order, 1e6, steps[:count], 5.0 * count)) for count in range(1, 7)]
    assert [next_level.level for next_level in asked if next_level] == [125, 250, 500, 1000, 2000, 1410]
    assert asked[-1] is not None
    assert asked[-1].purpose is StepPurpose.REFINE
    assert end_of_climb(ProbeProgress(order, 1e6, steps, 30.0)) is ProbeEnd.KNEE


def rate_step(rate: float, tps: float, purpose: StepPurpose = StepPurpose.UP) -> ProbeStep:
    return ProbeStep(
        level=rate,
        purpose=purpose,
        at_seconds=0,
        seconds=4,
        settling_seconds=1,
        tps=tps,
        half_width=0.01,
        is_stable=True,
        evidence=Evidence(connections=64),
    )


def test_a_growing_backlog_is_not_kept_up_with() -> None:
    waiting = replace(rate_step(800, 790), evidence=Evidence(connections=64, backlog=900))
    assert end_of_climb(ProbeProgress(ProbeOrder(by=Quantity.RATE), 1e6, [waiting], 5.0)) is ProbeEnd.KNEE


def test_when_the_time_is_up_it_ends_with_what_it_has() -> None:
    plan = probe(ProbeOrder(seconds=15.0), Curve(), 1, CALM)
    assert plan.end is ProbeEnd.TIME
    assert plan.progress().elapsed_seconds <= 18
    assert plan.steps


def test_a_jump_ends_the_step_with_what_is_known() -> None:
    driven = Driven(ProbeOrder())
    driven.enter()
    with pytest.raises(UsageError, match="nothing of this step"):
        driven.plan.next_step(driven.now)
    driven.ticks(4)
    driven.plan.next_step(driven.now)
    (step,) = driven.plan.steps
    assert not step.is_stable
    assert driven.plan.next_level is not None
    with pytest.raises(UsageError, match="no step"):
        driven.plan.next_step(driven.now)


def test_a_disturbed_step_restarts() -> None:
    driven = Driven(ProbeOrder())
    driven.enter()
    driven.ticks(5)
    driven.plan.restart_step(driven.now)
    assert driven.plan.state(driven.now).tps is None
    driven.ticks(12)
    assert [step.at_seconds for step in driven.plan.steps] == [2.5]


def test_ended_early_it_keeps_what_was_measured() -> None:
    driven = Driven(ProbeOrder())
    driven.enter()
    driven.ticks(12)
    driven.enter()
    driven.ticks(2)
    driven.plan.abort("stopped", driven.now)
    assert driven.plan.end is ProbeEnd.ABORTED
    assert driven.plan.reason == "stopped"
    assert [step.level for step in driven.plan.steps] == [1]
    assert driven.plan.next_level is None


def test_objectives_are_what_a_step_measures() -> None:
    assert [each.figure for each in parse_objectives(("p99<1s", "errors<1%", "tps>10"))] == [
        "p99",
        "errors_percent",
        "tps",
    ]
    with pytest.raises(UsageError, match="cannot be judged by abandoned"):
        parse_objectives(("abandoned<1%",))
