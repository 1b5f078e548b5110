"""Sessions and locks on the screen: asked for while it is open, chosen by key, ended after a question."""

import msgspec

from tests.tui.support import script
from tests.tui.support.driving import Viewer, screen_text, viewer
from tests.tui.support.sessions import ACTIVITY, session
from tuibench.model.message import ApplyPreset, CloseConnection, CommandReply, KillQuery, TrustServer, Watch
from tuibench.model.server import SessionDetail
from tuibench.tui.panels.locks import lock_rows
from tuibench.tui.screens.dialogs import ConfirmDialog
from tuibench.tui.screens.lists import SessionsScreen
from tuibench.tui.screens.monitor import LiveScreen
from tuibench.tui.widgets import Panel

SAMPLES = script.samples(70)[60:]


def listed(it: Viewer) -> str:
    return it.app.screen.query_one("#session-list", Panel).text()


def chosen(it: Viewer) -> int:
    assert isinstance(it.app.screen, SessionsScreen)
    found = it.app.screen.chosen
    assert found is not None
    return found.id


async def test_it_is_asked_for_while_it_is_open_and_no_longer() -> None:
    async with viewer(script.hello(60)) as it:
        await it.hear(SAMPLES[0])
        assert it.client.submitted == []
        await it.press("l")
        assert "reading the sessions" in listed(it)
        await it.hear(SAMPLES[1], ACTIVITY)
        await it.hear(SAMPLES[2])
        assert it.client.submitted == [Watch("activity")] * 3
        assert "report@bi2" in listed(it)
        await it.press("escape")
        assert isinstance(it.app.screen, LiveScreen)
        await it.hear(SAMPLES[3])
        assert it.client.submitted == [Watch("activity")] * 3
        assert it.shown("note") == ""


async def test_the_cursor_begins_at_the_culprit_and_stays_on_its_session() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(ACTIVITY)
        assert chosen(it) == 90
        await it.press("down", "down")
        assert chosen(it) == 230
        await it.press("down", "down", "down")
        assert chosen(it) == 93
        longer = msgspec.structs.replace(ACTIVITY, sessions=(session(5), session(6), *ACTIVITY.sessions))
        await it.hear(longer)
        assert chosen(it) == 93
        await it.press("end")
        assert chosen(it) == 64
        await it.press("up", "home")
        assert chosen(it) == 90
        await it.hear(msgspec.structs.replace(ACTIVITY, waits=(), blockers=()))
        assert chosen(it) == 90
        await it.press("home")
        assert chosen(it) == 88


async def test_a_query_is_ended_after_yes_only() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(ACTIVITY)
        it.client.submitted.clear()
        await it.press("down", "down", "down", "k")
        assert isinstance(it.app.screen, ConfirmDialog)
        assert "End the query of connection 88" in screen_text(it)
        assert "SELECT customer" in screen_text(it)
        await it.press("enter", "n")
        assert it.client.submitted == []
        it.client.answer = CommandReply(
            id=1, ok=False, text="there is no connection 88 any more (error 1094)"
        )
        await it.press("k", "y")
        assert it.client.submitted == [KillQuery(88)]
        assert isinstance(it.app.screen, SessionsScreen)
        assert "✗ there is no connection 88 any more" in screen_text(it)


async def test_the_culprit_is_closed_with_two_keys() -> None:
    """What that rolls back, and whom it frees, is asked first."""
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(ACTIVITY)
        it.client.submitted.clear()
        await it.press("K")
        assert isinstance(it.app.screen, ConfirmDialog)
        words = screen_text(it)
        assert "Close connection 90" in words
        assert "Rolls back 10,001 changed rows; frees 2 sessions." in words
        await it.press("enter", "n")
        assert it.client.submitted == []
        await it.press("K", "y")
        assert it.client.submitted == [CloseConnection(90)]


async def test_a_session_of_a_production_server_is_closed_after_its_signs() -> None:
    production = msgspec.structs.replace(script.status(), production_signs=("2 replicas attached",))
    async with viewer(script.hello(60, production)) as it:
        await it.press("l")
        await it.hear(ACTIVITY)
        it.client.submitted.clear()
        await it.press("K")
        words = screen_text(it)
        assert "This looks like a production server: 2 replicas attached." in words
        assert "yes, close it" in words
        await it.press("y")
        assert it.client.submitted == [CloseConnection(90)]


async def test_what_the_login_may_not_end_is_said_before_any_question() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(msgspec.structs.replace(ACTIVITY, ends_only="poor"))
        it.client.submitted.clear()
        for key in ("k", "K"):
            await it.press(key)
            assert isinstance(it.app.screen, SessionsScreen)
            assert "this login (poor) may end only its own sessions" in screen_text(it)
        owner = next(each.user for each in ACTIVITY.blockers if each.id == 90)
        await it.hear(msgspec.structs.replace(ACTIVITY, ends_only=owner))
        await it.press("K")
        assert isinstance(it.app.screen, ConfirmDialog)
        await it.press("n")
        assert it.client.submitted == []


