"""The settings screen: found by words, changed and put back by keys, and never without a question."""

import msgspec
import pytest

from tests.tui.support import catalogue, script
from tests.tui.support.driving import LARGE, SMALL, Viewer, screen_text, viewer
from tuibench.model.message import ChangeSetting, RestoreSettings, TrustServer
from tuibench.tui.panels.lists import Selection
from tuibench.tui.panels.settings import settings_table
from tuibench.tui.screens.dialogs import ChangeDialog, ConfirmDialog
from tuibench.tui.screens.lists import SettingsScreen
from tuibench.tui.screens.monitor import LiveScreen
from tuibench.tui.text import plain_text
from tuibench.tui.widgets import Panel

HELLO = script.hello(70, catalogue.status())


def listed(it: Viewer) -> str:
    return it.app.screen.query_one("#settings", Panel).text()


def details(it: Viewer) -> str:
    return it.app.screen.query_one("#setting", Panel).text()


def chosen(it: Viewer) -> str:
    assert isinstance(it.app.screen, SettingsScreen)
    found = it.app.screen.chosen
    return found.name if found else ""


async def test_every_setting_has_its_line() -> None:
    async with viewer(HELLO, (120, 160)) as it:
        await it.press("g")
        assert "MySQL only" not in listed(it)
        await it.press("full_stop")
        for setting in catalogue.STATES:
            assert setting.name in listed(it)
        flush = next(line for line in listed(it).splitlines() if "innodb_flush_log_at_trx" in line)
        assert flush.split()[:7] == ["▸", "innodb_flush_log_at_trx_commit", "0", "▲", "was", "1", "about"]
        most = next(line for line in listed(it).splitlines() if "max_connections" in line)
        assert most.split()[:4] == ["max_connections", "500", "was", "151"]
        redo = next(line for line in listed(it).splitlines() if "innodb_redo_log_enabled" in line)
        assert redo.split()[:4] == ["innodb_redo_log_enabled", "–", "MySQL", "only"]


@pytest.mark.parametrize("width", [78, 118, 198])
def test_what_needs_a_restart_says_so_in_one_place(width: int) -> None:
    shown = [number for number, each in enumerate(catalogue.STATES) if each.requires_restart]
    lines = settings_table(catalogue.STATES, shown, Selection(), width, 99)
    rows = [row for row in map(plain_text, lines) if "_" in row]
    assert len(rows) == len(shown)
    assert all(row.count("restart") == row.count("needs a restart") == 1 for row in rows)
    if width > 78:
        assert len({row.index("needs a restart") for row in rows}) == 1, "beside the values"
        assert any("needs a restart · " in row and "…" not in row for row in rows), "and the consequence"


async def test_the_selected_setting_is_shown_in_full() -> None:
    async with viewer(HELLO) as it:
        await it.press("g")
        for words in (
            "value       0: log flushed",
            "risk",
            "takes       whole numbers from 0 to 3",
            "shows in",
        ):
            assert words in details(it)
        await it.press("slash", *"table_open", "enter")
        assert chosen(it) == "table_open_cache"
        assert "not here: this login cannot change it: it needs the privilege SUPER" in details(it)


async def test_words_find_settings_and_escape_ends_the_search() -> None:
    async with viewer(HELLO, SMALL) as it:
        await it.press("g", "slash", *"changed")
        assert [line.split()[0] for line in listed(it).splitlines()[2:] if "_" in line][
            -1
        ] == "max_connections"
        assert "long_query_time" not in listed(it)
        assert it.client.submitted == []
        await it.press("down", "down")
        assert chosen(it) == "max_connections"
        await it.press("escape")
        assert "long_query_time" not in details(it)
        assert len(listed(it).splitlines()) > 6, "its neighbours are listed again"
        assert chosen(it) == "max_connections"
        await it.press("slash", *"xyzzy")
        assert "no matching setting" in listed(it)
        await it.press("enter", "enter", "backspace")
        assert isinstance(it.app.screen, SettingsScreen)
        await it.press("escape", "escape")
        assert isinstance(it.app.screen, LiveScreen)
        assert it.client.submitted == []


