"""Thresholds of figures: absolute ones for a run, relative ones for a comparison.

Thresholds such as `p95>50ms`, `errors>0.1%`, `tps<500`, and objectives of a probe: syntax and evaluation.

FIGURE OPERATOR NUMBER[UNIT]

A latency is in ms unless its unit is us or s, a rate is per second, a count is that of the whole run. With %
some counts are a share: errors of all attempts, failed and abandoned of all transactions that were due.

A probe is ordered as `threads` or `rate`, and objectives such as `p95<20ms`.

Thresholds of a comparison, such as `tps<-5%` or `p95>10%`: syntax and evaluation.

FIGURE OPERATOR SIGNED-NUMBER%

The number is the difference to the first run. Only a significant difference crosses a threshold.
"""

import re
from collections.abc import Sequence
from operator import ge, gt, le, lt

import msgspec

from tuibench.errors import UsageError
from tuibench.metrics.figures import FIGURES, FigureUnit, figure_named
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import Quantity
from tuibench.model.summary import ComparisonRow, ComparisonVerdict, Contrast
from tuibench.model.tick import Tick
from tuibench.units import significant

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
"""How a limit of each unit may be written. There are two characters for micro."""

_WRITTEN = re.compile(r"\s*([a-z_]+[\d.]*[a-z_]*)\s*(>=|<=|>|<)\s*(\d+(?:\.\d*)?|\.\d+)\s*([^\s\d]*)\s*")


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A figure and its bound; `limit` and `unit` are ms, `/s`, `%` or plain.

    One that `is_relative` is a bound on the figure relative to another value of it: a signed percentage of
    difference in a comparison, a share of the level before in a guard.
    """

    text: str
    figure: str
    operator: str
    limit: float
    unit: str = "%"
    is_relative: bool = False

    def holds(self, tick: Tick) -> bool | None:
        """True if the figures of a tick, or of a whole run, satisfy the condition; None if nothing was
        measured.
        """
        value = self.value(tick)
        return None if value is None else bool(OPERATORS[self.operator](value, self.limit))

    def value(self, tick: Tick) -> float | None:
        """The figure in its unit; None if it was not measured."""
        return figure_named(self.figure).value(tick)

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
"""Figures that are known at the end of a run only."""

OBJECTIVE_EXAMPLES = '"p95<20ms", "errors<1%"'


def parse_objectives(texts: Sequence[str]) -> tuple[Threshold, ...]:
    """Parse objectives. Raises UsageError for an invalid one, or a figure that a step does not measure."""
    found = tuple(parse_threshold(text) for text in texts)
    for each in found:
        if each.figure in NOT_OF_A_STEP:
            raise UsageError(
                f"'{each.text}': a step cannot be judged by {each.figure.removesuffix('_percent')}",
                f"for example {OBJECTIVE_EXAMPLES}",
            )
    return found


def parse_probe_words(words: Sequence[str]) -> ProbeOrder:
    """Parse an optional `threads` or `rate`, and then objectives. Raises UsageError for anything else."""
    by = Quantity(words[0]) if words and words[0] in tuple(Quantity) else None
    slo = tuple(words[1:] if by else words)
    parse_objectives(slo)
    return ProbeOrder(by=by or Quantity.THREADS, slo=slo)


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
