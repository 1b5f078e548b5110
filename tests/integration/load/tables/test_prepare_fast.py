"""Loading in each way that a server takes: the same tables, the same care, whatever the server is set to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.integration.load.tables.test_sbtest import check_rows
from tests.integration.support import sbtest
from tests.integration.support.commands import tuibench
from tuibench.base.errors import RunError, SQLError, UsageError
from tuibench.load.tables import (
    INSERT_METHODS,
    InsertMethod,
    LoadOptions,
    LoadProgress,
    check_tables_ready,
    prepare_tables,
)
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection, connect, load_data
from tuibench.servers.server import PrivateServer


@asynccontextmanager
async def with_infile(target: Target, allowed: bool) -> AsyncIterator[Connection]:
    async with (
        sbtest.connected(target, use_database=False) as connection,
        sbtest.set_global(connection, "local_infile", "ON" if allowed else "OFF"),
    ):
        yield connection


@pytest.mark.parametrize("insert_method", ["bulk", "infile", "insert"])
async def test_all_ways_make_the_same_tables(server: PrivateServer, insert_method: InsertMethod) -> None:
    program = sbtest.program(tables=3, table_size=20_000)
    seen: list[LoadProgress] = []
    async with (
        sbtest.empty_database(server.target, "ways") as target,
        with_infile(target, True),
    ):
        if insert_method == "bulk" and server.binary.flavour is Flavour.MYSQL:
            with pytest.raises(UsageError, match="no bulk statements"):
                await prepare_tables(target, program, method=LoadOptions(insert_method=insert_method))
            assert await sbtest.tables(target) == []
            return
        made = await prepare_tables(
            target, program, method=LoadOptions(parallel=2, insert_method=insert_method), progress=seen.append
        )
        assert (made.rows, made.insert_method) == (60_000, insert_method)
        assert [step.rows for step in seen] == sorted(step.rows for step in seen)
        assert seen[-1].rows == 60_000
        assert len(seen) > 3
        async with sbtest.connected(target) as connection:
            await check_tables_ready(connection, program)
            for table in program.tables:
                await check_rows(connection, table, 20_000)


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_quickest_way_is_taken(server: PrivateServer, allowed: bool) -> None:
    best: InsertMethod = "infile" if allowed else "insert"
    if server.binary.flavour is Flavour.MARIADB:
        best = "bulk"
    async with sbtest.empty_database(server.target, "quick") as target, with_infile(target, allowed):
        assert (await prepare_tables(target, sbtest.program())).insert_method == best


async def test_load_data_refused_at_the_last_moment_becomes_inserts(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says it allows LOAD DATA LOCAL, and refuses it all the same, as some proxies do."""
    monkeypatch.setattr("tuibench.load.tables.supports_bulk", lambda _: False)
    program = sbtest.program(tables=4)
    async with (
        sbtest.empty_database(server.target, "moment") as target,
        with_infile(target, True) as other,
    ):
        flips: list[asyncio.Task[int]] = []

        async def refusing(connection: Connection, sql: str, blocks: object) -> object:
            if not flips:
                flips.append(asyncio.create_task(other.execute("SET GLOBAL local_infile=OFF")))
            await flips[0]
            return await load_data(connection, sql, iter(()))

        monkeypatch.setattr("tuibench.load.tables.load_data", refusing)
        made = await prepare_tables(target, program, method=LoadOptions(parallel=3))
        assert (made.rows, made.insert_method) == (20_000, "insert")
        async with sbtest.connected(target) as connection:
            for table in program.tables:
                assert (await connection.query(f"SELECT COUNT(*), MAX(id) FROM {table}"))[0] == (5000, 5000)


async def test_a_way_that_was_asked_for_is_not_changed(server: PrivateServer) -> None:
    async with sbtest.empty_database(server.target, "asked") as target, with_infile(target, False):
        with pytest.raises(SQLError) as refused:
            await prepare_tables(target, sbtest.program(), method=LoadOptions(insert_method="infile"))
        assert refused.value.code in (1148, 3948, 4166)
        assert await sbtest.tables(target) == []


async def test_a_binary_log_in_statements_takes_no_bulk(mariadb: PrivateServer) -> None:
    async with (
        sbtest.empty_database(mariadb.target, "statements") as target,
        sbtest.connected(target) as connection,
        sbtest.set_global(connection, "binlog_format", "'STATEMENT'"),
    ):
        made = await prepare_tables(target, sbtest.program(), method=LoadOptions(parallel=3))
        assert (made.rows, made.insert_method) == (10_000, "infile")


async def test_rows_are_in_the_binary_log_unless_it_is_disabled(mariadb: PrivateServer) -> None:
    """Rows in the binary log as row events, one after the other; none of them with --without-binlog."""
    async with (
        sbtest.empty_database(mariadb.target, "logged") as target,
        sbtest.connected(target) as connection,
    ):
        for binlog in (True, False):
            await connection.execute("FLUSH BINARY LOGS")
            file, before = (await connection.query("SHOW MASTER STATUS"))[0][:2]
            await prepare_tables(target, sbtest.program(), method=LoadOptions(binlog=binlog))
            assert (await connection.query("SHOW MASTER STATUS"))[0][0] == file
            events = await connection.query(f"SHOW BINLOG EVENTS IN '{file}' FROM {before}")
            assert any(event[2].startswith("Write_rows") for event in events) == binlog
            await connection.execute("DROP TABLE sbtest1, sbtest2")


