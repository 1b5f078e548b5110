"""Evaluation of a screening: shared windows, pairs, verdicts.

Screening of many A/B comparisons: verdicts with false discovery rate control, and what to measure next.

Each candidate has a confidence sequence of its own (`metrics/inference.py`), all against one baseline.
With forty of them at 95 %, two would be wrong; so the level of an interval depends on the number of verdicts
(e-BY: Xu, Wang and Ramdas, "Post-selection inference for e-value based confidence intervals", 2022;
for tests it is e-BH: Wang and Ramdas, JRSS B 84, 2022):

with K candidates, k of them have a verdict if k intervals at level 1 − q k/K have one; the largest such k

Of all verdicts (higher, lower, equal) at most a share q is false on average, the false discovery rate. An
interval of a confidence sequence at level 1 − a misses the true value only if an e-value exceeds 1/a. So the
guarantee needs no independence between candidates that share a baseline, and holds at any time,
whichever candidates are measured next. K is the initial number of candidates.

Windows that several candidates share: a factorial design in pairs of complementary windows.

    window 1: candidates 2, 5, 7  │  window 2: candidates 1, 3, 4, 6      a fair coin for each candidate

A pair of windows measures every candidate, not only one of them: each is in one of the two windows, and a
coin of its own decides in which. The difference between the windows is the sum of all effects, with the
signs of the coins, and noise. For one candidate the effects of the others are noise, too; its own coin makes
it symmetric, which is all that a confidence sequence needs. Its effect is the mean over the
values of the others.

The others' effects make intervals wider. So what earlier pairs say of them is taken out of the figures of a
window (`EffectEstimates.without`). It was fixed before the coins were thrown, so the symmetry remains. An
estimate is shrunk by its own standard error (positive-part James and Stein), so that candidates without an
effect add no noise.

Plackett and Burman, "The design of optimum multifactorial experiments" (Biometrika 33, 1946); Box and Wilson
(JRSS B 13, 1951) for the complementary windows; Debnath, Lilja and Mokbel, "SARD: a statistical approach for
ranking database tuning parameters" (ICDE workshops, 2008).

Pairs of a screening: what each block says of each of its candidates.

Evaluation of a screening: the verdict on each candidate, the best, and the next measurement.

Pure: blocks in, a `TuneResult` out. The verdicts are on the primary figure; the other figures' intervals are
read at the same level, and hold for each figure by itself.
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from tuibench.ab import analysis
from tuibench.ab.analysis import (
    FEWEST_PAIRS_OF_INTERVAL,
    Lateness,
    Pair,
    PairScale,
    Progress,
    compare_so_far,
    differences,
    figure_comparison,
    figure_pairs,
    find_lateness,
    half_width,
    measured_figures,
    pairs_until,
    window_for,
)
from tuibench.metrics.figures import Better, figure_named
from tuibench.metrics.inference import Interval
from tuibench.metrics.thresholds import OPERATORS, parse_threshold
from tuibench.model.effect import AbTestPair, Comparison, Verdict, comparison_of
from tuibench.model.tune import (
    Candidate,
    CandidateResult,
    LeftOut,
    TogetherResult,
    TuneBlock,
    TunePlan,
    TuneResult,
    TuneVerdict,
    TuneWindow,
)
from tuibench.tuning.catalogue import paired_setting
from tuibench.tuning.connection import manual_statement, session_sql

FIRST_PAIRS = 4
"""Pairs that every candidate gets before any gets more."""


class Sums(NamedTuple):
    """Running sums of a candidate's pairs: mean and deviation of the differences on their scale."""

    scale: PairScale
    pairs: int
    mean: float
    deviation: float

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "Sums":
        observed = differences(pairs)
        scale = PairScale.of(pairs)
        count = len(observed)
        if count < 2:
            return cls(scale, count, math.nan, math.inf)
        mean = math.fsum(observed) / count
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in observed) / (count - 1))
        return cls(scale, count, mean, deviation)

    def interval(self, level: float) -> Interval:
        if self.pairs < 2:
            return Interval(math.nan, -math.inf, math.inf)
        return self.scale.interval(self.mean, half_width(self.pairs, self.deviation, level), level)

    def verdict(self, level: float, tolerance: float) -> Verdict:
        if self.pairs < FEWEST_PAIRS_OF_INTERVAL:
            return Verdict.CANNOT_TELL
        return self.interval(level).verdict(tolerance)

    def needed(self, level: float, tolerance: float) -> int | None:
        if self.pairs < 2:
            return None
        return pairs_until(self.mean, self.deviation, alpha=level, tolerance=tolerance, done=self.pairs)


