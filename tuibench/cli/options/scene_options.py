"""Options of a scripted demonstration: the scene, and its playback."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from tuibench.errors import UsageError
from tuibench.model.option import Option

if TYPE_CHECKING:
    from tuibench.tui.scenes.player import ScenePlayer
    from tuibench.tui.scenes.scene import Scene


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
