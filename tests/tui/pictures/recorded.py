"""The README's first picture: a recorded run of `tuibench demo`, replayed, as one animated SVG.

The record in `tests/data/durability-run` has the samples, events and states of a real run in which the preset
`unsafe` was applied. The screens are drawn from it as `tuibench replay` draws them; the dialog is opened at
the moment of the change, as in the run.
"""

from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any

from textual.pilot import Pilot

from tests.paths import DATA
from tests.tui.pictures.animation import ASK_SECONDS, CARD_SECONDS, SIZE, TICK_SECONDS, Frame, frame_after
from tests.tui.support.fake import FakeClient
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Status
from tuibench.record.reader import load_run
from tuibench.session.replay import ReplayClient, TimedMessage, timed_messages
from tuibench.tui.app import TuibenchApp
from tuibench.tui.styled_app import DisplayOptions

FOLDER = DATA / "durability-run"
PRESET = "unsafe"
SECONDS_BEFORE, SECONDS_AFTER = 9.0, 2.0
"""Of the run: shown before the change, and after its effect is known."""


async def recorded_story() -> list[Frame]:
    """The run from shortly before the change until its effect is known."""
    run = load_run(FOLDER)
    client = FakeClient(ReplayClient(run).hello)
    app = TuibenchApp(client.connected, DisplayOptions(theme="tuibench-dark"))
    async with app.run_test(size=SIZE) as pilot:
        return [frame async for frame in _frames(app, pilot, client, timed_messages(run))]


async def _frames(
    app: TuibenchApp, pilot: Pilot[Any], client: FakeClient, moments: Sequence[TimedMessage]
) -> AsyncIterator[Frame]:
    changed = next(at for at, each in moments if _shows_change(each))
    known = next(at for at, each in moments if _is_event(each, EventKind.EFFECT))
    has_asked = False
    for at_seconds, several in groupby(moments, lambda each: each[0]):
        if at_seconds > known + SECONDS_AFTER:
            break
        if at_seconds >= changed and not has_asked:
            has_asked = True
            for keys in _dialog_keys(app):
                yield await frame_after(app, pilot, ASK_SECONDS, *keys)
            await frame_after(app, pilot, 0.0, "y")
        client.say(*(message for _, message in several))
        frame = await frame_after(app, pilot, TICK_SECONDS)
        if at_seconds > changed - SECONDS_BEFORE:
            yield frame
    yield await frame_after(app, pilot, CARD_SECONDS)
    yield await frame_after(app, pilot, CARD_SECONDS, "b")


def _shows_change(message: object) -> bool:
    """Whether it is the first to tell the new values: their event, or a state just before it."""
    if isinstance(message, Status):
        return any(setting.value != setting.original for setting in message.settings)
    return _is_event(message, EventKind.SETTING)


def _is_event(message: object, kind: EventKind) -> bool:
    return isinstance(message, Event) and message.kind is kind


def _dialog_keys(app: TuibenchApp) -> list[list[str]]:
    """Opens the dialog, goes to the preset, and asks for it."""
    status = app.view.status if app.view is not None else None
    assert isinstance(status, Status)
    names = [preset.name for preset in status.presets]
    return [["d"], ["down"] * names.index(PRESET), ["enter"]]
