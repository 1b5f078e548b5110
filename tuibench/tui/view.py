"""The state of the screen: an immutable `View`, built from the session's messages by pure functions.

`next_view` is the only way from one view to the next. Memory is bounded: past ticks are kept as a
`ChartHistory` with a few numbers per tick, and only the newest samples are kept in full.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, assert_never

import msgspec

from tuibench.base.units import pluralize
from tuibench.model.effect import (
    AbTestResult,
    CommitCost,
    CommitCosts,
    Effect,
    EffectProgress,
    latest_effects,
)
from tuibench.model.event import (
    CHANGE_KINDS,
    CRASHED,
    Band,
    Event,
    EventKind,
    bands,
    latest_events,
    one_entry_an_experiment,
)
from tuibench.model.findings import Headline
from tuibench.model.message import (
    CommandReply,
    Hello,
    ReplayState,
    RunState,
    SampleGap,
    SessionEnded,
    SessionUpdate,
    Status,
)
from tuibench.model.plan import RunPlan
from tuibench.model.probe import ProbeState
from tuibench.model.schedule import PlanPhase, PlanProgress
from tuibench.model.server import Activity, ServerInfo, StatementReport, TimeReport
from tuibench.model.settings import SettingRole, SettingState, settings_with
from tuibench.model.tick import Sample, Tick
from tuibench.model.tune import TuneResult
from tuibench.tui.charts import ChartHistory, ChartPoint, ChartState, TimeGrid, chart_point, make_grid

MAX_SAMPLES = 61
"""Number of samples kept in full, for panels that cover the last minute."""
MAX_EVENTS = 500
NOTE_SECONDS = 12.0


ViewMessage = SessionUpdate | Hello | ReplayState | CommandReply
"""Messages that change a View."""


class MessageLine(msgspec.Struct, frozen=True):
    """The session's last reply, or a message of the viewer."""

    text: str
    ok: bool
    """False for a refusal."""
    at_elapsed: float
    """Its time, in seconds into the run."""
    is_hint: bool = False
    """True for a hint, which is neither a success nor a refusal."""


