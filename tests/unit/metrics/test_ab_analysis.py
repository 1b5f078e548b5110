"""A/B tests: windows, pairs, sequential decisions, screening and late effects."""

import math
import random
from collections import Counter
from collections.abc import Callable
from operator import eq
from statistics import fmean, stdev

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tests.ticks import measured_tick
from tests.unit.features.tune import screenings
from tests.unit.metrics import simulated
from tests.unit.metrics.noises import NOISES, Noise, autoregressive, drift, sawtooth, white
from tests.unit.metrics.simulated import share
from tuibench.features.tune.evaluation import FIRST_PAIRS, next_candidates, screen
from tuibench.metrics.ab_analysis import (
    ALPHA,
    EFFECT,
    FEWEST_PAIRS,
    LATE_WITHIN,
    LIKELIER,
    PHI,
    Lateness,
    Pair,
    Progress,
    Response,
    Rival,
    compare_pairs,
    compare_so_far,
    differences,
    error_levels,
    find_lateness,
    half_width,
    pairs_until,
    random_orders,
    responses,
    sequential_progress,
    window_differences,
    window_for,
    without_drift,
)
from tuibench.metrics.ab_windows import TOO_FEW, TrialWindows, settling_slots
from tuibench.metrics.inference import LogInterval, verdict_text
from tuibench.model.effect import AbTestPair, AbTestPlan, Comparison, Verdict
from tuibench.model.tick import Tick

# Which value is due when, and which slots of its window count.


ALTERNATING = 51
"""A seed whose first six cycles are A B, B A, A B, …"""

TRIAL = AbTestPlan(subject="sync_binlog", a="1", b="0", cycles=4, window_seconds=10.0, seed=ALTERNATING)


def slot(end: float, tps: float = 100.0) -> Tick:
    return measured_tick(end, 1.0, tps, p95_ms=10.0)


