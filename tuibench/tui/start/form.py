"""Widgets of the start form: layout, values, error marks."""

from collections.abc import Collection, Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.suggester import Suggester
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tuibench import sanitize
from tuibench.tui.start.controller import FIELD_LABELS, FormValues, StartController
from tuibench.tui.text.drawing import to_ascii

SERVERS, PROFILES = "servers", "profiles"
"""Widget ids of the two lists."""

FIELD = "field-"
LOGIN = ("place", "user", "password")
LOAD = ("threads", "seconds", "database")
DATA = ("options",)
PLACEHOLDERS = {"seconds": "until q", "password": "if any", "options": "--tables=4 …"}
LABEL_WIDTH = 28


def field_of(input: Input) -> str:
    """Name of the form value of an input widget."""
    return (input.id or "").removeprefix(FIELD)


class OptionSuggester(Suggester):
    """Completes the last word to an option of the load or of the profile."""

    def __init__(self, controller: StartController) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._controller = controller

    async def get_suggestion(self, value: str) -> str | None:
        start, _, word = value.rpartition(" ")
        names = (name for name in self._controller.option_names if name.startswith(word) and name != word)
        found = next(names, None) if len(word) > len("--") else None
        return None if found is None else f"{start} {found}".lstrip()


class StartForm(Vertical):
    """Input widgets of the start form; selections and edits are reported by the widgets' own messages."""

    def __init__(self, controller: StartController, *, ascii_only: bool) -> None:
        super().__init__(id="form")
        self._controller = controller
        self._ascii_only = ascii_only
        self._marked: frozenset[str] = frozenset()
        self._shown_keys = ""

    def compose(self) -> ComposeResult:
        with Horizontal(id="title"):
            yield Static(" tuibench ", id="brand", markup=False)
            yield Static("  what to run, and where", id="question", markup=False)
        yield Static("SERVER", classes="heading")
        yield self._list(SERVERS, [(offer.label, offer.detail) for offer in self._controller.servers])
        yield from self._fields("login", LOGIN)
        yield Static("LOAD", classes="heading")
        yield self._list(PROFILES, [(offer.name, offer.summary) for offer in self._controller.profiles])
        yield from self._fields("load", LOAD)
        yield from self._fields("data", DATA)
        with VerticalScroll(id="result-pane", can_focus=False):
            yield Static(id="result", markup=False)
        yield Static(id="keys")

    def begin(self, server: int, profile: int) -> None:
        """Set the initial positions of the lists."""
        self.query_one(f"#{SERVERS}", OptionList).highlighted = server
        self.query_one(f"#{PROFILES}", OptionList).highlighted = profile
        self.query_one(f"#{SERVERS}").focus()

    def fill(self, answers: FormValues, *names: str) -> None:
        """Write the values into their fields."""
        for name in names:
            field = self.query_one(f"#{FIELD}{name}", Input)
            if field.value != getattr(answers, name):
                field.value = getattr(answers, name)

    def mark(self, wrong: Collection[str]) -> None:
        """Mark the invalid fields; only fields whose state changed are updated."""
        for name in self._marked.symmetric_difference(wrong):
            self._mark(name, is_wrong=name in wrong)
        self._marked = frozenset(wrong)

    def show_result(self, words: Content) -> None:
        """Set the text below the fields."""
        self.query_one("#result", Static).update(self._plain_content(words))

    def show_keys(self, keys: str) -> None:
        """Set the key hints, as markup."""
        if keys != self._shown_keys:
            self._shown_keys = keys
            self.query_one("#keys", Static).update(self._plain(keys))

    def _mark(self, name: str, *, is_wrong: bool) -> None:
        """Mark a field's name with a glyph as well as colour."""
        self.query_one(f"#{FIELD}{name}").set_class(is_wrong, "-wrong")
        label = self.query_one(f"#label-{name}", Static)
        label.set_class(is_wrong, "-wrong")
        label.update(self._plain(f"{'▲' if is_wrong else ' '}{FIELD_LABELS[name]}"))

    def _list(self, id: str, entries: Sequence[tuple[str, str]]) -> OptionList:
        options = [Option(self._plain_content(_list_entry(*entry))) for entry in entries]
        return OptionList(*options, id=id, compact=True)

    def _fields(self, id: str, names: Sequence[str]) -> ComposeResult:
        with Horizontal(id=id, classes="fields"):
            for name in names:
                yield Static(f" {FIELD_LABELS[name]}", id=f"label-{name}", classes="label", markup=False)
                field = Input(
                    getattr(self._controller.first, name),
                    id=f"{FIELD}{name}",
                    compact=True,
                    password=name == "password",
                    placeholder=PLACEHOLDERS.get(name, ""),
                    suggester=OptionSuggester(self._controller) if name in DATA else None,
                )
                field.cursor_blink = False
                yield field

    def _plain(self, text: str) -> str:
        return to_ascii(text) if self._ascii_only else text

    def _plain_content(self, text: Content) -> Content:
        return Content(to_ascii(text.plain), list(text.spans)) if self._ascii_only else text


def _list_entry(label: str, detail: str) -> Content:
    return Content.assemble(
        (f"{sanitize.text(label):<{LABEL_WIDTH}} ", ""), (sanitize.text(detail), "$detail")
    )
