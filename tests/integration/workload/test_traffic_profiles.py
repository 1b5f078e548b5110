"""Traffic of a real server becomes a profile that is checked and run: by slow query log and by digests."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.integration.support import commands, sbtest
from tests.integration.workload.test_all_profiles import play
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer
from tuibench.workload import library

TRANSACTIONS = 12


async def test_a_slow_log_becomes_a_profile_that_runs(server: PrivateServer, tmp_path: Path) -> None:
    program = sbtest.program(tables=1, table_size=200)
    log, profile = server.directory / f"{tmp_path.name}.log", tmp_path / "observed.toml"
    async with sbtest.empty_database(server.target, "traffic") as target:
        await prepare_tables(target, program)
        await _logged(server, target, log)
        made = await asyncio.to_thread(
            commands.tuibench, "profiles", "from-slow-log", str(log), f"--out={profile}"
        )
        assert made.code == 0, made.err
        read = library.load_profile(str(profile))
        assert [(each.weight, each.autocommit) for each in read.transactions] == [(TRANSACTIONS, False)]
        verbs = Counter(each.sql.split()[0] for each in read.transactions[0].steps[0].statements)  # type: ignore[union-attr]
        assert verbs == {"SELECT": 14, "UPDATE": 2, "DELETE": 1, "INSERT": 1}
        await _run(profile, target)


async def test_the_general_log_becomes_the_same_profile(server: PrivateServer, tmp_path: Path) -> None:
    log, profile = server.directory / f"{tmp_path.name}.log", tmp_path / "observed.toml"
    program = sbtest.program(tables=1, table_size=200)
    async with sbtest.empty_database(server.target, "general") as target:
        await prepare_tables(target, program)
        async with logging_to(server, target, log, "general_log"):
            await play(target, program, TRANSACTIONS)
        words = ("profiles", "from-slow-log", str(log), f"--out={profile}")
        made = await asyncio.to_thread(commands.tuibench, *words, target=target)
        assert (made.code, "refuses" in made.err) == (0, False), made.err
    (transaction, *others) = library.load_profile(str(profile)).transactions
    assert (transaction.weight, transaction.autocommit) == (TRANSACTIONS, False)
    verbs = Counter(each.sql.split()[0] for each in transaction.steps[0].statements)  # type: ignore[union-attr]
    assert verbs == {"SELECT": 14, "UPDATE": 2, "DELETE": 1, "INSERT": 1}
    assert all(each.weight <= 2 for each in others)


async def _logged(server: PrivateServer, target: Target, log: Path) -> None:
    """Plays transactions while the server logs all statements."""
    async with logging_to(server, target, log):
        await play(target, sbtest.program(tables=1, table_size=200), TRANSACTIONS)


@asynccontextmanager
async def logging_to(
    server: PrivateServer, target: Target, log: Path, name: str = "slow_query_log"
) -> AsyncIterator[None]:
    """The server logs all statements of sessions in the database that end with the block."""
    async with (
        sbtest.connected(server.target) as admin,
        sbtest.set_global(admin, f"{name}_file", f"'{log}'"),
        sbtest.set_global(admin, "long_query_time", "0"),
        sbtest.set_global(admin, name, "1"),
    ):
        yield
        await sbtest.until_sessions_end(admin, target.database)


async def test_digests_become_a_profile_that_runs(server: PrivateServer, tmp_path: Path) -> None:
    program = sbtest.program(tables=1, table_size=200)
    profile = tmp_path / "observed.toml"
    async with sbtest.empty_database(server.target, "digests") as target:
        await prepare_tables(target, program)
        async with sbtest.connected(target) as connection:
            ((on,),) = await connection.query("SELECT @@performance_schema")
        await play(target, program, TRANSACTIONS)
        async with sbtest.connected(target) as connection:
            await sbtest.until_sessions_end(connection, target.database)
        made = await asyncio.to_thread(
            commands.tuibench, "profiles", "from-digest", f"--out={profile}", target=target
        )
        if not int(on):
            assert (made.code, "performance_schema is OFF" in made.err) == (1, True), made.err
            return
        assert made.code == 0, made.err
        read = library.load_profile(str(profile))
        weights = {each.name: each.weight for each in read.transactions}
        assert max(weights.values()) == 10 * TRANSACTIONS
        assert len(weights) >= 8
        assert not [name for name in weights if name.startswith("select") and "sbtest1" not in name]
        await _run(profile, target)


async def _run(profile: Path, target: Target) -> None:
    checked = await asyncio.to_thread(commands.tuibench, "profiles", "check", str(profile))
    assert checked.code == 0, checked.err
    ran = await asyncio.to_thread(
        commands.tuibench,
        *("run", str(profile), "--threads=2", "--events=60", "--time=0", "--json=-"),
        "--mysql-ignore-errors=1213,1020,1205,1062",
        target=target,
    )
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["transactions"]["total"] == 60
