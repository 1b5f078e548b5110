"""A scene in the viewer: what it submits and shows, and the key that goes on."""

import pytest

from tests.tui.support import script
from tests.tui.support.driving import LARGE, SMALL, Viewer
from tests.tui.support.fake import FakeClient
from tuibench.features.scenes.scene import ScenePlayer, decode_scene
from tuibench.model.message import ApplyPreset
from tuibench.tui.app import TuibenchApp
from tuibench.tui.screens.monitor import BigScreen, LiveScreen
from tuibench.tui.styled_app import DisplayOptions

TALK = """
title = "A talk"
[[steps]]
say = "Eight clients commit."
[[steps]]
ask = "What will TPS do?"
[[steps]]
set = { preset = "unsafe" }
[[steps]]
big = true
[[steps]]
say = "Look."
seconds = 5
"""


@pytest.mark.parametrize("size", [LARGE, SMALL], ids=["120x36", "80x24"])
async def test_space_leads_through_a_scene(size: tuple[int, int]) -> None:
    client = FakeClient(script.hello(60))
    scene = ScenePlayer(decode_scene(TALK, "talk"), by_space=True)
    app = TuibenchApp(client.connected, DisplayOptions(), scene=scene)
    async with app.run_test(size=size) as pilot:
        it = Viewer(app, pilot, client)
        await it.until(lambda: app.view is not None and app.view.caption is not None)
        assert isinstance(app.screen, LiveScreen)
        assert "Eight clients commit." in it.shown("caption")
        assert "1/3" in it.shown("caption")
        assert "space continues" in it.shown("caption")
        await it.press("space")
        assert "YOUR GUESS" in it.shown("caption")
        assert client.submitted == []
        await it.press("space")
        assert client.submitted == [ApplyPreset("unsafe")]
        assert isinstance(app.screen, BigScreen)
        assert "Look." in it.shown("caption")
        await it.press("space")
        assert "The scene has ended" in it.shown("caption")
        assert "space" not in it.shown("caption")
        assert "continue" not in it.shown("footer")
        await it.press("space")
        assert len(client.submitted) == 2


async def test_a_dialog_over_the_screen_holds_the_scene() -> None:
    client = FakeClient(script.hello(60))
    scene = ScenePlayer(decode_scene(TALK, "talk"))
    app = TuibenchApp(client.connected, DisplayOptions(), scene=scene)
    async with app.run_test(size=LARGE) as pilot:
        it = Viewer(app, pilot, client)
        await it.until(lambda: app.view is not None and app.view.caption is not None)
        await it.press("d")
        await pilot.pause(60)
        assert client.submitted == []
        await it.press("escape")
        await it.until(lambda: client.submitted == [ApplyPreset("unsafe")])
