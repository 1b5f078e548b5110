"""Thresholds of a comparison: how they are written, and what crosses them."""

import pytest

from tuibench.errors import UsageError
from tuibench.metrics.figures import FIGURES
from tuibench.metrics.thresholds.relative import (
    RelativeThreshold,
    crossed_relative_thresholds,
    parse_relative_threshold,
)
from tuibench.model.results.comparison import ComparisonRow, ComparisonVerdict, Contrast


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
    assert parse_relative_threshold(text) == RelativeThreshold(text.strip(), FIGURES[bound[0]], *bound[1:])


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
