"""How a viewer ends: the session's last word, a second q, a signal, a session that is gone."""

import asyncio
import os
import signal

import pytest
from msgspec.structs import replace
from textual.widgets import Static

from tests.tui.support import script
from tests.tui.support.driving import SMALL, viewer
from tests.tui.support.fake import FakeClient
from tuibench.base.errors import RunError, UsageError
from tuibench.cli.options import ScreenOptions
from tuibench.model.message import CommandReply, Stop
from tuibench.tui import app as app_module
from tuibench.tui.app import TuibenchApp
from tuibench.tui.panels.bars import QUIT_AGAIN_HINT
from tuibench.tui.screens.dialogs import StopDialog
from tuibench.tui.screens.monitor import LiveScreen


async def test_q_waits_for_the_summary() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("q")
        assert QUIT_AGAIN_HINT in it.shown("note")
        assert it.app.is_running
        await it.hear(script.ended())
    assert it.app.return_value == script.ended()
    assert it.app.failure is None
    assert it.client.closed


@pytest.mark.parametrize("second", ["q", "ctrl+c"])
async def test_a_second_time_leaves_at_once(second: str) -> None:
    async with viewer(script.hello(60)) as it:
        it.client.hold()
        await it.press("q", second)
        assert it.client.submitted == [Stop()]
    assert it.app.return_value is None
    assert it.app.failure is None


async def test_a_refused_stop_can_be_asked_again() -> None:
    async with viewer(script.hello(60)) as it:
        it.client.answer = CommandReply(id=1, ok=False, text="still starting")
        await it.press("q")
        assert it.shown("note") == "✗ still starting"
        await it.press("q")
        assert it.client.submitted == [Stop(), Stop()]


async def test_a_run_of_more_than_a_minute_is_not_ended_by_one_key() -> None:
    async with viewer(script.hello(61)) as it:
        await it.press("q", "escape")
        assert it.client.submitted == []
        await it.press("q", "s")
        assert it.client.submitted == [Stop()]


async def test_ctrl_c_asks_nothing() -> None:
    async with viewer(script.hello(61)) as it:
        await it.press("ctrl+c")
        assert it.client.submitted == [Stop()]


@pytest.mark.parametrize("key", ["x", "ctrl+q"])
async def test_a_viewer_can_leave_and_the_session_goes_on(key: str) -> None:
    async with viewer(script.hello(60)) as it:
        await it.press(key)
    assert it.client.submitted == []
    assert it.client.closed
    assert it.app.return_value is None


async def test_who_did_not_start_the_run_is_asked_before_it_ends() -> None:
    async with viewer(script.hello(60), owner=False) as it:
        await it.press("q", "escape")
        assert it.client.submitted == []
        await it.press("q", "s")
        assert it.client.submitted == [Stop()]


async def test_who_did_not_start_the_run_may_leave_it_at_the_question() -> None:
    async with viewer(script.hello(60), owner=False) as it:
        await it.press("q", "x")
    assert it.client.submitted == []
    assert it.app.return_value is None


OVER_ALL = {
    "a dialog": ("t", "4"),
    "a question over it": ("d", "down", "down", "enter"),
    "the help": ("question_mark",),
    "the menu": ("ctrl+p",),
    "the way out": ("q",),
}


@pytest.mark.whole
@pytest.mark.parametrize("over", OVER_ALL)
async def test_a_session_that_ends_takes_along_whatever_is_open(over: str) -> None:
    async with viewer(script.hello(60), owner=False) as it:
        await it.press(*OVER_ALL[over])
        assert len(it.app.screen_stack) > 2
        await it.hear(script.samples(61)[-1], script.ended())
    assert it.app.return_value == script.ended()
    assert it.app.failure is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_leaves_quietly_and_the_session_goes_on(number: signal.Signals) -> None:
    async with viewer(script.hello(60)) as it:
        os.kill(os.getpid(), number)
        await it.settle()
    assert it.client.submitted == []
    assert it.client.closed
    assert it.app.failure is None


