"""Effects on the screen: the card of a change, and its mark in a chart.

The card beside the events shows two spans that the operator compares, otherwise the newest effect: figures
before and after the change, the difference, and its interval.

In a chart, horizontal lines are the means over the columns of the compared windows, and the difference is
beside the change's marker. They belong to the shown effect, pinned or newest. A difference that is not
significant is grey.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from tuibench.base.units import DASH, count, duration, hms, milliseconds, time_left
from tuibench.metrics.costs import change_parts
from tuibench.metrics.figures import FIGURES, Better, FigureUnit, Quantile, figure_named
from tuibench.metrics.inference import TOO_NOISY, least_text, movement_reason, verdict_text
from tuibench.metrics.wait_changes import MOST_NAMED, because_text, effect_reason
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.effect import (
    AbTestResult,
    Comparison,
    Effect,
    EffectProgress,
    Verdict,
    comparison_of,
)
from tuibench.model.event import Event, EventKind
from tuibench.model.settings import ab_order, brief_change, changed_settings
from tuibench.report.effects import derivation_text, trial_note
from tuibench.tui.actions import ACTIONS_BY_NAME, action_key
from tuibench.tui.charts import ChartPoint, TimeGrid
from tuibench.tui.panels.interval_scale import interval_line, scale_cells
from tuibench.tui.panels.load import Measure
from tuibench.tui.steering import resolving_test
from tuibench.tui.text import TextLine, TextSpan, join_parts, line_width, pad_line, shorten, wrap_text
from tuibench.tui.view import View, change_markers, own_changes, view_grid

_NAME_WIDTH = 11
_LEVELS_WIDTH = 20
_COST_NAME_WIDTH = 20
PAIR = 2
"""Number of effects that are pinned for a comparison."""


def effect_card(view: View, width: int, height: int) -> list[TextLine]:
    """The change, one line per figure, and the compared windows; empty before the first change.

    While an effect is measured, the remaining time; if it could not be measured, the reason. During an A/B
    test, its result so far.
    """
    if view.shown_ab_test is not None:
        return _ab_test_lines(view.shown_ab_test, view, width, height)
    if len(view.pinned_effects) == PAIR:
        return _pair_lines(view.pinned_effects[0], view.pinned_effects[1], width, height)
    if (progress := view.effect_progress) is not None:
        return progress_lines(view, progress, width, height)
    if (missing := view.effect_not_measured) is not None:
        return _not_measured_lines(missing, view, width, height)
    if view.effect is None:
        return []
    hint, ends = _resolve_hint(view.effect, view), _end_hint(view.effect, view)
    return effect_lines(view.effect, width, height, hint=hint, ends=ends)


NEWS_SECONDS = 60.0
"""The time for which a small screen shows a new effect instead of the events."""


def is_effect_news(view: View) -> bool:
    """True while an effect is measured, and for some time after it is known."""
    newest = next((event for event in reversed(view.events) if event.kind is EventKind.EFFECT), None)
    is_new = newest is not None and view.run_seconds - newest.elapsed_seconds <= NEWS_SECONDS
    return view.effect_progress is not None or (is_new and has_effect_card(view))


def has_effect_card(view: View) -> bool:
    """True if the card shows anything."""
    return view.shown_ab_test is not None or any(
        one is not None for one in (view.effect, view.effect_progress, view.effect_not_measured)
    )


def progress_lines(view: View, progress: EffectProgress, width: int, height: int) -> list[TextLine]:
    """The card while an effect is measured: the change, what is waited for, and the differences so far."""
    title = _effect_title(progress.markers, progress.change, width)
    beside = width - line_width(title)
    words = brief = progress_text(view, progress)
    role = "muted"
    if progress.holds:
        words, brief = (testing_text(view, progress, room) for room in (width, beside))
        role = "warn"
    head = [title, *_sentence(words, role, width)]
    if len(brief) + len(_BETWEEN) <= beside:
        head = [(*title, TextSpan(_BETWEEN), TextSpan(brief, role))]
    elif progress.holds and len(progress.comparisons) + len(head) > height:
        # In little room, the events tell the change.
        number = TextSpan(str(progress.markers[-1]), "badge")
        head = [(number, TextSpan("  "), *_sentence(words, role, width - 3)[0])]
    lines = [*head, *difference_rows(progress.comparisons, width, is_running=True)]
    spent = time_line(progress.time_before, progress.time_after, width)
    return [pad_line(line, width) for line in [*lines, *spent][:height]]


_BETWEEN = "   "


def testing_text(view: View, progress: EffectProgress, width: int) -> str:
    """What an alternation does now; it ends with the new value."""
    names = (setting for setting in view.status.settings if setting.short_name)
    holds = reduce(lambda text, one: text.replace(one.name, one.short_name), names, progress.holds)
    turn = f"TESTING: now {holds}, turn {progress.turn} of {progress.turns}"
    whole = f"{turn} · your choice returns at the end"
    return whole if len(whole) <= width - 3 else f"{turn}, then your choice"


def difference_rows(
    comparisons: Sequence[Comparison], width: int, *, is_running: bool = False
) -> list[TextLine]:
    """A line for each figure: levels, the interval as far as there is room for one, and the words."""
    spans = [running_span(one) if is_running else _span_beside_scale(one) for one in comparisons]
    longest = max((len(span.text) for span in spans), default=0)
    room = width - _NAME_WIDTH - _LEVELS_WIDTH - longest - len(_BETWEEN)
    if not is_running and not scale_cells(room):
        spans = [difference_span(one) for one in comparisons]
    rows = []
    for one, span in zip(comparisons, spans, strict=True):
        drawn = interval_line(one, room, span.role)
        gap = TextSpan(_BETWEEN if drawn else "")
        rows.append((*_effect_row(one)[:-1], *drawn, gap, span))
    return rows


def _span_beside_scale(one: Comparison) -> TextSpan:
    """The verdict beside a drawn interval, which an unsure one does not repeat."""
    span = difference_span(one)
    return span._replace(text=TOO_NOISY) if span.text.startswith(TOO_NOISY) else span


def running_span(one: Comparison) -> TextSpan:
    """What is likely so far: no verdict, so in no colour of a verdict."""
    if not one.differs:
        return TextSpan("no answer yet", "muted")
    figure = figure_named(one.figure)
    is_speed = isinstance(figure.source, Quantile) or figure.unit is FigureUnit.PER_SECOND
    words = ("faster", "slower") if is_speed else ("less", "more")
    is_first = (one.delta < 0) is (figure.better is not Better.HIGHER)
    return TextSpan(f"likely {words[0 if is_first else 1]}", "strong")


LEAST_SHARE_OF_TIME = 0.02
"""Wait classes below this share of a transaction's time are not shown."""


