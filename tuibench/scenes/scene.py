"""Scenes: their file format, and the library of built-in and own ones.

Scene file format: initial load and steps. Decoding and validation.

A step has one action, named by its key; its other keys are parameters of that action.

Lookup of scenes: built-in, in the configuration directory, or a file.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from tuibench import files, paths
from tuibench.errors import UsageError, did_you_mean
from tuibench.files import DECODE_ERRORS
from tuibench.metrics.figures import FIGURES
from tuibench.metrics.thresholds import parse_objectives
from tuibench.model.notation import parse_delay_ms

REVEALED = {name: FIGURES[name].key for name in ("tps", "p95", "fsyncs")}
"""Figures of a change that a step can reveal; a probe's result is revealed by `probe`."""
PROBE = "probe"
SQL = "sql"
MAX_SECONDS = 3600.0
OptionValue = int | float | str | bool


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Changes made by a step, applied in sequence."""

    threads: int | None = None
    rate: float | None = None
    delay: str = ""
    preset: str = ""
    setting: dict[str, str | int | float | bool] = {}
    weights: dict[str, float] = {}
    sql: str = ""
    restore: bool = False


class SceneProbe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A probe that a step starts."""

    slo: list[str] = []
    seconds: float = 60.0
    most: float = 0.0


class SceneStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="kebab"):
    """One step. Texts stay for `seconds`, by default for their reading time.

    `wait` is a number of seconds, `settled` for a settled load, `effect` for the measured effect of the last
    change, `sql` for the end of a statement, or `probe`; it times out after `at_most` seconds. `expect` is
    the expected direction of a figure, `then` is the text if it is met, `otherwise` if not.
    """

    say: str = ""
    ask: str = ""
    choices: list[str] = []
    set: Settings | None = None
    wait: float | Literal["settled", "effect", "sql", "probe"] | None = None
    reveal: Literal["tps", "p95", "fsyncs", "sql", "probe"] | None = None
    expect: Literal["higher", "lower", "equal", ""] = ""
    then: str = ""
    otherwise: str = ""
    show: str = ""
    big: bool = False
    compare: bool = False
    probe: SceneProbe | None = None
    seconds: float | None = None
    at_most: float = 90.0

    @property
    def action(self) -> str:
        """The key that names the step's action."""
        return next(_actions(self), "")


ACTIONS = {
    "say": {"seconds"},
    "ask": {"seconds", "choices"},
    "set": set(),
    "wait": {"at-most"},
    "reveal": {"seconds", "expect", "then", "otherwise"},
    "show": set(),
    "big": set(),
    "compare": set(),
    "probe": set(),
}
"""The actions, and the further keys valid for each of them."""


class Scene(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="kebab"):
    """A whole scene. `profile_text` is a profile of its own, instead of a profile's name."""

    title: str
    summary: str = ""
    profile: str = "oltp_read_write"
    profile_text: str = ""
    threads: int = 8
    options: dict[str, OptionValue] = {}
    steps: list[SceneStep]


def decode_scene(text: str, source: str) -> Scene:
    """Decode and validate a scene. Raises UsageError with file, step, key, and the valid values."""
    try:
        raw = tomllib.loads(text)
    except DECODE_ERRORS as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None
    try:
        scene = msgspec.convert(raw, Scene)
    except msgspec.ValidationError as error:
        raise _decode_error(source, str(error)) from None
    _check_scene(scene, raw, source)
    return scene


def _actions(step: SceneStep) -> Iterator[str]:
    """Every action key of the step."""
    for name in ACTIONS:
        value = getattr(step, name)
        if value is not None and value is not False and value != "":
            yield name


