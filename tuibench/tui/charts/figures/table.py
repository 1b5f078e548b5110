"""Table of all figures that a chart can show, by key, and their reading from the samples.

The readings of a sample are an array of numbers in the order of the table: 4 bytes each, UNKNOWN for what is
not known, so that hours of all figures fit into the viewer's memory. Replicas come and go; their lag is kept
by name.
"""

import math
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tuibench.model.measurements.sample import Sample
from tuibench.tui.charts.figures.figure import FigureSource, NumberFormat, per_second_text, rate_text
from tuibench.tui.charts.figures.host import CLIENT, CLIENT_TABLE, HOST_TABLES
from tuibench.tui.charts.figures.server import LEFT_TABLES, RIGHT_TABLES
from tuibench.units import DASH, decimal, si

UNKNOWN = -math.inf
AXIS_CELLS = 6
REPLICA = "replica/"
"""Before the name of a replica: the key of its lag."""


class Figure(NamedTuple):
    """`title` is what a chart of its own is called, `section` the heading it stands below."""

    key: str
    title: str
    section: str
    write: NumberFormat

    def axis(self, value: float | None) -> str:
        """The value in the six cells of an axis label: 14.3 MiB/s is 14.3 M there."""
        text = self.write(value).removesuffix("/s").replace("iB", "")
        if len(text) > AXIS_CELLS:
            text = text.replace(" ", "")
        return text if len(text) <= AXIS_CELLS else si(value)


def figure_key(section: str, name: str) -> str:
    """The key of a row, by its heading and its name."""
    return f"{section}/{name}"


def _sources() -> Iterator[tuple[str, FigureSource]]:
    for title, rows in (*LEFT_TABLES, *RIGHT_TABLES, *HOST_TABLES.items(), (CLIENT, CLIENT_TABLE)):
        yield from ((title, row) for row in rows)


def _small_heading(section: str) -> str:
    return "InnoDB" if section == "INNODB" else section.lower()


def _with_unit(write: NumberFormat) -> NumberFormat:
    """A chart says that a rate is one; in a list that goes without saying."""
    return per_second_text if write is rate_text else write


SOURCES = tuple(_sources())
FIGURES = tuple(
    Figure(
        figure_key(section, row.name), row.title or row.name, _small_heading(section), _with_unit(row.write)
    )
    for section, row in SOURCES
)
PLACES = {figure.key: place for place, figure in enumerate(FIGURES)}


def figure_number(key: str) -> int:
    """A number that stands for the key, the same for as long as the viewer runs."""
    return PLACES[key] if key in PLACES else len(FIGURES) + zlib.crc32(key.encode())


def lag_text(value: float | None) -> str:
    """A lag in seconds: whole ones as the server tells them, merged ones with a digit."""
    return DASH if value is None else f"{value:g} s" if value == round(value) else f"{decimal(value, 1)} s"


def figure_of(key: str) -> Figure | None:
    """The figure of a key; None for one that no table has."""
    if key.startswith(REPLICA):
        return Figure(key, key.removeprefix(REPLICA), "replica lag", lag_text)
    return FIGURES[PLACES[key]] if key in PLACES else None


def read_figures(before: Sample | None, after: Sample) -> Sequence[float]:
    """All figures of a sample, in the order of the table."""
    values = (row.value(before, after) for _, row in SOURCES)
    return array("f", [UNKNOWN if value is None else value for value in values])


def read_lags(sample: Sample) -> dict[str, float]:
    """The lag of each replica that told it, in seconds, by its name."""
    return {each.name: each.lag_seconds for each in sample.replicas if each.lag_seconds is not None}


def figure_value(key: str, figures: Sequence[float], lags: Mapping[str, float]) -> float | None:
    """One of them; None where it is not known."""
    if key.startswith(REPLICA):
        return lags.get(key.removeprefix(REPLICA))
    place = PLACES.get(key)
    if place is None or not figures or figures[place] == UNKNOWN:
        return None
    return figures[place]


def mean_figures(weighted: Sequence[tuple[Sequence[float], int]]) -> Sequence[float]:
    """The mean of each figure over so many ticks each; what one part does not know is the other's."""
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
    """The longest lag of each replica."""
    known = [each for each in lags if each]
    if len(known) < 2:
        return known[0] if known else {}
    names = {name for each in known for name in each}
    return {name: max(each[name] for each in known if name in each) for name in sorted(names)}
