"""Values of every type: captured by a profile, bound again, they find the row that they came from.

Bound and captured in binary form, or written into the text of a statement and read again: each way must keep
every digit.
"""

from decimal import Decimal

import pytest

from tests.integration.support import sbtest
from tuibench.mysql.connection import Connection, PreparedStatement, TextStatement
from tuibench.servers.server import PrivateServer
from tuibench.workload.compiler import compile_profile
from tuibench.workload.generator import TransactionGenerator
from tuibench.workload.library import parse_profile
from tuibench.workload.program import Program, flat_statements

VALUES = {
    "money": ("DECIMAL(12,2)", ["0.00", "-9999999999.99", "9999999999.99", "0.01"]),
    "rate": ("DECIMAL(4,4)", ["0.0001", "-0.9999", "0.1000"]),
    "long_decimal": ("DECIMAL(65,30)", ["-" + "9" * 35 + "." + "9" * 30, "0." + "0" * 29 + "1"]),
    "whole": ("INT", ["-2147483648", "2147483647", "0"]),
    "big": ("BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    "unsigned_big": ("BIGINT UNSIGNED", ["18446744073709551615", "9223372036854775808", "0"]),
    "tiny": ("TINYINT UNSIGNED", ["255", "0"]),
    "day": ("DATE", ["'1000-01-01'", "'9999-12-31'"]),
    "moment": ("DATETIME", ["'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'2024-02-29 12:30:01'"]),
    "exact_moment": ("DATETIME(6)", ["'2024-02-29 23:59:59.999999'", "'2024-01-01 00:00:00.000001'"]),
    "span": ("TIME(6)", ["'-700:59:58.999999'", "'838:59:59'", "'00:00:00.000001'", "'-00:00:01'"]),
    "text": ("VARCHAR(200)", ["''", "'ä€😀'", "'it''s 100 % \\\\ \"quoted\"'", "REPEAT('😀', 200)", "'?'"]),
    "filled": ("CHAR(9)", ["'123411111'", "'a'"]),
    "raw": ("VARBINARY(300)", ["X'00FF27225C0A0D1A'", "REPEAT(X'FB', 255)"]),
    "double_value": ("DOUBLE", ["1.7976931348623157e308", "-2.5", "0.1", "1e-300", "123456789.123456789"]),
}
"""For each column its type, and edge values as SQL. A null goes with each."""

PROFILE = """
name = "there_and_back"
summary = "captures a value, writes it, and looks for it"
data_set = "sbtest"

[[transactions]]
name = "back"

[[transactions.steps]]
let.id = {{ make = "serial" }}
statements = [
    {{ {read}, bind = ["id"], capture = ["value"], prepared = {prepared} }},
    {{ {write}, bind = ["id", "value"], prepared = {prepared} }},
    {{ {same}, bind = ["id", "value"], capture = ["found"], prepared = {prepared} }},
    {{ {tell}, bind = ["id", "found"], prepared = {prepared} }},
]
"""
SQL = {
    "read": "SELECT value FROM given WHERE id = ?",
    "write": "INSERT INTO taken VALUES (?, ?)",
    "same": "SELECT COUNT(*) FROM given WHERE id = ? AND value <=> ?",
    "tell": "INSERT INTO told VALUES (?, ?)",
}


def _program(prepared: str) -> Program:
    sql = {name: f'name = "{name}", sql = "{text}"' for name, text in SQL.items()}
    return compile_profile(parse_profile(PROFILE.format(prepared=prepared, **sql), "values.toml"), {})


async def _play(connection: Connection, program: Program, times: int) -> None:
    """Transactions as the load plays them, over the hot path."""
    flat, generator = flat_statements(program), TransactionGenerator(program, 0, 0)
    ready = [await sbtest.ready(connection, one) for one in flat]
    for _ in range(times):
        talk, answer = generator.start_interactive(generator.draw()), None
        while True:
            try:
                index, values = talk.send(answer)
            except StopIteration:
                break
            statement = ready[index]
            captures = flat[index].captures
            answer = await sbtest.fetch(connection, statement, values) if captures else None
            if not captures:
                await sbtest.run(connection, statement, values)


@pytest.mark.parametrize("prepared", ["true", "false"])
async def test_a_value_that_was_captured_finds_its_row(server: PrivateServer, prepared: str) -> None:
    program = _program(prepared)
    async with (
        sbtest.empty_database(server.target, "there_and_back") as target,
        sbtest.connected(target) as connection,
    ):
        for column, (kind, values) in VALUES.items():
            for table in ("given", "taken"):
                await connection.execute(
                    f"CREATE TEMPORARY TABLE {table} (id INT, value {kind}) CHARACTER SET utf8mb4"
                )
            await connection.execute("CREATE TEMPORARY TABLE told (id INT, found INT)")
            rows = ", ".join(f"({number}, {value})" for number, value in enumerate([*values, "NULL"], 1))
            await connection.execute(f"INSERT INTO given VALUES {rows}")
            await _play(connection, program, len(values) + 1)
            told = await connection.query("SELECT id, found FROM told WHERE found <> 1")
            assert told == (), f"{column}: not found again"
            lost = await connection.query(
                "SELECT given.id, given.value, taken.value FROM given LEFT JOIN taken "
                "ON taken.id = given.id AND taken.value <=> given.value WHERE taken.id IS NULL"
            )
            assert lost == (), f"{column}: written as something else"
            await connection.execute("DROP TEMPORARY TABLE given, taken, told")


async def test_amounts_are_exact_numbers_whatever_way_they_come(server: PrivateServer) -> None:
    """What a profile calculates with: decimals as they are, floating point by its shortest digits."""
    sql = "SELECT CAST('0.10' AS DECIMAL(6,2)), CAST(18446744073709551615 AS UNSIGNED), NULL, 0.1e0 + ?"
    async with sbtest.connected(server.target) as connection:
        for made in (await connection.prepare(sql), TextStatement(connection, sql)):
            assert isinstance(made, PreparedStatement | TextStatement)
            ((amount, whole, null, double),) = await sbtest.fetch(connection, made, (0,))
            assert (str(amount), whole, null) == ("0.10", 2**64 - 1, None)
            assert isinstance(amount, Decimal)
            assert double == 0.1
