"""The question before a viewer that joined a run ends it: others may watch, and somebody started it."""

from enum import Enum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static


class End(Enum):
    """What becomes of the run, and of this screen."""

    STOP = "stop"
    LEAVE = "leave"


class StopScreen(ModalScreen[End | None]):
    """Answers None when the operator went back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("s", "choose('stop')", "Stop"),
        ("x", "choose('leave')", "Leave"),
        ("escape,n", "dismiss(None)", "Back"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="stop-dialog") as dialog:
            dialog.border_title = "Stop the run?"
            dialog.border_subtitle = "esc goes back"
            yield Static(
                "It ends for everybody who watches it: the settings are put back, the summary is written. "
                "To leave only this screen, x is enough: the run goes on."
            )
            yield Static(
                "[b][@click=screen.choose('stop')] s  stop the run [/][/b]     "
                "[b][@click=screen.choose('leave')] x  leave it running [/][/b]",
                classes="gap",
            )

    def action_choose(self, choice: str) -> None:
        self.dismiss(End(choice))
