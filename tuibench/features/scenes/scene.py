"""Scenes: their file format, the library of scenes, and their player.

A scene has an initial load and steps. A step has one action, named by its key; its other keys are parameters
of that action. Scenes are built-in, in the configuration directory, or a file.

The player converts views and time to commands and screen changes, without I/O. A step ends when its text has
been displayed long enough, its condition holds, or the speaker continues. A reveal shows the measured result,
also if the change had no effect on this machine.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from tuibench.base import files, paths
from tuibench.base.errors import UsageError, did_you_mean
from tuibench.base.files import DECODE_ERRORS
from tuibench.metrics.figures import FIGURES, figure_named
from tuibench.metrics.inference import trend_text, verdict_text
from tuibench.metrics.series import settled_at
from tuibench.metrics.thresholds import parse_objectives
from tuibench.model.callers import CallerPolicy
from tuibench.model.effect import Comparison, Effect, Verdict
from tuibench.model.event import BURST_VERDICTS, CRASH_FAILED, CRASHED, DURING, ENDED, Event, EventKind
from tuibench.model.hardware import NONE, Hardware, parse_hardware
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    Command,
    CrashServer,
    RestoreSettings,
    RunSql,
    SetCallers,
    SetDelay,
    SetHardware,
    SetRate,
    SetThreads,
    SetWeights,
    StartBurst,
    StartProbe,
)
from tuibench.model.plan import changed_policy
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import parse_burst, parse_delay_ms
from tuibench.tui.panels.effects import before_after_text
from tuibench.tui.script import PinEffects, ScriptAction, ShowScreen
from tuibench.tui.view import Caption, View

REVEALED = {name: FIGURES[name].key for name in ("tps", "p95", "fsyncs")} | {
    "anomalies": FIGURES["anomalies_per_second"].key
}
"""Figures of a change that a step can reveal; a probe's result is revealed by `probe`."""
PROBE = "probe"
SQL = "sql"
CRASH = "crash"
BURST, RECOVERY = "burst", "recovery"
RECOVERED, STAYS = "recovered", "stays"
"""What may be expected after a burst."""

MAX_SECONDS = 3600.0
OptionValue = int | float | str | bool


class SceneChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Changes made by a step, applied in sequence."""

    threads: int | None = None
    rate: float | None = None
    delay: str = ""
    hardware: str = ""
    preset: str = ""
    setting: dict[str, str | int | float | bool] = {}
    weights: dict[str, float] = {}
    callers: dict[str, str | int | float] = {}
    burst: str = ""
    sql: str = ""
    crash: bool = False
    restore: bool = False


class SceneProbe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A probe that a step starts."""

    slo: list[str] = []
    seconds: float = 60.0
    most: float = 0.0


class SceneStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="kebab"):
    """One step: an action and its parameters."""

    say: str = ""
    """Action: show a text."""
    ask: str = ""
    """Action: ask the audience a question."""
    choices: list[str] = []
    """The answers to choose from."""
    set: SceneChanges | None = None
    """Action: change settings and load."""
    wait: float | Literal["settled", "effect", "sql", "crash", "probe", "burst", "recovery"] | None = None
    """Action: wait a number of seconds, or for a settled load, the measured effect of the last change, the
    end of a statement, a crash or a probe, the verdict on a burst, or the recovery from it.
    """
    reveal: Literal["tps", "p95", "fsyncs", "anomalies", "sql", "crash", "probe", "burst"] | None = None
    """Action: show the measured result."""
    expect: Literal["higher", "lower", "equal", "recovered", "stays", ""] = ""
    """The expected direction of the revealed figure, or what is expected after a burst."""
    then: str = ""
    """The text if the result is as expected."""
    otherwise: str = ""
    """The text if it is not."""
    show: str = ""
    """Action: switch to a screen."""
    big: bool = False
    """Action: switch to the big numbers."""
    compare: bool = False
    """Action: compare the effects of the last two changes."""
    probe: SceneProbe | None = None
    """Action: start a probe."""
    seconds: float | None = None
    """The time for which a text stays; None for its reading time."""
    at_most: float = 90.0
    """The timeout of `wait` in seconds."""

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
"""The actions, and the parameters of each."""


