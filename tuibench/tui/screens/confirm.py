"""The one question before a change of the server: what, from, to, and what it risks."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from tuibench.model.command import ApplyPreset, ChangeSetting


class Proposal(NamedTuple):
    """A change of the server, ready to be asked about. `steps` are lines of "name  from → to".

    `meaning` says what it risks, or that it risks nothing; `at_risk` tells the two apart.
    """

    command: ApplyPreset | ChangeSetting
    title: str
    steps: tuple[str, ...]
    meaning: str
    at_risk: bool

    @property
    def verdict(self) -> str:
        return f"{'▲' if self.at_risk else '●'} {self.meaning}"


class ConfirmScreen(ModalScreen[bool]):
    """Asks once. Only `y` applies: an enter too many from the dialog before must not."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "dismiss(True)", "Apply"),
        ("n", "dismiss(False)", "Back"),
        ("escape", "dismiss(False)", "Back"),
    ]

    def __init__(self, proposal: Proposal) -> None:
        super().__init__()
        self._proposal = proposal

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="confirm-dialog") as dialog:
            dialog.border_title = self._proposal.title
            for step in self._proposal.steps:
                yield Static(step, markup=False)
            role = "risk" if self._proposal.at_risk else "calm"
            yield Static(self._proposal.verdict, classes=role, markup=False)
            yield Static(
                "The old value is journalled first and put back when the run ends.", classes="quiet gap"
            )
            yield Static(
                "[b][@click=screen.dismiss(True)] y  apply [/][/b]     "
                "[b][@click=screen.dismiss(False)] n  go back [/][/b]",
                classes="gap",
            )
