"""Thresholds such as `p95>50ms`, `errors>0.1%`, `tps<500`: how they are written, and what crosses them.

    FIGURE OPERATOR NUMBER[UNIT]

A latency is in ms unless it says us or s, a rate is a number a second, a count one of the whole run. With %
some counts are a share: errors of all attempts, failed and abandoned of all transactions that were due.
"""

import re
from collections.abc import Mapping
from operator import ge, gt, le, lt
from typing import NamedTuple

import msgspec

from tuibench.errors import UsageError
from tuibench.metrics.histogram import US_PER_MS, Histogram
from tuibench.model.summary import Summary

EXAMPLES = '"p95>50ms", "errors>0.1%", "tps<500"'

OPERATORS = {">": gt, ">=": ge, "<": lt, "<=": le}
LATENCY_UNITS = {"": 1.0, "ms": 1.0, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "s": 1e3}
"""In ms. There are two characters for micro."""

LATENCIES = ("min", "avg", "max")
UNITS = {
    "tps": {"": "/s", "/s": "/s"},
    "qps": {"": "/s", "/s": "/s"},
    "errors": {"": "", "%": "%"},
    "failed": {"": "", "%": "%"},
    "abandoned": {"": "", "%": "%"},
    "retries": {"": ""},
    "reconnects": {"": ""},
}
"""What may stand behind the number of each figure that is no latency, and what it means."""

FIGURES = f"p50 … p99.9, {', '.join((*LATENCIES, *UNITS))}"

_WRITTEN = re.compile(r"\s*([a-z]+[\d.]*)\s*(>=|<=|>|<)\s*(\d+(?:\.\d*)?|\.\d+)\s*([^\s\d]*)\s*")
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?|100)")


class Figures(NamedTuple):
    """What a run, or a stretch of one, is judged by: its latencies, and rates and counts by name.

    `wholes` are what shares are taken of, by the figure's name.
    """

    latencies: Histogram
    values: Mapping[str, float]
    wholes: Mapping[str, float]


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A figure and the bound it is held against; `limit` and `unit` are ms, `/s`, `%` or plain."""

    text: str
    figure: str
    operator: str
    limit: float
    unit: str

    def holds(self, figures: Figures) -> bool | None:
        """Whether the figures are as it says; None where nothing was measured."""
        value = self.value(figures)
        return None if value is None else bool(OPERATORS[self.operator](value, self.limit))

    def value(self, figures: Figures) -> float | None:
        """The figure it looks at, in its unit; None for a latency or a share of nothing."""
        if self.unit == "ms":
            return _latency_ms(figures.latencies, self.figure)
        value = figures.values[self.figure]
        if self.unit != "%":
            return value
        whole = figures.wholes[self.figure]
        return 100 * value / whole if whole else None

    def told(self, figures: Figures) -> str:
        """The figure as it is: `63.1 ms`."""
        value = self.value(figures)
        if value is None:
            return "nothing was measured"
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
        return f"{number}{' ms' if self.unit == 'ms' else self.unit}"


def parse(text: str) -> Threshold:
    """The threshold meant. Raises UsageError with valid examples for anything else."""
    written = _WRITTEN.fullmatch(text.lower())
    if written is None:
        raise _misunderstood(text, "it takes a figure, one of > >= < <=, and a number")
    figure, operator, number, unit = written.groups()
    limit = float(number)
    if figure in LATENCIES or _PERCENTILE.fullmatch(figure):
        if unit not in LATENCY_UNITS:
            raise _misunderstood(text, "a latency is in us, ms or s")
        limit, unit = limit * LATENCY_UNITS[unit], "ms"
    elif figure not in UNITS:
        raise _misunderstood(text, f"there is no figure '{figure}', only {FIGURES}")
    elif unit not in UNITS[figure]:
        units = " or ".join(filter(None, UNITS[figure])) or "no unit"
        raise _misunderstood(text, f"behind the number of {figure} stands {units}, not '{unit}'")
    else:
        unit = UNITS[figure][unit]
    return Threshold(text=text.strip(), figure=figure, operator=operator, limit=limit, unit=unit)


def figures_of(summary: Summary, latencies: Histogram) -> Figures:
    """The figures of a whole run; `latencies` are those of its transactions."""
    counts = {
        name: float(getattr(summary, name)) for name in ("failed", "abandoned", "retries", "reconnects")
    }
    errors, due = summary.errors.total, float(summary.scheduled)
    return Figures(
        latencies,
        {
            "tps": summary.transactions.per_second,
            "qps": summary.queries.per_second,
            "errors": float(errors),
            **counts,
        },
        {"errors": float(summary.transactions.total + errors), "failed": due, "abandoned": due},
    )


def crossings(thresholds: tuple[Threshold, ...], figures: Figures) -> list[str]:
    """A line for each threshold that the figures have crossed; one that cannot be judged counts as that."""
    return [
        f"{threshold.text} crossed: {threshold.told(figures)}"
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


def _misunderstood(text: str, reason: str) -> UsageError:
    return UsageError(f"'{text}' is no threshold: {reason}", f"for example {EXAMPLES}")