class Scene(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename="kebab"):
    """A whole scene."""

    title: str
    summary: str = ""
    profile: str = "oltp_read_write"
    profile_text: str = ""
    """The scene's own profile; if given, it is used instead of `profile`."""
    threads: int = 8
    options: dict[str, OptionValue] = {}
    """Options of the profile."""
    steps: list[SceneStep]

    @property
    def has_hardware(self) -> bool:
        """True if a step changes the simulated hardware."""
        return any(step.set is not None and step.set.hardware for step in self.steps)

    @property
    def has_disk(self) -> bool:
        """True if a step simulates a disk."""
        texts = (step.set.hardware for step in self.steps if step.set is not None and step.set.hardware)
        return any(parse_hardware(text).disk != Hardware() for text in texts)

    @property
    def has_callers(self) -> bool:
        """True if a step changes what the callers do."""
        return any(step.set is not None and step.set.callers for step in self.steps)


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
        # The valid keys of the table at this path.
        kind: Any = Scene
        if "steps[" in path:
            kind = (
                SceneChanges
                if path.endswith(".set")
                else SceneProbe
                if path.endswith(".probe")
                else SceneStep
            )
        return UsageError(
            f"{source}: {_prefix(where)}unknown key '{unknown['word']}'",
            did_you_mean(unknown["word"], [field.encode_name for field in msgspec.structs.fields(kind)]),
        )
    text = text.removeprefix("Object ")
    return UsageError(f"{source}: {_prefix(where)}{text[:1].lower()}{text[1:]}")


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _check_scene(scene: Scene, raw: dict[str, Any], source: str) -> None:
    if not scene.steps:
        raise UsageError(f"{source}: a scene needs at least one [[steps]]")
    if scene.threads < 1:
        raise UsageError(f"{source}: threads: at least 1, not {scene.threads}")
    has_change, has_probe, has_sql, has_crash, has_burst = False, False, False, False, False
    for number, (step, table) in enumerate(zip(scene.steps, raw["steps"], strict=True), 1):
        where = f"{source}: step {number}"
        _check_step(step, set(table), where)
        if step.wait == "effect" or step.reveal in REVEALED or step.compare:
            _require(has_change, f"{where}: no earlier step changes anything, so there is no effect")
        if step.wait == PROBE or step.reveal == PROBE:
            _require(has_probe, f"{where}: no earlier step starts a probe")
        if SQL in (step.wait, step.reveal):
            _require(has_sql, f"{where}: no earlier step executes a statement")
        if CRASH in (step.wait, step.reveal):
            _require(has_crash, f"{where}: no earlier step crashes the server")
        if step.wait in (BURST, RECOVERY) or step.reveal == BURST:
            _require(has_burst, f"{where}: no earlier step starts a burst")
        is_of_burst = step.reveal == BURST
        if step.expect and is_of_burst is not (step.expect in (RECOVERED, STAYS)):
            valid = f"{RECOVERED} or {STAYS}" if is_of_burst else "higher, lower or equal"
            raise UsageError(f"{where}: expect: {valid}, not '{step.expect}'")
        has_burst = has_burst or (step.set is not None and bool(step.set.burst))
        has_change = has_change or step.set is not None
        has_sql = has_sql or (step.set is not None and bool(step.set.sql))
        has_crash = has_crash or (step.set is not None and step.set.crash)
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


def _check_settings(change: SceneChanges, where: str) -> None:
    if change == SceneChanges():
        fields = ", ".join(field.encode_name for field in msgspec.structs.fields(SceneChanges))
        raise UsageError(f"{where}: set: nothing is set", f"valid: {fields}")
    if change.threads is not None and change.threads < 1:
        raise UsageError(f"{where}: set.threads: at least 1, not {change.threads}")
    if change.rate is not None and change.rate < 0:
        raise UsageError(f"{where}: set.rate: 0 or more, not {change.rate:g}")
    if change.delay:
        _checked(lambda: parse_delay_ms(change.delay), f"{where}: set.delay")
    if change.hardware:
        _checked(lambda: parse_hardware(change.hardware), f"{where}: set.hardware")
    if change.burst:
        _checked(lambda: parse_burst(change.burst), f"{where}: set.burst")
    for option, value in change.callers.items():
        # Each option alone: whether it needs a deadline depends on the earlier steps.
        policy = CallerPolicy() if option == "deadline" else CallerPolicy(deadline_ms=1)
        _checked(
            lambda policy=policy, option=option, value=value: changed_policy(policy, option, _written(value)),
            f"{where}: set.callers.{option}",
        )


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


