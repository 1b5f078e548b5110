"""Screens with a list: events, the server's sessions, its settings."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.base.units import hms, local_time
from tuibench.model.event import Event
from tuibench.model.message import KillQuery, RestoreSettings, Watch
from tuibench.model.server import Flavour, ServerSession
from tuibench.model.settings import SettingState
from tuibench.tui.panels import lists as lists_panel
from tuibench.tui.panels import settings as settings_panel
from tuibench.tui.panels.lists import MOVE_KEYS, Selection, effect_text_lines
from tuibench.tui.screens.base import MainScreen, ScreenFrame
from tuibench.tui.screens.dialogs import ChangeDialog, ChangePrompt, ConfirmDialog, SearchScreen
from tuibench.tui.steering import cursor_at, pin_effects
from tuibench.tui.view import View
from tuibench.tui.widgets import Panel, Requested


class EventsScreen(MainScreen):
    """Follows the newest event until another is selected; home follows again."""

    KEYS = (
        ("↑ ↓", "choose"),
        ("f", "filter"),
        ("enter", "show it on the charts"),
        ("e", "pin its effect"),
        ("esc", "back"),
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
    """The server's sessions, which the app polls while this screen is visible."""

    KEYS = (("↑ ↓", "choose"), ("/", "search"), ("k", "end its query"), ("esc", "back"))
    poll_command = Watch("activity")

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k,enter", "kill", "End its query", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVE_KEYS.items()),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()

    def body(self) -> ComposeResult:
        yield self.search_line("words of a user, host, database, state or statement")
        panel = settings_panel
        yield self.panel(lambda view, *size: panel.lock_waits(view.activity, *size), id="waits")
        yield self.panel(lambda view, *size: panel.open_transactions(view.activity, *size), id="transactions")
        yield self.panel(
            lambda view, width, height: panel.session_list(
                view.activity, self._selection, width, height, self.words
            ),
            id="session-list",
        )
        yield self.panel(lambda view, *size: panel.last_deadlock(view.activity, *size), id="deadlock")

    def prepare(self, view: View) -> None:
        self._selection = self._selection.settled(self._ids)
        self.query_one("#waits").styles.height = settings_panel.lock_waits_height(view.activity)

    @property
    def chosen(self) -> ServerSession | None:
        """The selected session."""
        return next((session for session in self._listed if session.id == self._selection.id), None)

    def action_move(self, by: int) -> None:
        self._selection = self._selection.moved(self._ids, by)
        self.repaint()

    def repaint(self) -> None:
        self._selection = self._selection.settled(self._ids)
        self.query_one("#session-list", Panel).show(self.view)

    def action_kill(self) -> None:
        if self.chosen is not None:
            self.app.push_screen(ConfirmDialog(kill_prompt(self.chosen)), self.submit)

    @property
    def _ids(self) -> list[int]:
        return [session.id for session in self._listed]

    @property
    def _listed(self) -> list[ServerSession]:
        """The sessions that match the words."""
        return settings_panel.matching_sessions(self.view.activity, self.words)


def kill_prompt(session: ServerSession) -> ChangePrompt:
    """Confirmation before a query is killed."""
    where = f"{session.user}@{session.host} in {session.database or 'no database'}"
    return ChangePrompt(
        command=KillQuery(session.id),
        title=f"End the query of connection {session.id}",
        steps=(where, session.statement or f"({session.command}, no statement)"),
        meaning="Its statement fails with error 1317. The client may retry it.",
        at_risk=True,
        promise="The connection stays open; if it is idle in a transaction, it keeps its locks.",
        verb="end its query",
    )


class SettingsScreen(SearchScreen):
    """Displays the setting states of each status message."""

    KEYS = (
        ("↑ ↓", "choose"),
        ("/", "search"),
        ("enter", "change"),
        ("bksp", "restore"),
        ("R", "all"),
        (".", "the other flavour's"),
        ("esc", "back"),
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
