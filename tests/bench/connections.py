"""`python -m tests.bench.connections`: how long very many connections take to open, and what each one costs.

A run is started with one connection and one with very many, which do nothing much: the difference between
the memory of their processes (proportional set size: what is shared counts in parts) is the connections'.
"""

import argparse
import asyncio
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

import psutil

from tuibench.load.tables import prepare_tables
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

FIRST_LINE, KIB = re.compile(rb"^\[ \d+s \] thds:"), 1024
"""An interval line: the connections are open, and have been at work for a second."""


def bench(server: PrivateServer, threads: int, options: Sequence[str]) -> None:
    few_seconds, few_bytes = opened(server, 1, options)
    seconds, size = opened(server, threads, options)
    print(
        f"{server.binary}: {threads:,} connections opened in {seconds - few_seconds:.1f} s more than one"
        f" ({seconds:.1f} s from the command), {(size - few_bytes) / (threads - 1) / KIB:.0f} KiB each"
    )


def opened(server: PrivateServer, threads: int, options: Sequence[str]) -> tuple[float, int]:
    """Seconds until the load started, and the memory (bytes) of all the run's processes at work."""
    with running(server, threads, options) as (process, seconds):
        return seconds, memory(process)


@contextlib.contextmanager
def running(
    server: PrivateServer, threads: int, options: Sequence[str]
) -> Iterator[tuple["subprocess.Popen[bytes]", float]]:
    with tempfile.TemporaryDirectory() as home:
        begun = perf_counter()
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tuibench", "run", "oltp_point_select", "--table-size=10000"),
                *(f"--threads={threads}", "--time=0", "--report-interval=1", *options),
                *("--thread-init-timeout=120", f"--defaults-file={server.client_options}"),
            ],
            env=os.environ | {"TUIBENCH_HOME": home},
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            if not any(FIRST_LINE.search(line) for line in process.stdout):
                raise SystemExit("the run ended before its connections were open")
            seconds = perf_counter() - begun - 1
            for _, line in zip(range(5), process.stdout, strict=False):
                print(line.decode().rstrip(), file=sys.stderr)
            yield process, seconds
        finally:
            process.terminate()
            process.communicate()


def memory(process: "subprocess.Popen[bytes]") -> int:
    family = psutil.Process(process.pid)
    members = (family, *family.children(recursive=True))
    return sum(pss(Path(f"/proc/{member.pid}/smaps_rollup")) for member in members)


def pss(rollup: Path) -> int:
    found = re.search(r"^Pss:\s+(\d+) kB", rollup.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * KIB


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.connections", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--threads", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=200.0, help="transactions per second [200]")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--engine", default="auto")
    options = parser.parse_args()
    binary = binaries.inspect_binary(options.server) if options.server else None
    room = f"--max-connections={options.threads + 100}"
    server = asyncio.run(PrivateServer.start(binary, options=(room, "--open-files-limit=20000")))
    try:
        asyncio.run(
            prepare_tables(server.target, library.load_program("oltp_point_select", {"table_size": 10_000}))
        )
        given = (f"--rate={options.rate:g}", f"--workers={options.workers}", f"--engine={options.engine}")
        bench(server, options.threads, given)
    finally:
        asyncio.run(server.stop())


if __name__ == "__main__":
    main()
