"""What a change did: figures before and after it, their difference, and how sure it is."""

from enum import StrEnum

import msgspec


class Figure(StrEnum):
    """What is compared: transactions a second, milliseconds, and log fsyncs for each transaction."""

    TPS = "tps"
    P95 = "p95_ms"
    FSYNCS = "fsyncs_per_transaction"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One figure, before and after.

    `low` to `high` is the 95 % interval of `delta` (after − before), `percent_low` to `percent_high` that of
    `percent`, the change relative to `before`; these are None where `before` is zero. `differs` is False
    when an interval holds zero: nothing can be told from the noise.
    """

    figure: Figure
    before: float
    after: float
    delta: float
    low: float
    high: float
    percent: float | None = None
    percent_low: float | None = None
    percent_high: float | None = None
    differs: bool


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Equal windows before and after a change, or after several that came too quickly to be told apart.

    `markers` are the numbers of the changes, `change` says them in words. `window_seconds` is the length of
    either window; `settling_seconds` lie between the last change and the second window. `settled` is False
    when the load was still moving after the longest time it is given. What was not measured is absent.
    """

    markers: tuple[int, ...]
    change: str
    at_seconds: float
    window_seconds: float
    settling_seconds: float
    settled: bool
    comparisons: tuple[Comparison, ...]

    def comparison(self, figure: Figure) -> Comparison | None:
        return next((one for one in self.comparisons if one.figure is figure), None)
