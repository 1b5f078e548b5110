"""Dialog for a new value of one setting: choose or type it, then confirm."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tuibench import sanitize
from tuibench.model.command import ChangeSetting
from tuibench.model.settings import SettingState, consequence
from tuibench.tui.panels.server.settings import SCOPE_TEXT
from tuibench.tui.screens.confirm import ChangePrompt, ConfirmDialog
from tuibench.tui.text.spans import shorten

MAX_VALUE_LENGTH = 40
_WIDEST, _FRAME = 96, 8
"""Width of the dialog, and the cells of its frame and padding around a value."""


class ChangeDialog(ModalScreen[ChangePrompt | None]):
    """Returns the confirmed change, None if cancelled.

    The offered values are listed; the arrow keys copy them to the field. Any typed value is submitted: the
    session knows which values the server accepts.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss(None)", "Back"),
        Binding("down", "offer(1)", show=False, priority=True),
        Binding("up", "offer(-1)", show=False, priority=True),
    ]

    def __init__(self, setting: SettingState, production_signs: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._setting = setting
        self._production_signs = production_signs
        self._values = list(setting.choices)

    def compose(self) -> ComposeResult:
        setting = self._setting
        with Vertical(classes="dialog", id="change-dialog") as dialog:
            dialog.border_title = Content(sanitize.text(setting.name))
            choose = "↑ ↓ choose · " if self._values else ""
            dialog.border_subtitle = f"{choose}enter asks to confirm · esc goes back"
            yield Static(
                f"Takes {setting.takes}; {SCOPE_TEXT[setting.scope]}.", classes="quiet", markup=False
            )
            yield Static(setting.risk, classes="warn", markup=False)
            value = sanitize.text(setting.value)
            yield Static(f"Now {value}: {setting.meaning}", classes="gap", markup=False)
            line = Input(placeholder=f"now {value}", max_length=MAX_VALUE_LENGTH)
            line.cursor_blink = line.select_on_focus = False
            yield line
            yield Static("", id="ask-error", classes="error", markup=False)
            room = min(self.app.size.width, _WIDEST) - _FRAME
            options = OptionList(*(Option(self._offer(value, room)) for value in self._values), markup=False)
            options.can_focus = False
            yield options

    def on_mount(self) -> None:
        if self._setting.value in self._values:
            self.query_one(OptionList).highlighted = self._values.index(self._setting.value)
        self.query_one(Input).focus()

    def action_offer(self, by: int) -> None:
        """Copy the next offered value to the field."""
        if not self._values:
            return
        options = self.query_one(OptionList)
        now = -1 if options.highlighted is None else options.highlighted
        place = min(max(now + by, 0), len(self._values) - 1)
        options.highlighted = place
        self._fill(self._values[place])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Handle a mouse click on an offered value."""
        self._fill(self._values[event.option_index])

    def on_input_changed(self, event: Input.Changed) -> None:
        self.query_one("#ask-error", Static).update("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        value = event.value.strip()
        if not value or value == self._setting.value:
            self.query_one("#ask-error", Static).update(self._missing(value))
            return
        proposal = self.proposal(value)

        def decided(apply: bool | None) -> None:
            if apply:
                self.dismiss(proposal)

        self.app.push_screen(ConfirmDialog(proposal, self._production_signs), decided)

    def proposal(self, value: str) -> ChangePrompt:
        """The change to that value, with its meaning, or the risk of any change of the setting."""
        setting = self._setting
        meaning = setting.choices.get(value)
        is_known = meaning is not None
        return ChangePrompt(
            command=ChangeSetting(setting.name, value),
            title=setting.name,
            steps=(f"{setting.name:<32} {setting.value} → {value}",),
            meaning=f"{meaning}. {setting.risk}" if is_known else setting.risk,
            at_risk=value in setting.risky or (not is_known and setting.group == "durability"),
        )

    def _missing(self, value: str) -> str:
        """Why the value cannot be submitted."""
        if value:
            return f"it is already {value}"
        return "type a value, or choose one with ↑ ↓" if self._values else "type a value"

    def _fill(self, value: str) -> None:
        line = self.query_one(Input)
        line.value = value
        line.cursor_position = len(value)

    def _offer(self, value: str, room: int) -> str:
        """The value and its meaning; if space is short, the consequence without the mechanism."""
        now = "●" if value == self._setting.value else " "
        risk = "▲" if value in self._setting.risky else " "
        start = f"{now} {risk} {value:<{max(map(len, self._values))}}  "
        meaning = self._setting.choices[value]
        if len(start) + len(meaning) > room:
            meaning = consequence(meaning)
        return shorten(start + meaning, room)
