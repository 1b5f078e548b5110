"""`python -m tests.bench.steering`: from a key to its effect, through the session's socket.

Threads go up by 64 and down again while a load runs on a private server. Measured are the time until the
command is answered, and until a sample tells that all connections are there (or gone), in milliseconds and in
ticks.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.ticks import known
from tuibench.load.tables import prepare_tables
from tuibench.model.message import RunState, ServiceSpec, SessionEnded, SessionSpec, SetThreads, Status, Stop
from tuibench.model.plan import OptionValue, RunPlan
from tuibench.model.tick import Sample
from tuibench.servers import binaries
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer
from tuibench.session.client import SessionClient
from tuibench.session.registry import launch
from tuibench.workload import library

PROFILE = "oltp_read_write"
SIZE: dict[str, OptionValue] = {"tables": 4, "table_size": 10_000}
FEW, MANY = 8, 72
PATIENCE_SECONDS = 60.0

HEAD = """\
| server | change | answered, ms (max) | at strength, ms (max) | in the first tick |
|---|---|---:|---:|---:|"""


class Change(NamedTuple):
    """One change: when it was answered and when it was at strength (ms), and after how many ticks."""

    answered_ms: float
    strong_ms: float
    ticks: int


def main() -> None:
    options = _options()
    found = [binaries.inspect_binary(path) for path in options.server]
    print(f"{options.changes} changes each way, {_machine()}\n\n{HEAD}", flush=True)
    chosen: list[Binary | None] = [*found] or [None]
    for binary in chosen:
        asyncio.run(_measure(binary, options.changes))
    print(f"\n{_machine()} at the end")


async def _measure(binary: Binary | None, changes: int) -> None:
    server = await PrivateServer.start(binary)
    try:
        await prepare_tables(server.target, library.load_program(PROFILE, SIZE))
        with tempfile.TemporaryDirectory(prefix="tb-") as home:
            client = await _session(server, Path(home))
            up, down = [], []
            for _ in range(changes):
                up.append(await _change(client, MANY))
                down.append(await _change(client, FEW))
            await _end(client)
        print(_line(str(server.binary), f"{FEW} → {MANY}", up))
        print(_line(str(server.binary), f"{MANY} → {FEW}", down), flush=True)
    finally:
        await server.stop()


async def _session(server: PrivateServer, home: Path) -> SessionClient:
    """A viewer of a session in a process of its own, once its load runs."""
    plan = RunPlan(profile=PROFILE, options=SIZE, threads=FEW, seconds=None, seed=1)
    spec = SessionSpec(session="bench", plan=plan, target=server.target, run_directory=str(home / "run"))
    await launch(ServiceSpec(session=spec, socket=str(home / "socket"), grace_seconds=0.0), home / "log")
    client = await SessionClient.join(home / "socket")
    state = client.hello.status.state
    async for news in client.messages():
        state = news.state if isinstance(news, Status) else state
        if state is RunState.RUNNING and isinstance(news, Sample):
            break
    return client


async def _change(client: SessionClient, threads: int) -> Change:
    """One change, and the samples until it is at strength; the next begins right after a tick."""
    begun = time.perf_counter()
    answer = await client.submit(SetThreads(threads))
    answered_ms = (time.perf_counter() - begun) * 1000
    if not answer.ok:
        raise SystemExit(answer.text)
    ticks = 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for news in client.messages():
            if isinstance(news, Sample):
                ticks += 1
                if news.load is not None and known("open_connections", news.load) == threads:
                    return Change(answered_ms, (time.perf_counter() - begun) * 1000, ticks)
    raise SystemExit("the session hung up")


async def _end(client: SessionClient) -> None:
    await client.submit(Stop())
    async for news in client.messages():
        if isinstance(news, SessionEnded):
            break
    await client.close()


def _line(server: str, change: str, measured: Sequence[Change]) -> str:
    answered, strong = [each.answered_ms for each in measured], [each.strong_ms for each in measured]
    at_once = sum(each.ticks == 1 for each in measured)
    return (
        f"| {server.partition(' (')[0]} | {change} | **{median(answered):.1f}** ({max(answered):.1f}) "
        f"| {median(strong):,.0f} ({max(strong):,.0f}) | {at_once} of {len(measured)} |"
    )


def _machine() -> str:
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.steering", description=__doc__)
    parser.add_argument(
        "--server", nargs="*", default=[], help="paths of mariadbd or mysqld [the first found]"
    )
    parser.add_argument("--changes", type=int, default=5, help="how often up and down")
    return parser.parse_args()


if __name__ == "__main__":
    main()
