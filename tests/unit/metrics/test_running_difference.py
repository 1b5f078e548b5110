"""The difference that a change has made so far, looked at after every tick."""

import math
import random

import pytest

from tests.ticks import measured_tick
from tests.unit.metrics import noises, simulated
from tuibench.metrics.running_difference import Reading, RunningDifference, difference_so_far
from tuibench.model.effect import Verdict

TRIALS = 40


@pytest.mark.parametrize("name", ["white", "AR 0.6", "AR 0.9", "random walk", "drift"])
@pytest.mark.parametrize("alternates", [False, True])
def test_without_an_effect_no_look_of_any_second_finds_one(name: str, *, alternates: bool) -> None:
    """At most 5 % of such changes; more than 6 of 40, or 3 of 10, happen once in 100 then."""
    rng = random.Random(8)
    trials = TRIALS // 4 if alternates else TRIALS
    found = [simulated.looked_at(noises.NOISES[name], rng, alternates=alternates) for _ in range(trials)]
    assert sum(seconds is not None for seconds in found) <= (3 if alternates else 6)


@pytest.mark.parametrize("alternates", [False, True])
def test_a_large_effect_is_likely_within_seconds(*, alternates: bool) -> None:
    rng = random.Random(8)
    seconds = [
        simulated.looked_at(noises.white, rng, effect=math.log(1.42), alternates=alternates)
        for _ in range(10)
    ]
    assert max(math.inf if each is None else each for each in seconds) <= 6


def noisy(rng: random.Random, count: int) -> list[float]:
    return [rng.gauss(0, 0.06) for _ in range(count)]


def test_the_interval_holds_the_truth_and_shrinks() -> None:
    rng, widths, missed = random.Random(3), [], 0
    for _ in range(40):
        before, after = noisy(rng, 40), [value + 0.3 for value in noisy(rng, 30)]
        since = [Reading(place + 1.0, 1.0, level) for place, level in enumerate(after)]
        looks = [difference_so_far(before, since[:count]) for count in (1, 3, 10, 30)]
        known = [look for look in looks if look is not None]
        assert len(known) == len(looks)
        missed += any(not look.low <= 0.3 <= look.high for look in known)
        widths.append([look.high - look.low for look in known])
    assert missed <= 3
    assert all(one[0] > one[1] > one[2] for one in widths)


@pytest.mark.parametrize("step", [-0.5, 0.5])
def test_a_step_at_another_time_is_not_the_changes(step: float) -> None:
    rng = random.Random(3)
    level = [*noisy(rng, 55), *(value + step for value in noisy(rng, 15))]
    since = [Reading(place + 1.0, 1.0, value) for place, value in enumerate(level[40:])]
    for count in range(1, len(since) + 1):
        found = difference_so_far(level[:40], since[:count])
        assert found is not None
        assert found.low <= 0 <= found.high


@pytest.mark.parametrize("late", [-1, 1])
def test_a_step_one_tick_beside_the_change_is_not_the_changes(late: int) -> None:
    """Of 40, a few are told by the noise of the tick next to the change."""
    rng, told = random.Random(4), {0: 0, late: 0}
    for at in told:
        for _ in range(40):
            level = [value + 0.3 * (place >= 40 + at) for place, value in enumerate(noisy(rng, 60))]
            since = [Reading(place + 1.0, 1.0, value) for place, value in enumerate(level[40:])]
            found = difference_so_far(level[:40], since)
            told[at] += found is not None and not found.low <= 0 <= found.high
    assert told[0] >= 36
    assert told[late] <= 12


def test_an_alternation_tells_what_a_step_hides() -> None:
    rng, shares = random.Random(3), [1.0] * 6 + [0.0, 0.0, 1.0, 1.0] * 8
    level = [*noisy(rng, 35), *(value + 0.5 for value in noisy(rng, 5 + len(shares)))]
    since = [
        Reading(place + 1.0, share, level[40 + place] + 0.4 * share) for place, share in enumerate(shares)
    ]
    found = difference_so_far(level[:40], since)
    assert found is not None
    assert 0 < found.low < 0.4 < found.high


def test_a_tick_of_both_values_counts_by_its_share() -> None:
    rng = random.Random(3)
    before = noisy(rng, 40)
    since = [Reading(place + 1.0, 0.5, 0.2 + value) for place, value in enumerate(noisy(rng, 8))] + [
        Reading(place + 9.0, 1.0, 0.4 + value) for place, value in enumerate(noisy(rng, 8))
    ]
    found = difference_so_far(before, since)
    assert found is not None
    assert found.estimate == pytest.approx(0.4, abs=0.06)


def test_the_figures_of_ticks_are_compared_and_the_one_that_decides_comes_first() -> None:
    rng = random.Random(3)
    ticks = [measured_tick(at + 1.0, 1.0, 1000 * math.exp(rng.gauss(0, 0.05))) for at in range(30)]
    running = RunningDifference(ticks)
    assert running.comparisons("tps") == ()
    for at in range(5):
        running.add(measured_tick(31.0 + at, 1.0, 2000 * math.exp(rng.gauss(0, 0.05))), 1.0)
    running.add(measured_tick(36.0, 1.0, 1.0), None)
    found = running.comparisons("tps")
    assert found[0].figure == "tps"
    assert found[0].verdict is Verdict.HIGHER
    assert found[0].percent == pytest.approx(100, abs=15)
    assert found[0].before == pytest.approx(1000, rel=0.05)
    assert found[0].after == pytest.approx(2000, rel=0.05)


def test_without_ticks_before_the_change_only_an_alternation_tells() -> None:
    running = RunningDifference([])
    for at in range(6):
        running.add(measured_tick(1.0 + at, 1.0, 2000.0 + at), 1.0)
    assert running.comparisons("tps") == ()
    for at in range(16):
        share = float(at % 4 > 1)
        running.add(measured_tick(7.0 + at, 1.0, (1 + share) * (1000.0 + at % 3)), share)
    (first, *_) = running.comparisons("tps")
    assert first.verdict is Verdict.HIGHER
    assert first.percent == pytest.approx(100, abs=10)
