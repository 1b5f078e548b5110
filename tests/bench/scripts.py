"""`python -m tests.bench.scripts FOLDER`: public Lua scripts beside sysbench, on a private server.

FOLDER has clones of the repositories of `CORPUS`, by their names. SCRIPT@FUNCTION is a script whose events
are that function alone. Each script prepares tables and runs so many events, by sysbench and by the native
engine; what the server counts (Com_*) and the errors are compared. Prints a table in Markdown.
"""

import argparse
import asyncio
import re
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from tests.integration.load.conformance.driving import driving
from tests.integration.support import sbtest
from tuibench.base.errors import TuibenchError
from tuibench.load.native_engine import NativeEngine
from tuibench.load.script_commands import run_command
from tuibench.model.plan import OnError
from tuibench.model.server import Target
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

IGNORED = "--mysql-ignore-errors=1213,1020,1205,1062"
SAME = 0.05
"""A share of each figure: what scripts draw at random differs in the two runs."""

CALLAGHAN = "mdcallag/mytools/bench/sysbench.lua/lua"
SMALL = "--tables=2 --table-size=3000 --rand-type=uniform"
ONE = "--tables=1 --table-size=3000 --rand-type=uniform"
DOLT, NANNE, GALERA, WINDMILLS = (
    "dolthub/sysbench-lua-scripts",
    "nanne007/sysbench-scripts/sysbench/src/lua",
    "codership/sysbench/src/lua",
    "Tusamarco/sysbench/src/lua",
)

TPCC = "Percona-Lab/sysbench-tpcc/tpcc.lua"

CORPUS = (
    f"{TPCC} --tables=2 --scale=2 --use_fk=0",
    *(
        f"{TPCC}@{transaction} --tables=1 --scale=1 --use_fk=0"
        for transaction in ("new_order", "payment", "orderstatus", "delivery", "stocklevel")
    ),
    *(
        f"{CALLAGHAN}/{line}"
        for line in (
            f"oltp_point_select.lua {SMALL}",
            f"oltp_read_only.lua {SMALL} --range-size=50",
            f"oltp_read_only_count.lua {SMALL}",
            f"oltp_read_write.lua {SMALL}",
            f"oltp_write_only.lua {SMALL}",
            f"oltp_update_index.lua {SMALL}",
            f"oltp_update_non_index.lua {SMALL}",
            f"oltp_delete.lua {SMALL}",
            f"oltp_insert.lua {SMALL}",
            f"oltp_inlist_select.lua {SMALL} --random-points=20",
            f"oltp_inlist_update.lua {SMALL}",
            f"oltp_points_covered.lua {SMALL}",
            f"oltp_range_covered.lua {SMALL}",
            f"oltp_scan.lua {SMALL}",
            f"select_random_points.lua {ONE}",
            f"select_random_ranges.lua {ONE}",
        )
    ),
    *(
        f"{DOLT}/{line}"
        for line in (
            "oltp_delete_insert.lua",
            "full_table.lua --table-size=500",
            "table_scan.lua --table-size=500",
            "index_join.lua --table-size=500",
            "groupby_scan.lua --table-size=500",
            "types_delete_insert.lua --table-size=500",
        )
    ),
    f"{NANNE}/oltp_simple_ranges.lua {SMALL}",
    f"{NANNE}/oltp_sum_ranges.lua {SMALL}",
    f"{NANNE}/oltp_distinct_ranges.lua {SMALL}",
    f"{NANNE}/oltp_order_ranges.lua {SMALL}",
    f"{GALERA}/oltp_read_write_xa.lua {SMALL}",
    f"{GALERA}/sqlgen.lua --reconnect-frac=0",
    f"{GALERA}/sqlgen.lua --reconnect-frac=0.1",
    f"{GALERA}/update_blob.lua --update-blob-pad-size=100",
    "percona/sysbench-scripts/timeseries/insert.lua --sensors-per-thread=20",
    "percona/sysbench-scripts/timeseries/select.lua --sensors-per-thread=20",
    "percona/sysbench-scripts/timeseries/insertv1.lua --sensors-per-thread=20",
    f"{WINDMILLS}/oltp_update_rate.lua {SMALL}",
    *(
        f"{GALERA}/../../tests/include/oltp_legacy/{name}.lua --oltp-table-size=3000 --oltp-tables-count=2"
        for name in ("oltp", "oltp_simple", "delete", "insert", "select", "update_index", "update_non_index")
    ),
)
UNCOUNTED = ("show_status", "show_processlist", "show_variables")


class Counted(NamedTuple):
    """What one program did: the server's counts, and errors that it counted itself, or why it ended."""

    counts: dict[str, int]
    errors: int
    failure: str


