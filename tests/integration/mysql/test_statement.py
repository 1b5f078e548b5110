"""Statements of the load over the hot path, prepared and as text, whose rows nobody reads."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tests.integration.load.conformance.driving import driving
from tests.integration.support import sbtest
from tuibench.base import installation
from tuibench.base.errors import ConnectionLostError, SQLError
from tuibench.load.native_engine import NativeEngine
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection, TextStatement
from tuibench.servers.server import PrivateServer
from tuibench.workload import library


async def _numbers(connection: Connection, rows: int) -> None:
    await connection.execute("DROP TABLE IF EXISTS numbers")
    await connection.execute("CREATE TABLE numbers (id INT PRIMARY KEY, word CHAR(120) NOT NULL)")
    values = ", ".join(f"({number}, REPEAT('x', 119))" for number in range(1, rows + 1))
    await connection.execute(f"INSERT INTO numbers VALUES {values}")


async def test_the_rows_of_a_result_are_counted_however_many_pieces_it_comes_in(
    server: PrivateServer,
) -> None:
    async with sbtest.connected(server.target) as connection:
        await _numbers(connection, 1000)
        statement = await connection.prepare("SELECT word FROM numbers WHERE id <= ?")
        for rows in (0, 0, 1, 1, 100, 100, 100, 1000, 1, 1000):
            assert await sbtest.run(connection, statement, (rows,)) == rows


LARGE_BYTES = 0xFFFFFF + 5
"""A statement or row of this size takes two packets."""


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.one_flavour)], ids=["plain", "compressed"]
)
async def roomy(server: PrivateServer, request: pytest.FixtureRequest) -> AsyncIterator[Target]:
    """A server that takes and sends packets of 64 MiB."""
    async with (
        sbtest.connected(server.target) as connection,
        sbtest.set_global(connection, "max_allowed_packet", str(1 << 26)),
    ):
        yield msgspec.structs.replace(server.target, compress=request.param)


async def test_statements_and_rows_of_several_packets(roomy: Target) -> None:
    large = "y" * LARGE_BYTES
    async with sbtest.connected(roomy) as connection:
        for _ in range(2):
            assert await connection.query(f"SELECT LENGTH('{large}')") == ((LARGE_BYTES,),)
            assert await connection.query("SELECT 1") == ((1,),)
        prepared = await connection.prepare("SELECT LENGTH(?), ?")
        for made in (prepared, TextStatement(connection, "SELECT LENGTH(?), ?")):
            assert await sbtest.fetch(connection, made, (large, "x")) == [(LARGE_BYTES, "x")]
            assert await sbtest.run(connection, made, (large, "x")) == 1
        ((row,),) = await connection.query(f"SELECT REPEAT('z', {LARGE_BYTES})")
        assert row == "z" * LARGE_BYTES
        both = await connection.prepare("SELECT REPEAT('z', ?) UNION ALL SELECT ?")
        assert await sbtest.run(connection, both, (LARGE_BYTES, 1)) == 2
        with pytest.raises(SQLError):
            await connection.query(f"SELECT nothing('{large}')")


SCRIPT = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
   local large = string.rep("y", SIZE)
   assert(con:query_row("SELECT LENGTH('" .. large .. "')") == tostring(SIZE))
   assert(con:query_row("SELECT REPEAT('z', SIZE)") == string.rep("z", SIZE))
   local statement = con:prepare("SELECT LENGTH(?)")
   local value = statement:bind_create(sysbench.sql.type.VARCHAR, SIZE)
   statement:bind_param(value)
   value:set(large)
   statement:execute()
   statement:close()
end
"""


@pytest.mark.skipif(not installation.runs_scripts(), reason="the native engine is not built with Lua")
async def test_the_native_engine_sends_and_reads_several_packets(roomy: Target, tmp_path: Path) -> None:
    path = tmp_path / "large.lua"
    path.write_text(SCRIPT.replace("SIZE", str(LARGE_BYTES)))
    program = library.load_program(str(path), {"threads": 1})
    async with driving(NativeEngine, roomy, program, limit=3) as drive:
        await drive.until(lambda counters: counters.completed == 3)
        assert not (await drive.ends()).errors


