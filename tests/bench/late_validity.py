"""A/B tests of settings that act late, simulated whole: `python -m tests.bench.late_validity`.

No effect, +20 % and −20 %, at once, after 3, 6 or 20 s, or with a time constant of 5 or 20 s. Before the test
the server has had A for long, whichever value is set for the first window. *False* is a verdict with the
wrong sign, or where there is no effect. An interval that misses the truth is counted against all tests; a
test without an interval says which windows it needs. `--tune` simulates screenings instead.
"""

import argparse
import math
import random

from tests.unit.features.ab.late_trials import EFFECTS, RESPONSES, late_trial, plan
from tests.unit.features.tune.screenings import judged
from tests.unit.metrics.noises import HELD_OUT, NOISES

KINDS = {"fixed10": (10, False), "until10": (10, True), "until4": (4, True)}
ALL_NOISES = NOISES | HELD_OUT
SIZE = 0.03
BUDGET = 1440.0
SCREENED = [math.log(1.1), math.log(1.2), -math.log(1.1), math.log(1.03), *[0.0] * 16]
DELAYS: tuple[dict[int, int], ...] = ({}, {2: 6}, {1: 8, 2: 6}, {2: 20}, {3: 20, 2: 3})


def by_chance(rate: float, repeats: int) -> float:
    """The number that is exceeded in some 2 % of the rows with this error rate."""
    return rate * repeats + 2 * math.sqrt(rate * (1 - rate) * repeats)


def ab_tests(noise: str, kind: str, repeats: int) -> bool:
    """A table row for each effect and response; True if the errors are within their limits."""
    window, until = KINDS[kind]
    is_fine = True
    for effect in EFFECTS:
        for response in RESPONSES:
            rng = random.Random(f"{noise} {kind} {effect} {response}")
            tests = [
                late_trial(
                    plan(window, until=until, seed=rng.getrandbits(30)),
                    ALL_NOISES[noise],
                    rng,
                    effect=effect,
                    response=response,
                    size=SIZE,
                )
                for _ in range(repeats)
            ]
            false, missed = sum(one.is_false for one in tests), sum(one.covers is False for one in tests)
            is_fine &= false <= by_chance(0.05, repeats) and missed <= by_chance(0.1, repeats)
            print(
                f"| {noise} | {kind} | {100 * math.expm1(effect):+.0f} % "
                f"| {response[0]:g} s, {response[1]:g} s "
                f"| {false} | {missed} | {sum(one.covers is True for one in tests)} "
                f"| {sum(one.needs is not None for one in tests)} | {sum(one.is_found for one in tests)} "
                f"| {sum(one.seconds for one in tests) / repeats:.0f} |",
                flush=True,
            )
    return is_fine


def screenings(noise: str, repeats: int) -> bool:
    """A table row for each choice of late candidates among twenty."""
    is_fine = True
    for delays in DELAYS:
        rng = random.Random(2021)
        seen = judged(
            SCREENED, ALL_NOISES[noise], rng, size=SIZE, budget=BUDGET, repeats=repeats, delays=delays
        )
        is_fine &= seen.false <= 0.1
        late = ", ".join(
            f"{100 * math.expm1(SCREENED[one - 1]):+.0f} % after {delays[one]} s" for one in delays
        )
        print(
            f"| {noise} | {late or 'none'} | {seen.false:.1%} | {seen.found:.0%} | {seen.equal:.0%} "
            f"| {seen.late:.2f} of {len(delays)} | {seen.wrongly_late:.2f} | {seen.seconds / 60:.0f} |",
            flush=True,
        )
    return is_fine


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.late_validity", description=__doc__)
    parser.add_argument("--repeats", type=int, default=100, help="simulated tests per row [100]")
    parser.add_argument("--noises", default="white,AR 0.9", help="comma-separated [white,AR 0.9]")
    parser.add_argument("--kinds", default=",".join(KINDS), help="comma-separated [fixed10,until10,until4]")
    parser.add_argument("--tune", action="store_true", help="screenings of twenty settings")
    options = parser.parse_args()
    noises = options.noises.split(",")
    if options.tune:
        print("| noise | late | false | others found | equal | found late | wrongly late | minutes |")
        print("|---|---|---:|---:|---:|---:|---:|---:|")
        fine = [screenings(noise, options.repeats) for noise in noises]
    else:
        print(
            "| noise | test | effect | delay, constant | false | missed | covers | needs | found | seconds |"
        )
        print("|---|---|---:|---|---:|---:|---:|---:|---:|---:|")
        kinds = options.kinds.split(",")
        fine = [ab_tests(noise, kind, options.repeats) for noise in noises for kind in kinds]
    raise SystemExit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
