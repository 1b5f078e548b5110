"""The card of the newest effect: before and after, the difference, and how sure it is."""

from collections.abc import Callable

from tuibench.model.effect import Comparison, Effect, Figure
from tuibench.tui.spans import Line, Span, pad, shorten
from tuibench.tui.view import View
from tuibench.units import count, milliseconds, small, with_interval

_NAME_WIDTH = 11
NAMES = {Figure.TPS: "TPS", Figure.P95: "p95", Figure.FSYNCS: "fsyncs/trx"}
_WRITE: dict[Figure, Callable[[float | None], str]] = {
    Figure.TPS: count,
    Figure.P95: milliseconds,
    Figure.FSYNCS: small,
}
_BETTER = {Figure.TPS: 1, Figure.P95: -1, Figure.FSYNCS: -1}
"""Which way a figure should go."""

_LEVELS_WIDTH = 20


def effect_card(view: View, width: int, height: int) -> list[Line]:
    """Which change, a line for each figure, and what was compared; nothing before the first effect."""
    return effect_lines(view.effect, width, height) if view.effect is not None else []


def effect_lines(effect: Effect, width: int, height: int) -> list[Line]:
    """The card of one effect."""
    lines = [_title(effect, width), *(_row(one) for one in effect.comparisons), _windows(effect)]
    return [pad(line, width) for line in lines[:height]]


def _title(effect: Effect, width: int) -> Line:
    numbers = "–".join(str(marker) for marker in dict.fromkeys((effect.markers[0], effect.markers[-1])))
    head: Line = (Span("EFFECT of ", "title"), Span(numbers, "badge"), Span("  "))
    return (*head, Span(shorten(effect.change, width - len("EFFECT of   ") - len(numbers)), "muted"))


def _row(one: Comparison) -> Line:
    name = Span(f"{NAMES[one.figure]:<{_NAME_WIDTH}}", "muted")
    return (name, Span(f"{levels(one):<{_LEVELS_WIDTH}}", "strong"), verdict(one))


def levels(one: Comparison) -> str:
    """Before → after, in the figure's own way of writing."""
    write = _WRITE[one.figure]
    return f"{write(one.before)} → {write(one.after)}"


def is_better(one: Comparison) -> bool:
    """Whether it went the way it should go."""
    return one.delta * _BETTER[one.figure] > 0


def verdict(one: Comparison) -> Span:
    """The difference with its interval, in the colour of good news or bad."""
    if not one.differs:
        return Span("no difference", "muted")
    if one.percent is None or one.percent_low is None or one.percent_high is None:
        text = with_interval(one.delta, one.low, one.high, "")
    else:
        text = with_interval(one.percent, one.percent_low, one.percent_high, " %")
    return Span(text, "ok" if is_better(one) else "warn")


def _windows(effect: Effect) -> Line:
    seconds = f"{effect.window_seconds:.0f} s"
    settling = f"{effect.settling_seconds:.0f} s to settle" if effect.settled else "and still moving"
    return (Span(f"{seconds} before, {seconds} after, {settling}", "muted"),)
