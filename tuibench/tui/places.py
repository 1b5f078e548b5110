"""The screens that a key leads to, in the order of the tab line.

A new screen is a line here and a file in `screens`. It draws a View and knows nothing of sessions; the app
makes it when it is first asked for, keeps it, and shows it a new View only while it is the visible one.
"""

from collections.abc import Callable
from typing import NamedTuple

from textual.binding import Binding, BindingType

from tuibench.tui.panels.tabs import Tab
from tuibench.tui.screens.big import BigScreen
from tuibench.tui.screens.events import EventsScreen
from tuibench.tui.screens.host import HostScreen
from tuibench.tui.screens.latency import LatencyScreen
from tuibench.tui.screens.live import LiveScreen
from tuibench.tui.screens.main import Frame, MainScreen
from tuibench.tui.screens.saturation import SaturationScreen
from tuibench.tui.screens.server import ServerScreen
from tuibench.tui.screens.sessions import SessionsScreen
from tuibench.tui.screens.settings import SettingsScreen
from tuibench.tui.view import View


class Place(NamedTuple):
    """A screen, the key that leads to it, and when there is something to be seen there.

    `short` is its name where there is little room. A place without `on_tabs` has a key only. `absent` is told
    to whoever wants to go there while it is not `offered`.
    """

    key: str
    name: str
    label: str
    short: str
    help: str
    make: Callable[[View, Frame], MainScreen]
    offered: Callable[[View], bool] = lambda _: True
    on_tabs: bool = True
    absent: str = ""

    def tab(self, view: View) -> Tab:
        return Tab(key_of(self, view), self.name, self.label, self.short)


HOME = "live"
PLACES = (
    Place("1", HOME, "Live", "Live", "load, server and host on one time axis", LiveScreen),
    Place("2", "latency", "Latency", "Lat", "percentiles, heat map, the slowest kinds", LatencyScreen),
    Place("3", "server", "Server", "Srv", "commands, connections, tables, InnoDB, locks", ServerScreen),
    Place("4", "host", "Host", "Host", "every core, memory, disks, network", HostScreen),
    Place(
        "5", "settings", "Settings", "Set", "what the server can be set to, and what it risks", SettingsScreen
    ),
    Place(
        "6",
        "sessions",
        "Sessions",
        "Sess",
        "who is on the server, who waits for a lock",
        SessionsScreen,
        offered=lambda view: view.replay is None,
        absent="a recorded run holds no sessions",
    ),
    Place("7", "events", "Events", "Evts", "what happened, and what each change did", EventsScreen),
    Place(
        "8",
        "saturation",
        "Saturation",
        "Sat",
        "throughput and p95 against threads, by a probe",
        SaturationScreen,
        offered=lambda view: view.probe is not None,
        absent="no probe was run yet: P starts one",
    ),
    Place("b", "big", "Big", "Big", "numbers for a projector", BigScreen, on_tabs=False),
)
BY_NAME = {place.name: place for place in PLACES}


def key_of(place: Place, view: View) -> str:
    """What tab line and help print for its key: the user's own, if there is one."""
    return view.keys.get(place.name, place.key)


def tabs(view: View) -> list[Tab]:
    """The tabs that lead somewhere now."""
    return [place.tab(view) for place in PLACES if place.on_tabs and place.offered(view)]


def bindings() -> list[BindingType]:
    """The keys of the table; ids let a user's keymap change them."""
    return [
        Binding(place.key, f"go('{place.name}')", place.label, tooltip=place.help, id=place.name, show=False)
        for place in PLACES
    ]
