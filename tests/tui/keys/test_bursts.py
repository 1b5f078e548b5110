"""Keys that come all at once lose none of them: each acts on what the one before has made of the screen."""

import asyncio
from functools import partial

import pytest
from msgspec.structs import replace
from textual.events import Key, Paste
from textual.keys import key_to_character

from tests.tui.support import catalogue, script
from tests.tui.support.driving import DEADLINE_SECONDS, Viewer, viewer
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Command,
    Mark,
    SetDelay,
    SetRate,
    SetThreads,
    SetWeights,
    StartProbe,
    Stop,
)
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import Quantity
from tuibench.tui import styled_app
from tuibench.tui.screens.dialogs import InputDialog
from tuibench.tui.styled_app import KeyQueue

STATUS = replace(script.status(weights={"one": 1.0, "two": 2.0}), settings=catalogue.STATES)
HELLO = replace(script.hello(60), status=STATUS)
BURSTS: dict[str, tuple[tuple[str, ...], list[Command]]] = {
    "a number of threads": ((*"t48", "enter"), [SetThreads(48)]),
    "dialog after dialog": (
        (*"t48", "enter", *"r120", "enter", *"n5ms", "enter", "space"),
        [SetThreads(48), SetRate(120), SetDelay(5), Mark()],
    ),
    "a dialog that is left": ((*"t48", "escape", *"r7", "enter"), [SetRate(7)]),
    "weights": ((*"wone", "equals_sign", "9", "enter"), [SetWeights({"one": 9.0})]),
    "a probe": ((*"Prate", "enter"), [StartProbe(ProbeOrder(by=Quantity.RATE))]),
    "a preset and its question": (("d", "up", "up", "enter", "y"), [ApplyPreset("durable")]),
    "another screen, a search, a value, its question, and back": (
        ("g", "slash", *"io_capacity", "enter", "enter", *"4000", "enter", *"y1t9", "enter"),
        [ChangeSetting("innodb_io_capacity", "4000"), SetThreads(9)],
    ),
    "a mistake that is mended": (
        (*"t9x", "enter", "backspace", "backspace", "6", "enter", "space"),
        [SetThreads(6), Mark()],
    ),
    "the help, and threads afterwards": (("question_mark", "escape", *"t6", "enter"), [SetThreads(6)]),
    "the palette": (("ctrl+p", *"mark", "down", "escape", *"t6", "enter"), [SetThreads(6)]),
    "the end": ((*"qs",), [Stop()]),
}


def has_submitted(it: Viewer, number: int) -> bool:
    return len(it.client.submitted) >= number


async def test_no_key_is_lost() -> None:
    """In the order of the table: the last burst ends the run."""
    async with viewer(HELLO, owner=False) as it:
        for burst, (keys, expected) in BURSTS.items():
            await it.burst("escape", "1")
            it.client.submitted.clear()
            await it.burst(*keys)
            await it.until(partial(has_submitted, it, len(expected)))
            assert it.client.submitted == expected, burst


async def test_what_is_pasted_behind_a_key_goes_where_that_leads() -> None:
    async with viewer(HELLO) as it:
        for typed in (Key("t", "t"), Paste("48"), Key("enter", None)):
            it.app.post_message(typed)
        await it.until(lambda: bool(it.client.submitted))
        assert it.client.submitted == [SetThreads(48)]


async def test_keys_wait_for_a_dialog_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, or when the program is stopped in the middle, that can be any time."""
    may_open, looked = asyncio.Event(), asyncio.Semaphore(0)
    let_through = KeyQueue._let_ending_keys_through

    def look(keys: KeyQueue) -> None:
        looked.release()
        let_through(keys)

    async def slow_mount(_: InputDialog) -> None:
        await may_open.wait()

    monkeypatch.setattr(styled_app, "HANG_SECONDS", 0.001)
    monkeypatch.setattr(styled_app, "CHECK_SECONDS", 0.001)
    monkeypatch.setattr(KeyQueue, "_let_ending_keys_through", look)
    monkeypatch.setattr(InputDialog, "on_mount", slow_mount, raising=False)
    async with viewer(HELLO) as it:
        for key in (*"t7", "enter", *"r50", "enter"):
            it.app.post_message(Key(key, key_to_character(key)))
        async with asyncio.timeout(DEADLINE_SECONDS):
            for _ in range(5):
                await looked.acquire()
        may_open.set()
        await it.until(lambda: len(it.client.submitted) >= 2)
        assert it.client.submitted == [SetThreads(7), SetRate(50)]


async def test_commands_of_one_kind_in_one_burst_are_all_sent() -> None:
    """The session may take longer for the first than typing the second takes."""
    async with viewer(HELLO) as it:
        it.client.hold()
        await it.burst(*"r120", "enter", *"r50", "enter", "space", "space")
        await it.until(lambda: len(it.client.submitted) >= 2)
        assert it.client.submitted == [SetRate(120), Mark()]
        it.client.release()
        await it.until(lambda: len(it.client.submitted) >= 3)
        assert it.client.submitted == [SetRate(120), Mark(), SetRate(50)]


async def test_a_part_that_hangs_does_not_keep_the_keyboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(styled_app, "HANG_SECONDS", 0.01)
    released, left = asyncio.Event(), asyncio.Event()
    async with viewer(HELLO) as it:
        monkeypatch.setattr(it.app, "exit", left.set)
        it.app.screen.call_later(released.wait)
        for key in ("space", "ctrl+q"):
            it.app.post_message(Key(key, None))
        async with asyncio.timeout(DEADLINE_SECONDS):
            await left.wait()
        released.set()
