"""Dialogs for one line of text or one number, validated during input."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.validation import ValidationResult, Validator
from textual.widgets import Input, Static

from tuibench import sanitize
from tuibench.errors import UsageError

Meaning = TypeVar("Meaning")
Parser = Callable[[str], Meaning]
"""Converts a text to a value. Raises UsageError with the reason for an invalid one."""


class ParseValidator(Validator):
    """Accepts any text that the parser accepts."""

    def __init__(self, read: Parser[object]) -> None:
        super().__init__()
        self._read = read

    def validate(self, value: str) -> ValidationResult:
        try:
            self._read(value)
        except UsageError as error:
            return self.failure(str(error))
        return self.success()


class InputDialog(ModalScreen[Meaning | None], Generic[Meaning]):
    """Returns the parsed value, None if cancelled.

    `hint` is shown dimmed in the empty field; its wording marks it as no value ("now 64", "for example …").
    `verb` names the action of enter.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Back")]

    def __init__(
        self,
        title: str,
        facts: str,
        hint: str,
        read: Parser[Meaning],
        *,
        verb: str = "sets",
        max_length: int = 200,
    ) -> None:
        super().__init__()
        self._title = title
        self._facts = facts
        self._hint = hint
        self._read = read
        self._verb = verb
        self._max_length = max_length

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog ask") as dialog:
            dialog.border_title = Content(sanitize.text(self._title))
            dialog.border_subtitle = f"enter {self._verb} · esc goes back"
            yield Static(sanitize.lines(self._facts), classes="quiet", markup=False)
            line = Input(
                placeholder=sanitize.text(self._hint),
                validators=[ParseValidator(self._read)],
                validate_on=["changed", "submitted"],
                max_length=self._max_length,
            )
            line.cursor_blink = line.select_on_focus = False
            yield line
            yield Static("", id="ask-error", classes="error", markup=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._show_error(event.validation_result if event.value else None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.validation_result is None or event.validation_result.is_valid:
            self.dismiss(self._read(event.value))
        else:
            self._show_error(event.validation_result)

    def _show_error(self, result: ValidationResult | None) -> None:
        reasons = [] if result is None else result.failure_descriptions
        self.query_one("#ask-error", Static).update(sanitize.text(reasons[0]) if reasons else "")


Reason = str
NumberCheck = Callable[[float], Reason]
"""Returns the reason why a number is invalid, empty if it is valid."""

MAX_NUMBER_LENGTH = 12


def parse_number(text: str) -> float | None:
    """Parse a number, with optional thousands separators; None if it is not a number."""
    plain = text.strip().replace(",", "")
    try:
        number = float(plain)
    except ValueError:
        return None
    return number if plain[:1].isdecimal() and number < float("inf") else None


def parse_checked_number(text: str, check: NumberCheck, *, whole: bool) -> float:
    """Parse a number. Raises UsageError if it is not a number, or `check` rejects it."""
    if not text.strip():
        raise UsageError("type a number")
    number = parse_number(text)
    if number is None or (whole and number != int(number)):
        raise UsageError(f"{text.strip()!r} is not a {'whole ' if whole else ''}number")
    if reason := check(number):
        raise UsageError(reason)
    return number


class NumberDialog(InputDialog[float]):
    """Returns the number, None if cancelled; whole numbers only, if `whole`."""

    def __init__(self, title: str, facts: str, hint: str, check: NumberCheck, *, whole: bool) -> None:
        read = partial(parse_checked_number, check=check, whole=whole)
        super().__init__(title, facts, hint, read, max_length=MAX_NUMBER_LENGTH)
