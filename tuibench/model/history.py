"""The history of one plan: its recorded runs in the order of time, and where their level changed."""

from typing import Literal

import msgspec


class HistoryRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the history; `started_at` is in seconds since the epoch."""

    run: str
    started_at: float
    value: float


class LevelChange(msgspec.Struct, frozen=True, kw_only=True):
    """From `run` on the level is another, by so many percent."""

    run: str
    percent: float


class Regression(msgspec.Struct, frozen=True, kw_only=True):
    """A change for the worse that began at `run` and was evident at run `seen`."""

    run: str
    seen: str
    percent: float


class History(msgspec.Struct, frozen=True, kw_only=True, tag="history", tag_field="type"):
    """All of it. `other_plans` counts the runs of the profile that ran something else and are left out.

    `since` is the first run that was checked for a regression, None if none was. `note` says why nothing can
    be said, else it is empty.
    """

    schema: Literal["tuibench.history/1"] = "tuibench.history/1"
    profile: str
    figure: Literal["tps", "p95_ms"]
    runs: tuple[HistoryRun, ...]
    changes: tuple[LevelChange, ...]
    regression: Regression | None = None
    since: str | None = None
    other_plans: int = 0
    note: str = ""
