"""How each action, and each key of a single screen, is tried: one line of a table for each.

A trial looks at one thing before the key and after it. What it looks at is what the operator would see, or
the commands that the session got.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from textual.command import CommandPalette
from textual.widgets import Input, OptionList

from tests.tui.pictures.screenshots import CALM, CATALOGUE, SCREENS, Scene
from tests.tui.support import catalogue, script
from tests.tui.support.sessions import ACTIVITY
from tests.tui.support.statements import REPORT
from tuibench.features.ab.dialog import AbTestDialog
from tuibench.features.probe.screen import SaturationScreen
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.hardware import Hardware
from tuibench.model.message import (
    ApplyPreset,
    CloseConnection,
    Command,
    CrashServer,
    HoldPlan,
    KeepBlackBox,
    KeepSettings,
    KillQuery,
    Mark,
    NextStep,
    Pause,
    RecordCpuProfile,
    RestoreSettings,
    RunSql,
    SetCallers,
    SetDelay,
    SetHardware,
    SetPlan,
    SetRate,
    SetThreads,
    SetWeights,
    StartAbTest,
    StartBurst,
    StartProbe,
    StartTune,
    Stop,
    Undo,
    Watch,
)
from tuibench.model.schedule import ConstantStage
from tuibench.model.tune import parse_tune_words
from tuibench.tui.panels.lists import PAGE_LINES
from tuibench.tui.panels.locks import lock_rows
from tuibench.tui.panels.time_chart import AXIS_WIDTH
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.screens.dialogs import (
    ChangeDialog,
    ConfirmDialog,
    InputDialog,
    OfferDialog,
    SearchScreen,
    StopDialog,
)
from tuibench.tui.screens.help import HelpScreen
from tuibench.tui.screens.lists import EventsScreen, SessionsScreen, SettingsScreen
from tuibench.tui.screens.load_dialogs import DurabilityDialog
from tuibench.tui.screens.monitor import (
    BigScreen,
    CostScreen,
    FigureScreen,
    HostScreen,
    LiveScreen,
    ServerScreen,
    StatementsScreen,
    TimeScreen,
)

Look = Callable[[Any], object]
"""At a running viewer or replay."""


class Trial(NamedTuple):
    """What `seen` finds before the key and after it; `lead` is pressed before that, `then` after the key."""

    seen: Look
    before: object
    after: object
    lead: tuple[str, ...] = ()
    then: tuple[str, ...] = ()


def submitted(it: Any) -> list[Command]:
    return list(it.client.submitted)


def submits(command: Command, *then: str) -> Trial:
    return Trial(submitted, [], [command], then=then)


def screen(it: Any) -> type:
    return type(it.app.screen)


def leads(start: type, end: type) -> Trial:
    return Trial(screen, start, end)


def exit_code(it: Any) -> int | None:
    """None as long as the viewer stays."""
    return it.app.return_code  # type: ignore[no-any-return]


LEAVES = Trial(exit_code, None, 0)


# The charts.


def cursor(it: Any) -> int:
    """How far the cursor is from the oldest column of the Live screen's charts, −1 without one."""
    row: str = it.shown("chart-tps").splitlines()[2]
    return max(row.find("┃") - AXIS_WIDTH, -1)


def zoom(it: Any) -> str:
    return it.shown("axis").split("  ")[0]  # type: ignore[no-any-return]


def question(it: Any) -> str:
    """The end of a span that is asked for."""
    return it.shown("note").partition("marks the ")[2].split(",")[0]  # type: ignore[no-any-return]


NEWEST = 54
"""The charts' last column at 120×36."""

NEAREST = ("Z",) * 4

CHARTS = {
    "cursor_left": Trial(cursor, NEWEST, NEWEST - 1, lead=("left",)),
    "cursor_right": Trial(cursor, NEWEST - 2, NEWEST - 1, lead=("left",) * 3),
    "cursor_far_left": Trial(cursor, NEWEST, NEWEST - 10, lead=("left",)),
    "cursor_far_right": Trial(cursor, NEWEST - 20, NEWEST - 10, lead=("left", "shift+left", "shift+left")),
    "cursor_oldest": Trial(cursor, -1, 0),
    "cursor_newest": Trial(cursor, NEWEST - 10, NEWEST, lead=("left", "shift+left")),
    "zoom_out": Trial(zoom, "z zoom", "z 5 min", lead=NEAREST),
    "zoom_in": Trial(zoom, "z 15 min", "z 5 min", lead=(*NEAREST, "z", "z")),
    "freeze": Trial(lambda it: "DISPLAY FROZEN AT 01:00" in it.shown("tabs"), False, True),
    "figures": leads(LiveScreen, InputDialog),
    "clock": Trial(lambda it: "now" in it.shown("axis"), True, False),
    "pin": Trial(lambda it: "no effect yet" in it.shown("note"), False, True),
    "compare_effects": Trial(lambda it: "needs two effects" in it.shown("note"), False, True),
    "compare": Trial(question, "", "other end of span A", lead=("left",)),
}


