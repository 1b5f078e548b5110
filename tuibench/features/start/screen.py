"""The start form: values, widgets, texts, screen, and the state machine of its enter key.

On a private server, enter starts the load at once, because the server has no other users. Any other server is
checked first, and only the second enter starts the load:

    FILLING ──check─> READY ──start──> (the run)
       ^                ^
       └─ any change ─┐ │
                      MISSING ──make──┘       BLOCKED: the errors must be fixed first

The app exits with the launched session, or None if the operator left.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen
from textual.suggester import Suggester
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tuibench.base import sanitize
from tuibench.base.errors import TuibenchError
from tuibench.base.units import pluralize
from tuibench.model.findings import Finding, Severity
from tuibench.tui.styled_app import DisplayOptions, StyledApp
from tuibench.tui.text import to_ascii


class FormValues(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the form as typed; `server` and `profile` are chosen from lists."""

    server: str = ""
    """The id of a `ServerChoice`."""
    profile: str = ""
    place: str = ""
    """host, host:port, or the path of a socket."""
    user: str = ""
    password: str = ""
    """Never stored, and not part of the repr."""
    database: str = ""
    threads: str = ""
    seconds: str = ""
    """The duration; empty for no limit."""
    options: str = ""
    """Options of the load and of the profile, as on the command line."""

    def __repr__(self) -> str:
        return f"Answers({self.profile} on {self.server})"


FIELD_LABELS = {
    "place": "at",
    "user": "user",
    "password": "password",
    "threads": "threads",
    "seconds": "for",
    "database": "database",
    "options": "options",
}
"""Input fields, with their labels on the screen."""


class ServerChoice(NamedTuple):
    """A server of the list."""

    id: str
    label: str
    detail: str
    place: str = ""
    user: str = ""
    database: str = ""
    is_private: bool = False
    """Whether the server is created for the run; its fields cannot be edited."""


class ProfileChoice(NamedTuple):
    """A profile of the list."""

    name: str
    summary: str
    options: str = ""
    """Default options for its tables."""


class ServerCheck(NamedTuple):
    """Result of the check of a server."""

    findings: tuple[Finding, ...]
    creatable: str = ""
    """A description of the missing tables that can be created; empty if there are none."""

    @property
    def is_blocked(self) -> bool:
        """True if a run is not possible (yet), or would give wrong results."""
        return any(finding.severity in (Severity.STOP, Severity.NEXT) for finding in self.findings)


ProgressCallback = Callable[[str, float | None], None]
"""Called with the description of a long operation, and its completed share (0 to 1), None if unknown; may be
called from any thread.
"""


class StartController(Protocol):
    """Checks servers and profiles, and starts runs. Its methods raise TuibenchError, and can be cancelled."""

    servers: Sequence[ServerChoice]
    profiles: Sequence[ProfileChoice]
    option_names: Sequence[str]
    """The options of the load that the form accepts, as on the command line."""
    first: FormValues
    """The initial values."""

    def faults(self, answers: FormValues) -> Mapping[str, str]:
        """Errors by field; empty if the form describes a valid run."""
        ...

    async def examine(self, answers: FormValues) -> ServerCheck:
        """Check server, host and data, without changes."""
        ...

    async def make(self, answers: FormValues, on_progress: ProgressCallback) -> str:
        """Create the tables; returns a description of them."""
        ...

    async def launch(self, answers: FormValues, on_progress: ProgressCallback) -> Path:
        """Start the run; returns the socket of its session."""
        ...


class EnterAction(Enum):
    """The action of the enter key; the value is its text in the footer."""

    START = "start"
    CHECK = "check the server"
    MAKE = "create the tables"
    RECHECK = "check again"
    START_ALL_THE_SAME = "start anyway"


def enter_action(outlook: ServerCheck | None, *, is_private: bool) -> EnterAction:
    """The next action of enter; `outlook` is None until the server has been checked."""
    if is_private:
        return EnterAction.START
    if outlook is None:
        return EnterAction.CHECK
    if outlook.creatable:
        return EnterAction.MAKE
    if outlook.is_blocked:
        return EnterAction.RECHECK
    has_warnings = any(finding.severity.value == "warning" for finding in outlook.findings)
    return EnterAction.START_ALL_THE_SAME if has_warnings else EnterAction.START


SERVERS, PROFILES = "servers", "profiles"
"""Widget ids of the two lists."""

