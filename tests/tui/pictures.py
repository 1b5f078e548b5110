"""Draw the screens as SVG from the scripted run: `python -m tests.tui.pictures [FOLDER]`."""

import asyncio
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from textual.pilot import Pilot

from tests.tui import catalogue, script
from tests.tui.animation import animated, story
from tests.tui.fake import FakeClient
from tests.tui.probed import OVER, UNDER_WAY
from tests.tui.sessions import ACTIVITY
from tests.tui.start import MISSING, READY, FakeBackstage
from tests.tui.svg import with_shapes
from tuibench.model.message import Hello
from tuibench.tui.app import TuibenchApp
from tuibench.tui.look import PLAIN, Look
from tuibench.tui.start.app import StartApp
from tuibench.tui.start.backstage import Outlook
from tuibench.tui.view import Message

WARNING = "client-limited: a worker uses 91 % of a core; the server could do more (add --workers)"


class Picture(NamedTuple):
    """A file, what the session said, the keys that lead to its screen, and what the session says then."""

    name: str
    size: tuple[int, int]
    hello: Hello
    keys: tuple[str, ...] = ()
    says: tuple[Message, ...] = ()
    look: Look = PLAIN


LIVED_ON = msgspec.structs.replace(
    script.status(), caution=("2 replicas attached", "3 connections of others at work (shop)")
)
CATALOGUE = script.hello(70, catalogue.status())
LARGE, SMALL = (120, 36), (80, 24)
FAR = "shift+left"
MARKED = ("left", "c", FAR, "c", FAR, "c", FAR, "c")
"""Two spans, the later one first."""

PICTURES = (
    Picture("live-120x36", LARGE, script.hello()),
    Picture("live-80x24", SMALL, script.hello()),
    Picture("live-light-120x36", LARGE, script.hello(), look=Look(theme="tuibench-light")),
    Picture("live-safe-120x36", LARGE, script.hello(60)),
    Picture("cursor-120x36", LARGE, script.hello(), ("left", FAR, *["left"] * 7)),
    Picture("compared-120x36", LARGE, script.hello(), MARKED),
    Picture("compared-80x24", SMALL, script.hello(), MARKED),
    Picture("latency-120x36", LARGE, script.hello(), ("2",)),
    Picture("latency-80x24", SMALL, script.hello(), ("2",)),
    Picture("server-120x36", LARGE, script.hello(), ("3",)),
    Picture("server-80x24", SMALL, script.hello(), ("3",)),
    Picture("host-120x36", LARGE, script.hello(), ("4",)),
    Picture("host-80x24", SMALL, script.hello(), ("4",)),
    Picture("zoomed-frozen-120x36", LARGE, script.hello(), ("z", "v")),
    Picture("durability-120x36", LARGE, script.hello(60), ("d", "down", "down")),
    Picture("durability-80x24", SMALL, script.hello(60), ("d", "down", "down")),
    Picture("confirm-120x36", LARGE, script.hello(60), ("d", "down", "down", "enter")),
    Picture("threads-120x36", LARGE, script.hello(60), ("t", "0")),
    Picture("sessions-120x36", LARGE, script.hello(60), ("l",), (ACTIVITY,)),
    Picture("sessions-80x24", SMALL, script.hello(60), ("l",), (ACTIVITY,)),
    Picture("events-120x36", LARGE, script.hello(), ("7",)),
    Picture("events-80x24", SMALL, script.hello(), ("7", "down")),
    Picture("big-120x36", LARGE, script.hello(), ("b",)),
    Picture("big-80x24", SMALL, script.hello(60), ("b",)),
    Picture("saturation-120x36", LARGE, msgspec.structs.replace(script.hello(60), probe=OVER), ("8",)),
    Picture("saturation-80x24", SMALL, msgspec.structs.replace(script.hello(60), probe=UNDER_WAY), ("8",)),
    Picture("settings-120x36", LARGE, CATALOGUE, ("5", "down")),
    Picture("settings-80x24", SMALL, CATALOGUE, ("5", "slash", *"risk")),
    Picture("change-120x36", LARGE, CATALOGUE, ("5", "down", "enter", "up")),
    Picture("production-120x36", LARGE, script.hello(60, LIVED_ON), ("d", "down", "down", "enter")),
    Picture("help-120x36", LARGE, script.hello(60, script.status(warnings=(WARNING,))), ("question_mark",)),
)


async def play(picture: Picture, client: FakeClient, pilot: Pilot[Any]) -> None:
    """Leads to the picture's screen."""
    await pilot.pause()
    await pilot.press(*picture.keys)
    await pilot.pause()
    client.say(*picture.says)
    await pilot.pause()
    await pilot.pause()


async def draw(picture: Picture, folder: Path) -> Path:
    """One picture, drawn by the app itself without a terminal."""
    client = FakeClient(picture.hello)
    app = TuibenchApp(client.connected, picture.look)
    async with app.run_test(size=picture.size) as pilot:
        await play(picture, client, pilot)
        path = folder / f"{picture.name}.svg"
        path.write_text(with_shapes(app.export_screenshot(title="tuibench")), encoding="utf-8")
    return path


class Form(NamedTuple):
    """A picture of the start form: what a look shows, and the keys that lead there."""

    name: str
    size: tuple[int, int]
    outlook: Outlook = READY
    keys: tuple[str, ...] = ()
    look: Look = PLAIN


FORMS = (
    Form("start-120x36", LARGE),
    Form("start-80x24", SMALL, MISSING, ("down", "enter")),
)


async def fill(form: Form, pilot: Pilot[Any]) -> None:
    """Leads to the form's state."""
    await pilot.pause()
    for key in form.keys:
        await pilot.press(key)
        await pilot.pause()
    await pilot.pause()


async def draw_form(form: Form, folder: Path) -> Path:
    app = StartApp(FakeBackstage(form.outlook), form.look)
    async with app.run_test(size=form.size) as pilot:
        await fill(form, pilot)
        path = folder / f"{form.name}.svg"
        path.write_text(with_shapes(app.export_screenshot(title="tuibench")), encoding="utf-8")
    return path


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        sys.stdout.write(f"{await draw(picture, folder)}\n")
    for form in FORMS:
        sys.stdout.write(f"{await draw_form(form, folder)}\n")
    path = folder / "toggle.svg"
    path.write_text(animated(await story()), encoding="utf-8")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")))
