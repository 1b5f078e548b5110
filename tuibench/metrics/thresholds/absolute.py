"""Thresholds such as `p95>50ms`, `errors>0.1%`, `tps<500`, and objectives of a probe: syntax and evaluation.

FIGURE OPERATOR NUMBER[UNIT]

A latency is in ms unless its unit is us or s, a rate is per second, a count is that of the whole run. With %
some counts are a share: errors of all attempts, failed and abandoned of all transactions that were due.

A probe is ordered as `threads` or `rate`, and objectives such as `p95<20ms`.
"""

import re
from collections.abc import Mapping, Sequence
from operator import ge, gt, le, lt
from typing import NamedTuple

import msgspec

from tuibench.errors import UsageError
from tuibench.metrics.histogram import US_PER_MS, Histogram
from tuibench.model.experiments.probe import ProbeOrder
from tuibench.model.results.summary import Summary
from tuibench.model.schedule import Quantity

THRESHOLD_EXAMPLES = '"p95>50ms", "errors>0.1%", "tps<500"'

OPERATORS = {">": gt, ">=": ge, "<": lt, "<=": le}
LATENCY_UNITS = {"": 1.0, "ms": 1.0, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "s": 1e3}
"""In ms. There are two characters for micro."""

LATENCIES = ("min", "avg", "max")
LAG = "lag"
"""The longest lag of a replica, in seconds."""

UNITS = {
    "tps": {"": "/s", "/s": "/s"},
    "qps": {"": "/s", "/s": "/s"},
    "errors": {"": "", "%": "%"},
    "failed": {"": "", "%": "%"},
    "abandoned": {"": "", "%": "%"},
    "retries": {"": ""},
    "reconnects": {"": ""},
    "lag": {"": " s", "s": " s"},
}
"""Units of each figure except latencies, with their meaning."""

FIGURES = f"p50 … p99.9, {', '.join((*LATENCIES, *UNITS))}"

_WRITTEN = re.compile(r"\s*([a-z]+[\d.]*)\s*(>=|<=|>|<)\s*(\d+(?:\.\d*)?|\.\d+)\s*([^\s\d]*)\s*")
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?|100)")


class ThresholdFigures(NamedTuple):
    """The figures of a run, or of a part of one: latencies, and rates and counts by name.

    `wholes` are the totals of shares, by the figure's name.
    """

    latencies: Histogram
    values: Mapping[str, float | None]
    wholes: Mapping[str, float]


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A figure and its bound; `limit` and `unit` are ms, `/s`, `%` or plain."""

    text: str
    figure: str
    operator: str
    limit: float
    unit: str

    def holds(self, figures: ThresholdFigures) -> bool | None:
        """True if the figures satisfy the condition; None if nothing was measured."""
        value = self.value(figures)
        return None if value is None else bool(OPERATORS[self.operator](value, self.limit))

    def value(self, figures: ThresholdFigures) -> float | None:
        """The figure in its unit; None for a latency or a share without data."""
        if self.unit == "ms":
            return _latency_ms(figures.latencies, self.figure)
        value = figures.values[self.figure]
        if self.unit != "%" or value is None:
            return value
        whole = figures.wholes[self.figure]
        return 100 * value / whole if whole else None

    def measured_text(self, figures: ThresholdFigures) -> str:
        """The measured figure: `63.1 ms`."""
        value = self.value(figures)
        if value is None:
            return "nothing was measured"
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
        return f"{number}{' ms' if self.unit == 'ms' else self.unit}"


def parse_threshold(text: str) -> Threshold:
    """Parse a threshold. Raises UsageError with valid examples for anything else."""
    written = _WRITTEN.fullmatch(text.lower())
    if written is None:
        raise _syntax_error(text, "it takes a figure, one of > >= < <=, and a number")
    figure, operator, number, unit = written.groups()
    limit = float(number)
    if figure in LATENCIES or _PERCENTILE.fullmatch(figure):
        if unit not in LATENCY_UNITS:
            raise _syntax_error(text, "a latency is in us, ms or s")
        limit, unit = limit * LATENCY_UNITS[unit], "ms"
    elif figure not in UNITS:
        raise _syntax_error(text, f"there is no figure '{figure}', only {FIGURES}")
    elif unit not in UNITS[figure]:
        units = " or ".join(filter(None, UNITS[figure])) or "no unit"
        raise _syntax_error(text, f"the unit of {figure} is {units}, not '{unit}'")
    else:
        unit = UNITS[figure][unit]
    return Threshold(text=text.strip(), figure=figure, operator=operator, limit=limit, unit=unit)


def threshold_figures(summary: Summary, latencies: Histogram) -> ThresholdFigures:
    """The figures of a whole run; `latencies` are those of its transactions."""
    counts = {
        name: float(getattr(summary, name)) for name in ("failed", "abandoned", "retries", "reconnects")
    }
    errors, due = summary.errors.total, float(summary.scheduled)
    return ThresholdFigures(
        latencies,
        {
            "tps": summary.transactions.per_second,
            "qps": summary.queries.per_second,
            "errors": float(errors),
            **counts,
            LAG: summary.replication.lag_max_seconds if summary.replication else None,
        },
        {"errors": float(summary.transactions.total + errors), "failed": due, "abandoned": due},
    )


def crossed_thresholds(thresholds: tuple[Threshold, ...], figures: ThresholdFigures) -> list[str]:
    """A line for each crossed threshold; one that cannot be evaluated counts as crossed."""
    return [
        f"{threshold.text} crossed: {threshold.measured_text(figures)}"
        for threshold in thresholds
        if threshold.holds(figures) is not False
    ]


def _latency_ms(latencies: Histogram, figure: str) -> float | None:
    if not latencies.count:
        return None
    exact_us = {
        "min": latencies.min_us,
        "avg": latencies.sum_us / latencies.count,
        "max": latencies.max_us,
    }
    if figure in exact_us:
        return exact_us[figure] / US_PER_MS
    return latencies.percentiles((float(figure[1:]),))[0] / US_PER_MS


def _syntax_error(text: str, reason: str) -> UsageError:
    return UsageError(f"'{text}' is not a threshold: {reason}", f"for example {THRESHOLD_EXAMPLES}")


STEP_FIGURES = frozenset({"tps", "qps", "errors", "reconnects", LAG})
"""The figures, except latencies, that a step measures."""

OBJECTIVE_EXAMPLES = '"p95<20ms", "errors<1%"'


def parse_objectives(texts: Sequence[str]) -> tuple[Threshold, ...]:
    """Parse objectives. Raises UsageError for an invalid one, or a figure that a step does not measure."""
    found = tuple(parse_threshold(text) for text in texts)
    for each in found:
        if each.figure in UNITS and each.figure not in STEP_FIGURES:
            raise UsageError(
                f"'{each.text}': a step cannot be judged by {each.figure}",
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
