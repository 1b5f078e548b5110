"""Lookup of scenes: built-in, in the configuration directory, or a file."""

from pathlib import Path

from tuibench import files, paths, suggestions
from tuibench.errors import UsageError
from tuibench.tui.scenes.scene import Scene, decode_scene

SUFFIX = ".toml"
BUILT_IN = Path(__file__).resolve().parent / "built_in"


def available_scenes() -> dict[str, Path]:
    """All scenes by name. A user's scene takes precedence over a built-in one."""
    found = {}
    for directory in (BUILT_IN, paths.config_dir() / "scenes"):
        if directory.is_dir():
            found.update({path.stem: path for path in sorted(directory.glob(f"*{SUFFIX}"))})
    return found


def load_scene(name: str) -> Scene:
    """Read and validate a scene, by name or by path. Raises UsageError with the error and its location."""
    path = _find_scene(name)
    try:
        text = files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the scene {path}: {error}") from error
    return decode_scene(text, name if path.parent == BUILT_IN else str(path))


def _find_scene(name: str) -> Path:
    if "/" in name or name.endswith(SUFFIX):
        return files.expand_path(name)
    scenes = available_scenes()
    if name not in scenes:
        hint = suggestions.did_you_mean(name, scenes)
        raise UsageError(f"there is no scene '{name}'", hint or f"valid: {', '.join(sorted(scenes))}")
    return scenes[name]
