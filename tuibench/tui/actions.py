"""The table of the operator's actions: the source of key bindings, footer, palette and help.

A feature adds its actions by the `actions` of its `FEATURE`.

What an action does is determined by its field `command`, `change`, `view_change`, `place` or `play`. An
action without any of them opens a dialog of `app.DIALOGS` or of a feature, or calls the app's method
`_open_` with its name. In the replay of a recorded run, actions that would control the load are refused.
"""

from collections.abc import Callable, Iterator

from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits
from textual.content import Content
from textual.system_commands import SystemCommandsProvider

from tuibench.base.feature import installed, merged, resolve
from tuibench.model.hardware import HARDWARE_REFUSAL
from tuibench.model.message import (
    NO_LOAD_REFUSAL,
    READ_ONLY_REFUSAL,
    REPLAY_REFUSAL,
    Command,
    HoldPlan,
    Mark,
    Pause,
    RecordCpuProfile,
    Resume,
    ResumePlan,
    RunState,
    Undo,
)
from tuibench.model.schedule import PlanPhase
from tuibench.tui.action import (
    UserAction,
    always,
    on_chart,
    on_load,
    replays,
)
from tuibench.tui.steering import (
    ReplayPlayer,
    compare_effects,
    cursor_to_newest,
    cursor_to_oldest,
    mark_span_end,
    move_cursor,
    pin_previous_effect,
    resolving_test,
    toggle_clock,
    toggle_freeze,
    zoom_by,
)
from tuibench.tui.view import View, own_changes


def features_actions() -> Iterator[UserAction]:
    """The actions of all features."""
    for feature in installed():
        if feature.actions:
            yield from resolve(feature.actions)


def _hold_or_resume_plan(view: View) -> Command:
    plan = view.plan_under_way
    return ResumePlan() if plan is not None and plan.phase is PlanPhase.HELD else HoldPlan()


def _resolve(view: View) -> Command | None:
    """The A/B test of the shown effect, if the effect is doubtful and the test is not too long."""
    found = resolving_test(view)
    return None if found is None or found.is_too_long else found.order


# fmt: off
CHART_ACTIONS = (
    on_chart("cursor_left", "left", "←", "cursor", "Cursor one column back", view_change=move_cursor(-1)),
    on_chart("cursor_right", "right", "→", "cursor", "Cursor one column forward", view_change=move_cursor(1)),
    on_chart(
        "cursor_far_left", "shift+left", "⇧←", "cursor", "Cursor ten columns back",
        view_change=move_cursor(-10),
    ),
    on_chart(
        "cursor_far_right", "shift+right", "⇧→", "cursor", "Cursor ten columns forward",
        view_change=move_cursor(10),
    ),
    on_chart(
        "cursor_oldest", "home", "home", "cursor", "Cursor to the oldest column",
        view_change=cursor_to_oldest,
    ),
    on_chart(
        "cursor_newest", "end", "end", "cursor", "Cursor to the newest column",
        view_change=cursor_to_newest,
    ),
    on_chart("zoom_out", "z", "z", "zoom", "More time on the charts", view_change=zoom_by(1)),
    on_chart("zoom_in", "Z", "Z", "zoom", "Less time on the charts", view_change=zoom_by(-1)),
    on_chart("clock", "a", "a", "clock", "Time of day, or seconds ago", view_change=toggle_clock),
    always("figures", "f", "f", "figures", "Figures on the charts", in_footer=False),
    on_chart("freeze", "v", "v", "freeze", "Freeze the display, or resume", view_change=toggle_freeze),
    on_chart("compare_effects", "E", "E", "effects", "Compare two effects", view_change=compare_effects),
    on_chart(
        "compare", "c", "c", "compare", "Compare two spans of time",
        view_change=mark_span_end,
    ),
)
# fmt: on

WHOLE_RUN_SECONDS = 1e9


