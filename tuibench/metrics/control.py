"""The other statements of the same transactions as the control group of a change that acts only on commits.

Whatever other programs, flushing and the host do to a load affects all of its statements; a setting of the
log changes COMMIT alone. So COMMIT's time is compared relative to the time of the other statements
(difference in differences: Card and Krueger, American Economic Review 84, 1994), in logarithms of the mean
time per transaction of each tick, c of COMMIT and o of all else:

    log c = a + β·log o + b·t + δ·[t is after the change] + u

β, the part of the others' movements that COMMIT shares, is estimated from the ticks before the change. It is
between 0 and `MOST_SHARED`, and the interval of δ covers all of β's interval. δ is found and attributed as
every effect is (`attribution`). In a closed loop TPS follows from δ by Little's law: without the change, the
transactions after it would have taken C·exp(−δ) + O + Z instead of C + O + Z, where C and O are the means of
the window after it, and Z is the time between transactions.

Assumption: the change does not act on the other statements, except that cheaper commits make more
transactions share the processors. The account of time (`waits`) bounds that exception by Q, the growth of the
time that a transaction waits for a processor, in the server's run queue and on the way. Where the processors
are full, the interval therefore covers everything between two cases: the host has caused all of the others'
movement; or it has shortened the queues by as much as the others move by themselves, and the change has
lengthened them by Q plus that amount. Without an account there is no result in that situation. There is also
none if the others' time has moved at the change by more than it moves by itself, and the queues do not
explain that.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from tuibench.metrics.attribution import (
    FEWEST_AFTER,
    attribute,
    dot,
    orthonormal,
    phi_of,
    swing,
    without,
)
from tuibench.metrics.figures import read
from tuibench.metrics.inference import LEVEL, LogInterval, two_sided
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.tick import RESPONSE, SERVICE, STATEMENT, Tick, total_tick

COMMIT = STATEMENT + "commit"
MOST_SHARED = 1.2
FEWEST_COMMITS, LEAST_SHARE = 10, 0.02
"""Commits of a tick, and COMMIT's share of a transaction's time, below which there is no comparison."""

FEWEST_BEFORE = 12
"""Ticks before the change from which β is estimated."""

FULL_PERCENT = 85.0
"""CPU usage of the server's host from which transactions queue for processors."""

QUEUES = (WaitClass.RUN_QUEUE, WaitClass.ON_THE_WAY)
FEWEST_ACCOUNTS = 3
"""Ticks with an account of time that are needed on each side to know the growth of the queues."""

MOST_QUEUED = 0.9
"""The largest share of the others' time after the change that may be growth of the queues."""

USUAL = 1.2
"""The others' movement at the change counts as the host's up to this multiple of the largest movement before
it.
"""


class Times(NamedTuple):
    """Mean times of a transaction, in µs."""

    commit: float
    """COMMIT."""
    others: float
    """All other statements, and the rest of the transaction."""
    between: float
    """From the end of a transaction to the next one."""

    @property
    def rest(self) -> float:
        return self.others + self.between

    @property
    def whole(self) -> float:
        return self.commit + self.rest


def times(tick: Tick) -> Times | None:
    """The times of a tick; None if it has too few commits, or if a rate sets its throughput."""
    commits, whole = tick.hist(COMMIT), tick.hist(RESPONSE)
    others, completed = whole.sum_us - commits.sum_us, tick.sums.get("completed", 0.0)
    is_usable = commits.count >= FEWEST_COMMITS and commits.sum_us >= LEAST_SHARE * whole.sum_us
    if not is_usable or not completed or others <= 0 or tick.hist(SERVICE).count:
        return None
    all_us = 1e6 * tick.seconds * tick.levels.get("threads", 0.0)
    between = max(0.0, all_us - whole.sum_us) / completed
    return Times(commits.sum_us / completed, others / completed, between)


class Controlled(NamedTuple):
    """The effect of a change, by comparison with the control group."""

    interval: LogInterval
    """The effect on TPS, as a difference of logarithms."""
    others: float
    """How the others' time changed, as a difference of logarithms."""


