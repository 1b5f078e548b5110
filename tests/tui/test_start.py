"""The start form: enter does what the footer says, a field that is wrong says what, work can be cancelled."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input

from tests.tui.support import start
from tests.tui.support.driving import LARGE, SMALL
from tests.tui.support.start import FakeController
from tuibench.base.errors import ServerUnavailableError
from tuibench.features.start.screen import (
    EnterAction,
    OptionSuggester,
    ServerCheck,
    StartApp,
    StartScreen,
    enter_action,
)
from tuibench.model.findings import Severity
from tuibench.tui.styled_app import DEFAULT_DISPLAY, DisplayOptions

PATIENCE_SECONDS = 30.0


class Form:
    """The form, driven by keys."""

    def __init__(self, app: StartApp, pilot: Pilot[Path]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        for _ in range(3):
            await self.pilot.pause()

    async def sees(self, words: str) -> None:
        """Wait for what is painted by the clock, not by a key."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while words not in self.text:
                await self.pilot.pause()

    @property
    def screen(self) -> StartScreen:
        assert isinstance(self.app.screen, StartScreen)
        return self.app.screen

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)


@asynccontextmanager
async def form(
    controller: FakeController, size: tuple[int, int] = LARGE, display: DisplayOptions = DEFAULT_DISPLAY
) -> AsyncIterator[Form]:
    app = StartApp(controller, display)
    async with app.run_test(size=size) as pilot:
        found = Form(app, pilot)
        await found.press()
        yield found


async def test_enter_starts_a_demonstration_at_once() -> None:
    controller = FakeController()
    async with form(controller) as it:
        before = it.text
        await it.press("ctrl+p")
        assert it.text == before, "no menu that is not ours"
        assert "enter start" in it.text
        await it.press("enter")
        assert it.app.return_value == Path("/run/1.sock")
    assert controller.asked == [("launch", controller.first)]


async def test_keys_that_come_in_one_burst_with_tab_reach_the_next_field() -> None:
    async with form(FakeController()) as it:
        it.app.screen.query_one("#field-threads", Input).focus()
        await it.press()
        for key, character in (("1", "1"), ("tab", "\t"), ("7", "7"), ("shift+tab", None), ("2", "2")):
            it.app.post_message(Key(key, character))
        await it.press()
        assert (it.screen.answers.threads, it.screen.answers.seconds) == ("2", "7")


async def test_a_server_that_is_not_ours_is_looked_at_first() -> None:
    controller = FakeController(start.READY)
    async with form(controller) as it:
        await it.press("down")
        assert "enter check the server" in it.text
        await it.press("enter")
        assert [name for name, _ in controller.asked] == ["examine"]
        assert "All checks passed." in it.text
        assert "11 checks passed" in it.text
        assert "another session of 3 connections is idle" in it.text
        await it.press("enter")
        assert [name for name, _ in controller.asked] == ["examine", "launch"]
    _, answers = controller.asked[-1]
    assert (answers.server, answers.place, answers.user, answers.database) == ("files:", "db1", "app", "shop")


async def test_a_long_remedy_continues_below_its_first_word() -> None:
    remedy = "create the tables with: " + " ".join(f"--option-{number}=value" for number in range(8))
    found = "two findings " * 8
    outlook = ServerCheck((start.finding(Severity.NEXT, found, remedy),))
    async with form(FakeController(outlook), SMALL) as it:
        await it.press("down", "enter")
        lines = it.text.splitlines()
    first = next(number for number, line in enumerate(lines) if "create the tables" in line)
    indent = lines[first].index("create")
    assert [line.index(line.split()[0]) for line in lines[first + 1 : first + 3]] == [indent, indent]
    assert lines[first - 1].index("findings") == indent - 2


async def test_missing_tables_are_made_and_looked_at_before_the_start() -> None:
    controller = FakeController(start.MISSING, start.READY)
    async with form(controller, SMALL) as it:
        await it.press("down", "enter")
        assert "Enter creates the missing tables: 4 × 100,000 rows." in it.text
        assert "no such table" in it.text
        await it.press("enter")
        assert "All checks passed." in it.text
        await it.press("enter")
    assert [name for name, _ in controller.asked] == ["examine", "make", "examine", "launch"]


async def test_what_stops_a_run_does_not_start() -> None:
    controller = FakeController(start.BLOCKED, start.DOUBTFUL)
    async with form(controller) as it:
        await it.press("down", "enter")
        assert "✗ the server is read-only" in it.text
        assert "→ run on the primary" in it.text
        await it.press("enter")
        assert "enter start anyway" in it.text
        assert "▲ 2 replicas read the binary log" in it.text
    assert [name for name, _ in controller.asked] == ["examine", "examine"]


async def test_a_change_makes_what_was_seen_void() -> None:
    controller = FakeController(start.READY, start.READY)
    async with form(controller) as it:
        await it.press("down", "enter")
        assert "enter start" in it.text
        it.screen.query_one("#field-threads").focus()
        await it.press("6")
        assert it.screen.answers.threads == "6"
        assert "enter check the server" in it.text
        await it.press("f5")
    assert [name for name, _ in controller.asked] == ["examine", "examine"]