def screen(
    candidates: Mapping[int, Sequence[Pair]], *, rate: float, tolerance: float, of: int | None = None
) -> dict[int, Progress]:
    """The verdict on each candidate; at most the share `rate` of them is false.

    `tolerance` is the share within which a candidate equals the baseline, `of` the initial number of
    candidates.
    """
    sums = {number: Sums.of(pairs) for number, pairs in candidates.items()}
    most = max(len(sums), of or 0, 1)
    level = rate / most
    for claims in range(len(sums), 0, -1):
        tried = rate * claims / most
        found = sum(one.verdict(tried, tolerance) is not Verdict.CANNOT_TELL for one in sums.values())
        if found >= claims:
            level = tried
            break
    return {number: _look(one, level, tolerance) for number, one in sums.items()}


def _look(sums: Sums, level: float, tolerance: float) -> Progress:
    verdict = sums.verdict(level, tolerance)
    needed = 0 if verdict is not Verdict.CANNOT_TELL else sums.needed(level, tolerance)
    return Progress(sums.interval(level), verdict, sums.pairs, needed, level)


def next_candidates(
    looks: Mapping[int, Progress], count: int, *, tolerance: float, is_higher_better: bool = True
) -> list[int]:
    """The candidates to measure next: first all of them a few times, then those closest to a verdict.

    Candidates that cannot be better than the baseline come last; one place is for the one measured least.
    """
    undecided = [number for number, look in looks.items() if look.verdict is Verdict.CANNOT_TELL]
    fresh = [number for number in undecided if looks[number].pairs < FIRST_PAIRS]
    if fresh:
        return sorted(fresh, key=lambda number: looks[number].pairs)[:count]
    nearest = sorted(
        undecided,
        key=lambda number: (
            not may_gain(looks[number].interval, tolerance, is_higher_better=is_higher_better),
            math.inf if looks[number].pairs_needed is None else looks[number].pairs_needed,
        ),
    )
    chosen = nearest[: max(1, count - 1)]
    rest = sorted((number for number in nearest if number not in chosen), key=lambda each: looks[each].pairs)
    return [*chosen, *rest[: count - len(chosen)]]


def may_gain(interval: Interval, tolerance: float, *, is_higher_better: bool = True) -> bool:
    """False if the candidate is known not to be better by more than the tolerance."""
    return (
        interval.high > math.log1p(tolerance) if is_higher_better else interval.low < math.log1p(-tolerance)
    )


FEWEST_SHARING = 3
"""With fewer groups, windows of their own are as quick."""

FEWEST_DIFFERENCES = 3
"""Before an estimate is used."""


