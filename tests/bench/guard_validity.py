"""`python -m tests.bench.guard_validity [RUN …]`: how often the guard trips by itself, and how soon it sees a
value that halves the throughput.

The noise is that of recorded runs (their directories), whose ticks are drawn in blocks
of 30 s, or simulated. Every other window of 4 s has the original values, as in an A/B test. A false trip is
two samples in a row of the same load that break the guard; the latencies are judged with the rates if the run
has them. For a value that halves, the counts of its window's ticks are halved.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from tests.ticks import measured_tick
from tests.unit.metrics.noises import Noise, autoregressive
from tuibench.metrics.thresholds import BROKEN_SAMPLES, LEVEL_SAMPLES, Guard, parse_guard
from tuibench.model.tick import Tick
from tuibench.record.reader import load_run

BLOCK_SECONDS, WINDOW_SECONDS = 30.0, 4.0
HOUR_SECONDS = 3600.0
QUERIES_PER_SECOND = 4000.0
WITHIN = (2, 3, 4, 8)

Hour = Callable[[random.Random], Iterator[Tick]]
"""The ticks of an hour."""


def recorded(ticks: Sequence[Tick]) -> Hour:
    """Hours of blocks of the ticks of a run."""
    block = min(len(ticks), round(BLOCK_SECONDS / ticks[0].seconds))

    def hour(rng: random.Random) -> Iterator[Tick]:
        for _ in range(math.ceil(HOUR_SECONDS / ticks[0].seconds / block)):
            first = rng.randrange(len(ticks) - block + 1)
            yield from ticks[first : first + block]

    return hour


def simulated(noise: Noise, size: float, seconds: float) -> Hour:
    def hour(rng: random.Random) -> Iterator[Tick]:
        for deviation in noise(rng, round(HOUR_SECONDS / seconds), size):
            queries = QUERIES_PER_SECOND * seconds * math.exp(deviation)
            yield measured_tick(seconds, seconds, queries / 20, queries=queries)

    return hour


def halved(tick: Tick) -> Tick:
    return replace(tick, sums={name: value / 2 for name, value in tick.sums.items()})


def trips(hour: Hour, texts: Sequence[str], rng: random.Random) -> tuple[int, list[int]]:
    """The windows of an hour that trip by themselves; for each window the samples until a halving is seen."""
    guard, ticks = Guard(parse_guard(texts)), iter(list(hour(rng)))
    for tick, _ in zip(ticks, range(LEVEL_SAMPLES), strict=False):
        guard.learn(tick)
    false, seen = 0, []
    while (first := next(ticks, None)) is not None:
        more = round(WINDOW_SECONDS / first.seconds) - 1
        window = [first, *(tick for tick, _ in zip(ticks, range(more), strict=False))]
        false += samples_until_broken(guard, window) <= len(window)
        seen.append(samples_until_broken(guard, [halved(tick) for tick in window]))
        for tick, _ in zip(ticks, range(more + 1), strict=False):
            guard.learn(tick)
    return false, seen


def samples_until_broken(guard: Guard, window: Sequence[Tick]) -> int:
    """One more than there are if the guard is not broken."""
    in_a_row = 0
    for place, tick in enumerate(window, 1):
        in_a_row = in_a_row + 1 if guard.broken(tick) else 0
        if in_a_row == BROKEN_SAMPLES:
            return place
    return len(window) + 1


def sources(runs: Sequence[Path]) -> Iterator[tuple[str, Hour]]:
    for run in runs:
        ticks = list(load_run(run).intervals())
        yield f"{run.name}, {len(ticks)} ticks of {ticks[0].seconds:.1f} s", recorded(ticks)
    if not runs:
        for size in (0.05, 0.07, 0.10, 0.13):
            yield f"AR 0.6, {size:.0%} a sample of 0.5 s", simulated(autoregressive(0.6), size, 0.5)
        yield "AR 0.48, 11.6% a sample of 1 s", simulated(autoregressive(0.48), 0.116, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.guard_validity", description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, help="directories of recorded runs [simulated noise]")
    parser.add_argument("--guard", action="append", help='repeatable ["qps>70%%"; "tps>80%%"]')
    parser.add_argument("--hours", type=int, default=100)
    options = parser.parse_args()
    for name, hour in sources(options.runs):
        for texts in [options.guard] if options.guard else [["qps>70%"], ["tps>80%"]]:
            rng = random.Random(2021)
            found = [trips(hour, texts, rng) for _ in range(options.hours)]
            seen = [samples for _, every in found for samples in every]
            within = ", ".join(
                f"{sum(one <= most for one in seen) / len(seen):.2%} in {most}" for most in WITHIN
            )
            tripped = sum(false > 0 for false, _ in found)
            print(f"{name}, {' '.join(texts)}: false trips in {tripped} of {len(found)} hours; "
                  f"halved: put back within samples: {within}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
