"""Dialogs that ask for a confirmation, a value of a setting, a text, a number; searchable screens.

A viewer that joined a run is asked before it stops it: the run belongs to another user or has other viewers.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.validation import ValidationResult, Validator
from textual.widgets import Input, OptionList, Static

from tuibench.base import sanitize
from tuibench.base.errors import UsageError
from tuibench.base.units import pluralize
from tuibench.model.message import ChangeSetting, Command, KeepSettings
from tuibench.model.settings import SettingState, consequence, option_line
from tuibench.tui.panels.settings import SCOPE_TEXT
from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.steering import ViewChange
from tuibench.tui.text import shorten
from tuibench.tui.view import View, own_changes

RESTORED_NOTE = "The original state is recorded, and restored when the run ends."


class ChangePrompt(NamedTuple):
    """A change to the server that the operator must confirm."""

    command: Command
    title: str
    steps: tuple[str, ...]
    """Lines of "name  from → to"."""
    meaning: str
    """Its risk, or the statement that there is none."""
    at_risk: bool
    """Whether there is a risk."""
    promise: str = RESTORED_NOTE
    """How the change is undone."""
    verb: str = "apply"
    """The label of the key that confirms."""
    yes: str = "yes, change this server"
    """The same on a server that looks like production."""

    @property
    def verdict(self) -> str:
        return f"{'▲' if self.at_risk else '●'} {self.meaning}"


class ConfirmDialog(ModalScreen[Command | None]):
    """Returns the confirmed command, None if cancelled. Only `y` confirms, so that a held enter key does not.

    `production_signs` are the reasons why the server looks like a production server. Confirming allows
    changes to it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "apply", "Apply"),
        ("escape,n", "dismiss(None)", "Back"),
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
                signs = sanitize.text("; ".join(self._production_signs))
                yield Static(
                    f"This looks like a production server: {signs}. Go on anyway?",
                    classes="risk",
                    markup=False,
                )
            yield Static(self._proposal.promise, classes="quiet gap", markup=False)
            yes = self._proposal.yes if self._production_signs else self._proposal.verb
            yield Static(
                f"[b][@click=screen.apply()] y  {yes} [/][/b]     "
                "[b][@click=screen.dismiss(None)] n  go back [/][/b]",
                classes="gap",
            )

    def action_apply(self) -> None:
        self.dismiss(self._proposal.command)


def keep_dialog(view: View) -> ConfirmDialog:
    """Confirmation before the settings that tuibench changed are kept."""
    settings = own_changes(view)
    lines = [option_line(setting.name, setting.value) for setting in settings]
    meanings = [
        f"{setting.label} {setting.value}: {setting.meaning}" for setting in settings if setting.at_risk
    ]
    return ConfirmDialog(
        ChangePrompt(
            command=KeepSettings(tuple(setting.name for setting in settings)),
            title=f"Keep {pluralize(len(settings), 'setting')} until the server restarts",
            steps=tuple(f"{each.name:<32} {each.original} → {each.value}" for each in settings),
            meaning="; ".join(meanings) or "Nothing is restored at the end of the run.",
            at_risk=bool(meanings),
            promise="A restart sets what the server's option files say. "
            + "\n".join(["To keep it for good, in my.cnf below [mysqld]:", *filter(None, lines)]),
            verb="keep",
        )
    )


class RunEnd(Enum):
    """What the operator chooses at the end."""

    STOP = "stop"
    KEEP = "keep"
    """Stop, and keep the changed settings."""
    LINES = "lines"
    """Stop, and print the lines of an option file."""
    LEAVE = "leave"
    """Leave this viewer only."""


