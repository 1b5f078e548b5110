"""The tab line: every screen with its key, the one that is shown marked; at its end what the view is of.

Where there is no room for the names in full, they are shortened; at last only the marked one has a name.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.tui.spans import Line, Span, joined, spread, width_of
from tuibench.tui.view import View
from tuibench.units import clock

GAP = Span(" ")
_WIDE = 110
_LEAST = 3
"""Cells between the tabs and what stands at the end."""


class Tab(NamedTuple):
    """One screen: its key, its name as the app knows it, and as it is written."""

    key: str
    name: str
    label: str
    short: str


Offered = Callable[[View], Sequence[Tab]]


def tab_line(offered: Offered, here: str, view: View, width: int, height: int) -> list[Line]:
    """The tabs that are offered; a click leads where the key does."""
    ending = _frozen(view, width)
    room = width - (width_of(ending) + _LEAST if ending else 0)
    line: Line = ()
    for write in _WAYS:
        line = joined((write(tab, tab.name == here) for tab in offered(view)), GAP)
        if width_of(line) <= room:
            break
    return [spread(line, ending, width)][:height]


def _frozen(view: View, width: int) -> Line:
    """That the picture stands still, and how it moves again."""
    if view.picture_of is None:
        return ()
    when = clock(view.elapsed_seconds)
    long = f" ‖ PICTURE FROZEN AT {when} · v lets it move "
    return (Span(long if width >= _WIDE else f" ‖ FROZEN {when} (v) ", "frozen", "app.act('freeze')"),)


def _full(tab: Tab, here: bool) -> Line:
    return _written(tab, tab.label, here, margin=" ")


def _tight(tab: Tab, here: bool) -> Line:
    return _written(tab, tab.label, here)


def _short(tab: Tab, here: bool) -> Line:
    return _written(tab, tab.short, here)


def _key_only(tab: Tab, here: bool) -> Line:
    return _written(tab, tab.short if here else "", here)


_WAYS = (_full, _tight, _short, _key_only)


def _written(tab: Tab, label: str, here: bool, margin: str = "") -> Line:
    action = f"app.go('{tab.name}')"
    name = f" {label}" if label else ""
    if here:
        return (Span(f"{margin}{tab.key}{name}{margin}", "here", action),)
    return (Span(f"{margin}{tab.key}", "key", action), Span(f"{name}{margin}", "muted", action))
