"""HTML section of the changes during a run and their effects."""

from collections.abc import Sequence

from tuibench.metrics.inference.messages import (
    ALTERNATION,
    FIGURE_NAMES,
    attribution_text,
    difference_text,
    verdict_text,
)
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.model.experiments.effect import AbTestResult, Comparison, Effect, EffectFigure
from tuibench.record.files.run import Run
from tuibench.record.html.markup import Child, Markup, figure_table, join_markup, tag
from tuibench.record.report.effect_text import cost_parts
from tuibench.units import count, decimal, hms

LESS_IS_BETTER = frozenset({EffectFigure.P95, EffectFigure.FSYNCS, EffectFigure.FSYNC_RATE})


def changes_section(run: Run) -> Markup:
    """Each change with its effect; then all events."""
    effects = {effect.markers[-1]: effect for effect in run.summary.effects}
    numbered = [event for event in run.events if event.kind in CHANGE_KINDS and event.marker is not None]
    cards = [_card(event, effects[event.marker]) for event in numbered if event.marker in effects]
    rows = [
        (hms(event.elapsed_seconds), str(event.marker or ""), str(event.kind), event.text)
        for event in run.events
        if event.kind is not EventKind.EFFECT or event.not_measured
    ]
    costs = [
        (f"{cost.setting} = {cost.value}", count(cost.transactions), ", ".join(cost_parts(cost)))
        for cost in run.summary.costs
        if cost.transactions
    ]
    return join_markup(
        tag("div", cards, class_="cards") if cards else tag("p", _without_effects(run, numbered)),
        join_markup(
            tag("h3", "Cost of a commit"),
            figure_table(("setting", "transactions", "for each of them"), costs, words=3),
        )
        if costs
        else None,
        tag(
            "details",
            tag("summary", f"All {len(rows)} events"),
            figure_table(("at", "no.", "kind", "what"), rows, words=4),
        ),
    )


def _without_effects(run: Run, numbered: Sequence[Event]) -> str:
    if run.summary.tune is not None:
        return "The effects of the changes are those of the screening."
    if numbered:
        return "No effect of a change was measured; the events show the reasons."
    return "Nothing was changed during the run."


def _card(event: Event, effect: Effect) -> Markup:
    title = tag("h3", tag("span", str(event.marker), class_="badge"), tag("span", event.text))
    when = f"at {hms(event.elapsed_seconds)}"
    windows = f"{effect.window_seconds:.0f} s before and after, {effect.settling_seconds:.0f} s to settle"
    moving = "" if effect.settled else "; the load was still moving"
    together = (
        f", together with {', '.join(map(str, effect.markers[:-1]))}" if len(effect.markers) > 1 else ""
    )
    unattributed = [text for one in effect.comparisons if (text := attribution_text(one))]
    return tag(
        "div",
        title,
        figure_table(
            ("", "before", "after", "difference"),
            [_compared(one) for one in effect.comparisons],
        ),
        tag("p", f"{when}{together}; {windows}{moving}", class_="note"),
        tag("p", f"{unattributed[0]}; {ALTERNATION}", class_="note") if unattributed else None,
        class_="card",
    )


def _compared(one: Comparison, *, is_trial: bool = False) -> Sequence[Child]:
    digits = 3 if one.figure is EffectFigure.FSYNCS else 1
    unit = " ms" if one.figure is EffectFigure.P95 else ""
    return (
        FIGURE_NAMES[one.figure],
        f"{decimal(one.before, digits)}{unit}",
        f"{decimal(one.after, digits)}{unit}",
        _verdict(one, is_trial=is_trial),
    )


def _verdict(one: Comparison, *, is_trial: bool = False) -> Markup:
    text = difference_text(one, is_trial=is_trial)
    if not one.differs:
        words = verdict_text(one.verdict, one.tolerance_percent)
        return tag("span", words, tag("small", text), class_="soft")
    better = (one.delta < 0) is (one.figure in LESS_IS_BETTER)
    change, _, interval = text.partition(" (")
    return tag(
        "span",
        f"{'▲' if one.delta > 0 else '▼'} {change}",
        tag("small", interval.removesuffix(")")),
        class_="better" if better else "worse",
    )


def ab_test_section(run: Run) -> Markup | None:
    """The results of A/B tests, if there are any."""
    results = run.summary.ab_tests
    return join_markup(*map(_ab_test, results)) if results else None


def _ab_test(result: AbTestResult) -> Markup:
    return join_markup(
        tag("p", f"{result.subject}: A is {result.a}, B is {result.b}, in {result.cycles} cycles."),
        figure_table(
            ("", "A", "B", "difference"),
            [_compared(one, is_trial=True) for one in result.comparisons],
            wide=False,
        )
        if result.comparisons
        else None,
        tag("p", result.sentence),
    )
