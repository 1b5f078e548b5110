"""Evaluation of a screening: the verdict on each candidate, the best, and the next measurement.

Pure: blocks in, a `TuneResult` out. The verdicts are on the primary figure; the other figures' intervals are
read at the same level, and hold for each figure by itself.
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tuibench.metrics.inference.ab_tests import sequential
from tuibench.metrics.inference.ab_tests.lateness import Lateness, window_for
from tuibench.metrics.inference.ab_tests.paired import compare_so_far, figure_comparison, figure_pairs
from tuibench.metrics.inference.ab_tests.screening import (
    FIRST_PAIRS,
    Look,
    Sums,
    next_candidates,
    screen,
)
from tuibench.metrics.inference.ab_tests.shared_windows import FEWEST_SHARING, random_halves
from tuibench.metrics.thresholds.absolute import OPERATORS, parse_threshold
from tuibench.model.experiments.effect import AbTestPair, Comparison, EffectFigure, Verdict
from tuibench.model.experiments.tune import (
    Candidate,
    CandidateResult,
    LeftOut,
    TogetherResult,
    TuneBlock,
    TunePlan,
    TuneResult,
    TuneVerdict,
)
from tuibench.session.tune.pairs import CandidatePairs
from tuibench.tuning.catalogue.setting_lookup import paired_setting
from tuibench.tuning.statements import manual_statement, session_sql

MOST_TOGETHER = 6
"""Settings in the last test: more are hard to defend."""

OWN_SHARE = 1 / 3
"""Of the blocks, for candidates that cannot share windows, while others do."""

NO_OPTION = frozenset({"sql_log_bin", "innodb_redo_log_enabled"})
"""Settings that have no line in an option file."""


class Evaluation:
    """The blocks so far, seen as verdicts. `failures` are candidates that the server refused, `alone` those
    that share no window, `late` those that act too late for the windows, with the seconds until they act.
    """

    def __init__(self, plan: TunePlan, candidates: Sequence[Candidate]) -> None:
        self.plan = plan
        self.candidates = tuple(candidates)
        self.failures: dict[int, str] = {}
        self.alone = {one.number for one in candidates if not one.can_share}
        self.late: dict[int, float] = {}
        self.left_out: tuple[LeftOut, ...] = ()
        self.together: tuple[int, ...] = ()
        self.is_complete = False
        self._blocks: list[TuneBlock] = []
        self._pairs = CandidatePairs()
        self._likely: dict[int, tuple[int, bool]] = {}
        self._looks: dict[int, Look] = {}
        self._looked_at = (-1, 0)

    def add(self, blocks: Iterable[TuneBlock]) -> None:
        """More blocks, in the order of measurement."""
        for block in blocks:
            self._blocks.append(block)
            self._pairs.add(block)

    @property
    def blocks(self) -> tuple[TuneBlock, ...]:
        return tuple(self._blocks)

    @property
    def tolerance(self) -> float:
        return self.plan.tolerance_percent / 100

    @property
    def is_higher_better(self) -> bool:
        return self.plan.primary is EffectFigure.TPS

    def looks(self) -> dict[int, Look]:
        """What is known of each candidate that the server takes; computed once for each block."""
        state = (len(self._blocks), len(self.failures))
        if state != self._looked_at:
            self._looks, self._looked_at = self._screened(), state
        return self._looks

    def _screened(self) -> dict[int, Look]:
        """No verdict on a value that seems to act later than its windows show, and none without the first
        pairs of all, which tell the effects apart.
        """
        pairs = {
            one.number: figure_pairs(_with(self.plan.primary, self._pairs.of(one.number)), self.plan.primary)
            for one in self.candidates
            if one.number not in self.failures
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
            number: first[number]._replace(verdict=Verdict.CANNOT_TELL, needed=None) for number in withheld
        }

    def _screen(self, pairs: Mapping[int, Sequence[sequential.Pair]]) -> dict[int, Look]:
        return screen(pairs, rate=self.plan.false_rate, tolerance=self.tolerance, of=len(self.candidates))

    def _is_due(self, number: int, look: Look) -> bool:
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

    def _own_windows(self, looks: Mapping[int, Look]) -> list[tuple[int, ...]]:
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
        return TuneResult(
            plan=self.plan,
            seconds=seconds,
            blocks=len(self._blocks),
            disturbed=sum(any(window.disturbance for window in block.windows) for block in self._blocks),
            results=results,
            left_out=self.left_out,
            together=together,
            winner=self._winner(results, together),
            is_complete=self.is_complete,
        )

    def best(self, results: Sequence[CandidateResult]) -> tuple[int, ...]:
        """The best value of each setting that is better and meets the objectives; the largest first."""
        found: dict[str, tuple[float, int]] = {}
        for one in results:
            gain = gain_percent(one.comparison(self.plan.primary), self.plan.primary)
            if one.verdict is not TuneVerdict.BETTER or one.misses or gain is None:
                continue
            name = one.candidate.setting
            found[name] = max(found.get(name, (-math.inf, 0)), (gain, one.candidate.number))
        return tuple(number for _, number in sorted(found.values(), reverse=True)[:MOST_TOGETHER])

    def _winner(self, results: Sequence[CandidateResult], together: TogetherResult | None) -> tuple[int, ...]:
        """The candidates to keep: the best together if that is better, else the single best; or none."""
        if together is not None and together.verdict is TuneVerdict.BETTER and not together.misses:
            return together.candidates
        return self.best(results)[:1]

    def _result(self, candidate: Candidate, look: Look | None) -> CandidateResult:
        pairs = self._pairs.of(candidate.number)
        failure = self.failures.get(candidate.number, "")
        is_measured = look is not None and len(pairs) > 1 and candidate.number not in self.late
        comparisons = _comparisons(pairs, look.level, self.tolerance) if look and is_measured else ()
        verdict = TuneVerdict.REFUSED if failure else self._verdict(look.verdict if look else None)
        return CandidateResult(
            candidate=candidate,
            verdict=verdict,
            pairs=len(pairs),
            comparisons=comparisons,
            misses=missed(self.plan.objectives, comparisons),
            failure=failure,
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
        verdict = next((one.verdict for one in comparisons if one.figure is self.plan.primary), None)
        singles = [
            one.comparison(self.plan.primary) for one in results if one.candidate.number in self.together
        ]
        product = math.prod(1 + (one.percent or 0.0) / 100 for one in singles if one is not None)
        return TogetherResult(
            candidates=self.together,
            verdict=self._verdict(verdict),
            pairs=pairs,
            comparisons=comparisons,
            product_percent=100 * (product - 1),
            misses=missed(self.plan.objectives, comparisons),
        )


def gain_percent(comparison: Comparison | None, primary: EffectFigure) -> float | None:
    """By how much it is better: more transactions, or a shorter p95."""
    if comparison is None or comparison.percent is None:
        return None
    return comparison.percent if primary is EffectFigure.TPS else -comparison.percent


def missed(objectives: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """The first objective that the windows with the candidate did not meet; empty if they met all."""
    levels: Mapping[str, float] = {
        {EffectFigure.TPS: "tps", EffectFigure.P95: "p95"}.get(one.figure, ""): one.after
        for one in comparisons
    }
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


def _with(figure: EffectFigure, pairs: Sequence[AbTestPair]) -> list[AbTestPair]:
    return [pair for pair in pairs if figure in pair.a and figure in pair.b]


def _comparisons(pairs: Sequence[AbTestPair], level: float, tolerance: float) -> tuple[Comparison, ...]:
    """Every figure that all pairs have, at one level."""
    found = []
    for figure in EffectFigure:
        if not all(figure in pair.a and figure in pair.b for pair in pairs):
            continue
        sums = Sums.of(figure_pairs(pairs, figure))
        interval = sums.interval(level)
        if math.isfinite(interval.percent.high) and not math.isnan(interval.estimate):
            verdict = sums.verdict(level, tolerance)
            found.append(figure_comparison(figure, pairs, interval, verdict, tolerance))
    return tuple(found)


def is_decided(result: TogetherResult | None) -> bool:
    """True once the last test has a verdict."""
    enough = result is not None and len(result.pairs) >= sequential.FEWEST_PAIRS
    return enough and result is not None and result.verdict is not TuneVerdict.CANNOT_TELL
