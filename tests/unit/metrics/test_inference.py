"""Estimates with intervals: means, contrasts, verdicts, change points."""

import math
import random
from collections.abc import Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import sweeps
from tests.unit.metrics import simulated
from tests.unit.metrics.noises import LEVEL, ar1, white
from tests.unit.metrics.simulated import share
from tuibench.features.compare.history import change_points, first_alarm
from tuibench.features.sweep.planning import all_cells
from tuibench.metrics.figures import FIGURES, MAIN_FIGURES
from tuibench.metrics.inference import (
    FEWEST_SLOTS,
    STARTS_LEVEL,
    LogInterval,
    Scale,
    compare,
    compare_figure,
    estimate_mean,
    mean_with_interval,
    merge_ticks,
    sweep_points,
    two_sided,
)
from tuibench.metrics.stalls import steadiness
from tuibench.model.effect import Verdict
from tuibench.model.findings import Stall, Steadiness
from tuibench.model.summary import ComparisonVerdict
from tuibench.model.tick import Histogram, Tick, merge_histograms, total_tick

# Two runs against each other: verdicts as sure as they claim, in the right direction, for every figure.


SECONDS = (1.0, 0.5, 3.0)
"""Ticks of a run differ in length."""
TICKS = 40


def run(seed: int = 1, factor: float = 1.0, count: int = TICKS, *, latencies: bool = False) -> list[Tick]:
    """A run at `factor` times the usual rate, or at as much the usual latency."""
    rng = random.Random(seed)
    rates = ar1(rng, count, 0.3, 40.0 * factor, LEVEL * factor)
    ticks, end = [], 0.0
    for number, rate in enumerate(rates):
        seconds = SECONDS[number % len(SECONDS)]
        end += seconds
        done = rate * seconds
        us = [round(rng.lognormvariate(9.0, 0.4) * (factor if latencies else 1)) for _ in range(80)]
        ticks.append(
            Tick(
                end=end,
                seconds=seconds,
                sums={
                    "completed": done,
                    "queries": 20 * done,
                    "error.1213": 2.0,
                    "server.completed": done,
                    "Innodb_os_log_fsyncs": done * 0.9,
                    "host.completed": done,
                    "host.server_cpu": 0.4 * seconds,
                },
                hists={"response": Histogram.of(us)},
            )
        )
    return ticks


def without(ticks: list[Tick], *names: str) -> list[Tick]:
    return [
        replace(tick, sums={name: tick.sums[name] for name in tick.sums if name not in names})
        for tick in ticks
    ]


@pytest.mark.parametrize("name", ["tps", "qps"])
@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, ComparisonVerdict.BETTER), (0.8, ComparisonVerdict.WORSE)]
)
def test_more_throughput_is_better(name: str, factor: float, verdict: ComparisonVerdict) -> None:
    found = compare_figure(FIGURES[name], run(), run(2, factor))
    assert found.verdict is verdict
    assert found.relative == pytest.approx(factor, rel=0.06)
    assert found.percent is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.percent < found.high
    assert found.percent == pytest.approx(100 * (factor - 1), abs=6)


@pytest.mark.parametrize("name", ["p50", "p95", "p99"])
@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.6, ComparisonVerdict.WORSE), (0.6, ComparisonVerdict.BETTER)]
)
def test_less_latency_is_better(name: str, factor: float, verdict: ComparisonVerdict) -> None:
    found = compare_figure(FIGURES[name], run(latencies=True), run(2, factor, latencies=True))
    assert found.verdict is verdict
    assert found.relative == pytest.approx(factor, rel=0.15)


@pytest.mark.whole
def test_two_runs_of_the_same_load_rarely_differ_significantly() -> None:
    pairs, judged = 30, ("tps", "p50", "p95")
    found = [
        compare_figure(FIGURES[name], first, second).verdict
        for first, second in ((run(2 * seed), run(2 * seed + 1)) for seed in range(pairs))
        for name in judged
    ]
    assert sum(map(found.count, (ComparisonVerdict.EQUAL, ComparisonVerdict.CANNOT_TELL))) >= 0.88 * len(
        found
    )


