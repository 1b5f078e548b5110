"""A screen of the tab line: its key, its labels, and when it is available."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.view import View


class ScreenTab(NamedTuple):
    """A screen of the tab line: a tab of its own, or one of the screens that share a tab."""

    key: str
    """Its key. That of a tab shows its first screen; pressed again, the next one."""
    name: str
    """Its internal name."""
    label: str
    short: str
    """Its label if space is short."""
    help: str
    make: Callable[[View, ScreenFrame], MainScreen]
    offered: Callable[[View], bool] = lambda _: True
    """Whether it is available."""
    has_data: Callable[[View], bool] = lambda _: True
    """Whether it has something to show yet; until then its tab is muted."""
    absent: str = ""
    """The message for its key while it is not available."""
    within: str = ""
    """The name of the first screen of its tab; empty for a screen that begins a tab."""
    title: str = ""
    """The label of the tab that it begins, if it is not its own."""
    also: str = ""
    """Another key of it, which the user may give to an action."""
    formerly: str = ""
    """The key of another tab that was its own: the first press says where the screen is."""
    is_toggle: bool = False
    """Whether only its own key shows it, and the tab's key does not."""
    result_of: str = ""
    """The action whose result it shows: it opens when there is one."""
    after: str = ""
    """For a screen of a feature: the name of the screen that it follows."""

    @property
    def first(self) -> str:
        """The name of the first screen of its tab."""
        return self.within or self.name


def tab_key(place: ScreenTab, view: View) -> str:
    """Key label in tab line and help: the user's own, if configured."""
    return view.keys.get(place.name, place.key)
