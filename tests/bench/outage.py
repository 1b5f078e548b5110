"""`python -m tests.bench.outage`: how soon the load goes on once a restarted server accepts connections.

A second client asks the server itself: the clock starts at the first login that it lets in, and stops when it
has counted a COMMIT. The server is shut down in order, and killed, by turns.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter

from tuibench.base.errors import TuibenchError
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection, connect
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

OPTIONS = ("--table-size=10000", "--time=0")
ASK_EVERY_SECONDS = 0.01
COMMITS = "SHOW GLOBAL STATUS LIKE 'Com_commit'"


async def bench(server: PrivateServer, threads: int, restarts: int) -> None:
    await prepare_tables(server.target, library.load_program("oltp_read_write", {"table_size": 10_000}))
    connection = await connect(server.target)
    known = await commits(connection)
    await connection.close()
    with tempfile.TemporaryDirectory() as home:
        command = ("-m", "tuibench", "run", "oltp_read_write", *OPTIONS, f"--threads={threads}")
        login = f"--defaults-file={server.client_options}"
        environment = os.environ | {"TUIBENCH_HOME": home}
        load = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            login,
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await resumption(server.target, known)
            ways = (server.restart, lambda: killed(server))
            seconds = [await measured(server, ways[number % 2]) for number in range(restarts)]
        finally:
            load.terminate()
            await load.wait()
    print(
        f"{server.binary}, {threads} threads, {restarts} restarts: first COMMIT {median(seconds):.2f} s"
        f" ({min(seconds):.2f}–{max(seconds):.2f}) after the first login"
    )


async def killed(server: PrivateServer) -> None:
    await server.kill()
    await server.start_again()


async def measured(server: PrivateServer, restart: Callable[[], Awaitable[None]]) -> float:
    """One restart under load; seconds from the first login to the first COMMIT."""
    restarting = asyncio.ensure_future(restart())
    await gone(server.target)
    seconds = await resumption(server.target)
    await restarting
    return seconds


async def gone(target: Target) -> None:
    """Returns once the server answers no more."""
    with contextlib.suppress(TuibenchError):
        while True:
            await (await connect(target)).close()
            await asyncio.sleep(ASK_EVERY_SECONDS)


async def resumption(target: Target, known: int = 0) -> float:
    """Waits for a login, then for a COMMIT beyond the `known` ones; the seconds between them."""
    connection = await login(target)
    accepted = perf_counter()
    while await commits(connection) <= known:  # noqa: ASYNC110
        await asyncio.sleep(ASK_EVERY_SECONDS)
    seconds = perf_counter() - accepted
    await connection.close()
    return seconds


async def commits(connection: Connection) -> int:
    ((_, counted),) = await connection.query(COMMITS)
    return int(counted)


async def login(target: Target) -> Connection:
    while True:
        try:
            return await connect(target)
        except TuibenchError:
            await asyncio.sleep(ASK_EVERY_SECONDS)


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.outage", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--restarts", type=int, default=6)
    options = parser.parse_args()
    binary = binaries.inspect_binary(options.server) if options.server else None
    async with await PrivateServer.start(binary) as server:
        await bench(server, options.threads, options.restarts)


if __name__ == "__main__":
    asyncio.run(main())