FIELD = "field-"
LOGIN = ("place", "user", "password")
LOAD = ("threads", "seconds", "database")
DATA = ("options",)
PLACEHOLDERS = {"seconds": "until q", "password": "if any", "options": "--tables=4 …"}
LABEL_WIDTH = 28


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


GLYPH = re.compile(r"(?:  → |  > |\S )?")
"""The beginning of a line of findings: the glyph of its severity, or the arrow before a remedy."""


def hanging_lines(words: Content, width: int) -> list[Content]:
    """The text broken into lines of `width` cells; continuation lines are indented to the first word."""
    lines = []
    for line in words.split("\n", allow_blank=True):
        found = GLYPH.match(line.plain)
        indent = found.end() if found is not None and found.end() < width else 0
        first, *rest = line[indent:].wrap(width - indent)
        lines += [line[:indent] + first, *(part.pad_left(indent) for part in rest)]
    return lines


class HangingText(Static):
    """A text of findings, wrapped to the width of the widget."""

    words = Content("")

    def say(self, words: Content) -> None:
        self.words = words
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(hanging_lines(self.words, max(width, 1)))

    def render(self) -> Content:
        return Content("\n").join(hanging_lines(self.words, max(self.content_size.width, 1)))


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
            yield HangingText(id="result", markup=False)
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
        self.query_one("#result", HangingText).say(self._plain_content(words))

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
        texts = (
            Content.assemble(
                (f"{sanitize.text(label):<{LABEL_WIDTH}} ", ""), (sanitize.text(detail), "$detail")
            )
            for label, detail in entries
        )
        return OptionList(*(Option(self._plain_content(text)) for text in texts), id=id, compact=True)

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


SEVERITY_GLYPHS = {
    Severity.STOP: ("✗", "$error bold"),
    Severity.NEXT: ("→", "$primary bold"),
    Severity.WARNING: ("▲", "$warning"),
    Severity.NOTE: ("·", "$muted"),
    Severity.OK: ("✓", "$success"),
}
"""The glyph and the style of each severity, the most severe first."""

_BAR_WIDTH = 40
_NEXT_TEXTS = {
    EnterAction.START: "All checks passed.",
    EnterAction.START_ALL_THE_SAME: "The run can start; findings marked ▲ make its figures invalid.",
    EnterAction.RECHECK: "Fix this first.",
}


def faults_text(found: Mapping[str, str]) -> Content:
    """One line per invalid field."""
    return _join_lines(
        Content.assemble(
            ("✗ ", "$error bold"), (f"{FIELD_LABELS.get(name, name)}: ", "$strong bold"), sanitize.text(text)
        )
        for name, text in found.items()
    )


def error_text(error: TuibenchError) -> Content:
    lines = [Content.assemble(("✗ ", "$error bold"), sanitize.text(error.message))]
    if error.hint:
        lines.append(Content.assemble(("  → ", "$muted"), sanitize.text(error.hint)))
    return _join_lines(lines)


def progress_text(words: str, share: float | None = None) -> Content:
    """Progress of a long operation: a bar if its share is known, and its description."""
    if share is None:
        return Content.assemble(("◐ ", "$primary bold"), sanitize.text(words))
    done = round(min(max(share, 0.0), 1.0) * _BAR_WIDTH)
    bar = (("█" * done, "$primary"), ("·" * (_BAR_WIDTH - done), "$faint"))
    return Content.assemble(*bar, (f" {share:4.0%}  ", "$strong bold"), sanitize.text(words))


def server_check_text(seen: ServerCheck, coming: EnterAction) -> Content:
    """The next step, then the findings, the most severe first; passed checks are only counted."""
    words = (
        f"Enter creates the missing tables: {sanitize.text(seen.creatable)}."
        if coming is EnterAction.MAKE
        else _NEXT_TEXTS.get(coming, "")
    )
    lines = [Content.assemble((words, "$strong bold"))]
    for severity in (Severity.STOP, Severity.NEXT, Severity.WARNING, Severity.NOTE):
        for finding in seen.findings:
            if finding.severity is severity:
                glyph, style = SEVERITY_GLYPHS[finding.severity]
                lines.append(Content.assemble((f"{glyph} ", style), sanitize.text(finding.found)))
                if finding.remedy:
                    remedy = sanitize.text(finding.remedy)
                    lines.append(Content.assemble(("  → ", "$muted"), (remedy, "$muted")))
    well = sum(finding.severity is Severity.OK for finding in seen.findings)
    if well:
        lines.append(Content.assemble(("✓ ", "$success"), (f"{pluralize(well, 'check')} passed", "$muted")))
    return _join_lines(lines)


