"""A trial of two values against each other (`--ab`), and what became of it."""

import msgspec

from tuibench.model.effect import Comparison, Figure


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What is alternated: a setting, `preset` or `threads`; from `a` to `b` and back.

    Each of `cycles` holds one window of either value, `window_seconds` long, settling included.
    """

    subject: str
    a: str
    b: str
    cycles: int = 5
    window_seconds: float = 10.0

    @property
    def seconds(self) -> float:
        """How long all of it takes."""
        return 2 * self.cycles * self.window_seconds


class TrialPair(msgspec.Struct, frozen=True, kw_only=True):
    """One cycle: the figures under either value, by `Figure`. `order` is "AB" or "BA".

    `settling_seconds` were discarded, of both windows together.
    """

    cycle: int
    order: str
    a: dict[Figure, float]
    b: dict[Figure, float]
    settling_seconds: float


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """The paired result: `before` of a comparison is under value A, `after` under B.

    `left_out` counts cycles that somebody disturbed by another change or a pause; `comparisons` is empty
    where too few pairs remain for an interval. `sentence` says it all in words.
    """

    subject: str
    a: str
    b: str
    cycles: int
    window_seconds: float
    pairs: tuple[TrialPair, ...]
    left_out: int
    comparisons: tuple[Comparison, ...]
    sentence: str
