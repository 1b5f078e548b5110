"""What changed between two windows of slots: each figure with its difference and 95 % interval.

TPS and fsyncs for each transaction are ratios of sums. The p95 of a window is that of its merged histograms
(see `quantile`). Where there are no histograms, it is the mean of the slots' own p95, weighted by their
transactions.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.metrics.bootstrap import Parts, Spread, interval, spread
from tuibench.metrics.quantile import Quantile
from tuibench.metrics.slots import P95, Ranks, Slot
from tuibench.model.effect import Comparison, Figure

Window = Sequence[Slot]
NEAR_ZERO = 1e-3
"""A smaller ratio has no logarithm worth averaging."""


def compare(before: Window, after: Window) -> tuple[Comparison, ...]:
    """All figures that both windows have. Costs a few milliseconds for a dozen slots a window."""
    found = (_tps(before, after), _p95(before, after), _fsyncs(before, after))
    return tuple(one for one in found if one is not None)


def levels(window: Window) -> dict[Figure, float]:
    """The figures of one window."""
    transactions = math.fsum(slot.transactions for slot in window)
    found = {Figure.TPS: transactions / math.fsum(slot.seconds for slot in window)}
    if (p95 := p95_of(window)) is not None:
        found[Figure.P95] = p95
    if (fsyncs := _fsync_parts(window)) is not None:
        found[Figure.FSYNCS] = fsyncs.ratio
    return found


def p95_of(window: Window) -> float | None:
    """The window's p95 in milliseconds; None when nothing finished."""
    histograms = [slot.latency for slot in window if slot.latency is not None and slot.latency.count]
    if histograms:
        return Ranks(histograms).at_ms(P95)
    parts = _p95_parts(window)
    return parts.ratio if parts else None


class Difference(NamedTuple):
    """A difference and a relative one in percent, each with its interval; see `Comparison`."""

    delta: float
    low: float
    high: float
    percent: float | None
    percent_low: float | None
    percent_high: float | None
    differs: bool


def comparison(figure: Figure, before: float, after: float, redrawn: Spread) -> Comparison:
    """Puts difference and relative difference with their intervals together."""
    found = difference(before, after, redrawn)
    return Comparison(figure=figure, before=before, after=after, **found._asdict())


def difference(before: float, after: float, redrawn: Spread) -> Difference:
    """By how much a figure differs, by its value and the redrawn ones."""
    low, high = interval(after - before, _pairwise(redrawn, lambda old, new: new - old), redrawn.scale)
    relative: tuple[float | None, float | None, float | None] = (None, None, None)
    if before > 0:
        edges = _ratio_interval(after / before, redrawn)
        relative = (100 * (after / before - 1), 100 * (edges[0] - 1), 100 * (edges[1] - 1))
    certain = not low <= 0 <= high
    if relative[1] is not None and relative[2] is not None:
        certain = certain and not relative[1] <= 0 <= relative[2]
    return Difference(after - before, low, high, *relative, certain)


def _ratio_interval(ratio: float, redrawn: Spread) -> tuple[float, float]:
    """Of after / before: by its logarithm, so that it stays above zero, unless it comes near to it."""
    ratios = _pairwise(redrawn, lambda old, new: new / old if old > 0 else math.nan)
    if min(ratio, *ratios) > NEAR_ZERO and max(ratio, *ratios) < 1 / NEAR_ZERO:
        low, high = interval(math.log(ratio), [math.log(one) for one in ratios], redrawn.scale)
        return math.exp(low), math.exp(high)
    low, high = interval(ratio, ratios, redrawn.scale)
    return max(0.0, low), high


def _pairwise(redrawn: Spread, combine: Callable[[float, float], float]) -> list[float]:
    values = [combine(old, new) for old, new in zip(redrawn.before, redrawn.after, strict=True)]
    return [value for value in values if not math.isnan(value)] or [0.0]


def _tps(before: Window, after: Window) -> Comparison:
    old, new = (
        Parts([s.transactions for s in window], [s.seconds for s in window]) for window in (before, after)
    )
    return comparison(Figure.TPS, old.ratio, new.ratio, spread(old, new))


def _fsyncs(before: Window, after: Window) -> Comparison | None:
    old, new = _fsync_parts(before), _fsync_parts(after)
    if old is None or new is None:
        return None
    return comparison(Figure.FSYNCS, old.ratio, new.ratio, spread(old, new))


def _fsync_parts(window: Window) -> Parts | None:
    """None where nothing was told, or nothing was committed."""
    known = [(slot.log_fsyncs, slot.transactions) for slot in window if slot.log_fsyncs is not None]
    if sum(transactions for _, transactions in known) <= 0:
        return None
    return Parts([fsyncs for fsyncs, _ in known], [transactions for _, transactions in known])


def _p95(before: Window, after: Window) -> Comparison | None:
    old, new = _told(before), _told(after)
    if old is None or new is None:
        return None
    redrawn = spread(old.parts, new.parts)
    return comparison(
        Figure.P95,
        old.value,
        new.value,
        Spread(old.read(redrawn.before), new.read(redrawn.after), redrawn.scale),
    )


class _Told(NamedTuple):
    """A window's p95, what its redrawing is made of, and how the redrawn figures become a p95 again."""

    value: float
    parts: Parts
    read: Callable[[list[float]], list[float]]


def _told(window: Window) -> _Told | None:
    histograms = [slot.latency for slot in window if slot.latency is not None and slot.latency.count]
    if histograms:
        quantile = Quantile(histograms, P95)
        return _Told(quantile.value_ms, quantile.parts, quantile.read)
    parts = _p95_parts(window)
    return _Told(parts.ratio, parts, list) if parts else None


def _p95_parts(window: Window) -> Parts | None:
    known = [
        (s.p95_ms * s.transactions, s.transactions) for s in window if s.p95_ms is not None and s.transactions
    ]
    return Parts([one for one, _ in known], [weight for _, weight in known]) if known else None