def muted_text(text: str) -> Content:
    return Content.assemble((text, "$muted"))


def _join_lines(lines: "Sequence[Content] | object") -> Content:
    return Content("\n").join(lines)  # type: ignore[arg-type]


MIN_FORM_SIZE = (80, 24)
TALL_FORM_HEIGHT = 32
"""Minimum height of a terminal for longer lists."""
PAINT_SECONDS = 0.2

Offer = TypeVar("Offer")


class StartScreen(Screen[None]):
    """Validates the form with its controller after each change, and starts the work on enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "check", "Check the server", show=False),
        Binding("escape", "back", "Cancel, or leave", show=False),
    ]

    def __init__(self, controller: StartController, *, ascii_only: bool = False) -> None:
        super().__init__()
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (TALL_FORM_HEIGHT, "-tall")]
        self._controller = controller
        self._form = StartForm(controller, ascii_only=ascii_only)
        self.answers = controller.first
        self._outlook: ServerCheck | None = None
        self._message: Content | None = None
        self._step: tuple[str, float | None] | None = None
        self._work: asyncio.Task[None] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="too-small")
        yield self._form

    def on_mount(self) -> None:
        self._form.begin(self._place_of_server(), self._place_of_profile())
        self.set_interval(PAINT_SECONDS, self._paint_work)
        self._paint()

    def on_resize(self, event: Resize) -> None:
        width, height = event.size
        self.set_class(width < MIN_FORM_SIZE[0] or height < MIN_FORM_SIZE[1], "-small")
        self.query_one("#too-small", Static).update(
            f"tuibench needs {MIN_FORM_SIZE[0]}×{MIN_FORM_SIZE[1]} characters, "
            f"this terminal has {width}×{height}.\n\n"
            "Enlarge the window, or run without a screen:\n\ntuibench run --help"
        )

    async def on_unmount(self) -> None:
        """Wait until the work that the operator cancelled by leaving is undone."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})

    @property
    def server(self) -> ServerChoice:
        return self._controller.servers[self._place_of_server()]

    @property
    def is_working(self) -> bool:
        return self._work is not None and not self._work.done()

    @property
    def coming(self) -> EnterAction:
        return enter_action(self._outlook, is_private=self.server.is_private)

    # Actions of the operator.

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_list.id == SERVERS:
            self._choose_server(self._controller.servers[event.option_index])
        elif event.option_list.id == PROFILES:
            self._choose_profile(event.option_index)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.action_go()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.action_go()

    def on_input_changed(self, event: Input.Changed) -> None:
        name = (event.input.id or "").removeprefix(FIELD)
        if getattr(self.answers, name) != event.value:
            self._change(**{name: event.value})

    def action_go(self) -> None:
        """Perform the action that the footer shows for enter."""
        if self.is_working or self._controller.faults(self.answers):
            self._message = None
            self._paint()
            return
        match self.coming:
            case EnterAction.CHECK | EnterAction.RECHECK:
                self._begin(self._check())
            case EnterAction.MAKE:
                self._begin(self._make())
            case EnterAction.START | EnterAction.START_ALL_THE_SAME:
                self._begin(self._start())

    def action_check(self) -> None:
        if not self.is_working and not self._controller.faults(self.answers):
            self._begin(self._check())

    def action_back(self) -> None:
        """Cancel the work in progress, or leave."""
        if self._work is not None and self.is_working:
            self._work.cancel()
        else:
            self.app.exit()

    # Work.

    def _begin(self, work: Awaitable[None]) -> None:
        self._message = None
        self._step = ("one moment", None)
        self._work = asyncio.ensure_future(self._carried_out(work))
        self._paint()

    async def _carried_out(self, work: Awaitable[None]) -> None:
        try:
            await work
        except TuibenchError as error:
            self._message = error_text(error)
        except asyncio.CancelledError:
            self._message = muted_text("Cancelled: nothing was changed.")
        finally:
            self._step = None
            self._work = None
            if self.query("#result"):  # An exited screen loses its widgets before its work is cancelled.
                self._paint()

    async def _check(self) -> None:
        self._step = (f"checking {self.server.label}", None)
        self._outlook = await self._controller.examine(self.answers)

    async def _make(self) -> None:
        made = await self._controller.make(self.answers, self._on_progress)
        self._outlook = await self._controller.examine(self.answers)
        self.notify(sanitize.text(made), markup=False)

    async def _start(self) -> None:
        self.app.exit(await self._controller.launch(self.answers, self._on_progress))

    def _on_progress(self, words: str, share: float | None) -> None:
        """Store the progress, from any thread; the next paint shows the latest."""
        self._step = (words, share)

    # Changes of the form.

    def _choose_server(self, offer: ServerChoice) -> None:
        if offer.id == self.answers.server:
            return
        database = offer.database or self.answers.database
        self._change(server=offer.id, place=offer.place, user=offer.user, password="", database=database)
        self._form.fill(self.answers, "place", "user", "password", "database")

    def _choose_profile(self, index: int) -> None:
        before, offer = self._controller.profiles[self._place_of_profile()], self._controller.profiles[index]
        if offer.name == self.answers.profile:
            return
        own = self.answers.options.split() != before.options.split()
        self._change(profile=offer.name, options=self.answers.options if own else offer.options)
        self._form.fill(self.answers, "options")

    def _change(self, **fields: str) -> None:
        """Change form values; invalidates the result of the last check."""
        self.answers = msgspec.structs.replace(self.answers, **fields)
        self._outlook = self._message = None
        self._paint()

    # Painting.

    def _paint(self) -> None:
        """Paint the changes: invalid fields, message, key hints."""
        wrong = self._controller.faults(self.answers)
        self.set_class(self.server.is_private, "-private")
        self._form.mark(wrong)
        self._form.show_result(self._result(wrong))
        self._form.show_keys(self._keys(can_go=not wrong))

    def _paint_work(self) -> None:
        if self._step is not None:
            self._form.show_result(progress_text(*self._step))

    def _result(self, wrong: Mapping[str, str]) -> Content:
        if self._step is not None:
            return progress_text(*self._step)
        if self._message is not None:
            return self._message
        if wrong:
            return faults_text(wrong)
        if self._outlook is not None:
            return server_check_text(self._outlook, self.coming)
        return muted_text(
            "A private server in a temporary directory: nothing else on this host is changed."
            if self.server.is_private
            else "Enter checks the server first: nothing is changed, and no load starts."
        )

    def _keys(self, *, can_go: bool) -> str:
        if self.is_working:
            return "[b]esc[/] [$muted]cancel[/]"
        go = f"[@click=screen.go][b]enter[/] [$muted]{self.coming.value}[/][/]" if can_go else ""
        is_enter = self.coming in (EnterAction.CHECK, EnterAction.RECHECK)
        check = "[@click=screen.check][b]f5[/] [$muted]check again[/][/]"
        if self.server.is_private or (can_go and is_enter):
            check = ""
        leave = "[@click=screen.back][b]esc[/] [$muted]leave[/][/]"
        moves = "[b $strong]tab[/] [$strong]next field[/]"
        return "   ".join(part for part in (go, moves, check, leave) if part)

    def _place_of_server(self) -> int:
        return _index_of(self._controller.servers, lambda offer: offer.id == self.answers.server)

    def _place_of_profile(self) -> int:
        return _index_of(self._controller.profiles, lambda offer: offer.name == self.answers.profile)


def _index_of(offers: Sequence[Offer], wanted: Callable[[Offer], bool]) -> int:
    return next((place for place, offer in enumerate(offers) if wanted(offer)), 0)


class StartApp(StyledApp[Path]):
    """App that shows the start form only."""

    CSS_PATH = "start.tcss"
    ENABLE_COMMAND_PALETTE = False
    """Textual's own menu has no entries for a form."""
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+c", "screen.back", "Leave")]

    def __init__(self, controller: StartController, display: DisplayOptions) -> None:
        super().__init__(display)
        self._controller = controller

    async def on_mount(self) -> None:
        await self.push_screen(StartScreen(self._controller, ascii_only=self.display_options.ascii_only))

    def shown(self) -> Path | None:
        """Run on the terminal; returns the launched session."""
        return self.run(mouse=self.display_options.mouse)
