"""The app around the start form; it exits with what the backstage has launched, None if the operator left."""

from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType

from tuibench.tui.look import Look, StyledApp
from tuibench.tui.start.backstage import Backstage
from tuibench.tui.start.screen import StartScreen


class StartApp(StyledApp[Path]):
    """Shows the form, and nothing else."""

    CSS_PATH = "start.tcss"
    ENABLE_COMMAND_PALETTE = False
    """Textual's own menu knows nothing of a form."""
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+c", "screen.back", "Leave")]

    def __init__(self, backstage: Backstage, look: Look) -> None:
        super().__init__(look)
        self._backstage = backstage

    async def on_mount(self) -> None:
        await self.push_screen(StartScreen(self._backstage, ascii_only=self.look.ascii_only))

    def shown(self) -> Path | None:
        """Runs on the terminal; what was launched."""
        return self.run(mouse=self.look.mouse)
