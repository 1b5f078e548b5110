"""Saturation: throughput and p95 against threads, as a probe measures them, and what it found."""

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.model.command import NextStep
from tuibench.tui.panels import saturation as panels
from tuibench.tui.screens.main import MainScreen


class SaturationScreen(MainScreen):
    """A probe under way, or the last one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("j", "jump", "Next step", show=False)]
    KEYS = (("j", "next step"), ("P", "end the probe, or start one"))

    def body(self) -> ComposeResult:
        yield self.panel(panels.standing, id="probe")
        yield self.panel(partial(panels.chart, panels.THROUGHPUT), id="bend")
        yield self.panel(partial(panels.chart, panels.LATENCY), id="bend-latency")
        yield self.panel(panels.axis, id="bend-axis")
        yield self.panel(panels.found, id="found")

    def action_jump(self) -> None:
        if self.view.is_probing:
            self.post_message(self.Wanted(NextStep()))
