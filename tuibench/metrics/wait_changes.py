"""Why a figure changed: the wait classes whose time per transaction certainly changed, as a sentence.

A class counts if its 95 % interval, widened for the number of classes, excludes zero, and if the change is
not negligible in a transaction. The classes add up to the whole: if the whole certainly changed, the class
that moved most in its direction is named even if its own change is only probable. All classes of a few ticks
share the noise of one load, so their autocorrelation is the mean of those of all classes.

For a change during a run, the course of a class before the change is taken into account, as for every effect:
the interval also covers the difference that the class's trend makes, and a class that moved as much by itself
is not named. A verdict has a direction: a class that moved against it does not explain it alone.

After each wait a thread queues for a processor. Where other programs take the processors, a commit is short
in the log and long in that queue, so fewer waits for a log show as a shorter run queue. The load's own times
of COMMIT tell: if COMMIT changed otherwise than the other statements of the same transactions, which the host
slows down alike, the commit is the cause, and the queue follows.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from msgspec.structs import replace

from tuibench.base import units
from tuibench.metrics.attribution import FEWEST_BEFORE, MARGIN, slope, swing
from tuibench.metrics.control import COMMIT
from tuibench.metrics.figures import FIGURES, Better, figure_named, wait_figure
from tuibench.metrics.inference import (
    RatioSeries,
    autocorrelation,
    estimate_difference,
    merge_ticks,
    resample,
)
from tuibench.metrics.series import is_at_rest
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.effect import Comparison, Effect, Verdict
from tuibench.model.tick import RESPONSE, Tick

WIDER = 1.5
"""The factor by which the interval of one of fifteen classes is wider than that of a single figure."""
LEAST_SHARE = 0.02
"""The share of a transaction's time below which a change is not mentioned."""
MOST_NAMED = 3
LAST = frozenset((WaitClass.RUN_QUEUE, WaitClass.ON_THE_WAY, WaitClass.CLIENT, WaitClass.OTHER))
"""Classes that follow waits which moved in the same direction: a queue for a processor in the server or, on a
busy host, in the load; and time that has no name.
"""
FOLLOWERS = LAST | {WaitClass.CPU}
"""Classes that a wait for a log may have moved."""
LOGS = (WaitClass.COMMIT, WaitClass.BINARY_LOG)
"""Both are waits of a commit, and their division is noisy: one of them has certainly changed if their sum
has.
"""
LEAST_CAUSE = 0.3
"""The least share of a change that may be its cause: of the change of a queue, or of the whole change if that
is not certain.
"""
FEWEST_COMMITS = 5
"""Transactions of a tick below which COMMIT's time is not compared."""
FEWEST_TICKS, MOST_SLOTS = 3, 100
"""Ticks needed on each side, and the number to which longer windows are merged. A tick without a sample of
the server has no account: the next tick contains its time.
"""


def verdict_direction(one: Comparison) -> float:
    """The direction in which the time of a transaction must change to explain a verdict: 1 for more time, −1
    for less, 0 for a verdict without a direction.
    """
    if not one.differs:
        return 0.0
    is_slower = (one.delta < 0) is (figure_named(one.figure).better is Better.HIGHER)
    return 1.0 if is_slower else -1.0


def is_explicable(one: Comparison) -> bool:
    """True for a verdict that concerns the change alone; nothing else is explained."""
    return one.differs or one.verdict is Verdict.EQUAL


