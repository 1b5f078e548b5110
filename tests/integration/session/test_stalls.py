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
from tests.trials import assert_holds
from tuibench.report.effects import stall_event_text
from tuibench.servers.server import PrivateServer

SLACK_SECONDS = 0.1


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
    # A busy machine takes longer to continue the server and its clients, and may stall the load itself.
    rest = iter(stalls)
    for seconds in planted:
        assert any(stall.seconds >= seconds - SLACK_SECONDS for stall in rest), (planted, stalls)
    told = [event.text for event in summary.events if event.text.startswith("stall of ")]
    assert told == [stall_event_text(stall) for stall in stalls]
    longest = max(stall.seconds for stall in stalls)
    assert summary.steadiness.longest_stall_seconds == summary.figures["outage"] == longest


@pytest.mark.whole
async def test_most_stalls_of_five_seconds_are_measured_as_five(
    tables: PrivateServer, tuibench_home: Path
) -> None:
    """On each flavour. The figure is that of `--fail-if "outage>5s"`."""

    async def measure() -> None:
        async with loaded(fault_spec(tables.target)) as load:
            await ticks(load, 8)
            planted = await stopped(tables.pid, 5.0)
            await ticks(load, 12)
            summary = await load.stop()
        assert summary.figures["outage"] == pytest.approx(planted, abs=0.2)

    await assert_holds(measure, trials=5, chance=0.95)


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
