"""Everything the operator can do, in one table: it feeds the key bindings, footer, palette and help.

An entry with a `command` submits it, if there is one now; one with a `change` steers the thread count; one
with a `look` changes what the charts show; one with a `place` leads to a screen of the tab line; the others
open a dialog of the table `dialogs`, or something in the app, by its method `_open_NAME`. A new action is a
line here.

In the replay of a recorded run an entry with a `play` does that; whatever would steer the load is refused.
"""

from collections.abc import Callable
from typing import NamedTuple

from textual.binding import Binding, BindingType

from tuibench.model.command import Command, HoldPlan, Mark, Pause, Resume, ResumePlan, StopProbe
from tuibench.model.message import RunState
from tuibench.model.progress import PlanPhase
from tuibench.tui import looking
from tuibench.tui.bridge import Player
from tuibench.tui.looking import ViewChange
from tuibench.tui.steering import Change
from tuibench.tui.view import View

STEERABLE = frozenset({RunState.RUNNING, RunState.PAUSED})
ALWAYS = frozenset(RunState)


class Action(NamedTuple):
    """One thing the operator can do.

    `keys` are Textual's names of the keys, `shown` is what the footer prints for them. `states` are those in
    which it can be done; in others it is dimmed. Entries with the same `label` share a place in the footer;
    a `rare` one gives way where there is no room, one that is not `in_footer` is only in the help. Where one
    does not apply it is not offered at all; whoever presses its key is told why, by `absent`.
    """

    name: str
    keys: str
    shown: str
    label: str
    help: str
    states: frozenset[RunState] = STEERABLE
    command: Callable[[View], Command | None] | None = None
    change: Change | None = None
    rare: bool = False
    applies: Callable[[View], bool] = lambda _: True
    place: str = ""
    look: ViewChange | None = None
    in_footer: bool = True
    play: Callable[[Player], None] | None = None
    absent: str = ""

    @property
    def steers(self) -> bool:
        """True if it does something to the run, or asks its server."""
        return self.states is STEERABLE


def _pause_or_resume(view: View) -> Command:
    return Resume() if view.status.state is RunState.PAUSED else Pause()


def _hold_or_resume_plan(view: View) -> Command:
    plan = view.plan_under_way
    return ResumePlan() if plan is not None and plan.phase is PlanPhase.HELD else HoldPlan()


def _stop_probe(view: View) -> Command | None:
    """The key ends a probe; without one it opens the dialog that starts one."""
    return StopProbe() if view.is_probing else None


def _chart(name: str, keys: str, shown: str, label: str, help: str, look: ViewChange) -> Action:
    return Action(name, keys, shown, label, help, states=ALWAYS, look=look, in_footer=False)


CHARTS = (
    _chart("cursor_left", "left", "←", "cursor", "Read the charts further back", looking.moved(-1)),
    _chart("cursor_right", "right", "→", "cursor", "Read the charts further on", looking.moved(1)),
    _chart("cursor_far_left", "shift+left", "⇧←", "cursor", "Ten columns back", looking.moved(-10)),
    _chart("cursor_far_right", "shift+right", "⇧→", "cursor", "Ten columns on", looking.moved(10)),
    _chart("cursor_oldest", "home", "home", "cursor", "Read the oldest that is shown", looking.oldest),
    _chart("cursor_newest", "end", "end", "cursor", "Read the newest", looking.newest),
    _chart("zoom_out", "z", "z", "zoom", "More time on the charts: 1, 5, 15, 60 min, all", looking.zoomed(1)),
    _chart("zoom_in", "Z", "Z", "zoom", "Less time on the charts", looking.zoomed(-1)),
    _chart("freeze", "v", "v", "freeze", "Freeze the picture, or let it move again", looking.frozen),
    _chart("compare", "c", "c", "compare", "Compare two spans: mark A's ends, then B's", looking.marked),
)

FAR_SECONDS = 1e9


def _replay(
    name: str, keys: str, shown: str, label: str, help: str, play: Callable[[Player], None]
) -> Action:
    return Action(
        name,
        keys,
        shown,
        label,
        help,
        states=ALWAYS,
        play=play,
        applies=lambda view: view.replay is not None,
    )


def _seek(seconds: float) -> Callable[[Player], None]:
    return lambda player: player.seek(seconds)


