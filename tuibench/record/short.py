"""Figures in few bytes: a latency as a row without names, and figures by name told by their changes."""

from tuibench.metrics.histogram import US_PER_MS
from tuibench.model.sample import Latency

Row = tuple[int, ...]
"""A `Latency`: count, then µs: min, avg, p50, p95, p99, p99.9, max. Those missing at its end are as the last
one told. Empty if there was nothing."""

_FIGURES = ("min", "avg", "p50", "p95", "p99", "p999", "max")

Figures = dict[str, int] | tuple[int, ...]
"""Values by name; or how much each has changed, in the order in which they were last told by name."""


class Changing:
    """Figures by name, told whole or by their changes; those that should not fall, whole where they did."""

    def __init__(self, *, falls: bool = True) -> None:
        self._falls = falls
        self._known: dict[str, int] | None = None

    def told(self, now: dict[str, int]) -> Figures:
        """What is to be written."""
        before, self._known = self._known, now
        if before is None or before.keys() != now.keys():
            return now
        changes = tuple(now[name] - value for name, value in before.items())
        if not self._falls and min(changes, default=0) < 0:
            return now
        self._known = {name: now[name] for name in before}
        return changes

    def heard(self, told: Figures) -> dict[str, int]:
        """What holds after it was read; nothing as long as the names are not known."""
        if isinstance(told, dict):
            self._known = told
        elif self._known is None or len(self._known) != len(told):
            self._known = None
        else:
            self._known = {
                name: value + change for (name, value), change in zip(self._known.items(), told, strict=True)
            }
        return self._known or {}


def row_of(latency: Latency | None) -> Row:
    """A latency without its names, as short as may be."""
    if latency is None:
        return ()
    figures = [round(getattr(latency, name) * US_PER_MS) for name in _FIGURES]
    while len(figures) > 1 and figures[-1] == figures[-2]:
        figures.pop()
    return (latency.count, *figures)


def latency_of(row: Row) -> Latency | None:
    """What a row tells; None of an empty one."""
    if len(row) < 2:
        return None
    count, *told = row
    low, avg, p50, p95, p99, p999, high = told + told[-1:] * (len(_FIGURES) - len(told))
    return Latency(
        count=count,
        min=low / US_PER_MS,
        avg=avg / US_PER_MS,
        p50=p50 / US_PER_MS,
        p95=p95 / US_PER_MS,
        p99=p99 / US_PER_MS,
        p999=p999 / US_PER_MS,
        max=high / US_PER_MS,
    )
