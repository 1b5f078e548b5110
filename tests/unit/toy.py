"""A feature in one file: a command, an experiment, a screen with its key, a part of reports."""

from textual.app import ComposeResult

from tuibench.base.document import Section, Text, section
from tuibench.base.feature import CommandEntry, CommandSection, Feature
from tuibench.model.message import Mark
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample, Tick
from tuibench.report.part import ReportPart
from tuibench.session.laboratory import Experiment
from tuibench.tui.action import UserAction
from tuibench.tui.screens.base import MainScreen
from tuibench.tui.screens.tab import ScreenTab
from tuibench.tui.text import text_lines

HERE = __name__
FEATURE = Feature(
    "toy",
    commands=(CommandEntry("toy", CommandSection.RECORDS, HERE, "Play."),),
    experiments=(f"{HERE}:Play",),
    tabs=(f"{HERE}:TAB",),
    actions=f"{HERE}:ACTIONS",
    report=f"{HERE}:REPORT",
)


def toy() -> None:
    """The command."""


class Play(Experiment):
    """An experiment that tries nothing."""

    called, name = "play", "a play"

    def begin(self, now: float) -> None: ...
    def applied(self, now: float) -> None: ...
    def disturb(self, why: str, *, is_late: bool = False) -> None: ...
    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        return False


class ToyScreen(MainScreen):
    """A screen with one panel."""

    def body(self) -> ComposeResult:
        yield self.panel(lambda view, width, height: text_lines([view.plan.profile], width), id="toy")


TAB = ScreenTab("Y", "toy", "Toy", "Toy", "what was played", ToyScreen, after="tune")
ACTIONS = (UserAction("play", "O", "O", "play", "Play", command=lambda _: Mark("play"), after="mark"),)


class ToyReport(ReportPart):
    """Says that something was played."""

    def has_results(self, summary: Summary) -> bool:
        return True

    def sections(self, summary: Summary) -> tuple[Section, ...]:
        return (section("Toy", Text(("It was played.",))),)


REPORT = ToyReport()