def time_changes(
    before: Sequence[Tick], after: Sequence[Tick], *, gap: int | None = None, towards: float = 0.0
) -> tuple[Comparison, ...]:
    """The classes that certainly changed, the cause first; empty without an account.

    With a `gap`, the second side begins this many ticks after the end of the first, and the course of the
    classes before that is taken into account. `towards` is the direction of the verdict to explain; by
    default, that of the whole.
    """
    sides = _with_account(before, after)
    if not _is_enough(sides):
        return ()
    whole = [_of_class(TIME + "connections_us", side) for side in sides]
    least = LEAST_SHARE * max(each.ratio for each in whole)
    series = {wait: [_of_class(wait.key, side) for side in sides] for wait in WaitClass}
    known = {wait: each for wait, each in series.items() if max(one.ratio for one in each) > least}
    if not known:
        return ()
    phi = fmean(autocorrelation(*(one.series for one in each)) for each in known.values())
    found = {wait: _change(FIGURES[wait_figure(wait)].key, phi, *each) for wait, each in known.items()}
    if gap is not None:
        beyond = {
            wait: _beyond_course(one, series[wait][0], series[wait][1], gap) for wait, one in found.items()
        }
        found = {wait: one for wait, one in beyond.items() if one is found[wait] or one.excludes_zero()}
    moved = {wait: one for wait, one in found.items() if abs(one.delta) > least}
    change = _change("", phi, *whole)
    direction = towards or (change.delta if change.excludes_zero(WIDER) else 0.0)
    least = 0.0 if direction else LEAST_CAUSE * abs(change.delta)
    sure = {wait: one for wait, one in moved.items() if abs(one.delta) >= least and one.excludes_zero(WIDER)}
    if all(log in moved for log in LOGS) and not any(log in sure for log in LOGS):
        both = _change("", phi, *(_sum(series[log][side] for log in LOGS) for side in (0, 1)))
        larger = max(LOGS, key=lambda log: abs(moved[log].delta))
        if moved[larger].delta * both.delta > 0 and abs(both.delta) >= least and both.excludes_zero(WIDER):
            sure[larger] = moved[larger]
    named = dict(sure)
    if moved and (direction or sure):
        most = max(
            moved, key=lambda wait: moved[wait].delta * direction if direction else abs(moved[wait].delta)
        )
        is_probable = moved[most].delta * direction > 0 if direction else moved[most].excludes_zero()
        if is_probable and all(abs(one.delta) < abs(moved[most].delta) for one in sure.values()):
            named[most] = moved[most]
    ordered = sorted(named, key=lambda wait: _rank(wait, named, direction))
    changes = [named[wait] for wait in ordered if wait in sure or wait is ordered[0]]
    if not ordered or ordered[0] in FOLLOWERS:
        least = LEAST_CAUSE * abs(changes[0].delta if changes else change.delta)
        log = max(LOGS, key=lambda wait: direction * (series[wait][1].ratio - series[wait][0].ratio))
        mine = _change(FIGURES[wait_figure(log)].key, phi, *series[log])
        if min(mine.delta * direction, direction * _commit_ms(sides, gap) - least) > 0:
            return (mine, *(one for one in changes if one.excludes_zero(WIDER)))
    if towards and changes and changes[0].delta * towards < 0:
        return ()
    return tuple(changes)


def _commit_ms(sides: Sequence[Sequence[Tick]], gap: int | None) -> float:
    """By how much a transaction's COMMIT takes longer for the client than if it had changed as the other
    statements did, in ms; 0 if that is not sure, or not known.
    """
    commits, others = (
        [_of_transaction(side, [us(tick) for tick in side]) for side in sides]
        for us in (_commit_us, lambda tick: tick.hist(RESPONSE).sum_us - _commit_us(tick))
    )
    if min(min(one.below) for one in commits) < FEWEST_COMMITS or min(min(one.above) for one in others) <= 0:
        return 0.0
    relative = [RatioSeries(mine.above, theirs.above) for mine, theirs in zip(commits, others, strict=True)]
    found = _change("", autocorrelation(*(one.series for one in relative)), *relative)
    found = found if gap is None else _beyond_course(found, relative[0], relative[1], gap)
    return found.delta * others[1].ratio if found.excludes_zero(WIDER) else 0.0


def _commit_us(tick: Tick) -> float:
    return tick.hist(COMMIT).sum_us


