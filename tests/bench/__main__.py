"""`make bench`: tuibench beside sysbench, in rounds, on a private server. Prints a table in Markdown.

The server is started several times, since its starts differ. The whole table of one server takes some fifteen
minutes; `--starts`, `--rounds` and `--seconds` make it longer and steadier.
"""

import argparse
import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from tests.bench.compiled import compile_modules
from tests.bench.rounds import Bench, Case, Round, Row, chance_of
from tests.integration.support import certificates
from tests.integration.support.certificates import Files
from tests.integration.support.sbtest import over_tcp
from tuibench.load.tables import prepare_tables
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

PROFILES = ("oltp_read_write", "oltp_point_select")
THREADS = (1, 8, 16, 64)
TABLES, TABLE_SIZE = 4, 100_000

ENGINES = ("native", "asyncio")

HEAD = """\
| profile | threads | rate | engine | TPS ratio (min–max) | sysbench | tuibench | p50 | p95 | p99 ratio \
| user CPU | CPU per query of the workers | of all processes | µs of CPU per query: sysbench, workers | mix |
|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"""


def main() -> None:
    options = _options()
    if shutil.which("sysbench") is None:
        raise SystemExit("the bench needs sysbench on the PATH")
    cases = [
        Case(profile, threads, options.rate) for profile in options.profile for threads in options.threads
    ]
    print(f"{options.starts} starts, {options.rounds} rounds of {options.seconds:g} s on each, {_machine()}")
    rounds: dict[Case, list[Round]] = {case: [] for case in cases}
    for start in range(options.starts):
        _measure(options, rounds, start)
    print(f"\n{HEAD}")
    for case in cases:
        for engine in options.engine:
            print(_line(case, engine, Row.of(case, engine, rounds[case])))
    if options.rate:
        chance = chance_of(options.rate, options.seconds * options.rounds * options.starts)
        print(f"\nby chance, the TPS ratio strays by {chance:.1%} from 1")
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end", flush=True)


def _measure(options: argparse.Namespace, rounds: dict[Case, list[Round]], start: int) -> None:
    """All cases on a new server: two starts of one server often differ by more than two rounds on one."""
    binary = binaries.inspect_binary(options.server) if options.server else None
    files = _certificates(Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))) if options.tls else None
    words = files.server_options if files else ()
    server = asyncio.run(PrivateServer.start(binary, options=words))
    try:
        compile_modules()
        program = library.load_program("oltp_read_write", {"tables": TABLES, "table_size": TABLE_SIZE})
        asyncio.run(prepare_tables(server.target, program))
        if not start:
            print(server.binary, flush=True)
        with tempfile.TemporaryDirectory() as home:
            if options.scripts:
                for profile in options.profile:
                    shutil.copy(options.scripts / f"{profile}.lua", home)
            bench = Bench(
                over_tcp(server.target, ssl_mode="required") if files else server.target,
                TABLES,
                TABLE_SIZE,
                options.seconds,
                Path(home),
                options.engine,
                Path(home) if options.scripts else None,
                files.ca.parent if files else None,
                options.further,
            )
            for case, known in rounds.items():
                known += [bench.round(case, start + number) for number in range(options.rounds)]
    finally:
        asyncio.run(server.stop())
        if files:
            shutil.rmtree(files.ca.parent)


def _certificates(folder: Path) -> Files:
    """Those of the server, also under the names that sysbench looks for in its folder."""
    made = certificates.make(folder, "localhost")
    for name, file in zip(("cacert.pem", "client-cert.pem", "client-key.pem"), made, strict=True):
        (folder / name).symlink_to(file.name)
    return made


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
        f"| {row.user_cpu_ratio:.2f} | {row.all_cpu_ratio:.2f} | {row.whole_cpu_ratio:.2f} "
        f"| {row.sysbench_cpu_us:.1f}, {row.tuibench_cpu_us:.1f} | {row.mix} |"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--starts", type=int, default=3, help="of the server, each with new tables [3]")
    parser.add_argument("--rounds", type=int, default=2, help="on each start [2]")
    parser.add_argument("--seconds", type=float, help="of each run [5, or 20 at a fixed rate]")
    parser.add_argument("--profile", nargs="+", default=PROFILES)
    parser.add_argument("--rate", type=float, default=0.0, help="transactions per second [closed loop]")
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS)
    parser.add_argument("--engine", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument(
        "--scripts",
        type=Path,
        help="tuibench runs the Lua scripts of an installed sysbench in this folder, not the profiles",
    )
    parser.add_argument(
        "--tls", action="store_true", help="both use TLS, over TCP [the unix socket, without]"
    )
    parser.add_argument(
        "--further",
        nargs="+",
        default=(),
        metavar="OPTION",
        help="of tuibench's runs, without dashes: no-waits",
    )
    options = parser.parse_args()
    if options.scripts:
        options.engine = ["native"]
    options.seconds = options.seconds or (20 if options.rate else 5)
    return options


if __name__ == "__main__":
    main()
