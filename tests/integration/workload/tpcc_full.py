"""TPC-C at its full size: loaded, run with deadlocks, checked twice, and each condition broken on purpose.

    python -m tests.integration.workload.tpcc_full [--server PATH] [--warehouses 10] [--time 60]

The conditions are asked by `tuibench check`, and once more as `tpcc` has them, which shares no code with it.
Ten warehouses take 2.5 GB on disk, and some ten minutes in all.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from itertools import cycle
from typing import NamedTuple

import msgspec

from tests.integration.support import sbtest
from tests.integration.support.commands import ask, finished, started
from tests.integration.workload import tpcc
from tuibench.load.conditions import ConditionOutcome, check_condition, check_consistency, conditions_of
from tuibench.load.tables import LoadOptions, prepare_tables
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.mysql.info import connect_with_defaults
from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

SERVER = (
    "--innodb-buffer-pool-size=2G",
    "--innodb-flush-log-at-trx-commit=0",
    "--sync-binlog=0",
    "--local-infile=1",
)
DELIVERED = 2100
HEAVY_ROWS = 300
HELD_SECONDS = 0.05
BEGIN_SECONDS, END_SECONDS = 60, 120


class Scale(NamedTuple):
    """How much of it."""

    warehouses: int
    seconds: int
    threads: int


def say(message: str) -> None:
    print(message, flush=True)  # noqa: T201


async def prove(target: Target, scale: Scale) -> list[str]:
    """What was found wrong, a line each."""
    begun = time.monotonic()
    program = library.load_program("tpcc", {"warehouses": scale.warehouses})
    made = await prepare_tables(target, program, method=LoadOptions(parallel=4))
    say(f"loaded {made.rows:,} rows in {made.seconds:.0f} s")
    wrong = await checked(target, scale, "the load", after_load=True)
    wrong += await broken_by(target, scale, ["11"])
    wrong += await driven(target, scale)
    wrong += await checked(target, scale, "the run", after_load=False)
    wrong += await broken_by(target, scale, [name for name in tpcc.CONDITIONS if name != "11"])
    say(f"{len(wrong)} wrong, in {time.monotonic() - begun:.0f} s")
    return wrong


async def driven(target: Target, scale: Scale) -> list[str]:
    """Runs the load while somebody takes its locks in the other order."""
    how = [f"--warehouses={scale.warehouses}", f"--threads={scale.threads}", f"--time={scale.seconds}"]
    how += ["--any-warehouse", "--report-interval=0", "--json=-"]
    with tempfile.TemporaryDirectory() as home:
        process = started("run", "tpcc", *how, target=target, env={"TUIBENCH_HOME": home})
        quarrel = asyncio.create_task(quarrelled(target, scale.warehouses))
        ran = await asyncio.to_thread(finished, process, scale.seconds + END_SECONDS)
        quarrel.cancel()
        await asyncio.wait([quarrel])
    if ran.code:
        return [f"the run ended with {ran.code}: {ran.err}"]
    summary = msgspec.json.decode(ran.out[ran.out.index("{") :].encode(), type=Summary)
    kinds = {name: (kind.count, kind.rolled_back) for name, kind in summary.by_transaction.items()}
    tpm = summary.headline.value if summary.headline else 0.0
    say(f"tpmC {tpm:,.0f}, {summary.retries} retries, {summary.failed} failed, {kinds}")
    return [] if summary.retries else ["nothing was retried: there was no deadlock"]


async def quarrelled(target: Target, warehouses: int) -> None:
    """Locks districts, then their warehouse, as no Payment does; it has more to lose than they have."""
    connection = await connect_with_defaults(target)
    try:
        await connection.execute("CREATE TABLE heavy (id INT PRIMARY KEY, n INT)")
        rows = ", ".join(f"({row}, 0)" for row in range(HEAVY_ROWS))
        await connection.execute(f"INSERT INTO heavy VALUES {rows}")
        for warehouse in cycle(range(1, warehouses + 1)):
            await connection.execute("BEGIN")
            await connection.execute("UPDATE heavy SET n = n + 1")
            await connection.query(f"SELECT d_id FROM district WHERE d_w_id = {warehouse} FOR UPDATE")
            await asyncio.sleep(HELD_SECONDS)
            await connection.query(f"SELECT w_id FROM warehouse WHERE w_id = {warehouse} FOR UPDATE")
            await connection.execute("ROLLBACK")
    finally:
        connection.abort()
        await ask(target, "DROP TABLE IF EXISTS heavy")


async def checked(target: Target, scale: Scale, after: str, *, after_load: bool) -> list[str]:
    """Asks for all conditions in both ways."""
    begun = time.monotonic()
    program = library.load_program("tpcc", {"warehouses": scale.warehouses})
    found = {
        verdict.condition: verdict
        for verdict in await check_consistency(target, program, after_load=after_load)
    }
    theirs = {name for name, verdict in found.items() if verdict.outcome is ConditionOutcome.BROKEN}
    middle = time.monotonic()
    plain = {name for name in tpcc.CONDITIONS if name != "11" or after_load}
    ours = {name for name in plain if (await ask(target, tpcc.contradictions(DELIVERED)[name]))[0][0]}
    say(
        f"after {after}: tuibench check says broken {sorted(theirs)} of {len(found)} in "
        f"{middle - begun:.0f} s, plain SQL {sorted(ours)} in {time.monotonic() - middle:.0f} s"
    )
    return [f"condition {name} is broken after {after}" for name in sorted(theirs | ours)]


async def broken_by(target: Target, scale: Scale, names: list[str]) -> list[str]:
    """Damages a row for each of the conditions, and takes it back; says which one nobody missed."""
    conditions = {each.name: each for each in conditions_of(library.load_program("tpcc", {}))}
    wrong = []
    async with sbtest.connected(target) as connection:
        undelivered = "SELECT MIN(no_o_id), MAX(no_o_id) FROM new_order WHERE no_w_id = 2 AND no_d_id = 3"
        ((oldest, newest),) = await connection.query(undelivered)
        for name in names:
            await connection.execute("BEGIN")
            await connection.execute(tpcc.damage(oldest, (oldest + newest) // 2, newest)[name])
            verdict = await check_condition(connection, conditions[name], after_load=True)
            ((ours,),) = await connection.query(tpcc.contradictions(DELIVERED)[name])
            await connection.execute("ROLLBACK")
            say(f"condition {name} damaged: {verdict.outcome}, {verdict.message}; plain SQL counts {ours}")
            if verdict.outcome is not ConditionOutcome.BROKEN or not ours:
                wrong.append(f"condition {name} holds on a damaged row")
    return wrong


async def play(program: str | None, scale: Scale) -> list[str]:
    binary = binaries.inspect_binary(program) if program else None
    async with await PrivateServer.start(binary, options=SERVER) as server:
        say(f"{server.binary}, {scale.warehouses} warehouses")
        return await prove(server.target, scale)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make tpcc", description=__doc__)
    parser.add_argument("--server", help="path of a mariadbd or mysqld [the first one found]")
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--time", type=int, default=60, help="seconds of the run")
    parser.add_argument("--threads", type=int, default=16)
    options = parser.parse_args()
    scale = Scale(options.warehouses, options.time, options.threads)
    sys.exit("\n".join(asyncio.run(play(options.server, scale))) or 0)


if __name__ == "__main__":
    main()