@pytest.mark.parametrize("over", [(), OVER_ALL["a question over it"], OVER_ALL["the menu"]])
async def test_a_lost_session_is_said_in_words_whatever_is_open(over: tuple[str, ...]) -> None:
    async with viewer(script.hello(60)) as it:
        await it.press(*over)
        it.client.hang_up()
        await it.settle()
    assert isinstance(it.app.failure, RunError)
    assert it.app.failure.message == "the session ended without a summary"
    assert "tuibench restore" in it.app.failure.hint


async def test_hanging_up_after_the_summary_is_no_loss() -> None:
    async with viewer(script.hello(60)) as it:
        it.client.say(script.ended())
        it.client.hang_up()
        await it.settle()
    assert it.app.failure is None
    assert it.app.return_value == script.ended()


async def test_a_command_that_the_session_took_to_its_grave_is_a_refusal() -> None:
    class Dying(FakeClient):
        async def submit(self, command: object) -> CommandReply:
            raise RunError("the session ended before it answered")

    app = TuibenchApp(Dying(script.hello(60)).connected)
    async with app.run_test() as pilot:
        await pilot.press("plus")
        await pilot.pause()
        assert app.view is not None
        assert app.view.note is not None
        assert app.view.note.text == "the session ended before it answered"


async def test_a_session_that_cannot_be_joined_ends_the_viewer() -> None:
    async def refuse() -> FakeClient:
        raise RunError("no session answers")

    app = TuibenchApp(refuse)
    async with app.run_test() as pilot:
        await pilot.pause()
    assert app.failure is not None
    assert app.return_code == 1


def test_an_unknown_theme_is_reported_before_the_screen_opens() -> None:
    with pytest.raises(UsageError, match="no theme 'pink'"):
        ScreenOptions(theme="pink").display_options()


def test_signals_are_the_loops_own_again_afterwards() -> None:
    async def visit() -> bool:
        async with viewer(script.hello(60)):
            pass
        return asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)

    assert asyncio.run(visit()) is False


CHANGED = ("innodb_flush_log_at_trx_commit", "sync_binlog")


@pytest.mark.parametrize(
    ("key", "stop", "lines"),
    [
        ("y", Stop(), ()),
        ("k", Stop(keeps=True), ()),
        ("l", Stop(), ("innodb_flush_log_at_trx_commit = 0", "sync_binlog = 0")),
    ],
)
async def test_changed_settings_are_put_back_kept_or_printed(
    key: str, stop: Stop, lines: tuple[str, ...]
) -> None:
    """The story ends with the preset unsafe; it is asked even in the first minute."""
    hello = script.hello(60, script.own_changes(script.status(durability=("0", "0"))))
    async with viewer(hello) as it:
        await it.press("q")
        assert it.client.submitted == []
        assert isinstance(it.app.screen, StopDialog)
        told = " ".join(str(each.content) for each in it.app.screen.query(Static))
        assert all(f"{name:<32} 0, was 1" in told for name in CHANGED)
        assert "2 settings differ: put back, keep until the server restarts, or print the lines" in told
        await it.press(key)
        assert it.client.submitted == [stop]
        await it.hear(script.ended())
    assert it.app.return_value == replace(script.ended(), option_lines=lines)


async def test_without_changed_settings_there_is_nothing_to_keep() -> None:
    async with viewer(script.hello(61)) as it:
        await it.press("q", "k", "l")
        assert it.client.submitted == []
        await it.press("y")
        assert it.client.submitted == [Stop()]


async def test_a_session_that_does_not_answer_is_named_and_can_be_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app_module, "UNSAID_SECONDS", 0.0)
    answer: asyncio.Future[FakeClient] = asyncio.get_running_loop().create_future()

    async def connect() -> FakeClient:
        return await answer

    app = TuibenchApp(connect)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        assert "connecting to the session" in str(app.screen.query_one("#connecting", Static).content)
        answer.set_result(FakeClient(script.hello(10)))
        while not isinstance(app.screen, LiveScreen):
            await pilot.pause()
    never: asyncio.Future[FakeClient] = asyncio.get_running_loop().create_future()

    async def hung() -> FakeClient:
        return await never

    app = TuibenchApp(hung)
    async with app.run_test(size=SMALL) as pilot:
        await pilot.pause()
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert not app.is_running
    assert app.failure is None
