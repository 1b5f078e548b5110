"""Screens with a list: events, the server's sessions, its settings."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.base.units import hms, local_time, pluralize
from tuibench.model.event import Event
from tuibench.model.message import CloseConnection, Command, KillQuery, RestoreSettings, Watch
from tuibench.model.server import Activity, Flavour, ServerSession
from tuibench.model.settings import SettingState
from tuibench.tui.panels import lists as lists_panel
from tuibench.tui.panels import locks as locks_panel
from tuibench.tui.panels import settings as settings_panel
from tuibench.tui.panels.lists import MOVE_KEYS, Selection, effect_text_lines
from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.screens.dialogs import ChangeDialog, ChangePrompt, ConfirmDialog, SearchScreen
from tuibench.tui.steering import cursor_at, pin_effects
from tuibench.tui.view import View, with_note
from tuibench.tui.widgets import Panel, Requested


class EventsScreen(MainScreen):
    """Follows the newest event until another is selected; home follows again."""

    KEYS = (
        ("↑ ↓", "choose"),
        ("f", "filter"),
        ("enter", "on the charts"),
        ("e", "pin its effect"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "next_filter(1)", "Filter", show=False),
        Binding("F", "next_filter(-1)", "Filter", show=False),
        Binding("enter", "jump", "Show it on the charts", show=False),
        Binding("e", "pin", "Pin its effect", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVE_KEYS.items()),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()
        self._filter = 0

    def body(self) -> ComposeResult:
        yield self.panel(
            lambda view, *size: lists_panel.filter_line(view.entries, self._filter, *size), id="filters"
        )
        yield self.panel(
            lambda view, *size: lists_panel.timeline(view.entries, self._filter, self._selection, *size),
            id="timeline",
        )
        yield self.panel(
            lambda view, *size: lists_panel.event_detail(self.chosen, view.events, *size), id="event"
        )

    def prepare(self, view: View) -> None:
        if self._selection.id is not None:
            self._selection = self._selection.settled(self._ids)

    @property
    def chosen(self) -> Event | None:
        """The selected event."""
        return self._listed[self._selection.place] if self._listed else None

    def action_move(self, by: int) -> None:
        """Move the selection; at the top of the list it follows the newest event."""
        moved = self._selection.moved(self._ids, by)
        self._selection = moved if moved.place else Selection()
        self._repaint()

    def action_pick(self, place: int) -> None:
        """Handle a click: the first one selects the event, the second jumps to the charts."""
        if place == self._selection.place:
            self.action_jump()
        else:
            self._selection = Selection(self._ids[place], place)
            self._repaint()

    def action_next_filter(self, by: int) -> None:
        self.action_filter((self._filter + by) % len(lists_panel.EVENT_FILTERS))

    def action_filter(self, place: int) -> None:
        self._filter = place
        self._selection = Selection()
        self._repaint()

    def action_jump(self) -> None:
        if self.chosen is not None:
            self.post_message(Requested(cursor_at(self.chosen.elapsed_seconds), at_home=True))

    def copied(self, view: View) -> str:
        """The selected event, with its effect."""
        event = self.chosen
        if event is None:
            return ""
        when = f"{local_time(event.at)}, {hms(event.elapsed_seconds)} into the run: {event.text}"
        effect = lists_panel.effect_of(event, view.events)
        return "\n".join([when, *(effect_text_lines(effect) if effect else ())]) + "\n"

    def action_pin(self) -> None:
        """Pin the event's effect, so that charts, card and big numbers show it."""
        effect = lists_panel.effect_of(self.chosen, self.view.events) if self.chosen is not None else None
        if effect is not None:
            self.post_message(Requested(pin_effects(effect.markers[-1:]), at_home=True))

    @property
    def _listed(self) -> list[Event]:
        return lists_panel.filtered_events(self.view.entries, self._filter)

    @property
    def _ids(self) -> list[int]:
        return lists_panel.event_ids(self._listed)

    def _repaint(self) -> None:
        for panel in self.query(Panel):
            panel.show(self.view)