class Caption(NamedTuple):
    """The caption of a scene."""

    title: str
    text: str = ""
    kind: str = "say"
    """`say`, `ask`, `changed` for a question that a change has answered, or for a result: `reveal` if it is
    as expected, `nothing` if it is not, `unknown` without a verdict.
    """
    place: str = ""
    """The number of the text among all texts."""
    waiting: str = ""
    """The condition that the scene waits for."""
    is_over: bool = False
    """Whether the scene has no further step."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the screens draw."""

    plan: RunPlan
    shows_traffic: bool
    """Whether the charts cover all clients of the server, not the session's load only."""
    data_set: str
    """A description of the tables."""
    server_info: ServerInfo
    status: Status
    recent: tuple[Sample, ...] = ()
    """The newest samples, at most `MAX_SAMPLES`."""
    history: ChartHistory = ChartHistory()
    events: tuple[Event, ...] = ()
    effects: tuple[Effect, ...] = ()
    """The effects in the events, the newest last."""
    experiments: tuple[Band, ...] = ()
    """The experiments that changed something."""
    entries: tuple[Event, ...] = ()
    """The events for the list, in which each experiment is one event."""
    costs: tuple[CommitCost, ...] = ()
    headline: Headline | None = None
    engine: str = ""
    engine_reason: str = ""
    """Why the session does not use the native engine; empty if it does."""
    can_crash: bool = False
    """Whether the session runs on a private server, which can be killed."""
    note: MessageLine | None = None
    leaving: bool = False
    """True once the operator has asked the session to stop."""
    activity: Activity | None = None
    """The last report on the server's sessions; None before the first request."""
    blocked: tuple[int, ...] = ()
    """How many sessions waited for a lock in the latest reports, the newest last."""
    statements: StatementReport | None = None
    """The last report on the server's statements; None before the first request."""
    waiting: TimeReport | None = None
    """The last report on waiting connections; None before the first request."""
    keys: dict[str, str] = {}
    """The labels of the user's own keys, by action."""
    chart_state: ChartState = ChartState()
    frozen: "View | None" = None
    """The view at which the operator froze the charts, see `visible_view`."""
    picture_of: float | None = None
    """In a frozen view, the current time of the run."""
    replay: ReplayState | None = None
    """The position in the replay of a recorded run; None for a live run."""
    probe: ProbeState | None = None
    """The state of the last probe."""
    tune: TuneResult | None = None
    """The state of the last screening of settings."""
    read_only: bool = False
    """Whether this viewer cannot control the session."""
    coach: bool = False
    """Whether a first change is suggested."""
    caption: Caption | None = None
    """The caption of the scene that is played."""

    @property
    def cannot_steer(self) -> bool:
        """True if the run cannot be controlled: in a replay, and on a read-only screen."""
        return self.read_only or self.replay is not None

    @property
    def sample(self) -> Sample | None:
        """The newest sample."""
        return self.recent[-1] if self.recent else None

    @property
    def points(self) -> tuple[ChartPoint, ...]:
        """The newest ticks as chart points."""
        return self.history.points

    @property
    def load(self) -> Tick | None:
        return self.sample.load if self.sample else None

    @property
    def throughput(self) -> Tick | None:
        """Figures of the charts: those of the load, or of the server's own traffic."""
        return self.sample.throughput if self.sample else None

    @property
    def is_watch(self) -> bool:
        """True if there is no load: the session watches the server's own traffic."""
        return self.plan.is_watch

    @property
    def server(self) -> Tick | None:
        return self.sample.server if self.sample else None

    @property
    def host(self) -> Tick | None:
        """The server's host; the client's if the server's is not read."""
        return self.sample.shown_host if self.sample else None

    @property
    def client_host(self) -> Tick | None:
        """The client's host, if it is not the shown one."""
        return self.sample.client_host if self.sample and self.is_host_remote else None

    @property
    def is_host_remote(self) -> bool:
        """True if the server's host is read remotely."""
        sample = self.sample
        return sample is not None and (bool(sample.host_note) or sample.is_host_remote)

    @property
    def elapsed_seconds(self) -> float:
        return self.points[-1].elapsed_seconds if self.points else 0.0

    @property
    def run_seconds(self) -> float:
        """Duration of the run up to now, also in a frozen view."""
        return self.elapsed_seconds if self.picture_of is None else self.picture_of

    @property
    def stopping(self) -> bool:
        """True while the session ends. A replay shows that, and continues."""
        if self.replay is not None:
            return False
        return self.leaving or self.status.state in (RunState.STOPPING, RunState.ENDED)

    @property
    def is_probing(self) -> bool:
        """True while a probe controls the load."""
        return self.probe is not None and not self.probe.is_over and not self.stopping

    @property
    def is_ab_testing(self) -> bool:
        """True while an A/B test started by an operator is running."""
        test = self.status.ab
        return test is not None and test.by_hand and test.ended_seconds is None and not self.stopping

    @property
    def is_experimenting(self) -> bool:
        """True while an experiment changes values, planned or not."""
        test, effect = self.status.ab, self.status.effect
        is_tested = test is not None and test.ended_seconds is None
        is_screened = self.tune is not None and not self.tune.is_over
        is_decided = effect is not None and effect.alternates
        return not self.stopping and (self.is_probing or is_tested or is_screened or is_decided)

    @property
    def shown_ab_test(self) -> AbTestResult | None:
        """The running A/B test; a finished one until there is a newer effect, or one is pinned."""
        test = self.status.ab
        if test is None or test.ended_seconds is None:
            return test
        newest = self.effects[-1].at_seconds if self.effects else -1.0
        is_newest = newest < test.ended_seconds and self.effect_progress is None
        return test if is_newest and not self.pinned_effects else None

    @property
    def plan_under_way(self) -> PlanProgress | None:
        """The planned load, until it is finished."""
        plan = self.status.plan
        return None if plan is None or plan.phase is PlanPhase.OVER else plan

    @property
    def durability(self) -> tuple[SettingState, ...]:
        """Settings of the durability panel and dialog; empty if the server reports none of them."""
        found = settings_with(SettingRole.PANEL, self.status.settings)
        return found if any(setting.value for setting in found) else ()

    @property
    def allowing_anomalies(self) -> tuple[SettingState, ...]:
        """Settings whose change lets the load have anomalies of isolation."""
        return tuple(setting for setting in self.status.settings if setting.allows_anomalies)

    @property
    def at_risk(self) -> bool:
        """True if committed data can be lost with the current settings."""
        return any(setting.raises_alarm for setting in self.status.settings)

    @property
    def pinned_effects(self) -> tuple[Effect, ...]:
        """Effects pinned by the operator: none, one, or two that are compared."""
        by_marker = {effect.markers[-1]: effect for effect in self.effects}
        return tuple(by_marker[marker] for marker in self.chart_state.pins if marker in by_marker)

    @property
    def effect(self) -> Effect | None:
        """The shown effect: the pinned one, otherwise the newest."""
        return next(reversed(self.pinned_effects or self.effects), None)

    @property
    def effect_progress(self) -> EffectProgress | None:
        """The effect that is being measured, unless the operator has pinned another one."""
        return None if self.pinned_effects or self.stopping else self.status.effect

    @property
    def effect_not_measured(self) -> Event | None:
        """The event with the reason why the effect of the newest change was not measured; None if it was, or
        if an effect is pinned.
        """
        newest = next((event for event in reversed(self.events) if event.kind is EventKind.EFFECT), None)
        return newest if newest is not None and newest.not_measured and not self.pinned_effects else None

    def cost(self, setting: str, value: str) -> CommitCost | None:
        """Cost of a commit while the setting had this value."""
        return next((cost for cost in self.costs if (cost.setting, cost.value) == (setting, value)), None)

    def setting(self, name: str) -> SettingState | None:
        return next((setting for setting in self.status.settings if setting.name == name), None)


