"""Loading sysbench's tables: tuibench beside sysbench, in pairs, on a private server. Prints Markdown.

    python -m tests.bench.prepare --server /usr/sbin/mariadbd --pairs 5

Each load is a process of its own, from start to end, with as many threads as the other. The server's own
processor time is told, too: on a shared machine it says more than the clock.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

from tuibench.load.tables import drop_tables
from tuibench.model.server import Target
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

HEAD = """\
| way | rows/s ratio (min–max) | sysbench rows/s | tuibench rows/s \
| µs of CPU a row, sysbench: server + client | tuibench: server + client |
|---|---:|---:|---:|---:|---:|"""


class Outcome(NamedTuple):
    """One load: rows per second of the clock, and µs of processor time a row."""

    rows_per_second: float
    server_us: float
    client_us: float


class Loader:
    """Loads the same tables with either program, and drops them again."""

    def __init__(self, server: PrivateServer, options: argparse.Namespace, home: Path) -> None:
        self._target = server.target
        self._server = psutil.Process(server.pid)
        self._rows = options.tables * options.table_size
        self._data = [f"--tables={options.tables}", f"--table-size={options.table_size}"]
        self._threads = f"--threads={options.threads}"
        self._program = library.load_program(
            "oltp_read_write", {"tables": options.tables, "table_size": options.table_size}
        )
        self._environment = {**os.environ, "MYSQL_PWD": server.target.password, "TUIBENCH_HOME": str(home)}

    def sysbench(self) -> Outcome:
        return self._timed(["sysbench", "oltp_read_write", *_sysbench_login(self._target), "prepare"])

    def tuibench(self, way: str) -> Outcome:
        login = [f"--socket={self._target.socket}", f"--user={self._target.user}"]
        command = [sys.executable, "-m", "tuibench", "prepare", "oltp_read_write", *login]
        return self._timed([*command, f"--load-with={way}"])

    def _timed(self, command: list[str]) -> Outcome:
        server, client, clock = _cpu(self._server), os.times(), time.perf_counter()
        done = subprocess.run(
            [*command, *self._data, self._threads],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - clock
        if done.returncode:
            raise SystemExit(f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        after = os.times()
        used = after.children_user + after.children_system - client.children_user - client.children_system
        outcome = Outcome(
            self._rows / seconds,
            (_cpu(self._server) - server) * 1e6 / self._rows,
            used * 1e6 / self._rows,
        )
        asyncio.run(drop_tables(self._target, self._program))
        return outcome


def _sysbench_login(target: Target) -> list[str]:
    return [
        f"--mysql-socket={target.socket}",
        f"--mysql-user={target.user}",
        f"--mysql-password={target.password}",
        f"--mysql-db={target.database}",
    ]


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _pairs(loader: Loader, way: str, count: int) -> list[tuple[Outcome, Outcome]]:
    """Who begins alternates, so that neither always finds the warmer server."""
    pairs = []
    for number in range(count):
        if number % 2:
            ours = loader.tuibench(way)
            pairs.append((loader.sysbench(), ours))
        else:
            theirs = loader.sysbench()
            pairs.append((theirs, loader.tuibench(way)))
    return pairs


def _line(way: str, pairs: list[tuple[Outcome, Outcome]]) -> str:
    ratios = [ours.rows_per_second / theirs.rows_per_second for theirs, ours in pairs]
    middle = [Outcome(*(median(column) for column in zip(*side, strict=True))) for side in zip(*pairs)]  # noqa: B905
    theirs, ours = middle
    return (
        f"| {way} | **{median(ratios):.2f}** ({min(ratios):.2f}–{max(ratios):.2f}) "
        f"| {theirs.rows_per_second:,.0f} | {ours.rows_per_second:,.0f} "
        f"| {theirs.server_us:.1f} + {theirs.client_us:.1f} | {ours.server_us:.1f} + {ours.client_us:.1f} |"
    )


def main() -> None:
    options = _options()
    binary = binaries.inspect_binary(options.server) if options.server else None
    server = asyncio.run(PrivateServer.start(binary, options=["--local-infile=1"]))
    try:
        print(
            f"{server.binary}, {options.tables} × {options.table_size:,} rows, {options.threads} threads, "
            f"{options.pairs} pairs; load average {os.getloadavg()[0]:.1f} before\n\n{HEAD}",
            flush=True,
        )
        with tempfile.TemporaryDirectory() as home:
            loader = Loader(server, options, Path(home))
            for way in options.load_with:
                print(_line(way, _pairs(loader, way, options.pairs)), flush=True)
        print(f"\nload average {os.getloadavg()[0]:.1f} after", flush=True)
    finally:
        asyncio.run(server.stop())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.prepare", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--table-size", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--load-with", nargs="+", default=["auto"], help="auto, bulk, infile, insert [auto]")
    return parser.parse_args()


if __name__ == "__main__":
    main()