class SessionsScreen(SearchScreen):
    """The server's sessions, which the app polls while this screen is visible.

    The cursor goes through those that block and wait first, then through the list. `enter` shows the
    statement of the selected session in full, with its plan; the session reads it while it is shown.
    """

    KEYS = (
        ("↑ ↓", "choose"),
        ("/", "search"),
        ("enter", "SQL"),
        ("k", "end query"),
        ("K", "close connection"),
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "kill", "End its query", show=False),
        Binding("K", "close", "Close the connection", show=False),
        Binding("enter", "detail", "Statement and plan", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVE_KEYS.items()),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()
        self._detail = 0

    @property
    def poll_command(self) -> Command | None:  # type: ignore[override]
        return Watch("activity", connection=self._detail)

    def body(self) -> ComposeResult:
        yield self.search_line("words of a user, host, database, state or statement")
        panel = settings_panel
        yield self.panel(
            lambda view, *size: locks_panel.lock_panel(
                view, self._selection.id, *size, ascii_only=self.frame.ascii_only
            ),
            id="waits",
        )
        yield self.panel(lambda view, *size: panel.open_transactions(view.activity, *size), id="transactions")
        yield self.panel(
            lambda view, width, height: panel.session_list(
                self._listed(view.activity), self._selection, width, height, self.words
            ),
            id="session-list",
        )
        yield self.panel(
            lambda view, *size: locks_panel.session_detail(view.activity, self._detail, *size),
            id="session-detail",
        )
        yield self.panel(lambda view, *size: panel.last_deadlock(view.activity, *size), id="deadlock")

    def prepare(self, view: View) -> None:
        self._selection = self._selection.settled(self._ids)
        width, height = self.room
        most = int(MOST_OF_LOCKS * height)
        self.query_one("#waits").styles.height = locks_panel.lock_panel_height(view, width - 2, most)
        self.set_class(bool(view.activity and view.activity.waits), "-blocked")
        self.set_class(bool(self._detail), "-detailed")

    @property
    def chosen(self) -> ServerSession | None:
        """The selected session."""
        return locks_panel.known_session(self.view.activity, self._selection.id)

    def action_move(self, by: int) -> None:
        self._selection = self._selection.moved(self._ids, by)
        self.repaint()

    def repaint(self) -> None:
        self._selection = self._selection.settled(self._ids)
        for panel in ("#waits", "#session-list"):
            self.query_one(panel, Panel).show(self.view)

    def action_detail(self) -> None:
        """Show the statement of the selected session, or the list again."""
        id = self._selection.id or 0
        self._detail = 0 if self._detail == id else id
        self.set_detailed(bool(self._detail))
        self.query_one("#session-detail", Panel).show(self.view)
        if self._detail:
            self.submit(self.poll_command)

    async def action_back(self) -> None:
        if self._detail:
            self._detail = 0
            self.set_detailed(False)
        else:
            await super().action_back()

    def action_kill(self) -> None:
        self._ask(lambda session, activity: kill_prompt(session))

    def action_close(self) -> None:
        self._ask(close_prompt)

    def _ask(self, prompt: Callable[[ServerSession, Activity], ChangePrompt]) -> None:
        """Ask before the selected session is harmed; a session that cannot be ended is told at once."""
        session, activity = self.chosen, self.view.activity
        if session is None or activity is None:
            return
        if why := locks_panel.why_not_ended(session, activity):
            self.post_message(Requested(lambda view, _: with_note(view, why, ok=False)))
            return
        signs = self.view.status.production_signs
        self.app.push_screen(ConfirmDialog(prompt(session, activity), signs), self.submit)

    @property
    def _ids(self) -> list[int]:
        """The sessions that the cursor goes through."""
        locked = () if self.words.split() else locks_panel.lock_rows(self.view.activity)
        listed = settings_panel.matching_sessions(self._listed(self.view.activity), self.words)
        return [*(row.id for row in locked), *(session.id for session in listed)]

    def _listed(self, activity: Activity | None) -> Activity | None:
        """The sessions of the list: those that match the words, or all that are not in the tree."""
        return activity if self.words.split() else locks_panel.unlocked_sessions(activity)


MOST_OF_LOCKS = 0.45
"""The largest share of the screen's height for those that block and wait."""


def kill_prompt(session: ServerSession) -> ChangePrompt:
    """Confirmation before a query is killed."""
    return ChangePrompt(
        command=KillQuery(session.id),
        title=f"End the query of connection {session.id}",
        steps=(_where(session), session.statement or f"({session.command}, no statement)"),
        meaning="Its statement fails with error 1317. The client may retry it.",
        at_risk=True,
        promise="The connection stays open; if it is idle in a transaction, it keeps its locks: K closes it.",
        verb="end its query",
        yes="yes, end its query",
    )


def close_prompt(session: ServerSession, activity: Activity) -> ChangePrompt:
    """Confirmation before a connection is closed: what that rolls back, and whom it frees."""
    root = next((row.root for row in locks_panel.lock_rows(activity) if row.id == session.id), None)
    known = next((each for each in activity.blockers if each.id == session.id), None)
    changed = activity.rows_changed(session.id)
    last = known.statement if known is not None else ""
    rolls = f"Rolls back {pluralize(changed, 'changed row')}" if changed else "Rolls back no change"
    frees = root.frees if root is not None and root.id == session.id else 0
    return ChangePrompt(
        command=CloseConnection(session.id),
        title=f"Close connection {session.id}",
        steps=(
            _where(session),
            session.statement or last or f"({session.command}, no statement)",
            f"{rolls}; frees {pluralize(frees, 'session')}.",
        ),
        meaning="Its client loses the connection and its open transaction: its next statement fails.",
        at_risk=True,
        promise="A rollback takes about as long as the changes did; until then the rows stay locked.",
        verb="close the connection",
        yes="yes, close it",
    )