NO_CALLERS = (
    ("attempts", "1"),
    ("queue", "fifo"),
    ("retry-budget", "off"),
    ("breaker", "off"),
    ("deadline", "0"),
)
"""Callers that wait as long as it takes: the deadline, which the others need, is the last to go."""

WORDS_PER_SECOND, LEAST_SECONDS, ASK_SECONDS = 2.5, 4.0, 12.0
TOLD = ("say", "ask", "reveal")
"""Actions with a text: their steps are numbered in the caption."""
SETTLED_TICKS = 6
"""Number of ticks without a trend after which a load counts as settled."""
PROBE_START_SECONDS = 5.0
"""Maximum wait for the start of a probe: before, its screen is not available."""
DIRECTIONS = {"higher": Verdict.HIGHER, "lower": Verdict.LOWER, "equal": Verdict.EQUAL}


class ScenePlayer:
    """Plays a scene. With `by_space`, texts stay until the speaker continues; with `loop`, it is repeated."""

    def __init__(self, scene: Scene, *, by_space: bool = False, loop: bool = False) -> None:
        self.scene = scene
        self._by_space, self._loop = by_space, loop
        self._place = -1
        self._since = 0.0
        self._is_released = False
        self._caption = Caption(title=scene.title)
        self._changed_at, self._marker = 0.0, 0
        self._effects: list[Effect] = []
        self._no_effect = ""
        self._is_over = False

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    def caption(self) -> Caption:
        return self._caption

    def go_on(self) -> None:
        """Continue with the next step now."""
        self._is_released = True

    def advance(self, view: View, now: float) -> list[ScriptAction]:
        """Return the actions due now; called with every new view, and periodically."""
        if self._is_over or not view.points or view.stopping:
            return []
        actions: list[ScriptAction] = []
        if self._place >= 0 and self._step.action == "ask" and not self._by_space:
            left = max(self._reading_seconds(self._step) - (now - self._since), 0)
            self._caption = self._caption._replace(waiting=f"{left:.0f} s to guess")
        while self._place < 0 or self._is_done(self._step, view, now):
            if self._place == len(self.scene.steps) - 1:
                actions += self._end(now)
                break
            self._place, self._since, self._is_released = self._place + 1, now, False
            actions += self._begin(self._step, view)
        return actions

    @property
    def _step(self) -> SceneStep:
        return self.scene.steps[self._place]

    def _end(self, now: float) -> list[ScriptAction]:
        """End the scene; with `loop`, restore everything and start again."""
        if not self._loop:
            self._is_over = True
            text = "The scene has ended; the load continues. q stops it and restores the settings."
            self._caption = Caption(self.scene.title, text, is_over=True)
            return []
        self._place, self._effects, self._no_effect = -1, [], ""
        return [
            RestoreSettings(),
            SetDelay(0),
            *([SetHardware(NONE)] if self.scene.has_hardware else []),
            *([SetCallers(*each) for each in NO_CALLERS] if self.scene.has_callers else []),
            SetRate(0),
            SetThreads(self.scene.threads),
            ShowScreen("live"),
        ]

    def _begin(self, step: SceneStep, view: View) -> list[ScriptAction]:
        match step.action:
            case "say":
                self._show_caption(step.say, "say")
            case "ask":
                self._show_caption(" ".join([step.ask, *(f"  {choice}?" for choice in step.choices)]), "ask")
            case "set" if step.set is not None:
                self._remember(view)
                if self._caption.kind == "ask":
                    self._caption = self._caption._replace(kind="changed", waiting="")
                return list(_commands(step.set))
            case "reveal":
                self._show_caption(*self._revealed(step, view))
            case "show":
                return [ShowScreen(step.show)]
            case "big":
                return [ShowScreen("big")]
            case "compare":
                pair = tuple(effect.markers[-1] for effect in self._effects[-2:])
                return [PinEffects(pair)] if len(pair) == 2 else []
            case "probe" if step.probe is not None:
                self._remember(view)
                order = ProbeOrder(
                    slo=tuple(step.probe.slo), seconds=step.probe.seconds, most=step.probe.most
                )
                return [StartProbe(order)]
            case "wait":
                self._caption = self._caption._replace(waiting=_WAITING.get(str(step.wait), ""))
        return []

    def _show_caption(self, text: str, kind: str) -> None:
        told = [step.action in TOLD for step in self.scene.steps]
        place = f"{sum(told[: self._place + 1])}/{sum(told)}"
        self._caption = Caption(self.scene.title, text, kind, place)

    def _remember(self, view: View) -> None:
        """Record the time and the last marker before a change, to find its effect."""
        self._changed_at = view.elapsed_seconds
        self._marker = max((event.marker or 0 for event in view.events), default=0)
        self._no_effect = ""

    def _is_done(self, step: SceneStep, view: View, now: float) -> bool:
        if self._is_released:
            return True
        if step.action in ("say", "ask", "reveal"):
            return not self._by_space and now - self._since >= self._reading_seconds(step)
        if step.action == PROBE:
            has_begun = view.probe is not None and not view.probe.is_over
            return has_begun or now - self._since >= PROBE_START_SECONDS
        if step.action != "wait":
            return True
        if isinstance(step.wait, int | float):
            return now - self._since >= step.wait
        return self._has_come(step, view) or now - self._since >= step.at_most

    def _reading_seconds(self, step: SceneStep) -> float:
        """Time to read the text aloud; a question leaves time for answers."""
        if step.seconds is not None:
            return step.seconds
        reading = len(self._caption.text.split()) / WORDS_PER_SECOND
        return max(ASK_SECONDS if step.action == "ask" else LEAST_SECONDS, reading)

    def _has_come(self, step: SceneStep, view: View) -> bool:
        if step.wait == "settled":
            return is_settled(view, self._changed_at)
        if step.wait == PROBE:
            return view.probe is not None and view.probe.is_over and view.probe.elapsed_seconds > 0
        if step.wait == SQL:
            return bool(self._statement_text(view))
        if step.wait == CRASH:
            return bool(self._crash_text(view))
        if step.wait in (BURST, RECOVERY):
            told = self._burst_text(view)
            return told.startswith(RECOVERED) if step.wait == RECOVERY else bool(told)
        found = next((event for event in reversed(view.events) if self._tells_effect(event)), None)
        if found is None:
            return False
        if found.effect is None:
            self._no_effect = found.not_measured or found.text
        elif found.effect not in self._effects:
            self._effects.append(found.effect)
        return True

    def _tells_effect(self, event: Event) -> bool:
        """True for the effect of the last change, or the reason why it is unknown."""
        if event.kind is not EventKind.EFFECT or event.elapsed_seconds < self._changed_at:
            return False
        return event.effect is None or event.effect.markers[-1] > self._marker

    def _revealed(self, step: SceneStep, view: View) -> tuple[str, str]:
        """The text and its kind: measured result, with the author's comment."""
        if step.reveal == PROBE:
            result = view.probe.result if view.probe is not None else None
            if result is None:
                return f"The probe has no result yet. {step.otherwise}".strip(), "unknown"
            return f"{result.lines[0]} {step.then}".strip(), "reveal"
        if step.reveal == SQL:
            if not (text := self._statement_text(view)):
                return "The statement has not ended yet.", "unknown"
            return f"{text}. {step.then}".strip(), "reveal"
        if step.reveal == CRASH:
            if not (text := self._crash_text(view)):
                return "The crash has not ended yet.", "unknown"
            # Without the setting and the kill, which earlier texts of the scene have named.
            lost, separator, more = text.partition(f" ({CRASHED}")[0].partition(" · ")
            return f"{lost}. {step.then} {separator.strip()} {more}".strip(), "reveal"
        if step.reveal == BURST:
            if not (text := self._burst_text(view)):
                return f"The burst has no verdict yet. {step.otherwise}".strip(), "unknown"
            is_expected = text.startswith(RECOVERED) is (step.expect != STAYS)
            text = _LEVELS.sub("", text)
            shown = f"{text[:1].upper()}{text[1:]}."
            if not step.expect or is_expected:
                return f"{shown} {step.then}".strip(), "reveal"
            return f"{shown} {step.otherwise}".strip(), "nothing"
        # The effect of the last change only, None if it was not measured.
        newest = self._effects[-1] if self._effects else None
        effect = newest if newest is not None and newest.markers[-1] > self._marker else None
        one = effect.comparison(REVEALED[step.reveal]) if effect is not None and step.reveal else None
        if one is None:
            reason = self._no_effect or "the load did not settle in time"
            return f"Not measured: {reason}.", "unknown"
        return verdict_on(step, one)

    def _statement_text(self, view: View) -> str:
        """The end of the last statement, and the levels during it, as text; empty while it runs."""
        texts = [event.text for event in view.events if event.elapsed_seconds >= self._changed_at]
        end = next((text for text in reversed(texts) if ENDED in text), "")
        levels = next((text for text in reversed(texts) if text.startswith(DURING)), "")
        return f"{end}; {levels}" if levels else end

    def _burst_text(self, view: View) -> str:
        """The latest verdict on the load after a burst; empty before the first one."""
        texts = [
            event.text
            for event in view.events
            if event.elapsed_seconds >= self._changed_at
            and event.experiment == BURST
            and event.text.startswith(BURST_VERDICTS)
        ]
        return texts[-1] if texts else ""

    def _crash_text(self, view: View) -> str:
        """The result of the last crash as text; empty before its end."""
        texts = [event.text for event in view.events if event.elapsed_seconds >= self._changed_at]
        return next((text for text in reversed(texts) if CRASHED in text or CRASH_FAILED in text), "")


