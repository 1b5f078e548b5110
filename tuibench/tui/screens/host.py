"""Host: every core and who uses it, memory, disks and network, with a minute of each figure."""

from textual.app import ComposeResult
from textual.containers import Horizontal

from tuibench.tui.panels.host_rows import cores, cores_height, minute, sections
from tuibench.tui.panels.trend import stacked
from tuibench.tui.screens.main import MainScreen
from tuibench.tui.spans import Line
from tuibench.tui.view import View


class HostScreen(MainScreen):
    """What this machine does."""

    def body(self) -> ComposeResult:
        yield self.panel(cores, id="cores")
        yield self.panel(minute, id="minute")
        with Horizontal(classes="columns", id="host-columns"):
            yield self.panel(self._left, id="host-left")
            yield self.panel(self._right, id="host-right")

    def prepare(self, view: View) -> None:
        self.query_one("#cores").styles.height = cores_height(view, self.size.width - 2)

    def _left(self, view: View, width: int, height: int) -> list[Line]:
        left, right = sections(view)[:2], sections(view)[2:]
        return stacked(left, width, height, beside=right, ascii_only=self.frame.ascii_only)

    def _right(self, view: View, width: int, height: int) -> list[Line]:
        left, right = sections(view)[:2], sections(view)[2:]
        return stacked(right, width, height, beside=left, ascii_only=self.frame.ascii_only)