def _where(session: ServerSession) -> str:
    return f"{session.user}@{session.host} in {session.database or 'no database'}"


class SettingsScreen(SearchScreen):
    """Displays the setting states of each status message."""

    KEYS = (
        ("↑ ↓", "choose"),
        ("/", "search"),
        ("enter", "change"),
        ("bksp", "restore"),
        ("R", "all"),
        (".", "the other flavour's"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "change", "Change", show=False),
        Binding("backspace", "restore_setting", "Restore this setting", show=False),
        Binding("R", "put_all_back", "Restore all settings that tuibench changed", show=False),
        Binding("full_stop", "toggle_foreign", "Settings of the other flavour", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVE_KEYS.items()),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()
        self._with_foreign = False

    def body(self) -> ComposeResult:
        yield self.search_line("words of a name, a meaning or a risk; changed, restart, read-only")
        panel = settings_panel
        yield self.panel(
            lambda view, *size: panel.settings_table(
                view.status.settings, self._shown, self._selection, *size
            ),
            id="settings",
        )
        yield self.panel(
            lambda view, *size: panel.setting_detail(self.chosen, *size, on_restart=self._on_restart(view)),
            id="setting",
        )

    def keys_now(self, view: View) -> Sequence[tuple[str, str]]:
        other = Flavour.MARIADB if view.server_info.flavour == Flavour.MYSQL else Flavour.MYSQL
        return [(key, f"{other}'s" if key == "." else label) for key, label in self.KEYS]

    def prepare(self, view: View) -> None:
        self._selection = self._selection.settled(self._shown)

    @property
    def chosen(self) -> SettingState | None:
        """The selected setting."""
        settings = self.view.status.settings
        return settings[self._selection.id] if self._shown and self._selection.id is not None else None

    def action_move(self, by: int) -> None:
        self._selection = self._selection.moved(self._shown, by)
        self.repaint()

    def action_pick(self, number: int) -> None:
        """Handle a click: the first one selects the setting, the second opens it."""
        if number == self._selection.id:
            self.action_change()
        else:
            self._selection = Selection(number).settled(self._shown)
            self.repaint()

    def action_change(self) -> None:
        setting = self.chosen
        if setting is None:
            return
        if setting.unavailable:
            self.app.bell()
            return
        self.app.push_screen(ChangeDialog(setting, self.view.status.production_signs), self.submit)

    def copied(self, view: View) -> str:
        """The SQL statement that sets the setting to its current value, or for a setting that requires a
        restart, the command that compares values.
        """
        setting = self.chosen
        if setting and setting.requires_restart:
            return f"{self._on_restart(view)}\n"
        return f"SET GLOBAL {setting.name} = {setting.value};\n" if setting and setting.value else ""

    def action_restore_setting(self) -> None:
        setting = self.chosen
        if setting is not None and setting.changed_by == "us":
            self.app.push_screen(ConfirmDialog(restore_prompt([setting])), self.submit)

    def action_toggle_foreign(self) -> None:
        """List the settings that only the other flavour has, or hide them."""
        self._with_foreign = not self._with_foreign
        self.repaint()

    def action_put_all_back(self) -> None:
        ours = [setting for setting in self.view.status.settings if setting.changed_by == "us"]
        if ours:
            self.app.push_screen(ConfirmDialog(restore_prompt(ours)), self.submit)

    @property
    def _shown(self) -> list[int]:
        settings = self.view.status.settings
        return settings_panel.matching_settings(settings, self.words, with_foreign=self._with_foreign)

    def repaint(self) -> None:
        self._selection = self._selection.settled(self._shown)
        for panel in ("#settings", "#setting"):
            self.query_one(panel, Panel).show(self.view)

    def _on_restart(self, view: View) -> str:
        """The command that compares values of the selected setting; empty unless it requires a restart."""
        setting, profile = self.chosen, view.plan.profile or "oltp_read_write"
        if setting is None or not setting.requires_restart:
            return ""
        return settings_panel.restart_command(setting, profile, view.server_info.flavour)


def restore_prompt(settings: list[SettingState]) -> ChangePrompt:
    """Confirmation before settings are restored."""
    is_one = len(settings) == 1
    meaning = settings[0].choices.get(settings[0].original, "") if is_one else ""
    return ChangePrompt(
        command=RestoreSettings(tuple(setting.name for setting in settings)),
        title=f"Restore {settings[0].name if is_one else 'all settings that tuibench changed'}",
        steps=tuple(f"{each.name:<32} {each.value} → {each.original}" for each in settings),
        meaning=meaning
        or f"The server then has the {'value' if is_one else 'values'} from before this session.",
        at_risk=any(each.original in each.risky for each in settings),
        promise="Settings that other clients have changed since are kept, and reported.",
        verb="restore",
    )