def filled(until: int = 80, *, rates: tuple[float, float] = (100.0, 150.0)) -> TrialWindows:
    """A whole run: a change takes 0.2 s of the window that it begins."""
    windows = TrialWindows(TRIAL)
    for second in range(1, until + 1):
        window = windows.at(second - 0.5)
        assert window is not None
        if second % 10 == 1 and second > 1 and window.value != windows.all[(second - 2) // 10].value:
            window.was_changed, window.changed_at = True, second - 1 + 0.2
        windows.add_slot(slot(second, rates[window.value == "0"]), window)
    return windows


def test_the_order_of_a_cycle_is_that_of_a_coin_seeded_by_the_plan() -> None:
    assert "".join(window.value for window in TrialWindows(TRIAL).all) == "10011001"
    orders = {
        "".join(window.value for window in TrialWindows(msgspec.structs.replace(TRIAL, seed=seed)).all)
        for seed in range(100)
    }
    assert len(orders) == 2**4


def test_a_moment_belongs_to_the_window_it_lies_in() -> None:
    windows = TrialWindows(TRIAL)
    assert windows.at(9.9) is windows.all[0]
    assert windows.at(10.0003) is windows.all[1]
    assert windows.at(80.0) is None


def test_a_slot_that_began_before_the_value_was_set_belongs_to_none() -> None:
    windows = filled()
    assert [len(window.slots) for window in windows.all] == [10, 9, 10, 9, 10, 9, 10, 9]


def test_each_cycle_makes_a_pair_whatever_its_order() -> None:
    pairs = filled().pairs(80.0)
    assert [(pair.cycle, pair.order) for pair in pairs] == [(1, "AB"), (2, "BA"), (3, "AB"), (4, "BA")]
    assert all(pair.a["tps"] == 100 and pair.b["tps"] == 150 for pair in pairs)


@pytest.mark.parametrize(("until", "pairs"), [(19.0, 0), (20.0, 1), (59.9, 2), (80.0, 4), (99.0, 4)])
def test_only_cycles_that_are_over_count(until: float, pairs: int) -> None:
    windows = filled()
    assert len(windows.pairs(until)) == windows.over(until) == pairs
    assert windows.left_out(until) == 0


def test_a_disturbed_window_costs_its_cycle() -> None:
    windows = filled()
    windows.all[3].spoil("a pause")
    windows.all[3].spoil("a pause")
    assert [pair.cycle for pair in windows.pairs(80.0)] == [1, 3, 4]
    assert windows.left_out(80.0) == 1
    assert windows.disturbances(80.0) == ("a pause",)
    assert windows.disturbances(20.0) == ()


def test_a_window_with_too_few_samples_says_so() -> None:
    windows = filled()
    windows.all[2].slots = windows.all[2].slots[:2]
    assert windows.left_out(80.0) == 1
    assert windows.disturbances(80.0) == (TOO_FEW,)
    assert windows.disturbances(20.0) == ()


def test_settling_time_is_discarded_after_a_change_and_reported() -> None:
    climb = [slot(n + 1, rate) for n, rate in enumerate((40, 70, 90, 101, 99, 100, 102, 98, 100))]
    assert 2 <= settling_slots(climb) <= 4
    windows = filled()
    windows.all[1].slots = climb
    first = windows.pairs(20.0)[0]
    assert first.b["tps"] == pytest.approx(100, abs=4)
    assert first.settling_seconds >= 3


def test_a_window_without_a_slot_after_a_late_effect_costs_its_cycle() -> None:
    """The change itself took 6 s, and acts 5 s later."""
    windows = filled()
    windows.all[1].changed_at = 16.0
    windows.all[1].slots = [slot(second) for second in (17, 18, 19, 20)]
    known = TrialWindows(TRIAL, unsettled_seconds=5.0)
    known.all = windows.all
    assert [pair.cycle for pair in known.pairs(80.0)] == [2, 3, 4]
    assert known.disturbances(80.0) == (TOO_FEW,)
    assert len(windows.pairs(80.0)) == 4


def test_at_most_half_a_window_is_discarded() -> None:
    assert settling_slots([slot(n, 10.0 * n) for n in range(1, 11)]) == 5


# The paired result: what drifts is taken out, and the interval holds the truth as often as it says.


def run(
    cycles: int, gain: float, *, drift: float = 0.0, noise: float = 0.0, seed: int = 1
) -> list[AbTestPair]:
    """Windows with `drift` from each to the next (relative), in the order A B, B A, A B, …"""
    rng, level, pairs = random.Random(seed), 1000.0, []
    for cycle in range(1, cycles + 1):
        order = "AB" if cycle % 2 else "BA"
        seen = {}
        for value in order:
            seen[value] = level * (gain if value == "B" else 1.0) * math.exp(rng.gauss(0, noise))
            level *= 1 + drift
        pairs.append(
            AbTestPair(
                cycle=cycle,
                order=order,
                a={"tps": seen["A"]},
                b={"tps": seen["B"]},
                settling_seconds=0.0,
            )
        )
    return pairs


def tps(pairs: list[AbTestPair]) -> Comparison:
    (found,) = compare_pairs(pairs)
    return found


@pytest.mark.parametrize("cycles", [4, 5, 6, 7])
@pytest.mark.parametrize("drift", [-0.05, 0.03, 0.2])
def test_a_steady_drift_changes_nothing(cycles: int, drift: float) -> None:
    found = tps(run(cycles, 1.3, drift=drift))
    assert found.percent == pytest.approx(30.0, abs=1e-6)
    assert found.differs
    assert tps(run(cycles, 1.0, drift=drift)).percent == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("cycles", [4, 5, 8])
def test_the_interval_holds_no_difference_as_often_as_it_says(cycles: int) -> None:
    quiet = sum(not tps(run(cycles, 1.0, drift=0.02, noise=0.05, seed=seed)).differs for seed in range(600))
    assert 0.94 <= quiet / 600 <= 0.985


def test_a_gain_is_found_and_held() -> None:
    held = 0
    for seed in range(200):
        found = tps(run(5, 1.5, noise=0.05, seed=seed))
        assert found.percent_low is not None
        assert found.percent_high is not None
        held += found.percent_low <= 50 <= found.percent_high
        assert found.differs
    assert held >= 186


def test_it_is_least_squares_over_all_neighbours() -> None:
    """Worked by hand: the mean of x is 0, so δ = (0.30 + 0.15) / 2, and γ is the mean difference, 0.10."""
    taken = [
        (1, 0.30),
        (0, 0.15),
        (-1, -0.15),
        (0, 0.10),
        (0, 0.10),
    ]
    found = without_drift(taken)
    assert found.value == pytest.approx((0.30 + 0.15) / 2)
    residual = sum((d - 0.10 - found.value * x) ** 2 for x, d in taken)
    assert found.margin == pytest.approx(4.303 * math.sqrt(residual / 3 / 2), rel=1e-3)


def test_neighbours_of_the_same_value_count_where_they_are_neighbours() -> None:
    pairs = run(4, 1.5, drift=0.1)
    assert [x for x, _ in window_differences(pairs, "tps", math.log)] == [
        1,
        0,
        -1,
        0,
        1,
        0,
        -1,
    ]
    assert [x for x, _ in window_differences([*pairs[:1], *pairs[2:]], "tps", math.log)] == [
        1,
        1,
        0,
        -1,
    ]


def test_too_few_pairs_give_no_interval() -> None:
    assert compare_pairs(run(FEWEST_PAIRS - 1, 2.0)) == ()


def test_a_figure_that_was_nothing_is_compared_without_a_ratio() -> None:
    pairs = [
        AbTestPair(
            cycle=n,
            order=order,
            a={"fsyncs_per_transaction": 1.0 + n / 100},
            b={"fsyncs_per_transaction": 0.0},
            settling_seconds=0,
        )
        for n, order in enumerate(("AB", "BA", "AB", "BA"))
    ]
    found = tps(pairs)
    assert found.figure == "fsyncs_per_transaction"
    assert found.after == pytest.approx(0.0)
    assert found.percent == pytest.approx(-100)
    assert found.differs


@pytest.mark.parametrize("compare", [compare_pairs, compare_so_far])
@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (lambda n: 1.0 + n / 100, lambda n: 0.0, Verdict.LOWER),
        (lambda n: 1.0 + n / 100, lambda n: 0.02 * (n % 3 == 0), Verdict.LOWER),
        (lambda n: 0.0, lambda n: 1.0 + n / 100, Verdict.HIGHER),
        (lambda n: 0.001 * (n % 4 == 1), lambda n: 1.0 + n / 100, Verdict.HIGHER),
        (lambda n: 0.0, lambda n: 0.0, Verdict.EQUAL),
    ],
)
def test_zeros_in_some_windows_or_all_are_compared(
    compare: Callable[..., tuple[Comparison, ...]],
    a: Callable[[int], float],
    b: Callable[[int], float],
    verdict: Verdict,
) -> None:
    pairs = [
        AbTestPair(
            cycle=n,
            order=order,
            a={"tps": 100.0 + n, "fsyncs_per_transaction": a(n)},
            b={"tps": 90.0 + n * n % 7, "fsyncs_per_transaction": b(n)},
            settling_seconds=0,
        )
        for n, order in enumerate(("AB", "BA", "BA", "AB", "AB", "BA", "AB", "BA"))
    ]
    found = next(one for one in compare(pairs, tolerance=0.02) if one.figure == "fsyncs_per_transaction")
    assert found.verdict is verdict
    assert found.low <= found.delta <= found.high
    assert found.delta == pytest.approx(sum(map(b, range(8))) / 8 - sum(map(a, range(8))) / 8, abs=0.02)


