"""Commands to a running session, submitted by keys, palette and scripts."""

import msgspec

from tuibench.model.effect import DEFAULT_MAX_SECONDS, DEFAULT_TOLERANCE_PERCENT
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import Schedule
from tuibench.model.tune import OPERATORS_BUDGET, TunePlan


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


class StopProbe(msgspec.Struct, frozen=True, tag="stop probe"):
    """End the probe and report its results so far."""


class NextStep(msgspec.Struct, frozen=True, tag="next step"):
    """End the probe's current step early and continue with the next one."""


class StartAbTest(msgspec.Struct, frozen=True, tag="ab", kw_only=True):
    """Alternate two values until the effect of B against A is known, then restore the original value.

    `subject` is a setting, `preset` or `threads`. The test ends after at most `max_seconds`, and as soon as B
    is higher, lower, or equal within `tolerance_percent`.
    """

    subject: str
    a: str
    b: str
    tolerance_percent: float = DEFAULT_TOLERANCE_PERCENT
    max_seconds: float = DEFAULT_MAX_SECONDS


class StopAbTest(msgspec.Struct, frozen=True, tag="stop ab"):
    """End the A/B test, report its results so far and restore the original value."""


class StartTune(msgspec.Struct, frozen=True, tag="tune"):
    """Screen settings by A/B tests, then restore the original values."""

    plan: TunePlan = TunePlan(budget_seconds=OPERATORS_BUDGET)


class StopTune(msgspec.Struct, frozen=True, tag="stop tune"):
    """End the screening, report its results so far and restore the original values."""


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


class WatchActivity(msgspec.Struct, frozen=True, tag="watch"):
    """Report the server's sessions and locks for a few seconds; repeat the command to continue."""


class WatchStatements(msgspec.Struct, frozen=True, tag="statements"):
    """Report the statements that took the most time since the first such request."""


class WatchTime(msgspec.Struct, frozen=True, tag="time"):
    """Report who waits, by wait class, for a few seconds; repeat the command to continue."""


class RecordCpuProfile(msgspec.Struct, frozen=True, tag="cpu profile"):
    """Record the functions of the server that use the processor, for so many seconds from now; 0 ends it."""

    seconds: float = 60.0


class KillQuery(msgspec.Struct, frozen=True, tag="kill"):
    """Kill the current query of the server connection with this id; the connection stays open."""

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


LoadCommand = (
    SetThreads
    | SetRate
    | SetWeights
    | SetDelay
    | SetPlan
    | HoldPlan
    | ResumePlan
    | Pause
    | Resume
    | ResetStats
)
"""Commands of the load: executed one at a time."""

SettingCommand = ChangeSetting | ApplyPreset | RestoreSettings | TrustServer
"""Commands of settings: executed one at a time, in parallel with the load, because a server may be slow to
change a setting.
"""

ExperimentCommand = (
    StartAbTest | StopAbTest | StartTune | StopTune | StartProbe | StopProbe | NextStep | CrashServer
)
"""Commands of experiments: they wait for no other command; the changes of an experiment are executed one at a
time.
"""

Command = (
    LoadCommand
    | SettingCommand
    | ExperimentCommand
    | Mark
    | WatchActivity
    | WatchStatements
    | WatchTime
    | RecordCpuProfile
    | KillQuery
    | RunSql
    | Undo
    | Stop
)

PollCommand = WatchActivity | WatchStatements | WatchTime
"""Read-only commands: read-only viewers may send them, and their replies are not shown."""
