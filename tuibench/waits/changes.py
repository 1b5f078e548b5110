"""Why it changed: the wait classes whose time per transaction is sure to have changed, and the sentence.

A class counts if its 95 % interval, made wider for the number of classes, excludes zero, and if the change is
not negligible in a transaction. The classes add up to the whole: if that certainly changed, the class that
changed most in its direction is named, too, as probable.
"""

from collections.abc import Iterable, Sequence

from tuibench import units
from tuibench.metrics.figures import FIGURES, figure_named, wait_figure
from tuibench.metrics.inference import RatioSeries, estimate_difference, merge_ticks, resample
from tuibench.model.effect import Comparison
from tuibench.model.tick import Tick
from tuibench.waits.classes import TIME, WaitClass

WIDER = 1.5
"""The factor by which the interval of one of fifteen classes is wider than that of one figure."""
LEAST_SHARE = 0.02
"""Of the time of a transaction, below which a change is not worth a word."""
MOST_NAMED = 3
FEWEST_TICKS, MOST_SLOTS = 3, 100
"""A tick in which the server was not sampled has no account: its time is in the next one."""


def time_changes(before: Sequence[Tick], after: Sequence[Tick]) -> tuple[Comparison, ...]:
    """The classes that certainly changed, the largest change first; none without an account."""
    sides = [
        merge_ticks([tick for tick in side if TIME + "completed" in tick.sums], MOST_SLOTS)
        for side in (before, after)
    ]
    whole = [_of_transaction(TIME + "connections_us", side) for side in sides]
    if min(map(len, sides)) < FEWEST_TICKS or not all(sum(each.below) for each in whole):
        return ()
    least = LEAST_SHARE * max(each.ratio for each in whole)
    series = {wait: [_of_transaction(wait.key, side) for side in sides] for wait in WaitClass}
    moved = {wait: each for wait, each in series.items() if abs(each[1].ratio - each[0].ratio) > least}
    found = [_change(FIGURES[wait_figure(wait)].key, *each) for wait, each in moved.items()]
    found.sort(key=lambda one: -abs(one.delta))
    sure = [one for one in found if _excludes_zero(one, WIDER)]
    change = _change("", *whole)
    if _excludes_zero(change):
        most = next((one for one in found if one.delta * change.delta > 0), None)
        if most is not None and all(abs(most.delta) > abs(one.delta) for one in sure):
            sure.insert(0, most)
    return tuple(sure)


def _of_transaction(key: str, side: Sequence[Tick]) -> RatioSeries:
    """A sum in ms, and the transactions, by tick."""
    return RatioSeries(
        [tick.sums.get(key, 0.0) / 1e3 for tick in side], [tick.sums[TIME + "completed"] for tick in side]
    )


def _change(figure: str, old: RatioSeries, new: RatioSeries) -> Comparison:
    found = estimate_difference(old.ratio, new.ratio, resample(old, new))
    return Comparison(figure=figure, before=old.ratio, after=new.ratio, **found._asdict())


def _excludes_zero(one: Comparison, wider: float = 1.0) -> bool:
    """True if the edge towards zero is on the same side, also of an interval so much wider."""
    towards = one.delta - one.low if one.delta > 0 else one.high - one.delta
    return wider * towards < abs(one.delta)


def because_text(changes: Iterable[Comparison]) -> str:
    """`because: commit −3.0 ms (−3.2..−2.8) of 5.1; run queue +0.4 ms`; empty without a change. The last
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
    probably = "" if _excludes_zero(first, WIDER) else "probably "
    return f"because: {probably}{'; '.join(words)}"


def _class_of(one: Comparison) -> str:
    return figure_named(one.figure).label.removesuffix("/trx")
