"""Evaluation of a screening: the pairs of windows, the verdicts on the candidates, and what to measure next.

No I/O: blocks go in, a `TuneResult` comes out. Each candidate is an A/B test against the original values,
with a confidence sequence of its own (`metrics/ab_analysis.py`). The verdicts are on the primary figure and
keep the false discovery rate (`screen`); the intervals of the other figures have the same level, and hold for
each figure by itself.

Windows are shared by several candidates after the first pairs (`random_halves`). Pairs give wrong results for
a setting that acts later than its windows last, so such candidates are found and get no verdict
(`Evaluation.late`).
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from tuibench.metrics import ab_analysis as analysis
from tuibench.metrics.ab_analysis import (
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
from tuibench.metrics.inference import LogInterval
from tuibench.metrics.thresholds import OPERATORS, parse_threshold
from tuibench.model.effect import AbTestPair, Comparison, Verdict, comparison_of
from tuibench.model.settings import option_line
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

ANOMALIES, NO_ANOMALIES = "anomalies_per_second", "no further anomalies"
"""The figure of anomalies, and the objective that every value has in a load that counts them."""
FIRST_PAIRS = 4
"""Pairs that each candidate gets before any candidate gets more."""


class Sums(NamedTuple):
    """Running sums of a candidate's pairs."""

    scale: PairScale
    pairs: int
    mean: float
    """Mean and standard deviation of the differences, on their scale."""
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

    def interval(self, level: float) -> LogInterval:
        if self.pairs < 2:
            return LogInterval(math.nan, -math.inf, math.inf)
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
    """The verdict on each candidate. On average at most the share `rate` of all verdicts is false (the false
    discovery rate q). `tolerance` is the share within which a candidate equals the baseline; `of` is the
    initial number of candidates K.

    Forty intervals at 95 % would contain two false ones. So their level depends on the number of verdicts:
    the largest k counts for which k candidates have a verdict (higher, lower, equal) from intervals at level
    1 − q k/K. This is e-BY (Xu, Wang and Ramdas, "Post-selection inference for e-value based confidence
    intervals", 2022); the method for tests is e-BH (Wang and Ramdas, JRSS B 84, 2022).

    A confidence sequence at level 1 − a misses the true value only if an e-value exceeds 1/a. So the
    guarantee needs no independence between candidates that share a baseline, and it holds at any time,
    whichever candidates are measured next.
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
    """The candidates to measure next: until all have their first pairs, those with the fewest; then those
    closest to a verdict, and the one with the fewest pairs.

    Candidates that cannot be better than the baseline come last.
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


def may_gain(interval: LogInterval, tolerance: float, *, is_higher_better: bool = True) -> bool:
    """False if the candidate certainly does not improve the figure by more than the tolerance."""
    return (
        interval.high > math.log1p(tolerance) if is_higher_better else interval.low < math.log1p(-tolerance)
    )


FEWEST_SHARING = 3
"""With fewer groups, windows of their own take as little time."""

FEWEST_DIFFERENCES = 3
"""Differences of a candidate before its estimate is used."""