async def test_a_field_that_is_wrong_says_what() -> None:
    controller = FakeController()
    async with form(controller) as it:
        it.screen.query_one("#field-threads").focus()
        await it.press("x")
        assert "▲threads" in it.text
        assert "✗ threads: 'x' is not a whole number" in it.text
        assert it.screen.query_one("#field-threads").has_class("-wrong")
        await it.press("enter")
        assert controller.asked == []
        await it.press("backspace", "8")
        assert "▲threads" not in it.text


async def test_another_server_is_typed() -> None:
    controller = FakeController(start.READY)
    async with form(controller) as it:
        await it.press("end")
        assert "✗ at: a host, host:port, or the path of a socket" in it.text
        await it.press("tab", *"db9", "tab", *"me", "tab", *"secret")
        assert it.screen.answers.password == "secret"
        assert "secret" not in it.text
        await it.press("enter")
    name, answers = controller.asked[0]
    assert (name, answers.place, answers.user, answers.password) == ("examine", "db9", "me", "secret")
    assert "secret" not in repr(answers)


async def test_a_profile_brings_its_options_unless_they_were_typed() -> None:
    async with form(FakeController()) as it:
        it.screen.query_one("#profiles").focus()
        await it.press("end")
        assert it.screen.answers.options == "--scale=10"
        field = it.screen.query_one("#field-options", Input)
        assert field.value == "--scale=10"
        field.focus()
        await it.press("end", "0")
        it.screen.query_one("#profiles").focus()
        await it.press("home")
        assert (it.screen.answers.profile, it.screen.answers.options) == ("oltp_read_write", "--scale=100")


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("--tables=4 --rec", "--tables=4 --reconnect="),
        ("--ra", "--rate="),
        ("--tables=4 ", None),
        ("--x", None),
    ],
)
async def test_options_of_the_load_are_suggested(typed: str, suggested: str | None) -> None:
    assert await OptionSuggester(FakeController()).get_suggestion(typed) == suggested


async def test_long_work_shows_how_far_it_is_and_can_be_cancelled() -> None:
    controller = FakeController(start.MISSING)
    async with form(controller) as it:
        await it.press("down", "enter")
        controller.hold()
        await it.press("enter")
        await it.sees("45%")
        assert "loading 4 × 100,000 rows, 196,512 rows/s" in it.text
        assert "esc cancel" in it.text
        await it.press("enter", "f5")
        await it.press("escape")
        assert "Cancelled: nothing was changed." in it.text
        assert controller.undone
        assert it.app.is_running
    assert [name for name, _ in controller.asked] == ["examine", "make"]


async def test_who_leaves_in_the_middle_of_work_has_it_undone() -> None:
    controller = FakeController()
    async with form(controller) as it:
        controller.hold()
        await it.press("enter")
        it.app.exit()
    assert controller.undone


async def test_a_server_that_is_away_is_said_in_words_with_a_remedy() -> None:
    controller = FakeController(start.READY)
    controller.failure = ServerUnavailableError("cannot reach a server at db1:3306", "is it running?")
    async with form(controller) as it:
        await it.press("down", "enter")
        assert "✗ cannot reach a server at db1:3306" in it.text
        assert "→ is it running?" in it.text
        await it.press("enter")
        assert "All checks passed." in it.text


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_it_can_be_left(key: str) -> None:
    async with form(FakeController()) as it:
        await it.press(key)
    assert it.app.return_value is None
    assert it.app.return_code == 0


async def test_a_small_terminal_gets_the_headless_advice() -> None:
    async with form(FakeController(), (70, 20)) as it:
        assert "this terminal has 70×20" in it.text
        assert "tuibench run --help" in it.text
        await it.pilot.resize_terminal(80, 24)
        await it.press()
        assert "Private demo server" in it.text


async def test_everything_fits_the_smallest_terminal() -> None:
    async with form(FakeController(start.DOUBTFUL), SMALL) as it:
        await it.press("down", "enter")
        for words in (
            "SERVER",
            "app@db1",
            "password",
            "LOAD",
            "tpcc",
            "threads",
            "--tables=4",
            "enter start",
        ):
            assert words in it.text
        assert "▲ 2 replicas" in it.text


async def test_a_plain_terminal_gets_plain_characters() -> None:
    async with form(FakeController(start.DOUBTFUL), display=DisplayOptions(ascii_only=True)) as it:
        await it.press("down", "enter")
        assert it.text.isascii()


@pytest.mark.parametrize(
    ("outlook", "is_private", "expected"),
    [
        (None, True, EnterAction.START),
        (None, False, EnterAction.CHECK),
        (start.READY, False, EnterAction.START),
        (start.DOUBTFUL, False, EnterAction.START_ALL_THE_SAME),
        (start.MISSING, False, EnterAction.MAKE),
        (start.BLOCKED, False, EnterAction.RECHECK),
    ],
)
def test_what_comes_next(outlook: ServerCheck | None, is_private: bool, expected: EnterAction) -> None:
    assert enter_action(outlook, is_private=is_private) is expected
