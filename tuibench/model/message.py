"""Messages between a session and its viewers: one JSON object per line, with a `type`.

A new connection receives a `Hello` and may submit commands. With `JoinSession` it becomes a viewer: it
receives a `Hello` with the requested history, then every message as it happens, up to `SessionEnded`.

`ReplayState` is the position in the replay of a recorded run.
"""

from enum import StrEnum

import msgspec

from tuibench.model.command import Command
from tuibench.model.effect import AbTestResult, CommitCost, CommitCosts, EffectProgress
from tuibench.model.event import Event
from tuibench.model.findings import Headline
from tuibench.model.plan import RunPlan
from tuibench.model.probe import ProbeState
from tuibench.model.schedule import PlanProgress
from tuibench.model.server import Activity, ServerInfo, StatementReport, Target, TimeReport
from tuibench.model.settings import PresetState, SettingState
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample
from tuibench.model.tune import TuneProgress

PROTOCOL_VERSION = 3


class RunState(StrEnum):
    STARTING = "starting"
    WARMING = "warming up"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"


class Status(msgspec.Struct, frozen=True, tag="status", kw_only=True):
    """The current state of a session. Sent in full whenever any part of it changes.

    `weights` are those of the profile's transactions, empty if it has only one. `client_delay_ms` is the
    simulated network delay per round trip. `plan` is the progress of a planned load, None without a plan.
    `production_signs` are the reasons why the server resembles a production server; while there are any,
    settings are changed only after the command `TrustServer`. `ab` is the result so far of an A/B test;
    `effect` is the progress of the effect that is being measured, if there is one. `undo` are the changes
    that can be taken back, the last one first.
    """

    state: RunState
    threads: int
    rate: float = 0.0
    weights: dict[str, float] = {}
    client_delay_ms: float = 0.0
    plan: PlanProgress | None = None
    workers: int
    settings: tuple[SettingState, ...]
    presets: tuple[PresetState, ...]
    production_signs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    ab: AbTestResult | None = None
    effect: EffectProgress | None = None
    undo: tuple[str, ...] = ()


class Hello(msgspec.Struct, frozen=True, tag="hello", kw_only=True):
    """Properties and current state of a session. `data_set` describes the tables ("4 × 100,000 rows").

    `version` is the program's, `pid` the session's process, `viewers` the number of viewers; without any the
    session continues for `grace_seconds`, None for no limit. `elapsed_seconds` is the age of the load. The
    first `Hello` of a connection holds the newest sample only, and no events. `metrics` is the address of its
    metrics for Prometheus, empty if it serves none. `probe` and `tune` are those in progress, or the last
    ones. `headline` describes the headline figure of the samples, None without one. `engine` is the engine
    that runs the load, `engine_reason` why it is not the native one. It `can_crash` its private server.
    """

    protocol: int
    version: str
    session: str
    pid: int
    plan: RunPlan
    target: Target
    data_set: str
    server: ServerInfo
    run_directory: str
    status: Status
    elapsed_seconds: float = 0.0
    viewers: int = 0
    grace_seconds: float | None = None
    samples: tuple[Sample, ...] = ()
    events: tuple[Event, ...] = ()
    costs: tuple[CommitCost, ...] = ()
    metrics: str = ""
    probe: ProbeState | None = None
    tune: TuneProgress | None = None
    headline: Headline | None = None
    engine: str = ""
    engine_reason: str = ""
    can_crash: bool = False


NO_LOAD_REFUSAL = "this session only watches the server; it has no load to change"
CRASH_REFUSAL = "only the private server of a demo is killed"
READ_ONLY_REFUSAL = "this viewer is read-only"
"""The refusal sent to a viewer that has joined read-only."""


MOST_SAMPLES = 3600
"""Maximum number of past samples that a new viewer receives."""


class JoinSession(msgspec.Struct, frozen=True, tag="join", kw_only=True):
    """Watch the session, starting with at most this many samples of its history.

    A viewer that is `read_only` may send only read-only commands on this connection.
    """

    samples: int
    read_only: bool = False


class SubmitCommand(msgspec.Struct, frozen=True, tag="submit", kw_only=True):
    """A viewer's command; the reply has the same `id`."""

    id: int
    command: Command


class CommandReply(msgspec.Struct, frozen=True, tag="answer", kw_only=True):
    """The session's reply to a command: accepted, or refused with the reason."""

    id: int
    ok: bool
    text: str


class SampleGap(msgspec.Struct, frozen=True, tag="gap", kw_only=True):
    """Number of samples that were not sent because this viewer was too slow."""

    samples: int


class SessionEnded(msgspec.Struct, frozen=True, tag="ended", kw_only=True):
    """The last message to a viewer: figures, summary as text for the terminal, exit code of the run."""

    summary: Summary
    text: str
    run_directory: str
    exit_code: int = 0


SessionUpdate = (
    Sample
    | Event
    | Status
    | Activity
    | StatementReport
    | TimeReport
    | CommitCosts
    | ProbeState
    | TuneProgress
    | SampleGap
    | SessionEnded
)
"""Messages to all viewers after the Hello."""

SessionMessage = Hello | SessionUpdate | CommandReply
ViewerMessage = JoinSession | SubmitCommand


REPLAY_SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Speed factors offered for a replay; a replay may start at any other factor up to the last one."""
REPLAY_REFUSAL = "this is a recorded run: it cannot be changed"


class ReplayState(msgspec.Struct, frozen=True, tag="replaying", kw_only=True):
    """Position of a replay, in seconds of the run, between the first and the last recorded second.

    `speed` is 1 for the original speed. `cut_short` is True if the record ends before the run does, `is_live`
    if it ends there because the run is still recording.
    """

    position_seconds: float
    first_seconds: float
    last_seconds: float
    speed: float = 1.0
    paused: bool = False
    cut_short: bool = False
    is_live: bool = False
