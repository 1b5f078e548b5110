"""Random numbers: distributions, pauses, turns."""

import functools
import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.workload.player import Player, nothing
from tuibench.base.errors import UsageError
from tuibench.model.findings import Headline
from tuibench.workload import library
from tuibench.workload.compiler import compile_profile
from tuibench.workload.draw import DrawSource
from tuibench.workload.generator import Pauses, TurnSequence
from tuibench.workload.program import Program, Turns
from tuibench.workload.values import (
    PERMUTATION_PRIME,
    Chance,
    DecimalRange,
    Gaussian,
    Interval,
    Nurand,
    Pareto,
    Serial,
    Special,
    Uniform,
    Unique,
    Zipfian,
    allowed_nurand_constants,
    permute32,
)

# Key distributions against their formulas, on many draws from a fixed seed.


SPECIAL = Special(high=1, iterations=12, hot_width=0.01, hot_share=0.75)
DRAWS = 200_000
ALL: tuple[Interval[int], ...] = (
    Uniform(high=1),
    Gaussian(high=1, iterations=12),
    Gaussian(high=1, iterations=5),
    SPECIAL,
    Pareto(high=1, h=0.2),
    Zipfian(high=1, exponent=0.8),
    Zipfian(high=1, exponent=1.0),
    Zipfian(high=1, exponent=0.0),
)


def draws(distribution: Interval[int], low: int, high: int, count: int = DRAWS) -> Counter[int]:
    draw = distribution.keys(low, high, Random(7))
    return Counter(draw() for _ in range(count))


def share(found: Counter[int], low: int, high: int) -> float:
    return sum(count for key, count in found.items() if low <= key <= high) / found.total()


@given(
    distribution=st.sampled_from(ALL),
    low=st.integers(-5, 100),
    span=st.integers(0, 2000),
    seed=st.integers(0, 2**32),
)
def test_keys_stay_within_their_bounds(distribution: Interval[int], low: int, span: int, seed: int) -> None:
    draw = distribution.keys(low, low + span, Random(seed))
    assert all(low <= draw() <= low + span for _ in range(200))


@given(width=st.floats(0, 1), hot=st.floats(0, 1), keys=st.integers(1, 1000), seed=st.integers(0, 2**32))
def test_special_keys_stay_within_their_bounds(width: float, hot: float, keys: int, seed: int) -> None:
    draw = Special(high=keys, iterations=3, hot_width=width, hot_share=hot).function(Random(seed), 0, 0)
    assert all(1 <= draw() <= keys for _ in range(200))


@pytest.mark.parametrize("distribution", ALL)
def test_a_range_of_one_has_one_key(distribution: Interval[int]) -> None:
    assert set(draws(distribution, 42, 42, 1000)) == {42}


def test_uniform_draws_every_key_equally_often() -> None:
    found = draws(Uniform(high=1), 1, 10)
    assert set(found) == set(range(1, 11))
    assert all(count == pytest.approx(DRAWS / 10, rel=0.03) for count in found.values())


@pytest.mark.parametrize("iterations", [5, 12, 40])
def test_uniform_values_are_added_from_left_to_right(iterations: int) -> None:
    """Python 3.12 and newer compensate in sum(): keys of a large range would differ by version."""
    keys, stream = 2**52, Random(7)
    draw = Gaussian(low=0, high=keys - 1, iterations=iterations).function(Random(7), 0, 0)
    scale = keys / iterations
    for _ in range(1000):
        total = 0.0
        for _ in range(iterations):
            total += stream.random()
        assert draw() == int(total * scale)


def test_special_draws_three_quarters_from_a_window_in_the_middle() -> None:
    """sysbench's formula: the window is 1 % of the keys, and only its last three quarters are ever hit."""
    found = draws(SPECIAL, 1, 100_000)
    first, last = 1 + 49_749, 1 + 50_500
    hot = [key for key, count in found.items() if count > 50]
    assert share(found, first, last) == pytest.approx(0.75 + 0.25 * 0.0361, abs=0.004)
    assert first <= min(hot) <= first + 1
    assert last - 1 <= max(hot) <= last
    assert len(hot) == pytest.approx(750, abs=3)


