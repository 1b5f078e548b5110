"""A server that is stopped for a while under load: the stall is reported with its true length, once."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.faults.load import FaultLoad, fault_spec, loaded
from tuibench.demo.server import PrivateServer
from tuibench.effects.text import stall_event_text

SLACK_SECONDS = 0.1
WAKING_SECONDS = 0.4
"""A machine with other work takes longer to continue the server, and its clients."""


@pytest.mark.one_flavour
@pytest.mark.parametrize(
    ("engine", "rate", "count"),
    [
        ("auto", 0.0, 2),
        ("asyncio", 60.0, 2),
        pytest.param("auto", 60.0, 4, marks=pytest.mark.whole),
        pytest.param("asyncio", 0.0, 4, marks=pytest.mark.whole),
    ],
)
async def test_planted_stalls_are_reported_with_their_length(
    tables: PrivateServer, tuibench_home: Path, engine: str, rate: float, count: int
) -> None:
    chance = random.Random(f"{engine} {rate}")
    planted = []
    spec = fault_spec(tables.target, engine)
    async with loaded(replace(spec, plan=replace(spec.plan, rate=rate))) as load:
        for _ in range(count):
            await ticks(load, chance.randint(4, 12))
            await asyncio.sleep(chance.uniform(0, 0.25))
            planted.append(await stopped(tables.pid, chance.uniform(0.9, 2.2)))
        await ticks(load, 12)
        summary = await load.stop()
    assert summary.steadiness is not None
    stalls = summary.steadiness.stalls
    found = [stall.seconds for stall in stalls if stall.seconds >= 0.7]
    assert len(found) == count, (planted, stalls)
    for seconds, length in zip(planted, found, strict=True):
        assert seconds - SLACK_SECONDS <= length <= seconds + WAKING_SECONDS, (planted, stalls)
    told = [event.text for event in summary.events if event.text.startswith("stall of ")]
    assert told == [stall_event_text(stall) for stall in stalls]
    assert summary.steadiness.longest_stall_seconds == summary.figures["outage"] == max(found)
    assert all(stall.recovery_seconds is not None for stall in stalls[:-1])


@pytest.mark.whole
async def test_five_seconds_are_measured_as_five(tables: PrivateServer, tuibench_home: Path) -> None:
    """On each flavour. The figure is that of `--fail-if "outage>5s"`."""
    async with loaded(fault_spec(tables.target)) as load:
        await ticks(load, 8)
        planted = await stopped(tables.pid, 5.0)
        await ticks(load, 12)
        summary = await load.stop()
    assert planted == pytest.approx(5.0, abs=0.1)
    assert summary.figures["outage"] == pytest.approx(planted, abs=0.2)


async def ticks(load: FaultLoad, count: int) -> None:
    """Waits for so many more samples."""
    seen = len(load.watcher.samples)
    await load.watcher.until(lambda: len(load.watcher.samples) >= seen + count)


async def stopped(pid: int, seconds: float) -> float:
    """Stops a process for about so long; how long it was."""
    os.kill(pid, signal.SIGSTOP)
    begun = time.monotonic()
    try:
        await asyncio.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)
    return time.monotonic() - begun
