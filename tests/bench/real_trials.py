"""Real A/B tests on a private server: `python -m tests.bench.real_trials`.

A/A: `long_query_time=1,10` changes nothing, so each verdict of higher or lower is false; with an error rate
of 5 % a trial, 100 trials give at most 9 in 97 of 100 cases. Durability: innodb_flush_log_at_trx_commit and
sync_binlog at 1/1 against 0/0 under oltp_write_only is a difference that every trial must find.

A busy machine is a fair test of validity, and a hard one of power.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tuibench.cli.tables import make_tables
from tuibench.load.tables import LoadOptions
from tuibench.servers.binaries import inspect_binary
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

TABLES = {"tables": 2, "table_size": 10_000}
SIZE = [f"--{name.replace('_', '-')}={value}" for name, value in TABLES.items()]
FIXED = ("--cycles=4", "--window=2", "--interval=0.25", "--warmup-time=2")
WATCHED = ("--until=±2%", "--max-time=30", "--window=2", "--interval=0.25", "--warmup-time=2")


class Kind(NamedTuple):
    """What is tried, and how."""

    title: str
    profile: str
    ab: str
    options: tuple[str, ...]


AA = (
    Kind("A/A, planned end", "oltp_read_write", "long_query_time=1,10", FIXED),
    Kind("A/A, watched", "oltp_read_write", "long_query_time=1,10", WATCHED),
)
DURABILITY = Kind(
    "durability, watched",
    "oltp_write_only",
    "preset=durable,unsafe",
    (*WATCHED[:1], "--max-time=120", *WATCHED[2:]),
)


def trial(server: PrivateServer, kind: Kind, seed: int, threads: int) -> dict[str, Any]:
    """One test; the result of its JSON."""
    with tempfile.TemporaryDirectory() as home:
        result = Path(home) / "result.json"
        command = [
            *(sys.executable, "-m", "tuibench", "run", kind.profile, *SIZE, f"--threads={threads}"),
            *(f"--ab={kind.ab}", *kind.options, f"--rand-seed={seed}", f"--json={result}", "--workers=1"),
            f"--defaults-file={server.client_options}",
            f"--run-dir={home}",
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise SystemExit(f"{' '.join(command)}\n{ended.stderr}")
        found: dict[str, Any] = json.loads(result.read_text())["ab"]
        return found


def differs(found: dict[str, Any]) -> list[str]:
    return [one["figure"] for one in found["comparisons"] if one["verdict"] in ("higher", "lower")]


def series(
    server: PrivateServer, kind: Kind, count: int, threads: int, first_seed: int
) -> tuple[int, int, int]:
    """How many tests found a difference, found one of TPS, and had an interval at all."""
    different = decided = with_interval = 0
    for seed in range(first_seed, first_seed + count):
        found = trial(server, kind, seed, threads)
        figures = differs(found)
        different += bool(figures)
        decided += "tps" in figures
        with_interval += bool(found["comparisons"])
        left_out = f", {found['left_out']} cycles left out" if found["left_out"] else ""
        print(f"  {kind.title} {seed}: {found['sentence']}{left_out}", flush=True)
    return different, decided, with_interval


async def start(path: str, tables: Mapping[str, int], options: Sequence[str] = ()) -> PrivateServer:
    """A server with sbtest tables; `path` is its program, the first one found if empty."""
    binary = await asyncio.to_thread(inspect_binary, path) if path else None
    server = await PrivateServer.start(binary, options=options)
    try:
        program = library.load_program("oltp_read_write", dict(tables))
        await make_tables(server.target, program, LoadOptions(parallel=2))
    except BaseException:
        await server.stop()
        raise
    return server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.real_trials", description=__doc__)
    parser.add_argument("--server", default="", help="server program [the first one found]")
    parser.add_argument("--aa", type=int, default=100, help="A/A trials, half of them watched [100]")
    parser.add_argument("--durability", type=int, default=10, help="durability trials [10]")
    parser.add_argument("--threads", type=int, default=2, help="connections [2]")
    parser.add_argument("--first-seed", type=int, default=1, help="seed of the first trial [1]")
    options = parser.parse_args()
    server = asyncio.run(start(options.server, TABLES))
    try:
        print(f"{server.binary}, {options.threads} threads", flush=True)
        ran = [series(server, kind, options.aa // 2, options.threads, options.first_seed) for kind in AA]
        false, intervals = sum(one[0] for one in ran), sum(one[2] for one in ran)
        _, decided, _ = series(server, DURABILITY, options.durability, options.threads, options.first_seed)
    finally:
        asyncio.run(server.stop())
    print(f"A/A: {false} verdicts in {2 * (options.aa // 2)} tests, {intervals} of them with an interval")
    print(f"durability: decided in {decided} of {options.durability}")
    raise SystemExit(0 if decided == options.durability else 1)


if __name__ == "__main__":
    main()
