"""Confirmation dialogs: of a change to the server (old value, new value, risk), and of stopping the run.

A viewer that joined a run is asked before it stops it: the run belongs to another user or has other viewers.
"""

from enum import Enum
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tuibench import sanitize
from tuibench.model.command import ApplyPreset, ChangeSetting, KillQuery, RestoreSettings

RESTORED_NOTE = "The original state is recorded, and restored when the run ends."


class ChangePrompt(NamedTuple):
    """A change to the server, to be confirmed. `steps` are lines of "name  from → to".

    `meaning` is its risk, or the statement that there is none; `at_risk` distinguishes the two. `promise`
    says how the change is undone; `verb` names the confirming action.
    """

    command: ApplyPreset | ChangeSetting | KillQuery | RestoreSettings
    title: str
    steps: tuple[str, ...]
    meaning: str
    at_risk: bool
    promise: str = RESTORED_NOTE
    verb: str = "apply"

    @property
    def verdict(self) -> str:
        return f"{'▲' if self.at_risk else '●'} {self.meaning}"


class ConfirmDialog(ModalScreen[bool]):
    """Asks once. Only `y` confirms: a repeated enter from the previous dialog must not.

    `production_signs` are the reasons why the server looks like production; confirming allows changes to it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "dismiss(True)", "Apply"),
        ("n", "dismiss(False)", "Back"),
        ("escape", "dismiss(False)", "Back"),
    ]

    def __init__(self, proposal: ChangePrompt, production_signs: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._proposal = proposal
        self._production_signs = production_signs

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="confirm-dialog") as dialog:
            dialog.border_title = Content(sanitize.text(self._proposal.title))
            for step in self._proposal.steps:
                yield Static(sanitize.text(step), markup=False)
            role = "risk" if self._proposal.at_risk else "calm"
            yield Static(sanitize.text(self._proposal.verdict), classes=role, markup=False)
            if self._production_signs:
                yield Static(production_question(self._production_signs), classes="risk", markup=False)
            yield Static(self._proposal.promise, classes="quiet gap", markup=False)
            yes = "yes, change this server" if self._production_signs else self._proposal.verb
            yield Static(
                f"[b][@click=screen.dismiss(True)] y  {yes} [/][/b]     "
                "[b][@click=screen.dismiss(False)] n  go back [/][/b]",
                classes="gap",
            )


def production_question(production_signs: tuple[str, ...]) -> str:
    """Question with the reasons why the server looks like production."""
    signs = sanitize.text("; ".join(production_signs))
    return f"This looks like a production server: {signs}. Change it anyway?"


class StopChoice(Enum):
    """Stop the run, or leave this viewer only."""

    STOP = "stop"
    LEAVE = "leave"


class StopDialog(ModalScreen[StopChoice | None]):
    """Returns the choice, None if cancelled."""

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
                "It ends for all viewers: the settings are restored, and the summary is written. To leave "
                "only this screen, press x: the run continues."
            )
            yield Static(
                "[b][@click=screen.choose('stop')] s  stop the run [/][/b]     "
                "[b][@click=screen.choose('leave')] x  leave it running [/][/b]",
                classes="gap",
            )

    def action_choose(self, choice: str) -> None:
        self.dismiss(StopChoice(choice))
