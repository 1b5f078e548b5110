"""The viewer: joins a session, shows what it says, and sends it what the operator asks.

The app holds the View and nothing else; what is drawn is decided in `panels`, what can be done in `actions`.
Leaving the viewer never stops the session: only the operator's `q` does, by a command like any other.
"""

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.command import Provider
from textual.events import Event, Resize
from textual.screen import Screen

from tuibench.errors import RunError, TuibenchError
from tuibench.model.command import (
    ApplyPreset,
    ChangeSetting,
    Command,
    SetThreads,
    Stop,
    TrustServer,
    WatchActivity,
)
from tuibench.model.message import READ_ONLY, Ended, Status
from tuibench.model.replay import REFUSED
from tuibench.model.sample import Sample
from tuibench.session.client import SessionClient
from tuibench.tui import ahead, cramped, looking, places
from tuibench.tui.actions import ACTIONS, BY_NAME, Action, bindings, is_refused, key_of, missing, possible
from tuibench.tui.bridge import Arrived, Client, Connect, Player, read
from tuibench.tui.dialogs import DIALOGS, Dialog
from tuibench.tui.keyboard import Typed
from tuibench.tui.look import PLAIN, Look, StyledApp
from tuibench.tui.looking import ViewChange
from tuibench.tui.menu import Menu
from tuibench.tui.panels.tabs import tab_line
from tuibench.tui.screens.help import HelpScreen
from tuibench.tui.screens.main import Frame, MainScreen
from tuibench.tui.screens.stop import End, StopScreen
from tuibench.tui.steering import Change, Outstanding, ThreadSteering
from tuibench.tui.view import View, after, begin, noted, picture
from tuibench.tui.widgets.chart import TimePanel

if TYPE_CHECKING:
    from tuibench.session.replay import ReplayClient

LEAVE_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
LOST = (
    "the session ended without a summary",
    "its guardian puts the settings back; `tuibench restore` says what is left",
)


def run(socket: Path, look: Look, *, owner: bool = True, read_only: bool = False) -> Ended | None:
    """Show the session behind `socket` until the operator leaves; its last word, or None if it goes on.

    The `owner` has started it: the key that stops it does not ask back. Who is `read_only` cannot steer it.

    Raises RunError when no session answers or when it vanishes without a word (the terminal is restored).
    """
    connect = partial(SessionClient.join, socket, read_only=read_only)
    app = TuibenchApp(connect, look, owner=owner, read_only=read_only)
    ended = app.run(mouse=look.mouse)
    if app.failure is not None:
        raise app.failure
    return ended


def replay(client: "ReplayClient", look: Look) -> None:
    """Show a recorded run until the operator leaves."""

    async def connect() -> Client:
        return client

    TuibenchApp(connect, look, player=client).run(mouse=look.mouse)


