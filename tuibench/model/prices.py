"""Prices of the physical world: what one more millisecond of a service costs, and what less would bring.

Of N connections without think time, a transaction takes R = N / TPS. If a service takes d more, and its time
is in a transaction k times, one after the other, R becomes R + k × d: TPS falls to 1 / (1 + d × k/R) of what
it was. The slope k/R is measured, and holds for the present load: with more connections, one flush serves
several commits.
"""

from enum import StrEnum

import msgspec

from tuibench.model.effect import Comparison


class Service(StrEnum):
    """What has a price."""

    FSYNC = "fsync"
    PAGE_READ = "page_read"
    PAGE_WRITE = "page_write"
    ROUND_TRIP = "round_trip"


SERVICE_LABELS = {
    Service.FSYNC: "fsync",
    Service.PAGE_READ: "page read",
    Service.PAGE_WRITE: "page write",
    Service.ROUND_TRIP: "round trip",
}


class Estimate(msgspec.Struct, frozen=True):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def includes(self, value: float) -> bool:
        return self.low <= value <= self.high


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """The price of one service at the present load."""

    service: Service
    now_ms: float | None = None
    """The mean time of the service at present; None if it is not known."""
    per_transaction: float = 0.0
    """How often a transaction causes it, also in the background."""
    step_ms: float = 0.0
    """What was added to it; 0 if its price was not measured."""
    pairs: int = 0
    """The cycles that count."""
    comparisons: tuple[Comparison, ...] = ()
    """With the step against without it."""
    cost_percent: Estimate | None = None
    """The TPS that one more millisecond costs, in percent."""
    p95_ms: Estimate | None = None
    """The milliseconds of p95 that one more millisecond costs."""
    target_ms: float | None = None
    """A time that the service could have; None if it is as short already."""
    gain_percent: Estimate | None = None
    """The TPS that `target_ms` would bring, if the slope holds down there."""
    most_percent: float | None = None
    """At most so much, by the account of time: what is not there cannot be saved."""
    account_percent: float | None = None
    """The share of the service in the time of the connections, by the account of time."""
    slope_percent: Estimate | None = None
    """The same share by the slope: the present time of the service, at its price."""
    note: str = ""
    """Why there is no price, or what its two sources disagree about."""


class PriceList(msgspec.Struct, frozen=True, kw_only=True):
    """The prices of a load."""

    threads: int
    tps: float
    transaction_ms: float
    """The time of a transaction: threads by TPS."""
    cycles: int
    """The planned ones."""
    window_seconds: float
    prices: tuple[Price, ...] = ()
    ended: str = ""
    """Why it ended early; empty if it did not."""

    @property
    def has_prices(self) -> bool:
        return any(price.cost_percent is not None for price in self.prices)
