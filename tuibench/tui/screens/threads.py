"""Type a number of threads."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.validation import ValidationResult, Validator
from textual.widgets import Input, Static

from tuibench.model.plan import MAX_THREADS
from tuibench.tui.view import View


class ThreadCount(Validator):
    """A whole number that a run can have."""

    def validate(self, value: str) -> ValidationResult:
        text = value.strip().replace(",", "")
        if not text:
            return self.failure("type a number")
        if not text.isdecimal():
            return self.failure(f"{value.strip()!r} is not a whole number")
        if int(text) < 1:
            return self.failure("a run has at least 1 thread; p pauses it")
        if int(text) > MAX_THREADS:
            return self.failure(f"at most {MAX_THREADS:,} threads")
        return self.success()


class ThreadsScreen(ModalScreen[int | None]):
    """Answers the number, or None when the operator went back."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Back")]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="threads-dialog") as dialog:
            dialog.border_title = "Threads"
            dialog.border_subtitle = "enter sets · esc goes back"
            yield Static(self._facts(), classes="quiet")
            number = Input(
                placeholder=str(self._view.status.threads),
                validators=[ThreadCount()],
                validate_on=["changed", "submitted"],
                max_length=12,
            )
            number.cursor_blink = False
            yield number
            yield Static("", id="threads-error", classes="error")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._say(event.validation_result if event.value else None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.validation_result is None or event.validation_result.is_valid:
            self.dismiss(int(event.value.strip().replace(",", "")))
        else:
            self._say(event.validation_result)

    def _say(self, result: ValidationResult | None) -> None:
        reasons = [] if result is None else result.failure_descriptions
        self.query_one("#threads-error", Static).update(reasons[0] if reasons else "")

    def _facts(self) -> str:
        """What to know before choosing a number."""
        now = f"{self._view.status.threads:,} now."
        server = self._view.server
        if server is None:
            return now
        return (
            f"{now} The server has {server.threads_connected:,} connections"
            f" and allows {server.max_connections:,}."
        )