_LEVELS = re.compile(r": [^:;]* before, [^:;]* at the lowest")
"""The figures in the verdict on a burst for which a caption has no room; the event has them."""

_UNSTEADY = "The figures vary too much, on their own or because of other programs on this host."
_WAITING = {
    "settled": "waiting until the load has settled",
    "effect": "measuring the effect",
    "sql": "executing the statement",
    "crash": "a load with a ledger, a kill, a recovery",
    "probe": "probing",
    "burst": "does it recover?",
    "recovery": "waiting until it has recovered",
}


def verdict_on(step: SceneStep, one: Comparison) -> tuple[str, str]:
    """Text and kind for a measured figure: as expected, not as expected, or inconclusive."""
    levels = f"{figure_named(one.figure).brief} {before_after_text(one)}"
    figures = f"{levels}, {verdict_text(one)}{trend_text(one)}."
    expected = DIRECTIONS.get(step.expect)
    if one.verdict is Verdict.NOT_ONLY or one.movement is not None:
        return figures, "unknown"
    if one.verdict is Verdict.CANNOT_TELL:
        return f"{figures} {_UNSTEADY}", "unknown"
    if one.verdict is Verdict.EQUAL and expected is not Verdict.EQUAL:
        return f"On this machine there is no difference: {figures} {step.otherwise}".strip(), "nothing"
    if expected is not None and one.verdict is not expected:
        return f"Here the effect is the opposite: {figures} {step.otherwise}".strip(), "nothing"
    return f"{figures} {step.then}".strip(), "reveal"


