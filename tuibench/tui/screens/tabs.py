"""The table of the screens in the tab line, with those of the features, and the tabs that they share.

A screen draws a `View`, and is independent of sessions. The app creates it on first use, keeps it, and gives
it new views only while it is visible. The key of a tab shows its first screen; pressed again, the next one.
"""

from textual.binding import Binding, BindingType

from tuibench.base.feature import installed, merged, resolve
from tuibench.tui.panels.asides import ASIDES
from tuibench.tui.panels.bars import TabLabel
from tuibench.tui.panels.load import is_untimed
from tuibench.tui.screens.base import Beside
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
from tuibench.tui.screens.tab import ScreenTab, tab_key
from tuibench.tui.view import View


def features_tabs() -> list[ScreenTab]:
    """The screens of all features."""
    return [resolve(one) for feature in installed() for one in feature.tabs]


HOME_TAB = "live"
# fmt: off
OWN_TABS = (
    ScreenTab("1", HOME_TAB, "Live", "Live", "load, server and host", LiveScreen),
    ScreenTab("b", "big", "Big", "Big", "for a projector", BigScreen, within=HOME_TAB, is_toggle=True),
    ScreenTab(
        "2", "latency", "Latency", "Lat", "p50 to max, heat map", LatencyScreen,
        offered=lambda view: not is_untimed(view), absent="this server reports no times of its statements",
    ),
    ScreenTab("3", "server", "Server", "Srv", "the server's counters", ServerScreen),
    ScreenTab(
        "h", "host", "Host", "Host", "cores, memory, disks", HostScreen, within="server", formerly="4",
    ),
    ScreenTab(
        "4", "sessions", "Sessions", "Sess", "locks and deadlocks", SessionsScreen, formerly="6",
        offered=lambda view: view.replay is None, absent="a recorded run has no sessions",
    ),
    ScreenTab("0", "time", "Time", "Time", "work and waits", TimeScreen, within="sessions"),
    ScreenTab(
        "5", "statements", "Statements", "Stmt", "by server time", StatementsScreen, also="s",
        offered=lambda view: view.replay is None, absent="a recorded run has no statements",
    ),
    ScreenTab("o", "cost", "Cost", "Cost", "per transaction", CostScreen, within="statements"),
    ScreenTab(
        "6", "events", "Events", "Evts", "changes and effects", EventsScreen, title="Changes", formerly="7",
    ),
    ScreenTab(
        "g", "settings", "Settings", "Set", "values and risks", SettingsScreen, within="events", formerly="5",
    ),
)
# fmt: on
SCREEN_TABS = merged(OWN_TABS, features_tabs())
TABS_BY_NAME = {place.name: place for place in SCREEN_TABS}
FIRST_SCREENS = tuple(place for place in SCREEN_TABS if not place.within)
"""The screens that begin a tab, in the order of the tabs."""


def screens_of(first: str, view: View) -> list[ScreenTab]:
    """The available screens of a tab, in their order, without those that only their own key shows."""
    return [
        place for place in SCREEN_TABS if place.first == first and place.offered(view) and not place.is_toggle
    ]


def new_place(key: str, view: View) -> str:
    """Where the screen is that this key showed before screens shared tabs; empty if it showed none."""
    place = next((place for place in SCREEN_TABS if place.formerly == key), None)
    if place is None:
        return ""
    first = TABS_BY_NAME[place.first]
    title, now = first.title or first.label, tab_key(first, view)
    where = f"on {title} ({now})" if title != place.label else f"on key {now}"
    return f"{place.label}: now {where}"


def next_screen(name: str, view: View) -> ScreenTab | None:
    """The screen of the same tab that follows this one; None if it is the only one."""
    names = [place.name for place in screens_of(TABS_BY_NAME[name].first, view)]
    if name not in names:
        return None
    following = names[(names.index(name) + 1) % len(names)]
    return TABS_BY_NAME[following] if following != name else None


def next_label(name: str, view: View) -> str:
    """Label of that screen; empty if there is none."""
    following = next_screen(name, view)
    return following.label if following is not None else ""


def screen_beside(name: str) -> Beside | None:
    """The screen that is drawn beside this one of its tab: beside the first the second, else the first."""
    place = TABS_BY_NAME[name]
    names = [each.name for each in SCREEN_TABS if each.first == place.first and not each.is_toggle]
    if name not in names or len(names) == 1:
        return None
    other = TABS_BY_NAME[names[0] if place.within else names[1]]
    return Beside(other.name, other.label, ASIDES[other.name], bool(place.within), other.offered)


def visible_tabs(here: str, view: View) -> list[TabLabel]:
    """The tabs with an available screen. That of the screen `here` has a label for each of its screens."""
    found = []
    for first in FIRST_SCREENS:
        screens = screens_of(first.name, view)
        shown, place = screens[:1], TABS_BY_NAME[here]
        if place.first == first.name:
            shown = [*screens, *([place] if place not in screens else [])]
        for number, each in enumerate(shown):
            label = first.title if first.title and len(shown) < len(screens) else each.label
            key = "" if number and not each.is_toggle else tab_key(each if number else first, view)
            found.append(TabLabel(key, each.name, label, each.short, not each.has_data(view)))
    return found


def tab_bindings() -> list[BindingType]:
    """The table's key bindings; ids let a user's keymap change them."""
    also: list[BindingType] = [
        Binding(place.also, f"go('{place.name}')", show=False) for place in SCREEN_TABS if place.also
    ]
    return [
        *also,
        *(
            Binding(
                place.key,
                f"go('{place.name}')" if place.within else f"open_tab('{place.name}')",
                place.label,
                tooltip=place.help,
                id=place.name,
                show=False,
            )
            for place in SCREEN_TABS
        ),
    ]