def time_line(before: Mapping[str, float], after: Mapping[str, float], width: int) -> list[TextLine]:
    """Where the time of a transaction went before and after: the whole, and the classes that moved most; no
    line without an account.
    """
    if not before or not after:
        return []
    whole = max(sum(before.values()), sum(after.values()))
    line: TextLine = (
        TextSpan(f"{'time/trx':<{_NAME_WIDTH}}", "muted"),
        TextSpan(f"{_time(sum(before.values()))} → {_time(sum(after.values()))}", "strong"),
    )
    for wait in sorted(WaitClass, key=lambda one: -abs(after.get(one, 0.0) - before.get(one, 0.0))):
        old, new = before.get(wait, 0.0), after.get(wait, 0.0)
        part: TextLine = (
            TextSpan(f"   {wait.label} ", "muted"),
            TextSpan(f"{_time(old)} → {_time(new)}", "strong"),
        )
        is_small = max(old, new) < LEAST_SHARE_OF_TIME * whole
        if not is_small and line_width(line) + line_width(part) <= width:
            line = (*line, *part)
    return [line]


def _time(value_ms: float) -> str:
    return milliseconds(value_ms) if value_ms else "0"


def progress_text(view: View, progress: EffectProgress) -> str:
    """What the measurement of an effect waits for, and how long at most."""
    now = view.points[-1].elapsed_seconds if view.points else progress.at_seconds
    at_most = f"at most {time_left(progress.latest_seconds - now)}"
    if progress.alternates:
        return f"both values alternate to decide the effect, {at_most}"
    if (rest := progress.earliest_seconds - now) > 0:
        return f"measuring, {time_left(rest)}"
    return f"waiting until TPS and p95 are steady, {at_most}"


