"""What a probe says of objectives and of itself: the sentences agree with its levels, and with each other."""

import math
import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.unit.features.probe.simulated_probe import Curve, Noise, probe
from tuibench.features.probe.experiment import result_of
from tuibench.features.probe.plan import ProbeProgress, end_of_climb, next_level, objective_edge
from tuibench.features.probe.text import END_TEXTS, probe_lines, probe_table
from tuibench.model.findings import Evidence
from tuibench.model.probe import LOW, ProbeEnd, ProbeOrder, ProbeResult, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity

SLO = "p95<40ms"


def step(
    level: float,
    p95_ms: float,
    *,
    at: float = 0.0,
    others: float = 0.0,
    is_stable: bool = True,
    purpose: StepPurpose = StepPurpose.UP,
    tps: float | None = None,
) -> ProbeStep:
    """A step with its p95, judged by the objective."""
    return ProbeStep(
        level=level,
        purpose=purpose,
        at_seconds=at,
        seconds=4.0,
        settling_seconds=1.0,
        tps=100.0 * level / (1 + level / 20) if tps is None else tps,
        half_width=0.03,
        is_stable=is_stable,
        p95_ms=p95_ms,
        missed=(f"{SLO}: {p95_ms:.4g} ms",) if p95_ms >= 40.0 else (),
        slack=math.log(40.0 / p95_ms),
        evidence=Evidence(cpu_others=others, cpu_total=min(100.0, others + 10.0)),
    )


def progress_of(
    steps: Sequence[ProbeStep], seconds: float = 60.0, slo: Sequence[str] = (SLO,)
) -> ProbeProgress:
    return ProbeProgress(ProbeOrder(slo=tuple(slo), seconds=seconds), 256.0, steps, 5.0 * len(steps))


def stated(progress: ProbeProgress) -> ProbeResult:
    end = end_of_climb(progress) or ProbeEnd.TIME
    found = result_of(progress, end, "", None, ())
    return replace(found, lines=probe_lines(found))


@st.composite
def random_probes(draw: st.DrawFn) -> ProbeProgress:
    """Steps at levels that are visited once or more, each of which meets or misses by chance."""
    levels = draw(st.lists(st.sampled_from([1, 2, 4, 8, 16, 32, 64]), min_size=1, max_size=6, unique=True))
    busy = draw(st.sampled_from([0.0, 20.0, 60.0, 96.0]))
    ups = [
        step(
            level,
            draw(st.floats(5, 160)),
            at=5.0 * place,
            others=busy,
            is_stable=draw(st.booleans()),
            tps=draw(st.floats(10, 3000)),
        )
        for place, level in enumerate(sorted(levels))
    ]
    again = [
        step(
            draw(st.sampled_from(levels)),
            draw(st.floats(5, 160)),
            at=5.0 * (len(ups) + place),
            others=busy,
            purpose=draw(st.sampled_from([StepPurpose.CONFIRM, StepPurpose.REFINE])),
        )
        for place in range(draw(st.integers(0, 6)))
    ]
    return progress_of([*ups, *again], draw(st.sampled_from([20.0, 90.0, 300.0])))


@given(random_probes())
def test_the_sentences_agree_with_the_levels_and_with_each_other(progress: ProbeProgress) -> None:
    found = stated(progress)
    text, objective = " ".join(found.lines), found.objective
    assert objective is not None
    missed = {each.level: bool(each.missed) for each in progress.measured}
    met_once = {each.level for each in progress.visits if not each.missed}
    if "met at no level" in text:
        assert not met_once
    if "not decided" in text:
        assert objective.most is None
        assert met_once == set(objective.contrary)
    if objective.most is not None:
        assert not missed[objective.most]
        contrary = {level for level, is_missed in missed.items() if is_missed is (level <= objective.most)}
        assert contrary == set(objective.contrary)
    if END_TEXTS[ProbeEnd.SLO] in text:
        assert objective.missed_at is not None
        assert objective.most is None or objective.most < objective.missed_at
    if found.recommended is not None:
        assert objective.most is not None
        assert found.recommended == objective.best
        assert found.recommended <= objective.most
        assert not missed[found.recommended]
    is_busy = progress.visits[0].evidence.cpu_others or 0.0
    if is_busy >= 60.0 or len(progress.visits) == 1:
        assert found.confidence == LOW
    assert (found.confidence == "high") <= (not found.doubts and len(progress.visits) >= 3)
    assert not re.search(r"from 1 steps|from [2-9] step ", text)
    rows = [str(row[-1]) for row in probe_table(found).rows]
    assert sum("missed" in row for row in rows) == sum(bool(each.missed) for each in found.steps)


TPS_SLO = "tps>500"


@st.composite
def probes_of_throughput(draw: st.DrawFn) -> ProbeProgress:
    """Random probes with an objective that too little load misses, alone or with one that load misses."""
    slo = draw(st.sampled_from([(TPS_SLO,), (TPS_SLO, SLO)]))
    drawn = draw(random_probes())
    steps = []
    for each in drawn.steps:
        missed: tuple[str, ...] = (f"{TPS_SLO}: {each.tps:.0f}/s",) if each.tps <= 500 else ()
        missed += each.missed if SLO in slo else ()
        slack = math.log(each.tps / 500)
        steps.append(
            replace(each, missed=missed, slack=min(slack, each.slack or slack) if SLO in slo else slack)
        )
    return ProbeProgress(replace(drawn.order, slo=slo), 256.0, steps, drawn.elapsed_seconds)


