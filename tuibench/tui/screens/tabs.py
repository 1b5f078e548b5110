"""The table of the screens in the tab line.

A screen draws a `View`, and is independent of sessions. The app creates it on first use, keeps it, and gives
it new views only while it is visible.
"""

from collections.abc import Callable
from typing import NamedTuple

from textual.binding import Binding, BindingType

from tuibench.tui.panels.bars import TabLabel
from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.screens.lists import EventsScreen, SessionsScreen, SettingsScreen
from tuibench.tui.screens.monitor import (
    BigScreen,
    CostScreen,
    HostScreen,
    LatencyScreen,
    LiveScreen,
    SaturationScreen,
    ServerScreen,
    StatementsScreen,
    TimeScreen,
    TuneScreen,
)
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

    def tab(self, view: View) -> TabLabel:
        return TabLabel(tab_key(self, view), self.name, self.label, self.short, not self.offered(view))


HOME_TAB = "live"
# fmt: off
SCREEN_TABS = (
    ScreenTab("1", HOME_TAB, "Live", "Live", "load, server and host", LiveScreen),
    ScreenTab("2", "latency", "Latency", "Lat", "p50 to max, heat map", LatencyScreen),
    ScreenTab("3", "server", "Server", "Srv", "the server's counters", ServerScreen),
    ScreenTab("4", "host", "Host", "Host", "cores, memory, disks", HostScreen),
    ScreenTab("5", "settings", "Settings", "Set", "values and risks", SettingsScreen),
    ScreenTab(
        "6", "sessions", "Sessions", "Sess", "locks and deadlocks", SessionsScreen,
        offered=lambda view: view.replay is None, absent="a recorded run has no sessions",
    ),
    ScreenTab("7", "events", "Events", "Evts", "changes and effects", EventsScreen),
    ScreenTab(
        "8", "saturation", "Saturation", "Sat", "result of a probe", SaturationScreen,
        offered=lambda view: view.probe is not None, absent="no probe has run yet: P starts one",
        form="probe",
    ),
    ScreenTab(
        "9", "tune", "Tune", "Tune", "settings that matter", TuneScreen,
        offered=lambda view: view.tune is not None, absent="no screening has run yet: U starts one",
        form="screening",
    ),
    ScreenTab("0", "time", "Time", "Time", "work and waits", TimeScreen),
    ScreenTab("o", "cost", "Cost", "Cost", "per transaction", CostScreen),
    ScreenTab(
        "s", "statements", "Statements", "Stmt", "by server time", StatementsScreen,
        offered=lambda view: view.replay is None, absent="a recorded run has no statements",
    ),
    ScreenTab("b", "big", "Big", "Big", "for a projector", BigScreen),
)
# fmt: on
TABS_BY_NAME = {place.name: place for place in SCREEN_TABS}


def tab_key(place: ScreenTab, view: View) -> str:
    """Key label in tab line and help: the user's own, if configured."""
    return view.keys.get(place.name, place.key)


def visible_tabs(view: View) -> list[TabLabel]:
    """The tabs of the screens that are available, or that a dialog makes available."""
    return [
        place.tab(view)
        for place in SCREEN_TABS
        if place.offered(view) or (place.form and view.replay is None)
    ]


def tab_bindings() -> list[BindingType]:
    """The table's key bindings; ids let a user's keymap change them."""
    return [
        Binding(place.key, f"go('{place.name}')", place.label, tooltip=place.help, id=place.name, show=False)
        for place in SCREEN_TABS
    ]
