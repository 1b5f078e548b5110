"""Messages between a session and its viewers: one JSON object per line, with a `type`.

Whoever connects gets a `Hello` first, and may submit commands. One that says `JoinSession` becomes a viewer:
it gets a `Hello` with the history it asked for, then everything as it happens, up to `Ended`.

Where a replay of a recorded run stands.
"""

from enum import StrEnum

import msgspec

from tuibench.model.command import Command
from tuibench.model.event import Event
from tuibench.model.experiments.effect import AbTestResult, CommitCost, CommitCosts
from tuibench.model.experiments.probe import ProbeState
from tuibench.model.experiments.tune import TuneProgress
from tuibench.model.measurements.activity import Activity, StatementReport
from tuibench.model.measurements.headline import Headline
from tuibench.model.measurements.sample import Sample
from tuibench.model.plan import RunPlan
from tuibench.model.results.summary import Summary
from tuibench.model.schedule import PlanProgress
from tuibench.model.server import ServerInfo
from tuibench.model.settings import PresetState, SettingState
from tuibench.model.target import Target

PROTOCOL_VERSION = 3


class RunState(StrEnum):
    STARTING = "starting"
    WARMING = "warming up"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"


class Status(msgspec.Struct, frozen=True, tag="status", kw_only=True):
    """What holds now. Sent again, whole, whenever any of it changes.

    `weights` are those of the profile's transactions, empty if it has one only. `client_delay_ms` is the
    make-believe network's, on each round trip. `plan` is where a planned load stands, None without a plan.
    `production_signs` are the reasons why the server looks like production; while there are any, settings
    are changed only after the command `TrustServer`. `ab` is the result so far of an A/B test.
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


class Hello(msgspec.Struct, frozen=True, tag="hello", kw_only=True):
    """What a session is and what holds now. `data_set` describes the tables ("4 × 100,000 rows").

    `version` is the program's, `pid` the session's process, `viewers` how many watch it; without any it goes
    on for `grace_seconds`, None for as long as it likes. `elapsed_seconds` is the age of the load. As the
    first line it holds the newest sample only, and no events. `metrics` is the address of its metrics for
    Prometheus, empty if it serves none. `probe` and `tune` are those under way, or the last ones. `headline`
    tells what the samples' headline is, None without one. `engine` is what runs the load, `engine_reason` why
    it is not the native one.
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


NO_LOAD_REFUSAL = "this session only watches the server; it has no load to change"
READ_ONLY_REFUSAL = "this viewer is read-only"
"""What a viewer hears that has joined read-only."""


class JoinSession(msgspec.Struct, frozen=True, tag="join", kw_only=True):
    """Watch the session from now on, with at most so many samples of its past.

    One that is `read_only` is refused every command that does more than look, as long as its line lasts.
    """

    samples: int
    read_only: bool = False


class SubmitCommand(msgspec.Struct, frozen=True, tag="submit", kw_only=True):
    """A viewer's command; the answer carries the same `id`."""

    id: int
    command: Command


class CommandReply(msgspec.Struct, frozen=True, tag="answer", kw_only=True):
    """What the session did with a command: taken, or refused with the reason in words."""

    id: int
    ok: bool
    text: str


class SampleGap(msgspec.Struct, frozen=True, tag="gap", kw_only=True):
    """So many samples were not sent here: this viewer was too slow to take them."""

    samples: int


class SessionEnded(msgspec.Struct, frozen=True, tag="ended", kw_only=True):
    """Last line to a viewer: the figures, the summary as text for the terminal, the run's exit code."""

    summary: Summary
    text: str
    run_directory: str
    exit_code: int = 0


SessionMessage = (
    Hello
    | Sample
    | Event
    | Status
    | Activity
    | StatementReport
    | CommitCosts
    | ProbeState
    | TuneProgress
    | CommandReply
    | SampleGap
    | SessionEnded
)
ViewerMessage = JoinSession | SubmitCommand


REPLAY_SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""How many times as fast as it was; a replay may be started at any other, up to the last."""
REPLAY_REFUSAL = "this is a recorded run: it can be watched, not steered"


class ReplayState(msgspec.Struct, frozen=True, tag="replaying", kw_only=True):
    """Second `position_seconds` of the run is shown, between the first and the last that were recorded.

    `speed` is 1 for the pace that it had. `cut_short` says that the record ends in the midst of the run.
    """

    position_seconds: float
    first_seconds: float
    last_seconds: float
    speed: float = 1.0
    paused: bool = False
    cut_short: bool = False