class Case(NamedTuple):
    path: Path
    options: tuple[str, ...]
    events: int
    threads: int

    async def by_sysbench(self, target: Target, command: str) -> tuple[int, str]:
        limits = (f"--events={self.events}", "--time=0") if command == "run" else ()
        process = await asyncio.create_subprocess_exec(
            *("sysbench", self.path.name, *self.options, *limits, f"--threads={self.threads}", IGNORED),
            *(f"--mysql-socket={target.socket}", f"--mysql-user={target.user}"),
            *(f"--mysql-password={target.password}", f"--mysql-db={target.database}", command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.path.parent,
        )
        printed, _ = await process.communicate()
        text = printed.decode(errors="replace")
        errors = re.search(r"ignored errors: +(\d+)", text)
        fatal = re.search(r"FATAL: (.*)", text)
        # After an error in a parallel command sysbench's exit code is 0.
        failure = fatal[1] if fatal else f"exit code {process.returncode}" * (process.returncode != 0)
        return int(errors[1]) if errors else 0, failure

    async def by_tuibench(self, target: Target, command: str) -> tuple[int, str]:
        given = dict(option.removeprefix("--").split("=", 1) for option in self.options)
        program = library.load_program(str(self.path), {**given, "threads": self.threads})
        if command != "run":
            await run_command(target, program, command, write=lambda _: None)
            return 0, ""
        async with driving(
            NativeEngine,
            target,
            program,
            self.threads,
            limit=self.events,
            on_error=OnError.STOP,
            ignored_errors=tuple(map(int, IGNORED.partition("=")[2].split(","))),
        ) as drive:
            drive.engine.pause()
            while drive.last.connections < self.threads and not drive.last.failure:
                drive.report()
                await asyncio.sleep(0.01)
            drive.engine.resume()
            while not drive.last.failure and drive.last.counters.completed < self.events:
                drive.report()
                await asyncio.sleep(0.01)
            failure = drive.last.failure.message
            counters = await drive.ends()
        return sum(counters.errors.values()), failure


async def counted(
    target: Target, act: Callable[[Target, str], Awaitable[tuple[int, str]]], command: str
) -> Counted:
    async with sbtest.connected(target, use_database=False) as connection:

        async def read() -> dict[str, int]:
            rows = await connection.query("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
            return {name.lower().removeprefix("com_"): int(value) for name, value in rows}

        before = await read()
        try:
            errors, failure = await act(target, command)
        except TuibenchError as error:
            errors, failure = 0, str(error)
        while any(row[3] == target.database for row in await connection.query("SHOW PROCESSLIST")):
            pass
        after = await read()
    added = {name: after[name] - before.get(name, 0) for name in after}
    counts = {name: value for name, value in added.items() if value and name not in UNCOUNTED}
    return Counted(counts, errors, failure)


def compared(theirs: Counted, ours: Counted, events: int) -> str:
    if theirs.failure or ours.failure:
        return f"sysbench: {theirs.failure or 'done'}; tuibench: {ours.failure or 'done'}"
    names = sorted(theirs.counts.keys() | ours.counts.keys())
    pairs = {name: (theirs.counts.get(name, 0), ours.counts.get(name, 0)) for name in names}
    if all(left == right for left, right in pairs.values()):
        return "equal"
    far = {name: pair for name, pair in pairs.items() if abs(pair[0] - pair[1]) > max(2, SAME * max(pair))}
    told = far or {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    text = ", ".join(
        f"{name} {left / events:.3g} and {right / events:.3g}" for name, (left, right) in told.items()
    )
    return f"{'DIFFERENT' if far else 'same'}: {text}"


async def measured(target: Target, case: Case) -> list[str]:
    told = []
    async with (
        sbtest.empty_database(target, "theirs") as theirs,
        sbtest.empty_database(target, "ours") as ours,
    ):
        for command in ("prepare", "run", "cleanup"):
            left = await counted(theirs, case.by_sysbench, command)
            right = await counted(ours, case.by_tuibench, command)
            told.append(compared(left, right, case.events if command == "run" else 1))
            if command == "run":
                told.append(f"{left.errors}, {right.errors}")
    return told


async def main() -> None:
    options = _options()
    server = await PrivateServer.start(binaries.inspect_binary(options.server) if options.server else None)
    try:
        print(f"{server.binary}, {options.events} events, {options.threads} threads\n")
        print(
            "| script | prepare | run | errors: sysbench, tuibench | cleanup |\n|---|---|---|---|---|",
            flush=True,
        )
        for line in CORPUS:
            name, *words = line.split()
            file, _, function = name.partition("@")
            path = options.folder / file
            if options.only not in name:
                continue
            if function and path.is_file():
                text = f"require('{path.stem}')\nfunction event() {function}() end\n"
                path = path.with_name(f"{path.stem}_{function}_only.lua")
                path.write_text(text)
            if not path.is_file():
                print(f"| {name} | not here |", flush=True)
                continue
            case = Case(path.resolve(), tuple(words), options.events, options.threads)
            print(f"| {name} | {' | '.join(await measured(server.target, case))} |", flush=True)
    finally:
        await server.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scripts", description=__doc__)
    parser.add_argument("folder", type=Path, help="with clones as OWNER/NAME")
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="scripts whose path contains this")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main())
