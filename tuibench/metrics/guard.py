"""The guard rail of experiments: limits that no tried value may break for longer than two samples.

    p95<50ms    an absolute limit
    tps>80%     of the level before: what was measured while the original values held

A sample breaks a limit of the level only if it is also outside of what the load does by itself: further
from the median than `SPREADS` robust deviations, on a log scale. The deviations are those around the level
of their own time, so that a level that has changed by itself widens nothing. Two samples in a row break the
guard, so that one slow second of a calm load does not. A level of few events a sample cannot be told from
nothing: it has no limit. A rate in a sample that began before the value was set is judged without the part
that the level had in it, with as much more noise.

The two aims conflict where a sample varies by about a tenth: a value that halves the level then looks like
the load itself. Up to `WIDEST` the load is believed, so that no value is called harmful that is not; beyond
it the server is protected.
"""

import math
from collections import deque
from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from tuibench.errors import UsageError
from tuibench.metrics.figures import FigureUnit, figure_named
from tuibench.metrics.thresholds import NOT_OF_A_STEP, OPERATORS, Threshold, parse_threshold
from tuibench.model.tick import Tick

GUARD_EXAMPLES = '"p95<50ms", "tps>80%"'
OFF = "off"
OF_TRAFFIC = ("qps>70%", "p95<300%")
"""The guard of experiments on a server's own traffic, unless the operator names another."""

BROKEN_SAMPLES = 2
LEVEL_SAMPLES, MOST_LEVEL_SAMPLES = 15, 30
"""Samples until the level is known, and of the level."""

BLOCK_SAMPLES, MOST_SPREAD_SAMPLES = 60, 240
"""Samples of one level, and of how far the load varies around those."""

SPREADS = 5.5
WIDEST = {">": 0.63, "<": 5.0}
"""The shares of the level to which a limit is widened at most, for a load that varies much."""

DEVIATION_OF_MEDIAN = 1.4826
"""The standard deviation of normal values by their median absolute deviation."""

FEWEST_EVENTS = 12.0
LEAST_SHARE = 0.5
"""Of a sample: a shorter trial in it cannot be told from the level before."""


def parse_guard(texts: Sequence[str], *, is_traffic: bool = False) -> tuple[Threshold, ...]:
    """The limits of a guard: those given, none for `off`, else those of a server's own traffic.

    Raises UsageError for an invalid one, or for a figure that a sample does not have.
    """
    if OFF in texts:
        if len(texts) > 1:
            raise UsageError(f"--guard {OFF} excludes other conditions")
        return ()
    return tuple(map(_parse_limit, texts or (OF_TRAFFIC if is_traffic else ())))


def _parse_limit(text: str) -> Threshold:
    plain = text.rstrip().removesuffix("%")
    is_percent = plain != text.rstrip()
    found = parse_threshold(plain if is_percent else text)
    if found.figure in NOT_OF_A_STEP:
        raise UsageError(f"'{text}': a sample has no such figure", f"for example {GUARD_EXAMPLES}")
    figure = figure_named(found.figure)
    if not is_percent or figure.share or figure.unit is FigureUnit.PERCENT:
        return parse_threshold(text)
    return replace(found, text=text.strip(), limit=found.limit / 100, is_relative=True)


class Guard:
    """Takes the samples of a session in order: those of the original values, and those to judge."""

    def __init__(self, limits: Sequence[Threshold]) -> None:
        self.limits = limits
        self._learned = 0
        self._levels: dict[str, deque[float]] = {}
        self.forget()

    @property
    def missing_samples(self) -> int:
        """Samples until the level is known."""
        needs_level = any(limit.is_relative for limit in self.limits)
        return max(0, LEVEL_SAMPLES - self._learned) if needs_level else 0

    def forget(self) -> None:
        """The level is another one from now on."""
        self._learned = 0
        self._levels = {
            limit.text: deque(maxlen=MOST_SPREAD_SAMPLES) for limit in self.limits if limit.is_relative
        }

    def learn(self, tick: Tick) -> None:
        """A sample of the original values."""
        self._learned += 1
        for limit in self.limits:
            value = limit.value(tick)
            is_rate = figure_named(limit.figure).unit is FigureUnit.PER_SECOND
            is_of_few = is_rate and value is not None and value * tick.seconds < FEWEST_EVENTS
            if limit.is_relative and value and not is_of_few:
                self._levels[limit.text].append(value)

    def broken(self, tick: Tick, share: float = 1.0) -> str:
        """What a sample breaks, with what was measured; empty if everything holds. In the last `share` of the
        sample, 0 to 1, a value was on trial.
        """
        found = (self._broken(limit, tick, share) for limit in self.limits)
        return "; ".join(filter(None, found))

    def _broken(self, condition: Threshold, tick: Tick, share: float) -> str:
        value, figure = condition.value(tick), figure_named(condition.figure)
        if value is None:
            return ""
        if not condition.is_relative:
            is_held = OPERATORS[condition.operator](value, condition.limit)
            return "" if is_held else f"{condition.text} is broken: {figure.text(value)}"
        known = self._levels[condition.text]
        if len(known) < LEVEL_SAMPLES:
            return ""
        level, deviation = _level_and_deviation(list(known))
        if figure.unit is FigureUnit.PER_SECOND and LEAST_SHARE <= share < 1:
            value, deviation = max(0.0, (value - (1 - share) * level) / share), deviation / share
        by_itself, direction = math.exp(SPREADS * deviation), condition.operator[0]
        if direction == ">":
            allowed = min(condition.limit, max(1 / by_itself, WIDEST[direction]))
        else:
            allowed = max(condition.limit, min(by_itself, WIDEST[direction]))
        if OPERATORS[condition.operator](value, allowed * level):
            return ""
        return f"{condition.text} is broken: {figure.text(value)}, {figure.text(level)} before"


def _level_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """The median of the last values, and the robust deviation of the logarithms around the medians of their
    own time.
    """
    ends = range(len(values), LEVEL_SAMPLES - 1, -BLOCK_SAMPLES)
    blocks = [values[max(0, end - BLOCK_SAMPLES) : end] for end in ends]
    apart = [abs(math.log(one / centre)) for block in blocks for centre in [median(block)] for one in block]
    return median(values[-MOST_LEVEL_SAMPLES:]), DEVIATION_OF_MEDIAN * median(apart)
