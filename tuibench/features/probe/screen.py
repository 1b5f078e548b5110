"""The screen Saturation: the running probe, or the last one."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.features.probe.panel import probe_answer, probe_answer_height, probe_result, probe_status
from tuibench.model.message import NextStep
from tuibench.tui.panels.time_chart import (
    LATENCY,
    THROUGHPUT,
    level_axis,
    probe_chart,
    recovery_chart,
)
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.screens.tab import ScreenTab
from tuibench.tui.text import TextLine
from tuibench.tui.view import View


def lower_chart(view: View, width: int, height: int) -> list[TextLine]:
    """The latencies of the levels; once a load was tried with bursts, its goodput before and after them."""
    has_trials = view.probe is not None and view.probe.vulnerable is not None
    return recovery_chart(view, width, height) if has_trials else probe_chart(LATENCY, view, width, height)


class SaturationScreen(MainScreen):
    """Running probe, or the last one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "jump", "Next step", show=False),
        Binding("enter", "whole", "Whole answer, or the charts", show=False),
    ]
    KEYS = (
        ("j", "next step"),
        ("enter", "whole answer, or charts"),
        ("P", "end the probe, or start one"),
    )

    def keys_now(self, view: View) -> Sequence[tuple[str, str]]:
        if view.is_probing:
            return (*self.KEYS[:-1], ("P", "end the probe"))
        return (*self.KEYS[1:-1], ("P", "another probe"))

    def body(self) -> ComposeResult:
        yield self.panel(probe_status, id="probe")
        yield self.panel(probe_answer, id="answer")
        yield self.panel(partial(probe_chart, THROUGHPUT), id="bend")
        yield self.panel(lower_chart, id="bend-latency")
        yield self.panel(level_axis, id="bend-axis")
        yield self.panel(lambda *drawn: probe_result(*drawn, is_whole=self.has_class("-whole")), id="found")

    def prepare(self, view: View) -> None:
        lines = probe_answer_height(view, self.size.width - 2)
        self.query_one("#answer").styles.height = lines
        self.query_one("#probe").styles.height = 1 if lines else 2

    def copied(self, view: View) -> str:
        """The commands of the formal run, if there are any, otherwise the figures."""
        result = view.probe.result if view.probe is not None else None
        if result is None or not result.commands:
            return super().copied(view)
        return "\n".join(result.commands.values()) + "\n"

    def action_jump(self) -> None:
        if self.view.is_probing:
            self.submit(NextStep())

    def action_whole(self) -> None:
        """Show answer and steps in place of the charts, or the charts again."""
        self.toggle_class("-whole")


TAB = ScreenTab(
    "7",
    "saturation",
    "Saturation",
    "Sat",
    "result of a probe",
    SaturationScreen,
    offered=lambda view: view.probe is not None or not (view.is_watch or view.replay),
    has_data=lambda view: view.probe is not None,
    absent="there is no probe here: it needs a load",
    result_of="probe",
    also="8",
    after="tune",
)
