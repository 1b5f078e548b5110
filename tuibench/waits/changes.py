"""Why it changed: the wait classes whose time per transaction is sure to have changed, and the sentence.

A class counts if its 95 % interval, made wider for the number of classes, excludes zero, and if the change is
not negligible in a transaction.
"""

from collections.abc import Iterable, Sequence

from tuibench import units
from tuibench.metrics.figures import FIGURES, figure_named, wait_figure
from tuibench.metrics.inference import FEWEST_SLOTS, RatioSeries, estimate_difference, merge_ticks, resample
from tuibench.model.effect import Comparison
from tuibench.model.tick import Tick, total_tick
from tuibench.waits.classes import WaitClass

WIDER = 1.5
"""The factor by which the interval of one of fifteen classes is wider than that of one figure."""
LEAST_SHARE = 0.02
"""Of the time of a transaction, below which a change is not worth a word."""
MOST_NAMED = 3
MOST_SLOTS = 100


def time_changes(before: Sequence[Tick], after: Sequence[Tick]) -> tuple[Comparison, ...]:
    """The classes that certainly changed, the largest change first; none without an account."""
    before, after = merge_ticks(before, MOST_SLOTS), merge_ticks(after, MOST_SLOTS)
    longest = max(map(_time_of_transaction, (total_tick(before), total_tick(after))))
    found = (_change(wait, before, after, longest) for wait in WaitClass) if longest else ()
    return tuple(sorted((one for one in found if one is not None), key=lambda one: -abs(one.delta)))


def _time_of_transaction(tick: Tick) -> float:
    """All classes together, in ms; 0 without an account."""
    return sum(FIGURES[wait_figure(wait)].value(tick) or 0.0 for wait in WaitClass)


def _change(
    wait: WaitClass, before: Sequence[Tick], after: Sequence[Tick], longest_ms: float
) -> Comparison | None:
    """None if the time of a class did not certainly change."""
    figure = FIGURES[wait_figure(wait)]
    known = [[parts for tick in side if (parts := figure.parts(tick))] for side in (before, after)]
    series = [RatioSeries(*map(list, zip(*side, strict=True))) for side in known if len(side) >= FEWEST_SLOTS]
    if len(series) < 2 or not all(sum(side.below) for side in series):
        return None
    old, new = (side.ratio for side in series)
    if abs(new - old) < LEAST_SHARE * longest_ms:
        return None
    found = estimate_difference(old, new, resample(*series))
    if WIDER * max(found.high - found.delta, found.delta - found.low) >= abs(found.delta):
        return None
    return Comparison(figure=figure.key, before=old, after=new, **found._asdict())


def because_text(changes: Iterable[Comparison]) -> str:
    """`because: commit −3.0 ms (−3.2..−2.8) of 5.1; run queue +0.4 ms`; empty without a sure change. The last
    number of the first class is its time before.
    """
    named = list(changes)[:MOST_NAMED]
    if not named:
        return ""
    first, smallest = named[0], min(abs(one.delta) for one in named)
    digits = next(digits for digits, least in ((1, 0.1), (2, 0.01), (3, 0.0)) if smallest >= least)
    words = [f"{_class_of(one)} {units.signed(one.delta, digits)} ms" for one in named]
    edges = "..".join(units.signed(edge, digits).removeprefix("+") for edge in (first.low, first.high))
    words[0] += f" ({edges}) of {units.decimal(first.before, digits)}"
    return f"because: {'; '.join(words)}"


def _class_of(one: Comparison) -> str:
    return figure_named(one.figure).label.removesuffix("/trx")
