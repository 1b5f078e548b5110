"""Server: what it counts of itself. Commands, connections and tables on the left, InnoDB and rows beside."""

from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal

from tuibench.tui.panels.server_rows import LEFT, RIGHT, Table, sections
from tuibench.tui.panels.trend import stacked
from tuibench.tui.screens.main import MainScreen
from tuibench.tui.spans import Line
from tuibench.tui.view import View


class ServerScreen(MainScreen):
    """All that the server says, with a minute of each figure."""

    def body(self) -> ComposeResult:
        with Horizontal(classes="columns"):
            yield self.panel(partial(self._column, LEFT, RIGHT), id="server-left")
            yield self.panel(partial(self._column, RIGHT, LEFT), id="server-right")

    def _column(self, chosen: Table, beside: Table, view: View, width: int, height: int) -> list[Line]:
        return stacked(
            sections(view, chosen),
            width,
            height,
            beside=sections(view, beside),
            ascii_only=self.frame.ascii_only,
        )
