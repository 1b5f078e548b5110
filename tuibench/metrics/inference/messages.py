"""Texts of verdicts, the same on screen, on stderr, in reports and in the record."""

import re
from collections.abc import Iterable

from tuibench import units
from tuibench.model.experiments.effect import Comparison, EffectFigure, LevelMovement, MovementKind, Verdict
from tuibench.model.settings import PresetState

FIGURE_NAMES = {
    EffectFigure.TPS: "TPS",
    EffectFigure.QPS: "QPS",
    EffectFigure.P95: "p95",
    EffectFigure.FSYNCS: "fsyncs/trx",
    EffectFigure.FSYNC_RATE: "fsyncs/s",
}
TREND_POINTS, TREND_SHARE = 2.0, 0.1
"""The least deviation of a difference from that of its levels that is explained: points, share of it."""

FACTOR_FROM_PERCENT = 1000.0

FEWEST_NAME_LETTERS = 12
"""Letters of a shortened name from which it is still recognised."""

ALTERNATION = "an A/B test (--ab) alternates the values and excludes this"


def verdict_text(verdict: Verdict, tolerance_percent: float) -> str:
    """`higher`, `equal within ±5 %`, `cannot tell`."""
    return f"equal within ±{tolerance_percent:g} %" if verdict is Verdict.EQUAL else str(verdict)


def difference_text(one: Comparison, *, is_trial: bool = False) -> str:
    """The difference and its interval; in the figure's own unit without a relative difference.

    The result of a trial begins with the interval: a trial that stops with its verdict overestimates the
    difference.
    """
    write = units.interval_with_estimate if is_trial else units.with_interval
    if one.percent is None or one.percent_low is None or one.percent_high is None:
        return write(one.delta, one.low, one.high, "")
    return write(one.percent, one.percent_low, one.percent_high, " %")


def comparison_text(one: Comparison, *, is_trial: bool = False) -> str:
    """Verdict, difference and interval: `higher: +43 % (38..49 %)`; of a trial: `higher: 38..49 % (about
    +43 %)`.
    """
    words = verdict_text(one.verdict, one.tolerance_percent)
    return f"{words}: {difference_text(one, is_trial=is_trial)}"


def short_text(one: Comparison, *, is_trial: bool = False) -> str:
    """Like `comparison_text`, for narrow places: without the estimate if there is no difference, and as a
    factor from `FACTOR_FROM_PERCENT` on.
    """
    difference = difference_text(one)
    if one.differs:
        known = (one.percent or 0.0, one.percent_low or 0.0, one.percent_high or 0.0)
        is_large = known[0] >= FACTOR_FROM_PERCENT
        if is_trial and not is_large:
            return f"{one.verdict}: {difference_text(one, is_trial=True).replace('(about ', '(')}"
        return f"{one.verdict}: {units.factor_with_interval(*known) if is_large else difference}"
    interval = difference[difference.index("(") :]
    words = f"equal ±{one.tolerance_percent:g} %" if one.verdict is Verdict.EQUAL else str(one.verdict)
    return f"{words} {interval}"


def trend_text(one: Comparison) -> str:
    """Says that the trend before the change is taken out of the difference, if the levels alone give another
    one; empty otherwise.
    """
    if not one.differs or one.percent is None or not one.before:
        return ""
    plain = 100 * (one.after / one.before - 1)
    is_close = abs(plain - one.percent) <= max(TREND_POINTS, TREND_SHARE * abs(one.percent))
    return "" if is_close else ", with the trend before the change taken out"


def attribution_text(one: Comparison) -> str:
    """Why the difference cannot be attributed to the change; empty if it can."""
    reason = movement_reason(one)
    return f"cannot be attributed: {reason}" if reason else ""


def movement_reason(one: Comparison) -> str:
    """How the level of the figure moved without the change; empty if it did not."""
    if one.movement is None:
        return ""
    subject = "" if one.movement.kind is MovementKind.HOST else f"{FIGURE_NAMES[one.figure]} "
    return f"{subject}{movement_text(one.movement)}"


_CHANGE = re.compile(r"(?P<subject>[a-z_]+) (?P<before>\S+) → (?P<after>[^\s(;]+)(?: \(.*\))?")
_PRESET_CHANGE = re.compile(r"preset (?P<name>\S+): (?P<steps>\S+ \S+ → \S+(?:, \S+ \S+ → \S+)*)")
_STEP = re.compile(r"(?P<label>\S+) (?P<before>\S+) → [^\s,]+")


def preset_change(preset: str, steps: Iterable[tuple[str, str, str]]) -> str:
    """A preset with the values that it changed: `preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0`.

    A step is the label of a setting with its values before and after.
    """
    changed = [f"{label} {before or '?'} → {after}" for label, before, after in steps if before != after]
    return f"preset {preset}: {', '.join(changed) or 'no value changed'}"


def brief_change(change: str, width: int) -> str:
    """A change for narrow places: a preset without its values, a setting with its name shortened."""
    if len(change) <= width:
        return change
    if found := _PRESET_CHANGE.fullmatch(change):
        return f"preset {found['name']}"
    if found := _CHANGE.fullmatch(change):
        values = f" {found['before']} → {found['after']}"
        room = width - len(values)
        if room >= FEWEST_NAME_LETTERS:
            name = found["subject"]
            return f"{name if len(name) <= room else name[: room - 1] + '…'}{values}"
    return change


def ab_order(change: str, presets: Iterable[PresetState]) -> str:
    """The A/B test of a change, as `SETTING=V1,V2`; empty for a change without two values.

    The values before a preset must be a preset themselves; otherwise there is no test.
    """
    if found := _PRESET_CHANGE.fullmatch(change):
        before = _preset_before(found["name"], found["steps"], tuple(presets))
        return f"preset={before},{found['name']}" if before and before != found["name"] else ""
    found = _CHANGE.fullmatch(change)
    if found is None or found["before"] == found["after"] or "," in found["before"] + found["after"]:
        return ""
    return f"{found['subject']}={found['before']},{found['after']}"


def _preset_before(preset: str, steps: str, presets: tuple[PresetState, ...]) -> str:
    """The preset whose values the settings had before another one was set; empty if there is none."""
    target = next((each for each in presets if each.name == preset), None)
    if target is None:
        return ""
    old = {step["label"]: step["before"] for step in _STEP.finditer(steps)}
    values = {name: old.get(target.label(name), value) for name, value in target.values.items()}
    return next((each.name for each in presets if each.values == values), "")


def movement_text(movement: LevelMovement) -> str:
    """The movement of the level: `was falling by 3 %/s before the change`."""
    size = abs(movement.percent)
    amount = f"{size:.2g}" if size < 10 else f"{size:.0f}"
    match movement.kind:
        case MovementKind.TREND:
            direction = "falling" if movement.percent < 0 else "rising"
            return f"was {direction} by {amount} %/s before the change"
        case MovementKind.STEP:
            direction = "fell" if movement.percent < 0 else "rose"
            side = "before" if movement.seconds < 0 else "after"
            return f"{direction} by {amount} % {abs(movement.seconds):.0f} s {side} the change"
        case MovementKind.SAWTOOTH:
            return f"was swinging by {amount} % every {movement.seconds:.0f} s before the change"
        case MovementKind.WANDERING:
            return f"was wandering by {amount} % before the change"
        case MovementKind.UNKNOWN:
            return f"was watched for only {movement.seconds:.0f} s before the change"
        case MovementKind.HOST:
            direction = "less" if movement.percent < 0 else "more"
            return f"other programs or guests used {amount} % of the host's CPU {direction} after the change"