def test_the_same_run_is_no_different_from_itself() -> None:
    for figure in MAIN_FIGURES:
        found = compare_figure(figure, run(), run())
        assert found.verdict in (ComparisonVerdict.EQUAL, ComparisonVerdict.CANNOT_TELL)
        assert (found.relative, found.percent) == (1.0, 0.0)


def test_the_same_runs_give_the_same_interval() -> None:
    first, second = (compare_figure(FIGURES["p95"], run(), run(2, 1.1)) for _ in range(2))
    assert first == second


def test_errors_are_a_share_of_all_attempts() -> None:
    ticks = [replace(tick, sums=tick.sums | {"error.1213": tick.sums["completed"] / 3}) for tick in run()]
    assert FIGURES["errors_percent"].value(total_tick(ticks)) == pytest.approx(25.0)


def test_errors_after_none_at_all_are_worse_without_a_percentage() -> None:
    clean = without(run(), "error.1213")
    found = compare_figure(FIGURES["errors_percent"], clean, run(2))
    assert (found.verdict, found.percent, found.relative) == (ComparisonVerdict.WORSE, None, None)
    assert compare_figure(FIGURES["errors_percent"], clean, clean).relative == 1.0


@pytest.mark.parametrize("name", ["cpu", "fsyncs"])
def test_what_one_run_did_not_measure_is_unknown(name: str) -> None:
    blind = without(run(), "Innodb_os_log_fsyncs", "host.server_cpu")
    figure = FIGURES[name]
    assert figure.value(total_tick(blind)) is None
    assert compare_figure(figure, run(), blind).verdict is ComparisonVerdict.CANNOT_TELL
    here = compare_figure(figure, blind, run())
    assert (here.verdict, here.relative) == (ComparisonVerdict.CANNOT_TELL, None)
    assert here.value == pytest.approx(figure.value(total_tick(run())))


def test_a_run_that_is_too_short_is_measured_but_not_judged() -> None:
    found = compare_figure(FIGURES["tps"], run(), run(2, 3.0, FEWEST_SLOTS - 1))
    assert (found.verdict, found.low) == (ComparisonVerdict.CANNOT_TELL, None)
    assert found.relative == pytest.approx(3.0, rel=0.1)


@pytest.mark.parametrize("ticks", [[], [Tick(end=1.0, seconds=1.0, sums={"completed": 0, "queries": 0})]])
def test_a_run_without_a_transaction_has_no_latency(ticks: list[Tick]) -> None:
    assert FIGURES["p95"].value(total_tick(ticks)) is None
    assert compare_figure(FIGURES["p95"], run(), ticks).verdict is ComparisonVerdict.CANNOT_TELL
    assert compare_figure(FIGURES["tps"], run(), ticks).verdict is ComparisonVerdict.CANNOT_TELL


@given(st.integers(0, 30), st.integers(1, 12))
def test_adding_neighbours_up_loses_nothing(count: int, most: int) -> None:
    ticks = run(count=count)
    added = merge_ticks(ticks, most)
    assert len(added) <= most
    assert total_tick(added).sums == pytest.approx(total_tick(ticks).sums)
    assert merge_histograms(tick.hist("response") for tick in added) == merge_histograms(
        tick.hist("response") for tick in ticks
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tps", 60 / 4.5), ("fsyncs", 54 / 60), ("cpu", 1e3 * 1.8 / 60)],
)
def test_ticks_count_by_their_length(name: str, expected: float) -> None:
    ticks = [
        Tick(
            end=sum(SECONDS[: place + 1]),
            seconds=seconds,
            sums={
                "completed": done,
                "server.completed": done,
                "Innodb_os_log_fsyncs": 0.9 * done,
                "host.completed": done,
                "host.server_cpu": 0.4 * seconds,
            },
        )
        for place, (seconds, done) in enumerate(zip(SECONDS, (10, 20, 30), strict=True))
    ]
    figure = FIGURES[name]
    assert figure.value(total_tick(ticks)) == pytest.approx(expected)
    assert compare_figure(figure, run(), ticks * 3).value == pytest.approx(expected)


