"""Rows of real servers: every type of column, in either form, is what the driver makes of it."""

from datetime import timedelta
from decimal import Decimal

import pytest

from tests.integration.support import sbtest
from tuibench.model.server import Target
from tuibench.mysql.connection import TextStatement
from tuibench.servers.server import PrivateServer

COLUMNS = {
    "tiny": ("TINYINT", "-128", "127"),
    "tiny_u": ("TINYINT UNSIGNED", "255", "0"),
    "small": ("SMALLINT", "-32768", "32767"),
    "small_u": ("SMALLINT UNSIGNED", "65535", "0"),
    "medium": ("MEDIUMINT", "-8388608", "8388607"),
    "medium_u": ("MEDIUMINT UNSIGNED", "16777215", "0"),
    "whole": ("INT", "-2147483648", "2147483647"),
    "whole_u": ("INT UNSIGNED", "4294967295", "0"),
    "big": ("BIGINT", "-9223372036854775808", "9223372036854775807"),
    "big_u": ("BIGINT UNSIGNED", "18446744073709551615", "0"),
    "float_value": ("FLOAT", "-1.5", "1024"),
    "double_value": ("DOUBLE", "0.1", "-1.7976931348623157e308"),
    "money": ("DECIMAL(12,2)", "-9999999999.90", "0.10"),
    "long_decimal": ("DECIMAL(65,30)", "-" + "9" * 35 + "." + "9" * 30, "0." + "0" * 29 + "1"),
    "day": ("DATE", "'9999-12-31'", "'0000-00-00'"),
    "moment": ("DATETIME", "'2024-02-29 12:30:01'", "'0000-00-00 00:00:00'"),
    "midnight": ("DATETIME", "'2024-02-29'", "'2024-00-00'"),
    "exact_moment": ("DATETIME(6)", "'2024-02-29 23:59:59.999999'", "'0000-00-00'"),
    "stamp": ("TIMESTAMP(3) NULL", "'2024-02-29 23:59:59.001'", "'2001-01-01'"),
    "span": ("TIME", "'-838:59:59'", "'00:00:00'"),
    "exact_span": ("TIME(6)", "'-00:00:00.000001'", "'700:59:58.999999'"),
    "year_value": ("YEAR", "2155", "0"),
    "bits": ("BIT(33)", "b'101'", "b'111111111111111111111111111111111'"),
    "chars": ("CHAR(9)", "'123411111'", "''"),
    "letters": ("VARCHAR(200) CHARACTER SET utf8mb4", "'ä€😀'", "REPEAT('x', 200)"),
    "latin": ("VARCHAR(20) CHARACTER SET latin1", "'äöü'", "'?'"),
    "long_text": ("MEDIUMTEXT", "REPEAT('0123456789', 7000)", "''"),
    "document": ("JSON", """'{"a": [1, 2.5, "ä"]}'""", "'null'"),
    "raw": ("VARBINARY(300)", "X'00FF27225C0A0D1A'", "REPEAT(X'FB', 255)"),
    "fixed_raw": ("BINARY(4)", "X'01'", "X'FFFFFFFF'"),
    "long_raw": ("LONGBLOB", "REPEAT(X'FEFF', 40000)", "''"),
    "choice": ("ENUM('one', 'zwölf')", "'zwölf'", "1"),
    "several": ("SET('a', 'b', 'c')", "'a,c'", "''"),
    "place": ("POINT", "ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('POINT(0 0)')"),
}
"""For each column its type, and two values as SQL. A row of nulls goes with them."""


@pytest.fixture
async def filled(database: Target) -> Target:
    async with sbtest.connected(database) as connection:
        await connection.execute("SET sql_mode = ''")
        columns = ", ".join(f"{name} {kind}" for name, (kind, *_) in COLUMNS.items())
        await connection.execute(f"CREATE TABLE kinds (id INT PRIMARY KEY, {columns}) CHARACTER SET utf8mb4")
        for number in (1, 2):
            values = ", ".join(column[number] for column in COLUMNS.values())
            await connection.execute(f"INSERT INTO kinds VALUES ({number}, {values})")
        await connection.execute("INSERT INTO kinds (id) VALUES (3)")
    return database


