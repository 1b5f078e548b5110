"""Thresholds of figures: of a run, of a probe's steps, of a comparison; the guard of experiments.

    p95>50ms    FIGURE OPERATOR NUMBER[UNIT]: a threshold of a run, an objective, a limit of a guard
    tps<-5%     FIGURE OPERATOR SIGNED-NUMBER%: the difference from the first run of a comparison
    tps>80%     a limit of a guard: a share of the level before

A latency is in ms unless its unit is us or s, a rate is per second, a count is that of the whole run. With %
some counts are a share: errors of all attempts, failed and abandoned of all transactions that were due. In a
comparison only a significant difference crosses a threshold. A probe is ordered as `threads` or `rate`,
followed by objectives.
"""

import math
import re
from collections import deque
from collections.abc import Sequence
from operator import ge, gt, le, lt
from statistics import median

import msgspec
from msgspec.structs import replace

from tuibench.base.errors import UsageError
from tuibench.base.units import significant
from tuibench.metrics.figures import FIGURES, FigureUnit, figure_named
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import Quantity
from tuibench.model.summary import ComparisonRow, ComparisonVerdict, Contrast
from tuibench.model.tick import Tick

THRESHOLD_EXAMPLES = '"p95>50ms", "errors>0.1%", "tps<500"'

OPERATORS = {">": gt, ">=": ge, "<": lt, "<=": le}
UNITS: dict[FigureUnit, dict[str, float]] = {
    FigureUnit.MILLISECONDS: {"": 1.0, "ms": 1.0, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "s": 1e3},
    FigureUnit.SECONDS: {"": 1.0, "s": 1.0, "ms": 1e-3},
    FigureUnit.PER_SECOND: {"": 1.0, "/s": 1.0},
    FigureUnit.PERCENT: {"": 1.0, "%": 1.0},
    FigureUnit.NUMBER: {"": 1.0},
    FigureUnit.BYTES: {"": 1.0, "b": 1.0, "k": 1024.0, "m": 1024.0**2, "g": 1024.0**3},
    FigureUnit.BYTES_PER_SECOND: {"": 1.0, "b/s": 1.0, "k/s": 1024.0, "m/s": 1024.0**2},
}
"""The ways to write a limit of each unit, and their factors. There are two characters for micro."""

_WRITTEN = re.compile(r"\s*([a-z_]+[\d.]*[a-z_]*)\s*(>=|<=|>|<)\s*(\d+(?:\.\d*)?|\.\d+)\s*([^\s\d]*)\s*")


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A figure and its bound."""

    text: str
    figure: str
    operator: str
    limit: float
    """In the figure's unit: ms, `/s`, `%`, or a plain number."""
    unit: str = "%"
    is_relative: bool = False
    """True for a bound on the figure relative to another value of it: in a comparison a signed difference in
    percent, in a guard a share of the level before.
    """

    def holds(self, tick: Tick) -> bool | None:
        """True if the figure of a tick, or of a whole run, satisfies the condition; None if it was not
        measured.
        """
        value = self.value(tick)
        return None if value is None else bool(OPERATORS[self.operator](value, self.limit))

    def value(self, tick: Tick) -> float | None:
        """The figure in its unit; None if it was not measured."""
        return figure_named(self.figure).value(tick)

    def slack(self, tick: Tick) -> float | None:
        """The logarithm of the factor by which the condition is met; negative if it is missed. None if the
        limit or the value is not above zero.
        """
        value = self.value(tick)
        if value is None or value <= 0 or self.limit <= 0:
            return None
        return math.log(self.limit / value if self.operator.startswith("<") else value / self.limit)

    def measured_text(self, tick: Tick) -> str:
        """The measured figure: `63.1 ms`."""
        value = self.value(tick)
        if value is None:
            return "nothing was measured"
        return f"{significant(value, 4)}{self.unit if self.unit in ('', '/s', '%') else f' {self.unit}'}"


def parse_threshold(text: str) -> Threshold:
    """Parse a threshold. Raises UsageError with valid examples for anything else."""
    written = _WRITTEN.fullmatch(text.lower())
    if written is None:
        raise _syntax_error(text, "it takes a figure, one of > >= < <=, and a number")
    name, operator, number, unit = written.groups()
    try:
        figure = figure_named(name)
    except UsageError as error:
        raise _syntax_error(text, error.message, error.hint) from error
    if unit == "%" and figure.share:
        figure = figure_named(figure.share)
    units = UNITS[figure.unit]
    if unit not in units:
        allowed = " or ".join(filter(None, (*units, "%" * bool(figure.share)))) or "no unit"
        raise _syntax_error(text, f"the unit of {name} is {allowed}, not '{unit}'")
    limit = float(number) * units[unit]
    return Threshold(text=text.strip(), figure=figure.name, operator=operator, limit=limit, unit=figure.unit)


