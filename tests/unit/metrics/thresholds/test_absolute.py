"""Thresholds: how they are written, and which figures cross them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import summary
from tuibench.errors import UsageError
from tuibench.metrics.thresholds.absolute import (
    THRESHOLD_EXAMPLES,
    ThresholdFigures,
    crossed_thresholds,
    parse_threshold,
    threshold_figures,
)
from tuibench.model.histogram import Histogram
from tuibench.model.results.summary import ErrorTotals, TransactionTotals

LATENCIES = Histogram.of([1_000] * 90 + [60_000] * 9 + [2_000_000])
FIGURES = threshold_figures(
    summary(
        transactions=TransactionTotals(total=998, per_second=499.0),
        errors=ErrorTotals(total=2, by_code={"1213": 2}),
        scheduled=1000,
        failed=1,
        abandoned=1,
        retries=1,
        reconnects=3,
    ),
    LATENCIES,
)
NOTHING = ThresholdFigures(Histogram(), {"tps": 0.0, "errors": 0.0}, {"errors": 0.0})


@pytest.mark.parametrize(
    ("text", "figure", "operator", "limit", "unit"),
    [
        ("p95>50ms", "p95", ">", 50, "ms"),
        ("p95>50", "p95", ">", 50, "ms"),
        (" P99.9 >= 1.5 s ", "p99.9", ">=", 1500, "ms"),
        ("p50<.5ms", "p50", "<", 0.5, "ms"),
        ("p100<=250us", "p100", "<=", 0.25, "ms"),
        ("max>250µs", "max", ">", 0.25, "ms"),
        ("avg>3", "avg", ">", 3, "ms"),
        ("tps<500", "tps", "<", 500, "/s"),
        ("qps<1000/s", "qps", "<", 1000, "/s"),
        ("errors>0", "errors", ">", 0, ""),
        ("errors>0.1%", "errors", ">", 0.1, "%"),
        ("failed > 1 %", "failed", ">", 1, "%"),
        ("reconnects>0", "reconnects", ">", 0, ""),
    ],
)
def test_what_is_understood(text: str, figure: str, operator: str, limit: float, unit: str) -> None:
    threshold = parse_threshold(text)
    assert (threshold.figure, threshold.operator, threshold.unit) == (figure, operator, unit)
    assert threshold.limit == pytest.approx(limit)
    assert threshold.text == text.strip()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it takes a figure"),
        ("p95", "it takes a figure"),
        ("p95>", "it takes a figure"),
        ("50ms<p95", "it takes a figure"),
        ("p95=50", "it takes a figure"),
        ("p95>>50", "it takes a figure"),
        ("p95>-1", "it takes a figure"),
        ("p95>1e3", "it takes a figure"),
        ("p95>nan", "it takes a figure"),
        ("p95>50ms and tps<5", "it takes a figure"),
        ("p95>50 m", "a latency is in us, ms or s"),
        ("p95>5%", "a latency is in us, ms or s"),
        ("p101>5", "there is no figure 'p101'"),
        ("p>5", "there is no figure 'p'"),
        ("latency>5", "there is no figure 'latency', only p50 … p99.9, min, avg, max, tps,"),
        ("tps<5%", "the unit of tps is /s, not '%'"),
        ("errors>5ms", "the unit of errors is %, not 'ms'"),
        ("retries>1%", "the unit of retries is no unit, not '%'"),
    ],
)
def test_nonsense_is_wrong_usage_with_valid_examples(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_threshold(text)
    assert refusal.value.message.startswith(f"'{text}' is not a threshold: {reason}")
    assert refusal.value.hint == f"for example {THRESHOLD_EXAMPLES}"


@given(st.text())
def test_whatever_is_written_is_understood_or_refused(text: str) -> None:
    try:
        threshold = parse_threshold(text)
    except UsageError:
        return
    assert threshold.holds(FIGURES) in (True, False)


def test_the_examples_are_understood() -> None:
    for example in THRESHOLD_EXAMPLES.split(", "):
        assert parse_threshold(example.strip('"')).holds(FIGURES) is not None


@pytest.mark.parametrize(
    ("text", "holds", "told"),
    [
        ("p50>1ms", False, "1 ms"),
        ("p50>=1ms", True, "1 ms"),
        ("p95>50ms", True, "60.03 ms"),
        ("p99.9>1.9s", True, "2,000 ms"),
        ("min<1ms", False, "1 ms"),
        ("max<2s", False, "2,000 ms"),
        ("avg>26", True, "26.3 ms"),
        ("tps<500", True, "499/s"),
        ("tps<499", False, "499/s"),
        ("tps<=499", True, "499/s"),
        ("errors>0.1%", True, "0.2%"),
        ("errors>0.2%", False, "0.2%"),
        ("errors>1", True, "2"),
        ("failed>0.1%", False, "0.1%"),
        ("reconnects>2", True, "3"),
    ],
)
def test_thresholds_hold_or_not_and_show_the_measured_value(text: str, holds: bool, told: str) -> None:
    threshold = parse_threshold(text)
    assert threshold.holds(FIGURES) is holds
    assert threshold.measured_text(FIGURES) == told
    assert crossed_thresholds((threshold,), FIGURES) == ([f"{text} crossed: {told}"] if holds else [])


def test_what_cannot_be_judged_counts_as_crossed() -> None:
    thresholds = tuple(map(parse_threshold, ("p95>50ms", "errors>0.1%", "errors>0", "tps<1")))
    assert [threshold.holds(NOTHING) for threshold in thresholds] == [None, None, False, True]
    assert crossed_thresholds(thresholds, NOTHING) == [
        "p95>50ms crossed: nothing was measured",
        "errors>0.1% crossed: nothing was measured",
        "tps<1 crossed: 0/s",
    ]
