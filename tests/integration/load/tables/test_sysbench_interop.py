"""sysbench runs on tables that tuibench made, and the other way round; neither can tell the difference."""

import asyncio
import shutil

import pytest

from tests.integration.support import sbtest
from tuibench.load.tables import check_tables_ready, drop_tables, prepare_tables
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer

pytestmark = [
    pytest.mark.sysbench,
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="no sysbench program here"),
]


async def sysbench(target: Target, test: str, command: str, *options: str) -> str:
    """Runs sysbench on a target and returns what it printed; fails with it unless it exits with 0."""
    process = await asyncio.create_subprocess_exec(
        "sysbench",
        test,
        f"--mysql-socket={target.socket}",
        f"--mysql-user={target.user}",
        f"--mysql-password={target.password}",
        f"--mysql-db={target.database}",
        "--tables=2",
        "--table-size=5000",
        *options,
        command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output = (await process.communicate())[0].decode()
    assert process.returncode == 0, output
    return output


SAME = pytest.mark.one_flavour
VARIANTS = [
    {},
    pytest.param({"auto_inc": "off"}, marks=SAME),
    pytest.param({"secondary": "on"}, marks=SAME),
    pytest.param({"create_secondary": "off"}, marks=SAME),
    {"mysql_storage_engine": "myisam"},
]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
async def test_tables_are_identical(server: PrivateServer, options: dict[str, str]) -> None:
    written = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    program = sbtest.program(**options)
    async with (
        sbtest.empty_database(server.target, "by_sysbench") as theirs,
        sbtest.empty_database(server.target, "by_tuibench") as ours,
    ):
        await sysbench(theirs, "oltp_read_write", "prepare", *written)
        await prepare_tables(ours, program, parallel=2)
        assert await sbtest.tables(ours) == await sbtest.tables(theirs) == ["sbtest1", "sbtest2"]
        for table in program.tables:
            assert await sbtest.definition(ours, table) == await sbtest.definition(theirs, table)


@pytest.mark.one_flavour
async def test_each_cleans_up_the_others_tables(server: PrivateServer) -> None:
    """Runs of sysbench on our tables: tests/integration/workload/test_all_profiles."""
    program = sbtest.program()
    async with sbtest.empty_database(server.target, "interop") as target:
        await prepare_tables(target, program, parallel=2)
        await sysbench(target, "oltp_read_write", "cleanup")
        assert await sbtest.tables(target) == []
        await sysbench(target, "oltp_read_write", "prepare", "--threads=2")
        async with sbtest.connected(target) as connection:
            await check_tables_ready(connection, program)
        assert (await drop_tables(target, program)).dropped == program.tables
        assert await sbtest.tables(target) == []


async def test_k_is_distributed_as_sysbench_distributes_it(mariadb: PrivateServer) -> None:
    """The keys that are hit at least ten times: the hot window of the special distribution."""
    hot = "SELECT MIN(k), MAX(k), COUNT(*) FROM (SELECT k FROM sbtest1 GROUP BY k HAVING COUNT(*) >= 10) h"
    found = []
    async with (
        sbtest.empty_database(mariadb.target, "by_sysbench") as theirs,
        sbtest.empty_database(mariadb.target, "by_tuibench") as ours,
    ):
        await sysbench(theirs, "oltp_read_write", "prepare", "--tables=1", "--table-size=50000")
        await prepare_tables(ours, sbtest.program(tables=1, table_size=50_000), parallel=1)
        for target in (theirs, ours):
            async with sbtest.connected(target) as connection:
                found.append((await connection.query(hot))[0])
    assert found[0] == pytest.approx(found[1], abs=2)
