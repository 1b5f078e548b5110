"""Commands of a running session, submitted by keys, palette and scripts."""

import msgspec

from tuibench.model.experiments.effect import DEFAULT_MAX_SECONDS, DEFAULT_TOLERANCE_PERCENT
from tuibench.model.experiments.probe import ProbeOrder
from tuibench.model.experiments.tune import OPERATORS_BUDGET, TunePlan
from tuibench.model.schedule import Schedule


class SetThreads(msgspec.Struct, frozen=True, tag="threads"):
    """Run with this many connections from now on."""

    threads: int


class SetRate(msgspec.Struct, frozen=True, tag="rate"):
    """Start so many transactions a second from now on; 0 for as many as the connections can do."""

    rate: float


class SetWeights(msgspec.Struct, frozen=True, tag="weights"):
    """Mix the profile's transactions by these weights from now on; those not named keep theirs."""

    weights: dict[str, float]


class SetDelay(msgspec.Struct, frozen=True, tag="delay"):
    """Pretend that the network takes so much longer for each round trip; 0 for not at all."""

    milliseconds: float


class SetPlan(msgspec.Struct, frozen=True, tag="plan"):
    """Follow this plan from now on, instead of any other."""

    stages: Schedule


class HoldPlan(msgspec.Struct, frozen=True, tag="hold plan"):
    """Keep the plan where it stands; the load goes on as it is."""


class ResumePlan(msgspec.Struct, frozen=True, tag="resume plan"):
    """Let the plan go on from where it was held."""


class StartProbe(msgspec.Struct, frozen=True, tag="probe"):
    """Look for the saturation point from now on; the load goes back to what it is when that is over."""

    order: ProbeOrder = ProbeOrder()


class StopProbe(msgspec.Struct, frozen=True, tag="stop probe"):
    """End the probe with what it has."""


class NextStep(msgspec.Struct, frozen=True, tag="next step"):
    """End the probe's present step with what is known of it, and go on to the next."""


class StartAbTest(msgspec.Struct, frozen=True, tag="ab", kw_only=True):
    """Alternate two values from now on until it is known what B does against A; then set back what was.

    `subject` is a setting, `preset` or `threads`. It ends after `max_seconds` at the latest, and as soon as B
    is higher, lower, or equal within `tolerance_percent`.
    """

    subject: str
    a: str
    b: str
    tolerance_percent: float = DEFAULT_TOLERANCE_PERCENT
    max_seconds: float = DEFAULT_MAX_SECONDS


class StopAbTest(msgspec.Struct, frozen=True, tag="stop ab"):
    """End the A/B test with what it has, and set back what was before."""


class StartTune(msgspec.Struct, frozen=True, tag="tune"):
    """Screen settings by A/B tests from now on; then set back what was."""

    plan: TunePlan = TunePlan(budget_seconds=OPERATORS_BUDGET)


class StopTune(msgspec.Struct, frozen=True, tag="stop tune"):
    """End the screening with what it has, and set back what was before."""


class ChangeSetting(msgspec.Struct, frozen=True, tag="set"):
    """Set one of the server's global variables; journalled first, restored at the end."""

    name: str
    value: str


class ApplyPreset(msgspec.Struct, frozen=True, tag="preset"):
    """Set a named group of variables at once: durable, relaxed or unsafe."""

    name: str


class RestoreSettings(msgspec.Struct, frozen=True, tag="restore"):
    """Put back what this session changed on the server, or of that only the settings named."""

    names: tuple[str, ...] = ()


class TrustServer(msgspec.Struct, frozen=True, tag="yes-this-server"):
    """Allow this server's settings to be changed though it looks like production; remembered."""


class Pause(msgspec.Struct, frozen=True, tag="pause"):
    """Hold the load: transactions in flight end, no new one starts."""


class Resume(msgspec.Struct, frozen=True, tag="resume"):
    """Go on after a pause."""


class Mark(msgspec.Struct, frozen=True, tag="mark"):
    """Add a numbered mark to the time axis."""

    text: str = ""


class ResetStats(msgspec.Struct, frozen=True, tag="reset"):
    """Begin the run's figures anew: counters, latencies, and what the summary tells."""


class WatchActivity(msgspec.Struct, frozen=True, tag="watch"):
    """Tell the server's sessions and locks, for a few seconds from now; to be said again meanwhile."""


class WatchStatements(msgspec.Struct, frozen=True, tag="statements"):
    """Tell the statements that took the most time since they were first asked for."""


class KillQuery(msgspec.Struct, frozen=True, tag="kill"):
    """End what the server's connection of that id is doing; the connection stays."""

    id: int


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
    | StartProbe
    | StopProbe
    | NextStep
    | Pause
    | Resume
    | ResetStats
)
"""They take turns: one of them is carried out at a time."""

SettingCommand = ChangeSetting | ApplyPreset | RestoreSettings | TrustServer
"""They take turns among themselves: a server may take its time over a setting, and the load does not wait."""

AbTestCommand = StartAbTest | StopAbTest
TuneCommand = StartTune | StopTune
"""They wait for no other command; the changes that a test makes take their turns."""

Command = (
    LoadCommand
    | SettingCommand
    | AbTestCommand
    | TuneCommand
    | Mark
    | WatchActivity
    | WatchStatements
    | KillQuery
    | Stop
)

PollCommand = WatchActivity | WatchStatements
"""Commands that only look: read-only viewers may send them, and their replies are not shown."""
