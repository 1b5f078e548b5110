"""The viewer's app: connects to a session, shows its messages, and sends the operator's commands.

Its state is the `View`. `panels` draw it, `actions` define what the operator can do. Leaving the viewer does
not stop the session; the key `q` does, by a command.

No dialog is opened in a terminal that is too small. A dialog that is open when the terminal shrinks is hidden
until there is room again. Meanwhile it receives only the keys that leave it, so that the operator cannot
confirm a question that is not visible.
"""

import asyncio
import io
import signal
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.command import Provider
from textual.events import Event, Key, Resize
from textual.geometry import Size
from textual.keys import format_key
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from tuibench.base.errors import RunError, TuibenchError
from tuibench.base.feature import installed, resolve
from tuibench.model.message import (
    READ_ONLY_REFUSAL,
    REPLAY_REFUSAL,
    Command,
    PollCommand,
    SessionEnded,
    Status,
    Stop,
)
from tuibench.model.settings import option_line
from tuibench.model.tick import Sample
from tuibench.tui import steering, styled_app
from tuibench.tui.actions import (
    ACTIONS,
    ACTIONS_BY_NAME,
    ActionPalette,
    action_bindings,
    action_key,
    is_possible,
    refusal,
)
from tuibench.tui.panels.bars import tab_line
from tuibench.tui.picture import save_in_thread, with_shapes
from tuibench.tui.screens import tabs
from tuibench.tui.screens.base import MainScreen, ScreenFrame, size_classes
from tuibench.tui.screens.dialogs import RunEnd, StopDialog, keep_dialog
from tuibench.tui.screens.help import HelpScreen, unknown_key_hint
from tuibench.tui.screens.load_dialogs import (
    DurabilityDialog,
    callers_dialog,
    delay_dialog,
    figures_dialog,
    hardware_dialog,
    mark_dialog,
    plan_dialog,
    rate_dialog,
    sql_dialog,
    threads_dialog,
    weights_dialog,
)
from tuibench.tui.screens.monitor import FigurePalette
from tuibench.tui.screens.tab import ScreenTab, tab_key
from tuibench.tui.script import PinEffects, ShowScreen, ViewerScript
from tuibench.tui.steering import (
    CommandSender,
    Connect,
    ReplayPlayer,
    UpdateInbox,
    UpdatesArrived,
    ViewChange,
    ViewerClient,
)
from tuibench.tui.styled_app import DEFAULT_DISPLAY, DisplayOptions, StyledApp, TypedInput
from tuibench.tui.view import View, initial_view, next_view, own_changes, visible_view, with_note
from tuibench.tui.widgets import Requested

LEAVING_KEYS = frozenset(("escape", "ctrl+c", "ctrl+q"))
NEEDS_ROOM = "the dialog needs more space: enlarge the window first"
HIDDEN_CLASS = "-cramped"


def is_too_small(size: Size) -> bool:
    """True if there is no space for dialogs at this size."""
    return "-small" in size_classes(*size)


def _restore_focus(dialog: ModalScreen[Any]) -> None:
    """Focus a widget of a dialog that is shown again: hiding it has removed the focus."""
    if dialog.focused is None and not dialog.has_class(HIDDEN_CLASS):
        dialog.focus_next()


DIALOGS: dict[str, Callable[[View], ModalScreen[Any]]] = {
    "type_threads": threads_dialog,
    "rate": rate_dialog,
    "weights": weights_dialog,
    "delay": delay_dialog,
    "hardware": hardware_dialog,
    "callers": callers_dialog,
    "type_plan": plan_dialog,
    "name_mark": mark_dialog,
    "run_sql": sql_dialog,
    "figures": figures_dialog,
    "durability": DurabilityDialog,
    "keep": keep_dialog,
}
"""The core's dialogs by the action that opens them; each returns a command, None if cancelled."""
FEATURES_DIALOGS = {action: made for feature in installed() for action, made in feature.dialogs.items()}
"""References to the makers of the features' dialogs."""
RESULT_TABS = {place.result_of: place.name for place in tabs.SCREEN_TABS if place.result_of}
"""The screen of the tab line that shows the result of a dialog's command, by the dialog's action."""
UNASKED_SECONDS = 60.0
"""Duration of a run after which the operator must confirm that it is stopped."""


