"""Cumulative counters into rates: differences over the interval that was really measured.

A figure that cannot be known is None, never zero: a counter missing on either side, or one that went back.
"""

from collections.abc import Mapping

import msgspec


class CounterInterval(msgspec.Struct, frozen=True, kw_only=True):
    """What counters did between two readings that lie `seconds` apart.

    `deltas` holds the counters that both readings have and that did not go back; `went_back` names those
    that did, which means a restart or a reset in between.
    """

    seconds: float
    deltas: dict[str, int]
    went_back: tuple[str, ...] = ()

    @property
    def reset(self) -> bool:
        return bool(self.went_back)

    def delta(self, name: str) -> int | None:
        """By how much the counter grew."""
        return self.deltas.get(name)

    def per_second(self, name: str) -> float | None:
        """How fast the counter grew."""
        return ratio(self.deltas.get(name), self.seconds)


def counter_interval(before: Mapping[str, int], after: Mapping[str, int], seconds: float) -> CounterInterval:
    """Compares two readings of cumulative counters."""
    deltas = {name: after[name] - value for name, value in before.items() if name in after}
    return CounterInterval(
        seconds=seconds,
        deltas={name: delta for name, delta in deltas.items() if delta >= 0},
        went_back=tuple(name for name, delta in deltas.items() if delta < 0),
    )


def growth(before: float | None, after: float | None) -> float | None:
    """By how much one cumulative counter grew; None if unknown on either side or if it went back."""
    if before is None or after is None or after < before:
        return None
    return after - before


def ratio(part: float | None, whole: float | None) -> float | None:
    """part / whole; None if either is unknown or there was nothing to divide by."""
    if part is None or whole is None or whole <= 0:
        return None
    return part / whole


def hit_percent(misses: int | None, requests: int | None) -> float | None:
    """The share of requests that did not miss, 0 to 100. None in an interval without requests.

    The server counts the two apart, so a reading may catch a miss before its request: never below 0.
    """
    missed = ratio(misses, requests)
    return None if missed is None else max(0.0, 100.0 * (1.0 - missed))
