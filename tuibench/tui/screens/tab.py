"""A screen of the tab line: its key, its labels, and when it is available."""

from collections.abc import Callable
from typing import NamedTuple

from tuibench.tui.panels.bars import TabLabel
from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.view import View


class ScreenTab(NamedTuple):
    """A screen of the tab line."""

    key: str
    name: str
    """Its internal name."""
    label: str
    short: str
    """Its label if space is short."""
    help: str
    make: Callable[[View, ScreenFrame], MainScreen]
    offered: Callable[[View], bool] = lambda _: True
    """Whether it is available."""
    absent: str = ""
    """The message for its key while it is not available."""
    form: str = ""
    """The action whose dialog its key opens while it is not available; the screen shows the result."""
    after: str = ""
    """For a screen of a feature: the name of the screen that it follows."""

    def tab(self, view: View) -> TabLabel:
        return TabLabel(tab_key(self, view), self.name, self.label, self.short, not self.offered(view))


def tab_key(place: ScreenTab, view: View) -> str:
    """Key label in tab line and help: the user's own, if configured."""
    return view.keys.get(place.name, place.key)
