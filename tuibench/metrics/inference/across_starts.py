"""Comparison of two groups of server starts, with an interval that includes the variation between starts.

Between starts of one server with the same data 5 to 10 % are usual, within a start less than 2 %. So a start
is one observation, however long or often it was measured: its runs' logarithms are averaged, and Student's t
is applied to the starts, with Welch's degrees of freedom for two groups of different variance (Welch,
Biometrika 34, 1947).

Kalibera and Jones, "Rigorous benchmarking in reasonable time" (ISMM 2013), give the hierarchy: repetition is
needed at the level that varies.
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple

from tuibench.metrics.inference import students_t
from tuibench.metrics.inference.scale import Scale
from tuibench.metrics.inference.verdict import Interval
from tuibench.model.experiments.effect import Verdict

LEVEL = 0.045
"""Slightly below 5 %, because Welch's test exceeds its level slightly for a few starts with different
variances.
"""

Starts = Sequence[Sequence[float]]
"""For each start, the levels of its runs, at least one."""


class Comparison(NamedTuple):
    """The second group against the first. With a single start on a side there is an estimate, but no interval
    and no verdict: the variation between starts is unknown.
    """

    interval: Interval
    verdict: Verdict


def compare(first: Starts, other: Starts, *, level: float = LEVEL, tolerance: float = 0.0) -> Comparison:
    """Compare two groups of independent starts."""
    scale = Scale.of((run for start in first for run in start), (run for start in other for run in start))
    a, b = _start_levels(first, scale), _start_levels(other, scale)
    half = _welch(a, b, level) if min(len(a), len(b)) > 1 else math.inf
    return _comparison(scale, fmean(b) - fmean(a), half, tolerance)


def _start_levels(starts: Starts, scale: Scale) -> list[float]:
    return [fmean(scale(run) for run in start) for start in starts]


def _welch(a: Sequence[float], b: Sequence[float], level: float) -> float:
    """Half the width of the interval of the difference of means."""
    one, other = variance(a) / len(a), variance(b) / len(b)
    if one + other == 0:
        return 0.0
    degrees = (one + other) ** 2 / (one**2 / (len(a) - 1) + other**2 / (len(b) - 1))
    return students_t.two_sided(level, max(1.0, degrees)) * math.sqrt(one + other)


def _comparison(scale: Scale, estimate: float, half: float, tolerance: float) -> Comparison:
    interval = scale.interval(estimate, half)
    verdict = interval.verdict(tolerance) if math.isfinite(half) else Verdict.CANNOT_TELL
    return Comparison(interval, verdict)
