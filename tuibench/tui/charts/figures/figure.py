"""A row of a figure list: the name of a figure of `metrics.figures`, and how it is drawn."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.metrics.figures import FIGURES, SERVER_TIME, FigureUnit, Level, Ratio
from tuibench.metrics.figures import Figure as TableFigure
from tuibench.model.histogram import Latency
from tuibench.model.measurements.sample import Sample
from tuibench.model.tick import Tick
from tuibench.units import DASH, binary_size, count, decimal, milliseconds, percent, si, small_number

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


def seconds_text(value: float | None) -> str:
    return DASH if value is None else f"{small_number(value)} s"


WRITERS: dict[FigureUnit, NumberFormat] = {
    FigureUnit.PER_SECOND: rate_text,
    FigureUnit.MILLISECONDS: milliseconds,
    FigureUnit.SECONDS: seconds_text,
    FigureUnit.PERCENT: percent,
    FigureUnit.BYTES: binary_size,
    FigureUnit.BYTES_PER_SECOND: bytes_per_second,
    FigureUnit.NUMBER: small_number,
}


LATENCIES = frozenset(FIGURES) & frozenset(Latency.__struct_fields__)
"""Figures of the response times, which a sample has computed already."""


class FigureRow(NamedTuple):
    """One row: `figure` is the name of the figure, `name` that below the heading, `title` that of its own
    chart.

    `format` replaces that of the unit. `beside` writes a limit; a counter has its total there. `why` says why
    there is no value. A counter that `alarms` should stay at 0; a `rare` row is left out if space is short.
    `called` is the row's name if the figure comes from a counter other than the first that counts something
    else. `of` is the tick that the figure is read from.
    """

    figure: str
    name: str
    title: str = ""
    format: NumberFormat | None = None
    beside: Callable[[Tick], str] = lambda _: ""
    why: str = "not reported here"
    alarms: bool = False
    rare: bool = False
    called: str = ""
    of: Callable[[Sample], Tick | None] = lambda sample: sample.tick

    @property
    def facts(self) -> TableFigure:
        return FIGURES[self.figure]

    @property
    def write(self) -> NumberFormat:
        is_count = self.facts.unit is FigureUnit.NUMBER and isinstance(self.facts.source, Level)
        return self.format or (count_text if is_count else WRITERS[self.facts.unit])

    @property
    def is_counter(self) -> bool:
        """True for the growth of a counter of the server, which has a total."""
        source = self.facts.source
        return isinstance(source, Ratio) and source.below == SERVER_TIME

    @property
    def counters(self) -> tuple[str, ...]:
        """The server's names for the figure, in order of preference."""
        source = self.facts.source
        return source.above if isinstance(source, Ratio) else source.of if isinstance(source, Level) else ()

    def counter(self, tick: Tick) -> str | None:
        """The first of the counters that this server has."""
        return next((name for name in self.counters if name in tick.levels), None)

    def total(self, value: float) -> str:
        """The total of a counter."""
        is_bytes = self.facts.unit is FigureUnit.BYTES_PER_SECOND
        return binary_size(value) if is_bytes else count_text(value)

    def value(self, sample: Sample) -> float | None:
        """The figure of a sample; None over a gap, or if unknown."""
        if self.figure in LATENCIES:
            return None if sample.latency is None else float(getattr(sample.latency, self.figure))
        tick = self.of(sample)
        return None if tick is None else FIGURES[self.figure].source.value(tick)