def test_special_draws_the_rest_as_the_mean_of_twelve() -> None:
    """The mean of 12 uniform draws has the deviation 1 / 12 of the range: a sixth lies beyond one of them."""
    found = draws(SPECIAL, 1, 120_000)
    assert share(found, 1, 50_000) == pytest.approx(0.25 * 0.16, abs=0.003)
    assert share(found, 70_001, 120_000) == pytest.approx(0.25 * 0.16, abs=0.003)


def test_special_follows_its_parameters() -> None:
    found = draws(Special(high=1, iterations=12, hot_width=0.1, hot_share=0.5), 1, 10_000)
    hot = [key for key, count in found.items() if count > 100]
    assert min(hot) == pytest.approx(5000 - 500 + 500, abs=3)
    assert max(hot) == pytest.approx(5000 + 501, abs=3)


@pytest.mark.parametrize("iterations", [12, 3])
def test_gaussian_is_the_mean_of_uniform_draws(iterations: int) -> None:
    found = draws(Gaussian(high=1, iterations=iterations), 1, 120_000)
    mean = sum(key * count for key, count in found.items()) / DRAWS
    variance = sum((key - mean) ** 2 * count for key, count in found.items()) / DRAWS
    assert mean == pytest.approx(60_000, rel=0.01)
    assert math.sqrt(variance) == pytest.approx(120_000 / math.sqrt(12 * iterations), rel=0.02)


def test_pareto_is_self_similar() -> None:
    """With h = 0.2 the first fifth of the keys takes four fifths of the draws, and so on within it."""
    found = draws(Pareto(high=1, h=0.2), 1, 100_000)
    assert share(found, 1, 20_000) == pytest.approx(0.8, abs=0.005)
    assert share(found, 1, 4_000) == pytest.approx(0.64, abs=0.005)


@pytest.mark.whole
@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.8, 1.0, 1.5])
def test_zipfian_falls_with_the_rank(exponent: float) -> None:
    found = draws(Zipfian(high=1, exponent=exponent), 1, 100)
    weights = [rank**-exponent for rank in range(1, 101)]
    for rank in (1, 2, 3, 10, 100):
        expected = DRAWS * weights[rank - 1] / sum(weights)
        assert found[rank] == pytest.approx(expected, abs=5 * math.sqrt(expected))


# Many draws of each distribution, in a histogram, against the chances that its formula gives each part.
#
# The bound is five standard deviations of each count: a right generator fails one of these in a million runs,
# and the seeds are fixed.


DISTRIBUTION_HISTOGRAMS_DRAWS = 300_000
KEYS = 100_000
BINS = 50
HOT_ROWS = 743
"""sysbench's own window at 100,000 rows, of which three quarters of the draws hit about as many."""

Cumulated = Callable[[float], float]
"""The chance of a key at or below this share of the keys."""


def histogram(distribution: Interval[int]) -> Counter[int]:
    draw = distribution.keys(1, KEYS, Random(11))
    return Counter([draw() for _ in range(DISTRIBUTION_HISTOGRAMS_DRAWS)])


