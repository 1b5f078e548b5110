"""Base class of the screens whose list is filtered by typed words."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.view import View


class SearchScreen(MainScreen):
    """`/` shows the search line; `escape` ends the search, and without one leaves the screen.

    A subclass yields `search_line()` in its body, filters by `words`, and redraws in `repaint`.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False),
        Binding("slash", "search", "Search", show=False),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self.words = ""

    def repaint(self) -> None:
        """Draw the list again: the words or the selection changed."""
        raise NotImplementedError

    def search_line(self, placeholder: str) -> Input:
        """The line for the words, hidden until the search begins."""
        line = Input(placeholder=placeholder, id="search", compact=True)
        line.cursor_blink = False
        return line

    def action_search(self) -> None:
        self.set_class(True, "-searching")
        self.query_one("#search").focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.words = event.value
        self.repaint()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._end_search()

    async def action_back(self) -> None:
        """End a search; without one, return to the first screen."""
        if not self.has_class("-searching"):
            await self.run_action("app.go('live')")
            return
        self.query_one("#search", Input).value = ""
        self._end_search()

    def _end_search(self) -> None:
        self.set_class(bool(self.query_one("#search", Input).value), "-searching")
        self.set_focus(None)