UNSAID_SECONDS = 0.5
"""The screen says that it connects if the session has not answered by then."""
CONNECTING = "○ connecting to the session …   ctrl+c leaves"
SCENE_SECONDS = 0.5
"""Interval at which a scene is checked for its next step."""
LEAVE_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
SESSION_LOST = (
    "the session ended without a summary",
    "its guardian restores the settings; `tuibench restore` lists those that remain",
)


class TuibenchApp(StyledApp[SessionEnded]):
    """The app of a viewer."""

    CSS_PATH = "tuibench.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*action_bindings(), *tabs.tab_bindings()]
    ENABLE_COMMAND_PALETTE = False
    """Textual's own palette key is disabled: the key is an entry of the action table, inactive in dialogs."""
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {
        ActionPalette,
        FigurePalette,
    }

    def __init__(
        self,
        connect: Connect,
        display: DisplayOptions = DEFAULT_DISPLAY,
        *,
        owner: bool = True,
        player: ReplayPlayer | None = None,
        read_only: bool = False,
        scene: ViewerScript | None = None,
    ) -> None:
        super().__init__(display)
        self._scene = scene
        self._option_lines: tuple[str, ...] = ()
        self.use_command_palette = True
        self.failure: TuibenchError | None = None
        self.view: View | None = None
        self._connect = connect
        self._owner = owner
        self._player = player
        self._read_only = read_only
        self._ascii_only, self._next_tab = display.ascii_only, ""
        self._told: set[str] = set()
        self._client: ViewerClient | None = None

    async def on_load(self) -> None:
        """Connect in the background, while the stylesheet is read."""
        self._joining = asyncio.ensure_future(self._connect())

    async def on_mount(self) -> None:
        for number in LEAVE_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self.exit)
        done, _ = await asyncio.wait((self._joining,), timeout=UNSAID_SECONDS)
        if done:
            await self._begin()
        else:
            await self.screen.mount(Static(CONNECTING, id="connecting", markup=False))
            self.run_worker(self._begin(), name="joining", exit_on_error=True)

    async def _begin(self) -> None:
        """Show the first screen once the session answers."""
        try:
            self._client = await self._joining
        except TuibenchError as error:
            self._fail(error)
            return
        inbox = UpdateInbox(self.post_message)
        self._session = CommandSender(self._client, inbox, partial(self.run_worker, exit_on_error=True))
        view = initial_view(self._client.hello, self.display_options.keymap.shown)
        charts = msgspec.structs.replace(view.chart_state, slots=self.display_options.charts)
        self.view = msgspec.structs.replace(
            view, read_only=self._read_only, coach=self.display_options.coach, chart_state=charts
        )
        await self.push_screen(self._made(tabs.TABS_BY_NAME[tabs.HOME_TAB], self.view))
        self.run_worker(inbox.read(self._client), name="reader", exit_on_error=True)
        self.run_worker(self._prepare(), name="screens", exit_on_error=True)
        if self._scene is not None:
            self.set_interval(SCENE_SECONDS, self._play_scene)

    async def on_unmount(self) -> None:
        self._joining.cancel()
        for number in LEAVE_SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)
        if self._client is not None:
            await self._client.close()

    def on_updates_arrived(self, message: UpdatesArrived) -> None:
        """Handle one frame of the session's messages: one new view, one paint."""
        if (view := self.view) is None:
            return
        for content in message.contents:
            if isinstance(content, SessionEnded):
                self.exit(msgspec.structs.replace(content, option_lines=self._option_lines))
                return
            if isinstance(content, Status):
                self._session.on_status()
            view = next_view(view, content)
        if any(isinstance(content, Sample) for content in message.contents):
            self._poll()
        self._show(view)
        place = tabs.TABS_BY_NAME.get(self._next_tab)
        if place is not None and self.screen is self._main and place.offered(view) and place.has_data(view):
            self.action_go(place.name)
            self._next_tab = ""

    def on_connection_closed(self) -> None:
        """Report the loss of the session. After an orderly end the app is already exiting."""
        if self.is_running and self.return_value is None:
            self._fail(RunError(*SESSION_LOST))

    def action_act(self, name: str) -> None:
        """Perform an action of the table, if it is possible now."""
        action, view = ACTIONS_BY_NAME[name], self.view
        if view is None:
            return
        if name == "mark" and self._scene is not None and not self._scene.is_over:
            self._scene.go_on()
            self._play_scene()
            return
        if (reason := refusal(action, view)) is not None:
            if not reason and not action.applies(view):
                reason = unknown_key_hint(action.shown, view)
            self._show_refusal(reason, is_hint=reason not in (REPLAY_REFUSAL, READ_ONLY_REFUSAL))
            return
        if action.play is not None and self._player is not None:
            action.play(self._player)
        elif action.change is not None:
            self._session.change_threads(action.change, view.status)
        elif action.command is not None and (command := action.command(view)) is not None:
            self._send(command)
        elif action.view_change is not None:
            self._change_view(action.view_change)
        elif action.place:
            self.action_go(action.place)
        elif name in DIALOGS or name in FEATURES_DIALOGS:
            self._ask(name, view)
        else:
            getattr(self, f"_open_{name}")(view)

    def action_go(self, name: str) -> None:
        """Show a screen of the tab line, if it is available."""
        place, view, here = tabs.TABS_BY_NAME[name], self.view, self._main
        if view is None or here is None:
            return
        if not place.offered(view):
            self._show_refusal(place.absent, is_hint=True)
            return
        if (there := self._made(place, view)) is not here:
            beside = here.frame.beside if here.is_beside(view) else None
            self.switch_screen(there)
            # A report that was not polled is of another time.
            is_polled = beside is not None and beside.name == name
            self._show(view if is_polled else msgspec.structs.replace(view, activity=None))
            self._poll()

    def action_open_tab(self, name: str) -> None:
        """Show the first screen of a tab; the next one, if the tab is open already."""
        view, here = self.view, self._here
        if view is None or here is None:
            return
        screens = tabs.screens_of(name, view)
        if here in [place.name for place in screens]:
            self.action_next_screen()
        else:
            self.action_go(screens[0].name if screens else name)
        key = tab_key(tabs.TABS_BY_NAME[name], view)
        if screens and key not in self._told:
            self._told.add(key)
            self._show_note(tabs.new_place(key, view), is_hint=True)

    def action_next_screen(self) -> None:
        """Show the next screen of the open tab."""
        if self.view is None or self._here is None:
            return
        if (following := tabs.next_screen(self._here, self.view)) is not None:
            self.action_go(following.name)

    def action_escape(self) -> None:
        """End cursor, marks and pins of the charts, if any; otherwise return to the first screen."""
        if self.view is not None and (self.view.chart_state.is_engaged or self.view.frozen):
            self._change_view(steering.clear_marks)
        else:
            self.action_go(tabs.HOME_TAB)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Restrict the app's keys to the screens of the tab line: dialogs have their own."""
        if action in ("act", "go", "open_tab", "next_screen", "escape"):
            return self.screen is self._main
        # On the screens of the tab line, `tab` shows the next screen of the tab.
        return self.screen is not self._main if action == "focus_next" else True

    def on_key(self, event: Key) -> None:
        """Show a message for a key without a binding."""
        here, view = self._main, self.view
        if view is None or here is None or self.screen is not here or is_too_small(self.size):
            return
        if event.key not in here.active_bindings:
            key = event.character if event.is_printable and event.character else format_key(event.key)
            self._show_note(unknown_key_hint(key, view, here.KEYS), is_hint=True)

    def action_help_quit(self) -> None:
        """Handle ctrl+c: stop the session without a question, the first time in good order."""
        if (view := self.view) is None:
            self.exit()
            return
        if self._owner and not (view.stopping or view.cannot_steer):
            self._stop()
        else:
            self._open_stop(view)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Entries of the command palette: the table's actions first, then the screens and the themes."""
        for action in ACTIONS:
            if self.view is not None and is_possible(action, self.view) and action.name != "menu":
                act = partial(self.action_act, action.name)
                yield SystemCommand(action.help, action_key(action, self.view), act)
        for place in tabs.SCREEN_TABS:
            if self.view is not None and place.offered(self.view):
                go = partial(self.action_go, place.name)
                yield SystemCommand(f"{place.label}: {place.help}", tab_key(place, self.view), go)
        for theme in styled_app.theme_names():
            yield SystemCommand(f"Theme: {theme}", "", partial(setattr, self, "theme", theme))

    def _made(self, place: ScreenTab, view: View) -> MainScreen:
        """Screen of a tab: created on first use, then kept."""
        if not self.is_screen_installed(place.name):
            labels = partial(tabs.visible_tabs, place.name)
            following = partial(tabs.next_label, place.name)
            frame = ScreenFrame(
                partial(tab_line, labels, place.name),
                following,
                place.label,
                tabs.screen_beside(place.name),
                self._ascii_only,
                self.size,
            )
            self.install_screen(place.make(view, frame), place.name)
        return self.get_screen(place.name, MainScreen)

    async def _prepare(self) -> None:
        """Create the other screens one at a time while idle, so that their keys respond at once."""
        for place in tabs.SCREEN_TABS:
            await asyncio.sleep(styled_app.PREFETCH_PAUSE_SECONDS)
            if self.view is not None and place.offered(self.view):
                await styled_app.prefetch_screen(self, self._made(place, self.view))

    def _play_scene(self) -> None:
        """Perform the due steps of the scene, as if the operator did."""
        if self._scene is None or self.view is None or not isinstance(self.screen, MainScreen):
            return
        for action in self._scene.advance(self.view, asyncio.get_running_loop().time()):
            match action:
                case ShowScreen(name=name):
                    self.action_go(name)
                case PinEffects(markers=markers):
                    self._change_view(steering.pin_effects(markers))
                case _:
                    self._send(action)
        if self.view.caption != self._scene.caption:
            self._show(msgspec.structs.replace(self.view, caption=self._scene.caption))

    def _poll(self) -> None:
        """Repeat the visible screen's poll command: the session sends some data only while it is polled."""
        for command in self._main.poll_commands if self._main is not None else ():
            self._send(command)

    def _ask(self, name: str, view: View) -> None:
        """Open a dialog, and send its command. The screen with its result opens when there is data."""

        def answered(command: Command | ViewChange | None) -> None:
            if callable(command):
                self._change_view(command)
                # Store the choice of figures, if the viewer has a configuration.
                if self.view is not None and self.display_options.keep_charts is not None:
                    try:
                        self.display_options.keep_charts(",".join(self.view.chart_state.slots))
                    except TuibenchError as error:
                        self._show_refusal(str(error))
            elif command is not None:
                self._send(command)
                self._next_tab = RESULT_TABS.get(name, "")

        if self._has_room():
            made = DIALOGS[name] if name in DIALOGS else resolve(FEATURES_DIALOGS[name])
            self.push_screen(made(view), answered)

    def _has_room(self) -> bool:
        """True if a dialog fits on the terminal; reports it if not."""
        if is_too_small(self.size):
            self._show_refusal(NEEDS_ROOM)
            return False
        return True

    def on_resize(self, event: Resize) -> None:
        """Resize the main screen below a dialog, and hide or show dialogs: Textual notifies only the topmost
        screen.
        """
        for dialog in self.screen_stack:
            if isinstance(dialog, ModalScreen):
                dialog.set_class(is_too_small(event.size), HIDDEN_CLASS)
                dialog.call_after_refresh(_restore_focus, dialog)
        if self._main is not None and self._main is not self.screen:
            self._main.apply_size_classes(event.size)

    async def on_event(self, event: Event) -> None:
        # Otherwise a hidden dialog would receive the input.
        ignored = (
            isinstance(event, TypedInput)
            and self.screen_stack
            and self.screen.has_class(HIDDEN_CLASS)
            and not (isinstance(event, Key) and event.key in LEAVING_KEYS)
        )
        if not ignored:
            await super().on_event(event)

    def on_requested(self, message: Requested) -> None:
        """Send the command, or change the charts; for those of the first screen, wait until it has a size."""
        if not callable(message.request):
            self._send(message.request)
        elif message.at_home:
            self.action_go(tabs.HOME_TAB)
            self.call_after_refresh(self._change_view, message.request)
        else:
            self._change_view(message.request)

    def _open_menu(self, view: View) -> None:
        if self._has_room():
            self.action_command_palette()

    def _open_help(self, view: View) -> None:
        if self._has_room():
            self.push_screen(HelpScreen(view))

    def _open_copy(self, view: View) -> None:
        """Copy through the terminal's clipboard (OSC 52), which does not confirm that it took the text."""
        text = self._main.copied(visible_view(view)) if self._main is not None else ""
        if text:
            self.copy_to_clipboard(text)
            first, *more = text.splitlines()
            self._show_note(f"copied (if the terminal supports OSC 52): {first}{' …' if more else ''}")
        else:
            self._show_refusal("there is nothing to copy here yet")

    def _open_save(self, view: View) -> None:
        """Save a picture in the folder where the viewer was started; in a browser, as a download."""
        name = f"tuibench-{self._here}-{view.elapsed_seconds:.0f}s"
        svg = with_shapes(self.export_screenshot(title=f"tuibench {view.plan.profile}"))
        if self.is_web:
            self.deliver_text(io.StringIO(svg), save_filename=f"{name}.svg", mime_type="image/svg+xml")
        else:
            self.run_worker(self._save(svg, name), name="picture")

    async def _save(self, svg: str, name: str) -> None:
        try:
            paths = await save_in_thread(svg, Path.cwd(), name)
        except TuibenchError as error:
            self._show_refusal(str(error))
        else:
            self._show_note(f"saved {', '.join(map(str, paths))}")

    def _open_resolve(self, view: View) -> None:
        """Show why no A/B test can decide the shown effect."""
        is_too_long = steering.resolving_test(view) is not None
        why = "an A/B test of this change would take hours" if is_too_long else "no effect is in doubt"
        self._show_refusal(why, is_hint=True)

    def _open_leave(self, view: View) -> None:
        self.exit()

    def _open_stop(self, view: View) -> None:
        """First press: stop the session and wait for its summary. Second press: leave at once.

        A viewer that did not start the session gets a confirmation first, and so does one whose run has
        lasted for more than a minute.
        """
        if view.stopping or view.cannot_steer:
            self.exit()
            return
        # The settings of a private server end with it.
        settings = [] if view.can_crash else own_changes(view)
        if self._owner and view.elapsed_seconds <= UNASKED_SECONDS and not settings:
            self._stop()
        elif self._has_room():
            self.push_screen(StopDialog(settings), self._chosen_end)

    def _chosen_end(self, chosen: RunEnd | None) -> None:
        match chosen:
            case RunEnd.STOP:
                self._stop()
            case RunEnd.KEEP:
                self._stop(keeps=True)
            case RunEnd.LINES:
                settings = [] if self.view is None else own_changes(self.view)
                lines = (option_line(setting.name, setting.value) for setting in settings)
                self._option_lines = tuple(filter(None, lines))
                self._stop()
            case RunEnd.LEAVE:
                self.exit()

    def _stop(self, *, keeps: bool = False) -> None:
        if self.view is not None:
            self._show(msgspec.structs.replace(self.view, leaving=True))
            self._send(Stop(keeps=keeps))

    def _send(self, command: Command) -> None:
        """Send a command, unless this viewer cannot control the session."""
        if self.view is None:
            return
        if self.view.read_only and not isinstance(command, PollCommand):
            self._show_refusal(READ_ONLY_REFUSAL)
        else:
            self._session.send(command, self.view.status)

    def _show(self, view: View) -> None:
        """Paint the view, on the visible screen only."""
        self.view = view
        if self._main is not None:
            self._main.show(visible_view(view))

    def _show_note(self, text: str, *, ok: bool = True, is_hint: bool = False) -> None:
        if self.view is not None and text:
            self._show(with_note(self.view, text, ok=ok, is_hint=is_hint))

    def _show_refusal(self, refusal: str, *, is_hint: bool = False) -> None:
        self._show_note(refusal, ok=is_hint, is_hint=is_hint)

    def _change_view(self, change: ViewChange) -> None:
        if self.view is not None and self._main is not None:
            self._show(change(self.view, self._main.chart_columns))

    @property
    def _main(self) -> MainScreen | None:
        """The current screen of the tab line, also if a dialog covers it."""
        return next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)

    @property
    def _here(self) -> str | None:
        """The name of the current screen of the tab line."""
        made, main = filter(self.is_screen_installed, tabs.TABS_BY_NAME), self._main
        return next((name for name in made if self.get_screen(name) is main), None)

    def _fail(self, error: TuibenchError) -> None:
        self.failure = error
        self.exit(return_code=int(error.exit_code))