async def test_every_type_is_what_the_driver_makes_of_it(filled: Target) -> None:
    every = "SELECT * FROM kinds ORDER BY id"
    each = [f"SELECT id, {name} FROM kinds WHERE id <= ? ORDER BY id" for name in COLUMNS]
    async with sbtest.connected(filled) as connection:
        expected = await connection.query(every)
        prepared, *single = [await connection.prepare(sql) for sql in (every, *each)]
        for made in (prepared, TextStatement(connection, every)):
            assert await sbtest.fetch(connection, made) == list(expected)
        for place, (made, sql) in enumerate(zip(single, each, strict=True), 1):
            rows = [(row[0], row[place]) for row in expected]
            for statement in (made, made, TextStatement(connection, sql)):
                assert await sbtest.fetch(connection, statement, (3,)) == rows
    first = dict(zip(("id", *COLUMNS), expected[0], strict=True))
    assert (first["big_u"], first["money"]) == (2**64 - 1, Decimal("-9999999999.90"))
    assert first["span"] == -timedelta(hours=838, minutes=59, seconds=59)
    assert (first["letters"], first["bits"], first["fixed_raw"]) == ("ä€😀", b"\0\0\0\0\5", b"\1\0\0\0")
    assert expected[1][list(COLUMNS).index("exact_moment") + 1] == "0000-00-00 00:00:00.000000"
    assert set(expected[2][1:]) == {None}


async def test_columns_may_change_between_two_executions(filled: Target) -> None:
    async with sbtest.connected(filled) as connection:
        statement = await connection.prepare(
            "SELECT * FROM (SELECT big, letters FROM kinds WHERE id = ?) one"
        )
        first = [(-(2**63), "ä€😀")]
        assert [await sbtest.fetch(connection, statement, (1,)) for _ in range(2)] == [first] * 2
        await connection.execute("SET sql_mode = ''")
        await connection.execute("ALTER TABLE kinds MODIFY big VARCHAR(30), MODIFY letters VARBINARY(900)")
        second = [("-9223372036854775808", "ä€😀".encode())]
        assert [await sbtest.fetch(connection, statement, (1,)) for _ in range(2)] == [second] * 2


async def test_what_gives_other_than_one_result(filled: Target) -> None:
    async with sbtest.connected(filled) as connection:
        await connection.execute("CREATE PROCEDURE twice() BEGIN SELECT 1, 'a'; SELECT 2; END")
        for sql, rows in (
            ("CALL twice()", [(1, "a")]),
            ("UPDATE kinds SET whole = 1 WHERE id = 3", []),
            ("SELECT id FROM kinds WHERE id > 3", []),
        ):
            for made in (await connection.prepare(sql), TextStatement(connection, sql)):
                assert [await sbtest.fetch(connection, made) for _ in range(2)] == [rows] * 2
        assert await connection.query("SELECT whole FROM kinds WHERE id = 3") == ((1,),)


async def test_rows_larger_than_a_packet(any_server: PrivateServer) -> None:
    size = 0xFFFFFF + 9
    sql = f"SELECT REPEAT('x', {size}), 1 UNION ALL SELECT 'y', 2"
    async with (
        sbtest.connected(any_server.target) as setting,
        sbtest.set_global(setting, "max_allowed_packet", str(4 * size)),
        sbtest.connected(any_server.target) as connection,
    ):
        for made in (await connection.prepare(sql), TextStatement(connection, sql)):
            rows = await sbtest.fetch(connection, made)
            assert [(len(text), number) for text, number in rows] == [(size, 1), (1, 2)]
