"""The table of the screens in the tab line, with those of the features.

A screen draws a `View`, and is independent of sessions. The app creates it on first use, keeps it, and gives
it new views only while it is visible.
"""

from textual.binding import Binding, BindingType

from tuibench.base.feature import installed, merged, resolve
from tuibench.tui.panels.bars import TabLabel
from tuibench.tui.screens.lists import EventsScreen, SessionsScreen, SettingsScreen
from tuibench.tui.screens.monitor import (
    BigScreen,
    CostScreen,
    HostScreen,
    LatencyScreen,
    LiveScreen,
    ServerScreen,
    StatementsScreen,
    TimeScreen,
)
from tuibench.tui.screens.tab import ScreenTab
from tuibench.tui.view import View


def features_tabs() -> list[ScreenTab]:
    """The screens of all features."""
    return [resolve(one) for feature in installed() for one in feature.tabs]


HOME_TAB = "live"
# fmt: off
OWN_TABS = (
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
    ScreenTab("0", "time", "Time", "Time", "work and waits", TimeScreen),
    ScreenTab("o", "cost", "Cost", "Cost", "per transaction", CostScreen),
    ScreenTab(
        "s", "statements", "Statements", "Stmt", "by server time", StatementsScreen,
        offered=lambda view: view.replay is None, absent="a recorded run has no statements",
    ),
    ScreenTab("b", "big", "Big", "Big", "for a projector", BigScreen),
)
# fmt: on
SCREEN_TABS = merged(OWN_TABS, features_tabs())
TABS_BY_NAME = {place.name: place for place in SCREEN_TABS}


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
