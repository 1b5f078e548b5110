"""One key press makes one message, one view and one paint, whatever the session says in answer to it."""

from collections import Counter
from typing import Any

import pytest
from textual.app import App

from tests.tui.support import script
from tests.tui.support.driving import viewer
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Command, CommandReply, SetThreads
from tuibench.tui.app import TuibenchApp
from tuibench.tui.screens.base import MainScreen

THREADS_CHANGED = Event(
    at=0.0, elapsed_seconds=59.5, kind=EventKind.THREADS, text="threads 64 → 128", marker=4
)


def count_calls(monkeypatch: pytest.MonkeyPatch, counted: Counter[str], owner: type, name: str) -> None:
    original = getattr(owner, name)

    def counting(self: Any, *given: Any) -> Any:
        counted[name] += 1
        return original(self, *given)

    monkeypatch.setattr(owner, name, counting)


def count_views(monkeypatch: pytest.MonkeyPatch, counted: Counter[str]) -> None:
    set_attribute = TuibenchApp.__setattr__

    def counting(self: TuibenchApp, name: str, value: object) -> None:
        counted["view"] += name == "view"
        set_attribute(self, name, value)

    monkeypatch.setattr(TuibenchApp, "__setattr__", counting)


async def test_a_key_press_makes_one_message_one_view_and_one_paint(monkeypatch: pytest.MonkeyPatch) -> None:
    async with viewer(script.hello(60)) as it:

        async def submit(command: Command) -> CommandReply:
            it.client.submitted.append(command)
            it.client.say(THREADS_CHANGED, script.status(threads=128))
            return CommandReply(id=1, ok=True, text="threads: 128")

        monkeypatch.setattr(it.client, "submit", submit)
        counted: Counter[str] = Counter()
        count_views(monkeypatch, counted)
        for owner, name in (
            (TuibenchApp, "on_updates_arrived"),
            (MainScreen, "show"),
            (App, "_display"),
        ):
            count_calls(monkeypatch, counted, owner, name)
        await it.press("right_square_bracket")
        assert it.client.submitted == [SetThreads(128)]
        assert counted == {"on_updates_arrived": 1, "view": 1, "show": 1, "_display": 1}
        assert "128 threads" in it.shown("head")
        assert "threads 64 → 128" in it.shown("events")
        assert it.shown("note") == "✓ threads: 128"


async def test_the_next_press_starts_from_the_number_that_the_session_reports() -> None:
    async with viewer(script.hello(60)) as it:
        await it.press("right_square_bracket")
        await it.hear(script.status(threads=100))
        await it.press("right_square_bracket")
        assert it.client.submitted == [SetThreads(128), SetThreads(200)]