class StopDialog(ModalScreen[RunEnd | None]):
    """Returns what the operator has chosen, None if cancelled. `settings` are those that a stop restores."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y,s", "choose('STOP')", "Stop"),
        ("k", "choose('KEEP')", "Stop and keep"),
        ("l", "choose('LINES')", "Stop and print the lines"),
        ("x", "choose('LEAVE')", "Leave"),
        ("escape,n", "dismiss(None)", "Back"),
    ]

    def __init__(self, settings: Sequence[SettingState] = ()) -> None:
        super().__init__()
        self._settings = settings

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="stop-dialog") as dialog:
            dialog.border_title = "Stop the run?"
            if not self._settings:
                yield Static(
                    "It ends for all viewers: the settings are restored, and the summary is written. To "
                    "leave only this screen, press x: the run continues."
                )
                yield Static(self._keys("y  stop the run"), classes="gap")
                return
            for each in self._settings:
                text = f"{each.name:<32} {each.value}, was {each.original}"
                yield Static(sanitize.text(text), markup=False)
            verb = "differs" if len(self._settings) == 1 else "differ"
            yield Static(
                f"{pluralize(len(self._settings), 'setting')} {verb}: put back, keep until the server "
                "restarts, or print the lines for my.cnf. The run ends for all viewers.",
                classes="gap",
            )
            yield Static(
                f"{self._key('KEEP', 'k  stop and keep')}     "
                f"{self._key('LINES', 'l  stop, put back, print the lines')}",
                classes="gap",
            )
            yield Static(self._keys("y  stop and put back"))

    def _keys(self, stop: str) -> str:
        back = "[b][@click=screen.dismiss(None)] n  go back [/][/b]"
        return f"{self._key('STOP', stop)}     {self._key('LEAVE', 'x  leave it running')}     {back}"

    @staticmethod
    def _key(name: str, words: str) -> str:
        return f"[b][@click=screen.choose('{name}')] {words} [/][/b]"

    def action_choose(self, name: str) -> None:
        chosen = RunEnd[name]
        if self._settings or chosen not in (RunEnd.KEEP, RunEnd.LINES):
            self.dismiss(chosen)


CHOOSE = "↑ ↓ choose · "
MAX_VALUE_LENGTH = 40
_WIDEST, _FRAME = 96, 8
"""Maximum width of the dialog, and the cells of its frame and padding."""


class OfferDialog(ModalScreen[ScreenResultType]):
    """A field and a list of texts, which the arrow keys and the mouse copy to the field.

    `offers` are the texts with their meanings. Any other text may be typed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "offer(1)", show=False, priority=True),
        Binding("up", "offer(-1)", show=False, priority=True),
    ]

    def __init__(self, offers: Mapping[str, str]) -> None:
        super().__init__()
        self._offers = offers

    def offer_list(self, label: Callable[[str], str]) -> OptionList:
        """The list, with the label of each text."""
        options = OptionList(*map(label, self._offers), markup=False)
        options.can_focus = False
        return options

    def action_offer(self, by: int) -> None:
        """Copy the next offered text to the field."""
        if not self._offers:
            return
        options = self.query_one(OptionList)
        now = -1 if options.highlighted is None else options.highlighted
        options.highlighted = min(max(now + by, 0), len(self._offers) - 1)
        self._fill(options.highlighted)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Handle a mouse click on an offered text."""
        self._fill(event.option_index)

    def _fill(self, place: int) -> None:
        line = self.query(Input).first()
        line.value = list(self._offers)[place]
        line.cursor_position = len(line.value)
        line.focus()


WIDEST_OFFER = 40


def offer_label(offers: Mapping[str, str], empty: str = "") -> Callable[[str], str]:
    """Labels of offers, in two columns; `empty` stands for the empty text."""
    widest = min(max(len(text or empty) for text in offers), WIDEST_OFFER)
    return lambda text: sanitize.text(f"{text or empty:<{widest}}  {offers[text]}")


class ChangeDialog(OfferDialog[Command | None]):
    """Returns the confirmed command, None if cancelled.

    Any typed value is submitted: the session knows which values the server accepts.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Back")]

    def __init__(self, setting: SettingState, production_signs: tuple[str, ...] = ()) -> None:
        super().__init__(setting.choices)
        self._setting = setting
        self._production_signs = production_signs

    def compose(self) -> ComposeResult:
        setting = self._setting
        with Vertical(classes="dialog", id="change-dialog") as dialog:
            dialog.border_title = Content(sanitize.text(setting.name))
            choose = f"● now · ▲ at risk · {CHOOSE}" if self._offers else ""
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
            yield self.offer_list(lambda value: self._offer(value, room))

    def on_mount(self) -> None:
        if self._setting.value in self._offers:
            self.query_one(OptionList).highlighted = list(self._offers).index(self._setting.value)
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.query_one("#ask-error", Static).update("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        value = event.value.strip()
        if not value or value == self._setting.value:
            self.query_one("#ask-error", Static).update(self._missing(value))
            return
        self.app.push_screen(ConfirmDialog(self.proposal(value), self._production_signs), self._decided)

    def _decided(self, command: Command | None) -> None:
        if command is not None:
            self.dismiss(command)

    def proposal(self, value: str) -> ChangePrompt:
        """The change to this value, with the meaning of the value, or the risk of any change."""
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
        """The reason why the value cannot be submitted; empty if it can."""
        if value:
            return f"it is already {value}"
        return "type a value, or choose one with ↑ ↓" if self._offers else "type a value"

    def _offer(self, value: str, room: int) -> str:
        """The label of a value with its meaning; if space is short, without the mechanism."""
        now = "●" if value == self._setting.value else " "
        risk = "▲" if value in self._setting.risky else " "
        start = f"{now} {risk} {value:<{max(map(len, self._offers))}}  "
        meaning = self._setting.choices[value]
        if len(start) + len(meaning) > room:
            meaning = consequence(meaning)
        return shorten(start + meaning, room)


Parser = Callable[[str], object]
"""Converts a text to a value. Raises UsageError with the reason for an invalid one."""


class ParseValidator(Validator):
    """Accepts any text that the parser accepts."""

    def __init__(self, read: Parser) -> None:
        super().__init__()
        self._read = read

    def validate(self, value: str) -> ValidationResult:
        try:
            self._read(value)
        except UsageError as error:
            return self.failure(str(error))
        return self.success()


class InputDialog(OfferDialog[Command | ViewChange | None]):
    """Returns the command, or the change of the charts, that `read` makes of the text; None if cancelled.

    `hint` is shown dimmed in the empty field, in words that cannot be taken for a value ("now 64"). `verb` is
    the label of enter. `offers` are listed below the field; `empty` is the label of an empty text.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Back")]

    def __init__(
        self,
        title: str,
        facts: str,
        hint: str,
        read: Callable[[str], Command | ViewChange],
        *,
        verb: str = "sets",
        max_length: int = 200,
        offers: Mapping[str, str] | None = None,
        empty: str = "",
    ) -> None:
        super().__init__(offers or {})
        self._empty = empty
        self._title = title
        self._facts = facts
        self._hint = hint
        self._read = read
        self._verb = verb
        self._max_length = max_length

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog ask") as dialog:
            dialog.border_title = Content(sanitize.text(self._title))
            choose = CHOOSE if self._offers else ""
            dialog.border_subtitle = f"{choose}enter {self._verb} · esc goes back"
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
            if self._offers:
                dialog.set_class(True, "-offers")
                yield self.offer_list(offer_label(self._offers, self._empty))

    def on_mount(self) -> None:
        """Highlight the empty text if it is offered, otherwise nothing."""
        if self._offers and "" not in self._offers:
            self.query_one(OptionList).highlighted = None

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


MAX_NUMBER_LENGTH = 12


def parse_number(text: str, *, whole: bool = False) -> float:
    """Parse a number with optional thousands separators. Raises UsageError if it is not a number."""
    plain = text.strip().replace(",", "")
    if not plain:
        raise UsageError("type a number")
    try:
        number = float(plain) if plain[0].isdecimal() else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (whole and number != int(number)):
        raise UsageError(f"{text.strip()!r} is not a {'whole ' if whole else ''}number")
    return number


class SearchScreen(MainScreen):
    """A screen with a search: `/` shows the search line; `escape` ends the search, or else leaves the screen.

    A subclass yields `search_line()` in its body, filters by `words`, and redraws in `repaint`.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False),
        Binding("slash", "search", "Search", show=False),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self.words = ""

    def repaint(self) -> None:
        """Draw the list again: the words or the selection changed."""
        raise NotImplementedError

    def search_line(self, placeholder: str) -> Input:
        """The line for the words, hidden until the search begins."""
        line = Input(placeholder=placeholder, id="search", compact=True)
        line.cursor_blink = False
        return line

    def action_search(self) -> None:
        self.set_class(True, "-searching")
        self.query_one("#search").focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.words = event.value
        self.repaint()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._end_search()

    async def action_back(self) -> None:
        """End the search; without a search, return to the first screen."""
        if not self.has_class("-searching"):
            await self.run_action("app.go('live')")
            return
        self.query_one("#search", Input).value = ""
        self._end_search()

    def _end_search(self) -> None:
        self.set_class(bool(self.query_one("#search", Input).value), "-searching")
        self.set_focus(None)