def crossed_thresholds(thresholds: tuple[Threshold, ...], run: Tick) -> list[str]:
    """A line for each threshold that a run crossed; one that cannot be evaluated counts as crossed."""
    return [
        f"{threshold.text} crossed: {threshold.measured_text(run)}"
        for threshold in thresholds
        if threshold.holds(run) is not False
    ]


def _syntax_error(text: str, reason: str, hint: str = "") -> UsageError:
    return UsageError(f"'{text}' is not a threshold: {reason}", hint or f"for example {THRESHOLD_EXAMPLES}")


NOT_OF_A_STEP = frozenset({"outage", "failed", "failed_percent", "abandoned", "abandoned_percent"})
"""Figures that are known only at the end of a run."""

OBJECTIVE_EXAMPLES = '"p95<20ms", "errors<1%"'


def parse_objectives(texts: Sequence[str]) -> tuple[Threshold, ...]:
    """Parse objectives. Raises UsageError for an invalid one, or for a figure that a step does
    not measure.
    """
    found = tuple(parse_threshold(text) for text in texts)
    for each in found:
        if each.figure in NOT_OF_A_STEP:
            raise UsageError(
                f"'{each.text}': a step cannot be judged by {each.figure.removesuffix('_percent')}",
                f"for example {OBJECTIVE_EXAMPLES}",
            )
    return found


def parse_probe_words(words: Sequence[str]) -> ProbeOrder:
    """Parse an optional `threads` or `rate`, then `recover` and `remedies`, and then objectives. Raises
    UsageError for anything else.
    """
    by = Quantity(words[0]) if words and words[0] in tuple(Quantity) else None
    rest = list(words[1:] if by else words)
    asked = {name: name in rest for name in ("recover", "remedies")}
    slo = tuple(word for word in rest if word not in asked)
    parse_objectives(slo)
    return ProbeOrder(by=by or Quantity.THREADS, slo=slo, **asked)


def parse_probe_text(text: str) -> ProbeOrder:
    """Like `parse_probe_words`, for one line separated by blanks or commas."""
    return parse_probe_words([word for word in re.split(r"[\s,]+", text.strip()) if word])


EXAMPLES = '"tps<-5%", "p95>10%"'
_RELATIVE_WRITTEN = re.compile(r"\s*([a-z_]+[\d.]*[a-z_]*)\s*(>=|<=|>|<)\s*([+\-−]?\d+(?:\.\d*)?)\s*%\s*")


def parse_relative_threshold(text: str) -> Threshold:
    """Parse a threshold. Raises UsageError with valid examples for anything else."""
    written = _RELATIVE_WRITTEN.fullmatch(text.lower())
    if written is None:
        raise _relative_syntax_error(text, "it takes a figure, one of > >= < <=, and a signed percentage")
    name, operator, number = written.groups()
    try:
        figure = figure_named(name)
    except UsageError as error:
        raise _relative_syntax_error(text, error.message, error.hint) from error
    figure = FIGURES.get(figure.share, figure)
    limit = float(number.replace("−", "-"))
    return Threshold(text=text.strip(), figure=figure.name, operator=operator, limit=limit, is_relative=True)


def crossed_relative_thresholds(
    bounds: Sequence[Threshold], rows: Sequence[ComparisonRow], runs: Sequence[str]
) -> list[str]:
    """A line for each threshold that a run has crossed; one that cannot be evaluated counts as crossed."""
    by_name = {row.metric: row for row in rows}
    lines = []
    for bound in bounds:
        for run, other in zip(runs[1:], by_name[bound.figure].others, strict=True):
            if not _is_crossed(bound, other):
                continue
            if other.value is None:
                difference = "it was not measured"
            elif other.percent is None:
                difference = f"it is {significant(other.value, 4)}, after nothing at all"
            else:
                difference = f"{other.percent:+.1f} %"
            lines.append(f"{bound.text} crossed by {run}: {difference}")
    return lines