@given(st.lists(st.floats(1, 1e5), min_size=8, max_size=20))
def test_the_estimate_is_in_the_middle_of_everything(values: list[float]) -> None:
    half = len(values) // 2
    pairs = [
        AbTestPair(
            cycle=n,
            order="AB" if n % 2 else "BA",
            a={"tps": values[n]},
            b={"tps": values[half + n]},
            settling_seconds=0,
        )
        for n in range(half)
    ]
    found = tps(pairs)
    assert found.low <= found.delta <= found.high
    assert found.delta == pytest.approx(found.after - found.before, rel=1e-6, abs=1e-3)


# A trial that is watched: false rarely in any noise, found soon, and the arithmetic of the sequence.


@pytest.mark.whole
@pytest.mark.parametrize("repeats", [20, pytest.param(120, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", NOISES)
def test_a_watched_trial_of_one_value_seldom_says_anything(name: str, repeats: int) -> None:
    rng = random.Random(1)
    by_chance = 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)
    assert share(simulated.any_figure_is_false(NOISES[name], rng) for _ in range(repeats)) <= by_chance


@pytest.mark.parametrize("repeats", [10, pytest.param(60, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", ["white", "AR 0.6", "AR 0.9", "random walk", "drift"])
def test_a_gain_of_a_fifth_is_found_within_a_minute(name: str, repeats: int) -> None:
    rng = random.Random(2)
    trials = [simulated.watched_trial(NOISES[name], rng, effect=math.log(1.2)) for _ in range(repeats)]
    assert share(one.verdict is Verdict.HIGHER and one.seconds <= 60 for one in trials) >= 0.9


@pytest.mark.parametrize("repeats", [20, pytest.param(400, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", NOISES)
def test_an_alternation_that_decides_a_doubtful_effect_is_seldom_false(name: str, repeats: int) -> None:
    """No effect, and +42 % in noise in which a single comparison of before and after often says nothing."""
    rng, by_chance = random.Random(4), 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)
    none = [simulated.resolution(NOISES[name], rng, size=0.1) for _ in range(repeats)]
    large = [simulated.resolution(NOISES[name], rng, size=0.1, effect=math.log(1.42)) for _ in range(repeats)]
    assert share(one.verdict in (Verdict.HIGHER, Verdict.LOWER) for one in none) <= by_chance
    assert share(one.verdict is Verdict.HIGHER for one in large) >= 0.9


COUNTED = [
    ("100-fold fall", 1.0, 0.01, 0.15),
    ("100-fold fall, shaky", 1.013, 0.0101, 0.5),
    ("to almost none", 0.83, 0.0007, 0.3),
    ("to none", 1.04, 0.0, 0.3),
    ("from almost none", 0.0007, 0.91, 0.3),
    ("from some", 0.0123, 0.37, 0.3),
]


@pytest.mark.parametrize("repeats", [40, pytest.param(1000, marks=pytest.mark.whole)])
@pytest.mark.parametrize(("a", "b", "size"), [row[1:] for row in COUNTED], ids=[row[0] for row in COUNTED])
def test_counts_that_are_almost_none_on_one_side_are_told_apart(
    a: float, b: float, size: float, repeats: int
) -> None:
    """Half of the difference at least is certain, on the scale of logarithms, and the interval is right."""
    rng = random.Random(5)
    truth = b / a if a else math.inf
    right = certain = 0
    for _ in range(repeats):
        one = simulated.counted(rng, a, b, size=size)
        assert one is not None
        if one.percent_low is None or one.percent_high is None:
            right, certain = right + (one.low <= b <= one.high), certain + (one.low > 0)
            continue
        low, high = 1 + one.percent_low / 100, 1 + one.percent_high / 100
        right += low <= truth <= high
        certain += high <= max(truth, 1e-4) ** 0.5 if truth < 1 else low >= truth**0.5
    assert right / repeats >= 0.95
    assert certain / repeats >= 0.9


@pytest.mark.parametrize("repeats", [100, pytest.param(2000, marks=pytest.mark.whole)])
@pytest.mark.parametrize(("due", "size"), [(1.0, 0.3), (0.0123, 0.5), (0.004, 1.0), (0.0017, 0.3)])
def test_the_same_count_under_both_values_is_seldom_a_difference(
    due: float, size: float, repeats: int
) -> None:
    rng, by_chance = random.Random(6), 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)
    found = [simulated.counted(rng, due, due, size=size) for _ in range(repeats)]
    assert share(one is not None and one.differs for one in found) <= by_chance


def test_counts_that_may_be_chance_are_not_compared() -> None:
    assert simulated.counted(random.Random(1), 0.0, 0.0001) is None


def test_the_sentence_of_an_open_interval_has_one_edge() -> None:
    said = [simulated.counted(random.Random(3), 1.0, due, size=0.3) for due in (0.0, 0.0009, 0.01)]
    assert [verdict_text(one) for one in said if one is not None] == [
        "to 0 (÷1,340 or more)",
        "÷647 (÷164 or more)",
        "÷92 (÷32 or more)",
    ]


@pytest.mark.parametrize("repeats", [10, pytest.param(60, marks=pytest.mark.whole)])
def test_equal_is_said_where_it_is_so_and_not_where_it_is_not(repeats: int) -> None:
    rng = random.Random(3)
    same = [simulated.watched_trial(white, rng, size=0.02, tolerance=0.02) for _ in range(repeats)]
    other = [
        simulated.watched_trial(white, rng, size=0.02, tolerance=0.02, effect=math.log(1.025))
        for _ in range(repeats)
    ]
    assert share(one.verdict is Verdict.EQUAL for one in same) >= 0.9
    assert share(one.verdict in (Verdict.EQUAL, Verdict.LOWER) for one in other) <= 0.05


def bayes_factor(observed: list[float], delta: float) -> float:
    """Of δ/σ ~ N(0, 1/φ) against δ, with the right Haar prior on σ, as the papers write it."""
    n = len(observed)
    mean = math.fsum(observed) / n
    squares = math.fsum((value - mean) ** 2 for value in observed)
    t_squared = (mean - delta) ** 2 * n * (n - 1) / squares
    ratio, nu = PHI / (PHI + n), n - 1
    logarithm = math.log((1 + ratio * t_squared / nu) / (1 + t_squared / nu))
    return math.sqrt(ratio) * math.exp(-(nu + 1) / 2 * logarithm)


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=60, unique=True), st.floats(0.001, 0.2))
def test_the_bounds_are_where_the_bayes_factor_reaches_its_limit(observed: list[float], alpha: float) -> None:
    n, mean = len(observed), math.fsum(observed) / len(observed)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in observed) / (n - 1))
    half = half_width(n, deviation, alpha)
    if math.isfinite(half) and deviation > 1e-6:
        assert bayes_factor(observed, mean + half) == pytest.approx(1 / alpha, rel=1e-4)


@given(st.floats(0.001, 0.1))
def test_more_pairs_make_it_narrower_and_a_smaller_error_wider(alpha: float) -> None:
    widths = [half_width(count, 1.0, alpha) for count in range(2, 200)]
    finite = [width for width in widths if math.isfinite(width)]
    assert widths == [math.inf] * (len(widths) - len(finite)) + sorted(finite, reverse=True)
    assert half_width(50, 1.0, alpha) > half_width(50, 1.0, 2 * alpha)


def test_a_drift_is_taken_out_once_it_is_evident() -> None:
    orders, level, pairs = random_orders(40, 7), 1000.0, []
    for a_first in orders:
        first, second, level = level, level * 0.97, level * 0.97**2
        pairs.append(Pair(first, second, a_first) if a_first else Pair(second, first, a_first))
    observed = differences(pairs)
    assert max(map(abs, observed[:4])) == pytest.approx(-math.log(0.97))
    assert max(map(abs, observed[8:])) < 1e-9


def test_the_error_rate_is_shared_between_figures() -> None:
    shared = error_levels(("tps", "p95", "fsyncs"), "tps")
    assert math.fsum(shared.values()) == pytest.approx(ALPHA)
    assert shared["tps"] == max(shared.values())
    assert error_levels(("tps",), "tps") == {"tps": ALPHA}


def test_a_fair_coin_decides_the_order_and_a_seed_the_coin() -> None:
    orders = random_orders(2000, 1)
    assert orders == random_orders(2000, 1)
    assert 0.45 < share(orders) < 0.55


def test_no_test_begins_with_an_order_that_hides_a_late_effect() -> None:
    begun = Counter(tuple(random_orders(5, seed)) for seed in range(3000))
    assert len(begun) == 2**5 - 4
    assert not any(len(set(map(eq, orders, orders[1:]))) == 1 for orders in begun)
    assert all(0.45 < share([orders[place] for orders in begun.elements()]) < 0.55 for place in range(5))


def test_what_was_zero_under_b_is_decided() -> None:
    pairs = [Pair(1.0 + place / 1000, 0.0, place % 2 == 0) for place in range(6)]
    seen = sequential_progress(pairs, alpha=0.005)
    assert seen.verdict is Verdict.LOWER
    assert seen.interval.percent.estimate == pytest.approx(-100)


def test_the_same_figure_in_all_windows_is_equal() -> None:
    assert (
        sequential_progress([Pair(0.0, 0.0, True)] * 6, alpha=0.005, tolerance=0.02).verdict is Verdict.EQUAL
    )


def test_the_pairs_still_needed_lead_to_a_verdict() -> None:
    needed = pairs_until(0.05, 0.2, alpha=0.04, tolerance=0.0, done=10)
    assert needed is not None
    assert half_width(10 + needed, 0.2, 0.04) < 0.05 <= half_width(9 + needed, 0.2, 0.04)
    assert pairs_until(0.0, 0.2, alpha=0.04, tolerance=0.0, done=10) is None


def test_a_single_pair_says_nothing() -> None:
    seen = sequential_progress([Pair(1.0, 3.0, True)], alpha=0.04)
    assert (seen.verdict, seen.pairs_needed) == (Verdict.CANNOT_TELL, None)
    assert seen.interval.low == -math.inf


# Screening: which candidates have a verdict, at which level, and which are measured next.


RATE, TOLERANCE = 0.1, 0.02


def pairs(effect: float, count: int, *, noise: float = 0.01, seed: int = 1) -> list[Pair]:
    rng = random.Random(seed)
    return [
        Pair(
            100 * math.exp(rng.gauss(0, noise)), 100 * math.exp(effect + rng.gauss(0, noise)), place % 2 == 0
        )
        for place in range(count)
    ]


def test_one_candidate_is_read_at_the_whole_rate() -> None:
    seen = pairs(0.1, 6)
    look = screen({1: seen}, rate=RATE, tolerance=TOLERANCE)[1]
    observed = differences(seen)
    half = half_width(len(seen), stdev(observed), RATE)
    assert look.level == RATE
    assert look.verdict is Verdict.HIGHER
    assert [*look.interval] == pytest.approx([*LogInterval.around(fmean(observed), half)])


def test_the_level_follows_from_how_many_have_a_verdict() -> None:
    many = {number: pairs(0.2, 8, seed=number) for number in range(1, 4)} | {
        number: pairs(0.0, 2, seed=number) for number in range(4, 11)
    }
    looks = screen(many, rate=RATE, tolerance=TOLERANCE)
    claimed = [number for number, look in looks.items() if look.verdict is not Verdict.CANNOT_TELL]
    assert claimed == [1, 2, 3]
    assert [look.level for look in looks.values()] == pytest.approx([RATE * 3 / 10] * 10)
    alone = screen({1: many[1]}, rate=RATE, tolerance=TOLERANCE, of=10)[1]
    assert alone.level == pytest.approx(RATE / 10)
    assert alone.interval.high - alone.interval.low > looks[1].interval.high - looks[1].interval.low


def test_candidates_without_pairs_have_no_verdict() -> None:
    looks = screen({1: [], 2: pairs(0.5, 1)}, rate=RATE, tolerance=TOLERANCE)
    assert {look.verdict for look in looks.values()} == {Verdict.CANNOT_TELL}
    assert [look.pairs_needed for look in looks.values()] == [None, None]


def look(
    pairs_seen: int, needed: int | None, high: float = 0.5, verdict: Verdict = Verdict.CANNOT_TELL
) -> Progress:
    return Progress(LogInterval(0.0, -0.5, high), verdict, pairs_seen, needed, 0.05)


def test_all_are_measured_a_few_times_first() -> None:
    looks = {1: look(FIRST_PAIRS, 1), 2: look(2, None), 3: look(1, None), 4: look(FIRST_PAIRS + 1, 9)}
    assert next_candidates(looks, 3, tolerance=TOLERANCE) == [3, 2]


def test_then_those_that_are_nearest_to_a_verdict_and_one_that_was_measured_least() -> None:
    looks = {
        1: look(9, 30),
        2: look(9, 3),
        3: look(9, 0, verdict=Verdict.HIGHER),
        4: look(12, 5),
        5: look(5, None),
        6: look(9, 1, high=0.01),
    }
    assert next_candidates(looks, 3, tolerance=TOLERANCE) == [2, 4, 5]
    only_losers = {6: looks[6], 3: looks[3]}
    assert next_candidates(only_losers, 3, tolerance=TOLERANCE) == [6]
    assert next_candidates({3: looks[3]}, 3, tolerance=TOLERANCE) == []


@pytest.mark.parametrize("repeats", [2, pytest.param(12, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", ["white", "random walk"])
def test_few_verdicts_are_false_and_large_effects_are_found(name: str, repeats: int) -> None:
    effects = [math.log(1.1), -math.log(1.1), *[0.0] * 8]
    seen = screenings.judged(effects, NOISES[name], random.Random(7), size=0.015, budget=900, repeats=repeats)
    assert seen.false <= 0.1
    if name == "white":
        assert seen.found >= 0.9
        assert seen.equal >= 0.5


@pytest.mark.parametrize("delay", [6, 20])
def test_a_candidate_that_acts_late_has_no_verdict_and_does_not_mislead_others(delay: int) -> None:
    effects = [math.log(1.2), math.log(0.85), 0.0, 0.0, 0.0]
    found = screenings.screening(
        effects, NOISES["white"], random.Random(4), size=0.02, budget=600, delays={1: delay}
    )
    assert found.verdicts[1] is Verdict.CANNOT_TELL
    assert delay - 1 <= found.late[1] <= delay + 2
    assert [*found.late] == [1]
    assert found.verdicts[2] is Verdict.LOWER
    assert not any(
        screenings.is_false(found.verdicts[number], effects[number - 1]) for number in found.verdicts
    )


def test_without_delays_no_candidate_acts_late() -> None:
    found = screenings.screening(
        [math.log(1.2), math.log(0.85), 0.0, 0.0, 0.0],
        NOISES["white"],
        random.Random(4),
        size=0.02,
        budget=600,
    )
    assert not found.late
    assert found.verdicts[1] is Verdict.HIGHER


# When a value acts, from the course of a load: its delay, its time constant, or that it acts at once.


BIN, WINDOW = 0.5, 8
"""Windows of 4 s."""

Act = Callable[[list[float]], list[float]]


def late(
    act: Act, effect: float, *, pairs: int = 12, noise: Noise = white, limit: float = 2.0, seed: int = 1
) -> Lateness:
    rng = random.Random(seed)
    orders = random_orders(pairs, rng.getrandbits(32))
    values = [
        float(value) for a_first in orders for value in ((0, 1) if a_first else (1, 0)) for _ in range(WINDOW)
    ]
    level = noise(rng, len(values), 0.03)
    course: list[float | None] = [own + effect * by for own, by in zip(level, act(values), strict=True)]
    course[5] = course[17] = None
    found = find_lateness(course, values, bin_seconds=BIN, window=WINDOW, limit=limit, before=(0.0, 1.0))
    assert found is not None
    return found


def after(bins: int) -> Act:
    return lambda values: [values[0]] * bins + values[: len(values) - bins]


def approaching(bins: float) -> Act:
    def act(values: list[float]) -> list[float]:
        level, found = values[0], []
        for value in values:
            for _ in range(20):
                level += (value - level) * -math.expm1(-1 / bins / 20)
            found.append(level)
        return found

    return act


@pytest.mark.parametrize("noise", [white, autoregressive(0.9), drift, sawtooth])
@pytest.mark.parametrize("effect", [0.18, -0.22])
def test_a_delay_beyond_the_limit_is_found(effect: float, noise: Noise) -> None:
    found = late(after(12), effect, noise=noise)
    assert found.seconds == pytest.approx(6.0, abs=1.0)
    assert found.is_certain()


def test_a_slow_approach_is_found() -> None:
    found = late(approaching(10.0), 0.18, pairs=20)
    assert found.is_certain()
    assert 7 <= found.seconds <= 30


@pytest.mark.whole
@pytest.mark.parametrize("effect", [0.0, 0.02, 0.18, -0.22])
@pytest.mark.parametrize("noise", [white, autoregressive(0.9), drift, sawtooth])
@pytest.mark.parametrize(("seeds", "most"), [(10, 2), pytest.param(20, 2, marks=pytest.mark.whole)])
def test_what_acts_at_once_is_not_late(effect: float, noise: Noise, seeds: int, most: int) -> None:
    assert sum(late(list, effect, noise=noise, seed=seed).is_likely for seed in range(seeds)) <= most


def test_a_delay_within_the_limit_is_left_out() -> None:
    found = late(after(3), 0.18)
    assert found.is_in_time
    assert found.unsettled == pytest.approx(2.0)
    assert late(list, 0.18).unsettled == 0


@pytest.mark.parametrize("noise", [white, autoregressive(0.9)])
def test_until_the_first_value_acts_the_one_before_the_test_does(noise: Noise) -> None:
    """B A | A B | B A | …, two windows late: nearly as with the opposite effect at once."""
    values = [float(value) for value in (1, 0, 0, 1, 1, 0, 0, 1, 1, 0) for _ in range(WINDOW)]
    acting = [0.0] * (2 * WINDOW) + values[: -2 * WINDOW]
    level = noise(random.Random(4), len(values), 0.03)
    course = [own + 0.18 * by for own, by in zip(level, acting, strict=True)]
    found = find_lateness(course, values, bin_seconds=BIN, window=WINDOW, limit=2.0, before=(0.0, 1.0))
    assert found is not None
    assert found.seconds == 2 * WINDOW * BIN
    assert found.is_certain()


def compared(low: float, high: float, verdict: Verdict = Verdict.CANNOT_TELL) -> Comparison:
    return Comparison(
        figure="tps",
        before=1.0,
        after=1.0,
        delta=0.0,
        low=0.0,
        high=0.0,
        percent=(low + high) / 2,
        percent_low=low,
        percent_high=high,
        verdict=verdict,
        tolerance_percent=2.0,
    )


def test_an_interval_has_to_contain_what_a_late_response_gives() -> None:
    rivals = (
        Rival(7.0, -0.1, has_effect=False),
        Rival(9.0, 0.05, has_effect=True),
        Rival(30.0, 0.18, has_effect=True),
    )
    found = Lateness(seconds=0.0, evidence=0.0, effect=8.0, unsettled=0.0, rivals=rivals)
    assert found.contradiction(compared(-1.0, 6.0)) == 30.0
    assert found.contradiction(compared(-1.0, 4.0)) == 9.0
    assert found.contradiction(compared(-1.0, 25.0)) is None
    assert found.contradiction(compared(1.0, 25.0, Verdict.HIGHER)) == 7.0
    assert found.contradiction(None) is None
    beyond = found._replace(rivals=(Rival(9.0, 800.0, has_effect=True),))
    assert beyond.contradiction(compared(-1.0, 25.0)) == 9.0


@for_each(
    ("evidence", "effect", "is_shown"),
    [
        (LATE_WITHIN + 0.1, EFFECT + 0.1, True),
        (LATE_WITHIN, EFFECT + 0.1, False),
        (LATE_WITHIN + 0.1, EFFECT, False),
        (LIKELIER + 0.1, 50.0, False),
    ],
)
def test_only_a_late_effect_that_is_shown_recommends_longer_windows(
    evidence: float, effect: float, is_shown: bool
) -> None:
    assert Lateness(30.0, evidence, effect, 0.0).is_shown is is_shown


def test_a_short_course_of_a_slow_approach_has_rivals_with_larger_effects() -> None:
    found = [
        late(approaching(16.0), 0.18, pairs=4, noise=autoregressive(0.9), seed=seed) for seed in range(20)
    ]
    assert sum(one.is_likely or any(rival.effect > 0.1 for rival in one.rivals) for one in found) >= 16


def test_a_dip_at_every_change_is_no_late_effect() -> None:
    def dips(values: list[float]) -> list[float]:
        changed = [place for place in range(1, len(values)) if values[place] != values[place - 1]]
        return [
            -1.0 if any(place - 3 < at <= place for at in changed) else 0.0 for place in range(len(values))
        ]

    assert not late(dips, 0.3, pairs=20).is_certain()


def test_without_both_values_nothing_is_known() -> None:
    assert find_lateness([1.0] * 40, [0.0] * 40, bin_seconds=BIN, window=WINDOW, limit=2.0) is None
    assert find_lateness([1.0] * 8, [0.0, 1.0] * 4, bin_seconds=BIN, window=WINDOW, limit=2.0) is None


def test_others_that_act_at_once_are_taken_out() -> None:
    """Another setting that is always set six bins after this one would look like its late effect."""
    rng = random.Random(3)
    values = [float(rng.random() < 0.3) for _ in range(60) for _ in range(WINDOW)]
    other = [0.0] * 6 + values[:-6]
    course = [0.2 * by + rng.gauss(0, 0.02) for by in other]
    alone = find_lateness(course, values, bin_seconds=BIN, window=WINDOW, limit=2.0)
    beside = find_lateness(course, values, bin_seconds=BIN, window=WINDOW, limit=2.0, others=[other])
    assert alone is not None
    assert beside is not None
    assert alone.is_certain()
    assert not beside.is_likely


def test_a_response_passes_values_on() -> None:
    assert Response(2).of([1.0, 0.0, 0.0, 1.0], 0.0) == [0.0, 0.0, 1.0, 0.0]
    assert Response(9).of([1.0, 0.0, 0.0], 1.0) == [1.0, 1.0, 1.0]
    approach = Response(0, 4.0).of([0.0, *[1.0] * 40], 0.0)
    assert approach[0] == 0
    assert approach[1] == pytest.approx(1 - 4 * -math.expm1(-1 / 4))
    assert approach[40] == pytest.approx(1, abs=1e-4)
    assert Response(0) in responses(4)


@pytest.mark.parametrize(
    ("seconds", "window"), [(2.0, 4.0), (6.0, 12.0), (7.4, 15.0), (60.0, 120.0), (301.0, 660.0)]
)
def test_half_a_window_is_left_to_measure(seconds: float, window: float) -> None:
    assert window_for(seconds) == window
