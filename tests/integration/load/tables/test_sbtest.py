"""Preparing, checking and cleaning up sbtest tables on real servers."""

import asyncio
import re

import pytest

from tests.integration.support import sbtest
from tuibench.base.errors import RunError, SQLError
from tuibench.load.tables import LoadProgress, check_tables_ready, drop_tables, prepare_tables
from tuibench.mysql.connection import Connection
from tuibench.servers.server import PrivateServer


async def check_rows(connection: Connection, table: str, size: int) -> None:
    """Ids without holes, k by the special distribution, c and pad all different and of sysbench's form."""
    counted = await connection.query(
        "SELECT COUNT(*), MIN(id), MAX(id), MIN(k), MAX(k), COUNT(DISTINCT c), COUNT(DISTINCT pad) "
        f"FROM {table}"
    )
    rows, first, last, low, high, different_c, different_pad = counted[0]
    assert (rows, first, last) == (size, 1, size)
    assert low >= 1
    assert high <= size
    assert different_c == different_pad == size
    hot = await connection.query(
        f"SELECT COUNT(*) FROM {table} WHERE k BETWEEN {size * 0.4975} AND {size * 0.5051}"
    )
    assert 0.74 < hot[0][0] / size < 0.78
    sample = await connection.query(f"SELECT c, pad FROM {table} WHERE id IN (1, 77, {size})")
    for c, pad in sample:
        assert re.fullmatch(r"(\d{11}-){9}\d{11}", c)
        assert re.fullmatch(r"(\d{11}-){4}\d{11}", pad)


async def test_one_table_over_several_connections(server: PrivateServer) -> None:
    async with sbtest.empty_database(server.target, "cut") as target:
        await prepare_tables(target, sbtest.program(tables=1, table_size=10_000), parallel=4)
        assert "AUTO_INCREMENT=10001" in await sbtest.definition(target, "sbtest1")
        async with sbtest.connected(target) as connection:
            await check_rows(connection, "sbtest1", 10_000)


@pytest.mark.one_flavour
async def test_the_database_is_made_on_demand(server: PrivateServer) -> None:
    target = sbtest.in_database(server.target, "on`demand")
    await prepare_tables(target, sbtest.program(), create_database=True)
    assert await sbtest.tables(target) == ["sbtest1", "sbtest2"]
    async with sbtest.connected(target) as connection:
        await connection.execute("DROP DATABASE `on``demand`")


async def test_existing_tables_are_refused_with_the_remedy(server: PrivateServer) -> None:
    async with sbtest.empty_database(server.target, "existing") as target:
        await prepare_tables(target, sbtest.program())
        with pytest.raises(RunError) as same:
            await prepare_tables(target, sbtest.program())
        assert "already exist: 2 × 5,000 rows" in same.value.message
        assert "tuibench cleanup oltp_read_write --tables=2" in same.value.hint
        with pytest.raises(RunError) as other:
            await prepare_tables(target, sbtest.program(tables=3))
        assert other.value.message.startswith("sbtest1, sbtest2 in the database 'existing' exists, but not 3")
        assert await sbtest.tables(target) == ["sbtest1", "sbtest2"]


@pytest.mark.one_flavour
async def test_missing_tables_are_reported_with_the_command(server: PrivateServer) -> None:
    command = "tuibench prepare oltp_read_write --tables=2 --table-size=5000"
    async with (
        sbtest.empty_database(server.target, "unready") as target,
        sbtest.connected(target) as connection,
    ):
        with pytest.raises(RunError, match="no such table") as missing:
            await check_tables_ready(connection, sbtest.program())
        assert f"{command} --socket={target.socket}" in missing.value.hint
        assert missing.value.hint.endswith("--database=unready")
        await prepare_tables(target, sbtest.program(table_size=100))
        with pytest.raises(RunError, match=r"sbtest1 .* has 100 rows, this run needs 5,000") as small:
            await check_tables_ready(connection, sbtest.program())
        assert "--table-size=100," in small.value.hint
        assert f"{command} --socket={target.socket}" in small.value.hint
        await check_tables_ready(connection, sbtest.program(table_size=100))


