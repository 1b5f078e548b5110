"""The pictures of the screens, to be looked at when they change: `pytest --snapshot-update`."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui import pictures, script
from tests.tui.driving import LARGE, SMALL
from tests.tui.fake import FakeClient
from tests.tui.pictures import Picture
from tuibench.tui.app import TuibenchApp
from tuibench.tui.look import Look

EXTRA = (
    Picture("events-ansi-120x36", LARGE, script.hello(), ("7",), look=Look(theme="ansi-dark")),
    Picture("events-ansi-80x24", SMALL, script.hello(), ("7",), look=Look(theme="ansi-light")),
    Picture("big-ansi-80x24", SMALL, script.hello(), ("b",), look=Look(theme="ansi-dark")),
    Picture("big-120x36-ascii", LARGE, script.hello(), ("b",), look=Look(ascii_only=True)),
    Picture("settings-ansi-120x36", LARGE, pictures.CATALOGUE, ("5",), look=Look(theme="ansi-dark")),
    Picture("live-ansi-80x24", SMALL, script.hello(), look=Look(theme="ansi-dark")),
    Picture("live-ascii-80x24", SMALL, script.hello(), look=Look(ascii_only=True)),
    Picture("live-starting-120x36", LARGE, script.hello(0, events=())),
)


@pytest.mark.parametrize("picture", [*pictures.PICTURES, *EXTRA], ids=lambda picture: picture.name)
def test_picture(picture: Picture, snap_compare: Callable[..., bool]) -> None:
    client = FakeClient(picture.hello)
    app = TuibenchApp(client.connected, picture.look)

    async def lead(pilot: Pilot[Any]) -> None:
        await pictures.play(picture, client, pilot)

    assert snap_compare(app, run_before=lead, terminal_size=picture.size)


@pytest.mark.parametrize("size", [LARGE, SMALL])
def test_without_colour(
    size: tuple[int, int], snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    app = TuibenchApp(FakeClient(script.hello()).connected)
    assert app.theme == "ansi-dark"
    assert snap_compare(app, terminal_size=size)
