"""What the screen knows at one moment: an immutable View, made from the session's messages.

No widget is touched here and nothing is asked; `after` is the only way from one view to the next. Memory is
bounded: charts keep a few numbers a sample, and only the newest sample is kept whole.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, assert_never

import msgspec

from tuibench.model.activity import Activity
from tuibench.model.cost import CommitCost, Costs
from tuibench.model.effect import Effect
from tuibench.model.event import CHANGES, Event
from tuibench.model.message import Ended, Gap, Hello, RunState, Status
from tuibench.model.plan import Plan
from tuibench.model.progress import PlanPhase, PlanState
from tuibench.model.sample import HostPart, LoadPart, Sample, ServerPart
from tuibench.model.server import ServerInfo
from tuibench.model.setting import SettingState

KEPT_POINTS = 3600
KEPT_EVENTS = 500
NOTE_SECONDS = 12.0
DURABILITY_SETTINGS = ("innodb_flush_log_at_trx_commit", "sync_binlog")

Message = Sample | Event | Status | Activity | Costs | Gap | Ended


class Point(NamedTuple):
    """One sample as the charts need it. None where the load was not measured."""

    elapsed_seconds: float
    tps: float | None
    qps: float | None
    p95_ms: float | None


class Note(msgspec.Struct, frozen=True):
    """What the session answered last, and when (seconds into the run)."""

    text: str
    ok: bool
    at_elapsed: float


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that the screens draw. `leaving` is True once the operator has asked the session to stop.

    `activity` is what was last told of the server's sessions, None if nobody has asked for it yet. `keys` are
    the user's own, by action.
    """

    plan: Plan
    data_set: str
    server_info: ServerInfo
    status: Status
    sample: Sample | None = None
    points: tuple[Point, ...] = ()
    events: tuple[Event, ...] = ()
    costs: tuple[CommitCost, ...] = ()
    note: Note | None = None
    leaving: bool = False
    activity: Activity | None = None
    keys: dict[str, str] = {}

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
    def stopping(self) -> bool:
        return self.leaving or self.status.state in (RunState.STOPPING, RunState.ENDED)

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
        keys=dict(keys),
    )
    return msgspec.structs.replace(
        view,
        sample=hello.samples[-1] if hello.samples else None,
        points=tuple(_point(sample) for sample in hello.samples[-KEPT_POINTS:]),
    )


def after(view: View, message: Message) -> View:
    """The view once `message` has arrived."""
    match message:
        case Sample():
            points = (*view.points[-(KEPT_POINTS - 1) :], _point(message))
            return msgspec.structs.replace(view, sample=message, points=points, note=_fresh(view, message))
        case Event():
            return msgspec.structs.replace(view, events=(*view.events[-(KEPT_EVENTS - 1) :], message))
        case Status():
            return msgspec.structs.replace(view, status=message)
        case Activity():
            return msgspec.structs.replace(view, activity=message)
        case Costs(costs=costs):
            return msgspec.structs.replace(view, costs=costs)
        case Gap():
            words = f"{message.samples} samples are missing: this screen was too slow for them"
            return noted(view, words, ok=False)
        case Ended():
            ended = msgspec.structs.replace(view.status, state=RunState.ENDED)
            return msgspec.structs.replace(view, status=ended)
        case _ as never:
            assert_never(never)


def noted(view: View, text: str, *, ok: bool) -> View:
    """The view with an answer in its message line."""
    return msgspec.structs.replace(view, note=Note(text, ok, view.elapsed_seconds))


def window(view: View, width: int) -> list[Point | None]:
    """The newest `width` samples, one slot an interval; a tick that never came is None."""
    slots: list[Point | None] = [None] * width
    for point in reversed(view.points):
        column = _column(view, point.elapsed_seconds, width)
        if column < 0:
            break
        slots[column] = point
    return slots


def markers(view: View, width: int) -> dict[int, int]:
    """Column → number of the changes inside the window.

    A change belongs to the first sample that ends after it: that is the first one it can have touched.
    """
    if not view.points:
        return {}
    interval = view.plan.interval_seconds
    oldest = view.elapsed_seconds - width * interval
    placed: dict[int, int] = {}
    for event in view.events:
        if event.marker is None or event.kind not in CHANGES or event.elapsed_seconds <= oldest:
            continue
        late = view.elapsed_seconds - event.elapsed_seconds
        column = width - 1 - int(late / interval + 1e-6)
        if late >= 0 and 0 <= column < width:
            placed[column] = event.marker
    return placed


def _column(view: View, elapsed_seconds: float, width: int) -> int:
    return width - 1 - round((view.elapsed_seconds - elapsed_seconds) / view.plan.interval_seconds)


def _point(sample: Sample) -> Point:
    load = sample.load
    if load is None:
        return Point(sample.elapsed_seconds, None, None, None)
    p95 = load.latency.p95 if load.latency else None
    return Point(sample.elapsed_seconds, load.transactions_per_second, load.queries_per_second, p95)


def _fresh(view: View, sample: Sample) -> Note | None:
    """The note, as long as it is news."""
    if view.note and sample.elapsed_seconds - view.note.at_elapsed > NOTE_SECONDS:
        return None
    return view.note
