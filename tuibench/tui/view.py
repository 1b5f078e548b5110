"""What the screen knows at one moment: an immutable View, made from the session's messages.

No widget is touched here and nothing is asked; `after` is the only way from one view to the next. Memory is
bounded: of the past there is a `History` of a few numbers a tick, and only the newest samples are kept whole.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import assert_never

import msgspec

from tuibench.metrics.shape import spread_out
from tuibench.model.activity import Activity
from tuibench.model.cost import CommitCost, Costs
from tuibench.model.effect import Effect
from tuibench.model.event import Event
from tuibench.model.headline import Headline
from tuibench.model.message import Ended, Gap, Hello, RunState, Status
from tuibench.model.plan import Plan
from tuibench.model.probe import ProbeState
from tuibench.model.progress import PlanPhase, PlanState
from tuibench.model.replay import Replaying
from tuibench.model.sample import HostPart, LoadPart, Sample, ServerPart
from tuibench.model.server import ServerInfo
from tuibench.model.setting import SettingState
from tuibench.tui.grid import slot_of
from tuibench.tui.history import History, Point, packed
from tuibench.tui.lens import Lens

KEPT_SAMPLES = 61
"""Whole samples, for what is drawn of the last minute only."""
KEPT_EVENTS = 500
NOTE_SECONDS = 12.0
DURABILITY_SETTINGS = ("innodb_flush_log_at_trx_commit", "sync_binlog")

Message = Sample | Event | Status | Activity | Costs | ProbeState | Gap | Ended | Hello | Replaying


class Note(msgspec.Struct, frozen=True):
    """What the session answered last, and when (seconds into the run)."""

    text: str
    ok: bool
    at_elapsed: float


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that the screens draw. `leaving` is True once the operator has asked the session to stop.

    `activity` is what was last told of the server's sessions, None if nobody has asked for it yet. `keys` are
    the user's own, by action. `frozen` is the view that the operator has stopped at, see `picture`; in the
    picture `picture_of` is how long the run is meanwhile. `replay` says where the replay of a recorded run
    stands; None for a run that goes on now. A `read_only` screen steers nothing. `probe` is where the
    last probe stands.
    """

    plan: Plan
    data_set: str
    server_info: ServerInfo
    status: Status
    recent: tuple[Sample, ...] = ()
    history: History = History()
    events: tuple[Event, ...] = ()
    costs: tuple[CommitCost, ...] = ()
    headline: Headline | None = None
    note: Note | None = None
    leaving: bool = False
    activity: Activity | None = None
    keys: dict[str, str] = {}
    lens: Lens = Lens()
    frozen: "View | None" = None
    picture_of: float | None = None
    replay: Replaying | None = None
    probe: ProbeState | None = None
    read_only: bool = False

    @property
    def only_looks(self) -> bool:
        """True where nothing can be steered: in a replay, and on a screen that is read-only."""
        return self.read_only or self.replay is not None

    @property
    def sample(self) -> Sample | None:
        """The newest one."""
        return self.recent[-1] if self.recent else None

    @property
    def points(self) -> tuple[Point, ...]:
        """The newest ticks as the charts need them."""
        return self.history.points

    @property
    def load(self) -> LoadPart | None:
        return self.sample.load if self.sample else None

    @property
    def server(self) -> ServerPart | None:
        return self.sample.server if self.sample else None

    @property
    def host(self) -> HostPart | None:
        return self.sample.host if self.sample else None

    @property
    def elapsed_seconds(self) -> float:
        return self.points[-1].elapsed_seconds if self.points else 0.0

    @property
    def run_seconds(self) -> float:
        """How long the load runs, whatever moment the picture is of."""
        return self.elapsed_seconds if self.picture_of is None else self.picture_of

    @property
    def stopping(self) -> bool:
        """True while the session ends. A replay shows that, and goes on."""
        if self.replay is not None:
            return False
        return self.leaving or self.status.state in (RunState.STOPPING, RunState.ENDED)

    @property
    def is_probing(self) -> bool:
        """True while a probe moves the load."""
        return self.probe is not None and not self.probe.is_over and not self.stopping

    @property
    def plan_under_way(self) -> PlanState | None:
        """The planned load, until it is over."""
        plan = self.status.plan
        return None if plan is None or plan.phase is PlanPhase.OVER else plan

    @property
    def durability(self) -> tuple[SettingState, ...]:
        """The settings that decide whether a commit survives a crash, in a fixed order."""
        by_name = {setting.name: setting for setting in self.status.settings}
        return tuple(by_name[name] for name in DURABILITY_SETTINGS if name in by_name)

    @property
    def at_risk(self) -> bool:
        """True when committed data can be lost: by the settings shown, or by another that we changed."""
        return any(
            setting.at_risk and (setting.changed or setting.name in DURABILITY_SETTINGS)
            for setting in self.status.settings
        )

    @property
    def effect(self) -> Effect | None:
        """The newest effect there is."""
        return next((event.effect for event in reversed(self.events) if event.effect), None)

    def cost(self, setting: str, value: str) -> CommitCost | None:
        """What a commit cost while the setting had this value."""
        return next((cost for cost in self.costs if (cost.setting, cost.value) == (setting, value)), None)

    def setting(self, name: str) -> SettingState | None:
        return next((setting for setting in self.status.settings if setting.name == name), None)


