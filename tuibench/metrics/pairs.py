"""The paired result of a trial: what B does against A, with the drift of the run removed.

Each cycle gives one difference: the logarithm of B's figure over A's, measured next to each other, so that
what is slow (a cache that fills, a neighbour at work) falls out. What drifts within a cycle favours the value
that came second; the order alternates (A B, B A, A B, …), so that least squares with the order as second term
takes it out: rᵢ = δ + γ·sᵢ, sᵢ = ±1. The 95 % interval of δ is Student's, with two degrees of freedom fewer
than there are pairs.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tuibench.metrics.student import t_95
from tuibench.model.effect import Comparison, Figure
from tuibench.model.trial import TrialPair

FEWEST_PAIRS = 4
"""With three, one degree of freedom is left, and an interval that says nothing."""

SIGNS = {"AB": 1.0, "BA": -1.0}


class Estimate(NamedTuple):
    """A mean difference and half the width of its 95 % interval."""

    value: float
    margin: float


def compare_pairs(pairs: Sequence[TrialPair]) -> tuple[Comparison, ...]:
    """Every figure that all pairs have; none if there are too few pairs for an interval."""
    if len(pairs) < FEWEST_PAIRS:
        return ()
    figures = [figure for figure in Figure if all(figure in pair.a and figure in pair.b for pair in pairs)]
    return tuple(_comparison(figure, pairs) for figure in figures)


def without_drift(differences: Sequence[float], signs: Sequence[float]) -> Estimate:
    """δ of the model above; the plain mean where the order never changed."""
    count = len(differences)
    slant = _slant(differences, signs)
    levelled = [one - slant * sign for one, sign in zip(differences, signs, strict=True)]
    value = math.fsum(levelled) / count
    residual = math.fsum((one - value) ** 2 for one in levelled)
    lean = math.fsum(signs) / count
    ordered = abs(lean) < 1
    degrees = count - 2 if ordered else count - 1
    variance = residual / degrees / count / (1 - lean * lean if ordered else 1)
    return Estimate(value, t_95(degrees) * math.sqrt(variance))


def _slant(differences: Sequence[float], signs: Sequence[float]) -> float:
    """γ: half the difference between the two orders' means."""
    means = []
    for order in (1.0, -1.0):
        of_order = [one for one, sign in zip(differences, signs, strict=True) if sign == order]
        if not of_order:
            return 0.0
        means.append(math.fsum(of_order) / len(of_order))
    return (means[0] - means[1]) / 2


def _comparison(figure: Figure, pairs: Sequence[TrialPair]) -> Comparison:
    a = [pair.a[figure] for pair in pairs]
    b = [pair.b[figure] for pair in pairs]
    signs = [SIGNS[pair.order] for pair in pairs]
    if min(*a, *b) > 0:
        return _relative(figure, a, b, signs)
    return _absolute(figure, a, b, signs)


def _relative(figure: Figure, a: list[float], b: list[float], signs: list[float]) -> Comparison:
    level = math.exp(math.fsum(map(math.log, a)) / len(a))
    found = without_drift([math.log(new / old) for old, new in zip(a, b, strict=True)], signs)
    value, low, high = (
        math.expm1(edge) for edge in (found.value, found.value - found.margin, found.value + found.margin)
    )
    return Comparison(
        figure=figure,
        before=level,
        after=level * (1 + value),
        delta=level * value,
        low=level * low,
        high=level * high,
        percent=100 * value,
        percent_low=100 * low,
        percent_high=100 * high,
        differs=not low <= 0 <= high,
    )


def _absolute(figure: Figure, a: list[float], b: list[float], signs: list[float]) -> Comparison:
    """Where a figure was zero there are no ratios."""
    level = math.fsum(a) / len(a)
    value, margin = without_drift([new - old for old, new in zip(a, b, strict=True)], signs)
    low, high = value - margin, value + margin
    return Comparison(
        figure=figure,
        before=level,
        after=level + value,
        delta=value,
        low=low,
        high=high,
        percent=100 * value / level if level > 0 else None,
        percent_low=100 * low / level if level > 0 else None,
        percent_high=100 * high / level if level > 0 else None,
        differs=not low <= 0 <= high,
    )
