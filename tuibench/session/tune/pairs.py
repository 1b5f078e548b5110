"""Pairs of a screening: what each block says of each of its candidates."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import median

from tuibench.metrics.inference.ab_tests.lateness import Lateness, find_lateness
from tuibench.metrics.inference.ab_tests.shared_windows import EffectEstimates
from tuibench.model.experiments.effect import AbTestPair, EffectFigure
from tuibench.model.experiments.tune import TuneBlock, TuneWindow


class CandidatePairs:
    """The pairs of all candidates, block by block; `together` are those of the best together.

    A pair is a window with the candidate and one without: the one with the original values, or the
    complementary window. Disturbed windows give no pairs. What else is set in a window is taken out of its
    figures, as far as its effect is known from earlier blocks (`shared_windows`).
    """

    def __init__(self) -> None:
        self.together: list[AbTestPair] = []
        self._pairs: defaultdict[int, list[AbTestPair]] = defaultdict(list)
        self._estimates: defaultdict[EffectFigure, EffectEstimates] = defaultdict(EffectEstimates)
        self._blocks = 0
        self._windows: list[TuneWindow] = []

    def of(self, candidate: int) -> tuple[AbTestPair, ...]:
        """The pairs of a candidate, in the order of measurement."""
        return tuple(self._pairs.get(candidate, ()))

    def add(self, block: TuneBlock) -> None:
        """One more block."""
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
            self._learn(candidate, pair)

    def lateness(self, candidate: int, primary: EffectFigure, late: Mapping[int, float]) -> Lateness | None:
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
        a: Mapping[EffectFigure, float],
        b: Mapping[EffectFigure, float],
    ) -> AbTestPair:
        is_first = block.windows.index(without) < block.windows.index(with_it)
        order = "AB" if is_first else "BA"
        return AbTestPair(cycle=self._blocks, order=order, a=dict(a), b=dict(b), settling_seconds=0.0)

    def _alone(self, window: TuneWindow, candidate: int) -> dict[EffectFigure, float]:
        """The window's figures, without the known effects of the other candidates in it."""
        others = [number for number in window.candidates if number != candidate]
        if not others:
            return window.figures
        return {
            figure: self._estimates[figure].without(level, others) for figure, level in window.figures.items()
        }

    def _learn(self, candidate: int, pair: AbTestPair) -> None:
        for figure, after in pair.b.items():
            before = pair.a.get(figure, 0.0)
            if before > 0 and after > 0:
                self._estimates[figure].add(candidate, math.log(after / before))
