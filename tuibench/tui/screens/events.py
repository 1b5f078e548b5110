"""The events screen: the run's timeline, what each change did, and the way to its place on the charts."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.model.event import Event
from tuibench.tui.panels import timeline as panels
from tuibench.tui.screens.main import Frame, MainScreen
from tuibench.tui.selection import MOVES, Selection
from tuibench.tui.spans import Line
from tuibench.tui.view import View
from tuibench.tui.widgets.panel import Panel


class EventsScreen(MainScreen):
    """Follows the newest event until one is chosen; home follows again."""

    KEYS = (("↑ ↓", "choose"), ("f", "filter"), ("enter", "show it on the charts"), ("esc", "back"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "next_filter(1)", "Filter", show=False),
        Binding("F", "next_filter(-1)", "Filter", show=False),
        Binding("enter", "jump", "Show it on the charts", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVES.items()),
    ]

    def __init__(self, view: View, frame: Frame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()
        self._filter = 0

    def body(self) -> ComposeResult:
        yield self.panel(self._filters, id="filters")
        yield self.panel(self._timeline, id="timeline")
        yield self.panel(self._detail, id="event")

    def prepare(self, view: View) -> None:
        if self._selection.id is not None:
            self._selection = self._selection.settled(self._ids)

    @property
    def chosen(self) -> Event | None:
        """The event that is marked."""
        return self._listed[self._selection.place] if self._listed else None

    def action_move(self, by: int) -> None:
        """At the top it follows the newest again."""
        moved = self._selection.moved(self._ids, by)
        self._selection = moved if moved.place else Selection()
        self._repaint()

    def action_pick(self, place: int) -> None:
        """By the mouse: the first click chooses, the second leads to the charts."""
        if place == self._selection.place:
            self.action_jump()
        else:
            self._selection = Selection(self._ids[place], place)
            self._repaint()

    def action_next_filter(self, by: int) -> None:
        self.action_filter((self._filter + by) % len(panels.FILTERS))

    def action_filter(self, place: int) -> None:
        self._filter = place
        self._selection = Selection()
        self._repaint()

    def action_jump(self) -> None:
        if self.chosen is not None:
            self.post_message(self.Jumped(self.chosen.elapsed_seconds))

    @property
    def _listed(self) -> list[Event]:
        return panels.chosen_kinds(self.view.events, self._filter)

    @property
    def _ids(self) -> list[int]:
        return panels.ids(self._listed)

    def _repaint(self) -> None:
        for panel in self.query(Panel):
            panel.show(self.view)

    def _filters(self, view: View, width: int, height: int) -> list[Line]:
        return panels.filters(view.events, self._filter, width, height)

    def _timeline(self, view: View, width: int, height: int) -> list[Line]:
        return panels.timeline(view.events, self._filter, self._selection, width, height)

    def _detail(self, view: View, width: int, height: int) -> list[Line]:
        return panels.detail(self.chosen, view.events, width, height)
