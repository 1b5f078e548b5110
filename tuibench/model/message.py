"""Messages between a session and its viewers: one JSON object per line, with a `type`.

A new connection receives a `Hello` and may submit commands. With `JoinSession` it becomes a viewer: it
receives a `Hello` with the requested history, then every message as it happens, up to `SessionEnded`.

`SessionSpec` is not sent to viewers: the process of a session gets it at its start.
"""

from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec

from tuibench.model.callers import CallerPolicy
from tuibench.model.effect import (
    DEFAULT_MAX_SECONDS,
    DEFAULT_TOLERANCE_PERCENT,
    AbTestResult,
    CommitCost,
    CommitCosts,
    EffectProgress,
)
from tuibench.model.event import Event
from tuibench.model.findings import Headline
from tuibench.model.hardware import Hardware
from tuibench.model.plan import GRACE_SECONDS, RunPlan
from tuibench.model.probe import ProbeOrder, ProbeState
from tuibench.model.schedule import PlanProgress, Schedule
from tuibench.model.server import Activity, ServerInfo, StatementReport, Target, TimeReport
from tuibench.model.settings import PresetState, SettingState
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample
from tuibench.model.tune import OPERATORS_BUDGET, TunePlan, TuneResult


class Address(NamedTuple):
    """Address to listen on; port 0 is any free port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ReplicaChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas to read; none by default."""

    targets: tuple[Target, ...] = ()
    find: bool = False
    """True to read those that the server lists."""

    @property
    def is_wanted(self) -> bool:
        return self.find or bool(self.targets)


class SessionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One run on one server."""

    session: str
    """The name of the session."""
    plan: RunPlan
    target: Target
    run_directory: str
    """The folder of its record."""
    inherit_fds: tuple[int, ...] = ()
    """Descriptors that its guardian must also hold open: a private server lives as long as a process holds
    its pipe.
    """
    private_server: str = ""
    """The directory of a private server, with whose end the run ends; empty for others."""
    control: tuple[int, int] | None = None
    """The descriptors by which the private server may be killed and started again; None if it may not."""

    yes_this_server: bool = False
    """True to allow changes of settings although the server looks like production."""
    drain_seconds: float = 2.0
    """How long transactions in flight may take at the end before they are abandoned."""
    metrics_at: Address | None = None
    """The address of its metrics for Prometheus; None for none."""
    replicas: ReplicaChoice = ReplicaChoice()
    """The plan's replicas, with their logins."""

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """The descriptors that the session's process needs."""
        return self.inherit_fds + (self.control or ())


class ServiceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A session to be served on a socket."""

    session: SessionSpec
    socket: str
    grace_seconds: float | None = GRACE_SECONDS
    """How long it continues without a viewer; None for no limit."""


class SetThreads(msgspec.Struct, frozen=True, tag="threads"):
    """Set the number of connections."""

    threads: int


class SetRate(msgspec.Struct, frozen=True, tag="rate"):
    """Set the target rate in transactions per second; 0 for no limit."""

    rate: float


class SetWeights(msgspec.Struct, frozen=True, tag="weights"):
    """Set the weights of the profile's transactions; transactions not named keep theirs."""

    weights: dict[str, float]


class SetDelay(msgspec.Struct, frozen=True, tag="delay"):
    """Add this delay to each network round trip; 0 for none."""

    milliseconds: float


class SetHardware(msgspec.Struct, frozen=True, tag="hardware"):
    """Change the simulated hardware of a private server."""

    change: str
    """As on the command line: fsync=2ms; what it does not name stays, unless it begins with 0."""


class SetCallers(msgspec.Struct, frozen=True, tag="callers"):
    """Change what the callers of the load do."""

    option: str
    """The name of an option of `CallerPolicy`: deadline, attempts, queue."""
    value: str
    """As on the command line: 200ms, 3, lifo."""


class SetPlan(msgspec.Struct, frozen=True, tag="plan"):
    """Follow this plan, in place of the current one."""

    stages: Schedule


class HoldPlan(msgspec.Struct, frozen=True, tag="hold plan"):
    """Hold the plan at its current level; the load continues."""


class ResumePlan(msgspec.Struct, frozen=True, tag="resume plan"):
    """Resume a held plan."""


class StartProbe(msgspec.Struct, frozen=True, tag="probe"):
    """Start a probe for the saturation point; the previous load is restored at its end."""

    order: ProbeOrder = ProbeOrder()


class NextStep(msgspec.Struct, frozen=True, tag="next step"):
    """End the probe's current step early and continue with the next one."""


