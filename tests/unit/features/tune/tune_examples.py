"""A small screening as examples: candidates, blocks with figures, and an evaluation over them."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tuibench.features.tune.evaluation import Evaluation, random_halves
from tuibench.model.tune import Candidate, TuneBlock, TunePlan, TuneWindow

TPS, P95 = "tps", "p95_ms"


def candidate(
    number: int, setting: str = "innodb_io_capacity", value: str = "1000", **more: Any
) -> Candidate:
    made = {
        "topic": "flushing",
        "original": "200",
        "change": f"200 → {value}",
        "meaning": "",
        "risk": "It may be too much.",
    }
    return Candidate(number=number, setting=setting, value=value, **{**made, **more})


def block(
    factors: Mapping[int, float], rng: random.Random, *, at: float = 0.0, noise: float = 0.01
) -> TuneBlock:
    """A block of own windows in random order: the TPS is 1000 times the factor, p95 goes the other way."""
    order = [(), *((number,) for number in factors)]
    rng.shuffle(order)
    return TuneBlock(end_seconds=at, windows=tuple(window(each, factors, rng, noise) for each in order))


def shared_block(factors: Mapping[int, float], rng: random.Random, *, noise: float = 0.01) -> TuneBlock:
    """Two windows that the candidates share."""
    halves = random_halves([[number] for number in factors], rng)
    return TuneBlock(end_seconds=0.0, windows=tuple(window(each, factors, rng, noise) for each in halves))


def together_block(numbers: tuple[int, ...], factor: float, rng: random.Random) -> TuneBlock:
    """The best together, and the original values."""
    windows = [window((), {}, rng, 0.01), *[window(numbers, {numbers[0]: factor}, rng, 0.01)]]
    rng.shuffle(windows)
    return TuneBlock(end_seconds=0.0, windows=tuple(windows), is_together=True)


def window(
    numbers: tuple[int, ...], factors: Mapping[int, float], rng: random.Random, noise: float
) -> TuneWindow:
    factor = math.prod(factors.get(number, 1.0) for number in numbers) * (1 + rng.uniform(-noise, noise))
    return TuneWindow(candidates=numbers, figures={TPS: 1000 * factor, P95: 10 / factor})


def evaluated(
    factors: Mapping[int, float], blocks: int = 12, *, candidates: Sequence[Candidate] = (), **plan: Any
) -> Evaluation:
    """An evaluation of candidates whose TPS is by these factors that of the baseline."""
    rng = random.Random(3)
    named = tuple(candidates) or tuple(
        candidate(number, setting=f"setting_{number}") for number in factors if number > 0
    )
    evaluation = Evaluation(TunePlan(**plan), named)
    evaluation.add(block(factors, rng, at=10.0 * place) for place in range(blocks))
    return evaluation