@given(probes_of_throughput())
def test_the_sentences_of_objectives_that_rise_with_load_agree_with_the_levels(
    progress: ProbeProgress,
) -> None:
    found = stated(progress)
    assert found.objective is not None
    first = found.lines[0]
    met_once = {each.level for each in progress.visits if not each.missed}
    if "met at no level" in first:
        assert not met_once
    if found.objective.most is None:
        assert re.search(r"missed at [\d,]+ threads? \(.+\)", first), first
    if met_once and not any(not each.missed for each in progress.measured):
        assert "not decided" in first
        assert found.confidence == LOW
    if found.recommended is not None:
        assert not {each.level: each.missed for each in progress.measured}[found.recommended]


def test_a_level_that_meets_it_is_never_overlooked() -> None:
    """A miss at the lowest level, above which others meet the objective, is noise."""
    found = stated(progress_of([step(1, 44.0), step(2, 12.0), step(4, 14.0), step(8, 90.0)]))
    assert found.objective is not None
    assert (found.objective.most, found.objective.missed_at) == (4, 8)
    assert list(found.objective.contrary) == [1]
    assert f"{SLO}: met up to 4 threads, missed at 8 threads (90 ms) (but for 1 thread)." in found.lines[0]
    assert any("noise: the objectives were judged otherwise at 1" in doubt for doubt in found.doubts)


def test_two_levels_that_contradict_each_other_are_not_decided() -> None:
    found = stated(progress_of([step(1, 44.0), step(1, 47.0, purpose=StepPurpose.REFINE), step(2, 12.0)]))
    assert found.lines[0] == f"{SLO}: not decided: missed at 1 thread (47 ms), but met at 2 threads."
    assert found.recommended is None
    assert found.confidence == LOW


def test_a_single_miss_on_a_busy_host_ends_nothing() -> None:
    first = progress_of([step(1, 44.0, others=96.0)])
    assert [end_of_climb(each) for each in (first,)] == [None]
    assert next_level(first) == (1, StepPurpose.REFINE)
    met = progress_of([*first.steps, *(step(1, 20.0, others=96.0, purpose=StepPurpose.REFINE) for _ in "ab")])
    assert next_level(met) == (2, StepPurpose.UP)
    missed = progress_of([*first.steps, step(1, 48.0, others=96.0, purpose=StepPurpose.REFINE)])
    assert end_of_climb(missed) is ProbeEnd.SLO
    found = stated(missed)
    assert found.confidence == LOW
    assert f"Confidence: low, from 2 steps in {found.seconds:.0f} s." in found.lines
    assert "measured on a busy host: other programs used 96 % of its CPU" in found.doubts


def test_one_miss_is_enough_on_a_calm_host_above_a_level_that_meets_it_or_far_beyond_it() -> None:
    assert end_of_climb(progress_of([step(1, 12.0), step(2, 44.0)])) is ProbeEnd.SLO
    assert end_of_climb(progress_of([step(1, 400.0)])) is ProbeEnd.SLO


def test_what_is_recommended_meets_the_objective_by_more_than_the_noise() -> None:
    calm = [step(1, 10.0), step(2, 30.0), step(4, 39.0), step(8, 90.0)]
    found = stated(progress_of(calm))
    assert found.objective is not None
    assert (found.objective.most, found.objective.best, found.recommended) == (4, 2, 2)
    again = [step(4, ms, purpose=StepPurpose.CONFIRM) for ms in (38.0, 21.0)]
    noisy = stated(progress_of([step(1, 30.0), *(replace(each, level=4) for each in again), *calm[2:]]))
    assert noisy.objective is not None
    assert (noisy.objective.most, noisy.recommended) == (4, None)
    assert "No level meets it by more than the noise of " in noisy.lines[0]
    busy = stated(progress_of([step(each.level, each.p95_ms or 0.0, others=90.0) for each in calm]))
    assert busy.recommended == 1


def reruns_that_meet(noise: Noise, seeds: range, limit_ms: float = 60.0) -> tuple[int, int]:
    """Recommended levels of simulated probes, and how many of these meet the objective in a minute's run."""
    recommended = met = 0
    curve, order = Curve(), ProbeOrder(slo=(f"p95<{limit_ms:g}ms",))
    for seed in seeds:
        result = result_of((run := probe(order, curve, seed, noise)).progress, run.end_kind, "", None, ())
        if result.recommended is None:
            continue
        recommended += 1
        # The host is busy for some ten seconds at a time: the mean of six such times.
        wandering = random.Random(seed).gauss(0, noise.wandering / math.sqrt(6))
        met += curve.p95_ms(result.recommended) * math.exp(-wandering) < limit_ms
    return recommended, met


@pytest.mark.whole
@pytest.mark.parametrize("wandering", [0.0, 0.3])
def test_recommended_levels_meet_the_objective_again(wandering: float) -> None:
    recommended, met = reruns_that_meet(Noise(wandering=wandering), range(20))
    assert recommended >= 14
    assert met >= recommended - 3


def test_objectives_that_rise_with_load_are_not_contradicted_by_low_levels() -> None:
    low = replace(step(1, 10.0), missed=("tps>500: 95/s",), slack=-1.0)
    edge = objective_edge(
        progress_of([low, replace(low, level=2), step(4, 10.0), step(8, 10.0)], slo=("tps>500",))
    )
    assert (edge.most and edge.most.level, edge.missed, edge.contrary) == (8, None, ())


def test_a_rate_is_judged_the_same() -> None:
    order = ProbeOrder(by=Quantity.RATE, slo=(SLO,), seconds=60.0)
    steps = [step(100, 44.0, tps=100.0), step(200, 12.0, tps=200.0), step(400, 12.0, tps=400.0)]
    edge = objective_edge(ProbeProgress(order, 1000.0, steps, 15.0))
    assert (edge.most and edge.most.level, [each.level for each in edge.contrary]) == (400, [100])
