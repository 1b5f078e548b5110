"""Events and messages of a session: the event log, and who gets each message.

Every message goes to the record, to the listeners, and to the history that later viewers get. The history is
limited in number, and reduced to what charts need.
"""

import hashlib
import os
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tuibench import __version__
from tuibench.base import files
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import UsageError
from tuibench.model.counters import LOG_FSYNCS, SAMPLED_NAMES, Counter
from tuibench.model.effect import Effect
from tuibench.model.event import CHANGE_KINDS, Event, EventKind, Trouble
from tuibench.model.message import MOST_SAMPLES, PROTOCOL_VERSION, Hello, SessionMessage, SessionSpec, Status
from tuibench.model.server import ServerInfo
from tuibench.model.tick import STATEMENT, Sample, Tick
from tuibench.record.recorder import PlanRecord, RunRecorder
from tuibench.workload import library
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program

ONE_CHANGE_SECONDS = 3.0
"""Changes of the threads within this time are one change."""


class Steps(NamedTuple):
    """Changes of one kind that an experiment is making."""

    kind: EventKind
    experiment: str
    is_numbered: bool
    """True if the next change gets a marker."""
    is_silent: bool = False
    """True if the changes are no events, because the load has not started."""


class EventLog:
    """All events of a run, in order."""

    def __init__(self, clock: Clock, publish: Callable[[Event], None]) -> None:
        self.events: list[Event] = []
        self._clock = clock
        self._publish = publish
        self.zero_ns = 0
        self.steps: Steps | None = None
        self.is_started = False
        self._markers = 0
        self._threads: tuple[Event, int] | None = None

    def start(self, at_ns: int) -> None:
        """Set the zero of elapsed time; elapsed time is negative before a start in the future."""
        self.zero_ns = at_ns
        self.is_started = True

    def elapsed_seconds(self) -> float:
        """Seconds since the start; 0 while it is unknown."""
        return self.elapsed_at(self._clock.now_ns())

    def elapsed_at(self, at_ns: int) -> float:
        """Seconds from the start to a time of the clock."""
        return (at_ns - self.zero_ns) / NS_PER_SECOND if self.is_started else 0.0

    def emit(
        self,
        kind: EventKind,
        text: str,
        effect: Effect | None = None,
        experiment: str = "",
        trouble: Trouble | None = None,
    ) -> Event:
        """Emit an event that happens now."""
        is_numbered = kind in CHANGE_KINDS
        if self.steps is not None and self.steps.kind is kind:
            is_numbered, experiment = self.steps.is_numbered, self.steps.experiment
            self.steps = self.steps._replace(is_numbered=False)
        self._markers += is_numbered
        marker = self._markers if is_numbered else None
        return self._add(
            kind,
            text,
            marker=effect.markers[-1] if effect else marker,
            effect=effect,
            experiment=experiment,
            trouble=trouble,
        )

    def emit_threads(self, before: int, after: int) -> Event:
        """Emit a change of the threads by an operator. One within `ONE_CHANGE_SECONDS` of another is the same
        change, and has its marker.
        """
        last = self._threads
        if (
            last is None
            or self.steps is not None
            or last[0].marker != self._markers
            or after == last[1]
            or self.elapsed_seconds() - last[0].elapsed_seconds > ONE_CHANGE_SECONDS
        ):
            event = self.emit(EventKind.THREADS, f"threads {before} → {after}")
        else:
            before = last[1]
            self.events.remove(last[0])
            event = self._add(EventKind.THREADS, f"threads {before} → {after}", marker=self._markers)
        self._threads = event, before
        return event

    def emit_not_measured(self, marker: int, change: str, why: str) -> Event:
        """Emit the reason why the effect of a change could not be measured."""
        text = f"effect of {change} not measured: {why}"
        return self._add(EventKind.EFFECT, text, marker=marker, not_measured=why)

    def _add(
        self,
        kind: EventKind,
        text: str,
        *,
        marker: int | None,
        effect: Effect | None = None,
        not_measured: str = "",
        experiment: str = "",
        trouble: Trouble | None = None,
    ) -> Event:
        event = Event(
            at=self._clock.wall_seconds(),
            elapsed_seconds=self.elapsed_seconds(),
            kind=kind,
            text=text,
            marker=marker,
            effect=effect,
            not_measured=not_measured,
            experiment=experiment,
            trouble=trouble,
        )
        if self.steps is not None and self.steps.kind is kind and self.steps.is_silent:
            return event
        self.events.append(event)
        self._publish(event)
        return event