def binned(found: Counter[int]) -> list[int]:
    bins = [0] * BINS
    for key, count in found.items():
        bins[(key - 1) * BINS // KEYS] += count
    return bins


def irwin_hall(n: int, mean: float) -> float:
    """The chance that the mean of n uniform numbers is at most `mean`."""
    x = mean * n
    terms = ((-1) ** k * math.comb(n, k) * (x - k) ** n for k in range(int(x) + 1))
    return min(max(math.fsum(terms) / math.factorial(n), 0.0), 1.0)


@functools.cache
def zipf_sums(exponent: float) -> list[float]:
    weights = [rank**-exponent for rank in range(1, KEYS + 1)]
    total = math.fsum(weights)
    sums, running = [0.0], 0.0
    for weight in weights:
        running += weight
        sums.append(running / total)
    return sums


def zipf(exponent: float) -> Cumulated:
    return lambda share: zipf_sums(exponent)[round(share * KEYS)]


def special(share: float) -> float:
    """A quarter as the mean of twelve, the rest in a window: one number chooses it, and the place in it."""
    span = KEYS - 1
    key = share * KEYS
    chosen = (key - span / 2 + SPECIAL.hot_width * span / 2) / (SPECIAL.hot_width * span + 1)
    hot = min(max(chosen - 0.25, 0.0), 0.75)
    return 0.25 * irwin_hall(12, min(key / span, 1.0)) + hot


def pareto(h: float) -> Cumulated:
    return lambda share: share ** (math.log(1 - h) / math.log(h))


CASES: list[tuple[Interval[int], Cumulated]] = [
    (Uniform(high=1), lambda share: share),
    (Gaussian(high=1, iterations=12), lambda share: irwin_hall(12, share)),
    (Gaussian(high=1, iterations=3), lambda share: irwin_hall(3, share)),
    (SPECIAL, special),
    (Pareto(high=1, h=0.2), pareto(0.2)),
    (Pareto(high=1, h=0.4), pareto(0.4)),
    (Zipfian(high=1, exponent=0.8), zipf(0.8)),
    (Zipfian(high=1, exponent=1.0), zipf(1.0)),
    (Zipfian(high=1, exponent=1.3), zipf(1.3)),
]


@pytest.mark.parametrize(("distribution", "cumulated"), CASES, ids=[str(case) for case, _ in CASES])
def test_draws_follow_the_formula(distribution: Interval[int], cumulated: Cumulated) -> None:
    found = binned(histogram(distribution))
    for number, count in enumerate(found):
        chance = cumulated((number + 1) / BINS) - cumulated(number / BINS)
        deviation = math.sqrt(DISTRIBUTION_HISTOGRAMS_DRAWS * chance * (1 - chance))
        assert count == pytest.approx(DISTRIBUTION_HISTOGRAMS_DRAWS * chance, abs=5 * deviation + 1), (
            f"bin {number}"
        )


def test_three_quarters_of_special_draws_hit_a_window_of_743_rows() -> None:
    """The rows around the middle that are hit at all often: as wide as sysbench's, and as often hit."""
    found = histogram(SPECIAL)
    hot = {key for key, count in found.items() if count > 90}
    assert len(hot) == pytest.approx(HOT_ROWS, abs=8)
    assert max(hot) - min(hot) + 1 == len(hot)
    share = sum(found[key] for key in hot) / DISTRIBUTION_HISTOGRAMS_DRAWS
    assert share == pytest.approx(0.75 + 0.25 * 0.0364, abs=0.012)


# Draws that are not keys: NURand, amounts, chances, serial and unique numbers.


def expected_nurand(a: int, low: int, high: int, c: int) -> dict[int, float]:
    """The exact chances: every pair of the two uniform numbers counted."""
    counts = Counter[int]()
    for first in range(a + 1):
        for second in range(low, high + 1):
            counts[((first | second) + c) % (high - low + 1) + low] += 1
    return {number: count / counts.total() for number, count in counts.items()}


@pytest.mark.parametrize(("a", "low", "high", "c"), [(255, 0, 999, 123), (63, 1, 300, 17), (15, 1, 10, 3)])
def test_nurand_follows_its_formula(a: int, low: int, high: int, c: int) -> None:
    draws = 200_000
    draw = Nurand(a=a, low=low, high=high).with_constant(c, Random(3))
    found = Counter(draw() for _ in range(draws))
    chances = expected_nurand(a, low, high, c)
    assert set(found) <= set(chances)
    chi_squared = sum((found[number] - draws * p) ** 2 / (draws * p) for number, p in chances.items())
    freedom = len(chances) - 1
    assert abs(chi_squared - freedom) < 5 * (2 * freedom) ** 0.5


def test_the_constant_of_a_run_is_one_for_all_connections_and_far_from_the_loads() -> None:
    assert allowed_nurand_constants(1023, None) == range(1024)
    allowed = allowed_nurand_constants(255, 123)
    assert {abs(c - 123) for c in allowed} <= set(range(65, 120)) - {96, 112}
    names = Nurand(a=255, low=0, high=999, loaded_c=123)
    seen = {names.constant(seed) for seed in range(500)}
    assert seen <= set(allowed)
    assert len(seen) > 50
    draws = [DrawSource(7, connection).draw(names) for connection in (0, 1)]
    hot = [Counter(draw() for _ in range(20_000)).most_common(30) for draw in draws]
    assert len({number for number, _ in hot[0]} & {number for number, _ in hot[1]}) > 10


@given(low=st.integers(0, 50), span=st.integers(0, 500), places=st.integers(0, 4), seed=st.integers(0, 99))
def test_amounts_are_exact_and_within_their_bounds(low: int, span: int, places: int, seed: int) -> None:
    draw = DrawSource(seed, 0).draw(DecimalRange(low=low, high=low + span, places=places))
    for _ in range(20):
        amount = draw()
        assert low <= amount <= low + span
        assert amount.as_tuple().exponent == -places


def test_amounts_reach_both_bounds() -> None:
    draw = DrawSource(1, 0).draw(DecimalRange(low=1, high=2, places=1))
    assert {draw() for _ in range(500)} == {Decimal(tenths) / 10 for tenths in range(10, 21)}


@pytest.mark.parametrize("percent", [0.0, 1.0, 60.0, 100.0])
def test_a_chance_comes_as_often_as_it_says(percent: float) -> None:
    draw = DrawSource(1, 0).draw(Chance(percent=percent))
    assert sum(draw() for _ in range(20_000)) / 200 == pytest.approx(
        percent, abs=1 if 0 < percent < 100 else 0
    )


def test_serial_numbers_count_up() -> None:
    draw = DrawSource(1, 0).draw(Serial(first=10))
    assert [draw() for _ in range(3)] == [10, 11, 12]


@given(st.sets(st.integers(0, 2**32 - 1), max_size=500))
def test_the_permutation_repeats_nothing(numbers: set[int]) -> None:
    assert len({permute32(number) for number in numbers}) == len(numbers)


def test_the_permutation_keeps_to_32_bits_and_to_itself_above_the_prime() -> None:
    assert all(
        0 <= permute32(number) < 2**32
        for number in (0, 1, PERMUTATION_PRIME // 2, PERMUTATION_PRIME - 1, PERMUTATION_PRIME, 2**32 - 1)
    )
    assert permute32(PERMUTATION_PRIME + 2) == PERMUTATION_PRIME + 2
    assert permute32(PERMUTATION_PRIME - 1) == PERMUTATION_PRIME - 1
    assert permute32(2) == 4


@given(seed=st.integers(0, 2**31), connections=st.integers(1, 50))
def test_unique_numbers_differ_between_all_connections_also_added_ones(seed: int, connections: int) -> None:
    drawn: list[int] = []
    for connection in range(connections + 5):
        draw = DrawSource(seed, connection).draw(Unique(connections=connections))
        drawn += [draw() for _ in range(40)]
    assert len(set(drawn)) == len(drawn)


def test_unique_numbers_wrap_into_all_bits() -> None:
    """However the counting starts, it goes on at 0 after 2³² - 1."""
    for seed in range(50):
        draw = DrawSource(seed, 0).draw(Unique(connections=2**31))
        numbers = [draw() for _ in range(2)]
        assert all(-(2**31) <= number < 2**31 for number in numbers)
        assert numbers[0] != numbers[1]


# Keying and think times: their lengths, and that they change nothing else; the headline beside them.


NEW_ORDER, PAYMENT, ORDER_STATUS = range(3)


def tpcc(**options: object) -> Program:
    return library.load_program("tpcc", options)


def test_keying_times_are_fixed_and_thinking_is_drawn_around_its_mean() -> None:
    pauses = Pauses(tpcc(think_time="on"), 1, 0)
    assert pauses.are_any
    assert [pauses.before(which) for which in range(5)] == [18, 3, 2, 2, 2]
    for which, mean in enumerate((12, 12, 10, 5, 5)):
        drawn = [pauses.after(which) for _ in range(20_000)]
        assert fmean(drawn) == pytest.approx(mean, rel=0.03)
        assert min(drawn) >= 0
        assert max(drawn) <= 10 * mean


def test_without_pauses_no_user_waits() -> None:
    pauses = Pauses(tpcc(), 1, 0)
    assert not pauses.are_any
    assert (pauses.before(NEW_ORDER), pauses.after(NEW_ORDER)) == (0, 0)


def test_pauses_change_no_statement() -> None:
    with_pauses, without = (
        Player(tpcc(think_time=flag, any_warehouse="on"), nothing, seed=3) for flag in ("on", "off")
    )
    for _ in range(20):
        with_pauses.generator.pauses.after(PAYMENT)
        assert with_pauses.generator.draw() == without.generator.draw()
        assert with_pauses.play(ORDER_STATUS) == without.play(ORDER_STATUS)


def test_every_connection_thinks_for_itself() -> None:
    program = tpcc(think_time="on")
    first, again, other = (Pauses(program, 1, connection).after(PAYMENT) for connection in (0, 0, 1))
    assert first == again != other


def test_the_headline_is_measured_against_its_ideal() -> None:
    assert tpcc(warehouses=10, think_time="on").headline == Headline(
        title="tpmC", transaction="new_order", note="not audited", ideal=128.6
    )
    doubtful = tpcc(warehouses=10).headline
    assert doubtful is not None
    assert doubtful.doubt == "a measure with --think-time and ten connections a warehouse only"
    assert doubtful.name == "tpmC (not audited)"
    totals = doubtful.measured(300, 120.0)
    assert totals.value == 150.0
    assert totals.efficiency == pytest.approx(150 / 1.286)
    assert library.load_program("oltp_read_write").headline is None


def test_an_ideal_of_nothing_is_refused() -> None:
    text = """
        name = "n"
        summary = "s"
        data_set = "sbtest"
        headline = { title = "T", transaction = "t", ideal = "tables - 1" }
        [[transactions]]
        name = "t"
        steps = [{ statements = [{ name = "s", sql = "SELECT 1" }] }]
    """
    with pytest.raises(UsageError, match="the ideal of a headline, tables - 1, is 0"):
        compile_profile(library.parse_profile(text, "n.toml"), {})


# The turns of one connection: their order, their end, and the logins between them.


def taken(turns: Turns) -> list[int]:
    taker, dealt = TurnSequence(turns), []
    while not taker.is_exhausted:
        dealt.append(taker.take())
    return dealt


def test_the_cycle_comes_round_and_the_ending_is_last() -> None:
    assert taken(Turns(cycle=(0, 1), count=5, ending=(2,))) == [0, 1, 0, 1, 0, 2]


def test_all_that_are_left_may_be_taken_at_a_stretch() -> None:
    taker = TurnSequence(Turns(cycle=(0,), count=2, ending=(1,)))
    told = [taker.uninterrupted]
    while not taker.is_exhausted:
        taker.take()
        told.append(taker.uninterrupted)
    assert told == [3, 2, 1, 0]


def test_where_new_logins_come_in_each_turn_is_to_be_looked_at() -> None:
    taker = TurnSequence(Turns(cycle=(0, 1), count=4, reconnect_at=frozenset({0})))
    left = []
    while not taker.is_exhausted:
        left.append(taker.needs_reconnect())
        assert taker.uninterrupted == 1
        taker.take()
    assert taker.uninterrupted == 0
    assert left == [False, False, True, False]
