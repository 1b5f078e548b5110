"""Rates from cumulative counters: differences over the measured interval.

An unknown figure is None, never zero: a counter missing on either side, or one that decreased.
"""

from collections.abc import Mapping

import msgspec


class CounterInterval(msgspec.Struct, frozen=True, kw_only=True):
    """The growth of counters between two readings, `seconds` apart.

    `deltas` holds the counters that both readings have and that did not decrease; `went_back` names those
    that did, which indicates a restart or a reset in between.
    """

    seconds: float
    deltas: dict[str, int]
    went_back: tuple[str, ...] = ()

    @property
    def reset(self) -> bool:
        return bool(self.went_back)


def counter_interval(before: Mapping[str, int], after: Mapping[str, int], seconds: float) -> CounterInterval:
    """Compare two readings of cumulative counters."""
    deltas = {name: after[name] - value for name, value in before.items() if name in after}
    return CounterInterval(
        seconds=seconds,
        deltas={name: delta for name, delta in deltas.items() if delta >= 0},
        went_back=tuple(name for name, delta in deltas.items() if delta < 0),
    )


def growth(before: float | None, after: float | None) -> float | None:
    """The growth of one cumulative counter; None if unknown on either side or if it decreased."""
    if before is None or after is None or after < before:
        return None
    return after - before


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole; None if either is unknown or the whole is zero."""
    if part is None or whole is None or whole <= 0:
        return None
    return part / whole
