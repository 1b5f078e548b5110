"""Definition of a figure: one number per sample, for a row of a list and for a chart.

A counter is measured between two samples: its value is its rate.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from tuibench.model.counters import Counter, first_known
from tuibench.model.measurements.sample import HostSample, Sample, ServerSample
from tuibench.units import DASH, binary_size, count, decimal, si

GaugeReader = Callable[[ServerSample], float | None]
NumberFormat = Callable[[float | None], str]


def rate_text(value: float | None) -> str:
    """A rate with the digits that are significant to a reader."""
    return decimal(value, 1) if value is not None and 0 < value < 100 else count_text(value)


def per_second_text(value: float | None) -> str:
    """A rate with its unit."""
    return DASH if value is None else f"{rate_text(value)}/s"


def count_text(value: float | None) -> str:
    """A count in at most eight cells."""
    return count(value) if value is None or value < 999_999.5 else si(value)


def bytes_per_second(value: float | None) -> str:
    return DASH if value is None else f"{binary_size(value)}/s"


class FigureSource(Protocol):
    """Row of a figure table: `name` below its heading, `title` on its own chart."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def write(self) -> NumberFormat: ...

    def value(self, sample: Sample) -> float | None:
        """Value of the figure in a sample; None over a gap, or if unknown."""
        ...


class CounterRow(NamedTuple):
    """Rate of a counter: the first of these names that the server has.

    `called` is the figure's name if it comes from a counter other than the first that counts something else.
    """

    name: str
    counters: tuple[Counter, ...]
    write: NumberFormat = rate_text
    write_total: NumberFormat = count_text
    why: str = "not counted here"
    alarms: bool = False
    rare: bool = False
    called: str = ""
    title: str = ""

    def value(self, sample: Sample) -> float | None:
        if sample.server is None or (name := self.counter(sample.server)) is None:
            return None
        return sample.server.per_second(name)

    def counter(self, part: ServerSample | None) -> Counter | None:
        """The first of the counters that this server has."""
        if part is not None:
            for name in self.counters:
                if name in part.counters:
                    return name
        return None


class GaugeRow(NamedTuple):
    """A gauge: the current value and its limit."""

    name: str
    read: GaugeReader
    write: NumberFormat = count_text
    beside: Callable[[ServerSample], str] = lambda _: ""
    needs: tuple[Counter, ...] = ()
    why: str = "not reported here"
    title: str = ""
    rare: bool = False

    def value(self, sample: Sample) -> float | None:
        return self.read(sample.server) if sample.server is not None else None


class HostRow(NamedTuple):
    """A figure of a host: how it is read from a sample, its format, and its note.

    `is_client` is True for the client's host if the server is on another one.
    """

    name: str
    read: Callable[[HostSample], float | None]
    write: NumberFormat
    beside: Callable[[HostSample], str] = lambda _: ""
    missing: str = "not readable here"
    rare: bool = False
    title: str = ""
    is_client: bool = False

    def host(self, sample: Sample) -> HostSample | None:
        """The host that the figure belongs to."""
        return sample.client_host if self.is_client else sample.shown_host

    def value(self, sample: Sample) -> float | None:
        host = self.host(sample)
        return self.read(host) if host is not None else None


def gauge_reader(*names: Counter) -> GaugeReader:
    """Reader of the first of these gauges that the server reports."""
    return lambda part: first_known(names, part.gauges)