def _not_measured_lines(event: Event, view: View, width: int, height: int) -> list[TextLine]:
    """The change, and why its effect was not measured."""
    change = change_of(event, view)
    lines = [
        _effect_title((event.marker or 0,), change, width),
        *_sentence(f"not measured: {event.not_measured}", "warn", width),
        *_sentence(_ab_test_hint(change, view), "muted", width),
    ]
    return [pad_line(line, width) for line in lines[:height]]


def change_of(event: Event, view: View) -> str:
    """The text of the change to which an effect's event belongs."""
    changes = (each for each in view.events if each.marker == event.marker and each is not event)
    return next(changes, event).text


def _sentence(text: str, role: str, width: int) -> list[TextLine]:
    return [(TextSpan(line, role),) for line in wrap_text(text, width)]


def _resolve_hint(effect: Effect, view: View) -> str:
    """How to decide a doubtful effect; empty if that is not possible."""
    found = resolving_test(view)
    if found is None or effect is not view.effect:
        return _ab_test_hint(effect.change, view)
    if found.is_too_long:
        return "not on this host: an A/B test would take hours"
    key = action_key(ACTIONS_BY_NAME["resolve"], view)
    about = "" if found.seconds is None else f", about {duration(max(found.seconds, 1))}"
    return f"{key}: A/B test of both values{about}"


def _ab_test_hint(change: str, view: View) -> str:
    """The key of an A/B test of the change; empty if that is not possible."""
    if view.cannot_steer or not ab_order(change, view.status.presets):
        return ""
    return f"{action_key(ACTIONS_BY_NAME['ab_test'], view)}: A/B test"


def _reason_lines(effect: Effect, width: int, height: int) -> list[TextLine]:
    """Why the figure changed, with as many wait classes as fit."""
    texts = [because_text(effect.because, most) for most in range(MOST_NAMED, 0, -1)]
    wrapped = (_sentence(text or effect_reason(effect), "strong", width) for text in texts)
    *fuller, shortest = wrapped
    return next((lines for lines in fuller if len(lines) <= height), shortest)


def _end_hint(effect: Effect, view: View) -> str:
    """The keys that keep the change and take it back, as long as its settings have values of this session."""
    names = changed_settings(effect.change, view.status.presets)
    if view.cannot_steer or not any(setting.name in names for setting in own_changes(view)):
        return ""
    keep, undo = (action_key(ACTIONS_BY_NAME[name], view) for name in ("keep", "undo"))
    return f"{keep} keeps it, {undo} takes it back"


def effect_lines(
    effect: Effect, width: int, height: int, *, hint: str = "", ends: str = ""
) -> list[TextLine]:
    """The card of one effect. The hint is shown if a difference cannot be attributed; `ends` says how the
    change ends.
    """
    shown = effect.comparisons
    room, derived = height - 1 - len(shown), _sentence(derivation_text(effect), "muted", width)
    reasons = [*_attribution_lines(effect, width, room - len(derived), hint), *derived]
    if len(reasons) > room:
        # On a small screen the reasons replace the last figures.
        reasons = [*derived[:1], *_attribution_lines(effect, width, 1, hint)[:1]][: max(1, height - 2)]
        shown = shown[: max(1, height - 1 - len(reasons))]
    elif effect.because and (derived or not reasons):
        # The last figure is on a chart, too, but the reasons are shown only here.
        shown = shown[: max(1, height - 2 - len(reasons))]
    # Cost of an operation before and after, as far as it fits.
    lines = [
        _effect_title(effect.markers, effect.change, width),
        *difference_rows(shown, width),
        *reasons,
        *_reason_lines(effect, width, height - 1 - len(shown) - len(reasons)),
        (*_windows_line(effect), *([TextSpan(f"   {ends}", "strong")] if ends else ())),
        *time_line(effect.time_before, effect.time_after, width),
        *[
            (TextSpan(f"{resource.facts.label:<{_COST_NAME_WIDTH}}", "muted"), TextSpan(text, "strong"))
            for resource, text in change_parts(effect.cost_before, effect.cost_after)
        ],
    ]
    return [pad_line(line, width) for line in lines[:height]]


