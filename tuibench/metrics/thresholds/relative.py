"""Thresholds of a comparison, such as `tps<-5%` or `p95>10%`: syntax and evaluation.

FIGURE OPERATOR SIGNED-NUMBER%

The number is the difference to the first run. Only a significant difference crosses a threshold.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tuibench.errors import UsageError
from tuibench.metrics.figures import FIGURES, Figure, figure_named
from tuibench.metrics.thresholds.absolute import OPERATORS
from tuibench.model.results.comparison import ComparisonRow, ComparisonVerdict, Contrast

EXAMPLES = '"tps<-5%", "p95>10%"'
_WRITTEN = re.compile(r"\s*([a-z_]+[\d.]*[a-z_]*)\s*(>=|<=|>|<)\s*([+\-−]?\d+(?:\.\d*)?)\s*%\s*")


class RelativeThreshold(NamedTuple):
    """A bound on the difference of a figure; `percent` is signed."""

    text: str
    figure: Figure
    operator: str
    percent: float


def parse_relative_threshold(text: str) -> RelativeThreshold:
    """Parse a threshold. Raises UsageError with valid examples for anything else."""
    written = _WRITTEN.fullmatch(text.lower())
    if written is None:
        raise _syntax_error(text, "it takes a figure, one of > >= < <=, and a signed percentage")
    name, operator, number = written.groups()
    try:
        figure = figure_named(name)
    except UsageError as error:
        raise _syntax_error(text, error.message, error.hint) from error
    figure = FIGURES.get(figure.share, figure)
    return RelativeThreshold(text.strip(), figure, operator, float(number.replace("−", "-")))


def crossed_relative_thresholds(
    bounds: Sequence[RelativeThreshold], rows: Sequence[ComparisonRow], runs: Sequence[str]
) -> list[str]:
    """A line for each threshold that a run has crossed; one that cannot be evaluated counts as crossed."""
    by_name = {row.metric: row for row in rows}
    return [
        f"{bound.text} crossed by {run}: {_describe_difference(other)}"
        for bound in bounds
        for run, other in zip(runs[1:], by_name[bound.figure.name].others, strict=True)
        if _is_crossed(bound, other)
    ]


def _is_crossed(bound: RelativeThreshold, other: Contrast) -> bool:
    if _is_noise(other):
        return False
    if other.percent is None:
        return _is_crossed_from_zero(bound, other)
    return bool(OPERATORS[bound.operator](other.percent, bound.percent))


def _is_noise(other: Contrast) -> bool:
    """True if an interval was measured and contains zero."""
    if other.verdict is not ComparisonVerdict.CANNOT_TELL or other.value is None:
        return other.verdict is ComparisonVerdict.EQUAL
    if other.low is None or other.high is None:
        return other.percent is None
    return other.low <= 0 <= other.high


def _is_crossed_from_zero(bound: RelativeThreshold, other: Contrast) -> bool:
    """Any value above zero is infinitely more than zero; an unmeasured one cannot be evaluated."""
    return other.value is None or (other.value > 0 and bound.operator.startswith(">"))


def _describe_difference(other: Contrast) -> str:
    if other.value is None:
        return "it was not measured"
    if other.percent is None:
        return f"it is {other.value:.4g}, after nothing at all"
    return f"{other.percent:+.1f} %"


def _syntax_error(text: str, reason: str, hint: str = "") -> UsageError:
    return UsageError(
        f"'{text}' is not a threshold of a comparison: {reason}", hint or f"for example {EXAMPLES}"
    )
