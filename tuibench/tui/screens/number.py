"""A small dialog that asks for one number, and says at once why one will not do."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.validation import ValidationResult, Validator
from textual.widgets import Input, Static

Reason = str
Check = Callable[[float], Reason]
"""Why a number cannot be, empty if it can."""


class Number(Validator):
    """A number that passes the check; whole ones only, if `whole`."""

    def __init__(self, check: Check, *, whole: bool) -> None:
        super().__init__()
        self._check = check
        self._whole = whole

    def validate(self, value: str) -> ValidationResult:
        if not value.strip():
            return self.failure("type a number")
        number = number_in(value)
        if number is None or (self._whole and number != int(number)):
            return self.failure(f"{value.strip()!r} is not a {'whole ' if self._whole else ''}number")
        reason = self._check(number)
        return self.failure(reason) if reason else self.success()


def number_in(text: str) -> float | None:
    """The number that a text says, thousands separators allowed; None if it says none."""
    plain = text.strip().replace(",", "")
    try:
        number = float(plain)
    except ValueError:
        return None
    return number if plain[:1].isdecimal() and number < float("inf") else None


class NumberScreen(ModalScreen[float | None]):
    """Answers the number, or None when the operator went back."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Back")]

    def __init__(self, title: str, facts: str, now: str, validator: Number) -> None:
        super().__init__()
        self._title = title
        self._facts = facts
        self._now = now
        self._validator = validator

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="number-dialog") as dialog:
            dialog.border_title = self._title
            dialog.border_subtitle = "enter sets · esc goes back"
            yield Static(self._facts, classes="quiet")
            number = Input(
                placeholder=self._now,
                validators=[self._validator],
                validate_on=["changed", "submitted"],
                max_length=12,
            )
            number.cursor_blink = False
            yield number
            yield Static("", id="number-error", classes="error")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._say(event.validation_result if event.value else None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.validation_result is None or event.validation_result.is_valid:
            self.dismiss(number_in(event.value))
        else:
            self._say(event.validation_result)

    def _say(self, result: ValidationResult | None) -> None:
        reasons = [] if result is None else result.failure_descriptions
        self.query_one("#number-error", Static).update(reasons[0] if reasons else "")