async def test_a_setting_is_changed_after_yes_only() -> None:
    async with viewer(HELLO) as it:
        await it.press("g", "slash", *"io_capacity", "enter", "enter")
        assert isinstance(it.app.screen, ChangeDialog)
        assert "Takes whole numbers" in screen_text(it)
        await it.press(*"4000", "enter")
        assert isinstance(it.app.screen, ConfirmDialog)
        assert "200 → 4000" in screen_text(it)
        await it.press("n")
        assert it.client.submitted == []
        await it.press("enter", "y")
        assert it.client.submitted == [ChangeSetting("innodb_io_capacity", "4000")]
        assert isinstance(it.app.screen, SettingsScreen)


async def test_offered_values_are_chosen_by_the_arrows() -> None:
    async with viewer(HELLO) as it:
        await it.press("g", "down", "enter", "up", "enter")
        assert "sync_binlog                      0 → " in screen_text(it)
        await it.press("y")
        (command,) = it.client.submitted
        assert isinstance(command, ChangeSetting)
        assert command.name == "sync_binlog"
        assert command.value in next(s for s in catalogue.STATES if s.name == "sync_binlog").choices
        await it.press("enter")
        assert "  1    binlog flushed to disk at every commit: no event is lost" in screen_text(it)


async def test_the_value_that_is_there_is_not_asked_for_and_a_risk_is_marked() -> None:
    async with viewer(HELLO) as it:
        await it.press("g", "enter", "enter")
        assert "type a value, or choose one" in screen_text(it)
        await it.press("0", "enter")
        assert "it is already 0" in screen_text(it)
        await it.press("escape")
        assert isinstance(it.app.screen, SettingsScreen)
        await it.press("enter", "2", "enter")
        assert "▲ log left to the OS at commit" in screen_text(it)
        assert it.client.submitted == []


async def test_what_cannot_be_changed_or_was_changed_by_others_is_not_asked() -> None:
    async with viewer(HELLO) as it:
        await it.press("g", "slash", *"redo", "enter", "enter")
        assert isinstance(it.app.screen, SettingsScreen)
        await it.press("escape", "slash", *"max_conn", "enter", "backspace")
        assert chosen(it) == "max_connections"
        assert isinstance(it.app.screen, SettingsScreen)
        assert it.client.submitted == []


async def test_one_is_put_back_or_all_of_ours() -> None:
    async with viewer(HELLO) as it:
        await it.press("g", "down", "backspace")
        assert "sync_binlog                      0 → 1" in screen_text(it)
        assert "● binlog flushed to disk at every commit: no event is lost" in screen_text(it)
        await it.press("n", "backspace", "y")
        assert it.client.submitted == [RestoreSettings(("sync_binlog",))]
        it.client.submitted.clear()
        await it.press("R")
        assert "Restore all settings that tuibench changed" in screen_text(it)
        await it.press("y")
        assert it.client.submitted == [RestoreSettings(("innodb_flush_log_at_trx_commit", "sync_binlog"))]


async def test_a_production_server_is_changed_after_an_explicit_yes() -> None:
    cautious = msgspec.structs.replace(catalogue.status(), production_signs=("2 replicas attached",))
    async with viewer(script.hello(70, cautious)) as it:
        await it.press("g", "enter", "1", "enter")
        assert "This looks like a production server: 2 replicas attached." in screen_text(it)
        await it.press("y")
        assert it.client.submitted == [TrustServer(), ChangeSetting("innodb_flush_log_at_trx_commit", "1")]


async def test_a_click_chooses_and_a_second_one_opens() -> None:
    async with viewer(HELLO) as it:
        await it.press("g")
        row = next(n for n, line in enumerate(listed(it).splitlines()) if "sync_binlog" in line)
        await it.pilot.click("#settings", offset=(10, row))
        await it.settle()
        assert chosen(it) == "sync_binlog"
        await it.pilot.click("#settings", offset=(10, row))
        await it.settle()
        assert isinstance(it.app.screen, ChangeDialog)


async def test_a_new_status_is_painted() -> None:
    async with viewer(HELLO, LARGE) as it:
        await it.press("g")
        changed = msgspec.structs.replace(catalogue.STATES[1], value="100", changed_by="us")
        states = (catalogue.STATES[0], changed, *catalogue.STATES[2:])
        await it.hear(msgspec.structs.replace(catalogue.status(), settings=states))
        assert any(line.split()[:2] == ["sync_binlog", "100"] for line in listed(it).splitlines())


async def test_what_has_no_room_is_cut_with_a_sign_of_it() -> None:
    async with viewer(HELLO, SMALL) as it:
        await it.press("g")
        assert details(it).splitlines()[-1].endswith("Innodb_os_log_written …")