def own_changes(view: View) -> list[SettingState]:
    """The settings of the server that have a value of this session."""
    return [setting for setting in view.status.settings if setting.is_ours]


def initial_view(hello: Hello, keys: Mapping[str, str] = MappingProxyType({})) -> View:
    """The first view, with the history that a viewer receives on connecting."""
    view = View(
        plan=hello.plan,
        shows_traffic=hello.plan.shows_traffic,
        data_set=hello.data_set,
        server_info=hello.server,
        status=hello.status,
        costs=hello.costs,
        headline=hello.headline,
        engine=hello.engine,
        engine_reason=hello.engine_reason,
        can_crash=hello.can_crash,
        keys=dict(keys),
        probe=hello.probe,
        tune=hello.tune,
    )
    points = (chart_point(sample, hello.plan.interval_seconds) for sample in hello.samples)
    return msgspec.structs.replace(
        _with_events(view, hello.events[-MAX_EVENTS:]),
        recent=hello.samples[-MAX_SAMPLES:],
        history=ChartHistory.of(points),
    )


def _with_events(view: View, events: tuple[Event, ...]) -> View:
    return msgspec.structs.replace(
        view,
        events=events,
        effects=latest_effects(event.effect for event in events if event.effect),
        experiments=tuple(bands(events)),
        entries=tuple(one_entry_an_experiment(events)),
    )


