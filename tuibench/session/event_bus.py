"""The bus of a session's events and samples, and the greeting of viewers.

Event bus: passes every message of a session to its record, its history and its listeners.

The recorder gathers what the files of the record need, and writes each message as it comes.

The first message to a viewer: the session, its current status, and its history.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from tuibench import __version__, files
from tuibench.clock import Clock
from tuibench.errors import UsageError
from tuibench.model.event import Event
from tuibench.model.message import PROTOCOL_VERSION, Hello, SessionMessage, Status
from tuibench.model.sample import Sample
from tuibench.model.server import ServerInfo
from tuibench.model.summary import Summary
from tuibench.model.tick import Tick
from tuibench.observe.host_facts import read_environment
from tuibench.record.recorder import PlanRecord, RunRecorder
from tuibench.record.sysbench_report import FullReport
from tuibench.session.event_log import EventLog, SampleHistory
from tuibench.session.load import LoadController
from tuibench.session.spec import SessionSpec
from tuibench.workload import library
from tuibench.workload.datasets import build_data_set
from tuibench.workload.program import Program


class SessionRecorder:
    """One session's run directory, from `open` to `close`."""

    def __init__(self, spec: SessionSpec, clock: Clock, on_failure: Callable[[str], object]) -> None:
        self._spec = spec
        self._clock = clock
        self._recorder = RunRecorder(Path(spec.run_directory), on_failure)
        self._is_closed = False

    async def open(self, server: ServerInfo, program: Program | None = None) -> None:
        """Writes what is known at the start, without a program for a session without load.

        Raises RunError if the record cannot be written.
        """
        environment = await read_environment(self._spec.target, server, self._clock.now_ns)
        record = build_plan_record(self._spec, server, program, self._clock.wall_seconds())
        self._recorder.open(record, environment)

    def on_message(self, message: SessionMessage) -> None:
        """Records the status; the other messages have calls of their own."""
        if isinstance(message, Status):
            self._recorder.status(self._clock.wall_seconds(), message)

    def sample(self, sample: Sample) -> None:
        self._recorder.sample(sample)

    def event(self, event: Event) -> None:
        self._recorder.event(event)

    def report(self, report: FullReport) -> None:
        """The full report of a checkpoint."""
        self._recorder.report(report)

    def summary(self, summary: Summary, load: LoadController) -> None:
        """Write the last report, the figures after the last sample, and the summary."""
        if (remainder := load.remainder()) is not None:
            self._recorder.remainder(remainder)
        since = load.accounting.since_checkpoint
        self._recorder.report(load.since_checkpoint(), since.transactions, last=True)
        self._recorder.summary(summary)

    def write_summary(self, summary: Summary) -> None:
        """The summary alone."""
        self._recorder.summary(summary)

    async def close(self) -> None:
        """Close the record after syncing everything to disk. May be called again."""
        if not self._is_closed:
            self._is_closed = True
            self._recorder.close()


def build_plan_record(
    spec: SessionSpec, server: ServerInfo, program: Program | None, started_at: float
) -> PlanRecord:
    """What was run, and on which server; without the password. `started_at` is wall-clock time."""
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
    """Passes each message once to the record and to all listeners.

    `interval_listeners` get the measured intervals only, not those of a warm-up. `event_listeners` get the
    events, after everyone else.
    """

    def __init__(self, recording: SessionRecorder) -> None:
        self.recording = recording
        self.history = SampleHistory()
        self.listeners: list[Listener] = []
        self.interval_listeners: list[IntervalListener] = []
        self.event_listeners: list[EventListener] = []

    def publish(self, message: SessionMessage) -> None:
        self.recording.on_message(message)
        for listener in self.listeners:
            listener(message)

    def event(self, event: Event) -> None:
        self.recording.event(event)
        self.publish(event)
        for listener in self.event_listeners:
            listener(event)

    def sample(self, sample: Sample) -> None:
        self.history.add(sample)
        self.recording.sample(sample)
        self.publish(sample)

    def interval(self, tick: Tick) -> None:
        for listener in self.interval_listeners:
            listener(tick)


MOST_EVENTS = 500
"""Maximum number of past events that a new viewer receives."""


def build_hello(spec: SessionSpec, server: ServerInfo, status: Status) -> Hello:
    """The session and its current status, without its history and its load."""
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