def _beyond_course(one: Comparison, old: RatioSeries, new: RatioSeries, gap: int) -> Comparison:
    """The change with its interval widened by what the class's course before the change may explain."""
    values, window = old.series, min(len(new.above), len(old.above) // 2)
    if len(values) < FEWEST_BEFORE:
        return one
    if abs(one.delta) < MARGIN * swing(values, window, gap):
        return replace(one, low=min(one.low, -abs(one.delta)), high=max(one.high, abs(one.delta)))
    if is_at_rest(values):
        return one
    by_itself = slope(values) * (gap + (len(old.above) + len(new.above)) / 2)
    return replace(one, low=one.low - max(by_itself, 0.0), high=one.high - min(by_itself, 0.0))


def _rank(
    wait: WaitClass, found: Mapping[WaitClass, Comparison], direction: float
) -> tuple[bool, bool, float, float]:
    """The order of the named classes: the cause first.

    A class that moves against the whole is a consequence: connections that wait for a log no longer wait for
    a processor. A queue that moves with the whole follows the waits, if these together moved nearly as much.
    A wait for a log ranks with the sum of both logs that moved in the same direction.
    """
    delta = found[wait].delta
    rest = sum(abs(one.delta) for other, one in found.items() if other not in LAST and one.delta * delta > 0)
    is_answer = delta * direction < 0 if direction else wait in LAST and len(found) > 1
    follows = wait in LAST and rest >= LEAST_CAUSE * abs(delta) and rest > 0
    alike = [found[log].delta for log in LOGS if log in found and found[log].delta * delta > 0]
    size = abs(sum(alike)) if wait in LOGS else abs(delta)
    return is_answer, follows, -size, -abs(delta)


def untold(before: Sequence[Tick], after: Sequence[Tick]) -> str:
    """Why no class is named although the time of a transaction is accounted for; empty without an account."""
    sides = _with_account(before, after)
    if not any(sides):
        return ""
    if not _is_enough(sides):
        fewest, name = min((len(side), name) for side, name in zip(sides, ("before", "after"), strict=True))
        return (
            f"because: cause not found: too few samples, {units.pluralize(fewest, 'tick')} with a sample of "
            f"the waits {name} the change, {FEWEST_TICKS} are needed"
        )
    samples = [round(sum(tick.sums.get(TIME + "samples", 0.0) for tick in side)) for side in sides]
    return (
        f"because: no wait certainly changed in {samples[0]} samples before the change and {samples[1]} "
        "after it; longer windows tell more"
    )


def _with_account(*sides: Sequence[Tick]) -> list[list[Tick]]:
    return [
        merge_ticks([tick for tick in side if TIME + "completed" in tick.sums], MOST_SLOTS) for side in sides
    ]


def _is_enough(sides: Sequence[Sequence[Tick]]) -> bool:
    return all(
        len(side) >= FEWEST_TICKS and sum(tick.sums[TIME + "completed"] for tick in side) for side in sides
    )


def _of_class(key: str, side: Sequence[Tick]) -> RatioSeries:
    return _of_transaction(side, [tick.sums.get(key, 0.0) for tick in side])


def _of_transaction(side: Sequence[Tick], us: Sequence[float]) -> RatioSeries:
    """Times in ms and the number of transactions, by tick."""
    return RatioSeries([each / 1e3 for each in us], [tick.sums[TIME + "completed"] for tick in side])


def _change(figure: str, phi: float, old: RatioSeries, new: RatioSeries) -> Comparison:
    return estimate_difference(figure, old.ratio, new.ratio, resample(old, new, phi))


def time_parts(ticks: Iterable[Tick]) -> dict[str, float]:
    """The milliseconds of a transaction by wait class; empty without an account."""
    known = [tick for tick in ticks if tick.sums.get(TIME + "completed")]
    completed = math.fsum(tick.sums[TIME + "completed"] for tick in known)
    return {
        str(wait): round(total / completed / 1e3, 6)
        for wait in (WaitClass if known else ())
        if (total := math.fsum(tick.sums.get(wait.key, 0.0) for tick in known))
    }


def because_text(changes: Iterable[Comparison], most: int = MOST_NAMED) -> str:
    """`because: commit −3.0 ms (−3.2..−2.8) of 5.1; run queue +0.4 ms`; empty without a change. The last
    number of the first class is its time before the change.
    """
    named = list(changes)[:most]
    if not named:
        return ""
    first, smallest = named[0], min(abs(one.delta) for one in named)
    digits = next(digits for digits, least in ((1, 0.1), (2, 0.01), (3, 0.0)) if smallest >= least)
    words = []
    for one in named:
        label = figure_named(one.figure).label.removesuffix("/trx")
        name = f"commit ({label})" if label == WaitClass.BINARY_LOG.label else label
        words.append(f"{name} {units.signed(one.delta, digits)} ms")
    edges = "..".join(units.signed(edge, digits).removeprefix("+") for edge in (first.low, first.high))
    words[0] += f" ({edges}) of {units.decimal(first.before, digits)}"
    probably = "" if first.excludes_zero(WIDER) else "probably "
    return f"because: {probably}{'; '.join(words)}"


def effect_reason(effect: Effect) -> str:
    """Why an effect changed the figure, or why no reason is known."""
    return because_text(effect.because) or effect.untold


def _sum(sides: Iterable[RatioSeries]) -> RatioSeries:
    """The sum of series over the same transactions."""
    first, second = sides
    return RatioSeries([sum(parts) for parts in zip(first.above, second.above, strict=True)], first.below)