# A replay of 90 s.


def head(it: Any) -> str:
    """State, speed and position."""
    line = it.shown("head")
    return line[line.index("replay") - 2 :].partition(" of ")[0]  # type: ignore[no-any-return]


REPLAY = {
    "pause": Trial(head, "‖ replay ×4  00:00", "▶ replay ×4  00:00"),
    "seek_start": Trial(head, "‖ replay ×4  01:30", "‖ replay ×4  00:00", lead=("dollar_sign",)),
    "seek_end": Trial(head, "‖ replay ×4  00:00", "‖ replay ×4  01:30"),
    "seek_back": Trial(head, "‖ replay ×4  01:30", "‖ replay ×4  01:20", lead=("dollar_sign",)),
    "seek_on": Trial(head, "‖ replay ×4  00:00", "‖ replay ×4  00:10"),
    "seek_far_back": Trial(head, "‖ replay ×4  01:30", "‖ replay ×4  00:30", lead=("dollar_sign",)),
    "seek_far_on": Trial(head, "‖ replay ×4  00:00", "‖ replay ×4  01:00"),
    "slower": Trial(head, "‖ replay ×4  00:00", "‖ replay ×2  00:00"),
    "faster": Trial(head, "‖ replay ×4  00:00", "‖ replay ×8  00:00"),
}

_STATUS = script.status(weights={"old": 90, "new": 10}, plan=script.PLAN, hardware=Hardware())
STEERABLE = msgspec.structs.replace(
    script.hello(60, script.own_changes(_STATUS)),
    can_crash=True,
)
"""A run of 64 threads on which every action can be tried."""

OURS = ("innodb_flush_log_at_trx_commit", "sync_binlog")

ACTIONS: Mapping[str, Trial] = {
    "more": submits(SetThreads(65)),
    "fewer": submits(SetThreads(63)),
    "halve": submits(SetThreads(32)),
    "double": submits(SetThreads(128)),
    "type_threads": submits(SetThreads(96), "9", "6", "enter"),
    "rate": submits(SetRate(2500.5), "2", "5", "0", "0", "full_stop", "5", "enter"),
    "weights": submits(SetWeights({"old": 50, "new": 50}), "5", "0", "slash", "5", "0", "enter"),
    "delay": submits(SetDelay(20), *"20ms", "enter"),
    "hardware": submits(SetHardware("fsync=2ms"), *"fsync=2ms", "enter"),
    "burst": submits(StartBurst(3, 8), "x", "3", "space", "8", "s", "enter"),
    "callers": submits(SetCallers("deadline", "200ms"), *"200ms", "enter"),
    "plan": submits(HoldPlan()),
    "type_plan": submits(SetPlan((ConstantStage(level=4, seconds=9),)), "4", "colon", "9", "s", "enter"),
    "probe": submits(StartProbe(), "enter"),
    "ab_test": submits(StartAbTest(subject="threads", a="32", b="64"), "enter"),
    "screening": submits(
        StartTune(parse_tune_words(["flushing", "5m"])), *"flushing", "space", "5", "m", "enter"
    ),
    "durability": submits(ApplyPreset("unsafe"), "down", "down", "enter", "y"),
    "locks": leads(LiveScreen, SessionsScreen),
    "pause": submits(Pause()),
    "undo": submits(Undo()),
    "keep": submits(KeepSettings(OURS), "y"),
    "resolve": Trial(lambda it: "no effect is in doubt" in it.shown("note"), False, True),
    "run_sql": submits(RunSql("DROP 1"), *"DROP", "space", "1", "enter"),
    "cpu_profile": submits(RecordCpuProfile()),
    "black_box": submits(KeepBlackBox()),
    "crash": submits(CrashServer(), "y"),
    "mark": submits(Mark()),
    "name_mark": submits(Mark("index added"), *"index", "space", *"added", "enter"),
    **CHARTS,
    "copy": Trial(lambda it: "64 threads" in it.app.clipboard, False, True),
    "save": Trial(lambda it: "saved" in it.shown("note"), False, True),
    "menu": leads(LiveScreen, CommandPalette),
    "help": leads(LiveScreen, HelpScreen),
    "stop": submits(Stop()),
}
"""By the action's name, in a run; in a replay `REPLAY`. The one that leaves is `LEAVES`."""


