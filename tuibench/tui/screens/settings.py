"""Settings screen: the catalogue, filtered by typed words; changes and restores after a confirmation."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tuibench.model.command import RestoreSettings
from tuibench.model.settings import SettingState
from tuibench.tui.panels.selection import MOVE_KEYS, Selection
from tuibench.tui.panels.server import settings as panels
from tuibench.tui.screens.base import ScreenFrame
from tuibench.tui.screens.change import ChangeDialog
from tuibench.tui.screens.confirm import ChangePrompt, ConfirmDialog
from tuibench.tui.screens.search import SearchScreen
from tuibench.tui.text.spans import TextLine
from tuibench.tui.view import View
from tuibench.tui.widgets.panel import Panel


class SettingsScreen(SearchScreen):
    """Displays the setting states of each status message."""

    KEYS = (
        ("↑ ↓", "choose"),
        ("/", "search"),
        ("enter", "change"),
        ("u", "restore"),
        ("U", "restore all"),
        ("esc", "back"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "change", "Change", show=False),
        Binding("u", "restore_setting", "Restore this setting", show=False),
        Binding("U", "put_all_back", "Restore all settings that tuibench changed", show=False),
        *(Binding(key, f"move({by})", show=False) for key, by in MOVE_KEYS.items()),
    ]

    def __init__(self, view: View, frame: ScreenFrame) -> None:
        super().__init__(view, frame)
        self._selection = Selection()

    def body(self) -> ComposeResult:
        yield self.search_line("words of a name, a meaning or a risk; changed, fixed")
        yield self.panel(self._table, id="settings")
        yield self.panel(self._detail, id="setting")

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
        self.app.push_screen(ChangeDialog(setting, self.view.status.production_signs), self._decided)

    def copied(self, view: View) -> str:
        """SQL statement that sets the selected setting to its current value."""
        setting = self.chosen
        return f"SET GLOBAL {setting.name} = {setting.value};\n" if setting and setting.value else ""

    def action_restore_setting(self) -> None:
        setting = self.chosen
        if setting is not None and setting.changed_by == "us":
            self._ask_back([setting])

    def action_put_all_back(self) -> None:
        ours = [setting for setting in self.view.status.settings if setting.changed_by == "us"]
        if ours:
            self._ask_back(ours)

    def _ask_back(self, settings: list[SettingState]) -> None:
        proposal = restore_prompt(settings)
        self.app.push_screen(ConfirmDialog(proposal), lambda yes: self._decided(proposal if yes else None))

    def _decided(self, proposal: ChangePrompt | None) -> None:
        if proposal is not None:
            self.post_message(self.CommandRequested(proposal.command))

    @property
    def _shown(self) -> list[int]:
        return panels.matching_settings(self.view.status.settings, self.words)

    def repaint(self) -> None:
        self._selection = self._selection.settled(self._shown)
        for panel in ("#settings", "#setting"):
            self.query_one(panel, Panel).show(self.view)

    def _table(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.settings_table(view.status.settings, self._shown, self._selection, width, height)

    def _detail(self, view: View, width: int, height: int) -> list[TextLine]:
        return panels.setting_detail(self.chosen, width, height)


def restore_prompt(settings: list[SettingState]) -> ChangePrompt:
    """Confirmation before settings are restored."""
    is_one = len(settings) == 1
    return ChangePrompt(
        command=RestoreSettings(tuple(setting.name for setting in settings)),
        title=f"Restore {settings[0].name if is_one else 'all settings that tuibench changed'}",
        steps=tuple(f"{each.name:<32} {each.value} → {each.original}" for each in settings),
        meaning="The server then has the values from before this session."
        if not is_one
        else settings[0].risk,
        at_risk=False,
        promise="Settings that other clients have changed since are kept, and reported.",
        verb="restore",
    )
