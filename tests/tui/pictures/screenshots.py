"""Draw the screens as SVG from the scripted run, and the README's picture from a recorded one:
`python -m tests.tui.pictures.screenshots [FOLDER]`.

Decided here: in which state each screen is drawn, for the pictures and for the snapshots alike.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from textual.app import App
from textual.pilot import Pilot

from tests.tui.pictures.animation import animated
from tests.tui.pictures.recorded import recorded_story
from tests.tui.support import catalogue, screened, script
from tests.tui.support.driving import LARGE, SMALL
from tests.tui.support.fake import FakeClient
from tests.tui.support.instant import instant
from tests.tui.support.probed import probed
from tests.tui.support.sessions import ACTIVITY
from tests.tui.support.start import MISSING, READY, FakeController
from tests.tui.support.statements import REPORT as STATEMENTS
from tuibench.features.start.screen import ServerCheck, StartApp
from tuibench.model.message import Hello
from tuibench.tui.app import TuibenchApp
from tuibench.tui.picture import with_shapes
from tuibench.tui.styled_app import DEFAULT_DISPLAY, DisplayOptions
from tuibench.tui.view import ViewMessage

WARNING = "client-limited: a worker uses 91 % of a core; the server could do more (add --workers)"
Lead = Callable[[Pilot[Any]], Awaitable[None]]


class Scene(NamedTuple):
    """What the session said, the keys that lead to the screen, and what the session says then."""

    heard: Hello = script.hello()
    keys: tuple[str, ...] = ()
    says: tuple[ViewMessage, ...] = ()
    probe: str = ""
    """A state of `Probed` that the session tells, too: computed when it is wanted, for half a second."""

    @property
    def hello(self) -> Hello:
        if not self.probe:
            return self.heard
        return msgspec.structs.replace(self.heard, probe=getattr(probed(), self.probe))

    def opened(self, display: DisplayOptions) -> tuple[App[Any], Lead]:
        """The app, and the way to the screen once it runs."""
        client = FakeClient(self.hello)

        async def lead(pilot: Pilot[Any]) -> None:
            await pilot.pause()
            await pilot.press(*self.keys)
            await pilot.pause()
            client.say(*self.says)
            await pilot.pause()
            await pilot.pause()

        return TuibenchApp(client.connected, display), lead


class Form(NamedTuple):
    """The start form: what a check of the server shows, and the keys that lead to its state."""

    outlook: ServerCheck = READY
    keys: tuple[str, ...] = ()

    def opened(self, display: DisplayOptions) -> tuple[App[Any], Lead]:
        """The app, and the way to the state once it runs."""

        async def lead(pilot: Pilot[Any]) -> None:
            await pilot.pause()
            for key in self.keys:
                await pilot.press(key)
                await pilot.pause()
            await pilot.pause()

        return StartApp(FakeController(self.outlook), display), lead


CALM = script.hello(60)
PRODUCTION = msgspec.structs.replace(
    script.status(), production_signs=("2 replicas attached", "3 active connections of other users (shop)")
)
FAR_HOSTS = script.hello_from_hosts(60)
WARNED = script.hello(60, script.status(warnings=(WARNING,)))
AB_TESTED = script.hello(60, msgspec.structs.replace(script.status(), ab=script.AB_TEST))
CATALOGUE = script.hello(70, catalogue.status())
SIZES: Mapping[str, tuple[int, int]] = {"120x36": LARGE, "80x24": SMALL}

SCREENS: Mapping[str, Scene | Form] = {
    "live": Scene(),
    "latency": Scene(keys=("2",)),
    "server": Scene(keys=("3",)),
    "host": Scene(keys=("h",)),
    "settings": Scene(CATALOGUE, ("g",)),
    "sessions": Scene(CALM, ("4",), (ACTIVITY,)),
    "events": Scene(keys=("6",)),
    "saturation": Scene(CALM, ("7",), probe="over"),
    "big": Scene(keys=("b",)),
    "tune": Scene(msgspec.structs.replace(CALM, tune=screened.progress()), ("9",)),
    "time": Scene(keys=("0",)),
    "cost": Scene(keys=("o",)),
    "statements": Scene(CALM, ("s",), (STATEMENTS,)),
    "start": Form(MISSING, ("down", "enter")),
    "help": Scene(WARNED, ("question_mark",)),
    "confirm": Scene(CALM, ("d", "down", "down", "enter")),
}
"""Every screen, and the question before a dangerous change, by name."""


class Picture(NamedTuple):
    """A file with a screen in it."""

    name: str
    size: tuple[int, int]
    scene: Scene | Form
    display: DisplayOptions = DEFAULT_DISPLAY


FAR = "shift+left"
MARKED = ("left", "c", FAR, "c", FAR, "c", FAR, "c")
"""Two spans, the later one first."""

DETAILS = (
    Picture("live-light-120x36", LARGE, Scene(), DisplayOptions(theme="tuibench-light")),
    Picture("live-safe-120x36", LARGE, Scene(CALM)),
    Picture("cursor-120x36", LARGE, Scene(keys=("left", FAR, *["left"] * 7))),
    Picture("compared-120x36", LARGE, Scene(keys=MARKED)),
    Picture("compared-80x24", SMALL, Scene(keys=MARKED)),
    Picture("zoomed-frozen-120x36", LARGE, Scene(keys=("z", "v"))),
    Picture("durability-120x36", LARGE, Scene(CALM, ("d", "down", "down"))),
    Picture("durability-80x24", SMALL, Scene(CALM, ("d", "down", "down"))),
    Picture("threads-120x36", LARGE, Scene(CALM, ("t", "0"))),
    Picture("event-chosen-80x24", SMALL, Scene(keys=("6", "down"))),
    Picture("probe-under-way-80x24", SMALL, Scene(CALM, ("7",), probe="under_way")),
    Picture("host-cluster-120x36", LARGE, Scene(FAR_HOSTS, ("h",))),
    Picture("host-cluster-80x24", SMALL, Scene(FAR_HOSTS, ("h",))),
    Picture("settings-found-80x24", SMALL, Scene(CATALOGUE, ("g", "slash", *"risk"))),
    Picture("change-120x36", LARGE, Scene(CATALOGUE, ("g", "down", "enter", "up"))),
    Picture("production-120x36", LARGE, Scene(script.hello(60, PRODUCTION), ("d", "down", "down", "enter"))),
    Picture("client-limited-80x24", SMALL, Scene(WARNED, probe="under_way")),
    Picture("client-limited-120x36", LARGE, Scene(WARNED)),
    Picture("coach-80x24", SMALL, Scene(script.hello(31, events=())), DisplayOptions(coach=True)),
    Picture("host-afar-120x36", LARGE, Scene(script.afar(CALM), ("h",))),
    Picture("host-afar-80x24", SMALL, Scene(script.afar(CALM), ("h",))),
    Picture("live-afar-120x36", LARGE, Scene(script.afar(CALM))),
    Picture("ab-test-80x24", SMALL, Scene(keys=("A",))),
    Picture("ab-test-under-way-120x36", LARGE, Scene(AB_TESTED)),
    Picture("start-private-120x36", LARGE, Form()),
)
"""States of the screens that say more."""

PICTURES = (
    *(Picture(f"{name}-{size}", SIZES[size], scene) for name, scene in SCREENS.items() for size in SIZES),
    *DETAILS,
)


async def draw(picture: Picture, folder: Path) -> Path:
    """One picture, drawn by the app itself without a terminal."""
    app, lead = picture.scene.opened(picture.display)
    async with app.run_test(size=picture.size) as pilot:
        await lead(pilot)
        path = folder / f"{picture.name}.svg"
        path.write_text(with_shapes(app.export_screenshot(title="tuibench")), encoding="utf-8")
    return path


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        sys.stdout.write(f"{await draw(picture, folder)}\n")
    path = folder / "toggle.svg"
    path.write_text(animated(await recorded_story()), encoding="utf-8")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    with instant():
        asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")))
