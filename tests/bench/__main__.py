"""`make bench`: tuibench beside sysbench, in rounds, on a private server. Prints a table in Markdown.

The whole table of one server takes about eight minutes, at a fixed rate and with one number of threads about
four; `--rounds` and `--seconds` make it longer and steadier.
"""

import argparse
import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from tests.bench.rounds import Bench, Case, Row, chance_of
from tuibench.demo import binaries
from tuibench.demo.server import PrivateServer
from tuibench.load.tables.prepare import prepare_tables
from tuibench.workload import library

PROFILES = ("oltp_read_write", "oltp_point_select")
THREADS = (1, 8, 16, 64)
TABLES, TABLE_SIZE = 4, 100_000

ENGINES = ("native", "asyncio")

HEAD = """\
| profile | threads | rate | engine | TPS ratio (min–max) | sysbench | tuibench | p50 | p95 | p99 ratio \
| user CPU | all CPU per query, ratio | µs of CPU per query: sysbench, workers | mix |
|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"""


def main() -> None:
    options = _options()
    if shutil.which("sysbench") is None:
        raise SystemExit("the bench needs sysbench on the PATH")
    server = asyncio.run(
        PrivateServer.start(binaries.inspect_binary(options.server) if options.server else None)
    )
    try:
        _bench(options, server)
    finally:
        asyncio.run(server.stop())


def _bench(options: argparse.Namespace, server: PrivateServer) -> None:
    program = library.load_program("oltp_read_write", {"tables": TABLES, "table_size": TABLE_SIZE})
    asyncio.run(prepare_tables(server.target, program))
    print(
        f"{server.binary}, {options.rounds} rounds of {options.seconds:g} s, {_machine()}\n\n{HEAD}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as home:
        engines = options.engine
        bench = Bench(server.target, TABLES, TABLE_SIZE, options.seconds, Path(home), engines)
        for profile in options.profile:
            for threads in options.threads:
                case = Case(profile, threads, options.rate)
                rounds = [bench.round(case, number) for number in range(options.rounds)]
                for engine in engines:
                    print(_line(case, engine, Row.of(case, engine, rounds)), flush=True)
    if options.rate:
        chance = chance_of(options.rate, options.seconds * options.rounds)
        print(f"\nby chance, the TPS ratio strays by {chance:.1%} from 1")
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end", flush=True)


def _machine() -> str:
    """Where it runs, and whether anything else does."""
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} at the start"


def _line(case: Case, engine: str, row: Row) -> str:
    digits = 3 if case.rate else 2
    percentiles = " | ".join(f"{ratio:.2f}" for ratio in row.percentile_ratios.values())
    return (
        f"| {case.profile} | {case.threads} | {case.rate or '–':} | {engine} "
        f"| **{row.tps_ratio:.{digits}f}** ({row.tps_ratio_low:.2f}–{row.tps_ratio_high:.2f}) "
        f"| {row.sysbench_tps:,.0f} | {row.tuibench_tps:,.0f} | {percentiles} "
        f"| {row.user_cpu_ratio:.2f} | {row.all_cpu_ratio:.2f} "
        f"| {row.sysbench_cpu_us:.1f}, {row.tuibench_cpu_us:.1f} | {row.mix} |"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, help="of each run [5, or 20 at a fixed rate]")
    parser.add_argument("--profile", nargs="+", default=PROFILES)
    parser.add_argument("--rate", type=float, default=0.0, help="transactions per second [closed loop]")
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS)
    parser.add_argument("--engine", nargs="+", default=ENGINES, choices=ENGINES)
    options = parser.parse_args()
    options.seconds = options.seconds or (20 if options.rate else 5)
    return options


if __name__ == "__main__":
    main()
