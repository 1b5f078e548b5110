"""Comparison of runs with the first one, and the history of one plan over time."""

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Any, Literal

import msgspec


class ComparisonVerdict(StrEnum):
    """EQUAL means within 5 %. CANNOT_TELL also means that a run did not measure the figure, or is too
    short.
    """

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    CANNOT_TELL = "cannot tell"


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a run compared with the first run.

    `relative` is the ratio to the first run (1.0 is equal), `percent` the difference with its 95 % interval
    from `low` to `high`, all relative to the first run; None if that is zero or was not measured.
    """

    value: float | None
    relative: float | None = None
    percent: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: ComparisonVerdict = ComparisonVerdict.CANNOT_TELL


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over all runs: `first` is that of the first run, `others` those of the other runs."""

    metric: str
    title: str
    unit: str
    better: str = ""
    first: float | None
    others: tuple[Contrast, ...]


class SetupDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A value that differs between the runs: its subject, its path, and its value in each run."""

    group: str
    path: str
    values: tuple[str, ...]


class RunComparison(msgspec.Struct, frozen=True, kw_only=True, tag="compare", tag_field="type"):
    """Comparison of runs. `runs` has a name for each side, `starts` the number of server starts on which it
    was measured. `doubts` are reasons against the comparison, `crossed` are the crossed thresholds. `stalls`
    and `slowest` have the stalls and the slowest transaction of each side.
    """

    schema: Literal["tuibench.compare/1"] = "tuibench.compare/1"
    runs: tuple[str, ...]
    starts: tuple[int, ...]
    differences: tuple[SetupDifference, ...]
    doubts: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]
    crossed: tuple[str, ...] = ()
    stalls: tuple[str, ...] = ()
    slowest: tuple[str, ...] = ()


UNNAMED = "unchanged"
"""The name of a variant without settings."""


def struct_differences(
    there: msgspec.Struct, here: msgspec.Struct, besides: Collection[str] = ()
) -> tuple[str, ...]:
    """The values that differ, each with its path: `base.seconds: 5.0 there, 10.0 here`.

    `besides` are paths to ignore.
    """
    return tuple(
        f"{path}: {_format_value(old)} there, {_format_value(new)} here"
        for path, old, new in _differing_pairs("", _as_json(there), _as_json(here))
        if path not in besides
    )


def _as_json(struct: msgspec.Struct) -> Any:
    """Convert to JSON objects and lists."""
    return msgspec.json.decode(msgspec.json.encode(struct))


def _differing_pairs(path: str, there: Any, here: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys((*there, *here)):
            yield from _differing_pairs(f"{path}.{key}".lstrip("."), there.get(key), here.get(key))
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for number, (old, new) in enumerate(zip(there, here, strict=True), 1):
            yield from _differing_pairs(f"{path}[{number}]", old, new)
    elif there != here:
        yield path, there, here


def _format_value(value: Any) -> str:
    """Format a value: a named object by its name, a list item by item."""
    match value:
        case None | []:
            return "nothing"
        case list():
            return ", ".join(map(_format_value, value))
        case {"name": name}:
            return str(name) or UNNAMED
        case dict():
            return msgspec.json.encode(value).decode()
    return str(value)


class HistoryRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the history; `started_at` is in seconds since the epoch."""

    run: str
    started_at: float
    value: float


class LevelChange(msgspec.Struct, frozen=True, kw_only=True):
    """The level changes at `run` by a percentage, None if it was zero before."""

    run: str
    percent: float | None
    before: float
    after: float


class Regression(LevelChange, frozen=True, kw_only=True):
    """A change for the worse that began at `run` and was detected at run `seen`."""

    seen: str


class History(msgspec.Struct, frozen=True, kw_only=True, tag="history", tag_field="type"):
    """History of a plan. `other_plans` is the number of runs of the profile with another plan; they are left
    out.

    `since` is the first run that was checked for a regression, None if none was. `note` is the reason why
    there is no result, otherwise empty.
    """

    schema: Literal["tuibench.history/1"] = "tuibench.history/1"
    profile: str
    figure: str
    runs: tuple[HistoryRun, ...]
    changes: tuple[LevelChange, ...]
    regression: Regression | None = None
    since: str | None = None
    other_plans: int = 0
    note: str = ""
