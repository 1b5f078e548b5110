"""Options of every command that opens a screen: theme, frame rate, mouse, key bindings; and of a scene on it.

Defaults come from the sections [screen] and [keys] of the configuration file.
"""

import gc
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tuibench import suggestions
from tuibench.errors import UsageError
from tuibench.model.option import Option

if TYPE_CHECKING:
    from tuibench.tui.scenes.player import ScenePlayer
    from tuibench.tui.scenes.scene import Scene
    from tuibench.tui.terminal.styled_app import DisplayOptions

MAX_FPS = 60
GC_THRESHOLD = 20_000
"""Garbage collection threshold: Textual creates many long-lived objects, and frequent scans are slow."""
FPS_VARIABLE = "TEXTUAL_FPS"
"""Environment variable that textual reads only once, on import."""

CONFIG_TYPES = {"theme": (str, "text"), "fps": (int, "a whole number"), "mouse": (bool, "true or false")}


@dataclass(frozen=True)
class ScreenOptions:
    """Display and input options of the screen."""

    SECTION: ClassVar = "Screen"

    theme: Annotated[
        str,
        Option(
            "--theme",
            metavar="NAME",
            help="Colours: tuibench-dark, tuibench-light, ansi-dark, ansi-light, … [tuibench-dark].",
            show_default=False,
        ),
    ] = ""
    fps: Annotated[
        int, Option("--fps", help="Frames per second at most, for slow connections [60].", show_default=False)
    ] = 0
    no_mouse: Annotated[
        bool, Option("--no-mouse", help="Leave the mouse to the terminal, for selecting and copying.")
    ] = False

    def display_options(self) -> "DisplayOptions":
        """Display options. Imports textual. Raises UsageError for an invalid theme, frame rate or key."""
        from tuibench import config

        wanted = _read_screen_section()
        fps = self.fps or wanted.get("fps", MAX_FPS)
        if not 1 <= fps <= MAX_FPS:
            raise UsageError(f"--fps must be between 1 and {MAX_FPS}, not {fps}")
        os.environ[FPS_VARIABLE] = str(fps)
        gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
        from tuibench.tui.terminal import keymap, themes
        from tuibench.tui.terminal.styled_app import DisplayOptions, needs_ascii

        theme = self.theme or wanted.get("theme", "")
        if theme:
            themes.check_theme(theme)
        return DisplayOptions(
            theme=theme,
            ascii_only=needs_ascii(),
            mouse=wanted.get("mouse", True) and not self.no_mouse,
            keymap=keymap.parse_keymap(config.read_section("keys"), str(config.config_file())),
        )


def _read_screen_section() -> dict[str, Any]:
    """The section [screen], validated."""
    from tuibench import config

    found, source = config.read_section("screen"), config.config_file()
    for name, value in found.items():
        if name not in CONFIG_TYPES:
            raise UsageError(
                f"{source}: screen.{name}: unknown key", suggestions.did_you_mean(name, CONFIG_TYPES)
            )
        kind, words = CONFIG_TYPES[name]
        if type(value) is not kind:
            raise UsageError(f"{source}: screen.{name}: {words}, not {config.toml_type_name(value)}")
    return found


@dataclass(frozen=True)
class SceneOptions:
    """A scene, or none."""

    SECTION: ClassVar = "Scene"

    scene: Annotated[
        str,
        Option(
            "--scene",
            metavar="NAME|FILE",
            help="Play a scene: durability, threads, hot-rows, network, cache, probe, or a TOML file.",
        ),
    ] = ""
    by_space: Annotated[
        bool, Option("--by-space", help="Each text of the scene stays until you press space.")
    ] = False
    loop: Annotated[bool, Option("--loop", help="Repeat the scene.")] = False

    def load(self, *, is_possible: bool) -> "Scene | None":
        """The validated scene. Raises UsageError if it is unknown or invalid, or cannot be played here."""
        if not self.scene:
            for given, option in ((self.by_space, "--by-space"), (self.loop, "--loop")):
                if given:
                    raise UsageError(f"{option} requires a scene", "name one: --scene durability")
            return None
        if not is_possible:
            raise UsageError("a scene needs a terminal, and has its own load", "leave out the other options")
        from tuibench.tui.scenes.library import load_scene

        scene = load_scene(self.scene)
        _check_catalogue(scene, self.scene)
        return scene

    def player(self, scene: "Scene | None") -> "ScenePlayer | None":
        from tuibench.tui.scenes.player import ScenePlayer

        return ScenePlayer(scene, by_space=self.by_space, loop=self.loop) if scene is not None else None


def _check_catalogue(scene: "Scene", source: str) -> None:
    """Check presets, settings and screens against the catalogues. Raises UsageError with the step."""
    from tuibench.tui.screens.tabs import TABS_BY_NAME
    from tuibench.tuning.catalogue.preset_lookup import all_presets, find_preset
    from tuibench.tuning.catalogue.setting_lookup import find_setting

    for number, step in enumerate(scene.steps, 1):
        try:
            if step.set is not None and step.set.preset:
                find_preset(all_presets(), step.set.preset)
            for name in step.set.setting if step.set is not None else ():
                find_setting(name)
            if step.show and step.show not in TABS_BY_NAME:
                raise UsageError(
                    f"there is no screen '{step.show}'", f"valid: {', '.join(sorted(TABS_BY_NAME))}"
                )
        except UsageError as error:
            raise UsageError(f"{source}: step {number}: {error.message}", error.hint) from None
