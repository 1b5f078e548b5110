"""Events of a run: kinds and structure, and the bands of experiments on a time axis."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from tuibench.model.effect import Effect


class EventKind(StrEnum):
    """The kind of an event."""

    START = "start"
    STOP = "stop"
    THREADS = "threads"
    RATE = "rate"
    WEIGHTS = "weights"
    DELAY = "delay"
    HARDWARE = "hardware"
    CALLERS = "callers"
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
    BLACK_BOX = "black box"


CHANGE_KINDS = frozenset(
    {
        EventKind.THREADS,
        EventKind.RATE,
        EventKind.WEIGHTS,
        EventKind.DELAY,
        EventKind.HARDWARE,
        EventKind.CALLERS,
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
"""The kinds that an operator looks for: drawn as a numbered line through all charts."""

REPORTED_KINDS = frozenset(
    {
        EventKind.WARNING,
        EventKind.RESTART,
        EventKind.FOREIGN,
        EventKind.RESTORE,
        EventKind.ERRORS,
        EventKind.RECONNECT,
        EventKind.EFFECT,
        EventKind.BLACK_BOX,
    }
)
"""The kinds that a run without a screen prints when they happen."""

COST_CHANGE_KINDS = frozenset(
    {EventKind.START, EventKind.SETTING, EventKind.HARDWARE, EventKind.FOREIGN, EventKind.RESTART}
)
"""The kinds after which the cost of a commit may differ."""


ENDED, DURING = " ended after ", "during "
"""Words of the events of an intervention."""

BURST_VERDICTS = ("recovered ", "still draining: ", "it does not recover: ")
"""How the events begin that say what became of a load after a burst."""

CRASHED, CRASH_FAILED = "kill -9, no loss of power", "crash failed: "
"""Words of the event with the result of a crash, and of that with its error."""


class TroubleKind(StrEnum):
    """What went wrong with a load or its server."""

    STALL = "stall"
    OUTAGE = "outage"
    GUARD = "guard"
    """A value on trial broke the guard."""
    LIMIT = "limit"
    """A condition of `--fail-if` held for several samples."""


class Trouble(msgspec.Struct, frozen=True):
    """A time in which something went wrong, in seconds since the start of the load."""

    kind: TroubleKind
    start_seconds: float
    end_seconds: float


class Event(msgspec.Struct, frozen=True, tag="event", kw_only=True):
    """One event of a run."""

    at: float
    """Unix seconds."""
    elapsed_seconds: float
    """Seconds since the start of the load; negative before it."""
    kind: EventKind
    text: str
    marker: int | None = None
    """Numbers the changes from 1; None for events without a marker on the charts."""
    effect: Effect | None = None
    """Has the marker of the change that it measures; of several changes, the last one's."""
    not_measured: str = ""
    """The reason why the effect could not be measured."""
    experiment: str = ""
    """The name of the experiment that caused the event. Only its first step has a marker."""
    trouble: Trouble | None = None
    """What the event reports, if something went wrong."""


def latest_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events, without those that a later one replaces: changes of the threads in quick succession are one
    change, with one marker.
    """
    found: dict[object, Event] = {}
    for event in events:
        key = id(event) if event.marker is None or event.effect else (event.kind, event.marker)
        found.pop(key, None)
        found[key] = event
    return tuple(found.values())


class Band(msgspec.Struct, frozen=True):
    """The time in which an experiment changes values: one mark on a time axis."""

    name: str
    marker: int | None
    """None if the change that the experiment decides has the marker."""
    end_seconds: float
    steps: tuple[Event, ...]

    @property
    def start_seconds(self) -> float:
        return self.steps[0].elapsed_seconds

    @property
    def label(self) -> str:
        return self.name if self.marker is None else f"{self.marker} {self.name}"

    @property
    def entry(self) -> Event:
        newest = self.steps[-1]
        if len(self.steps) > 1:
            last = newest.text.removeprefix(f"{self.name}: ")
            newest = replace(newest, text=f"{self.name}: {len(self.steps)} steps, the last: {last}")
        return replace(newest, marker=self.marker)


def bands(events: Iterable[Event]) -> list[Band]:
    """The experiments in order. One without a marker ends with the next change that is not its own."""
    found: list[Band] = []
    is_open = False
    for event in events:
        is_change = event.kind in CHANGE_KINDS
        if not event.experiment:
            is_other = is_change and event.kind is not EventKind.MARK
            is_open = is_open and not (is_other and found[-1].marker is None)
            continue
        is_open = is_open and event.experiment == found[-1].name and not (is_change and event.marker)
        steps = (event,) if is_change else ()
        if is_open:
            band = found[-1]
            found[-1] = replace(band, end_seconds=event.elapsed_seconds, steps=band.steps + steps)
        elif steps:
            found.append(Band(event.experiment, event.marker, event.elapsed_seconds, steps))
            is_open = True
    return found


def one_entry_an_experiment(events: Sequence[Event]) -> list[Event]:
    """The events, with the steps of each experiment replaced by its last one."""
    entries: dict[int, Event | None] = {}
    for band in bands(events):
        entries |= dict.fromkeys(map(id, band.steps))
        entries[id(band.steps[-1])] = band.entry
    merged = (entries.get(id(event), event) for event in events)
    return [event for event in merged if event is not None]