def _ab_test_lines(result: AbTestResult, view: View, width: int, height: int) -> list[TextLine]:
    """Figures of an A/B test so far, and further findings as far as they fit."""
    title: TextLine = (
        TextSpan("A/B ", "title"),
        TextSpan(f"{result.subject} {result.a} → {result.b}", "muted"),
    )
    if view.is_ab_testing:
        title = (*title, TextSpan(f"  {action_key(ACTIONS_BY_NAME['ab_test'], view)} ends it", "muted"))
    sentence = wrap_text("; ".join(filter(None, (trial_note(result), because_text(result.because)))), width)
    rows = difference_rows(result.comparisons, width)
    lines: list[TextLine] = [title, *rows, *((TextSpan(line, "muted"),) for line in sentence)]
    return [pad_line(line, width) for line in lines[:height]]


def _pair_lines(first: Effect, second: Effect, width: int, height: int) -> list[TextLine]:
    """Two effects side by side: the changes, and for each figure both differences and final values."""
    column = (width - _NAME_WIDTH) // PAIR
    lines: list[TextLine] = [
        _pair_line(
            (TextSpan("EFFECTS of", "title"),), *(_pair_head(each, column) for each in (first, second))
        )
    ]
    for one in first.comparisons:
        other = second.comparison(one.figure)
        name = TextSpan(_name(one), "muted")
        cells = (_pair_cell(each, column) for each in (one, other))
        lines.append(_pair_line((name,), *cells))
    lines.append((TextSpan("e another, E ends the comparison", "muted"),))
    return [pad_line(line, width) for line in lines[:height]]


def _pair_line(name: TextLine, first: TextLine, second: TextLine) -> TextLine:
    return (*pad_line(name, _NAME_WIDTH), *first, *second)


def _pair_head(effect: Effect, width: int) -> TextLine:
    number = str(effect.markers[-1])
    room = width - len(number) - 2
    text = TextSpan(f" {shorten(brief_change(effect.change, room), room)}", "muted")
    return pad_line((TextSpan(number, "badge"), text), width)


def _pair_cell(one: Comparison | None, width: int) -> TextLine:
    if one is None:
        return pad_line((TextSpan(DASH, "muted"),), width)
    return pad_line(
        (
            TextSpan(f"{least_text(one):<8}", difference_role(one)),
            TextSpan(f"to {_level(one, one.after)}", "strong"),
        ),
        width,
    )


def _effect_title(markers: Sequence[int], change: str, width: int) -> TextLine:
    numbers = "–".join(str(marker) for marker in dict.fromkeys((markers[0], markers[-1])))
    head: TextLine = (TextSpan("EFFECT of ", "title"), TextSpan(numbers, "badge"), TextSpan("  "))
    room = width - len("EFFECT of   ") - len(numbers)
    if not change:
        return head
    return (*head, TextSpan(shorten(brief_change(change, room), room), "muted"))


def _effect_row(one: Comparison) -> TextLine:
    return (
        TextSpan(_name(one), "muted"),
        TextSpan(f"{before_after_text(one):<{_LEVELS_WIDTH}}", "strong"),
        difference_span(one),
    )


def before_after_text(one: Comparison) -> str:
    """The levels before → after, in the figure's format."""
    return f"{_level(one, one.before)} → {_level(one, one.after)}"


def _level(one: Comparison, value: float) -> str:
    figure = figure_named(one.figure)
    return count(value) if figure.unit is FigureUnit.PER_SECOND else figure.text(value)


