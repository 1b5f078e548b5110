"""A small dialog that asks for one line of text, and says at once why it will not do."""

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.validation import ValidationResult, Validator
from textual.widgets import Input, Static

from tuibench.errors import UsageError

Meaning = TypeVar("Meaning")
Read = Callable[[str], Meaning]
"""What a text means. Raises UsageError, with the reason, if it will not do."""


class Readable(Validator):
    """A text that can be read."""

    def __init__(self, read: Read[object]) -> None:
        super().__init__()
        self._read = read

    def validate(self, value: str) -> ValidationResult:
        try:
            self._read(value)
        except UsageError as error:
            return self.failure(str(error))
        return self.success()


class AskScreen(ModalScreen[Meaning | None], Generic[Meaning]):
    """Answers what the text means, or None when the operator went back.

    `now` stands there dimmed; `verb` says what enter does.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Back")]

    def __init__(
        self,
        title: str,
        facts: str,
        now: str,
        read: Read[Meaning],
        *,
        verb: str = "sets",
        max_length: int = 200,
    ) -> None:
        super().__init__()
        self._title = title
        self._facts = facts
        self._now = now
        self._read = read
        self._verb = verb
        self._max_length = max_length

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog ask") as dialog:
            dialog.border_title = self._title
            dialog.border_subtitle = f"enter {self._verb} · esc goes back"
            yield Static(self._facts, classes="quiet", markup=False)
            line = Input(
                placeholder=self._now,
                validators=[Readable(self._read)],
                validate_on=["changed", "submitted"],
                max_length=self._max_length,
            )
            line.cursor_blink = line.select_on_focus = False
            yield line
            yield Static("", id="ask-error", classes="error", markup=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._say(event.validation_result if event.value else None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.validation_result is None or event.validation_result.is_valid:
            self.dismiss(self._read(event.value))
        else:
            self._say(event.validation_result)

    def _say(self, result: ValidationResult | None) -> None:
        reasons = [] if result is None else result.failure_descriptions
        self.query_one("#ask-error", Static).update(reasons[0] if reasons else "")
