"""The check of a recommendation by threads as arrivals."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.unit.features.probe.simulated_probe import Curve, Noise, probe
from tuibench.features.probe.plan import (
    FINE_ARRIVALS,
    MORE_CONNECTIONS,
    MOST_ARRIVALS,
    most_arrivals,
    next_arrivals,
)
from tuibench.features.probe.text import arrival_line, arrival_lines
from tuibench.model.findings import Evidence
from tuibench.model.probe import (
    ArrivalCheck,
    ProbeEnd,
    ProbeOrder,
    ProbeResult,
    ProbeStep,
    StepPurpose,
)

CALM = Noise(deviation=0.005, settling_seconds=0.0)
SLO = ("p95<20ms",)


def arrivals(rate: float, *, is_missed: bool = False, backlog: int = 0) -> ProbeStep:
    return ProbeStep(
        level=rate, purpose=StepPurpose.ARRIVALS, at_seconds=0, seconds=14, settling_seconds=1, tps=rate,
        half_width=0.02, is_stable=True, p95_ms=61.0 if is_missed else 18.0,
        missed=("p95<20ms: 61 ms",) if is_missed else (), evidence=Evidence(backlog=backlog),
    )  # fmt: skip


@pytest.mark.parametrize("edge", [90.0, 430.0, 640.0, 810.0, 2000.0])
def test_lower_rates_are_tried_until_one_holds_and_the_next_is_near(edge: float) -> None:
    steps: list[ProbeStep] = []
    while (rate := next_arrivals(steps, 820.4, has_objectives=True)) is not None:
        steps.append(arrivals(rate, is_missed=rate > edge))
    assert steps[0].level == 820
    assert len(steps) <= MOST_ARRIVALS
    most = most_arrivals(steps)
    if edge > 820:
        assert (len(steps), most) == (1, 820)
    elif most is not None:
        missed = min(step.level for step in steps if step.missed)
        assert most <= edge < missed
        assert missed / most <= 1 / 0.79
    else:
        assert edge < steps[-1].level


def test_a_rate_that_is_not_reached_does_not_hold() -> None:
    behind = arrivals(820, backlog=4000)
    assert next_arrivals([behind], 820, has_objectives=True) == 656
    assert most_arrivals([behind]) is None
    assert next_arrivals([behind], 820, has_objectives=False) is None
    assert arrival_line(behind) == "820/s as arrivals: 820 TPS, p95 18 ms, falls behind"


def test_a_higher_rate_that_holds_by_chance_is_not_the_most() -> None:
    steps = [arrivals(820, is_missed=True), arrivals(656, is_missed=True), arrivals(525)]
    assert most_arrivals([*steps, arrivals(700)]) == 525


def result(*steps: ProbeStep, slo: tuple[str, ...] = SLO, most: float | None = None) -> ProbeResult:
    check = ArrivalCheck(threads=16, tps=820, p95_ms=18, connections=32, steps=steps, most=most)
    return ProbeResult(
        order=ProbeOrder(slo=slo), end=ProbeEnd.KNEE, reason="", seconds=80, steps=(), ceiling=64,
        arrivals=check,
    )  # fmt: skip


def test_both_are_said_with_the_rate_up_to_which_the_objective_holds() -> None:
    missed, lower = arrivals(820, is_missed=True), arrivals(640)
    both = "As arrivals: 820/s: p95 18 ms with 16 threads, 61 ms as arrivals on 32 connections"
    assert list(arrival_lines(result(missed, lower, most=640))) == [f"{both}: p95<20ms holds up to 640/s."]
    assert list(arrival_lines(result(missed))) == [f"{both}: p95<20ms does not hold even at 820/s."]
    assert list(arrival_lines(result(missed, slo=()))) == [f"{both}."]
    (line,) = arrival_lines(result(arrivals(820), most=820))
    assert line.endswith("18 ms as arrivals on 32 connections: p95<20ms holds there, too.")
    behind = replace(arrivals(820, is_missed=True, backlog=4000), tps=700.0)
    (line,) = arrival_lines(result(behind))
    assert ", and falls behind at 700/s: " in line


@pytest.mark.parametrize(("slo", "fewest"), [((), 1), (("p95<400ms",), 3)])
def test_a_probe_by_threads_checks_its_recommendation(slo: tuple[str, ...], fewest: int) -> None:
    done = probe(ProbeOrder(slo=slo), Curve(), seed=1, noise=CALM)
    asyncio.run(done.evaluate())
    found = done.result
    assert found is not None
    check = found.arrivals
    assert check is not None
    assert check.threads == found.recommended
    assert check.connections == MORE_CONNECTIONS * check.threads
    assert check.steps[0].level == pytest.approx(check.tps, rel=0.01)
    assert check.steps[0].seconds + check.steps[0].settling_seconds == pytest.approx(15, abs=0.5)
    assert fewest <= len(check.steps) <= MOST_ARRIVALS
    assert all(step.purpose is not StepPurpose.ARRIVALS for step in found.steps)
    assert found.lines[1 + bool(slo)].startswith("As arrivals: ")
    if slo:
        assert check.most is not None
        assert check.most < check.tps
        assert f"--rate={check.most:g}" in found.commands["arrivals"]
        assert f"--threads={check.connections}" in found.commands["arrivals"]
        missed = min(step.level for step in check.steps if step.missed or step.evidence.backlog > 100)
        assert missed / check.most <= max(FINE_ARRIVALS, 1 / 0.79)
    else:
        assert "arrivals" not in found.commands or check.most == check.steps[0].level


@pytest.mark.parametrize(
    "order",
    [ProbeOrder(slo=("p95<0.1ms",)), ProbeOrder(seconds=45.0)],
)
def test_no_recommendation_and_no_time_is_no_check(order: ProbeOrder) -> None:
    done = probe(order, Curve(), seed=1, noise=CALM)
    asyncio.run(done.evaluate())
    assert done.result is not None
    assert done.result.arrivals is None