async def test_tuibenchs_own_connection_is_never_closed() -> None:
    (first, *rest) = ACTIVITY.waits
    ours = msgspec.structs.replace(first, waiting_is_ours=True)
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(msgspec.structs.replace(ACTIVITY, waits=(ours, *rest)))
        it.client.submitted.clear()
        places = [row.id for row in lock_rows(ACTIVITY)]
        await it.press(*["down"] * places.index(first.waiting), "K")
        assert chosen(it) == first.waiting
        assert isinstance(it.app.screen, SessionsScreen)
        assert "one of tuibench's own" in screen_text(it)
        assert it.client.submitted == []


async def test_a_read_only_viewer_closes_nothing() -> None:
    async with viewer(script.hello(60), read_only=True) as it:
        await it.press("l")
        await it.hear(ACTIVITY)
        it.client.submitted.clear()
        await it.press("K", "y")
        assert it.client.submitted == []


async def test_enter_shows_the_statement_in_full_and_asks_for_it_while_it_is_shown() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(ACTIVITY)
        it.client.submitted.clear()
        await it.press("enter")
        assert it.client.submitted == [Watch("activity", connection=90)]
        assert "STATEMENT OF 90" in screen_text(it)
        detail = SessionDetail(
            id=90, statement="UPDATE t SET a = ?", plan=(("table", "key"), ("t", "PRIMARY"))
        )
        await it.hear(SAMPLES[0], msgspec.structs.replace(ACTIVITY, details=(detail,)))
        assert it.client.submitted[-1] == Watch("activity", connection=90)
        assert "PRIMARY" in screen_text(it)
        await it.press("escape")
        assert isinstance(it.app.screen, SessionsScreen)
        assert "STATEMENT OF 90" not in screen_text(it)
        await it.hear(SAMPLES[1])
        assert it.client.submitted[-1] == Watch("activity")


async def test_without_sessions_no_query_can_be_killed() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(msgspec.structs.replace(ACTIVITY, sessions=(), others=0, waits=(), blockers=()))
        it.client.submitted.clear()
        await it.press("down", "k", "y", "K", "y")
        assert it.client.submitted == []
        assert isinstance(it.app.screen, SessionsScreen)


async def test_words_find_sessions_and_escape_shows_all_again() -> None:
    """The letters are no keys meanwhile: `k` is typed, and ends no query."""
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(ACTIVITY)
        it.client.submitted.clear()
        await it.press("slash", *"stat", "space", *"BI2")
        assert "0 of the 5 shown match; esc shows all" in listed(it)
        await it.press(*["backspace"] * 8, *"monk")
        await it.press(*["backspace"] * 4, *"10.0", "enter")
        assert "2 of the 5 shown match" in listed(it)
        assert "report@bi2" not in listed(it)
        assert "tuibench ×" not in listed(it)
        assert chosen(it) == 91
        await it.press("down", "down")
        assert chosen(it) == 64
        await it.press("k")
        assert "End the query of connection 64" in screen_text(it)
        await it.press("n", "escape")
        assert "report@bi2" in listed(it)
        assert chosen(it) == 64
        await it.press("escape")
        assert isinstance(it.app.screen, LiveScreen)
        assert it.client.submitted == []


async def test_only_what_changed_is_painted_again() -> None:
    """The same list again changes no cell: nothing flickers."""
    async with viewer(script.hello(60)) as it:
        await it.press("l")
        await it.hear(ACTIVITY)
        panel = it.app.screen.query_one("#session-list", Panel)
        painted: list[object] = []
        panel.refresh = lambda *regions, **_: painted.extend(regions)  # type: ignore[method-assign, assignment]
        await it.hear(ACTIVITY)
        assert painted == []
        await it.press("down", "down", "down")
        assert painted
        painted.clear()
        await it.press("down")
        assert len(painted) == 2


async def test_a_production_server_is_changed_after_an_explicit_yes() -> None:
    production = msgspec.structs.replace(script.status(), production_signs=("2 replicas attached",))
    async with viewer(script.hello(60, production)) as it:
        await it.press("d", "down", "down", "enter")
        assert "This looks like a production server: 2 replicas attached." in screen_text(it)
        assert "yes, change this server" in screen_text(it)
        await it.press("n", "escape")
        assert it.client.submitted == []
        await it.press("d", "down", "down", "enter", "y")
        assert it.client.submitted == [TrustServer(), ApplyPreset("unsafe")]


async def test_any_other_server_is_not_called_production() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("d", "down", "down", "enter")
        assert "production" not in screen_text(it)
        await it.press("y")
        assert it.client.submitted == [ApplyPreset("unsafe")]
