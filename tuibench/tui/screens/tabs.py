"""Table of the screens in the tab line.

A screen draws a View and is independent of sessions; the app creates it on first use, keeps it, and passes it
a new View only while it is visible.
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
    """A screen, its key, and the condition under which it is available.

    `short` is its name if space is short. A screen without `on_tabs` has a key only. `absent` is the message
    for its key while it is not `offered`.
    """

    key: str
    name: str
    label: str
    short: str
    help: str
    make: Callable[[View, ScreenFrame], MainScreen]
    offered: Callable[[View], bool] = lambda _: True
    on_tabs: bool = True
    absent: str = ""

    def tab(self, view: View) -> TabLabel:
        return TabLabel(tab_key(self, view), self.name, self.label, self.short)


HOME_TAB = "live"
# fmt: off
SCREEN_TABS = (
    ScreenTab("1", HOME_TAB, "Live", "Live", "load, server and host on one time axis", LiveScreen),
    ScreenTab("2", "latency", "Latency", "Lat", "percentiles, heat map, latency by statement", LatencyScreen),
    ScreenTab("3", "server", "Server", "Srv", "commands, connections, tables, InnoDB, locks", ServerScreen),
    ScreenTab("4", "host", "Host", "Host", "every core, memory, disks, network", HostScreen),
    ScreenTab("5", "settings", "Settings", "Set", "settings of the server, and their risks", SettingsScreen),
    ScreenTab(
        "6", "sessions", "Sessions", "Sess", "sessions of the server, lock waits", SessionsScreen,
        offered=lambda view: view.replay is None, absent="a recorded run has no sessions",
    ),
    ScreenTab("7", "events", "Events", "Evts", "what happened, and the effect of each change", EventsScreen),
    ScreenTab(
        "8", "saturation", "Saturation", "Sat", "throughput and p95 against threads, by a probe",
        SaturationScreen, offered=lambda view: view.probe is not None,
        absent="no probe has run yet: P starts one",
    ),
    ScreenTab(
        "9", "tune", "Tune", "Tune", "which settings matter: a screening's tornado chart", TuneScreen,
        offered=lambda view: view.tune is not None, absent="no settings have been tested yet: U starts that",
    ),
    ScreenTab("0", "time", "Time", "Time", "what connections do or wait for", TimeScreen),
    ScreenTab(
        "o", "cost", "Cost", "Cost", "CPU, switches, disk, bytes per query and transaction",
        CostScreen, on_tabs=False,
    ),
    ScreenTab(
        "s", "statements", "Statements", "Stmt", "by server time, before and after a change",
        StatementsScreen, offered=lambda view: view.replay is None, on_tabs=False,
        absent="a recorded run has no statements",
    ),
    ScreenTab("b", "big", "Big", "Big", "numbers for a projector", BigScreen, on_tabs=False),
)
# fmt: on
TABS_BY_NAME = {place.name: place for place in SCREEN_TABS}


def tab_key(place: ScreenTab, view: View) -> str:
    """Key label in tab line and help: the user's own, if configured."""
    return view.keys.get(place.name, place.key)


def visible_tabs(view: View) -> list[TabLabel]:
    """Labels of the available screens."""
    return [place.tab(view) for place in SCREEN_TABS if place.on_tabs and place.offered(view)]


def tab_bindings() -> list[BindingType]:
    """The table's key bindings; ids let a user's keymap change them."""
    return [
        Binding(place.key, f"go('{place.name}')", place.label, tooltip=place.help, id=place.name, show=False)
        for place in SCREEN_TABS
    ]
