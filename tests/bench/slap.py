"""`python -m tests.bench.slap`: tuibench slap beside mysqlslap, in pairs, on a private server.

Prints a table in Markdown: the ratio of the average seconds in the pairs (its median), and both averages.
"""

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
from statistics import median

from tuibench.model.server import Target
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer

AVERAGE = re.compile(r"Average number of seconds to run all queries: ([\d.]+) seconds")
LOADS = ("mixed", "read", "write", "key", "update")
CLIENTS = (16, 32)
HEAD = """\
| load | clients | ratio of the averages (min–max) | mysqlslap | tuibench slap |
|---|---:|---:|---:|---:|"""


def main() -> None:
    options = _options()
    if shutil.which(options.mysqlslap) is None:
        raise SystemExit("the bench needs mysqlslap: name it with --mysqlslap")
    server = asyncio.run(
        PrivateServer.start(binaries.inspect_binary(options.server) if options.server else None)
    )
    try:
        print(f"{server.binary}, {options.pairs} pairs, {_machine()}\n\n{HEAD}", flush=True)
        for load in options.load:
            pairs = [_pair(options, server.target, load, number) for number in range(options.pairs)]
            for place, clients in enumerate(CLIENTS):
                print(
                    _line(load, clients, [(theirs[place], ours[place]) for theirs, ours in pairs]), flush=True
                )
    finally:
        asyncio.run(server.stop())
    print(f"\n{_machine()} at the end")


def _pair(
    options: argparse.Namespace, target: Target, load: str, number: int
) -> tuple[list[float], list[float]]:
    """Both programs once; who begins alternates."""
    words = [
        *("--auto-generate-sql", f"--concurrency={','.join(map(str, CLIENTS))}", "--iterations=3"),
        *("--number-int-cols=1", "--number-char-cols=2", f"--number-of-queries={options.queries}"),
        *(
            "--engine=innodb",
            f"--auto-generate-sql-load-type={load}",
            "--auto-generate-sql-add-autoincrement",
        ),
        *(f"--socket={target.socket}", f"--user={target.user}"),
    ]
    theirs = [options.mysqlslap, "--no-defaults", *words]
    ours = [sys.executable, "-m", "tuibench", "slap", *words]
    order = (theirs, ours) if number % 2 == 0 else (ours, theirs)
    told = {command[0]: _averages(command, target) for command in order}
    return told[theirs[0]], told[ours[0]]


def _averages(command: list[str], target: Target) -> list[float]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "MYSQL_PWD": target.password}
    )
    found = [float(seconds) for seconds in AVERAGE.findall(done.stdout)]
    if done.returncode or len(found) != len(CLIENTS):
        raise SystemExit(f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return found


def _line(load: str, clients: int, pairs: list[tuple[float, float]]) -> str:
    ratios = [ours / theirs for theirs, ours in pairs]
    theirs, ours = (median(each) for each in zip(*pairs, strict=True))
    return (
        f"| {load} | {clients} | **{median(ratios):.2f}** ({min(ratios):.2f}–{max(ratios):.2f}) "
        f"| {theirs:.3f} s | {ours:.3f} s |"
    )


def _machine() -> str:
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.slap", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--mysqlslap", default="mysqlslap", help="path of mysqlslap [on the PATH]")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--queries", type=int, default=10_000, help="of all clients together")
    parser.add_argument("--load", nargs="+", choices=LOADS, default=list(LOADS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
