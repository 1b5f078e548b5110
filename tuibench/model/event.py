"""Events of a run: kinds and structure."""

from enum import StrEnum

import msgspec

from tuibench.model.effect import Effect


class EventKind(StrEnum):
    """The kind of an event. `CHANGES` are those that an operator looks for on the time axis."""

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
    INTERVENTION = "intervention"
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
        EventKind.INTERVENTION,
        EventKind.RESTART,
        EventKind.PROBE,
    }
)
"""The kinds that are drawn as a numbered line through all charts."""

COST_CHANGE_KINDS = frozenset({EventKind.START, EventKind.SETTING, EventKind.FOREIGN, EventKind.RESTART})
"""The kinds after which the cost of a commit may differ."""


ENDED, DURING = " ended after ", "during "
"""Words of the events of an intervention."""


class Event(msgspec.Struct, frozen=True, tag="event", kw_only=True):
    """One event of a run.

    `at` is the wall clock (Unix seconds). `elapsed_seconds` counts from the start of the load and is negative
    before it. `marker` numbers the changes from 1; it is None for events without a marker on the charts. An
    `effect` has the marker of the change that it measures (of the last one, if there are several). If that
    effect could not be measured, `not_measured` is the reason.
    """

    at: float
    elapsed_seconds: float
    kind: EventKind
    text: str
    marker: int | None = None
    effect: Effect | None = None
    not_measured: str = ""
