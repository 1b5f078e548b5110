"""Choose what survives a crash: a preset, or one of the settings by itself."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tuibench.tui.proposals import Choice, groups
from tuibench.tui.screens.confirm import ConfirmScreen, Proposal
from tuibench.tui.spans import shorten
from tuibench.tui.view import View

_WIDEST = 96
_FRAME = 14
"""Cells that the dialog takes around a label."""


class DurabilityScreen(ModalScreen[Proposal | None]):
    """Answers the confirmed proposal, or None when the operator went back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss(None)", "Back"),
        ("d", "dismiss(None)", "Back"),
    ]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._groups = groups(view)
        self._caution = view.status.caution
        self._choices = [choice for group in self._groups for choice in group.choices]
        obstacles = [choice.obstacle for choice in self._choices]
        self._obstacle = "; ".join(dict.fromkeys(obstacles)) if all(obstacles) else ""
        """Why nothing can be chosen; empty if something can."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Durability: what survives a crash"
            dialog.border_subtitle = " · ".join(("● now", "▲ at risk", *self._keys()))
            yield OptionList(*self._options(), markup=False)
            why = f"None of this can be changed: {self._obstacle}" if self._obstacle else ""
            yield Static(why, id="verdict", markup=False, classes="-at-risk" if why else "")

    def _keys(self) -> tuple[str, ...]:
        """Where nothing can be chosen no key says that it does."""
        back = "esc goes back"
        return (back,) if self._obstacle else ("↑ ↓ choose", "enter asks once more", back)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        choice = self._choice(event.option_id)
        if choice is None and self._obstacle:
            return
        verdict = self.query_one("#verdict", Static)
        verdict.update(choice.proposal.verdict if choice else "")
        verdict.set_class(choice is not None and choice.proposal.at_risk, "-at-risk")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        choice = self._choice(event.option_id)
        if choice is None:
            return

        def decided(apply: bool | None) -> None:
            if apply:
                self.dismiss(choice.proposal)

        self.app.push_screen(ConfirmScreen(choice.proposal, self._caution), decided)

    def _options(self) -> list[Option | None]:
        """Headings and choices; None draws a line between groups."""
        options: list[Option | None] = []
        number = 0
        width = min(self.app.size.width, _WIDEST) - _FRAME
        for group in self._groups:
            options += [None] if options else []
            options.append(Option(Content.styled(group.heading, "bold"), disabled=True))
            for choice in group.choices:
                options.append(
                    Option(self._label(choice, width), id=str(number), disabled=bool(choice.obstacle))
                )
                number += 1
        return options

    def _choice(self, option_id: str | None) -> Choice | None:
        return None if option_id is None else self._choices[int(option_id)]

    def _label(self, choice: Choice, width: int) -> str:
        """What it is; where it cannot be chosen, why, unless nothing can."""
        now = "●" if choice.current else " "
        risk = "▲" if choice.proposal.at_risk else " "
        text = choice.label
        if choice.obstacle and not self._obstacle:
            text = f"{text.split('  ')[0]:<10}cannot be changed: {choice.obstacle}"
        return f"{now} {risk} {shorten(text, width)}"
