"""Loads that warm up: curves of throughput from the start of a load, and a change on the way.

A curve is the logarithm of the throughput, relative to that of the warm load. It is an exponential approach,
a logistic curve, or a staircase (parts of the data that a cache has from some moment on); a tenth of the
approaches falls, as that of a load which begins before flushing does.
"""

import math
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.unit.metrics import noises, planted
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.effect import Comparison, Effect, Verdict

CURVES = 60
CHANGED_AT = (5.0, 15.0, 25.0, 40.0)
EFFECTS = (math.log(1.2), math.log(1.42), math.log(2.0))
INTERVALS = (0.5, 1.0, 3.0)
NOISES: dict[str, noises.Noise] = {
    "white": noises.white,
    "AR 0.6": noises.autoregressive(0.6),
    "bursts": noises.bursts,
}
SIZES = (0.02, 0.04, 0.08)
PRIVATE_SLOTS = 6


class WarmUp(NamedTuple):
    """`steps` are the times and heights of a staircase; the others have a `constant`, in seconds."""

    kind: str
    rise: float
    constant: float = 1.0
    middle: float = 0.0
    steps: tuple[tuple[float, float], ...] = ()

    def level(self, seconds: float) -> float:
        """The logarithm of the throughput so long after the start."""
        seconds = max(seconds, 0.0)
        match self.kind:
            case "exponential":
                missing = math.exp(-seconds / self.constant)
            case "logistic":
                missing = 1 / (1 + math.exp(min((seconds - self.middle) / self.constant, 300.0)))
            case _:
                return -math.fsum(height for at, height in self.steps if seconds < at)
        cold = math.exp(-self.rise)
        return math.log(1 - (1 - cold) * missing)


def curves(seed: int, count: int = CURVES) -> list[WarmUp]:
    """A third of each kind."""
    rng = random.Random(f"curves {seed}")
    found = []
    for place in range(count):
        rise = math.log(math.exp(rng.uniform(math.log(1.3), math.log(12))))
        match place % 3:
            case 0:
                rise = -rng.uniform(0.2, 0.8) if place % 30 == 27 else rise
                found.append(WarmUp("exponential", rise, constant=math.exp(rng.uniform(1.1, 4.0))))
            case 1:
                constant = math.exp(rng.uniform(0.7, 2.7))
                found.append(WarmUp("logistic", rise, constant=constant, middle=rng.uniform(3, 60)))
            case _:
                number = rng.randint(2, 7)
                parts = [rng.uniform(0.5, 1.5) for _ in range(number)]
                times = [rng.uniform(2, 70) for _ in parts]
                heights = [rise * part / math.fsum(parts) for part in parts]
                found.append(WarmUp("steps", rise, steps=tuple(zip(times, heights, strict=True))))
    return found


class Case(NamedTuple):
    """A change during a warm-up, and what was said of it."""

    course: planted.Planted
    curve: WarmUp | None
    noise: str
    effects: tuple[Effect, ...]

    def compared(self) -> Iterator[tuple[Comparison, float]]:
        """Everything that was said of TPS and p95, also before it was measured again, with the truth."""
        for effect in self.effects:
            for one in effect.comparisons:
                if one.figure in ("tps", "p95_ms"):
                    yield one, self.course.effect * (1 if one.figure == "tps" else -1)

    @property
    def is_sure(self) -> bool:
        """True if a difference of TPS is said to be the change's."""
        return any(one.differs for one, _ in self.compared() if one.figure == "tps")

    @property
    def is_wrong(self) -> bool:
        """True if a sure difference has the wrong sign: not that of the effect; or, without an effect, not
        that of what has moved.
        """
        return any(
            one.differs and (one.delta * truth < 0 if truth else one.delta * (one.after - one.before) < 0)
            for one, truth in self.compared()
        )

    @property
    def is_misleading(self) -> bool:
        """The same of a difference that is "not only" the change's."""
        return any(
            one.verdict is Verdict.NOT_ONLY
            and (one.delta * truth < 0 if truth else one.delta * (one.after - one.before) < 0)
            for one, truth in self.compared()
        )

    @property
    def is_equal_falsely(self) -> bool:
        return any(
            one.verdict is Verdict.EQUAL and abs(truth) > math.log1p(one.tolerance_percent / 100)
            for one, truth in self.compared()
        )

    @property
    def is_found(self) -> bool:
        """True if the last word on TPS is right."""
        one = self.effects[-1].comparison("tps") if self.effects else None
        return one is not None and one.differs and one.delta * self.course.effect > 0

    @property
    def blames_reads(self) -> bool:
        """True if page reads are named as the reason."""
        return any("page_read" in one.figure for effect in self.effects for one in effect.because)


