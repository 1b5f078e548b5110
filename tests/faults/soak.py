"""A long run with changes and viewers, and what grows in it: memory, descriptors, lag, in every process.

    python -m tests.faults.soak [MINUTES] [--server PATH]          (make soak ARGS=…)

Ten samples a second, 16 connections, two viewers that read all, one that comes and goes; every few seconds a
change of threads or settings. Growth is what the last quarter of the run has more than the third one: by the
floor of memory, the median of lag, and the most descriptors, which come and go with the threads. What a
viewer that joins is sent, some ten MiB, comes and goes, so the floor of memory shows what stays.

A session keeps its newest 3,600 samples for viewers that join, so its memory grows for the first six minutes.
Of a run in which these reach into the second half, memory is reported and not judged.
"""

import argparse
import asyncio
import itertools
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import psutil

from tests.faults.load import THREADS, fault_spec
from tests.integration.support import sbtest
from tests.integration.support.commands import ours
from tests.integration.support.session_process import Watcher, join, watched
from tests.ticks import known
from tuibench.base import paths
from tuibench.load.tables import prepare_tables
from tuibench.model.message import MOST_SAMPLES, ApplyPreset, Command, SetThreads, Stop
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer

MINUTES = 20.0
EVERY_SECONDS = 1.0
CHANGE_EVERY = 3
INTERVAL_SECONDS = 0.1
HISTORY_SECONDS = MOST_SAMPLES * INTERVAL_SECONDS
FLOOR = 0.1
"""The share of readings that lie below the floor."""
MIB = 1024 * 1024
T = TypeVar("T")
MEMORY_GROWTH, DESCRIPTOR_GROWTH = 0.03, 2
"""What is reported as growth: 3 % more memory in a quarter, or more than two more descriptors."""

CHANGES: tuple[Command, ...] = (
    ApplyPreset("unsafe"),
    SetThreads(THREADS * 2),
    ApplyPreset("durable"),
    SetThreads(THREADS),
)


class Reading(NamedTuple):
    memory_mib: float
    descriptors: int


def read(home: Path) -> dict[str, Reading]:
    """Each of our processes by its module and pid; the one that ends meanwhile is left out."""
    found = {}
    for pid, module in ours(home).items():
        try:
            process = psutil.Process(pid)
            memory = process.memory_info().rss / MIB
            found[f"{module.rsplit('.', 1)[-1]} {pid}"] = Reading(memory, process.num_fds())
        except psutil.Error:
            continue
    return found


async def soak(server: PrivateServer, seconds: float) -> bool:
    """Runs and prints the table; True if nothing grew."""
    await prepare_tables(server.target, sbtest.program(table_size=500))
    spec = fault_spec(server.target)
    plan = msgspec.structs.replace(spec.plan, interval_seconds=INTERVAL_SECONDS)
    spec = msgspec.structs.replace(spec, plan=plan)
    readings: dict[str, list[Reading]] = {}
    async with watched(spec) as watcher:
        socket = paths.runtime_dir() / f"{spec.session}.sock"
        second = await join(socket, watcher.directory)
        changes = itertools.cycle(CHANGES)
        end = time.monotonic() + seconds
        for turn in itertools.count():
            if time.monotonic() >= end:
                break
            for name, reading in read(paths.runtime_dir().parent).items():
                readings.setdefault(name, []).append(reading)
            if turn % CHANGE_EVERY == 0:
                await watcher.submit(next(changes))
                await come_and_go(socket, watcher)
            await asyncio.sleep(EVERY_SECONDS)
        late = [each.late_ms for each in watcher.samples]
        lag = [known("scheduling_delay", each) for each in watcher.loads]
        await second.close()
        await watcher.submit(Stop())
        await watcher.end()
    return report(readings, late, lag, judges_memory=seconds / 2 >= HISTORY_SECONDS)


async def come_and_go(socket: Path, watcher: Watcher) -> None:
    third = await join(socket, watcher.directory)
    await third.ticks(2)
    await third.close()


def report(
    readings: dict[str, list[Reading]], late_ms: list[float], lag_ms: list[float], *, judges_memory: bool
) -> bool:
    print(f"{'':28}{'3rd quarter':>12}{'last quarter':>14}")
    grew = [
        name
        for name, values in readings.items()
        if len(values) >= 8 and row_grows(name, values, judges_memory=judges_memory)
    ]
    for name, figures in (("session: tick late by, ms", late_ms), ("worker: lag p99, ms", lag_ms)):
        before, after = map(statistics.median, quarters(figures))
        print(f"{name:28}{before:12.2f}{after:14.2f}")
    if not judges_memory:
        print(f"too short to judge memory: the history fills for {HISTORY_SECONDS:g} s")
    print("grew: " + ", ".join(grew) if grew else "nothing grew")
    return not grew


def row_grows(name: str, values: list[Reading], *, judges_memory: bool) -> bool:
    before, after = quarters(values)
    memory = [floor([each.memory_mib for each in part]) for part in (before, after)]
    files = [max(each.descriptors for each in part) for part in (before, after)]
    print(f"{name + ': MiB':28}{memory[0]:12.1f}{memory[1]:14.1f}")
    print(f"{name + ': descriptors':28}{files[0]:12.0f}{files[1]:14.0f}")
    has_more = judges_memory and memory[1] > memory[0] * (1 + MEMORY_GROWTH)
    return has_more or files[1] > files[0] + DESCRIPTOR_GROWTH


def floor(values: list[float]) -> float:
    return sorted(values)[int(len(values) * FLOOR)]


def quarters(values: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    quarter = len(values) // 4
    return values[2 * quarter : 3 * quarter], values[3 * quarter :]


async def main(arguments: argparse.Namespace) -> bool:
    binary = binaries.inspect_binary(arguments.server) if arguments.server else None
    async with await PrivateServer.start(binary) as server:
        return await soak(server, arguments.minutes * 60)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("minutes", nargs="?", type=float, default=MINUTES)
    parser.add_argument("--server", help="the server program")
    home = tempfile.mkdtemp(prefix="tb-", dir="/tmp")
    os.environ["TUIBENCH_HOME"] = home
    try:
        is_steady = asyncio.run(main(parser.parse_args()))
    finally:
        shutil.rmtree(home)
    raise SystemExit(not is_steady)