def random_halves(
    groups: Iterable[Sequence[int]], rng: random.Random
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The candidates of two complementary windows. Members of a group exclude each other: one is drawn."""
    halves: tuple[list[int], list[int]] = ([], [])
    for group in groups:
        halves[rng.random() < 0.5].append(rng.choice(group))
    return tuple(halves[0]), tuple(halves[1])


class EffectEstimates:
    """What is known of each candidate's effect on one figure: differences of logarithms."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, float, float]] = {}

    def add(self, candidate: int, difference: float) -> None:
        count, total, squares = self._sums.get(candidate, (0, 0.0, 0.0))
        self._sums[candidate] = count + 1, total + difference, squares + difference * difference

    def effect(self, candidate: int) -> float:
        """The estimate, shrunk to zero unless it exceeds its standard error."""
        count, total, squares = self._sums.get(candidate, (0, 0.0, 0.0))
        if count < FEWEST_DIFFERENCES or not total:
            return 0.0
        mean = total / count
        variance = max(0.0, squares - total * mean) / (count - 1) / count
        return mean * max(0.0, 1 - 2 * variance / mean**2)

    def without(self, level: float, others: Iterable[int]) -> float:
        """The level of a window without the effects of these candidates, as far as they are known."""
        return level * math.exp(-math.fsum(map(self.effect, others)))


class CandidatePairs:
    """The pairs of all candidates, block by block; `together` are those of the best together.

    A pair is a window with the candidate and one without: the one with the original values, or the
    complementary window. Disturbed windows give no pairs. What else is set in a window is taken out of its
    figures, as far as its effect is known from earlier blocks (`shared_windows`).
    """

    def __init__(self) -> None:
        self.together: list[AbTestPair] = []
        self._pairs: defaultdict[int, list[AbTestPair]] = defaultdict(list)
        self._estimates: defaultdict[str, EffectEstimates] = defaultdict(EffectEstimates)
        self._blocks = 0
        self._windows: list[TuneWindow] = []

    def of(self, candidate: int) -> tuple[AbTestPair, ...]:
        """The pairs of a candidate, in the order of measurement."""
        return tuple(self._pairs.get(candidate, ()))

    def add(self, block: TuneBlock) -> None:
        self._blocks += 1
        self._windows += block.windows
        if block.is_together:
            original, best = sorted(block.windows, key=lambda window: len(window.candidates))
            if not (original.disturbance or best.disturbance):
                self.together.append(self._pair(block, original, best, original.figures, best.figures))
            return
        # What this block says of one candidate is not used for the others of the block.
        found = list(self._found(block))
        for candidate, pair in found:
            self._pairs[candidate].append(pair)
            for figure, after in pair.b.items():
                before = pair.a.get(figure, 0.0)
                if before > 0 and after > 0:
                    self._estimates[figure].add(candidate, math.log(after / before))

    def lateness(self, candidate: int, primary: str, late: Mapping[int, float]) -> Lateness | None:
        """When a candidate acts, from the course of all windows, in most of which it is not set.

        What the others explain that act at once is taken out; windows are left out in which one of the `late`
        is set, or was within these seconds.
        """
        courses = [len(window.course) for window in self._windows if window.course]
        if not courses:
            return None
        parts, seconds = max(courses), median(window.seconds for window in self._windows)
        levels: list[float | None] = []
        after = dict.fromkeys(late, math.inf)
        for window in self._windows:
            after = {one: 0.0 if one in window.candidates else at + seconds for one, at in after.items()}
            is_disturbed = any(at < late[one] + seconds for one, at in after.items() if one != candidate)
            course = () if is_disturbed else window.course
            levels += [math.log(level) if level > 0 else None for level in course]
            levels += [None] * (parts - len(course))
        others = [one for one in self._pairs if one != candidate and self._estimates[primary].effect(one)]
        return find_lateness(
            levels,
            self._values(candidate, parts),
            bin_seconds=seconds / parts,
            window=parts,
            limit=seconds / 2,
            others=[self._values(other, parts) for other in others],
        )

    def _values(self, candidate: int, parts: int) -> list[float]:
        return [float(candidate in window.candidates) for window in self._windows for _ in range(parts)]

    def _found(self, block: TuneBlock) -> Iterator[tuple[int, AbTestPair]]:
        for with_it in block.windows:
            for candidate in with_it.candidates:
                without = min(
                    (window for window in block.windows if candidate not in window.candidates),
                    key=lambda window: len(window.candidates),
                )
                if with_it.disturbance or without.disturbance:
                    continue
                a = self._alone(without, candidate)
                b = self._alone(with_it, candidate)
                yield candidate, self._pair(block, without, with_it, a, b)

    def _pair(
        self,
        block: TuneBlock,
        without: TuneWindow,
        with_it: TuneWindow,
        a: Mapping[str, float],
        b: Mapping[str, float],
    ) -> AbTestPair:
        is_first = block.windows.index(without) < block.windows.index(with_it)
        order = "AB" if is_first else "BA"
        return AbTestPair(cycle=self._blocks, order=order, a=dict(a), b=dict(b), settling_seconds=0.0)

    def _alone(self, window: TuneWindow, candidate: int) -> dict[str, float]:
        """The window's figures, without the known effects of the other candidates in it."""
        others = [number for number in window.candidates if number != candidate]
        if not others:
            return window.figures
        return {
            figure: self._estimates[figure].without(level, others) for figure, level in window.figures.items()
        }


MOST_TOGETHER = 6
"""Settings in the last test: more are hard to defend."""

OWN_SHARE = 1 / 3
"""Of the blocks, for candidates that cannot share windows, while others do."""

NO_OPTION = frozenset({"sql_log_bin", "innodb_redo_log_enabled"})
"""Settings that have no line in an option file."""


class Evaluation:
    """The blocks so far, seen as verdicts. `failures` are candidates that the server refused, `harm` those
    that have broken the guard, with what was seen, `alone` those
    that share no window, `late` those that act too late for the windows, with the seconds until they act.
    """

    def __init__(self, plan: TunePlan, candidates: Sequence[Candidate]) -> None:
        self.plan = plan
        self.candidates = tuple(candidates)
        self.failures: dict[int, str] = {}
        self.harm: dict[int, str] = {}
        self.alone = {one.number for one in candidates if not one.can_share}
        self.late: dict[int, float] = {}
        self.left_out: tuple[LeftOut, ...] = ()
        self.together: tuple[int, ...] = ()
        self.is_complete = False
        self._blocks: list[TuneBlock] = []
        self._pairs = CandidatePairs()
        self._likely: dict[int, tuple[int, bool]] = {}
        self._looks: dict[int, Progress] = {}
        self._looked_at = (-1, 0)

    def add(self, blocks: Iterable[TuneBlock]) -> None:
        """More blocks, in the order of measurement."""
        for block in blocks:
            self._blocks.append(block)
            self._pairs.add(block)
            for window in block.windows:
                if window.harm and len(window.candidates) == 1:
                    self.harm[window.candidates[0]] = window.harm
                elif window.harm:
                    self.alone |= set(window.candidates)

    @property
    def blocks(self) -> tuple[TuneBlock, ...]:
        return tuple(self._blocks)

    @property
    def tolerance(self) -> float:
        return self.plan.tolerance_percent / 100

    @property
    def is_higher_better(self) -> bool:
        return figure_named(self.plan.primary).better is Better.HIGHER

    def looks(self) -> dict[int, Progress]:
        """What is known of each candidate that the server takes; computed once for each block."""
        state = (len(self._blocks), len(self.failures) + len(self.harm))
        if state != self._looked_at:
            self._looks, self._looked_at = self._screened(), state
        return self._looks

    def _screened(self) -> dict[int, Progress]:
        """No verdict on a value that seems to act later than its windows show, and none without the first
        pairs of all, which tell the effects apart.
        """
        primary = self.plan.primary
        pairs = {
            one.number: figure_pairs(
                [pair for pair in self._pairs.of(one.number) if primary in pair.a and primary in pair.b],
                primary,
            )
            for one in self.candidates
            if one.number not in self.failures and one.number not in self.harm
        }
        first = self._screen(pairs)
        likely = {
            number
            for number, look in first.items()
            if self._is_due(number, look) and self._is_late(number, look.verdict)
        }
        withheld = {number for number in first if number in likely or number in self.late}
        withheld |= {number for number, look in first.items() if look.pairs < FIRST_PAIRS}
        found = self._screen({number: each for number, each in pairs.items() if number not in withheld})
        return found | {
            number: first[number]._replace(verdict=Verdict.CANNOT_TELL, pairs_needed=None)
            for number in withheld
        }

    def _screen(self, pairs: Mapping[int, Sequence[analysis.Pair]]) -> dict[int, Progress]:
        return screen(pairs, rate=self.plan.false_rate, tolerance=self.tolerance, of=len(self.candidates))

    def _is_due(self, number: int, look: Progress) -> bool:
        """True with a verdict, and for one candidate in turn: a late one may stay undecided for ever."""
        place = len(self._blocks) % len(self.candidates)
        is_in_turn = self.candidates[place].number == number
        is_measured = look.pairs >= FIRST_PAIRS and number not in self.late
        return is_measured and (is_in_turn or look.verdict is not Verdict.CANNOT_TELL)

    def _is_late(self, number: int, verdict: Verdict) -> bool:
        """True if a candidate seems to act too late, as known from its pairs so far. Once that is certain,
        the one of which it is most certain is not measured again: its late effect may look like another's.
        """
        pairs = len(self._pairs.of(number))
        if number in self._likely and self._likely[number][0] == pairs:
            return self._likely[number][1]
        found = self._lateness(number)
        self._likely[number] = pairs, found is not None and found.may_reverse(verdict)
        if found is None or not found.is_certain(len(self.candidates)):
            return self._likely[number][1]
        every = {
            other: late
            for other in (one.number for one in self.candidates)
            if other not in self.late and (late := self._lateness(other)) is not None
        }
        worst = max(every, key=lambda other: every[other].evidence)
        self.late[worst] = every[worst].seconds
        return True

    def _lateness(self, number: int) -> Lateness | None:
        return self._pairs.lateness(number, self.plan.primary, self.late)

    def next_block(self, rng: random.Random) -> list[tuple[int, ...]]:
        """The windows to measure next, each with its candidates; none if all have a verdict.

        Every candidate is measured a few times in windows of its own. Then the undecided ones share windows;
        those that cannot share get a part of the blocks.
        """
        looks = self.looks()
        looks = {number: look for number, look in looks.items() if number not in self.late}
        undecided = {number for number, look in looks.items() if look.verdict is Verdict.CANNOT_TELL}
        groups = self._sharing(undecided)
        if any(looks[number].pairs < FIRST_PAIRS for number in undecided) or len(groups) < FEWEST_SHARING:
            return self._own_windows(looks)
        alone = undecided - {number for group in groups for number in group}
        if alone and rng.random() < OWN_SHARE:
            return self._own_windows({number: looks[number] for number in alone})
        return [*random_halves(groups, rng)]

    def _own_windows(self, looks: Mapping[int, Progress]) -> list[tuple[int, ...]]:
        """A window with the original values, and one for each candidate that is due."""
        due = next_candidates(
            looks,
            self.plan.candidates_per_block,
            tolerance=self.tolerance,
            is_higher_better=self.is_higher_better,
        )
        return [(), *((number,) for number in due)] if due else []

    def _sharing(self, undecided: Iterable[int]) -> list[list[int]]:
        """Candidates that may share windows, in groups of which one may be set at a time.

        A group has the values of one setting, or of two that limit each other.
        """
        groups: defaultdict[frozenset[str], list[int]] = defaultdict(list)
        for one in self.candidates:
            if one.number in undecided and one.number not in self.alone:
                groups[frozenset({one.setting, paired_setting(one.setting) or one.setting})].append(
                    one.number
                )
        return list(groups.values())

    def result(self, seconds: float) -> TuneResult:
        looks = self.looks()
        results = tuple(self._result(one, looks.get(one.number)) for one in self.candidates)
        together = self._together(results)
        # To keep: the best together if that is better, else the single best; or none.
        return TuneResult(
            plan=self.plan,
            seconds=seconds,
            blocks=len(self._blocks),
            disturbed=sum(any(window.disturbance for window in block.windows) for block in self._blocks),
            results=results,
            left_out=self.left_out,
            together=together,
            winner=together.candidates
            if together is not None and together.verdict is TuneVerdict.BETTER and not together.misses
            else self.best(results)[:1],
            is_complete=self.is_complete,
        )

    def best(self, results: Sequence[CandidateResult]) -> tuple[int, ...]:
        """The best value of each setting that is better and meets the objectives; the largest first."""
        found: dict[str, tuple[float, int]] = {}
        for one in results:
            gain = gain_percent(one.comparison(self.plan.primary))
            if one.verdict is not TuneVerdict.BETTER or one.misses or gain is None:
                continue
            name = one.candidate.setting
            found[name] = max(found.get(name, (-math.inf, 0)), (gain, one.candidate.number))
        return tuple(number for _, number in sorted(found.values(), reverse=True)[:MOST_TOGETHER])

    def _result(self, candidate: Candidate, look: Progress | None) -> CandidateResult:
        pairs = self._pairs.of(candidate.number)
        failure, harm = self.failures.get(candidate.number, ""), self.harm.get(candidate.number, "")
        is_measured = look is not None and len(pairs) > 1 and candidate.number not in self.late
        comparisons = _comparisons(pairs, look.level, self.tolerance) if look and is_measured else ()
        verdict = self._verdict(look.verdict if look else None)
        if failure or harm:
            verdict = TuneVerdict.HARMFUL if harm else TuneVerdict.REFUSED
        return CandidateResult(
            candidate=candidate,
            verdict=verdict,
            pairs=len(pairs),
            comparisons=comparisons,
            misses=missed(self.plan.objectives, comparisons),
            failure=harm or failure,
            needs_window_seconds=window_for(late) if (late := self.late.get(candidate.number)) else None,
            sql=statement(candidate),
            option_line=option_line(candidate),
        )

    def _verdict(self, verdict: Verdict | None) -> TuneVerdict:
        match verdict:
            case Verdict.EQUAL:
                return TuneVerdict.NO_EFFECT
            case Verdict.HIGHER | Verdict.LOWER:
                is_better = (verdict is Verdict.HIGHER) == self.is_higher_better
                return TuneVerdict.BETTER if is_better else TuneVerdict.WORSE
            case _:
                return TuneVerdict.CANNOT_TELL

    def _together(self, results: Sequence[CandidateResult]) -> TogetherResult | None:
        pairs = tuple(self._pairs.together)
        if not self.together or not pairs:
            return None
        comparisons = compare_so_far(pairs, tolerance=self.tolerance, primary=self.plan.primary)
        found = comparison_of(self.plan.primary, comparisons)
        singles = [
            one.comparison(self.plan.primary) for one in results if one.candidate.number in self.together
        ]
        product = math.prod(1 + (one.percent or 0.0) / 100 for one in singles if one is not None)
        return TogetherResult(
            candidates=self.together,
            verdict=self._verdict(None if found is None else found.verdict),
            pairs=pairs,
            comparisons=comparisons,
            product_percent=100 * (product - 1),
            misses=missed(self.plan.objectives, comparisons),
        )


def gain_percent(comparison: Comparison | None) -> float | None:
    """By how much it is better: more transactions, or a shorter p95."""
    if comparison is None or comparison.percent is None:
        return None
    is_higher_better = figure_named(comparison.figure).better is Better.HIGHER
    return comparison.percent if is_higher_better else -comparison.percent


def missed(objectives: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """The first objective that the windows with the candidate did not meet; empty if they met all."""
    levels = {figure_named(one.figure).name: one.after for one in comparisons}
    for text in objectives:
        threshold = parse_threshold(text)
        level = levels.get(threshold.figure)
        if level is not None and not OPERATORS[threshold.operator](level, threshold.limit):
            return text
    return ""


def statement(candidate: Candidate) -> str:
    """The statement that sets the value until the next restart."""
    if candidate.scope == "workload":
        return session_sql(candidate.setting, candidate.value)
    return manual_statement(candidate.setting, candidate.value)


def option_line(candidate: Candidate) -> str:
    """The line below [mysqld] that sets the value at each start; empty if there is none."""
    return "" if candidate.setting in NO_OPTION else f"{candidate.setting} = {candidate.value}"


def _comparisons(pairs: Sequence[AbTestPair], level: float, tolerance: float) -> tuple[Comparison, ...]:
    """Every figure that all pairs have, at one level."""
    found = []
    for figure in measured_figures(pairs):
        sums = Sums.of(figure_pairs(pairs, figure))
        interval = sums.interval(level)
        if interval.has_edge:
            verdict = sums.verdict(level, tolerance)
            found.append(figure_comparison(figure, pairs, interval, verdict, tolerance))
    return tuple(found)


def is_decided(result: TogetherResult | None) -> bool:
    """True once the last test has a verdict."""
    enough = result is not None and len(result.pairs) >= analysis.FEWEST_PAIRS_OF_INTERVAL
    return enough and result is not None and result.verdict is not TuneVerdict.CANNOT_TELL
