"""An action of the operator: its keys, when it is possible, and what it does."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tuibench.model.message import NO_LOAD_REFUSAL, Command, RunState
from tuibench.tui.steering import ReplayPlayer, ThreadChange, ViewChange
from tuibench.tui.view import View

STEERABLE_STATES = frozenset({RunState.RUNNING, RunState.PAUSED})
ALL_STATES = frozenset(RunState)


class UserAction(NamedTuple):
    """An action of the operator."""

    name: str
    keys: str
    """Textual's names of its keys."""
    shown: str
    """The text for its keys in the footer."""
    label: str
    """Its label in the footer; adjacent actions with the same label share one place."""
    help: str
    states: frozenset[RunState] = STEERABLE_STATES
    """The states of the run in which the action is possible; in others it is dimmed."""
    command: Callable[[View], Command | None] | None = None
    """Returns the command to submit, None if there is none now."""
    change: ThreadChange | None = None
    """A change of the number of threads."""
    rarity: int = 0
    """If space is short, the footer omits the actions with the highest rarity first, those with 0 never."""
    applies: Callable[[View], bool] = lambda _: True
    """Whether the action makes sense in this run; otherwise it is not listed."""
    place: str = ""
    """The screen of the tab line that the action opens."""
    view_change: ViewChange | None = None
    """A change of the charts."""
    in_footer: bool = True
    """Whether the footer lists the action; the help always does."""
    play: Callable[[ReplayPlayer], None] | None = None
    """An operation of a replay."""
    absent: str = ""
    """The message for its key if the action does not apply."""
    after: str = ""
    """For an action of a feature: the name of the action that it follows."""

    @property
    def steers(self) -> bool:
        """True if the action changes the run, or queries its server."""
        return self.states is STEERABLE_STATES


on_load = partial(UserAction, applies=lambda view: not view.is_watch, absent=NO_LOAD_REFUSAL)
"""An action on the load: in a session without load, its key shows a message."""
on_chart = partial(UserAction, states=ALL_STATES, in_footer=False)
replays = partial(UserAction, states=ALL_STATES, applies=lambda view: view.replay is not None)
always = partial(UserAction, states=ALL_STATES)
