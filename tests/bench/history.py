"""The screen after ten hours: `python -m tests.bench.history`, a viewer on a scripted session; no server.

Told are the memory of the process with every screen shown, at the start and at the end, and processor times:
of a step of the zoom, which repaints all charts, and of a sample with the whole run on the charts. While the
samples come, the screen Sessions is the visible one: it costs the least, and what is kept is the same.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import msgspec
import psutil

from tests.tui.support import script
from tests.tui.support.driving import LARGE, Viewer, viewer
from tests.tui.support.probed import probed
from tests.tui.support.sessions import ACTIVITY
from tuibench.model.tick import Sample
from tuibench.tui.screens.tabs import SCREEN_TABS

HOURS = 10.0
STORY = script.samples(84)
"""What is told again and again."""
AT_ONCE = 100
ROUNDS = 10
"""How often every screen is shown meanwhile."""
ZOOMS = 4
REPEATS = 10


class Costs(NamedTuple):
    """What it took; times are of a processor."""

    samples: int
    memory_before_mb: float
    memory_after_mb: float
    zoom_ms: list[float]
    sample_ms: list[float]

    def row(self) -> str:
        zoom, sample = (
            f"{median(each):.0f} ms (max {max(each):.0f})" for each in (self.zoom_ms, self.sample_ms)
        )
        return (
            f"| {self.samples:,} | {self.memory_before_mb:.0f} MB | {self.memory_after_mb:.0f} MB "
            f"| {zoom} | {sample} |"
        )


def sample_at(second: int) -> Sample:
    """The story over and over, its clock going on."""
    told = STORY[second % len(STORY)]
    return msgspec.structs.replace(told, tick=msgspec.structs.replace(told.tick, end=float(second)))


def memory_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6


async def show_all(it: Viewer) -> None:
    """Every screen once; the last one costs little."""
    for place in SCREEN_TABS:
        await it.press(place.key)
        await it.hear(ACTIVITY)
    await it.press("6")


async def live_through(it: Viewer, first: int, last: int) -> None:
    for start in range(first, last, AT_ONCE):
        await it.hear(*(sample_at(second) for second in range(start, min(start + AT_ONCE, last))))


async def press_ms(it: Viewer, key: str) -> float:
    began = time.process_time()
    await it.press(key)
    return 1000 * (time.process_time() - began)


async def hear_ms(it: Viewer, second: int) -> float:
    began = time.process_time()
    await it.hear(sample_at(second))
    return 1000 * (time.process_time() - began)


async def measure(samples: int) -> Costs:
    """Live through so many samples, then look at all of them."""
    hello = msgspec.structs.replace(script.hello(len(STORY)), probe=probed().over)
    begin, end = len(STORY) + 1, len(STORY) + 1 + samples
    async with viewer(hello, LARGE) as it:
        await show_all(it)
        before = memory_mb()
        for number in range(ROUNDS):
            edges = (begin + samples * each // ROUNDS for each in (number, number + 1))
            await live_through(it, *edges)
            await show_all(it)
        after = memory_mb()
        await it.press("1", *["Z"] * ZOOMS)
        zooms = [await press_ms(it, "z") for _ in range(ZOOMS)]
        ticks = [await hear_ms(it, end + number) for number in range(REPEATS)]
    return Costs(samples, before, after, zooms, ticks)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=HOURS)
    options = parser.parse_args(arguments)
    costs = asyncio.run(measure(round(options.hours * 3600)))
    print("| samples | memory before | after | a step of the zoom | a sample, all shown |")
    print(f"|---:|---:|---:|---:|---:|\n{costs.row()}")


if __name__ == "__main__":
    main()
