"""Statements of the load over the hot path, prepared and as text, whose rows nobody reads."""

import asyncio

import pytest

from tests.integration.support import sbtest
from tuibench.demo.server import PrivateServer
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.connection import Connection, TextStatement


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
