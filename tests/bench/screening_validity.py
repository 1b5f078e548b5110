"""How often a verdict of `tune` is false, and what it finds: `python -m tests.bench.screening_validity`.

Simulated screenings of 20 settings in 30 minutes, with fixed seeds: four with effects of +10 %, +20 %, −10 %
and +3 %, the rest without. `--repeats` is the number of screenings per row; 100 take about three minutes.
"""

import argparse
import math
import random

from tests.unit.features.tune.screenings import judged
from tests.unit.metrics.noises import NOISES

SEED = 2021
BUDGET = 1440.0
"""Seconds: the part of 30 minutes that is not for the best together."""

EFFECTS = [math.log(1.1), math.log(1.2), -math.log(1.1), math.log(1.03), *[0.0] * 16]
NULL = [0.0] * 20
SIZES = (0.03, 0.06)
"""Noise of one second."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    print("| noise | a second | false | false without effects | ±10 % and more found | equal | minutes |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for size in SIZES:
        for name, noise in NOISES.items():
            rng = random.Random(SEED)
            seen = judged(EFFECTS, noise, rng, size=size, budget=BUDGET, repeats=repeats)
            null = judged(NULL, noise, rng, size=size, budget=BUDGET, repeats=repeats)
            print(
                f"| {name} | {size:.0%} | {seen.false:.1%} | {null.false:.1%} | {seen.found:.0%} | "
                f"{seen.equal:.0%} | {seen.seconds / 60:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
