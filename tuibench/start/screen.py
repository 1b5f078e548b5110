"""The screen of the start form: form, findings, and the operation started by enter.

Its app exits with the launched session, or None if the operator left.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static

from tuibench import sanitize
from tuibench.errors import TuibenchError
from tuibench.start import form
from tuibench.start.form import (
    EnterAction,
    ServerCheck,
    ServerChoice,
    StartController,
    StartForm,
    WorkProgress,
    enter_action,
)
from tuibench.tui.styled_app import DisplayOptions, StyledApp

MIN_FORM_SIZE = (80, 24)
TALL_FORM_HEIGHT = 32
"""Minimum height for longer lists."""
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
        self._step: WorkProgress | None = None
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
        self.query_one("#too-small", Static).update(_too_small_text(width, height))

    async def on_unmount(self) -> None:
        """Wait until cancelled work is undone, if the operator left during it."""
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
        """Action of the enter key."""
        return enter_action(self._outlook, is_private=self.server.is_private)

    # Actions of the operator.

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        match event.option_list.id:
            case form.SERVERS:
                self._choose_server(self._controller.servers[event.option_index])
            case form.PROFILES:
                self._choose_profile(event.option_index)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.action_go()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.action_go()

    def on_input_changed(self, event: Input.Changed) -> None:
        name = form.field_of(event.input)
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
        self._step = WorkProgress("one moment")
        self._work = asyncio.ensure_future(self._carried_out(work))
        self._paint()

    async def _carried_out(self, work: Awaitable[None]) -> None:
        try:
            await work
        except TuibenchError as error:
            self._message = form.error_text(error)
        except asyncio.CancelledError:
            self._message = form.muted_text("Cancelled: nothing was changed.")
        finally:
            self._step = None
            self._work = None
            if self.query("#result"):  # An exited screen loses its widgets before its work is cancelled.
                self._paint()

    async def _check(self) -> None:
        self._step = WorkProgress(f"checking {self.server.label}")
        self._outlook = await self._controller.examine(self.answers)

    async def _make(self) -> None:
        made = await self._controller.make(self.answers, self._on_progress)
        self._outlook = await self._controller.examine(self.answers)
        self.notify(sanitize.text(made), markup=False)

    async def _start(self) -> None:
        self.app.exit(await self._controller.launch(self.answers, self._on_progress))

    def _on_progress(self, step: WorkProgress) -> None:
        """Store the progress, from any thread; the next paint shows the latest."""
        self._step = step

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
            self._form.show_result(form.progress_text(self._step))

    def _result(self, wrong: Mapping[str, str]) -> Content:
        if self._step is not None:
            return form.progress_text(self._step)
        if self._message is not None:
            return self._message
        if wrong:
            return form.faults_text(wrong)
        if self._outlook is not None:
            return form.server_check_text(self._outlook, self.coming)
        return form.muted_text(self._hint())

    def _hint(self) -> str:
        if self.server.is_private:
            return "A private server in a temporary directory: nothing else on this host is changed."
        return "Enter checks the server first: nothing is changed, and no load starts."

    def _keys(self, *, can_go: bool) -> str:
        if self.is_working:
            return "[b]esc[/] [$muted]cancel[/]"
        go = f"[@click=screen.go][b]enter[/] [$muted]{self.coming.value}[/][/]" if can_go else ""
        check = "" if self.server.is_private else "[@click=screen.check][b]f5[/] [$muted]check again[/][/]"
        leave = "[@click=screen.back][b]esc[/] [$muted]leave[/][/]"
        moves = "[b $strong]tab[/] [$strong]next field[/]"
        return "   ".join(part for part in (go, moves, check, leave) if part)

    def _place_of_server(self) -> int:
        return _index_of(self._controller.servers, lambda offer: offer.id == self.answers.server)

    def _place_of_profile(self) -> int:
        return _index_of(self._controller.profiles, lambda offer: offer.name == self.answers.profile)


def _index_of(offers: Sequence[Offer], wanted: Callable[[Offer], bool]) -> int:
    return next((place for place, offer in enumerate(offers) if wanted(offer)), 0)


def _too_small_text(width: int, height: int) -> str:
    return (
        f"tuibench needs {MIN_FORM_SIZE[0]}×{MIN_FORM_SIZE[1]} characters, "
        f"this terminal has {width}×{height}.\n\n"
        "Enlarge the window, or run without a screen:\n\ntuibench run --help"
    )


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
