"""What was changed on the way, and what that did."""

from collections.abc import Sequence

from tuibench.model.effect import Comparison, Effect, Figure
from tuibench.model.event import CHANGES, Event, EventKind
from tuibench.record.effects import NAMES, cost_words, difference
from tuibench.record.html.markup import Child, Markup, joined, tag
from tuibench.record.html.tables import figures
from tuibench.record.run import Run
from tuibench.units import clock, count, decimal

LESS_IS_BETTER = frozenset({Figure.P95, Figure.FSYNCS})


def changes(run: Run) -> Markup:
    """Each change with what it did; then all events."""
    effects = {effect.markers[-1]: effect for effect in run.summary.effects}
    numbered = [event for event in run.events if event.kind in CHANGES and event.marker is not None]
    cards = [_card(event, effects.get(event.marker or 0)) for event in numbered]
    rows = [
        (clock(event.elapsed_seconds), str(event.marker or ""), str(event.kind), event.text)
        for event in run.events
        if event.kind is not EventKind.EFFECT
    ]
    costs = [
        (f"{cost.setting} = {cost.value}", count(cost.transactions), ", ".join(cost_words(cost)))
        for cost in run.summary.costs
        if cost.transactions
    ]
    return joined(
        tag("div", cards, class_="cards") if cards else tag("p", "Nothing was changed on the way."),
        joined(
            tag("h3", "What a commit cost"),
            figures(("setting", "transactions", "for each of them"), costs, words=3),
        )
        if costs
        else None,
        tag(
            "details",
            tag("summary", f"All {len(rows)} events"),
            figures(("at", "no.", "kind", "what"), rows, words=4),
        ),
    )


def _card(event: Event, effect: Effect | None) -> Markup:
    title = tag("h3", tag("span", str(event.marker), class_="badge"), tag("span", event.text))
    when = f"at {clock(event.elapsed_seconds)}"
    if effect is None:
        return tag("div", title, tag("p", f"{when}; no effect was measured", class_="note"), class_="card")
    windows = f"{effect.window_seconds:.0f} s before and after, {effect.settling_seconds:.0f} s to settle"
    moving = "" if effect.settled else "; the load was still moving"
    together = (
        f", together with {', '.join(map(str, effect.markers[:-1]))}" if len(effect.markers) > 1 else ""
    )
    return tag(
        "div",
        title,
        figures(
            ("", "before", "after", "difference"),
            [_compared(one) for one in effect.comparisons],
        ),
        tag("p", f"{when}{together}; {windows}{moving}", class_="note"),
        class_="card",
    )


def _compared(one: Comparison) -> Sequence[Child]:
    digits = 3 if one.figure is Figure.FSYNCS else 1
    unit = " ms" if one.figure is Figure.P95 else ""
    return (
        NAMES[one.figure],
        f"{decimal(one.before, digits)}{unit}",
        f"{decimal(one.after, digits)}{unit}",
        _verdict(one),
    )


def _verdict(one: Comparison) -> Markup:
    if not one.differs:
        return tag("span", "no difference", class_="soft")
    better = (one.delta < 0) is (one.figure in LESS_IS_BETTER)
    change, _, interval = difference(one).partition(" (")
    return tag(
        "span",
        f"{'▲' if one.delta > 0 else '▼'} {change}",
        tag("small", interval.removesuffix(")")),
        class_="better" if better else "worse",
    )


def trial(run: Run) -> Markup | None:
    """The result of two values in turn, if the run was one."""
    result = run.summary.ab
    if result is None:
        return None
    return joined(
        tag("p", f"{result.subject}: A is {result.a}, B is {result.b}, in {result.cycles} cycles."),
        figures(("", "A", "B", "difference"), [_compared(one) for one in result.comparisons], wide=False)
        if result.comparisons
        else None,
        tag("p", result.sentence),
    )