def is_settled(view: View, since_seconds: float) -> bool:
    """True if throughput and p95 show no trend since that time."""
    points = [
        point for point in view.points if point.elapsed_seconds > since_seconds + 1 and point.tps is not None
    ]
    rates = [point.tps or 0.0 for point in points]
    latencies = [point.p95_ms or 0.0 for point in points]
    return settled_at((rates, latencies), SETTLED_TICKS) is not None


def _commands(change: SceneChanges) -> Iterator[Command]:
    """The commands of a step, those of the load last. The session treats them as one change."""
    if change.restore:
        yield RestoreSettings()
    if change.preset:
        yield ApplyPreset(change.preset)
    for name, value in change.setting.items():
        yield ChangeSetting(name, _written(value))
    if change.weights:
        yield SetWeights(change.weights)
    if change.sql:
        yield RunSql(change.sql)
    if change.crash:
        yield CrashServer()
    for option, value in change.callers.items():
        yield SetCallers(option, _written(value))
    if change.delay:
        yield SetDelay(parse_delay_ms(change.delay))
    if change.hardware:
        yield SetHardware(change.hardware)
    if change.rate is not None:
        yield SetRate(change.rate)
    if change.threads is not None:
        yield SetThreads(change.threads)
    if change.burst:
        yield StartBurst(*parse_burst(change.burst))


def _written(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return f"{value:g}" if isinstance(value, float) else str(value)
