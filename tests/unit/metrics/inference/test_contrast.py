"""Two runs against each other: verdicts as sure as they claim, in the right direction, for every figure."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.unit.metrics.noise import LEVEL, ar1
from tuibench.metrics.figures import FIGURES, MAIN_FIGURES
from tuibench.metrics.inference.contrast import FEWEST_SLOTS, compare_figure, merge_ticks
from tuibench.model.histogram import Histogram, merge_histograms
from tuibench.model.results.comparison import ComparisonVerdict
from tuibench.model.tick import Tick, total_tick

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
