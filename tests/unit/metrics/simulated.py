"""Simulated trials, changes, starts and histories: how often each verdict is false, and how often right.

The bench of validity prints these with many repetitions; the unit tests hold them to their limits with few.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from tests.ticks import measured_tick
from tests.unit.metrics.noises import Noise, white
from tuibench.features.ab.experiment import LOOKS
from tuibench.features.compare import history
from tuibench.metrics import ab_analysis as analysis
from tuibench.metrics import inference
from tuibench.metrics.ab_analysis import Pair, Progress, compare_pairs, noise_before
from tuibench.metrics.attribution import Attribution, attribute
from tuibench.metrics.control import Controlled, Times, relative_effect
from tuibench.metrics.running_difference import Reading, difference_so_far
from tuibench.model.effect import AbTestPair, Comparison, Verdict, comparison_of

SETTLING = 1
"""Seconds left out after a change of value."""

BUSY_HOST = 0.06
"""Noise of one second, as a standard deviation of logarithms."""

CALM, LOOKED_AT = 40, 9
"""Seconds before a change, and until its effect turns out to be doubtful."""

WATCHED_WINDOW, FIXED_WINDOW = 4, 10
FIXED_CYCLES = 5
MOST_CYCLES = 40

FSYNCS = "fsyncs_per_transaction"


class Trial(NamedTuple):
    """What becomes of a trial that is watched after each pair and stopped at its first verdict."""

    verdict: Verdict
    seconds: float


def share(cases: Iterable[bool]) -> float:
    """How many of the cases hold."""
    return fmean(cases)


# A/B


def windows(level: Sequence[float], orders: Sequence[bool], window: int, effect: float) -> list[Pair]:
    """The pairs that a load of this level gives, with B better by `effect`."""
    pairs, last = [], ""
    for place, a_first in enumerate(orders):
        seen = {}
        for half, value in enumerate("AB" if a_first else "BA"):
            start = (2 * place + half) * window
            seconds = level[start + (SETTLING if value != last else 0) : start + window]
            seen[value] = fmean(map(math.exp, seconds)) * math.exp(effect if value == "B" else 0.0)
            last = value
        pairs.append(Pair(seen["A"], seen["B"], a_first))
    return pairs


def watched_trial(
    noise: Noise,
    rng: random.Random,
    *,
    size: float = BUSY_HOST,
    effect: float = 0.0,
    alpha: float = analysis.ALPHA * analysis.PRIMARY_SHARE,
    tolerance: float = 0.0,
    cycles: int = MOST_CYCLES,
) -> Trial:
    """One figure of a trial."""
    orders = analysis.random_orders(cycles, rng.getrandbits(32))
    pairs = windows(noise(rng, 2 * WATCHED_WINDOW * cycles, size), orders, WATCHED_WINDOW, effect)
    return _first_verdict(
        pairs, partial(analysis.sequential_progress, alpha=alpha, tolerance=tolerance, is_estimated=False)
    )


def _first_verdict(pairs: Sequence[Pair], progress: Callable[[Sequence[Pair]], Progress]) -> Trial:
    for count in range(analysis.FEWEST_PAIRS_OF_INTERVAL, len(pairs) + 1):
        seen = progress(pairs[:count])
        if seen.verdict is not Verdict.CANNOT_TELL:
            return Trial(seen.verdict, 2 * WATCHED_WINDOW * count)
    return Trial(Verdict.CANNOT_TELL, 2 * WATCHED_WINDOW * len(pairs))


def any_figure_is_false(noise: Noise, rng: random.Random) -> bool:
    """True if any of three figures with nothing in common says anything in an A/A trial."""
    levels = analysis.error_levels(("tps", "p95", "fsyncs"), "tps")
    return any(
        watched_trial(noise, rng, alpha=alpha).verdict is not Verdict.CANNOT_TELL for alpha in levels.values()
    )


def fixed_trial(noise: Noise, rng: random.Random, *, size: float, effect: float, cycles: int) -> bool:
    """True if the trial of a fixed number of cycles finds the effect on TPS at its end.

    As in every test of the program, p95 and fsyncs share the error rate with it.
    """
    orders = analysis.random_orders(cycles, rng.getrandbits(32))
    pairs = windows(noise(rng, 2 * FIXED_WINDOW * cycles, size), orders, FIXED_WINDOW, effect)
    others = {"p95_ms": 10.0, "fsyncs_per_transaction": 1.0}
    comparisons = compare_pairs(
        [
            AbTestPair(
                cycle=place,
                order="AB" if pair.a_first else "BA",
                a={"tps": pair.a} | others,
                b={"tps": pair.b} | others,
                settling_seconds=0.0,
            )
            for place, pair in enumerate(pairs)
        ]
    )
    return next(one.low for one in comparisons if one.figure == "tps") > 0


def noise_with_power(noise: Noise, effect: float, power: float, cycles: int, repeats: int) -> float:
    """The size of the noise at which a fixed trial finds the effect with this probability."""
    low, high = 0.005, 0.5
    for _ in range(10):
        size = math.sqrt(low * high)
        rng = random.Random(3)
        found = share(
            fixed_trial(noise, rng, size=size, effect=effect, cycles=cycles) for _ in range(repeats)
        )
        low, high = (size, high) if found > power else (low, size)
    return size


def short_windows(
    level: Sequence[float], orders: Sequence[bool], effect: float, rng: random.Random
) -> list[Pair]:
    """The pairs of windows of 2 s. A value is set in the first tick: its part before that is taken to be like
    the tick before.
    """
    values = [value for a_first in orders for value in ("AB" if a_first else "BA")]
    rates = {"A": 1.0, "B": math.exp(effect)}
    seen, last = [], "B"
    for place, value in enumerate(values):
        first, second = (math.exp(level[2 * place + half]) for half in (0, 1))
        share = rng.uniform(0.01, 0.25) if value != last else 0.0
        mixed = first * (share * rates[last] + (1 - share) * rates[value])
        before = math.exp(level[2 * place - 1]) * rates[last] if place else mixed
        seen.append((mixed - share * before + second * rates[value]) / (2 - share))
        last = value
    sides = zip(seen[::2], seen[1::2], orders, strict=True)
    return [Pair(*((one, two) if a_first else (two, one)), a_first) for one, two, a_first in sides]


def resolution(noise: Noise, rng: random.Random, *, size: float, effect: float = 0.0) -> Trial:
    """The alternation that decides a doubtful effect, in windows of 2 s; its noise is known from `CALM`
    seconds before the change.
    """
    orders = analysis.random_orders(LOOKS[-1], rng.getrandbits(32))
    whole = noise(rng, CALM + LOOKED_AT + 4 * LOOKS[-1], size)
    known = noise_before(
        [measured_tick(at + 1.0, 1.0, 1e4 * math.exp(whole[at])) for at in range(CALM)], 2, "tps", counted=2
    )
    level = whole[CALM + LOOKED_AT :]
    pairs = []
    for place, pair in enumerate(short_windows(level, orders, effect, rng)):
        sides = ({"tps": value, "p95_ms": 10.0} for value in (pair.a, pair.b))
        a, b = sides
        order = "AB" if pair.a_first else "BA"
        pairs.append(AbTestPair(cycle=place, order=order, a=a, b=b, settling_seconds=2.0))
    for count in LOOKS:
        found = compare_pairs(pairs[:count], tolerance=0.05, looks=len(LOOKS), noise=known)
        verdict = found[0].verdict
        if verdict is not Verdict.CANNOT_TELL:
            return Trial(verdict, 4 * count)
    return Trial(Verdict.CANNOT_TELL, 4 * LOOKS[-1])


LOOKED_AFTER, ALTERNATED_AFTER = 42, 6
"""Seconds after a change in which the difference so far is looked at, and after which its values alternate on
a private server.
"""


def looked_at(
    noise: Noise,
    rng: random.Random,
    *,
    size: float = BUSY_HOST,
    before: int = CALM,
    effect: float = 0.0,
    alternates: bool = False,
) -> float | None:
    """The second after a change in which the difference so far is first said to be one, looked at each
    second; None if it never is.
    """
    orders = analysis.random_orders(LOOKS[-1], rng.getrandbits(32))
    turns = [
        share for is_old in orders for share in ((0.0, 0.0, 1.0, 1.0) if is_old else (1.0, 1.0, 0.0, 0.0))
    ]
    shares = [*[1.0] * ALTERNATED_AFTER, *turns] if alternates else [1.0] * LOOKED_AFTER
    level = noise(rng, before + len(shares), size)
    since = [
        Reading(place + 1.0, share, level[before + place] + effect * share)
        for place, share in enumerate(shares)
    ]
    for seconds in range(1, len(since) + 1):
        found = difference_so_far(level[:before], since[:seconds])
        if found is not None and not found.low <= 0 <= found.high:
            return seconds
    return None


def poisson(rng: random.Random, mean: float) -> int:
    """So many events, if this many are due; nearly, if they are many."""
    if mean > 60:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    count, product, limit = 0, rng.random(), math.exp(-mean)
    while product > limit:
        count, product = count + 1, product * rng.random()
    return count


def counted(rng: random.Random, a: float, b: float, *, size: float = 0.0) -> Comparison | None:
    """What the alternation says of fsyncs per transaction, of which so many are due under each value.

    The level varies by `size` from window to window, and the windows have one or two ticks, of any number of
    transactions. The test ends with a random look, as another figure decides.
    """
    pairs = []
    for place, a_first in enumerate(analysis.random_orders(rng.choice(LOOKS), rng.getrandbits(32))):
        sides, events = [], []
        for due in (a, b):
            transactions = rng.choice((1, 2)) * 1487 * math.exp(rng.gauss(0, 0.1))
            fsyncs = poisson(rng, transactions * due * math.exp(rng.gauss(0, size)))
            sides.append({"tps": 1.0, "p95_ms": 1.0, FSYNCS: fsyncs / transactions})
            events.append(1 / transactions)
        pairs.append(
            AbTestPair(
                cycle=place,
                order="AB" if a_first else "BA",
                a=sides[0],
                b=sides[1],
                settling_seconds=1.0,
                event={FSYNCS: max(events)},
            )
        )
    return comparison_of(FSYNCS, compare_pairs(pairs, tolerance=0.05, looks=len(LOOKS)))


# Before and after

BEFORE, GAP, AFTER = 120, 2, 12


def change(
    noise: Noise, rng: random.Random, *, effect: float = 0.0, before: int = BEFORE, size: float = 0.04
) -> Attribution:
    """What is said of a change that has this effect."""
    level = noise(rng, before + GAP + AFTER, size)
    after = [value + effect for value in level[before + GAP :]]
    return attribute(level[:before], after, GAP)


OTHERS_NOISE = 0.03


def commit_change(
    noise: Noise,
    rng: random.Random,
    *,
    effect: float = 0.0,
    share: float = 0.6,
    follows: float = 1.0,
    own: float = 0.05,
    others_move: float = 0.0,
    crowded: float | None = None,
    before: int = 40,
) -> tuple[bool, Controlled | None, float]:
    """A change that acts on commits: whether TPS alone gives a verdict, what COMMIT beside the other
    statements gives, and the true effect on TPS in the host's state after the change.

    COMMIT takes this share of a transaction, and `follows` is the part of the host's movements that it
    shares; `own` is its own noise. The change also moves the others by `others_move`, and all statements by
    `crowded`, as more transactions share the processors. All movements of the others' time are then waits for
    a processor, of which there is an account; None without one.
    """
    host = noise(rng, before + 1 + AFTER // 2, BUSY_HOST)
    old = share, 1 - share
    others = (1 - share) * math.exp(others_move)
    crowd = math.exp(crowded or 0.0)
    new = (math.exp(-effect) - others) * crowd**follows, others * crowd
    ticks = [
        Times(
            side[0] * math.exp(follows * level + rng.gauss(0, own)),
            side[1] * math.exp(level + rng.gauss(0, OTHERS_NOISE)),
            0.0,
        )
        for place, level in enumerate(host)
        for side in (new if place > before else old,)
    ]
    tps = [-math.log(one.whole) for one in ticks]
    plain = attribute(tps[:before], tps[before + 1 :], 1, tolerance=0.05).verdict
    sides = ticks[before - AFTER // 2 : before], ticks[before + 1 :]
    theirs = [fmean(one.others for one in side) for side in sides]
    grown_us = None if crowded is None else theirs[1] - theirs[0]
    found = relative_effect(ticks[:before], (), ticks[before + 1 :], 1, 3, grown_us=grown_us)
    without, with_it = (
        sum(commit * math.exp(follows * level) + rest * math.exp(level) for level in host[before + 1 :])
        for commit, rest in (old, new)
    )
    return plain in (Verdict.HIGHER, Verdict.LOWER), found, math.log(without / with_it)


# Starts

BETWEEN_STARTS, BETWEEN_RUNS = 0.06, 0.015


def starts(
    rng: random.Random, count: int, runs: int, *, effect: float = 0.0, between: float = BETWEEN_STARTS
) -> list[list[float]]:
    """Levels of runs on several starts."""
    levels = [rng.gauss(effect, between) for _ in range(count)]
    return [[math.exp(rng.gauss(level, BETWEEN_RUNS)) for _ in range(runs)] for level in levels]


def starts_differ(rng: random.Random, count: int, *, effect: float = 0.0, ratio: float = 1.0) -> bool:
    """True if two groups of starts get a verdict; `ratio` is how much more starts of the second differ."""
    first = starts(rng, count, 3)
    other = starts(rng, count, 3, effect=effect, between=BETWEEN_STARTS * ratio)
    return inference.compare(first, other).verdict() is not Verdict.CANNOT_TELL


# History

RUN_NOISE = 0.03
PLANTED = math.log(0.95)


def false_alarms(rng: random.Random, runs: int) -> int:
    """How many regressions a history without any gives, each run looked at as it comes."""
    levels, found, since = white(rng, runs, RUN_NOISE), 0, history.FEWEST_BASELINE
    while (alarm := history.first_alarm(levels, PLANTED, since)) is not None:
        found += 1
        since = max(alarm.seen, since) + 1
    return found


def runs_until_found(rng: random.Random, before: int, most: int) -> int | None:
    """After how many runs a planted step is found."""
    levels = white(rng, before + most, RUN_NOISE)
    levels = [level + (PLANTED if place >= before else 0.0) for place, level in enumerate(levels)]
    alarm = history.first_alarm(levels, PLANTED, before - 10)
    return alarm.seen - before + 1 if alarm is not None and alarm.seen >= before else None