# Lists.


def moves(seen: Look, names: Sequence[object]) -> Iterator[tuple[str, Trial]]:
    """The keys of a list with these lines, the first of them chosen."""
    first, last, end = names[0], names[-1], len(names) - 1
    yield "down", Trial(seen, first, names[1])
    yield "up", Trial(seen, names[1], first, lead=("down",))
    yield "pagedown", Trial(seen, first, names[min(PAGE_LINES, end)])
    yield "pageup", Trial(seen, last, names[max(end - PAGE_LINES, 0)], lead=("end",))
    yield "end", Trial(seen, first, last)
    yield "home", Trial(seen, last, first, lead=("end",))


def figure_moves() -> Iterator[tuple[str, Trial]]:
    """The same of the list of the server's figures; home and end belong to its charts."""
    listed = [f"COMMANDS/{name}" for name in ("Questions", "SELECT")]
    tenth = "CONNECTIONS/Aborted clients"
    yield "down", Trial(figure, listed[0], listed[1])
    yield "up", Trial(figure, listed[1], listed[0], lead=("down",))
    yield "pagedown", Trial(figure, listed[0], tenth)
    yield "pageup", Trial(figure, tenth, listed[0], lead=("pagedown",))


def figure(it: Any) -> str:
    return it.app.screen.chosen  # type: ignore[no-any-return]


def figures(it: Any) -> object:
    return it.app.view.chart_state.figures


def on_live(it: Any) -> object:
    return it.app.view.chart_state.on_live


def connection(it: Any) -> int:
    return it.app.screen.chosen.id  # type: ignore[no-any-return]


def told(it: Any) -> str:
    """Whose statement is shown in full; empty if none is."""
    detail = it.app.screen.query_one("#session-detail")
    return detail.text().splitlines()[0].rstrip() if detail.display else ""


def statement(it: Any) -> str:
    return it.app.screen.copied(it.app.view).strip()  # type: ignore[no-any-return]


def setting(it: Any) -> str:
    return it.app.screen.chosen.name  # type: ignore[no-any-return]


def foreign(it: Any) -> bool:
    return "MySQL only" in it.app.screen.query_one("#settings").text()


def event(it: Any) -> str:
    return it.app.screen.chosen.text  # type: ignore[no-any-return]


def listed(it: Any) -> int:
    return len(it.shown("timeline").splitlines())


def offer(it: Any) -> tuple[int | None, str]:
    """Which value is marked, and what stands in the field."""
    return it.app.screen.query_one(OptionList).highlighted, it.app.screen.query_one(Input).value


def is_searched(it: Any) -> bool:
    return isinstance(it.app.focused, Input)


CONNECTIONS = [row.id for row in lock_rows(ACTIVITY)]
"""As listed: those that block and wait, then the others."""
CONNECTIONS += [session.id for session in ACTIVITY.sessions if session.id not in CONNECTIONS]
SETTINGS = [state.name for state in catalogue.STATES if not state.only]
EVENTS = [event.text for event in reversed(script.EVENTS)]
FLUSH_VALUES = list(next(state for state in catalogue.STATES if state.name == OURS[0]).choices)
FLUSH_NOW = FLUSH_VALUES.index("0")


class Keys(NamedTuple):
    """A screen, how it is reached, and the trials of its own keys."""

    kind: type
    scene: Scene
    trials: Mapping[str, Trial]
    rest: tuple[str, ...] = ()
    """Pressed before each: a screen remembers what was chosen."""


def offered(place: int, *, typed: bool = True) -> tuple[int, str]:
    return place, FLUSH_VALUES[place] if typed else ""


def scene(name: str) -> Scene:
    found = SCREENS[name]
    assert isinstance(found, Scene)
    return found