def _name(one: Comparison) -> str:
    return f"{shorten(figure_named(one.figure).brief, _NAME_WIDTH - 1):<{_NAME_WIDTH}}"


def difference_span(one: Comparison) -> TextSpan:
    """The verdict on a difference, coloured by improvement or regression."""
    return TextSpan(verdict_text(one, is_brief=True), difference_role(one))


def difference_role(one: Comparison | None) -> str:
    """The style of a difference: improvement, regression, plain if the change is not its only cause, grey if
    no difference is known.
    """
    better = None if one is None else figure_named(one.figure).better
    if one is not None and one.verdict is Verdict.NOT_ONLY:
        return "strong"
    if one is None or not one.differs or better is None:
        return "muted"
    return "ok" if (one.delta > 0) is (better is Better.HIGHER) else "warn"


def _attribution_lines(effect: Effect, width: int, height: int, hint: str) -> list[TextLine]:
    """Why a difference is not only the change's, or too noisy to tell, and how to decide it; shortened if it
    does not fit.
    """
    moved = next((one for one in effect.comparisons if one.movement is not None), None)
    first = effect.comparisons[0] if effect.comparisons else None
    if moved is not None:
        long = movement_reason(moved)
        short = long.removesuffix(" the change")
    elif hint and first is not None and first.verdict is Verdict.CANNOT_TELL:
        return _sentence(hint, "warn", width)[:height]
    else:
        return []
    hints = [f" ({each})" for each in (hint, hint.partition(" of both")[0]) if each]
    texts = (*(f"{each}{way}" for way in hints for each in (long, short)), short)
    fitting = (lines for each in texts if len(lines := _sentence(each, "warn", width)) <= height)
    return next(fitting, _sentence(short, "warn", width))


def _windows_line(effect: Effect) -> TextLine:
    if effect.alternated_seconds is not None:
        return (TextSpan(f"both values alternated for {effect.alternated_seconds:.0f} s", "muted"),)
    seconds = f"{effect.window_seconds:.0f} s"
    settling = f"{effect.settling_seconds:.0f} s to settle" if effect.settled else "and still moving"
    return (TextSpan(f"{seconds} before, {seconds} after, {settling}", "muted"),)


_SPAN_NAME_WIDTH, _SPAN_LEVELS_WIDTH = 6, 22
_GAP = TextSpan("   ")


def comparison_card(view: View, width: int, height: int) -> list[TextLine]:
    """Comparison of two spans in four lines or, if space is short, two."""
    found = view.chart_state.difference
    if found is None:
        return effect_card(view, width, height)
    lines: list[TextLine]
    if isinstance(found, str):
        lines = [_spans_title(view), *((TextSpan(text, "warn"),) for text in wrap_text(found, width))]
    elif height < len(found) + 1:
        parts = [
            (TextSpan(f"{figure_named(one.figure).brief} ", "muted"), difference_span(one)) for one in found
        ]
        lines = [join_parts((_spans_title(view), *parts[:1]), _GAP), join_parts(parts[1:], _GAP)]
    else:
        lines = [_spans_title(view), *map(_comparison_row, found), (TextSpan("esc ends it", "muted"),)]
    return [pad_line(line, width) for line in lines[:height]]


def _spans_title(view: View) -> TextLine:
    a, b = (f"{hms(start)}–{hms(end)}" for start, end in view.chart_state.spans)
    return (
        TextSpan("A", "badge"),
        TextSpan(f" {a}  →  ", "title"),
        TextSpan("B", "badge"),
        TextSpan(f" {b}", "title"),
    )


def _comparison_row(one: Comparison) -> TextLine:
    return (
        TextSpan(f"{figure_named(one.figure).brief:<{_SPAN_NAME_WIDTH}}", "muted"),
        TextSpan(f"{before_after_text(one):<{_SPAN_LEVELS_WIDTH}}", "strong"),
        difference_span(one),
    )


LINE_GLYPHS = "▁━▔"
"""A line at the bottom, in the middle, and at the top of a cell."""


