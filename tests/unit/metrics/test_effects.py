"""Effects: their size, their cause and their words."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tests.ticks import measured_tick
from tests.tui.support.script import FLUSH, PRESETS, SYNC
from tests.unit.metrics import simulated
from tests.unit.metrics.noises import LEVEL, NOISES, ar1, slots, with_latencies
from tests.unit.metrics.simulated import share
from tuibench.metrics.attribution import attribute, logarithms, movement, swing
from tuibench.metrics.effect_detection import compare_windows, window_figures
from tuibench.metrics.figures import FIGURES, Figure, Ratio
from tuibench.metrics.inference import (
    RatioSeries,
    autocorrelation,
    block_length,
    bootstrap_interval,
    movement_reason,
    resample,
)
from tuibench.metrics.series import Ranks
from tuibench.model.counters import Counter
from tuibench.model.effect import Comparison, MovementKind, Verdict
from tuibench.model.settings import PresetState, ab_order, brief_change, preset_change
from tuibench.model.tick import RESPONSE, Tick, merge_histograms, total_tick

# Intervals that hold the truth as often as they say, and steps that are found, with the right sign.


WINDOW = 12


def of(figure: str, before: list[Tick], after: list[Tick], decides: str = "") -> Comparison:
    return next(one for one in compare_windows(before, after, decides=decides) if one.figure == figure)


def coverage(phi: float, window: int, repeats: int) -> float:
    """How often the interval of TPS holds the true difference of none, in a few thousand slots."""
    rng, held, runs = random.Random(7), 0, repeats * WINDOW // window
    for _ in range(runs):
        series = ar1(rng, 2 * window + 2, phi, 40.0)
        before = RatioSeries(series[:window], [1.0] * window)
        after = RatioSeries(series[window + 2 :], [1.0] * window)
        resampled = resample(before, after)
        deltas = [new - old for old, new in zip(resampled.before, resampled.after, strict=True)]
        low, high = bootstrap_interval(after.ratio - before.ratio, deltas, resampled.scale)
        held += low <= 0 <= high
    return held / runs


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("window", [WINDOW, 24])
@pytest.mark.parametrize(
    ("repeats", "low", "high"), [(40, 0.85, 1.0), pytest.param(300, 0.90, 0.99, marks=pytest.mark.whole)]
)
def test_the_interval_holds_the_truth_as_often_as_it_says(
    phi: float, window: int, repeats: int, low: float, high: float
) -> None:
    assert low <= coverage(phi, window, repeats) <= high


@pytest.mark.parametrize("runs", [30, pytest.param(100, marks=pytest.mark.whole)])
def test_the_p95_interval_holds_the_truth_as_often_as_it_says(runs: int) -> None:
    rng, held = random.Random(5), 0
    for _ in range(runs):
        before, after = (with_latencies(rng, slots([LEVEL] * WINDOW), 9_000, 150) for _ in range(2))
        held += not of("p95_ms", before, after).differs
    assert 0.90 <= held / runs <= 1.0


@pytest.mark.parametrize(("factor", "sign"), [(1.4, 1), (0.7, -1)])
def test_a_step_is_found_with_its_sign_and_size(factor: float, sign: int) -> None:
    rng, hits = random.Random(1), 0
    for _ in range(40):
        before = slots(ar1(rng, WINDOW, 0.3, 40.0))
        after = slots(ar1(rng, WINDOW, 0.3, 40.0 * factor, LEVEL * factor))
        found = of("tps", before, after)
        assert found.differs
        assert found.delta * sign > 0
        assert found.percent_low is not None
        assert found.percent_high is not None
        hits += found.percent_low <= 100 * (factor - 1) <= found.percent_high
    assert hits >= 36


def test_a_quicker_p95_is_found() -> None:
    rng = random.Random(2)
    before = with_latencies(rng, slots([LEVEL] * WINDOW), 20_000, 150)
    after = with_latencies(rng, slots([LEVEL] * WINDOW), 10_000, 150)
    found = of("p95_ms", before, after)
    assert found.differs
    assert found.percent == pytest.approx(-50, abs=6)
    assert found.low <= found.delta <= found.high < 0


def test_p95_is_that_of_the_merged_histograms() -> None:
    rng = random.Random(4)
    window = with_latencies(rng, slots([LEVEL] * 5), 9_000, 200)
    whole = merge_histograms(slot.hists[RESPONSE] for slot in window)
    found = window_figures(total_tick(window))["p95_ms"]
    assert found == pytest.approx(whole.percentiles((95,))[0] / 1000, rel=2e-3)


def test_fewer_fsyncs_for_each_transaction_are_found() -> None:
    found = of(
        "fsyncs_per_transaction", slots([LEVEL] * WINDOW, fsyncs=1.02), slots([LEVEL] * WINDOW, fsyncs=0.0)
    )
    assert found.before == pytest.approx(1.02)
    assert found.after == 0.0
    assert found.percent == pytest.approx(-100)
    assert found.differs


RATIOS = [
    (figure, source)
    for figure in FIGURES.values()
    if isinstance(source := figure.source, Ratio)
    and not set(source.above) & set(source.below)
    and figure.name != "throttled"
]


@for_each(("figure", "source"), RATIOS)
def test_any_ratio_of_the_table_is_compared_if_it_decides(figure: Figure, source: Ratio) -> None:
    rng = random.Random(5)

    def window(share: float, start: float) -> list[Tick]:
        sums = (
            dict.fromkeys(source.below, 1e6)
            | dict.fromkeys(source.above, 9e5 * share * rng.uniform(0.99, 1.01))
            for _ in range(WINDOW)
        )
        levels = {"threads": 8.0}
        return [Tick(end=start + n, seconds=1.0, sums=each, levels=levels) for n, each in enumerate(sums)]

    found = of(figure.key, window(1.0, 1.0), window(0.5, 14.0), decides=figure.name)
    assert found.percent == pytest.approx(-50, abs=2)
    assert found.verdict is Verdict.LOWER


def test_from_nothing_there_is_no_relative_change() -> None:
    found = of(
        "fsyncs_per_transaction", slots([LEVEL] * WINDOW, fsyncs=0.0), slots([LEVEL] * WINDOW, fsyncs=0.5)
    )
    assert found.percent is None
    assert found.differs


def test_what_was_not_measured_is_not_compared() -> None:
    window = slots([LEVEL] * WINDOW, fsyncs=None)
    assert [one.figure for one in compare_windows(window, window)] == ["tps"]
    assert window_figures(total_tick(window)) == {"tps": LEVEL}


@pytest.mark.parametrize(
    ("counts", "is_compared"), [((0, 1), False), ((9, 0), False), ((12, 0), True), ((0, 400), True)]
)
def test_a_few_fsyncs_by_chance_are_not_compared(counts: tuple[int, int], is_compared: bool) -> None:
    """A read-only load has an fsync now and then."""
    rng = random.Random(12)
    windows = []
    for count in counts:
        window = slots([LEVEL] * WINDOW, fsyncs=0.0)
        for place in (rng.randrange(WINDOW) for _ in range(count)):
            window[place].sums[Counter.OS_LOG_FSYNCS] += 1
        windows.append(window)
    found = {one.figure: one for one in compare_windows(*windows)}
    assert ("fsyncs_per_transaction" in found) == is_compared
    if is_compared:
        one = found["fsyncs_per_transaction"]
        assert -one.before <= one.low <= one.delta <= one.high


def test_zero_throughput_can_be_compared() -> None:
    found = of("tps", slots([0.0] * WINDOW), slots([LEVEL] * WINDOW))
    assert found.percent is None
    assert found.differs
    assert not of("tps", slots([0.0] * WINDOW), slots([0.0] * WINDOW)).differs


rates = st.lists(st.floats(0, 1e6), min_size=6, max_size=30)


@given(rates, rates)
def test_the_verdict_is_read_off_the_interval(before: list[float], after: list[float]) -> None:
    for found in compare_windows(slots(before), slots(after, first_end=len(before) + 2.0)):
        assert found.low <= found.delta <= found.high
        assert found.verdict is not Verdict.HIGHER or found.low > 0
        assert found.verdict is not Verdict.LOWER or found.high < 0
        assert found.movement is None or found.verdict is Verdict.CANNOT_TELL


def test_the_same_level_is_equal() -> None:
    rng = random.Random(6)
    before = slots(ar1(rng, 120, 0.2, 5.0))
    found = of("tps", before, slots(ar1(rng, WINDOW, 0.2, 5.0), first_end=123.0))
    assert (found.verdict, found.tolerance_percent) == (Verdict.EQUAL, 5.0)


def test_a_fall_that_goes_on_is_not_attributed() -> None:
    rng = random.Random(8)
    level = [LEVEL * math.exp(-0.02 * second) + rng.gauss(0, 5) for second in range(60)]
    found = of("tps", slots(level[:46]), slots(level[48:], first_end=49.0))
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.movement is not None
    assert found.movement.kind is MovementKind.TREND
    assert found.movement.percent == pytest.approx(-2, abs=0.2)
    assert movement_reason(found) == "TPS was falling by 2 %/s before the change"


def test_a_level_watched_too_briefly_to_know_its_movement_is_said_to_be_so() -> None:
    before = slots([90, 120, 95, 130, 100, 125, 105, 135])
    found = of("tps", before, slots([190, 150, 200, 160, 195, 155, 190, 165], first_end=12.0))
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.movement is not None
    assert (found.movement.kind, found.movement.percent) == (MovementKind.UNKNOWN, 0.0)
    assert movement_reason(found) == "TPS was watched for only 8 s before the change"


def test_a_movement_too_small_for_the_difference_is_not_its_explanation() -> None:
    rng = random.Random(8)
    before, after = ar1(rng, 18, 0.6, 30.0), ar1(rng, WINDOW, 0.6, 30.0)
    found = of("tps", slots(before), slots([0.9 * rate for rate in after], first_end=22.0))
    assert found.verdict is Verdict.CANNOT_TELL
    assert movement_reason(found).endswith("TPS was watched for only 18 s before the change")


def test_the_same_windows_give_the_same_interval() -> None:
    rng = random.Random(9)
    before, after = slots(ar1(rng, WINDOW, 0.3, 40.0)), slots(ar1(rng, WINDOW, 0.3, 40.0))
    assert compare_windows(before, after) == compare_windows(before, after)


# The parts


def test_more_alike_neighbours_make_longer_blocks() -> None:
    lengths = [block_length(phi, 24) for phi in (0.0, 0.3, 0.6, 0.9)]
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (1, 8)


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=30))
def test_autocorrelation_stays_in_its_bounds(values: list[float]) -> None:
    assert 0 < autocorrelation(values, values) <= 0.9


def test_autocorrelation_of_long_series_is_found() -> None:
    series = ar1(random.Random(1), 4000, 0.6, 10.0)
    assert autocorrelation(series) == pytest.approx(0.6, abs=0.04)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=200), st.floats(0, 1))
def test_ranks_agree_with_the_histogram(latencies: list[int], share: float) -> None:
    from tuibench.model.tick import Histogram, bucket_upper_bound

    histogram = Histogram.of(latencies)
    at = Ranks([histogram]).bucket_at(share)
    assert min(bucket_upper_bound(at), histogram.max_us) == histogram.percentiles((100 * share,))[0]


# A host that others use


def on_host(rates: list[float], foreign_cpu: float | None, start: float = 0.0) -> list[Tick]:
    rng = random.Random(4)
    return [
        measured_tick(start + place + 1, 1.0, rate * math.exp(rng.gauss(0, 0.01)), foreign_cpu=foreign_cpu)
        for place, rate in enumerate(rates)
    ]


@pytest.mark.parametrize(
    ("factor", "before", "after", "verdict"),
    [
        (1.2, 30.0, 10.0, Verdict.NOT_ONLY),
        (1.2, 30.0, 25.0, Verdict.HIGHER),
        (1.2, None, None, Verdict.HIGHER),
        (3.0, 30.0, 10.0, Verdict.HIGHER),
        (1.0, 10.0, 40.0, Verdict.CANNOT_TELL),
        (1.0, 10.0, 12.0, Verdict.EQUAL),
    ],
)
def test_what_others_took_of_the_host_is_not_the_changes_doing(
    factor: float, before: float | None, after: float | None, verdict: Verdict
) -> None:
    old = on_host([100.0] * 60, before)
    found = of("tps", old, on_host([100.0 * factor] * WINDOW, after, start=62.0))
    assert found.verdict is verdict
    is_host = found.movement is not None and found.movement.kind is MovementKind.HOST
    assert is_host == (verdict in (Verdict.NOT_ONLY, Verdict.CANNOT_TELL))
    if is_host:
        direction = "less" if (after or 0) < (before or 0) else "more"
        assert movement_reason(found).startswith("other programs took ")
        assert movement_reason(found).endswith(f" % {direction} CPU")


# Before and after: no false verdicts where the level moves, and the movement by its name.


@pytest.mark.whole
@pytest.mark.parametrize("repeats", [30, pytest.param(100, marks=pytest.mark.whole)])
@pytest.mark.parametrize("name", NOISES)
def test_a_change_without_effect_seldom_gets_a_verdict(name: str, repeats: int) -> None:
    rng = random.Random(1)
    by_chance = 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)
    found = [simulated.change(NOISES[name], rng) for _ in range(repeats)]
    assert share(one.verdict not in (Verdict.CANNOT_TELL, Verdict.NOT_ONLY) for one in found) <= by_chance


@pytest.mark.whole
@pytest.mark.parametrize("repeats", [30, pytest.param(100, marks=pytest.mark.whole)])
@pytest.mark.parametrize(("name", "power"), [("white", 0.9), ("AR 0.6", 0.85)])
def test_a_gain_of_a_fifth_is_found_on_a_steady_load(name: str, power: float, repeats: int) -> None:
    rng = random.Random(2)
    found = [simulated.change(NOISES[name], rng, effect=math.log(1.2)) for _ in range(repeats)]
    assert share(one.verdict is Verdict.HIGHER for one in found) >= power


@pytest.mark.parametrize("effect", [math.log(3), math.log(0.3)])
def test_a_large_effect_is_found_after_twelve_seconds(effect: float) -> None:
    rng = random.Random(3)
    found = [simulated.change(NOISES["white"], rng, effect=effect, before=12) for _ in range(30)]
    wanted = Verdict.HIGHER if effect > 0 else Verdict.LOWER
    assert share(one.verdict is wanted for one in found) >= 0.9


def noisy(levels: list[float], size: float = 0.01) -> list[float]:
    rng = random.Random(4)
    return [level + rng.gauss(0, size) for level in levels]


def test_a_fall_before_the_change_is_named_with_its_slope() -> None:
    falling = noisy([-0.03 * second for second in range(74)])
    found = attribute(falling[:60], falling[62:], 2)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.movement is not None
    assert found.movement.kind is MovementKind.TREND
    assert found.movement.size == pytest.approx(-0.03, abs=0.001)


def test_a_level_that_has_tripled_before_the_change_is_named_a_step() -> None:
    before = noisy([0.0] * 30 + [1.1] * 30)
    found = attribute(before, noisy([0.5] * 12), 2)
    assert found.movement is not None
    assert (found.movement.kind, found.movement.place) == (MovementKind.STEP, -30)


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        ([0.02 * second for second in range(60)], MovementKind.TREND),
        ([0.0] * 25 + [0.4] * 35, MovementKind.STEP),
        ([0.4 * (second % 15) / 15 for second in range(60)], MovementKind.SAWTOOTH),
    ],
)
def test_movements_have_their_names(levels: list[float], kind: MovementKind) -> None:
    found = movement(noisy(levels), 12, 2)
    assert found.kind is kind
    if kind is MovementKind.SAWTOOTH:
        assert found.place == pytest.approx(15, abs=1)


def test_the_swing_is_the_largest_difference_of_two_windows() -> None:
    assert swing([0.0] * 10 + [1.0] * 10, 5, 2) == 1.0
    assert swing([0.0, 1.0], 5, 2) == 0.0


def test_a_step_right_beside_the_change_is_not_its_effect() -> None:
    level = noisy([0.0] * 60 + [0.0] * 6 + [0.5] * 6)
    found = attribute(level[:60], level[60:], 2)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.movement is not None
    assert (found.movement.kind, found.movement.place) == (MovementKind.STEP, 8)


def test_two_long_steady_windows_are_equal() -> None:
    steady = noisy([0.0] * 144, 0.02)
    assert attribute(steady[:120], steady[120:], 0, tolerance=0.05).verdict is Verdict.EQUAL


def test_too_few_ticks_give_no_interval() -> None:
    found = attribute([0.0] * 5, [1.0] * 12, 2)
    assert (found.verdict, found.interval.low) == (Verdict.CANNOT_TELL, -math.inf)


def test_zero_throughput_is_replaced_by_half_the_smallest_unit() -> None:
    before, after = logarithms([0.0, 100.0, 100.0], [10.0, 10.0, 0.0])
    assert before == pytest.approx([math.log(0.5), math.log(100), math.log(100)])
    assert after == pytest.approx([math.log(10), math.log(10), math.log(0.5)])
    assert logarithms([0.0], [], [0.0]) == [[0.0], [], [0.0]]


series = st.lists(st.floats(-3, 3), min_size=6, max_size=130)


@given(series, series, st.integers(0, 30), st.floats(0, 0.2))
def test_any_series_gets_an_interval_around_its_estimate(
    before: list[float], after: list[float], gap: int, tolerance: float
) -> None:
    found = attribute(before, after, gap, tolerance=tolerance)
    assert found.interval.low <= found.interval.estimate <= found.interval.high
    if found.verdict is Verdict.HIGHER:
        assert found.interval.low > 0


@given(series, series, st.integers(0, 30), st.floats(-5, 5))
def test_a_common_level_changes_nothing(
    before: list[float], after: list[float], gap: int, shift: float
) -> None:
    plain = attribute(before, after, gap)
    moved = attribute([level + shift for level in before], [level + shift for level in after], gap)
    assert moved.interval.estimate == pytest.approx(plain.interval.estimate, abs=1e-6)


@pytest.mark.whole
@pytest.mark.parametrize("period", [12, 18, 26])
def test_an_edge_of_a_sawtooth_beside_the_change_is_named_as_its_own(period: int) -> None:
    """Nothing is attributed; where a movement is named, it is the sawtooth, and not a step at its edge."""
    rng, found = random.Random(period), []
    for begin in range(30):
        levels = [-0.4 * ((second + begin * period / 30) % period) / period for second in range(110)]
        noisily = [level + rng.gauss(0, 0.02) for level in levels]
        found.append(attribute(noisily[:90], noisily[92 : 92 + 8], 2))
    assert all(one.verdict is Verdict.CANNOT_TELL for one in found)
    named = [one.movement for one in found if one.movement is not None]
    assert len(named) >= 15
    assert share(one.kind is MovementKind.SAWTOOTH for one in named) >= 0.9
    assert all(abs(one.place - period) <= 2 for one in named if one.kind is MovementKind.SAWTOOTH)


# Texts of changes: which values a preset changed, their short forms, and the A/B test that repeats them.


UNSAFE = "preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0"


def test_a_preset_names_the_values_that_changed() -> None:
    both = [("flush_log", "1", "0"), (SYNC, "1", "0")]
    assert preset_change("unsafe", both) == UNSAFE
    assert (
        preset_change("unsafe", [("flush_log", "0", "0"), (SYNC, "1", "0")])
        == "preset unsafe: sync_binlog 1 → 0"
    )
    assert preset_change("unsafe", [("flush_log", "0", "0")]) == "preset unsafe: no value changed"
    assert preset_change("unsafe", [("flush_log", "", "0")]) == "preset unsafe: flush_log ? → 0"


@pytest.mark.parametrize(
    ("change", "order"),
    [
        (UNSAFE, "preset=durable,unsafe"),
        ("preset unsafe: flush_log 2 → 0, sync_binlog 100 → 0", "preset=relaxed,unsafe"),
        ("preset unsafe: sync_binlog 1 → 0", "sync_binlog=1,0"),
        ("preset unsafe: flush_log 2 → 0, sync_binlog 7 → 0", f"{FLUSH}+{SYNC}=2+7,0+0"),
        ("preset unsafe: flush_log ? → 0, sync_binlog 7 → 0", ""),
        ("preset unsafe: no value changed", ""),
        ("preset gone: flush_log 1 → 0", ""),
        ("preset night: sync_binlog 1 → 0", "preset=durable,night"),
        ("threads 32 → 64", "threads=32,64"),
        (f"{SYNC} 1 → 0", "sync_binlog=1,0"),
        (f"{UNSAFE}; threads 32 → 64", ""),
    ],
)
def test_a_change_between_two_presets_can_be_alternated(change: str, order: str) -> None:
    night = PresetState(name="night", values={FLUSH: "1", SYNC: "0"}, risk="")
    assert ab_order(change, (*PRESETS, night)) == order


@pytest.mark.parametrize(
    ("change", "width", "brief"),
    [
        (UNSAFE, 49, UNSAFE),
        (UNSAFE, 48, "preset unsafe"),
        (f"{FLUSH} 1 → 0", 24, "innodb_flush_log_… 1 → 0"),
        (f"{FLUSH} 1 → 0", 16, f"{FLUSH} 1 → 0"),
        ("innodb_io_capacity 200 → 4000 (requested 4001: a multiple)", 28, "innodb_io_capaci… 200 → 4000"),
        ("load started with 16 threads", 9, "load started with 16 threads"),
        (f"threads 8 → 16; 'SET …' begins; {FLUSH} 1 → 0", 35, "innodb_flush_log_… 1 → 0 and 2 more"),
    ],
)
def test_a_brief_change_loses_no_value_that_it_begins(change: str, width: int, brief: str) -> None:
    assert brief_change(change, width) == brief