class StartAbTest(msgspec.Struct, frozen=True, tag="ab", kw_only=True):
    """Alternate two values until the effect of B against A is known, then restore the original value.

    The test ends as soon as B is higher, lower, or equal within `tolerance_percent`.
    """

    subject: str
    """A setting, `preset` or `threads`."""
    a: str
    b: str
    tolerance_percent: float = DEFAULT_TOLERANCE_PERCENT
    max_seconds: float = DEFAULT_MAX_SECONDS


class StopExperiment(msgspec.Struct, frozen=True, tag="stop experiment"):
    """End the probe, A/B test or screening, report its results so far and restore the original values."""

    kind: Literal["probe", "ab", "tune", "burst"]


class StartBurst(msgspec.Struct, frozen=True, tag="burst"):
    """Multiply the rate for some seconds, set it back, and measure whether the load recovers."""

    factor: float
    seconds: float


class StartTune(msgspec.Struct, frozen=True, tag="tune"):
    """Screen settings by A/B tests, then restore the original values."""

    plan: TunePlan = TunePlan(budget_seconds=OPERATORS_BUDGET)


class ChangeSetting(msgspec.Struct, frozen=True, tag="set"):
    """Set a global variable of the server; journalled first, restored at the end."""

    name: str
    value: str


class ApplyPreset(msgspec.Struct, frozen=True, tag="preset"):
    """Set a named group of variables: durable, relaxed or unsafe."""

    name: str


class RestoreSettings(msgspec.Struct, frozen=True, tag="restore"):
    """Restore the settings that this session changed on the server, or only those named."""

    names: tuple[str, ...] = ()


class KeepSettings(msgspec.Struct, frozen=True, tag="keep"):
    """Keep the settings that this session changed, or only those named, until the server restarts."""

    names: tuple[str, ...] = ()


class TrustServer(msgspec.Struct, frozen=True, tag="yes-this-server"):
    """Allow changes of this server's settings although it resembles a production server; remembered."""


class Pause(msgspec.Struct, frozen=True, tag="pause"):
    """Pause the load: transactions in flight end, no new one starts."""


class Resume(msgspec.Struct, frozen=True, tag="resume"):
    """Resume the load after a pause."""


class Mark(msgspec.Struct, frozen=True, tag="mark"):
    """Add a numbered mark to the time axis."""

    text: str = ""


class ResetStats(msgspec.Struct, frozen=True, tag="reset"):
    """Reset the run's counters, latencies and summary."""


class Watch(msgspec.Struct, frozen=True, tag="watch"):
    """Report what a screen shows only while it is open. The report ends after a few seconds unless the
    command is repeated.
    """

    what: Literal["activity", "statements", "time"]
    """`activity`: the server's sessions and locks. `time`: who waits, by wait class. `statements`: those that
    took the most time since the first such request.
    """
    connection: int = 0
    """With `activity`: the connection whose statement is reported in full, with its plan; 0 for none."""
    statement: str = ""
    """With `statements`: the key of the row that is reported in full, with its plan; empty for none."""


class KeepBlackBox(msgspec.Struct, frozen=True, tag="black box"):
    """Keep what the black box has of the last minute, and of the ten seconds that follow."""

    text: str = ""
    """Why; empty for no reason."""


class RecordCpuProfile(msgspec.Struct, frozen=True, tag="cpu profile"):
    """Record the functions of the server that use the processor."""

    seconds: float = 60.0
    """Seconds from now; 0 ends the recording."""


class KillQuery(msgspec.Struct, frozen=True, tag="kill"):
    """Kill the current query of the server connection with this id; the connection stays open."""

    id: int


class CloseConnection(msgspec.Struct, frozen=True, tag="close connection"):
    """Close the server connection with this id: its transaction is rolled back, and its locks are released.
    The session's own connections are refused.
    """

    id: int


class Undo(msgspec.Struct, frozen=True, tag="undo"):
    """Take back the last change of the load or of settings."""


class RunSql(msgspec.Struct, frozen=True, tag="run sql"):
    """Execute one statement on a connection of its own, while the load runs."""

    sql: str


class CrashServer(msgspec.Struct, frozen=True, tag="crash"):
    """Kill the private server under load, start it again, and compare what it had acknowledged with what it
    has.
    """


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """End the load, restore the settings, write the summary."""

    keeps: bool = False
    """True to keep the settings first, as `KeepSettings` does."""