async def test_a_server_cannot_ask_for_a_file(server: PrivateServer) -> None:
    """Whatever name the statement has, the rows given are sent; elsewhere the request is refused."""
    async with (
        sbtest.empty_database(server.target, "curious") as target,
        with_infile(target, True),
    ):
        connection = await connect(target, sends_rows=True)
        await connection.execute("CREATE TABLE t (line VARCHAR(200))")
        sql = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t"
        taken = await load_data(connection, sql, [b"mine\n"])
        assert (taken.rows, taken.warnings) == (1, 0)
        assert list(await connection.query("SELECT line FROM t")) == [("mine",)]
        with pytest.raises(SQLError):
            await connection.execute(sql)
        connection.abort()


async def test_rows_that_the_server_drops_fail_the_load(server: PrivateServer) -> None:
    """LOAD DATA LOCAL passes over duplicates in silence; a table that somebody else fills must not pass."""
    async with (
        sbtest.empty_database(server.target, "dropped") as target,
        with_infile(target, True),
        sbtest.connected(target) as other,
    ):
        meddling: list[asyncio.Task[int]] = []

        def meddle(progress: LoadProgress) -> None:
            if not meddling:
                sql = "INSERT INTO sbtest1 (id) VALUES (99999)"
                meddling.append(asyncio.create_task(other.execute(sql)))

        with pytest.raises(RunError, match=r"sbtest1: (the server took|LOAD DATA)|LOAD DATA of sbtest1"):
            await prepare_tables(
                target,
                sbtest.program(tables=1, table_size=100_000),
                method=LoadOptions(parallel=1, insert_method="infile"),
                progress=meddle,
            )
        assert await sbtest.tables(target) == []


@pytest.mark.one_flavour
@pytest.mark.parametrize("insert_method", ["infile", "insert", "auto"])
async def test_a_load_cancelled_amid_its_rows_leaves_no_half_table(
    server: PrivateServer, insert_method: InsertMethod
) -> None:
    async with (
        sbtest.empty_database(server.target, "amid") as target,
        with_infile(target, True),
    ):
        program = sbtest.program(tables=1, table_size=200_000)

        def cancel(progress: LoadProgress) -> None:
            if progress.rows:
                load.cancel()

        load = asyncio.create_task(
            prepare_tables(
                target,
                program,
                method=LoadOptions(parallel=3, insert_method=insert_method),
                progress=cancel,
            )
        )
        with pytest.raises(asyncio.CancelledError):
            await load
        assert await sbtest.tables(target) == []


async def test_options_of_the_tables(server: PrivateServer) -> None:
    program = sbtest.program(
        tables=1,
        auto_inc="off",
        create_secondary="off",
        mysql_storage_engine="MyISAM",
        mysql_table_options="COMMENT='of a test' MAX_ROWS=1000000",
    )
    async with sbtest.empty_database(server.target, "options") as target:
        await prepare_tables(target, program)
        made = await sbtest.definition(target, "sbtest1")
        assert "ENGINE=MyISAM" in made
        assert "COMMENT='of a test'" in made
        assert "AUTO_INCREMENT" not in made
        assert "KEY `k_1`" not in made
        async with sbtest.connected(target) as connection:
            await check_rows(connection, "sbtest1", 5000)


async def test_a_database_in_another_character_set(server: PrivateServer) -> None:
    """utf16 is none that clients may speak; the rows get there all the same, in every way."""
    for insert_method in INSERT_METHODS[0], INSERT_METHODS[2], INSERT_METHODS[3]:
        async with (
            sbtest.empty_database(server.target, "wide") as target,
            with_infile(target, True),
            sbtest.connected(target) as connection,
        ):
            await connection.execute("ALTER DATABASE wide CHARACTER SET utf16")
            await prepare_tables(
                target, sbtest.program(tables=1), method=LoadOptions(insert_method=insert_method)
            )
            await check_rows(connection, "sbtest1", 5000)


def test_the_command_line(any_server: PrivateServer) -> None:
    arguments = ("oltp_read_write", "--tables=2", "--table-size=3000")
    wrong = tuibench("prepare", *arguments, "--load-with=carrier-pigeons", target=any_server.target)
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    made = tuibench("prepare", *arguments, "--load-with=insert", "--without-binlog", target=any_server.target)
    assert made.code == 0, made.err
    assert "loaded 2 tables with 6,000 rows" in made.err
    again = tuibench("prepare", *arguments, target=any_server.target)
    assert again.code == 1
    assert "already exist: 2 × 3,000 rows" in again.err
    dropped = tuibench("cleanup", *arguments, target=any_server.target)
    assert dropped.code == 0, dropped.err
