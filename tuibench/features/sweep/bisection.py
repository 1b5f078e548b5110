"""Bisection of an ordered list of server programs or configurations: which step has changed the speed.

Both ends are measured first, over all starts. If they differ, the build in the middle is measured, start by
start, until it is known to which end it belongs; the search continues between it and the other end. The step
among 16 builds takes six measurements.

The method assumes that there is one step. Then each build has one of two levels, and all builds on one side
of the step are samples of the same level. After each start of a build, the likelihoods of both levels are
compared by a sequential probability ratio test (Wald, "Sequential tests of statistical hypotheses", Annals of
Mathematical Statistics 16, 1945). The variance is that of all starts within their builds. The error rate of
5 % is divided among the halvings. A build that is undecided after its last start is assigned to the likelier
side, and the result names it as uncertain.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from tuibench.base.document import Block, Table, Text
from tuibench.base.units import significant
from tuibench.features.sweep.tables import build_caveats, caveat_notes, interval_text, start_levels
from tuibench.metrics import inference
from tuibench.metrics.inference import LogInterval
from tuibench.model.effect import Verdict
from tuibench.model.sweep import Sweep

ERROR_RATE = 0.05
LEAST_DEVIATION = 1e-3
"""The least standard deviation that is assumed, as a share of the level: a few starts may agree by chance."""

NEAR_THE_MIDDLE = 0.2
"""A build whose level is nearer to the middle than this share of the step is not assigned to a side: there
may be several steps.
"""

Levels = Mapping[str, Sequence[float]]
"""The figure of each start of a build, in the order of the starts, by the name of the build."""


class SearchState(NamedTuple):
    """The state of a search: the step is after build `good`, and at build `bad` or before."""

    good: int
    """The index of the last build that is known to be on the first build's side."""
    bad: int
    """The index of the first build that is known to be on the last build's side."""
    wanted: tuple[tuple[str, int], ...] = ()
    """The starts to measure next, as build and number of the start; empty at the end of the search."""
    interval: LogInterval | None = None
    """The bad side relative to the good one; None until both ends are measured."""
    verdict: Verdict = Verdict.CANNOT_TELL
    uncertain: tuple[str, ...] = ()
    """Builds that were undecided after their last start."""

    @property
    def is_found(self) -> bool:
        return not self.wanted and self.bad - self.good == 1 and self.interval is not None


def bisect(names: Sequence[str], levels: Levels, starts: int, *, only_worse: bool = False) -> SearchState:
    """The state of the search after these starts, of which each build has at most `starts`.

    With `only_worse`, the search ends without a step if the last build is faster than the first.
    """
    good, bad = 0, len(names) - 1
    ends = [
        (name, start)
        for start in range(1, starts + 1)
        for name in (names[good], names[bad])[:: 1 if start % 2 else -1]
        if start > len(levels.get(name, ()))
    ]
    if ends:
        return SearchState(good, bad, tuple(ends))
    sides = {names[good]: True, names[bad]: False}
    interval, verdict = _difference(levels, sides)
    if verdict not in ((Verdict.LOWER,) if only_worse else (Verdict.HIGHER, Verdict.LOWER)):
        return SearchState(good, bad, (), interval, verdict)
    rate = ERROR_RATE / math.ceil(math.log2(max(2, bad - good)))
    evidence = math.log((1 - rate) / rate)
    uncertain: list[str] = []
    while bad - good > 1:
        middle = (good + bad) // 2
        name = names[middle]
        side = _side(levels, sides, name, evidence)
        known = len(levels.get(name, ()))
        if side is None and known < starts:
            return SearchState(good, bad, ((name, known + 1),), *_difference(levels, sides), tuple(uncertain))
        if side is None:
            uncertain.append(name)
            side = _evidence(levels, sides, name)[0] > 0
        sides[name] = side
        good, bad = (middle, bad) if side else (good, middle)
    return SearchState(good, bad, (), *_difference(levels, sides), tuple(uncertain))


def _difference(levels: Levels, sides: Mapping[str, bool]) -> tuple[LogInterval, Verdict]:
    """The bad side relative to the good one, over all starts."""
    good, bad = (
        [[one] for name, side in sides.items() if side is is_good for one in levels[name]]
        for is_good in (True, False)
    )
    found = inference.compare(good, bad)
    return found, found.verdict()