def random_halves(
    groups: Iterable[Sequence[int]], rng: random.Random
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The candidates of two complementary windows, by a fair coin for each group. Members of a group exclude
    each other: one is drawn.

        window 1: candidates 2, 5, 7  │  window 2: candidates 1, 3, 4, 6

    Such a pair of windows measures every candidate at once. The difference between the windows is the sum of
    all effects, with the signs of the coins, and noise. For one candidate the effects of the others are
    noise, too, and its own coin makes that noise symmetric, as a confidence sequence requires. The measured
    effect is the mean over the values of the others.

    Complementary windows are a factorial design: Plackett and Burman, "The design of optimum multifactorial
    experiments" (Biometrika 33, 1946); Box and Wilson (JRSS B 13, 1951); for databases: Debnath, Lilja and
    Mokbel, "SARD: a statistical approach for ranking database tuning parameters" (ICDE workshops, 2008).
    """
    halves: tuple[list[int], list[int]] = ([], [])
    for group in groups:
        halves[rng.random() < 0.5].append(rng.choice(group))
    return tuple(halves[0]), tuple(halves[1])


class EffectEstimates:
    """Estimates of each candidate's effect on one figure, as differences of logarithms.

    In shared windows the effects of the other candidates widen an interval. So their estimates from earlier
    pairs are removed from a window's figures. An estimate is fixed before the coins are thrown, so the noise
    remains symmetric. It is shrunk by its standard error (positive-part James and Stein), so that candidates
    without an effect add no noise.
    """

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, float, float]] = {}

    def add(self, candidate: int, difference: float) -> None:
        count, total, squares = self._sums.get(candidate, (0, 0.0, 0.0))
        self._sums[candidate] = count + 1, total + difference, squares + difference * difference

    def effect(self, candidate: int) -> float:
        """The estimate; zero unless it exceeds its standard error."""
        count, total, squares = self._sums.get(candidate, (0, 0.0, 0.0))
        if count < FEWEST_DIFFERENCES or not total:
            return 0.0
        mean = total / count
        variance = max(0.0, squares - total * mean) / (count - 1) / count
        return mean * max(0.0, 1 - 2 * variance / mean**2)

    def without(self, level: float, others: Iterable[int]) -> float:
        """The level of a window with the known effects of these candidates removed."""
        return level * math.exp(-math.fsum(map(self.effect, others)))


class CandidatePairs:
    """The pairs of each candidate.

    A pair is a window with the candidate and one without it: the window with the original values, or the
    complementary window. A disturbed window gives no pairs. The effects of other candidates in a window are
    removed from its figures (`EffectEstimates`).
    """

    def __init__(self) -> None:
        self.together: list[AbTestPair] = []
        """Pairs of the test of the best values together."""
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
        # Estimates from this block are used only for later blocks.
        found = list(self._found(block))
        for candidate, pair in found:
            self._pairs[candidate].append(pair)
            for figure, after in pair.b.items():
                before = pair.a.get(figure, 0.0)
                if before > 0 and after > 0:
                    self._estimates[figure].add(candidate, math.log(after / before))

    def lateness(self, candidate: int, primary: str, late: Mapping[int, float]) -> Lateness | None:
        """When a candidate acts, from the course of all windows; most of them are without it.

        Known effects of other candidates, which act at once, are removed. Windows are left out while a
        candidate of `late` is set, or within its seconds after that.
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
"""Settings in the test of the best together; more would be hard to justify."""

OWN_SHARE = 1 / 3
"""The share of blocks for candidates that cannot share windows, while others share them."""


class Evaluation:
    """The verdicts from the blocks so far."""

    def __init__(self, plan: TunePlan, candidates: Sequence[Candidate]) -> None:
        self.plan = plan
        self.candidates = tuple(candidates)
        self.failures: dict[int, str] = {}
        """Candidates that the server refused, with its reason."""
        self.harm: dict[int, str] = {}
        """Candidates that broke the guard, with what was observed."""
        self.alone = {one.number for one in candidates if not one.can_share}
        """Candidates that share no windows."""
        self.late: dict[int, float] = {}
        """Candidates that act too late for their windows, with the seconds until they have acted."""
        self.left_out: tuple[LeftOut, ...] = ()
        self.together: tuple[int, ...] = ()
        """The candidates in the test of the best together."""
        self.is_complete = False
        self._blocks: list[TuneBlock] = []
        self._pairs = CandidatePairs()
        self._likely: dict[int, tuple[int, bool]] = {}
        self._looks: dict[int, Progress] = {}
        self._looked_at = (-1, 0)

    def add(self, blocks: Iterable[TuneBlock]) -> None:
        """Add blocks in the order of measurement."""
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
        """Progress of each candidate that the server accepts; computed once for each block."""
        state = (len(self._blocks), len(self.failures) + len(self.harm))
        if state != self._looked_at:
            self._looks, self._looked_at = self._screened(), state
        return self._looks

    def _screened(self) -> dict[int, Progress]:
        """The progress without premature verdicts: none for a candidate that seems to act later than its
        windows show, and none before all candidates have their first pairs, which tell the effects apart.
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
        """True if the lateness of a candidate is to be examined: when it has a verdict, and in turn for one
        candidate of each block, because a late one may stay undecided for ever.
        """
        place = len(self._blocks) % len(self.candidates)
        is_in_turn = self.candidates[place].number == number
        is_measured = look.pairs >= FIRST_PAIRS and number not in self.late
        return is_measured and (is_in_turn or look.verdict is not Verdict.CANNOT_TELL)

    def _is_late(self, number: int, verdict: Verdict) -> bool:
        """True if a candidate seems to act too late, by its pairs so far.

        Once that is certain, the candidate with the most evidence is not measured again: its late effect can
        make another candidate look late.
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
        """The windows to measure next, each with its candidates; empty if all candidates have a verdict.

        Each candidate is first measured in windows of its own. Then the undecided candidates share windows;
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
        """Candidates that may share windows, in groups of which only one member may be set at a time: the
        values of one setting, or of two that limit each other.
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
        # The winner is the best together if that is better, otherwise the single best, if any.
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
        """The best value of each setting that is better and meets the objectives, the largest gains first."""
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
            option_line=option_line(candidate.setting, candidate.value),
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
    """The change of a figure as a gain in percent: positive for more transactions or a shorter p95. None if
    unknown.
    """
    if comparison is None or comparison.percent is None:
        return None
    is_higher_better = figure_named(comparison.figure).better is Better.HIGHER
    return comparison.percent if is_higher_better else -comparison.percent


def missed(objectives: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """The first objective that the windows with the candidate missed; empty if they met all. Anomalies that
    the original value has not, or significantly fewer of, miss one, too.
    """
    levels = {figure_named(one.figure).name: one.after for one in comparisons}
    for text in objectives:
        threshold = parse_threshold(text)
        level = levels.get(threshold.figure)
        if level is not None and not OPERATORS[threshold.operator](level, threshold.limit):
            return text
    found = comparison_of(ANOMALIES, comparisons)
    if found is not None and found.after > 0 and (not found.before or found.verdict is Verdict.HIGHER):
        return NO_ANOMALIES
    return ""


def statement(candidate: Candidate) -> str:
    """The statement that sets the value until the next restart."""
    if candidate.scope == "workload":
        return session_sql(candidate.setting, candidate.value)
    return manual_statement(candidate.setting, candidate.value)


def _comparisons(pairs: Sequence[AbTestPair], level: float, tolerance: float) -> tuple[Comparison, ...]:
    """The comparison of each figure that all pairs have, all at one level."""
    found = []
    for figure in measured_figures(pairs):
        sums = Sums.of(figure_pairs(pairs, figure))
        interval = sums.interval(level)
        if interval.has_edge:
            verdict = sums.verdict(level, tolerance)
            found.append(figure_comparison(figure, pairs, interval, verdict, tolerance))
    return tuple(found)


def is_decided(result: TogetherResult | None) -> bool:
    """True once the test of the best together has a verdict."""
    enough = result is not None and len(result.pairs) >= analysis.FEWEST_PAIRS_OF_INTERVAL
    return enough and result is not None and result.verdict is not TuneVerdict.CANNOT_TELL
