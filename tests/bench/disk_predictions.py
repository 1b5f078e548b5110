"""`python -m tests.bench.disk_predictions`: does a faster disk bring what the price list predicts?

For each load, prices of fsync and page read are measured on a disk with 2 ms more of each; the slopes,
carried on down to 0.5 ms, predict the gain. Then the disk becomes that fast, in alternation. The prediction
is right if the measured gain is in its interval, or the intervals overlap. Prints the table of
docs/running.md.
"""

import argparse
import asyncio
import math
import os
import tempfile
from collections.abc import Sequence
from statistics import mean, stdev

from msgspec.structs import replace

from tests.bench.hardware_windows import TICK_SECONDS, Load, windows
from tests.integration.support.session_process import FULL_SPEED_MS, session_spec
from tuibench.features.prices.experiment import PriceExperiment, PriceOrder, gain_of, slope_per_ms
from tuibench.load.tables import prepare_tables
from tuibench.metrics.inference import LEVEL, two_sided
from tuibench.model.hardware import parse_hardware
from tuibench.model.prices import Estimate, PriceList, Service
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.session.load_run import LoadRun
from tuibench.workload import library

NOW_MS, FASTER_MS = 2.0, 0.5
DISK = "redo.fsync={0}ms,binlog.fsync={0}ms,data.read={0}ms"
SMALL, COLD = {"tables": 2, "table_size": 10_000}, {"tables": 1, "table_size": 100_000}
SMALL_POOL = ("--innodb-buffer-pool-size=16M",)
LOADS: tuple[tuple[Load, Sequence[str]], ...] = (
    (Load("oltp_update_index", 1, SMALL), ()),
    (Load("oltp_update_index", 8, SMALL), ()),
    (Load("oltp_write_only", 8, SMALL), ()),
    (Load("oltp_read_write", 8, SMALL), ()),
    (Load("oltp_point_select", 4, COLD), SMALL_POOL),
    (Load("oltp_read_write", 4, COLD), SMALL_POOL),
)


async def priced_list(server: PrivateServer, load: Load, cycles: int, seconds: float) -> PriceList:
    """The prices of the load on the slow disk."""
    present = parse_hardware(DISK.format(NOW_MS))
    spec = session_spec(
        server.target,
        load.profile,
        threads=load.threads,
        interval_seconds=TICK_SECONDS,
        delay_ms=FULL_SPEED_MS,
    )
    plan = replace(spec.plan, options=dict(load.options), hardware=present)
    spec = replace(spec, private_server=str(server.directory), plan=plan)
    order = PriceOrder((Service.FSYNC, Service.PAGE_READ), cycles, seconds)
    async with LoadRun(spec) as run:
        hardware = run.watcher.hardware
        experiment = PriceExperiment(order, load.threads, present, 0.0, lambda: hardware.counts)
        await run.laboratory.plan(experiment)
        summary = await run.run()
    assert summary.prices is not None
    return summary.prices


def predicted(prices: PriceList) -> Estimate:
    """The gain in percent if every service with a price becomes as fast."""
    slopes = [slope for price in prices.prices if (slope := slope_per_ms(price)) is not None]
    saved = NOW_MS - FASTER_MS
    share = saved * sum(slope.value for slope in slopes)
    low = share - saved * math.hypot(*(slope.value - slope.low for slope in slopes))
    high = share + saved * math.hypot(*(slope.high - slope.value for slope in slopes))
    return Estimate(*(100 * gain_of(each) for each in (share, low, high)))


async def measured(server: PrivateServer, load: Load, cycles: int, seconds: float) -> Estimate:
    """The gain in percent of TPS, by pairs of windows, with Student's t."""
    slow, fast = DISK.format(NOW_MS), DISK.format(FASTER_MS)
    order = [text for number in range(cycles) for text in ((slow, fast), (fast, slow))[number % 2]]
    found = await windows(server, load, order, seconds)
    logs = []
    for number in range(cycles):
        pair = found[2 * number : 2 * number + 2]
        before, after = pair if number % 2 == 0 else pair[::-1]
        logs.append(math.log(after.tps / before.tps))
    wide = two_sided(LEVEL, cycles - 1) * stdev(logs) / math.sqrt(cycles)
    return Estimate(*(100 * math.expm1(mean(logs) + part) for part in (0.0, -wide, wide)))


def text(gain: Estimate) -> str:
    return f"{gain.value:+.0f} % ({gain.low:.0f}..{gain.high:.0f})"


async def bench(path: str, cycles: int, seconds: float) -> None:
    binary = await asyncio.to_thread(binaries.inspect_binary, path or next(binaries.binary_candidates()))
    right = 0
    print("| load | predicted | measured | |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="tb-") as home:
        os.environ["TUIBENCH_HOME"] = home
        for load, options in LOADS:
            present = parse_hardware(DISK.format(NOW_MS))
            async with await PrivateServer.start(binary, options=tuple(options), disk=present) as server:
                await prepare_tables(server.target, library.load_program(load.profile, dict(load.options)))
                told = predicted(await priced_list(server, load, cycles, seconds))
                seen = await measured(server, load, cycles, seconds)
            overlaps = told.low <= seen.high and seen.low <= told.high
            right += overlaps
            print(f"| {load} | {text(told)} | {text(seen)} | {'' if overlaps else 'missed'} |", flush=True)
    print(f"\n{binary}: {right} of {len(LOADS)} predictions are right", flush=True)
    raise SystemExit(0 if right >= len(LOADS) - 1 else 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.disk_predictions", description=__doc__)
    parser.add_argument("--server", default="", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--cycles", type=int, default=8, help="cycles of prices and of windows [8]")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a window [2]")
    options = parser.parse_args()
    asyncio.run(bench(options.server, options.cycles, options.seconds))


if __name__ == "__main__":
    main()