class TuibenchApp(StyledApp[Ended]):
    """One viewer of one session."""

    CSS_PATH = "tuibench.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(), *places.bindings()]
    ENABLE_COMMAND_PALETTE = False
    """Its key is a line of our table, like any other: none of a dialog's."""
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Menu}

    def __init__(
        self,
        connect: Connect,
        look: Look = PLAIN,
        *,
        owner: bool = True,
        player: Player | None = None,
        read_only: bool = False,
    ) -> None:
        super().__init__(look)
        self.use_command_palette = True
        self.failure: TuibenchError | None = None
        self.view: View | None = None
        self._connect = connect
        self._owner = owner
        self._player = player
        self._read_only = read_only
        self._ascii_only = look.ascii_only
        self._client: Client | None = None
        self._threads = ThreadSteering()
        self._outstanding = Outstanding()

    async def on_load(self) -> None:
        """The session answers while the stylesheet is read."""
        self._joining = asyncio.ensure_future(self._connect())

    async def on_mount(self) -> None:
        for number in LEAVE_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self.exit)
        try:
            self._client = await self._joining
        except TuibenchError as error:
            self._fail(error)
            return
        view = begin(self._client.hello, self.look.keymap.shown)
        self.view = msgspec.structs.replace(view, read_only=self._read_only)
        await self.push_screen(self._made(places.BY_NAME[places.HOME], self.view))
        self.run_worker(read(self._client, self.post_message), name="reader", exit_on_error=True)
        self.run_worker(self._prepare(), name="screens", exit_on_error=True)

    async def on_unmount(self) -> None:
        self._joining.cancel()
        for number in LEAVE_SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)
        if self._client is not None:
            await self._client.close()

    def on_arrived(self, message: Arrived) -> None:
        """The session said something: a new view."""
        if self.view is None:
            return
        if isinstance(message.content, Ended):
            self.exit(message.content)
            return
        if isinstance(message.content, Status):
            self._threads.told()
        if isinstance(message.content, Sample):
            self._ask_on()
        self._show(after(self.view, message.content))

    def on_line_closed(self) -> None:
        """The session is gone. After an orderly end the app is leaving already."""
        if self.is_running and self.return_value is None:
            self._fail(RunError(*LOST))

    def action_act(self, name: str) -> None:
        """Do what a line of the table says, if it can be done now."""
        action, view = BY_NAME[name], self.view
        if view is None:
            return
        if view.replay is not None and action.steers and action.play is None:
            self._show(noted(view, REFUSED, ok=False))
            return
        if is_refused(action, view):
            self._show(noted(view, READ_ONLY, ok=False))
            return
        if not possible(action, view):
            self._say(missing(action, view))
            return
        if action.play is not None and self._player is not None:
            action.play(self._player)
        elif action.change is not None:
            self._steer(action.change)
        elif action.command is not None and (command := action.command(view)) is not None:
            self._submit(command)
        elif action.look is not None:
            self._look(action.look)
        elif action.place:
            self.action_go(action.place)
        elif name in DIALOGS:
            self._ask(DIALOGS[name], view)
        else:
            getattr(self, f"_open_{name}")(view)

    def action_go(self, name: str) -> None:
        """Show a screen of the tab line, if there is something to be seen there."""
        place, view, here = places.BY_NAME[name], self.view, self._main
        if view is None or here is None:
            return
        if not place.offered(view):
            self._say(place.absent)
            return
        there = self._made(place, view)
        if there is not here:
            self.switch_screen(there)
            self._show(msgspec.structs.replace(view, activity=None))
            self._ask_on()

    def action_escape(self) -> None:
        """What the charts were asked for ends; then the screen does."""
        if self.view is not None and (self.view.lens.is_engaged or self.view.frozen):
            self._look(looking.cleared)
        else:
            self.action_go(places.HOME)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Our keys belong to the screens of the tab line: a dialog over them has its own."""
        if action in ("act", "go", "escape"):
            return self.screen is self._main
        return True

    def action_help_quit(self) -> None:
        """ctrl+c means what it means everywhere: end this, properly the first time."""
        if self.view is not None:
            self._open_stop(self.view)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The table's actions first, and the themes."""
        yield from self._palette(ACTIONS)
        for place in places.PLACES:
            if self.view is not None and place.offered(self.view):
                go = partial(self.action_go, place.name)
                yield SystemCommand(f"{place.label}: {place.help}", places.key_of(place, self.view), go)
        yield SystemCommand("Theme: change the colours", "", self.action_change_theme)

    def _palette(self, actions: Iterable[Action]) -> Iterator[SystemCommand]:
        for action in actions:
            if self.view is not None and possible(action, self.view) and action.name != "menu":
                act = partial(self.action_act, action.name)
                yield SystemCommand(action.help, key_of(action, self.view), act)

    def _made(self, place: places.Place, view: View) -> MainScreen:
        """The place's screen: made the first time, kept from then on."""
        if not self.is_screen_installed(place.name):
            frame = Frame(partial(tab_line, places.tabs, place.name), self._ascii_only, self.size)
            self.install_screen(place.make(view, frame), place.name)
        return self.get_screen(place.name, MainScreen)

    async def _prepare(self) -> None:
        """Make the other screens while nothing happens, one at a time: then their keys find them ready."""
        for place in places.PLACES:
            await asyncio.sleep(ahead.PAUSE_SECONDS)
            if self.view is not None and place.offered(self.view):
                await ahead.prepared(self, self._made(place, self.view))

    def _ask_on(self) -> None:
        """The session tells some things only for as long as it is asked again."""
        if self._main is not None and self._main.asks is not None:
            self._submit(self._main.asks)

    def _ask(self, dialog: Dialog, view: View) -> None:
        """Open a dialog; its answer is a command."""

        def answered(answer: object) -> None:
            if answer is not None:
                self._send(dialog.command(answer))

        if self._has_room():
            self.push_screen(dialog.screen(view), answered)

    def _has_room(self) -> bool:
        """Whether a dialog would be seen; says so if not."""
        if cramped.is_cramped(self.size):
            self._say(cramped.REFUSED)
            return False
        return True

    def on_resize(self, event: Resize) -> None:
        """Textual tells it the screen on top; here are those below, and the dialogs."""
        cramped.fit(self.screen_stack, event.size)
        if self._main is not None and self._main is not self.screen:
            self._main.wear(event.size)

    async def on_event(self, event: Event) -> None:
        unheard = isinstance(event, Typed) and self.screen_stack and cramped.is_unheard(self.screen, event)
        if not unheard:
            await super().on_event(event)

    def on_time_panel_pointed(self, message: TimePanel.Pointed) -> None:
        column = message.column
        self._look(lambda view, columns: looking.pointed(view, columns, column))

    def on_main_screen_jumped(self, message: MainScreen.Jumped) -> None:
        """The first screen's charts, with the cursor at that moment."""
        self.action_go(places.HOME)
        self.call_after_refresh(self._look, looking.at(message.elapsed_seconds))

    def on_main_screen_wanted(self, message: MainScreen.Wanted) -> None:
        self._send(message.command)

    def _open_menu(self, view: View) -> None:
        if self._has_room():
            self.action_command_palette()

    def _open_help(self, view: View) -> None:
        if self._has_room():
            self.push_screen(HelpScreen(view))

    def _open_leave(self, view: View) -> None:
        self.exit()

    def _open_stop(self, view: View) -> None:
        """The first time: stop the session and wait for its summary. The second: leave at once.

        Who did not start the session is asked first.
        """
        if view.stopping or view.only_looks:
            self.exit()
        elif self._owner:
            self._stop()
        elif self._has_room():
            self.push_screen(StopScreen(), self._chosen_end)

    def _chosen_end(self, choice: End | None) -> None:
        if choice is End.STOP:
            self._stop()
        elif choice is End.LEAVE:
            self.exit()

    def _stop(self) -> None:
        if self.view is not None:
            self._show(msgspec.structs.replace(self.view, leaving=True))
            self._submit(Stop())

    def _steer(self, change: Change) -> None:
        if self.view is not None and (command := self._threads.press(change, self.view.status.threads)):
            self._submit(command)

    def _submit(self, command: Command) -> None:
        """Send it, unless one of its kind is on its way, or nothing may be steered from here."""
        if self.view is not None and self.view.read_only and not isinstance(command, WatchActivity):
            self._show(noted(self.view, READ_ONLY, ok=False))
        elif self._client is not None and self._outstanding.take(command):
            self.run_worker(self._answered(self._client, command), exit_on_error=True)

    async def _answered(self, client: Client, command: Command) -> None:
        """Wait for the session's answer and show it, in its words."""
        try:
            if isinstance(command, ChangeSetting | ApplyPreset) and self.view and self.view.status.caution:
                await client.submit(TrustServer())
            answer = await client.submit(command)
            ok, text = answer.ok, answer.text
        except RunError as error:
            ok, text = False, str(error)
        self._outstanding.done(command)
        if isinstance(command, SetThreads) and (following := self._threads.answered(ok=ok)):
            self._submit(following)
        if self.view is not None and not isinstance(command, WatchActivity):
            leaving = self.view.leaving and (ok or not isinstance(command, Stop))
            self._show(msgspec.structs.replace(noted(self.view, text, ok=ok), leaving=leaving))

    def _send(self, command: Command) -> None:
        """Submit it; a number of threads by way of the presses that may be under way."""
        if isinstance(command, SetThreads):
            self._steer(lambda _: command.threads)
        else:
            self._submit(command)

    def _show(self, view: View) -> None:
        """Paint the view, on the visible screen only."""
        self.view = view
        if self._main is not None:
            self._main.show(picture(view))

    def _say(self, refusal: str) -> None:
        """Why a key does nothing here, if there is anything to say."""
        if self.view is not None and refusal:
            self._show(noted(self.view, refusal, ok=False))

    def _look(self, look: ViewChange) -> None:
        if self.view is not None and self._main is not None:
            self._show(look(self.view, self._main.chart_columns))

    @property
    def _main(self) -> MainScreen | None:
        """The screen of the tab line that is visible, a dialog over it or not."""
        return next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)

    def _fail(self, error: TuibenchError) -> None:
        self.failure = error
        self.exit(return_code=int(error.exit_code))