# Verdicts are read off an interval; levels of zero have a scale of their own.


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.05, Verdict.HIGHER),
        (0.001, 0.01, Verdict.HIGHER),
        (-0.05, -0.01, Verdict.LOWER),
        (-0.015, 0.015, Verdict.EQUAL),
        (0.0, 0.0, Verdict.EQUAL),
        (-0.03, 0.01, Verdict.CANNOT_TELL),
        (-math.inf, math.inf, Verdict.CANNOT_TELL),
    ],
)
def test_the_words_of_an_interval(low: float, high: float, verdict: Verdict) -> None:
    assert LogInterval((low + high) / 2, low, high).verdict(0.02) is verdict


def test_without_a_tolerance_nothing_is_equal() -> None:
    assert LogInterval(0.0, -1e-9, 1e-9).verdict() is Verdict.CANNOT_TELL


def test_bounds_in_percent_are_relative_differences() -> None:
    assert LogInterval(math.log(1.5), math.log(0.5), 1e9).percent == pytest.approx((50, -50, math.inf))


def test_zero_makes_differences_shares_of_the_first_side() -> None:
    scale = Scale.of([2.0, 2.0], [0.0, 0.0])
    assert scale.interval(scale(0.0) - scale(2.0), 0.5).percent == pytest.approx((-100, -100, -50))
    assert Scale.of([0.0], [0.0])(0.0) == 0.0


# Groups of starts: a start is one observation, and one start says nothing about the next.


REPEATS = 300
BY_CHANCE = 0.05 + 2 * math.sqrt(0.05 * 0.95 / REPEATS)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_equal_servers_seldom_differ(count: int, ratio: float) -> None:
    rng = random.Random(1)
    assert share(simulated.starts_differ(rng, count, ratio=ratio) for _ in range(REPEATS)) <= BY_CHANCE


def test_a_gain_of_a_fifth_is_found_with_five_starts() -> None:
    rng = random.Random(2)
    assert share(simulated.starts_differ(rng, 5, effect=math.log(1.2)) for _ in range(100)) >= 0.9


def test_many_runs_of_one_start_are_no_verdict() -> None:
    found = compare([[100.0, 101.0, 99.0] * 10], [[150.0, 151.0, 149.0] * 10])
    assert found.verdict(0.02) is Verdict.CANNOT_TELL
    assert found.percent.estimate == pytest.approx(50, abs=0.1)
    assert found.low == -math.inf


levels = st.lists(st.floats(50, 200), min_size=2, max_size=8, unique=True)


@pytest.mark.whole
@given(levels, levels)
def test_it_is_welchs_interval_of_the_logarithms(first: list[float], other: list[float]) -> None:
    logs = [[math.log(level) for level in group] for group in (other, first)]
    if min(map(max, logs)) - min(map(min, logs)) < 1e-6:
        return
    from scipy import stats  # an import of seconds, which every test process would do

    expected = stats.ttest_ind(*logs, equal_var=False).confidence_interval(1 - STARTS_LEVEL)
    found = compare([[level] for level in first], [[level] for level in other])
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.03 * width)
    assert found.high == pytest.approx(expected.high, abs=0.03 * width)


def test_figures_of_zero_are_compared() -> None:
    zero = [[0.0], [0.0]]
    assert compare(zero, zero).verdict(0.02) is Verdict.EQUAL
    assert compare([[1.0], [1.0]], zero).verdict() is Verdict.LOWER


# How well the level of a series is known: the interval must hold the truth, and narrow as ticks come in.


@pytest.mark.parametrize(("phi", "share"), [(0.0, 0.95), (0.35, 0.95), (0.6, 0.9)])
def test_the_interval_holds_the_truth(phi: float, share: float) -> None:
    rng = random.Random(5)
    runs, held = 400, 0
    for _ in range(runs):
        level = estimate_mean(ar1(rng, 10, phi, 20.0))
        held += abs(level.value / LEVEL - 1) <= level.margin
    assert held >= share * runs


