"""Thresholds: absolute ones, and those relative to another run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import for_each
from tuibench.base.errors import UsageError
from tuibench.metrics.thresholds import (
    THRESHOLD_EXAMPLES,
    crossed_relative_thresholds,
    crossed_thresholds,
    parse_relative_threshold,
    parse_threshold,
)
from tuibench.model.summary import ComparisonRow, ComparisonVerdict, Contrast
from tuibench.model.tick import Histogram, Tick

# Thresholds: how they are written, and which figures cross them.


FIGURES = Tick(
    end=2.0,
    seconds=2.0,
    sums={
        "completed": 998,
        "queries": 20_000,
        "error.1213": 2,
        "scheduled": 1000,
        "failed": 1,
        "abandoned": 1,
        "retries": 1,
        "reconnects": 3,
        "server.seconds": 2.5,
        "server.completed": 1250,
        "Innodb_os_log_fsyncs": 625,
    },
    hists={"response": Histogram.of([1_000] * 90 + [60_000] * 9 + [2_000_000])},
)
NOTHING = Tick(end=1.0, seconds=1.0, sums={"completed": 0, "queries": 0})


@for_each(
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
        ("errors>0.1%", "errors_percent", ">", 0.1, "%"),
        ("failed > 1 %", "failed_percent", ">", 1, "%"),
        ("fsyncs>2", "fsyncs", ">", 2, ""),
        ("lag>500ms", "lag", ">", 0.5, "s"),
        ("innodb_os_log_fsyncs>100/s", "innodb_os_log_fsyncs", ">", 100, "/s"),
        ("reconnects>0", "reconnects", ">", 0, ""),
    ],
)
def test_what_is_understood(text: str, figure: str, operator: str, limit: float, unit: str) -> None:
    threshold = parse_threshold(text)
    assert (threshold.figure, threshold.operator, threshold.unit) == (figure, operator, unit)
    assert threshold.limit == pytest.approx(limit)
    assert threshold.text == text.strip()


@for_each(
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
        ("p95>50 m", "the unit of p95 is ms or us or"),
        ("p95>5%", "the unit of p95 is ms or us or"),
        ("p101>5", "there is no figure 'p101'"),
        ("p>5", "there is no figure 'p'"),
        ("latency>5", "there is no figure 'latency'"),
        ("tps<5%", "the unit of tps is /s, not '%'"),
        ("errors>5ms", "the unit of errors is %, not 'ms'"),
        ("retries>1%", "the unit of retries is no unit, not '%'"),
    ],
)
def test_nonsense_is_wrong_usage_with_valid_examples(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse_threshold(text)
    assert refusal.value.message.startswith(f"'{text}' is not a threshold: {reason}")
    if "no figure" not in reason:
        assert refusal.value.hint == f"for example {THRESHOLD_EXAMPLES}"


def test_an_unknown_figure_is_answered_with_a_near_one() -> None:
    with pytest.raises(UsageError) as refusal:
        parse_threshold("fsync>2")
    assert refusal.value.hint == "did you mean 'fsyncs'?"


@given(st.text())
def test_whatever_is_written_is_understood_or_refused(text: str) -> None:
    try:
        threshold = parse_threshold(text)
    except UsageError:
        return
    assert threshold.holds(FIGURES) in (True, False, None)


def test_the_examples_are_understood() -> None:
    for example in THRESHOLD_EXAMPLES.split(", "):
        assert parse_threshold(example.strip('"')).holds(FIGURES) is not None


@for_each(
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
        ("fsyncs>0.4", True, "0.5"),
        ("fsyncs_per_second>250", False, "250/s"),
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


# Thresholds of a comparison: how they are written, and what crosses them.


def row(other: Contrast, metric: str = "tps") -> ComparisonRow:
    return ComparisonRow(metric=metric, title=metric, unit="", better="higher", first=100.0, others=(other,))


def crossed(text: str, other: Contrast, metric: str = "tps") -> list[str]:
    return crossed_relative_thresholds([parse_relative_threshold(text)], [row(other, metric)], ["a", "b"])


def differing(
    percent: float | None, verdict: ComparisonVerdict = ComparisonVerdict.WORSE, value: float | None = 1.0
) -> Contrast:
    return Contrast(value=value, percent=percent, verdict=verdict)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("tps<-5%", ("tps", "<", -5.0)),
        (" P95 >= 10 % ", ("p95", ">=", 10.0)),
        ("errors>+0.5%", ("errors_percent", ">", 0.5)),
        ("fsyncs<=−20.%", ("fsyncs", "<=", -20.0)),
        ("cpu > 1%", ("cpu", ">", 1.0)),
    ],
)
def test_what_is_meant(text: str, bound: tuple[str, str, float]) -> None:
    found = parse_relative_threshold(text)
    assert (found.text, found.unit, found.is_relative) == (text.strip(), "%", True)
    assert (found.figure, found.operator, found.limit) == bound


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tps<-5", "signed percentage"),
        ("tps=5%", "signed percentage"),
        ("p95>50ms", "signed percentage"),
        ("", "signed percentage"),
        ("speed<-5%", "there is no figure 'speed'"),
    ],
)
def test_what_is_none_is_refused_with_examples(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as error:
        parse_relative_threshold(text)
    assert '"tps<-5%"' in error.value.hint or "no figure" in reason


def test_a_difference_beyond_it_crosses_it() -> None:
    assert crossed("tps<-5%", differing(-6.04)) == ["tps<-5% crossed by b: -6.0 %"]
    assert crossed("tps<-5%", differing(-4.9)) == []
    assert crossed("tps<=-5%", differing(-5.0))


def test_what_may_be_noise_crosses_nothing() -> None:
    assert crossed("tps<-5%", differing(-6.0, ComparisonVerdict.EQUAL)) == []
    noise = Contrast(value=1.0, percent=-6.0, low=-14.0, high=2.0, verdict=ComparisonVerdict.CANNOT_TELL)
    assert crossed("tps<-5%", noise) == []


def test_a_run_that_is_too_short_is_taken_by_its_word() -> None:
    assert crossed("tps<-5%", differing(-6.0, ComparisonVerdict.CANNOT_TELL))


def test_errors_after_none_are_more_than_any_percentage() -> None:
    told = crossed("errors>500%", differing(None, value=0.25), "errors_percent")
    assert told == ["errors>500% crossed by b: it is 0.25, after nothing at all"]
    assert crossed("errors<5%", differing(None, value=0.25), "errors_percent") == []


def test_what_was_not_measured_counts_as_crossed() -> None:
    assert crossed("cpu>5%", differing(None, ComparisonVerdict.CANNOT_TELL, None), "cpu") == [
        "cpu>5% crossed by b: it was not measured"
    ]
