"""The big-number view, for a projector: nothing but what the audience should see."""

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.tui.panels.big import big
from tuibench.tui.screens.main import MainScreen


class BigScreen(MainScreen):
    """TPS, p95, the durability state and the last effect."""

    KEYS = (("esc", "back"),)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("b", "app.go('live')", "Back", show=False)]

    def body(self) -> ComposeResult:
        yield self.panel(partial(big, ascii_only=self.frame.ascii_only), id="big")