REPLAY = (
    _replay("seek_start", "circumflex_accent", "^", "start/end", "Replay: to the start", _seek(-FAR_SECONDS)),
    _replay("seek_end", "dollar_sign", "$", "start/end", "Replay: to the end", _seek(FAR_SECONDS)),
    _replay("seek_back", "comma", ",", "10 s", "Replay: 10 s back", _seek(-10)),
    _replay("seek_on", "full_stop", ".", "10 s", "Replay: 10 s on", _seek(10)),
    _replay("seek_far_back", "less_than_sign", "<", "1 min", "Replay: a minute back", _seek(-60)),
    _replay("seek_far_on", "greater_than_sign", ">", "1 min", "Replay: a minute on", _seek(60)),
    _replay("slower", "left_curly_bracket", "{", "speed", "Replay: half as fast", lambda it: it.slower()),
    _replay("faster", "right_curly_bracket", "}", "speed", "Replay: twice as fast", lambda it: it.faster()),
)

ACTIONS = (
    Action("more", "plus,equals_sign", "+", "threads", "One thread more", change=lambda n: n + 1),
    Action("fewer", "minus", "−", "threads", "One thread fewer", change=lambda n: n - 1),
    Action("halve", "left_square_bracket", "[", "threads", "Half the threads", change=lambda n: n // 2),
    Action("double", "right_square_bracket", "]", "threads", "Twice the threads", change=lambda n: n * 2),
    Action("type_threads", "t", "t", "threads", "Type a number of threads"),
    Action("rate", "r", "r", "rate", "Type a rate: transactions to start a second, 0 for no rate"),
    Action(
        "weights",
        "w",
        "w",
        "weights",
        "Type the weights of the profile's transactions",
        rare=True,
        applies=lambda view: bool(view.status.weights),
        absent="this load has one kind of transaction only: there is nothing to weigh",
    ),
    Action("delay", "n", "n", "network", "Simulate a longer network: a delay on each round trip", rare=True),
    Action(
        "plan",
        "H",
        "H",
        "plan",
        "Hold the planned load where it stands, or let it go on",
        command=_hold_or_resume_plan,
        rare=True,
        applies=lambda view: view.plan_under_way is not None,
        absent="no plan is under way: T types one",
    ),
    Action(
        "type_plan", "T", "T", "plan", "Type a plan: threads and rate that change by themselves", rare=True
    ),
    Action(
        "probe",
        "P",
        "P",
        "probe",
        "Probe: find the saturation point, or end a probe (screen 8)",
        command=_stop_probe,
        in_footer=False,
    ),
    Action("durability", "d", "d", "durability", "Choose what survives a crash: both settings or one"),
    Action(
        "locks",
        "l",
        "l",
        "locks",
        "Sessions and locks: who is on the server, who waits",
        place="sessions",
        in_footer=False,
    ),
    Action(
        "pause",
        "p",
        "p",
        "pause",
        "Pause the load, or go on",
        command=_pause_or_resume,
        play=lambda player: player.toggle(),
    ),
    Action(
        "mark",
        "space",
        "space",
        "mark",
        "Put a numbered mark on the time axis",
        command=lambda _: Mark(),
        rare=True,
    ),
    *CHARTS,
    *REPLAY,
    Action(
        "menu",
        "ctrl+p",
        "^p",
        "menu",
        "Menu: all of this by name, and the themes",
        states=ALWAYS,
        rare=True,
    ),
    Action("help", "question_mark,f1", "?", "help", "This help, and the warnings in full", states=ALWAYS),
    Action(
        "leave",
        "x",
        "x",
        "leave",
        "Leave the screen; the run goes on (see --grace)",
        states=ALWAYS,
        applies=lambda view: view.replay is None,
    ),
    Action("stop", "q", "q", "stop", "Stop, restore the settings, leave the summary", states=ALWAYS),
)
BY_NAME = {action.name: action for action in ACTIONS}


def bindings() -> list[BindingType]:
    """The table as Textual wants it; ids let a user's keymap change the keys."""
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


def possible(action: Action, view: View) -> bool:
    """Whether it can be done in this run, in the state that the session last told."""
    if view.replay is not None:
        return action.applies(view) and (action.play is not None or not action.steers)
    if is_refused(action, view):
        return False
    return view.status.state in action.states and action.applies(view)


def is_refused(action: Action, view: View) -> bool:
    """Whether it would steer from a screen that may only look; going to another screen does not."""
    return view.read_only and action.steers and not action.place


def missing(action: Action, view: View) -> str:
    """Why the key of an action that does not apply does nothing; empty for one that was never named."""
    return "" if action.applies(view) else action.absent


def offered(action: Action, view: View) -> bool:
    """Whether it is named at all: a replay names nothing that it would refuse."""
    return action.applies(view) and (view.replay is None or possible(action, view))


def key_of(action: Action, view: View) -> str:
    """What footer and help print for its key: the user's own, if there is one."""
    return view.keys.get(action.name, action.shown)
