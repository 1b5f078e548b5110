"""Windows that several candidates share: a factorial design in pairs of complementary windows.

    window 1: candidates 2, 5, 7  │  window 2: candidates 1, 3, 4, 6      a fair coin for each candidate

A pair of windows measures every candidate, not only one of them: each is in one of the two windows, and a
coin of its own decides in which. The difference between the windows is the sum of all effects, with the
signs of the coins, and noise. For one candidate the effects of the others are noise, too; its own coin makes
it symmetric, which is all that a confidence sequence needs (`sequential`). Its effect is the mean over the
values of the others.

The others' effects make intervals wider. So what earlier pairs say of them is taken out of the figures of a
window (`EffectEstimates.without`). It was fixed before the coins were thrown, so the symmetry remains. An
estimate is shrunk by its own standard error (positive-part James and Stein), so that candidates without an
effect add no noise.

Plackett and Burman, "The design of optimum multifactorial experiments" (Biometrika 33, 1946); Box and Wilson
(JRSS B 13, 1951) for the complementary windows; Debnath, Lilja and Mokbel, "SARD: a statistical approach for
ranking database tuning parameters" (ICDE workshops, 2008).
"""

import math
import random
from collections.abc import Iterable, Sequence

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
        """One more measurement."""
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
