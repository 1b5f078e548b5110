"""Runs against the first of them: what differs in what was run, and by how much each figure does."""

from enum import StrEnum
from typing import Literal

import msgspec


class Verdict(StrEnum):
    """UNKNOWN: one of the runs did not measure it, or is too short to tell its noise."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "no difference"
    UNKNOWN = "unknown"


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one run against the first run's.

    `relative` is what it is of the first's (1.0 is the same), `percent` the difference, from `low` to `high`
    its 95 % interval, all relative to the first; None where that is zero or was not measured.
    """

    value: float | None
    relative: float | None = None
    percent: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = Verdict.UNKNOWN


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over all runs: `first` is the first run's, `others` those of the rest, in their order."""

    metric: str
    title: str
    unit: str
    better: Literal["higher", "lower"]
    first: float | None
    others: tuple[Contrast, ...]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is not the same in all runs: what it belongs to, its path, and what it is in each."""

    group: str
    path: str
    values: tuple[str, ...]


class Compared(msgspec.Struct, frozen=True, kw_only=True, tag="compare", tag_field="type"):
    """All of it. `doubts` speak against the comparison, `crossed` are the thresholds that were crossed."""

    schema: Literal["tuibench.compare/1"] = "tuibench.compare/1"
    runs: tuple[str, ...]
    differences: tuple[Difference, ...]
    doubts: tuple[str, ...]
    rows: tuple[Row, ...]
    crossed: tuple[str, ...] = ()