_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `(?P<word>[^`]*)`")
_STEP = re.compile(r"\.?steps\[(\d+)\]\.?")


def _decode_error(source: str, message: str) -> UsageError:
    found = _PATH.search(message)
    path = found["path"].lstrip(".") if found else ""
    text = message[: found.start()] if found else message
    where = _STEP.sub(lambda match: f"step {int(match[1]) + 1}: ", path).rstrip(": ")
    unknown = _UNKNOWN.search(text)
    if unknown:
        return UsageError(
            f"{source}: {_prefix(where)}unknown key '{unknown['word']}'",
            did_you_mean(unknown["word"], _valid_keys(path)),
        )
    text = text.removeprefix("Object ")
    return UsageError(f"{source}: {_prefix(where)}{text[:1].lower()}{text[1:]}")


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _valid_keys(path: str) -> list[str]:
    """The keys of the table at this path."""
    kind: Any = Scene
    if "steps[" in path:
        kind = Settings if path.endswith(".set") else SceneProbe if path.endswith(".probe") else SceneStep
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def _check_scene(scene: Scene, raw: dict[str, Any], source: str) -> None:
    if not scene.steps:
        raise UsageError(f"{source}: a scene needs at least one [[steps]]")
    if scene.threads < 1:
        raise UsageError(f"{source}: threads: at least 1, not {scene.threads}")
    has_change, has_probe, has_sql = False, False, False
    for number, (step, table) in enumerate(zip(scene.steps, raw["steps"], strict=True), 1):
        where = f"{source}: step {number}"
        _check_step(step, set(table), where)
        if step.wait == "effect" or step.reveal in REVEALED or step.compare:
            _require(has_change, f"{where}: no earlier step changes anything, so there is no effect")
        if step.wait == PROBE or step.reveal == PROBE:
            _require(has_probe, f"{where}: no earlier step starts a probe")
        if SQL in (step.wait, step.reveal):
            _require(has_sql, f"{where}: no earlier step executes a statement")
        has_change = has_change or step.set is not None
        has_sql = has_sql or (step.set is not None and bool(step.set.sql))
        has_probe = has_probe or step.probe is not None


def _check_step(step: SceneStep, keys: set[str], where: str) -> None:
    actions = list(_actions(step))
    if len(actions) != 1:
        reason = f"it has {' and '.join(actions)}" if actions else f"one of {', '.join(ACTIONS)}"
        raise UsageError(f"{where}: a step has one action: {reason}")
    (action,) = actions
    if stray := sorted(keys - {action} - ACTIONS[action]):
        raise UsageError(f"{where}: '{stray[0]}' is not valid with '{action}'")
    for name, value in (("seconds", step.seconds), ("at-most", step.at_most), ("wait", step.wait)):
        if isinstance(value, int | float) and not 0 < value <= MAX_SECONDS:
            raise UsageError(f"{where}: {name}: between 0 and {MAX_SECONDS:g} seconds, not {value:g}")
    if step.set is not None:
        _check_settings(step.set, where)
    if step.probe is not None:
        _checked(lambda probe=step.probe: parse_objectives(probe.slo), f"{where}: probe.slo")


def _check_settings(change: Settings, where: str) -> None:
    if change == Settings():
        fields = ", ".join(field.encode_name for field in msgspec.structs.fields(Settings))
        raise UsageError(f"{where}: set: nothing is set", f"valid: {fields}")
    if change.threads is not None and change.threads < 1:
        raise UsageError(f"{where}: set.threads: at least 1, not {change.threads}")
    if change.rate is not None and change.rate < 0:
        raise UsageError(f"{where}: set.rate: 0 or more, not {change.rate:g}")
    if change.delay:
        _checked(lambda: parse_delay_ms(change.delay), f"{where}: set.delay")


def _checked(parse: Any, where: str) -> None:
    try:
        parse()
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", error.hint) from None


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise UsageError(message)


SUFFIX = ".toml"
BUILT_IN = Path(__file__).resolve().parent


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
        hint = did_you_mean(name, scenes)
        raise UsageError(f"there is no scene '{name}'", hint or f"valid: {', '.join(sorted(scenes))}")
    return scenes[name]