def _seek(seconds: float) -> Callable[[ReplayPlayer], None]:
    return lambda player: player.seek(seconds)


# fmt: off
REPLAY_ACTIONS = (
    replays(
        "seek_start", "circumflex_accent", "^", "start/end", "Replay: to the start",
        play=_seek(-WHOLE_RUN_SECONDS),
    ),
    replays("seek_end", "dollar_sign", "$", "start/end", "Replay: to the end", play=_seek(WHOLE_RUN_SECONDS)),
    replays("seek_back", "comma", ",", "10 s", "Replay: 10 s back", play=_seek(-10)),
    replays("seek_on", "full_stop", ".", "10 s", "Replay: 10 s forward", play=_seek(10)),
    replays("seek_far_back", "less_than_sign", "<", "1 min", "Replay: a minute back", play=_seek(-60)),
    replays("seek_far_on", "greater_than_sign", ">", "1 min", "Replay: a minute forward", play=_seek(60)),
    replays(
        "slower", "left_curly_bracket", "{", "speed", "Replay: half as fast",
        play=lambda it: it.slower(),
    ),
    replays(
        "faster", "right_curly_bracket", "}", "speed", "Replay: twice as fast",
        play=lambda it: it.faster(),
    ),
)

OWN_ACTIONS = (
    UserAction("durability", "d", "d", "durability", "Durability: preset or value"),
    on_load("type_threads", "t", "t", "threads", "Number of threads"),
    on_load("more", "plus,equals_sign", "+", "threads", "One thread more", change=lambda n: n + 1, rarity=2),
    on_load("fewer", "minus", "−", "threads", "One thread fewer", change=lambda n: n - 1, rarity=2),
    on_load(
        "halve", "left_square_bracket", "[", "threads", "Half the threads", change=lambda n: n // 2,
        rarity=2,
    ),
    on_load(
        "double", "right_square_bracket", "]", "threads", "Twice the threads", change=lambda n: n * 2,
        rarity=2,
    ),
    always(
        "pin", "e", "e", "effects", "Effects, the newest first", view_change=pin_previous_effect, rarity=1,
    ),
    UserAction(
        "resolve", "enter", "enter", "resolve", "Decide a doubtful effect",
        command=_resolve, in_footer=False,
    ),
    UserAction(
        "undo", "u,ctrl+z", "u", "undo", "Undo the last change", command=lambda _: Undo(),
        applies=lambda view: bool(view.status.undo), absent="there is nothing to undo", rarity=1,
    ),
    UserAction(
        "keep", "k", "k", "keep", "Keep the changed settings",
        applies=lambda view: bool(own_changes(view)),
        absent="no setting of the server has a value of this session", in_footer=False,
    ),
    UserAction(
        "pause", "p", "p", "pause", "Pause the load, or resume it",
        command=lambda view: Resume() if view.status.state is RunState.PAUSED else Pause(),
        applies=lambda view: not view.is_watch or view.replay is not None, absent=NO_LOAD_REFUSAL,
        play=lambda player: player.toggle(),
    ),
    on_load("rate", "r", "r", "rate", "Target rate, 0 for none", rarity=2),
    UserAction(
        "weights", "w", "w", "weights", "Weights of the transactions", rarity=3,
        applies=lambda view: bool(view.status.weights),
        absent="this load has only one kind of transaction: there are no weights",
    ),
    on_load("delay", "n", "n", "network", "Simulated network delay", rarity=3),
    UserAction(
        "hardware", "N", "N", "hardware", "Simulated disk, CPUs, memory", in_footer=False,
        applies=lambda view: view.status.hardware is not None, absent=f"{HARDWARE_REFUSAL}: tuibench demo",
    ),
    on_load("callers", "D", "D", "deadline", "Deadline; what callers do", in_footer=False),
    UserAction(
        "plan", "H", "H", "plan", "Hold the plan, or resume it",
        command=_hold_or_resume_plan, rarity=1,
        applies=lambda view: view.plan_under_way is not None, absent="no plan is running: T enters one",
    ),
    on_load("type_plan", "T", "T", "plan", "Plan: the load in stages", rarity=3),
    UserAction("locks", "l", "l", "locks", "Sessions and locks", place="sessions", in_footer=False),
    UserAction("run_sql", "exclamation_mark", "!", "run SQL", "Run an SQL statement", in_footer=False),
    UserAction(
        "cpu_profile", "C", "C", "profile", "CPU profile of a minute", command=lambda _: RecordCpuProfile(),
        in_footer=False,
    ),
    UserAction(
        "mark", "space", "space", "mark", "Mark on the time axis", command=lambda _: Mark(), rarity=2,
    ),
    UserAction("name_mark", "m", "m", "mark", "Mark with your own text", in_footer=False),
    *CHART_ACTIONS,
    *REPLAY_ACTIONS,
    always("copy", "y", "y", "copy", "Copy figures, or the command", in_footer=False),
    always("save", "S", "S", "save", "Save the screen as a picture", in_footer=False),
    always("menu", "ctrl+p", "^p", "menu", "Menu: all commands, themes", rarity=1),
    always("help", "question_mark,f1", "?", "help", "This help"),
    always(
        "leave", "x", "x", "leave", "Leave; the run continues",
        applies=lambda view: view.replay is None, rarity=1,
    ),
    always("stop", "q", "q", "stop", "Stop, and print the summary"),
)
# fmt: on
ACTIONS = merged(OWN_ACTIONS, features_actions())
ACTIONS_BY_NAME = {action.name: action for action in ACTIONS}