def cases(
    seed: int,
    warm_ups: Sequence[WarmUp],
    *,
    effects: Sequence[float] = (0.0,),
    changed_at: Sequence[float] = CHANGED_AT,
    slots: int = 0,
    sample: int = 0,
    intervals: Sequence[float] = INTERVALS,
    sizes: Sequence[float] = SIZES,
    noise_of: dict[str, noises.Noise] = NOISES,
) -> Iterator[Case]:
    """A change with these effects at each of these times; with a noise, its size and an interval at random.
    A `sample` of so many; all of them by default.
    """
    rng = random.Random(f"cases {seed}")
    every = [(curve, at, effect) for curve in warm_ups for at in changed_at for effect in effects]
    for curve, at, effect in rng.sample(every, sample) if sample else every:
        name = rng.choice(list(noise_of))
        course = planted.Planted(
            effect=effect,
            before=at,
            after=80.0,
            interval=rng.choice(intervals),
            size=rng.choice(sizes),
        )
        found = planted.effects(
            course,
            noise_of[name],
            random.Random(rng.getrandbits(32)),
            base=curve.level,
            slots=slots,
            reads=WaitClass.PAGE_READ.key,
        )
        yield Case(course, curve, name, tuple(found))


def steady_cases(
    seed: int,
    count: int,
    *,
    effect: float,
    before: Sequence[float] = (16.0, 20.0, 40.0, 90.0),
    slots: int = 0,
    intervals: Sequence[float] = INTERVALS,
    sizes: Sequence[float] = SIZES,
    noise_of: dict[str, noises.Noise] = NOISES,
) -> Iterator[Case]:
    """A change of a load that is warm, so long after its start."""
    rng = random.Random(f"steady {seed}")
    for _ in range(count):
        name = rng.choice(list(noise_of))
        course = planted.Planted(
            effect=effect,
            before=rng.choice(before),
            after=80.0,
            interval=rng.choice(intervals),
            size=rng.choice(sizes),
        )
        found = planted.effects(course, noise_of[name], random.Random(rng.getrandbits(32)), slots=slots)
        yield Case(course, None, name, tuple(found))


def foreign_steps(
    seed: int,
    count: int,
    *,
    slots: int = 0,
    effect: float = 0.0,
    intervals: Sequence[float] = INTERVALS,
    sizes: Sequence[float] = SIZES,
    noise_of: dict[str, noises.Noise] = NOISES,
) -> Iterator[Case]:
    """A step of 15 to 60 % up or down, 1 to 20 s before the change."""
    rng = random.Random(f"foreign {seed}")
    for _ in range(count):
        name = rng.choice(list(noise_of))
        course = planted.Planted(
            effect=effect,
            before=rng.choice((20.0, 30.0, 40.0, 60.0, 90.0)),
            after=80.0,
            interval=rng.choice(intervals),
            size=rng.choice(sizes),
            step=rng.choice((-1, 1)) * rng.uniform(math.log(1.15), math.log(1.6)),
            step_seconds=-rng.uniform(1, 20),
        )
        found = planted.effects(course, noise_of[name], random.Random(rng.getrandbits(32)), slots=slots)
        yield Case(course, None, name, tuple(found))
