"""The one question before a change of the server: what, from, to, and what it risks."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from tuibench.model.command import ApplyPreset, ChangeSetting, KillQuery, RestoreSettings

JOURNALLED = "The old value is journalled first and put back when the run ends."


class Proposal(NamedTuple):
    """A change of the server, ready to be asked about. `steps` are lines of "name  from → to".

    `meaning` says what it risks, or that it risks nothing; `at_risk` tells the two apart. `promise` says what
    becomes of it afterwards; `verb` says what the yes does.
    """

    command: ApplyPreset | ChangeSetting | KillQuery | RestoreSettings
    title: str
    steps: tuple[str, ...]
    meaning: str
    at_risk: bool
    promise: str = JOURNALLED
    verb: str = "apply"

    @property
    def verdict(self) -> str:
        return f"{'▲' if self.at_risk else '●'} {self.meaning}"


class ConfirmScreen(ModalScreen[bool]):
    """Asks once. Only `y` is a yes: an enter too many from the dialog before must not.

    `caution` says why the server looks like production; then the yes is one to changing it at all.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "dismiss(True)", "Apply"),
        ("n", "dismiss(False)", "Back"),
        ("escape", "dismiss(False)", "Back"),
    ]

    def __init__(self, proposal: Proposal, caution: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._proposal = proposal
        self._caution = caution

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="confirm-dialog") as dialog:
            dialog.border_title = self._proposal.title
            for step in self._proposal.steps:
                yield Static(step, markup=False)
            role = "risk" if self._proposal.at_risk else "calm"
            yield Static(self._proposal.verdict, classes=role, markup=False)
            if self._caution:
                yield Static(production_question(self._caution), classes="risk", markup=False)
            yield Static(self._proposal.promise, classes="quiet gap", markup=False)
            yes = "yes, change this server" if self._caution else self._proposal.verb
            yield Static(
                f"[b][@click=screen.dismiss(True)] y  {yes} [/][/b]     "
                "[b][@click=screen.dismiss(False)] n  go back [/][/b]",
                classes="gap",
            )


def production_question(caution: tuple[str, ...]) -> str:
    """Why this server deserves a second thought."""
    return f"This looks like a production server: {'; '.join(caution)}. Change it all the same?"