def action_bindings() -> list[BindingType]:
    """The table as Textual's bindings; ids let a user's keymap change the keys."""
    return [
        Binding(
            action.keys,
            f"act('{action.name}')",
            action.label,
            tooltip=action.help,
            id=action.name,
            show=False,
        )
        for action in ACTIONS
    ]


def is_possible(action: UserAction, view: View) -> bool:
    """True if the action is possible in this run, in the session's last reported state."""
    if view.replay is not None:
        return action.applies(view) and (action.play is not None or not action.steers)
    if is_refused_read_only(action, view):
        return False
    return view.status.state in action.states and action.applies(view)


def is_refused_read_only(action: UserAction, view: View) -> bool:
    """True for an action that controls the session, on a read-only screen; switching screens is allowed."""
    return view.read_only and action.steers and not action.place


def refusal(action: UserAction, view: View) -> str | None:
    """The message of a key whose action is not possible now, which may be empty; None if it is possible."""
    if view.replay is not None and action.steers and action.play is None:
        return REPLAY_REFUSAL
    if is_refused_read_only(action, view):
        return READ_ONLY_REFUSAL
    if is_possible(action, view):
        return None
    return "" if action.applies(view) else action.absent


def is_offered(action: UserAction, view: View) -> bool:
    """True if the action is listed in footer, palette and help; a replay omits actions that it refuses."""
    return action.applies(view) and (view.replay is None or is_possible(action, view))


def action_key(action: UserAction, view: View) -> str:
    """Key label of the action in footer and help: the user's own, if configured."""
    return view.keys.get(action.name, action.shown)


KEY_WIDTH = 8


class ActionPalette(SystemCommandsProvider):
    """Textual's provider with an entry for each command; its help text is the key."""

    async def discover(self) -> Hits:
        for title, key, callback, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(palette_line(key, Content(title)), callback, text=title)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, key, callback, _ in self.app.get_system_commands(self.screen):
            if (score := matcher.match(title)) > 0:
                yield Hit(score, palette_line(key, matcher.highlight(title)), callback, text=title)


def palette_line(key: str, title: Content) -> Content:
    """An entry of the palette: its key, if it has one, and its title."""
    return Content.assemble((f"{key:<{KEY_WIDTH}}", "bold"), title)