def next_view(view: View, message: ViewMessage) -> View:
    """The view after `message`."""
    match message:
        case Sample():
            recent = (*view.recent[-(MAX_SAMPLES - 1) :], message)
            history = view.history.added(chart_point(message, view.plan.interval_seconds))
            # A message is kept until it expires.
            return msgspec.structs.replace(
                view,
                recent=recent,
                history=history,
                note=None
                if view.note and message.elapsed_seconds - view.note.at_elapsed > NOTE_SECONDS
                else view.note,
            )
        case Event():
            view = with_note(view, message.text, ok=True) if CRASHED in message.text else view
            return _with_events(view, latest_events((*view.events[-(MAX_EVENTS - 1) :], message)))
        case Status():
            return msgspec.structs.replace(view, status=message)
        case Activity():
            blocked = (*view.blocked[-(MAX_SAMPLES - 1) :], message.blocked)
            return msgspec.structs.replace(view, activity=message, blocked=blocked)
        case StatementReport():
            return msgspec.structs.replace(view, statements=message)
        case TimeReport():
            return msgspec.structs.replace(view, waiting=message)
        case ProbeState():
            return msgspec.structs.replace(view, probe=message)
        case TuneResult():
            return msgspec.structs.replace(view, tune=message)
        case CommitCosts(costs=costs):
            return msgspec.structs.replace(view, costs=costs)
        case EffectProgress():
            status = msgspec.structs.replace(view.status, effect=message)
            return msgspec.structs.replace(view, status=status)
        case SampleGap():
            words = f"this screen was too slow for {pluralize(message.samples, 'sample')}"
            return with_note(view, words, ok=False)
        case Hello():
            start = initial_view(message)
            kept = {name: getattr(start, name) for name in ("status", "costs", "recent", "history")}
            return _with_events(msgspec.structs.replace(view, **kept, note=None), start.events)
        case ReplayState():
            return msgspec.structs.replace(view, replay=message)
        case CommandReply(ok=ok, text=text):
            return msgspec.structs.replace(with_note(view, text, ok=ok), leaving=view.leaving and ok)
        case SessionEnded():
            ended = msgspec.structs.replace(view.status, state=RunState.ENDED)
            return msgspec.structs.replace(view, status=ended)
        case _ as never:
            assert_never(never)


def with_note(view: View, text: str, *, ok: bool, is_hint: bool = False) -> View:
    """The view with a text in its message line."""
    return msgspec.structs.replace(view, note=MessageLine(text, ok, view.elapsed_seconds, is_hint))


def visible_view(view: View) -> View:
    """The view to paint: the current one, or a frozen one with the current state of the controls."""
    if view.frozen is None:
        return view
    return msgspec.structs.replace(
        view.frozen,
        status=view.status,
        note=view.note,
        leaving=view.leaving,
        activity=view.activity,
        blocked=view.blocked,
        chart_state=view.chart_state,
        caption=view.caption,
        picture_of=view.elapsed_seconds,
        replay=view.replay,
    )


def view_grid(view: View, columns: int) -> TimeGrid:
    """Time grid of charts with this number of columns."""
    return make_grid(view.history, view.chart_state.zoomed, columns, view.plan.interval_seconds)


def chart_points(view: View, columns: int) -> list[ChartPoint | None]:
    """One point per column, merged if a column is longer than a tick; None for a column without ticks."""
    chosen = view_grid(view, columns)
    blocks = view.history.window(chosen.slots, chosen.last, chosen.blocks)
    return [block for block in blocks for _ in range(chosen.cells)][-columns:]


def change_markers(view: View, columns: int) -> dict[int, int]:
    """The number of each visible change by its column.

    The column of a change is that of the first sample that ends after it, which it may have affected.
    """
    if not view.points:
        return {}
    chosen = view_grid(view, columns)
    placed: dict[int, int] = {}
    for event in view.events:
        if (
            event.marker is None
            or event.kind not in CHANGE_KINDS
            or event.elapsed_seconds > view.elapsed_seconds
        ):
            continue
        column = chosen.column_at(event.elapsed_seconds)
        if 0 <= column < columns:
            placed[column] = event.marker
    return placed


def change_bands(view: View, columns: int) -> list[tuple[int, int, str]]:
    """The visible experiments: first column, last column and label. A running one ends at the newest
    column.
    """
    if not view.points:
        return []
    chosen, found = view_grid(view, columns), view.experiments
    placed = []
    for number, band in enumerate(found, 1):
        is_open = number == len(found) and view.is_experimenting
        end = view.elapsed_seconds if is_open else min(band.end_seconds, view.elapsed_seconds)
        first, last = chosen.column_at(band.start_seconds), chosen.column_at(end)
        if first < columns and last >= 0 and band.start_seconds <= view.elapsed_seconds:
            placed.append((max(first, 0), min(last, columns - 1), band.label))
    return placed
