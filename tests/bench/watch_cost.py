"""`python -m tests.bench.watch_cost`: CPU time of a watch with its black box and lock graph, and without.

Connections sleep in turns in the server, so that the list of connections is as long as under a load. Two
watches run at the same time, one with `--no-black-box`; both are read at the same moments, so that a busy
host slows both. The difference of their CPU time per second is the price of the black box, at most 1 % of a
processor with 64 connections; with 1,000 it must not be more, because it reads less often by itself.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time

import psutil

from tuibench.base.errors import TuibenchError
from tuibench.mysql.connection import Connection, connect
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer

MOST_SHARE = 0.01
NO_BOX = "--no-black-box"
START_SECONDS = 8.0


async def busy(connection: Connection) -> None:
    """Half of the time in the server, half of it idle."""
    while True:
        try:
            await connection.query("SELECT SLEEP(1)")
        except TuibenchError:
            return
        await asyncio.sleep(1)


def cpu_seconds(pids: list[int]) -> float:
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(each.user + each.system for each in times)


async def watch(server: PrivateServer, home: str, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tuibench", "watch", "--format=json", f"--defaults-file={server.client_options}", *words),
        env=os.environ | {"TUIBENCH_HOME": home},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def difference(server: PrivateServer, connections: int, seconds: float) -> float:
    """The share of a processor that the black box takes, while so many connections are open."""
    opened = [await connect(server.target) for _ in range(connections)]
    working = [asyncio.create_task(busy(each)) for each in opened]
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="tb-") as home:
        both = [await watch(server, f"{home}/with"), await watch(server, f"{home}/without", NO_BOX)]
        try:
            await asyncio.sleep(START_SECONDS)
            pids = [[each.pid, *(one.pid for one in psutil.Process(each.pid).children())] for each in both]
            before, begun = [cpu_seconds(each) for each in pids], time.monotonic()
            await asyncio.sleep(seconds)
            after, took = [cpu_seconds(each) for each in pids], time.monotonic() - begun
        finally:
            for each in both:
                each.terminate()
                await each.wait()
    for task in working:
        task.cancel()
    await asyncio.wait(working)
    for connection in opened:
        connection.abort()
    with_box, without = ((late - early) / took for early, late in zip(before, after, strict=True))
    print(
        f"  {connections} connections: {100 * with_box:.2f} % of a processor with the black box, "
        f"{100 * without:.2f} % without: {100 * (with_box - without):+.2f} %",
        flush=True,
    )
    return with_box - without


async def bench(path: str, seconds: float) -> None:
    binary = await asyncio.to_thread(binaries.inspect_binary, path or next(binaries.binary_candidates()))
    async with await PrivateServer.start(binary, options=("--max-connections=1200",)) as server:
        print(server.binary, flush=True)
        shares = [await difference(server, connections, seconds) for connections in (64, 1000)]
    raise SystemExit(0 if max(shares) <= MOST_SHARE else 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.watch_cost", description=__doc__)
    parser.add_argument("--server", default="", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each is looked at [60]")
    options = parser.parse_args()
    asyncio.run(bench(options.server, options.seconds))


if __name__ == "__main__":
    main()