def begin(hello: Hello, keys: Mapping[str, str] = MappingProxyType({})) -> View:
    """The first view, with the history that a viewer gets when it connects."""
    view = View(
        plan=hello.plan,
        data_set=hello.data_set,
        server_info=hello.server,
        status=hello.status,
        events=hello.events[-KEPT_EVENTS:],
        costs=hello.costs,
        headline=hello.headline,
        keys=dict(keys),
        probe=hello.probe,
    )
    points = (_point(sample, hello.plan.interval_seconds) for sample in hello.samples)
    return msgspec.structs.replace(view, recent=hello.samples[-KEPT_SAMPLES:], history=History.of(points))


def after(view: View, message: Message) -> View:
    """The view once `message` has arrived."""
    match message:
        case Sample():
            recent = (*view.recent[-(KEPT_SAMPLES - 1) :], message)
            history = view.history.added(_point(message, view.plan.interval_seconds))
            return msgspec.structs.replace(view, recent=recent, history=history, note=_fresh(view, message))
        case Event():
            return msgspec.structs.replace(view, events=(*view.events[-(KEPT_EVENTS - 1) :], message))
        case Status():
            return msgspec.structs.replace(view, status=message)
        case Activity():
            return msgspec.structs.replace(view, activity=message)
        case ProbeState():
            return msgspec.structs.replace(view, probe=message)
        case Costs(costs=costs):
            return msgspec.structs.replace(view, costs=costs)
        case Gap():
            words = f"{message.samples} samples are missing: this screen was too slow for them"
            return noted(view, words, ok=False)
        case Hello():
            past = begin(message)
            told = {name: getattr(past, name) for name in ("status", "events", "costs", "recent", "history")}
            return msgspec.structs.replace(view, **told, note=None)
        case Replaying():
            return msgspec.structs.replace(view, replay=message)
        case Ended():
            ended = msgspec.structs.replace(view.status, state=RunState.ENDED)
            return msgspec.structs.replace(view, status=ended)
        case _ as never:
            assert_never(never)


def noted(view: View, text: str, *, ok: bool) -> View:
    """The view with an answer in its message line."""
    return msgspec.structs.replace(view, note=Note(text, ok, view.elapsed_seconds))


def picture(view: View) -> View:
    """What is painted of a view: all of it, or the moment it was frozen at with what steers the run today."""
    if view.frozen is None:
        return view
    return msgspec.structs.replace(
        view.frozen,
        status=view.status,
        note=view.note,
        leaving=view.leaving,
        activity=view.activity,
        lens=view.lens,
        picture_of=view.elapsed_seconds,
        replay=view.replay,
    )


def _point(sample: Sample, interval_seconds: float) -> Point:
    load, slot = sample.load, slot_of(sample.elapsed_seconds, interval_seconds)
    if load is None:
        return Point(sample.elapsed_seconds, None, None, None, slot=slot)
    latency = load.latency
    return Point(
        sample.elapsed_seconds,
        load.transactions_per_second,
        load.queries_per_second,
        p95_ms=latency.p95 if latency else None,
        p50_ms=latency.p50 if latency else None,
        p99_ms=latency.p99 if latency else None,
        max_ms=latency.max if latency else None,
        slot=slot,
        seconds=load.seconds,
        counts=packed(spread_out(load.shape)),
        headline=load.headline,
    )


def _fresh(view: View, sample: Sample) -> Note | None:
    """The note, as long as it is news."""
    if view.note and sample.elapsed_seconds - view.note.at_elapsed > NOTE_SECONDS:
        return None
    return view.note
