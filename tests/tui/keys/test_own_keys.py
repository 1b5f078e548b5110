"""Keys of the user's own on the screen: they do what they say, and the old ones nothing."""

from tests.tui.support import script
from tests.tui.support.driving import viewer
from tuibench.model.message import Pause, SetThreads
from tuibench.tui.screens import help
from tuibench.tui.screens.help import help_sections
from tuibench.tui.styled_app import DisplayOptions


async def test_the_users_keys_do_what_they_say_and_the_old_ones_nothing() -> None:
    display = DisplayOptions(keymap=help.parse_keymap({"pause": "i", "more": "f5"}, "c.toml"))
    async with viewer(script.hello(60), display=display) as it:
        await it.press("p", "plus", "equals_sign")
        assert it.client.submitted == []
        await it.press("i", "f5")
        assert it.client.submitted == [Pause(), SetThreads(65)]
        assert "i pause" in it.shown("footer")
        assert it.app.view is not None
        assert ("i", "Pause the load, or resume it") in [
            line for _, lines in help_sections(it.app.view) for line in lines
        ]
        commands = {command.title: command.help for command in it.app.get_system_commands(it.app.screen)}
        assert commands["Pause the load, or resume it"] == "i"
