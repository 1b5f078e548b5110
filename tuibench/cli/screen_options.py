"""Options of every command that opens a screen: colours, pace, mouse, and the user's own keys.

What an option does not say, the sections [screen] and [keys] of the configuration file do.
"""

import gc
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from tuibench import config
from tuibench.errors import UsageError
from tuibench.workload import nearest

if TYPE_CHECKING:
    from tuibench.tui.look import Look

LARGEST_FPS = 60
COLLECTED_AFTER = 20_000
"""New objects: the toolkit makes many that stay, and looking through them again and again is slow."""
FPS_VARIABLE = "TEXTUAL_FPS"
"""Read when textual is imported, and never again."""

KINDS = {"theme": (str, "text"), "fps": (int, "a whole number"), "mouse": (bool, "true or false")}


@dataclass(frozen=True)
class ScreenOptions:
    """How the screen looks, and how it is handled."""

    SECTION: ClassVar = "Screen"

    theme: Annotated[
        str,
        typer.Option(
            "--theme",
            help="Colours: tuibench-dark, tuibench-light, ansi-dark, ansi-light, … [tuibench-dark].",
            show_default=False,
        ),
    ] = ""
    fps: Annotated[
        int, typer.Option("--fps", help="Pictures a second at most, for slow lines [60].", show_default=False)
    ] = 0
    no_mouse: Annotated[
        bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal, to mark and copy.")
    ] = False

    def look(self) -> "Look":
        """The look meant. Imports the toolkit. Raises UsageError for a theme, pace or key that cannot be."""
        wanted = _configured()
        fps = self.fps or wanted.get("fps", LARGEST_FPS)
        if not 1 <= fps <= LARGEST_FPS:
            raise UsageError(f"--fps must be between 1 and {LARGEST_FPS}, not {fps}")
        os.environ[FPS_VARIABLE] = str(fps)
        gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])
        from tuibench.tui import keymap, themes
        from tuibench.tui.look import Look, needs_ascii

        theme = self.theme or wanted.get("theme", "")
        if theme:
            themes.check(theme)
        return Look(
            theme=theme,
            ascii_only=needs_ascii(),
            mouse=wanted.get("mouse", True) and not self.no_mouse,
            keymap=keymap.read(config.section("keys"), str(config.config_file())),
        )


def _configured() -> dict[str, Any]:
    """The section [screen], checked."""
    found, source = config.section("screen"), config.config_file()
    for name, value in found.items():
        if name not in KINDS:
            raise UsageError(f"{source}: screen.{name}: unknown key", nearest.hint(name, KINDS))
        kind, words = KINDS[name]
        if type(value) is not kind:
            raise UsageError(f"{source}: screen.{name}: {words}, not {config.type_words(value)}")
    return found
