"""The pictures of the screens, to be looked at when they change: `pytest --snapshot-update`."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.tui import pictures, script
from tests.tui.animation import animated, story
from tests.tui.driving import LARGE, SMALL
from tests.tui.fake import FakeClient
from tests.tui.pictures import Form, Picture
from tests.tui.start import DOUBTFUL, MISSING, FakeBackstage
from tuibench.tui.app import TuibenchApp
from tuibench.tui.look import Look
from tuibench.tui.start.app import StartApp

ANSI = Look(theme="ansi-dark")
PLACES = {"latency": "2", "server": "3", "host": "4"}
EXTRA = (
    Picture("events-ansi-120x36", LARGE, script.hello(), ("7",), look=Look(theme="ansi-dark")),
    Picture("events-ansi-80x24", SMALL, script.hello(), ("7",), look=Look(theme="ansi-light")),
    Picture("big-ansi-80x24", SMALL, script.hello(), ("b",), look=Look(theme="ansi-dark")),
    Picture("big-120x36-ascii", LARGE, script.hello(), ("b",), look=Look(ascii_only=True)),
    Picture("settings-ansi-120x36", LARGE, pictures.CATALOGUE, ("5",), look=Look(theme="ansi-dark")),
    Picture("live-ansi-80x24", SMALL, script.hello(), look=Look(theme="ansi-dark")),
    *(
        Picture(f"{name}-ansi-80x24", SMALL, script.hello(), (key,), look=ANSI)
        for name, key in PLACES.items()
    ),
    *(
        Picture(f"{name}-ansi-120x36", LARGE, script.hello(), (key,), look=ANSI)
        for name, key in PLACES.items()
    ),
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


FORMS = (
    *pictures.FORMS,
    Form("start-doubtful-120x36", LARGE, DOUBTFUL, ("down", "enter")),
    Form("start-another-80x24", SMALL, keys=("end",)),
    Form("start-ansi-80x24", SMALL, MISSING, ("down", "enter"), look=Look(theme="ansi-dark")),
    Form("start-ansi-120x36", LARGE, look=Look(theme="ansi-light")),
)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_form(form: Form, snap_compare: Callable[..., bool]) -> None:
    async def lead(pilot: Pilot[Any]) -> None:
        await pictures.fill(form, pilot)

    app = StartApp(FakeBackstage(form.outlook), form.look)
    assert snap_compare(app, run_before=lead, terminal_size=form.size)


@pytest.mark.parametrize("size", [LARGE, SMALL])
@pytest.mark.parametrize("key", ["2", "3", "4", "5", "7", "b"])
def test_screens_without_colour(
    key: str, size: tuple[int, int], snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    app = TuibenchApp(FakeClient(pictures.CATALOGUE).connected)
    assert snap_compare(app, press=[key], terminal_size=size)


async def test_the_animated_toggle_tells_the_story_and_stays_small() -> None:
    drawn = animated(await story())
    assert len(drawn) < 500_000
    for words in (
        "Durability: what survives a crash",
        "Preset unsafe",
        "AT RISK",
        "+55 % (49..61 %)",
        "DURABLE",
    ):
        assert words in drawn
    assert drawn.count("<animate ") > 100
