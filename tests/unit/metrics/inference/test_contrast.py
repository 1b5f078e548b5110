"""Two runs against each other: verdicts as sure as they claim, in the right direction, for every figure."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.metrics.noise import LEVEL, ar1
from tuibench.metrics.inference.contrast import (
    FEWEST_SLOTS,
    METRICS,
    METRICS_BY_NAME,
    TickTotals,
    compare_metric,
    merge_ticks,
    metric_value,
)
from tuibench.model.histogram import Histogram, merge_histograms
from tuibench.model.results.comparison import ComparisonVerdict

TICKS = 40


def run(
    seed: int = 1, factor: float = 1.0, count: int = TICKS, *, latencies: bool = False
) -> list[TickTotals]:
    """A run at `factor` times the usual rate, or at as much the usual latency."""
    rng = random.Random(seed)
    rates = ar1(rng, count, 0.3, 40.0 * factor, LEVEL * factor)
    return [
        TickTotals(
            1.0,
            rate,
            20 * rate,
            2.0,
            Histogram.of(
                [round(rng.lognormvariate(9.0, 0.4) * (factor if latencies else 1)) for _ in range(80)]
            ),
            log_fsyncs=rate * 0.9,
            server_cpu_ms=400.0,
        )
        for rate in rates
    ]


@pytest.mark.parametrize("name", ["tps", "qps"])
@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, ComparisonVerdict.BETTER), (0.8, ComparisonVerdict.WORSE)]
)
def test_more_throughput_is_better(name: str, factor: float, verdict: ComparisonVerdict) -> None:
    found = compare_metric(METRICS_BY_NAME[name], run(), run(2, factor))
    assert found.verdict is verdict
    assert found.relative == pytest.approx(factor, rel=0.03)
    assert found.percent is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.percent < found.high
    assert found.percent == pytest.approx(100 * (factor - 1), abs=3)


@pytest.mark.parametrize("name", ["p50", "p95", "p99"])
@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.6, ComparisonVerdict.WORSE), (0.6, ComparisonVerdict.BETTER)]
)
def test_less_latency_is_better(name: str, factor: float, verdict: ComparisonVerdict) -> None:
    found = compare_metric(METRICS_BY_NAME[name], run(latencies=True), run(2, factor, latencies=True))
    assert found.verdict is verdict
    assert found.relative == pytest.approx(factor, rel=0.15)


def test_two_runs_of_the_same_load_rarely_differ_significantly() -> None:
    pairs, judged = 30, ("tps", "p50", "p95")
    found = [
        compare_metric(METRICS_BY_NAME[name], first, second).verdict
        for first, second in ((run(2 * seed), run(2 * seed + 1)) for seed in range(pairs))
        for name in judged
    ]
    assert sum(map(found.count, (ComparisonVerdict.EQUAL, ComparisonVerdict.CANNOT_TELL))) >= 0.88 * len(
        found
    )


def test_the_same_run_is_no_different_from_itself() -> None:
    for metric in METRICS:
        found = compare_metric(metric, run(), run())
        assert found.verdict in (ComparisonVerdict.EQUAL, ComparisonVerdict.CANNOT_TELL)
        assert (found.relative, found.percent) == (1.0, 0.0)


def test_the_same_runs_give_the_same_interval() -> None:
    first, second = (compare_metric(METRICS_BY_NAME["p95"], run(), run(2, 1.1)) for _ in range(2))
    assert first == second


def test_errors_are_a_share_of_all_attempts() -> None:
    ticks = [tick._replace(errors=tick.transactions / 3) for tick in run()]
    assert metric_value(METRICS_BY_NAME["errors"], ticks) == pytest.approx(25.0)


def test_errors_after_none_at_all_are_worse_without_a_percentage() -> None:
    clean = [tick._replace(errors=0.0) for tick in run()]
    found = compare_metric(METRICS_BY_NAME["errors"], clean, run(2))
    assert (found.verdict, found.percent, found.relative) == (ComparisonVerdict.WORSE, None, None)
    assert compare_metric(METRICS_BY_NAME["errors"], clean, clean).relative == 1.0


@pytest.mark.parametrize("name", ["cpu", "fsyncs"])
def test_what_one_run_did_not_measure_is_unknown(name: str) -> None:
    blind = [tick._replace(log_fsyncs=None, server_cpu_ms=None) for tick in run()]
    metric = METRICS_BY_NAME[name]
    assert metric_value(metric, blind) is None
    assert compare_metric(metric, run(), blind).verdict is ComparisonVerdict.CANNOT_TELL
    here = compare_metric(metric, blind, run())
    assert (here.verdict, here.relative) == (ComparisonVerdict.CANNOT_TELL, None)
    assert here.value == metric_value(metric, run())


def test_a_run_that_is_too_short_is_measured_but_not_judged() -> None:
    found = compare_metric(METRICS_BY_NAME["tps"], run(), run(2, 3.0, FEWEST_SLOTS - 1))
    assert (found.verdict, found.low) == (ComparisonVerdict.CANNOT_TELL, None)
    assert found.relative == pytest.approx(3.0, rel=0.1)


@pytest.mark.parametrize("ticks", [[], [TickTotals(1.0, 0.0, 0.0, 0.0, Histogram())]])
def test_a_run_without_a_transaction_has_no_latency(ticks: list[TickTotals]) -> None:
    assert metric_value(METRICS_BY_NAME["p95"], ticks) is None
    assert compare_metric(METRICS_BY_NAME["p95"], run(), ticks).verdict is ComparisonVerdict.CANNOT_TELL
    assert compare_metric(METRICS_BY_NAME["tps"], run(), ticks).verdict is ComparisonVerdict.CANNOT_TELL


@given(st.integers(0, 30), st.integers(1, 12))
def test_adding_neighbours_up_loses_nothing(count: int, most: int) -> None:
    ticks = run(count=count)
    added = merge_ticks(ticks, count, most)
    assert len(added) <= most
    assert sum(tick.transactions for tick in added) == pytest.approx(sum(tick.transactions for tick in ticks))
    assert merge_histograms(tick.latency for tick in added) == merge_histograms(
        tick.latency for tick in ticks
    )


def test_a_sum_with_a_gap_in_it_is_none() -> None:
    ticks = run(count=4)
    ticks[1] = ticks[1]._replace(log_fsyncs=None)
    assert [tick.log_fsyncs is None for tick in merge_ticks(ticks, 4, 2)] == [True, False]