def test_more_ticks_make_it_narrower() -> None:
    values = ar1(random.Random(1), 40, 0.3, 20.0)
    widths = [estimate_mean(values[:count]).margin for count in (5, 10, 20, 40)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.02


@pytest.mark.parametrize("values", [[], [1.0, 2.0, 3.0], [0.0] * 9])
def test_too_little_is_no_interval(values: list[float]) -> None:
    assert estimate_mean(values).margin == math.inf


# Steadiness: percentiles of single seconds, and stalls.


def of_rates(rates: list[float], seconds: float = 1.0, stalls: Sequence[Stall] = ()) -> Steadiness | None:
    return steadiness([seconds] * len(rates), [rate * seconds for rate in rates], stalls)


def test_percentiles_are_those_of_single_seconds() -> None:
    found = of_rates([float(rate) for rate in range(1, 201)])
    assert found is not None
    assert (found.p1, found.p50, found.p99) == (2.0, 100.0, 198.0)


def test_short_ticks_are_added_up_to_seconds() -> None:
    found = of_rates([0.0, 200.0] * 20, seconds=0.5)
    assert found is not None
    assert (found.p1, found.p99, found.variation) == (100.0, 100.0, 0.0)


def test_the_longest_stall_is_named() -> None:
    stalls = (Stall(10.2, 12.9), Stall(22.0, 23.0))
    found = of_rates([100.0] * 24, stalls=stalls)
    assert found is not None
    assert found.stalls == stalls
    assert found.longest_stall_seconds == pytest.approx(2.7)


def test_a_steady_run_has_no_variation() -> None:
    found = of_rates([100.0] * 5)
    assert found is not None
    assert (found.variation, found.stalls, found.longest_stall_seconds) == (0.0, (), 0.0)


@pytest.mark.parametrize("rates", [[], [0.0, 0.0]])
def test_without_throughput_there_is_nothing_to_vary(rates: list[float]) -> None:
    found = of_rates(rates)
    assert found is None or (found.variation is None and found.stalls == ())


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=100), st.sampled_from([0.1, 0.5, 1.0, 5.0]))
def test_figures_are_in_order(rates: list[float], seconds: float) -> None:
    found = of_rates(rates, seconds)
    if found is None:
        assert len(rates) * seconds < 1
        return
    assert found.p1 <= found.p50 <= found.p99


# Repeats taken together: mean, Student's interval, and what is left out.


def test_a_single_run_has_no_interval() -> None:
    assert mean_with_interval([5.0]).half_width is None


def test_three_runs_have_students_interval() -> None:
    mean = mean_with_interval([9.0, 10.0, 11.0])
    assert (mean.mean, mean.count) == (10.0, 3)
    assert mean.half_width == pytest.approx(4.3027 * 1.0 / 3**0.5, rel=1e-4)


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=2, max_size=8), st.floats(1.0, 50.0))
def test_the_interval_scales_with_the_values(values: list[float], factor: float) -> None:
    once, scaled = mean_with_interval(values), mean_with_interval([factor * value for value in values])
    assert once.half_width is not None
    assert scaled.half_width == pytest.approx(factor * once.half_width, rel=1e-6, abs=1e-6)


def test_points_stand_in_the_order_of_the_plan_whatever_ran_first() -> None:
    results = tuple(reversed(sweeps.sweep().results))
    known = sweep_points(sweeps.PLAN, results)
    assert [(point.variant.name, point.threads) for point in known] == [
        ("durable 1/1", 4),
        ("durable 1/1", 8),
        ("unsafe 0/0", 4),
        ("unsafe 0/0", 8),
    ]
    assert known[0].figures["headline"].mean == 100.0
    assert known[0].figures["headline"].count == 2


def test_failed_cells_and_unknown_figures_are_in_no_mean() -> None:
    first, second, *_ = all_cells(sweeps.PLAN)
    done = sweeps.result(first, 50.0)
    (point,) = sweep_points(sweeps.PLAN, (done, sweeps.failed(second)))
    assert point.figures["headline"].count == 1
    assert "memory_used_bytes" not in point.figures


def test_the_cost_of_an_operation_is_a_figure_where_it_is_known() -> None:
    first, second, *_ = all_cells(sweeps.PLAN)
    results = [
        sweeps.costing(sweeps.result(cell), server_cpu_us=us)
        for cell, us in ((first, 400.0), (second, 600.0))
    ]
    (point,) = sweep_points(sweeps.PLAN, results)
    assert point.figures["server_cpu_us_per_transaction"].mean == 500.0
    assert point.figures["server_cpu_us_per_query"].mean == 25.0
    assert "binlog_bytes_per_transaction" not in point.figures