Command = (
    SetThreads
    | SetRate
    | SetWeights
    | SetDelay
    | SetHardware
    | SetCallers
    | SetPlan
    | HoldPlan
    | ResumePlan
    | Pause
    | Resume
    | ResetStats
    | ChangeSetting
    | ApplyPreset
    | RestoreSettings
    | KeepSettings
    | TrustServer
    | StartAbTest
    | StartTune
    | StartProbe
    | StartBurst
    | StopExperiment
    | NextStep
    | CrashServer
    | Mark
    | Watch
    | RecordCpuProfile
    | KeepBlackBox
    | KillQuery
    | CloseConnection
    | RunSql
    | Undo
    | Stop
)
"""The commands of viewers. `session.dispatch` has the conditions of each."""

PollCommand = Watch
"""Read-only commands: read-only viewers may send them, and their replies are not shown."""


PROTOCOL_VERSION = 4


class RunState(StrEnum):
    STARTING = "starting"
    WARMING = "warming up"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"


class Status(msgspec.Struct, frozen=True, tag="status", kw_only=True):
    """The current state of a session. Sent in full whenever any part of it changes."""

    state: RunState
    threads: int
    rate: float = 0.0
    weights: dict[str, float] = {}
    """Those of the profile's transactions; empty if it has only one."""
    client_delay_ms: float = 0.0
    """The simulated network delay per round trip."""
    hardware: Hardware | None = None
    """The simulated hardware; None for a server that is not private."""
    callers: CallerPolicy = CallerPolicy()
    """What the callers of the load do."""
    plan: PlanProgress | None = None
    """The progress of a planned load; None without a plan."""
    workers: int
    settings: tuple[SettingState, ...]
    presets: tuple[PresetState, ...]
    production_signs: tuple[str, ...] = ()
    """The reasons why the server resembles a production server. While there are any, settings are changed
    only after the command `TrustServer`.
    """
    warnings: tuple[str, ...] = ()
    ab: AbTestResult | None = None
    """The result so far of an A/B test."""
    effect: EffectProgress | None = None
    """The progress of the effect that is being measured."""
    undo: tuple[str, ...] = ()
    """The changes that can be taken back, the last one first."""


class Hello(msgspec.Struct, frozen=True, tag="hello", kw_only=True):
    """Properties and current state of a session.

    The first `Hello` of a connection holds only the newest sample, and no events.
    """

    protocol: int
    version: str
    """The version of the program."""
    session: str
    pid: int
    """The session's process."""
    plan: RunPlan
    target: Target
    data_set: str
    """The tables in words: 4 × 100,000 rows."""
    server: ServerInfo
    run_directory: str
    status: Status
    elapsed_seconds: float = 0.0
    """The age of the load."""
    viewers: int = 0
    """The number of viewers."""
    grace_seconds: float | None = None
    """How long the session continues without a viewer; None for no limit."""
    samples: tuple[Sample, ...] = ()
    events: tuple[Event, ...] = ()
    costs: tuple[CommitCost, ...] = ()
    metrics: str = ""
    """The address of its metrics for Prometheus; empty if it serves none."""
    probe: ProbeState | None = None
    """The probe in progress, or the last one."""
    tune: TuneResult | None = None
    """The screening in progress, or the last one."""
    headline: Headline | None = None
    """The headline figure of the samples; None without one."""
    engine: str = ""
    """The engine that runs the load."""
    engine_reason: str = ""
    """Why it is not the native one."""
    can_crash: bool = False
    """True if the session may kill its private server."""


NO_LOAD_REFUSAL = "this session only watches the server; it has no load to change"
CRASH_REFUSAL = "only the private server of a demo is killed"
READ_ONLY_REFUSAL = "this viewer is read-only"
"""The refusal sent to a viewer that has joined read-only."""


MOST_SAMPLES = 3600
"""Maximum number of past samples that a new viewer receives."""


class JoinSession(msgspec.Struct, frozen=True, tag="join", kw_only=True):
    """Watch the session."""

    samples: int
    """The maximum number of samples of its history to begin with."""
    read_only: bool = False
    """True if the viewer may send only read-only commands on this connection."""


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
    """The last message to a viewer."""

    summary: Summary
    text: str
    """The summary as text for the terminal."""
    run_directory: str
    exit_code: int = 0
    """The exit code of the run."""
    option_lines: tuple[str, ...] = ()
    """The lines of an option file that the operator has asked for."""


SessionUpdate = (
    Sample
    | Event
    | Status
    | Activity
    | StatementReport
    | TimeReport
    | CommitCosts
    | EffectProgress
    | ProbeState
    | TuneResult
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
    """Position of a replay, in seconds of the run."""

    position_seconds: float
    first_seconds: float
    """The first recorded second."""
    last_seconds: float
    """The last recorded second."""
    speed: float = 1.0
    """1 for the original speed."""
    paused: bool = False
    cut_short: bool = False
    """True if the record ends before the run does."""
    is_live: bool = False
    """True if the record ends there because the run is still recording."""