def _side(levels: Levels, sides: Mapping[str, bool], name: str, evidence: float) -> bool | None:
    """True if the build is on the good side, False for the bad side, None if it is undecided."""
    own = levels.get(name, ())
    if not own:
        return None
    found, distance = _evidence(levels, sides, name)
    return found > 0 if abs(found) >= evidence and distance >= NEAR_THE_MIDDLE else None


def _evidence(levels: Levels, sides: Mapping[str, bool], name: str) -> tuple[float, float]:
    """The logarithm of the likelihood ratio, positive for the good side; and the distance of the build's
    level from the middle of both levels, as a share of the step.
    """
    good, bad = (
        [math.log(one) for name, side in sides.items() if side is is_good for one in levels[name]]
        for is_good in (True, False)
    )
    here = [math.log(one) for one in levels[name]]
    every = [[math.log(one) for one in levels[each]] for each in (*sides, name)]
    degrees = sum(len(starts) - 1 for starts in every)
    squares = math.fsum((one - fmean(starts)) ** 2 for starts in every for one in starts)
    # With few degrees of freedom, a variance is underestimated more often than not. Dividing by two degrees
    # less gives it the variance of Student's t.
    variance = max(LEAST_DEVIATION**2, squares / max(1, degrees - 2))
    uncertainty = variance * (1 / len(here) + 1 / (4 * len(good)) + 1 / (4 * len(bad)))
    middle = (fmean(good) + fmean(bad)) / 2
    step, distance = fmean(good) - fmean(bad), fmean(here) - middle
    return step * distance / uncertainty, abs(distance / step) if step else 0.0


def sweep_step(sweep: Sweep) -> SearchState:
    """The state of a bisection from its results; the figure of a start is the geometric mean of its tests."""
    setup = sweep.record.versions
    assert setup is not None  # noqa: S101
    names = [build.name for build in setup.builds]
    levels = {name: [one[start] for start in sorted(one)] for name, one in start_levels(sweep).items()}
    return bisect(names, levels, sweep.record.plan.repeats, only_worse=setup.bisect == "bad")


def bisection_sentence(sweep: Sweep) -> str:
    """The step that was found, with its interval; otherwise the reason why no step was found."""
    step, builds = sweep_step(sweep), sweep.record.versions
    assert builds is not None  # noqa: S101
    names = [build.name for build in builds.builds]
    if step.interval is None:
        return "Both ends are not measured yet."
    estimate, low, high = step.interval.percent
    words = f"{estimate:+.1f} % ({low:+.1f}..{high:+.1f} %)"
    if step.is_found:
        kind = "first bad" if builds.bisect == "bad" else "first changed"
        sure = f"; uncertain: {', '.join(step.uncertain)} had no verdict" if step.uncertain else ""
        return f"{kind}: {names[step.bad]}, {words} from {names[step.good]} on{sure}"
    if step.wanted:
        return f"The step is after {names[step.good]}, and in {names[step.bad]} or before; it ended early."
    problem = "is not worse than" if builds.bisect == "bad" else "is not known to differ from"
    return f"No step is found: {names[-1]} {problem} {names[0]} ({words})."


def bisection_blocks(sweep: Sweep) -> tuple[Block, ...]:
    """The sentence, then the builds that were measured, in their order."""
    setup, step = sweep.record.versions, sweep_step(sweep)
    assert setup is not None  # noqa: S101
    levels = start_levels(sweep)
    first = next(iter(levels.values()), {})
    headline = next((result.headline for result in sweep.done), "")
    rows = []
    for place, build in enumerate(setup.builds):
        if not (own := levels.get(build.name)):
            continue
        ratio = inference.compare([[one] for one in first.values()], [[one] for one in own.values()])
        low, high = (1 + edge / 100 for edge in ratio.percent[1:])
        is_known = place and math.isfinite(low) and math.isfinite(high)
        side = "before the step" if place <= step.good else "after it" if place >= step.bad else "?"
        rows.append(
            (
                build.name,
                significant(fmean(own.values()), 3),
                str(len(own)),
                interval_text(low, high) if is_known else "",
                side if step.is_found else "",
            )
        )
    measured = f"{len(rows)} of {len(setup.builds)} measured"
    return (
        Text((bisection_sentence(sweep),)),
        Table(
            title=f"{measured}; figures relative to {setup.builds[0].name}, 95 % intervals over starts",
            header=("", headline, "starts", "relative", ""),
            rows=tuple(rows),
            notes=caveat_notes(build_caveats(sweep)),
        ),
    )