def test_one_limited_run_makes_its_point_limited() -> None:
    first, second, *_ = all_cells(sweeps.PLAN)
    (point,) = sweep_points(sweeps.PLAN, (sweeps.result(first), sweeps.result(second, limited=True)))
    assert point.limited


# Histories: steps are found where they are, and seldom where there are none.


def test_steps_are_found_at_their_runs() -> None:
    levels = white(random.Random(1), 120, 0.03)
    levels = [level + (-0.1 if 40 <= place < 90 else 0.0) for place, level in enumerate(levels)]
    found = change_points(levels)
    assert [point.place for point in found] == pytest.approx([40, 90], abs=2)
    assert [point.change for point in found] == pytest.approx([-0.1, 0.1], abs=0.02)


def test_a_steady_history_has_next_to_none() -> None:
    rng = random.Random(2)
    assert fmean(len(change_points(white(rng, 200, 0.03))) for _ in range(20)) <= 1


def test_a_planted_fall_is_seen_within_five_runs_on_average() -> None:
    rng = random.Random(3)
    seen = [simulated.runs_until_found(rng, 40, 15) for _ in range(200)]
    assert fmean(15 if one is None else one for one in seen) <= 5


@pytest.mark.whole
def test_two_hundred_steady_runs_give_at_most_one_alarm() -> None:
    rng = random.Random(4)
    assert fmean(simulated.false_alarms(rng, 200) for _ in range(30)) <= 1


def test_an_alarm_says_where_the_shift_began_and_how_large_it_is() -> None:
    levels = [0.01 * (-1) ** place for place in range(30)] + [-0.1] * 4
    alarm = first_alarm(levels, math.log(0.95), 20)
    assert alarm is not None
    assert (alarm.place, alarm.seen) == (30, 30)
    assert alarm.change == pytest.approx(-0.1, abs=0.001)


@pytest.mark.parametrize("fall", [-0.2, -1.0, -4.0])
def test_a_huge_shift_is_seen_as_soon_as_a_large_one(fall: float) -> None:
    levels = [0.03 * (-1) ** place for place in range(1, 21)] + [fall] * 6
    alarm = first_alarm(levels, math.log(0.95), 10)
    assert alarm is not None
    assert (alarm.place, alarm.seen) == (20, 21)


def test_a_gain_is_no_fall_and_what_was_before_is_not_new() -> None:
    levels = [0.01 * (-1) ** place for place in range(30)] + [-0.1] * 30
    assert first_alarm(levels, -math.log(0.95), 10) is None
    assert first_alarm(levels, math.log(0.95), 45) is None


@pytest.mark.parametrize("levels", [[], [1.0], [1.0] * 5, [1.0] * 50])
def test_without_a_difference_there_is_no_change(levels: list[float]) -> None:
    assert change_points(levels) == []
    assert first_alarm(levels, -0.05) is None


@given(st.lists(st.floats(-2, 2), max_size=60), st.floats(-5, 5))
def test_places_are_ordered_and_do_not_depend_on_the_level(levels: list[float], shift: float) -> None:
    places = [point.place for point in change_points(levels)]
    assert places == sorted(set(places))
    assert all(3 <= place <= len(levels) - 3 for place in places)
    assert [point.place for point in change_points([-level for level in levels])] == places


# Quantiles of Student's t against scipy's.


students_t_levels = st.floats(1e-4, 0.5)


def exact_quantile(level: float, degrees: float) -> float:
    from scipy import stats

    return float(stats.t.isf(level / 2, degrees))


@given(students_t_levels, st.floats(2, 1e5))
def test_it_agrees_with_scipy(level: float, degrees: float) -> None:
    assert two_sided(level, degrees) == pytest.approx(exact_quantile(level, degrees), rel=2e-3)


@given(st.floats(0.001, 0.1), st.floats(1, 2))
def test_between_one_and_two_degrees_it_is_interpolated(level: float, degrees: float) -> None:
    exact = exact_quantile(level, degrees)
    assert exact * (1 - 1e-8) <= two_sided(level, degrees) <= 1.05 * exact


@pytest.mark.parametrize(("level", "degrees"), [(0.0, 3), (1.0, 3), (0.05, 0.5)])
def test_what_has_no_quantile_is_refused(level: float, degrees: float) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        two_sided(level, degrees)
