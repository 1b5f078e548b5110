"""A small screening as examples: candidates, blocks with figures, and an evaluation over them."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tuibench.model.experiments.effect import EffectFigure
from tuibench.model.experiments.tune import BASELINE, Candidate, TuneBlock, TunePlan, TuneWindow
from tuibench.session.tune.evaluation import Evaluation

TPS, P95 = EffectFigure.TPS, EffectFigure.P95


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
    """A block in random order: each candidate's TPS is 1000 times its factor, p95 goes the other way."""
    order = [BASELINE, *factors]
    rng.shuffle(order)
    windows = []
    for number in order:
        factor = factors.get(number, 1.0) * (1 + rng.uniform(-noise, noise))
        windows.append(TuneWindow(candidate=number, figures={TPS: 1000 * factor, P95: 10 / factor}))
    return TuneBlock(end_seconds=at, windows=tuple(windows))


def evaluated(
    factors: Mapping[int, float], blocks: int = 12, *, candidates: Sequence[Candidate] = (), **plan: Any
) -> Evaluation:
    """An evaluation of candidates whose TPS is by these factors that of the baseline."""
    rng = random.Random(3)
    named = tuple(candidates) or tuple(
        candidate(number, setting=f"setting_{number}") for number in factors if number > 0
    )
    evaluation = Evaluation(TunePlan(**plan), named)
    evaluation.blocks += [block(factors, rng, at=10.0 * place) for place in range(blocks)]
    return evaluation