CHANGED = msgspec.structs.replace(CALM, status=script.own_changes(CALM.status))
OWN_KEYS = (
    Keys(
        SearchScreen,
        scene("settings"),
        {
            "slash": Trial(is_searched, False, True),
            "escape": leads(SettingsScreen, LiveScreen),
        },
    ),
    Keys(
        SettingsScreen,
        scene("settings"),
        {
            "enter": leads(SettingsScreen, ChangeDialog),
            "backspace": submits(RestoreSettings(OURS[:1]), "y"),
            "R": submits(RestoreSettings(OURS), "y"),
            **dict(moves(setting, SETTINGS)),
            "full_stop": Trial(foreign, False, True),
        },
        rest=("home",),
    ),
    Keys(
        SessionsScreen,
        scene("sessions"),
        {
            "k": submits(KillQuery(CONNECTIONS[0]), "y"),
            "K": submits(CloseConnection(CONNECTIONS[0]), "y"),
            "enter": Trial(told, "", f"STATEMENT OF {CONNECTIONS[0]}  ann@pc7"),
            **dict(moves(connection, CONNECTIONS)),
        },
        rest=("home",),
    ),
    Keys(
        EventsScreen,
        scene("events"),
        {
            "enter": leads(EventsScreen, LiveScreen),
            "e": leads(EventsScreen, LiveScreen),
            **dict(moves(event, EVENTS)),
            "f": Trial(listed, 6, 3),
            "F": Trial(listed, 6, 1, lead=("F",)),
        },
        rest=("home",),
    ),
    Keys(
        FigureScreen,
        scene("server"),
        {
            "enter": Trial(figures, None, ("COMMANDS/Questions",)),
            "i": Trial(on_live, (), ("COMMANDS/Questions",)),
            **dict(figure_moves()),
        },
        rest=("pageup",) * 9,
    ),
    Keys(
        SaturationScreen,
        Scene(CALM, ("7",), probe="under_way"),
        {
            "j": submits(NextStep()),
            "enter": Trial(lambda it: it.app.screen.query_one("#bend").display, True, False),
        },
    ),
    Keys(BigScreen, scene("big"), {"b": leads(BigScreen, LiveScreen)}),
    Keys(
        TimeScreen,
        scene("time"),
        {
            "enter": submits(Watch("time")),
            "down": Trial(lambda it: it.app.screen.chosen, WaitClass.ON_THE_WAY, WaitClass.MUTEX),
            "up": Trial(lambda it: it.app.screen.chosen, WaitClass.MUTEX, WaitClass.ON_THE_WAY),
        },
    ),
    Keys(CostScreen, scene("cost"), {"o": leads(CostScreen, LiveScreen)}),
    Keys(
        StatementsScreen,
        scene("statements"),
        {
            "s": leads(StatementsScreen, LiveScreen),
            "escape": leads(StatementsScreen, LiveScreen),
            "enter": Trial(lambda it: it.app.screen.has_class("-detailed"), False, True),
            **dict(moves(statement, [row.text for row in REPORT.rows])),
        },
        rest=("home",),
    ),
    Keys(
        MainScreen,
        scene("host"),
        {"escape": leads(HostScreen, LiveScreen), "tab": leads(HostScreen, ServerScreen)},
    ),
    Keys(
        HelpScreen,
        scene("help"),
        dict.fromkeys(("escape", "question_mark", "f1", "q"), leads(HelpScreen, LiveScreen)),
    ),
    Keys(
        ConfirmDialog,
        scene("confirm"),
        {
            "y": submits(ApplyPreset("unsafe")),
            **dict.fromkeys(("n", "escape"), leads(ConfirmDialog, DurabilityDialog)),
        },
    ),
    Keys(
        DurabilityDialog,
        Scene(CALM, ("d",)),
        dict.fromkeys(("d", "escape"), leads(DurabilityDialog, LiveScreen)),
    ),
    Keys(
        ChangeDialog,
        Scene(CATALOGUE, ("g", "enter")),
        {"escape": leads(ChangeDialog, SettingsScreen)},
    ),
    Keys(
        OfferDialog,
        Scene(CATALOGUE, ("g", "enter")),
        {
            "up": Trial(offer, offered(FLUSH_NOW, typed=False), offered(FLUSH_NOW - 1)),
            "down": Trial(offer, offered(FLUSH_NOW - 1), offered(FLUSH_NOW), lead=("up",)),
        },
    ),
    Keys(
        StopDialog,
        Scene(CALM, ("q",)),
        dict.fromkeys(("escape", "n"), leads(StopDialog, LiveScreen)) | {"y": submits(Stop())},
    ),
    Keys(StopDialog, Scene(CALM, ("q",)), {"s": submits(Stop())}),
    Keys(StopDialog, Scene(CALM, ("q",)), {"x": LEAVES}),
    Keys(StopDialog, Scene(CHANGED, ("q",)), {"k": submits(Stop(keeps=True))}),
    Keys(StopDialog, Scene(CHANGED, ("q",)), {"l": submits(Stop())}),
    Keys(AbTestDialog, Scene(CALM, ("A",)), {"escape": leads(AbTestDialog, LiveScreen)}),
    Keys(InputDialog, Scene(CALM, ("t",)), {"escape": leads(InputDialog, LiveScreen)}),
)
"""By the class that binds the keys."""