class MeanLine(NamedTuple):
    """The mean of a window, drawn over its columns."""

    first: int
    """First and last column."""
    last: int
    value: float
    label: str
    """The value as text beside the marker."""
    is_before: bool

    def label_start(self, marker: int) -> int:
        """First column of the label, which ends before the marker or starts after it."""
        return marker - len(self.label) if self.is_before else marker + 1

    def place(self, top: float, height: int) -> tuple[int, str]:
        """Row from the bottom, and glyph, in a chart whose maximum is `top`."""
        level = min(max(self.value / top, 0.0), 1.0) * height if top > 0 else 0.0
        row = min(int(level), height - 1)
        return row, LINE_GLYPHS[min(int((level - row) * len(LINE_GLYPHS)), len(LINE_GLYPHS) - 1)]


class Signature(NamedTuple):
    """The mark of a change in one chart."""

    marker: int
    """Column of its marker."""
    means: tuple[MeanLine, ...]
    difference: str
    role: str


def signature_of(measure: Measure, view: View, columns: int) -> Signature | None:
    """The mark of the shown effect; None without an effect, or if its change is outside the chart."""
    effect = view.effect
    if effect is None:
        return None
    number = effect.markers[-1]
    marker = next((column for column, each in change_markers(view, columns).items() if each == number), None)
    if marker is None:
        return None
    grid, levels = view_grid(view, columns), _levels(measure, view, effect)
    if levels is None:
        return None

    def write(value: float) -> str:
        return " ".join(measure.big(value)).rstrip()

    means = tuple(
        line
        for window, value, is_before in zip(effect_windows(view, effect), levels, (True, False), strict=True)
        if (line := _mean_line(grid, window, value, write, is_before=is_before)) is not None
    )
    one = compared_in(measure, effect)
    return Signature(marker, means, least_text(one) if one else "", difference_role(one))


SIGNED_MEASURES = frozenset({"qps", "headline"})
"""Rates that are drawn with the means of the chart's points if the effect does not compare them."""


def compared_in(measure: Measure, compared: Effect | AbTestResult) -> Comparison | None:
    """The comparison of the figure that a chart shows."""
    return comparison_of(FIGURES[measure.name].key, compared.comparisons) if measure.name in FIGURES else None


def effect_windows(view: View, effect: Effect) -> tuple[range, range]:
    """The tick numbers of the compared windows: those that ended before the change, and those
    after settling.
    """
    interval = view.plan.interval_seconds
    began = next(
        (event.elapsed_seconds for event in view.events if event.marker == effect.markers[0]),
        effect.at_seconds,
    )
    count = max(1, round(effect.window_seconds / interval))
    last = math.floor(began / interval)
    first = round((effect.at_seconds + effect.settling_seconds) / interval) + 1
    return range(last - count + 1, last + 1), range(first, first + count)


def _levels(measure: Measure, view: View, effect: Effect) -> tuple[float, float] | None:
    """The levels of the effect; for a rate that it does not compare, the means of the chart's points."""
    if (one := compared_in(measure, effect)) is not None:
        return one.before, one.after
    if measure.name not in SIGNED_MEASURES:
        return None
    before, after = (
        _mean(measure, view.history.between(window[0], window[-1])) for window in effect_windows(view, effect)
    )
    return (before, after) if before is not None and after is not None else None


def _mean(measure: Measure, points: Sequence[ChartPoint]) -> float | None:
    known = [
        (value, point.seconds)
        for point in points
        if (value := measure.value(point)) is not None and point.seconds > 0
    ]
    seconds = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / seconds if seconds else None


def _mean_line(
    grid: TimeGrid, ticks: range, value: float, write: Callable[[float], str], *, is_before: bool
) -> MeanLine | None:
    """The visible part of a window's mean; None if the window is outside the chart."""
    first = max(0, grid.column_of(ticks[0]))
    last = min(grid.columns - 1, grid.column_of(ticks[-1]) + grid.cells - 1)
    return MeanLine(first, last, value, f" {write(value)} ", is_before) if first <= last else None