def _is_crossed(bound: Threshold, other: Contrast) -> bool:
    # An interval that was measured and contains zero is noise.
    if other.verdict is not ComparisonVerdict.CANNOT_TELL or other.value is None:
        is_noise = other.verdict is ComparisonVerdict.EQUAL
    elif other.low is None or other.high is None:
        is_noise = other.percent is None
    else:
        is_noise = other.low <= 0 <= other.high
    if is_noise:
        return False
    if other.percent is None:
        # Any value above zero is infinitely more than zero; an unmeasured one cannot be evaluated.
        return other.value is None or (other.value > 0 and bound.operator.startswith(">"))
    return bool(OPERATORS[bound.operator](other.percent, bound.limit))


def _relative_syntax_error(text: str, reason: str, hint: str = "") -> UsageError:
    return UsageError(
        f"'{text}' is not a threshold of a comparison: {reason}", hint or f"for example {EXAMPLES}"
    )


GUARD_EXAMPLES = '"p95<50ms", "tps>80%"'
OFF = "off"
OF_TRAFFIC = ("qps>70%", "p95<300%")
"""The guard of experiments on the traffic of a watched server, unless the operator gives another."""

BROKEN_SAMPLES = 2
"""Samples in a row that must break a limit."""
LEVEL_SAMPLES, MOST_LEVEL_SAMPLES = 15, 30
"""Samples until the level is known, and the latest samples whose median is the level."""

BLOCK_SAMPLES, MOST_SPREAD_SAMPLES = 60, 240
"""Samples around whose median the deviations are measured, and all samples that are kept."""

SPREADS = 5.5
"""Robust deviations from the level within which a sample does not break a limit."""
WIDEST = {">": 0.63, "<": 5.0}
"""The shares of the level up to which a limit is widened at most, for a load that varies much."""

DEVIATION_OF_MEDIAN = 1.4826
"""The standard deviation of normal values, divided by their median absolute deviation."""

FEWEST_EVENTS = 12.0
"""A sample with fewer events does not count for a level."""
LEAST_SHARE = 0.5
"""If a value was on trial for a smaller share of a sample, the sample cannot be told from the
level before.
"""


def parse_guard(texts: Sequence[str], *, is_traffic: bool = False) -> tuple[Threshold, ...]:
    """The limits of a guard: the given ones; without any, those for the traffic of a watched server. `off` is
    a guard without limits.

    Raises UsageError for an invalid limit, or for a figure that a sample does not have.
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
    """The guard of experiments, whose limits no tried value may break for longer than two samples.

    The level before is that of the samples in which the original values held. A sample breaks a limit
    relative to the level only if it is also outside the load's own variation: further from the level than
    `SPREADS` robust deviations, on a logarithmic scale. The deviations are measured around the level of their
    own time, so that a level that has changed by itself does not widen them. Two samples in a row break the
    guard, so that a single slow second does not. A level of few events per sample cannot be told from zero
    and has no limit. A rate in a sample that began before the value was set is judged without the share that
    the level contributed, with accordingly more noise.

    The two aims conflict where samples vary by about a tenth: a value that halves the level then looks like
    the load's own variation. Up to `WIDEST` the variation is accepted, so that no harmless value is called
    harmful; beyond it the server is protected.
    """

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
        """Forget the level, because it is another one from now on."""
        self._learned = 0
        self._levels = {
            limit.text: deque(maxlen=MOST_SPREAD_SAMPLES) for limit in self.limits if limit.is_relative
        }

    def learn(self, tick: Tick) -> None:
        """Add a sample of the original values."""
        self._learned += 1
        for limit in self.limits:
            value = limit.value(tick)
            is_rate = figure_named(limit.figure).unit is FigureUnit.PER_SECOND
            is_of_few = is_rate and value is not None and value * tick.seconds < FEWEST_EVENTS
            if limit.is_relative and value and not is_of_few:
                self._levels[limit.text].append(value)

    def broken(self, tick: Tick, share: float = 1.0) -> str:
        """The limits that a sample breaks, with what was measured; empty if all hold. A value was on trial in
        the last `share` (0 to 1) of the sample.
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
    """The level, which is the median of the latest values; and the robust deviation of the logarithms from
    the medians of their own time.
    """
    ends = range(len(values), LEVEL_SAMPLES - 1, -BLOCK_SAMPLES)
    blocks = [values[max(0, end - BLOCK_SAMPLES) : end] for end in ends]
    apart = [abs(math.log(one / centre)) for block in blocks for centre in [median(block)] for one in block]
    return median(values[-MOST_LEVEL_SAMPLES:]), DEVIATION_OF_MEDIAN * median(apart)
