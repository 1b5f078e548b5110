"""Scene player: converts views and time to commands and screen changes, without I/O.

A step ends when its text has been read, its condition holds, or the speaker continues. A reveal shows the
measured result: a change without an effect on this machine is reported as such.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tuibench.effects.panel import before_after_text
from tuibench.metrics.figures import figure_named
from tuibench.metrics.inference import trend_text, verdict_text
from tuibench.metrics.series import settled_at
from tuibench.model.command import (
    ApplyPreset,
    ChangeSetting,
    Command,
    RestoreSettings,
    RunSql,
    SetDelay,
    SetRate,
    SetThreads,
    SetWeights,
    StartProbe,
)
from tuibench.model.effect import Comparison, Effect, Verdict
from tuibench.model.event import DURING, ENDED, Event, EventKind
from tuibench.model.notation import parse_delay_ms
from tuibench.model.probe import ProbeOrder
from tuibench.scenes.scene import PROBE, REVEALED, SQL, Scene, SceneStep, Settings
from tuibench.tui.view import Caption, View

WORDS_PER_SECOND, LEAST_SECONDS, ASK_SECONDS = 2.5, 4.0, 9.0
SETTLED_TICKS = 6
"""Number of ticks without a trend after which a load counts as settled."""
PROBE_START_SECONDS = 5.0
"""Time that a step waits for its probe to start: the probe's screen is available only then."""
DIRECTIONS = {"higher": Verdict.HIGHER, "lower": Verdict.LOWER, "equal": Verdict.EQUAL}


class ShowScreen(NamedTuple):
    """Switch to a screen of the tab line."""

    name: str


class PinEffects(NamedTuple):
    """Pin the effects of these changes: one, or two side by side."""

    markers: tuple[int, ...]


SceneAction = Command | ShowScreen | PinEffects


class ScenePlayer:
    """One performance. With `by_space` texts stay until the speaker continues; with `loop` it repeats."""

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

    def advance(self, view: View, now: float) -> list[SceneAction]:
        """Return the actions due now; called with every new view, and periodically."""
        if self._is_over or not view.points or view.stopping:
            return []
        actions: list[SceneAction] = []
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

    def _end(self, now: float) -> list[SceneAction]:
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
            SetRate(0),
            SetThreads(self.scene.threads),
            ShowScreen("live"),
        ]

    def _begin(self, step: SceneStep, view: View) -> list[SceneAction]:
        match step.action:
            case "say":
                self._show_caption(step.say, "say")
            case "ask":
                self._show_caption(" ".join([step.ask, *(f"  {choice}?" for choice in step.choices)]), "ask")
            case "set" if step.set is not None:
                self._remember(view)
                return list(_commands(step.set))
            case "reveal":
                self._show_caption(*self._revealed(step, view))
            case "show":
                return [ShowScreen(step.show)]
            case "big":
                return [ShowScreen("big")]
            case "compare":
                return self._compare()
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
        place = f"{self._place + 1}/{len(self.scene.steps)}"
        self._caption = Caption(self.scene.title, text, kind, place)

    def _remember(self, view: View) -> None:
        """Record the time and the last marker before a change, to find its effect."""
        self._changed_at = view.elapsed_seconds
        self._marker = max((event.marker or 0 for event in view.events), default=0)
        self._no_effect = ""

    def _compare(self) -> list[SceneAction]:
        """Compare the last two effects; no action if there is only one."""
        pair = tuple(effect.markers[-1] for effect in self._effects[-2:])
        return [PinEffects(pair)] if len(pair) == 2 else []

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
        effect = self._last_effect()
        one = effect.comparison(REVEALED[step.reveal]) if effect is not None and step.reveal else None
        if one is None:
            reason = self._no_effect or "the load did not settle in time"
            return f"Not measured: {reason}.", "unknown"
        return verdict_on(step, one)

    def _statement_text(self, view: View) -> str:
        """How the last statement ended, and the levels during it; empty while it runs."""
        texts = [event.text for event in view.events if event.elapsed_seconds >= self._changed_at]
        end = next((text for text in reversed(texts) if ENDED in text), "")
        levels = next((text for text in reversed(texts) if text.startswith(DURING)), "")
        return f"{end}; {levels}" if levels else end

    def _last_effect(self) -> Effect | None:
        """Effect of the last change, None if not measured; never that of an earlier change."""
        newest = self._effects[-1] if self._effects else None
        return newest if newest is not None and newest.markers[-1] > self._marker else None


_UNSTEADY = "The figures vary too much, on their own or because of other programs on this host."
_WAITING = {
    "settled": "waiting until the load has settled",
    "effect": "measuring the effect",
    "sql": "executing the statement",
    "probe": "probing",
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


def _commands(change: Settings) -> Iterator[Command]:
    """The commands of a step, the load's last: together they are one change."""
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
    if change.delay:
        yield SetDelay(parse_delay_ms(change.delay))
    if change.rate is not None:
        yield SetRate(change.rate)
    if change.threads is not None:
        yield SetThreads(change.threads)


def _written(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return f"{value:g}" if isinstance(value, float) else str(value)