async def test_foreign_tables_are_neither_used_nor_dropped(server: PrivateServer) -> None:
    """Same name, other columns: a missing one, one of another type, a view, a further one."""
    program = sbtest.program(tables=5, table_size=100)
    async with sbtest.empty_database(server.target, "foreign_tables") as target:
        await prepare_tables(target, sbtest.program(tables=6, table_size=100))
        async with sbtest.connected(target) as connection:
            await connection.execute("ALTER TABLE sbtest2 ADD COLUMN mine INT")
            await connection.execute("ALTER TABLE sbtest3 MODIFY c TINYTEXT")
            await connection.execute("DROP TABLE sbtest4")
            await connection.execute("CREATE VIEW sbtest4 AS SELECT * FROM sbtest1")
            await connection.execute("CREATE TABLE sbtest_mine (id INT)")
            with pytest.raises(RunError, match=r"sbtest2, sbtest3, sbtest4 in .* does not have the columns"):
                await check_tables_ready(connection, program)
        with pytest.raises(RunError, match="with other columns than sbtest's"):
            await prepare_tables(target, program)
        result = await drop_tables(target, program)
        assert result.dropped == ("sbtest1", "sbtest5")
        assert result.foreign == ("sbtest2", "sbtest3", "sbtest4")
        assert (result.missing, result.others) == ((), ("sbtest6",))
        left = ["sbtest2", "sbtest3", "sbtest4", "sbtest6", "sbtest_mine"]
        assert await sbtest.tables(target) == left
        assert (await drop_tables(target, program)).missing == ("sbtest1", "sbtest5")


@pytest.mark.one_flavour
async def test_a_cancelled_load_leaves_no_half_table(server: PrivateServer) -> None:
    """Cancelled at several depths: nothing loaded, rows on their way, the first table finished."""
    for enough in (
        lambda progress: progress.rows > 0,
        lambda progress: progress.rows > 40_000,
        lambda progress: progress.tables > 0,
    ):
        async with sbtest.empty_database(server.target, "cancelled") as target:
            finished = await cancel_when(target, enough)
            assert await sbtest.tables(target) == [f"sbtest{n}" for n in range(1, finished + 1)]


async def cancel_when(target, enough) -> int:  # type: ignore[no-untyped-def]
    """Loads until `enough` of the progress, cancels, and returns how many tables were finished."""
    seen: list[LoadProgress] = []

    def watch(progress: LoadProgress) -> None:
        seen.append(progress)
        if enough(progress):
            load.cancel()

    program = sbtest.program(tables=4, table_size=30_000)
    load = asyncio.create_task(prepare_tables(target, program, parallel=1, progress=watch))
    with pytest.raises(asyncio.CancelledError):
        await load
    return seen[-1].tables


async def test_a_failed_load_leaves_no_half_table(server: PrivateServer) -> None:
    """The engine's name is good SQL and no engine: the server refuses to make the tables."""
    async with sbtest.empty_database(server.target, "failed") as target:
        with pytest.raises(SQLError) as error:
            await prepare_tables(target, sbtest.program(mysql_storage_engine="nonsense"), parallel=2)
        assert error.value.code == 1286
        assert await sbtest.tables(target) == []


NO_SUCH_THREAD = 1094


async def test_a_killed_connection_ends_the_load_and_drops_its_tables(server: PrivateServer) -> None:
    async with (
        sbtest.empty_database(server.target, "killed") as target,
        sbtest.connected(target) as other,
    ):
        killing: list[asyncio.Task[None]] = []

        def kill(progress: LoadProgress) -> None:
            if not killing:
                killing.append(asyncio.create_task(kill_others(other)))

        with pytest.raises(SQLError) as error:
            await prepare_tables(target, sbtest.program(table_size=200_000), parallel=2, progress=kill)
        await killing[0]
        assert error.value.code in (1927, 2006, 2013)
        assert await sbtest.tables(target) == []


async def kill_others(connection: Connection) -> None:
    """Kills the loaders; the second one may have ended already, because the first was killed."""
    mine = (
        f"SELECT id FROM information_schema.processlist WHERE db = 'killed' AND id <> {connection.thread_id}"
    )
    for (thread_id,) in await connection.query(mine):
        try:
            await connection.execute(f"KILL {thread_id}")
        except SQLError as error:
            if error.code != NO_SUCH_THREAD:
                raise