def controlled(
    before: Sequence[Tick], settling: Sequence[Tick], after: Sequence[Tick], gap: int, late: int
) -> Controlled | None:
    """The effect of a change that acts only on commits; None if this method cannot tell."""
    sides = [[times(tick) for tick in ticks] for ticks in (before, settling, after)]
    known = [[one for one in side if one is not None] for side in sides]
    if len(known[0]) < FEWEST_BEFORE or len(known[2]) < FEWEST_AFTER or known != sides:
        return None
    cpu = read("cpu_total", total_tick(after))
    queues = [queued_us(side) for side in (before[-len(after) :], after)]
    grown_us = None
    if cpu is None or cpu >= FULL_PERCENT:
        if queues[0] is None or queues[1] is None:
            return None
        grown_us = queues[1] - queues[0]
    return relative_effect(known[0], known[1], known[2], gap, late, grown_us=grown_us)


def queued_us(ticks: Sequence[Tick]) -> float | None:
    """The mean time for which a transaction waits for a processor, in µs; None without an account of it."""
    known = [tick for tick in ticks if TIME + "completed" in tick.sums]
    completed = math.fsum(tick.sums[TIME + "completed"] for tick in known)
    if len(known) < FEWEST_ACCOUNTS or not completed:
        return None
    return math.fsum(tick.sums.get(wait.key, 0.0) for tick in known for wait in QUEUES) / completed


def relative_effect(
    before: Sequence[Times],
    settling: Sequence[Times],
    after: Sequence[Times],
    gap: int,
    late: int,
    *,
    grown_us: float | None = None,
) -> Controlled | None:
    """The effect from the times of each tick. If the processors are full, `grown_us` is the growth of the
    time that a transaction waits for them; otherwise None.
    """
    commits, others = (
        [[math.log(one[place]) for one in side] for side in (before, settling, after)] for place in (0, 1)
    )
    shared = shared_part(commits[0], others[0])
    rest = [
        [mine - shared.estimate * theirs for mine, theirs in zip(*both, strict=True)]
        for both in zip(commits, others, strict=True)
    ]
    found = attribute(rest[0], rest[2], gap, settling=rest[1], late=late)
    own = attribute(others[0], others[2], gap, settling=others[1], late=late)
    if found.movement is not None or not math.isfinite(found.interval.low):
        return None
    now = Times(*(fmean(times) for times in zip(*after, strict=True)))
    moved = fmean(others[2]) - fmean(others[0][-len(after) :])
    usual = USUAL * swing(others[0], len(after), gap)
    crowded = [0.0]
    if grown_us is not None:
        grown = -math.log1p(-min(grown_us / now.others, MOST_QUEUED))
        crowded.append(grown - math.copysign(usual, found.interval.estimate))
    is_usual = moved - max(crowded) <= usual and moved - min(crowded) >= -usual
    if not is_usual or not own.interval.low - max(crowded) <= 0 <= own.interval.high - min(crowded):
        return None

    def effect(part: float, delta: float, crowd: float) -> float:
        """The effect on TPS if COMMIT shares this part of the host's movements, and the change has moved the
        others by `crowd`.
        """
        commit = now.commit * math.exp((part - shared.estimate) * moved - part * crowd - delta)
        return math.log((commit + now.others * math.exp(-crowd) + now.between) / now.whole)

    effects = [effect(part, delta, crowd) for crowd in crowded for part in shared for delta in found.interval]
    return Controlled(LogInterval(effects[0], min(effects), max(effects)), moved)


def shared_part(commits: Sequence[float], others: Sequence[float]) -> LogInterval:
    """β, from the logarithms of the same ticks beside a straight line."""
    count = len(commits)
    line = orthonormal([[1.0] * count, [float(place) for place in range(count)]])
    x, y = without(others, line), without(commits, line)
    squares = dot(x, x)
    if squares <= 1e-12 * count:
        return LogInterval(MOST_SHARED / 2, 0.0, MOST_SHARED)
    slope = dot(x, y) / squares
    rest = [mine - slope * theirs for mine, theirs in zip(y, x, strict=True)]
    phi = phi_of(rest, 0, 3)
    worth = max(2.0, (count - 3) * (1 - phi) / (1 + phi))
    half = two_sided(LEVEL, worth) * math.sqrt(dot(rest, rest) / worth / squares)
    return LogInterval(*(min(max(edge, 0.0), MOST_SHARED) for edge in (slope, slope - half, slope + half)))
