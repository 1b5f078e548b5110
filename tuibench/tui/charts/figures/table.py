"""Table of all figures that a chart can show, by key, and their values in the samples.

The values of a sample are an array of numbers in the order of the table: 4 bytes each, UNKNOWN for unknown
ones, so that hours of all figures fit into the viewer's memory. The set of replicas changes during a run, so
their lag is stored by name.
"""

import math
import zlib
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tuibench.metrics.figures import MAIN_FIGURES, OTHER_FIGURES, FigureUnit
from tuibench.model.measurements.sample import Sample
from tuibench.tui.charts.figures.figure import FigureRow, NumberFormat, per_second_text, rate_text
from tuibench.tui.charts.figures.host import CLIENT, CLIENT_TABLE, HOST_TABLES
from tuibench.tui.charts.figures.server import LEFT_TABLES, RIGHT_TABLES
from tuibench.units import DASH, decimal, si

UNKNOWN = -math.inf
AXIS_CELLS = 6
REPLICA = "replica/"
"""Prefix of the key of a replica's lag, before the replica's name."""


class Figure(NamedTuple):
    """A figure: `title` names its own chart, `section` is its heading in the list."""

    key: str
    title: str
    section: str
    write: NumberFormat
    unit: FigureUnit

    @property
    def is_rate(self) -> bool:
        """True for a rate per second."""
        return self.unit in (FigureUnit.PER_SECOND, FigureUnit.BYTES_PER_SECOND)

    @property
    def is_bytes(self) -> bool:
        """True for a size, or a rate of bytes."""
        return self.unit in (FigureUnit.BYTES, FigureUnit.BYTES_PER_SECOND)

    def axis(self, value: float | None) -> str:
        """The value in the six cells of an axis label: 14.3 MiB/s becomes 14.3 M."""
        text = self.write(value).removesuffix("/s").replace("iB", "")
        if len(text) > AXIS_CELLS:
            text = text.replace(" ", "")
        return text if len(text) <= AXIS_CELLS else si(value)


def figure_key(section: str, name: str) -> str:
    """Key of a row, from its heading and its name."""
    return f"{section}/{name}"


LISTS = (*LEFT_TABLES, *RIGHT_TABLES, *HOST_TABLES.items(), (CLIENT, CLIENT_TABLE))
_LISTED = {row.figure for _, rows in LISTS[:-1] for row in rows}
OTHERS = tuple(
    FigureRow(figure.name, figure.name, figure.heading)
    for figure in (*MAIN_FIGURES, *OTHER_FIGURES)
    if figure.name not in _LISTED
)
"""Figures in no list; the command palette puts them on a chart."""
SOURCES: tuple[tuple[str, FigureRow], ...] = tuple(
    (section, row) for section, rows in (*LISTS, ("FIGURES", OTHERS)) for row in rows
)


def _chart_figure(section: str, row: FigureRow) -> Figure:
    """A chart names the unit of a rate, a list does not."""
    write, unit = row.write, row.facts.unit
    heading = "InnoDB" if section == "INNODB" else section.lower()
    return Figure(
        figure_key(section, row.name),
        row.title or row.name,
        heading,
        per_second_text if write is rate_text else write,
        unit,
    )


FIGURES = tuple(_chart_figure(section, row) for section, row in SOURCES)
PLACES = {figure.key: place for place, figure in enumerate(FIGURES)}


def figure_number(key: str) -> int:
    """A number for a figure key, constant while the viewer runs."""
    return PLACES[key] if key in PLACES else len(FIGURES) + zlib.crc32(key.encode())


def lag_text(value: float | None) -> str:
    """A lag in seconds: whole numbers as the server reports them, merged ones with one decimal."""
    return DASH if value is None else f"{value:g} s" if value == round(value) else f"{decimal(value, 1)} s"


def figure_of(key: str) -> Figure | None:
    """The figure of a key; None for an unknown key."""
    if key.startswith(REPLICA):
        return Figure(key, key.removeprefix(REPLICA), "replica lag", lag_text, FigureUnit.SECONDS)
    return FIGURES[PLACES[key]] if key in PLACES else None


def read_figures(sample: Sample) -> Sequence[float]:
    """Values of all figures in a sample, in the order of the table."""
    values = (row.value(sample) for _, row in SOURCES)
    return array("f", [UNKNOWN if value is None else value for value in values])


def read_lags(sample: Sample) -> dict[str, float]:
    """Lag of each replica that reported it, in seconds, by name."""
    return {each.name: each.lag_seconds for each in sample.replicas if each.lag_seconds is not None}


def figure_value(key: str, figures: Sequence[float], lags: Mapping[str, float]) -> float | None:
    """Value of one figure; None if unknown."""
    if key.startswith(REPLICA):
        return lags.get(key.removeprefix(REPLICA))
    place = PLACES.get(key)
    if place is None or not figures or figures[place] == UNKNOWN:
        return None
    return figures[place]


def mean_figures(weighted: Sequence[tuple[Sequence[float], int]]) -> Sequence[float]:
    """Mean of each figure, weighted by ticks; an unknown value is replaced by the known one."""
    known = [(figures, ticks) for figures, ticks in weighted if figures]
    if not known:
        return ()
    mean, whole = known[0]
    for figures, ticks in known[1:]:
        old, new = whole / (whole + ticks), ticks / (whole + ticks)
        mean = array(
            "f",
            [
                (a * old + b * new) if a != UNKNOWN != b else max(a, b)
                for a, b in zip(mean, figures, strict=True)
            ],
        )
        whole += ticks
    return mean


def worst_lags(lags: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Maximum lag of each replica."""
    known = [each for each in lags if each]
    if len(known) < 2:
        return known[0] if known else {}
    names = {name for each in known for name in each}
    return {name: max(each[name] for each in known if name in each) for name in sorted(names)}
