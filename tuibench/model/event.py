"""Events of a run: kinds and structure."""

from enum import StrEnum

import msgspec

from tuibench.model.experiments.effect import Effect


class EventKind(StrEnum):
    """Why an event is told; `CHANGES` are those an operator looks for on the time axis."""

    START = "start"
    STOP = "stop"
    THREADS = "threads"
    RATE = "rate"
    WEIGHTS = "weights"
    DELAY = "delay"
    SETTING = "setting"
    FOREIGN = "foreign"
    PAUSE = "pause"
    RESUME = "resume"
    PLAN = "plan"
    MARK = "mark"
    RESET = "reset"
    KILL = "kill"
    ERRORS = "errors"
    RECONNECT = "reconnect"
    RESTART = "restart"
    WARNING = "warning"
    RESTORE = "restore"
    EFFECT = "effect"
    PROBE = "probe"


CHANGE_KINDS = frozenset(
    {
        EventKind.THREADS,
        EventKind.RATE,
        EventKind.WEIGHTS,
        EventKind.DELAY,
        EventKind.SETTING,
        EventKind.FOREIGN,
        EventKind.PAUSE,
        EventKind.RESUME,
        EventKind.MARK,
        EventKind.RESET,
        EventKind.KILL,
        EventKind.RESTART,
        EventKind.PROBE,
    }
)
"""The kinds that are drawn as a numbered line through all charts."""

COST_CHANGE_KINDS = frozenset({EventKind.START, EventKind.SETTING, EventKind.FOREIGN, EventKind.RESTART})
"""The kinds after which the cost of a commit may differ."""


class Event(msgspec.Struct, frozen=True, tag="event", kw_only=True):
    """One thing that happened.

    `at` is the wall clock (Unix seconds), `elapsed_seconds` counts from the start of the load (negative
    before it), `marker` numbers the changes from 1 and is None for events that are not drawn on the charts.
    An `effect` carries the marker of the (last) change that it is the effect of.
    """

    at: float
    elapsed_seconds: float
    kind: EventKind
    text: str
    marker: int | None = None
    effect: Effect | None = None
