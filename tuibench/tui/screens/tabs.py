"""Table of the screens in the tab line.

A new screen is a line here and a file in `screens`. It draws a View and knows nothing of sessions; the app
makes it when it is first asked for, keeps it, and shows it a new View only while it is the visible one.
"""

from collections.abc import Callable
from typing import NamedTuple

from textual.binding import Binding, BindingType

from tuibench.tui.panels.bars.header import TabLabel
from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.screens.events import EventsScreen
from tuibench.tui.screens.figure_lists import HostScreen, ServerScreen
from tuibench.tui.screens.monitor import (
    BigScreen,
    CostScreen,
    LatencyScreen,
    LiveScreen,
    SaturationScreen,
    StatementsScreen,
    TuneScreen,
)
from tuibench.tui.screens.sessions import SessionsScreen
from tuibench.tui.screens.settings import SettingsScreen
from tuibench.tui.view import View


class ScreenTab(NamedTuple):
    """A screen, the key that leads to it, and when there is something to be seen there.

    `short` is its name where there is little room. A place without `on_tabs` has a key only. `absent` is told
    to whoever wants to go there while it is not `offered`.
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
SCREEN_TABS = (
    ScreenTab("1", HOME_TAB, "Live", "Live", "load, server and host on one time axis", LiveScreen),
    ScreenTab("2", "latency", "Latency", "Lat", "percentiles, heat map, latency by statement", LatencyScreen),
    ScreenTab("3", "server", "Server", "Srv", "commands, connections, tables, InnoDB, locks", ServerScreen),
    ScreenTab("4", "host", "Host", "Host", "every core, memory, disks, network", HostScreen),
    ScreenTab("5", "settings", "Settings", "Set", "settings of the server, and their risks", SettingsScreen),
    ScreenTab(
        "6",
        "sessions",
        "Sessions",
        "Sess",
        "sessions of the server, lock waits",
        SessionsScreen,
        offered=lambda view: view.replay is None,
        absent="a recorded run holds no sessions",
    ),
    ScreenTab("7", "events", "Events", "Evts", "what happened, and the effect of each change", EventsScreen),
    ScreenTab(
        "8",
        "saturation",
        "Saturation",
        "Sat",
        "throughput and p95 against threads, by a probe",
        SaturationScreen,
        offered=lambda view: view.probe is not None,
        absent="no probe was run yet: P starts one",
    ),
    ScreenTab(
        "9",
        "tune",
        "Tune",
        "Tune",
        "which settings matter: a screening's tornado chart",
        TuneScreen,
        offered=lambda view: view.tune is not None,
        absent="no settings were screened yet: U starts it",
    ),
    ScreenTab(
        "o",
        "cost",
        "Cost",
        "Cost",
        "CPU, switches, disk, bytes per query and transaction",
        CostScreen,
        on_tabs=False,
    ),
    ScreenTab(
        "s",
        "statements",
        "Statements",
        "Stmt",
        "by server time, before and after a change",
        StatementsScreen,
        offered=lambda view: view.replay is None,
        on_tabs=False,
        absent="a recorded run holds no statements",
    ),
    ScreenTab("b", "big", "Big", "Big", "numbers for a projector", BigScreen, on_tabs=False),
)
TABS_BY_NAME = {place.name: place for place in SCREEN_TABS}


def tab_key(place: ScreenTab, view: View) -> str:
    """What tab line and help print for its key: the user's own, if there is one."""
    return view.keys.get(place.name, place.key)


def visible_tabs(view: View) -> list[TabLabel]:
    """The tabs that lead somewhere now."""
    return [place.tab(view) for place in SCREEN_TABS if place.on_tabs and place.offered(view)]


def tab_bindings() -> list[BindingType]:
    """The keys of the table; ids let a user's keymap change them."""
    return [
        Binding(place.key, f"go('{place.name}')", place.label, tooltip=place.help, id=place.name, show=False)
        for place in SCREEN_TABS
    ]