class SampleHistory:
    """The newest samples. Only the last one is kept completely, the others as JSON with what charts need."""

    def __init__(self, most: int = MOST_SAMPLES) -> None:
        self._slim: deque[msgspec.Raw] = deque(maxlen=most - 1)
        self._last: Sample | None = None

    def add(self, sample: Sample) -> None:
        if self._last is not None:
            self._slim.append(msgspec.Raw(msgspec.json.encode(slim(self._last))))
        self._last = sample

    def newest(self, count: int) -> tuple[Sample | msgspec.Raw, ...]:
        """The newest samples, up to a maximum, oldest first; to be encoded as they are."""
        if self._last is None or count <= 0:
            return ()
        return (*islice(self._slim, max(0, len(self._slim) - count + 1), None), self._last)


KEPT_SUMS = frozenset({*LOG_FSYNCS, Counter.POOL_READS, Counter.POOL_READ_REQUESTS})
KEPT_LEVELS = frozenset({Counter.THREADS_RUNNING, Counter.THREADS_CONNECTED, Counter.OPEN_TABLES})
"""The server's values that charts show."""


def slim(sample: Sample) -> Sample:
    """The sample for the history, without what is shown only while it is new: counters, gauges, and all
    latencies but those of the transactions.
    """
    tick = sample.tick
    return replace(
        sample,
        tick=replace(
            tick,
            sums={name: value for name, value in tick.sums.items() if _is_kept(name, KEPT_SUMS)},
            levels={name: value for name, value in tick.levels.items() if _is_kept(name, KEPT_LEVELS)},
            hists={name: each for name, each in tick.hists.items() if not name.startswith(STATEMENT)},
            missing={},
        ),
    )


def _is_kept(name: str, of_server: frozenset[Counter]) -> bool:
    return name in of_server or (name not in SAMPLED_NAMES and not name.startswith("host.core."))


def build_plan_record(
    spec: SessionSpec, server: ServerInfo, program: Program | None, started_at: float
) -> PlanRecord:
    """The plan and the server of a run, without the password. `started_at` is in Unix seconds."""
    record = PlanRecord(
        version=__version__,
        session=spec.session,
        started_at=started_at,
        plan=spec.plan,
        target=spec.target.without_password(),
        server=server,
    )
    if program is None:
        return record
    return msgspec.structs.replace(
        record,
        data_set=build_data_set(program).describe(),
        options=dict(program.options),
        headline=program.headline,
        profile_text=spec.plan.profile_text or read_profile_text(spec.plan.profile),
        profile_digest=hashlib.sha256(msgspec.json.encode(program, order="sorted")).hexdigest(),
    )


def read_profile_text(profile: str) -> str:
    """The current text of the profile's file; empty if the file was removed."""
    try:
        return files.read_text(library.find_profile(profile))
    except (UsageError, OSError, UnicodeDecodeError):
        return ""


Listener = Callable[[SessionMessage], None]
EventListener = Callable[[Event], None]
IntervalListener = Callable[[Tick], None]


class EventBus:
    """Passes each message once to the record and to all listeners."""

    def __init__(self, recorder: RunRecorder, clock: Clock) -> None:
        self.recorder = recorder
        self.history = SampleHistory()
        self.listeners: list[Listener] = []
        self.interval_listeners: list[IntervalListener] = []
        """They get the measured intervals only, not those of a warm-up."""
        self.sample_listeners: list[Callable[[Sample], None]] = []
        """They get all samples."""
        self.event_listeners: list[EventListener] = []
        """They get the events, after everyone else."""
        self._clock = clock

    def publish(self, message: SessionMessage) -> None:
        if isinstance(message, Status):
            self.recorder.status(self._clock.wall_seconds(), message)
        for listener in self.listeners:
            listener(message)

    def event(self, event: Event) -> None:
        self.recorder.event(event)
        self.publish(event)
        for listener in self.event_listeners:
            listener(event)

    def sample(self, sample: Sample) -> None:
        self.history.add(sample)
        self.recorder.sample(sample)
        self.publish(sample)
        for take in self.sample_listeners:
            take(sample)

    def interval(self, tick: Tick) -> None:
        for listener in self.interval_listeners:
            listener(tick)

    async def close(self) -> None:
        """Closes the record after syncing everything to disk. May be called again."""
        self.recorder.close()


MOST_EVENTS = 500
"""Maximum number of past events that a new viewer receives."""


def build_hello(spec: SessionSpec, server: ServerInfo, status: Status) -> Hello:
    """The first message to a viewer, without the session's history and load."""
    return Hello(
        protocol=PROTOCOL_VERSION,
        version=__version__,
        session=spec.session,
        pid=os.getpid(),
        plan=spec.plan,
        target=spec.target.without_password(),
        data_set="",
        server=server,
        run_directory=spec.run_directory,
        status=status,
        can_crash=spec.control is not None,
    )


def history_fields(
    log: EventLog, history: SampleHistory, samples: int, *, with_events: bool
) -> dict[str, object]:
    """The fields of a Hello about the past: up to `samples` samples, and the events if requested."""
    return {
        "elapsed_seconds": log.elapsed_seconds(),
        "samples": history.newest(samples),
        "events": tuple(log.events[-MOST_EVENTS:]) if with_events else (),
    }
