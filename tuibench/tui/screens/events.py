"""Events screen: timeline, effects, and jumps to the charts."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.model.event import Event
from tuibench.tui.panels import events as panels
from tuibench.tui.panels.clipboard import effect_text_lines
from tuibench.tui.panels.selection import MOVE_KEYS, Selection
from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.text.spans import TextLine
from tuibench.tui.view import View
from tuibench.tui.widgets.panel import Panel
from tuibench.units import hms, local_time


class EventsScreen(MainScreen):
    """Follows the newest event until another is selected; home follows again."""

    KEYS = (
        ("↑ ↓", "choose"),
        ("f", "filter"),
        ("enter", "show it on the charts"),
        ("e", "pin its effect"),
        ("esc", "back"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "next_filter(1)", "Filter", show=False),
        Binding("F", "next_filter(-1)", "Filter", show=False),
        Binding("enter", "jump", "Show it on the charts", show=False),
        Binding("e", "pin", "Pin its effect", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVE_KEYS.items()),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
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
        """The selected event."""
        return self._listed[self._selection.place] if self._listed else None

    def action_move(self, by: int) -> None:
        """Move the selection; at the top it follows the newest event again."""
        moved = self._selection.moved(self._ids, by)
        self._selection = moved if moved.place else Selection()
        self._repaint()

    def action_pick(self, place: int) -> None:
        """Handle a click: the first one selects the event, the second jumps to the charts."""
        if place == self._selection.place:
            self.action_jump()
        else:
            self._selection = Selection(self._ids[place], place)
            self._repaint()

    def action_next_filter(self, by: int) -> None:
        self.action_filter((self._filter + by) % len(panels.EVENT_FILTERS))

    def action_filter(self, place: int) -> None:
        self._filter = place
        self._selection = Selection()
        self._repaint()

    def action_jump(self) -> None:
        if self.chosen is not None:
            self.post_message(self.JumpRequested(self.chosen.elapsed_seconds))

    def copied(self, view: View) -> str:
        """The selected event, with its effect."""
        event = self.chosen
        if event is None:
            return ""
        when = f"{local_time(event.at)}, {hms(event.elapsed_seconds)} into the run: {event.text}"
        effect = panels.effect_of(event, view.events)
        return "\n".join([when, *(effect_text_lines(effect) if effect else ())]) + "\n"

    def action_pin(self) -> None:
        """Pin the event's effect, so that charts, card and big numbers show it."""
        effect = panels.effect_of(self.chosen, self.view.events) if self.chosen is not None else None
        if effect is not None:
            self.post_message(self.PinRequested(effect.markers[-1]))

    @property
    def _listed(self) -> list[Event]:
        return panels.filtered_events(self.view.events, self._filter)

    @property
    def _ids(self) -> list[int]:
        return panels.event_ids(self._listed)

    def _repaint(self) -> None:
        for panel in self.query(Panel):
            panel.show(self.view)

    def _filters(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.filter_line(view.events, self._filter, width, height)

    def _timeline(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.timeline(view.events, self._filter, self._selection, width, height)

    def _detail(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.event_detail(self.chosen, view.events, width, height)