async def test_an_error_leaves_the_statement_and_its_connection_usable(server: PrivateServer) -> None:
    async with sbtest.connected(server.target) as connection:
        await _numbers(connection, 3)
        insert = await connection.prepare("INSERT INTO numbers VALUES (?, ?)")
        select = await connection.prepare("SELECT * FROM numbers WHERE id = ?")
        assert await sbtest.run(connection, select, (3,)) == 1
        with pytest.raises(SQLError) as raised:
            await sbtest.run(connection, insert, (3, "again"))
        assert raised.value.code == 1062
        assert await sbtest.run(connection, insert, (4, "new")) == 1
        assert await sbtest.run(connection, select, (4,)) == 1
        assert await connection.query("SELECT word FROM numbers WHERE id = 4") == (("new",),)


async def test_a_statement_sent_as_text_does_the_same(server: PrivateServer) -> None:
    async with sbtest.connected(server.target) as connection:
        await _numbers(connection, 3)
        update = TextStatement(connection, "UPDATE numbers SET word = ? WHERE id = ?")
        assert await sbtest.run(connection, update, ("it's", 2)) == 1
        assert await connection.query("SELECT word FROM numbers WHERE id = 2") == (("it's",),)


async def test_question_marks_in_quotes_and_comments_are_sent_as_they_are(server: PrivateServer) -> None:
    sql = "SELECT '?', ? /* ? */, \"it's ?\", `?` FROM (SELECT ? AS `?`) one -- ?"
    async with sbtest.connected(server.target) as connection:
        for made in (TextStatement(connection, sql), await connection.prepare(sql)):
            assert await sbtest.fetch(connection, made, ("a'?", 2)) == [("?", "a'?", "it's ?", 2)]


async def test_a_call_that_gives_results_is_one_statement(server: PrivateServer) -> None:
    async with sbtest.connected(server.target) as connection:
        await _numbers(connection, 5)
        await connection.execute("DROP PROCEDURE IF EXISTS twice")
        await connection.execute(
            "CREATE PROCEDURE twice() BEGIN SELECT * FROM numbers; SELECT * FROM numbers LIMIT 1; END"
        )
        call = await connection.prepare("CALL twice()")
        assert [await sbtest.run(connection, call, ()) for _ in range(3)] == [5] * 3
        assert await sbtest.run(connection, TextStatement(connection, "CALL twice()"), ()) == 5
        assert await connection.query("SELECT COUNT(*) FROM numbers") == ((5,),)


async def test_a_killed_connection_fails_the_waiting_statement(server: PrivateServer) -> None:
    async with sbtest.connected(server.target) as connection, sbtest.connected(server.target) as other:
        statement = await connection.prepare("SELECT SLEEP(?)")
        waiting = asyncio.create_task(sbtest.run(connection, statement, (20,)))
        found = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {} AND info LIKE '%SLEEP%'"
        while await other.query(found.format(connection.thread_id)) != ((1,),):
            continue
        await other.execute(f"KILL {connection.thread_id}")
        with pytest.raises(ConnectionLostError):
            await waiting


async def test_omitted_column_definitions_do_not_change_results(server: PrivateServer) -> None:
    async with sbtest.connected(server.target) as connection:
        await _numbers(connection, 9)
        statement = await connection.prepare("SELECT * FROM numbers WHERE id <= ?")
        assert [await sbtest.run(connection, statement, (rows,)) for rows in (9, 1, 0, 9)] == [9, 1, 0, 9]
        await connection.execute("ALTER TABLE numbers ADD COLUMN more INT NULL")
        assert [await sbtest.run(connection, statement, (rows,)) for rows in (9, 1, 0, 9)] == [9, 1, 0, 9]
        assert await connection.query("SELECT id, more FROM numbers WHERE id = 9") == ((9, None),)
