"""Plans of statements on real servers: without executing them, and with what the login may see."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from tests.fakes import FakeClock
from tests.integration.support import sbtest
from tests.integration.support.shared import Starter
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection
from tuibench.observe.plans import NO_VERB, STANDS_IN, Explained, explain
from tuibench.observe.statements import StatementSampler
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

MADE = (
    "CREATE TABLE priced (id INT PRIMARY KEY, price INT, KEY by_price (price))",
    "INSERT INTO priced VALUES (1, 10), (2, 20)",
    "CREATE FUNCTION counted() RETURNS INT DETERMINISTIC MODIFIES SQL DATA "
    "BEGIN INSERT INTO priced VALUES (99, 99); RETURN 1; END",
    "CREATE VIEW calls AS SELECT id, counted() AS n FROM priced",
)


@pytest.fixture
async def priced(database: Target) -> AsyncIterator[Connection]:
    async with sbtest.connected(database) as connection:
        for sql in MADE:
            await connection.execute(sql)
        yield connection


async def explained(connection: Connection, target: Target, sql: str) -> Explained:
    flavour = Flavour.MARIADB if "MariaDB" in connection.version_text else Flavour.MYSQL
    return await explain(connection, flavour, sql, target.database)


async def test_nothing_is_executed(priced: Connection, database: Target) -> None:
    before = await priced.query("SELECT * FROM priced")
    for sql in (
        "SELECT * FROM priced WHERE price = 10",
        "UPDATE priced SET price = 5 WHERE price = 10",
        "DELETE FROM priced WHERE id = ?",
        "INSERT INTO priced (id, price) VALUES (7, 7)",
        "REPLACE INTO priced (id, price) VALUES (1, 7)",
    ):
        found = await explained(priced, database, sql)
        assert found.plan[0][0] == "id", (sql, found)
        assert any("priced" in row for row in found.plan[1:]), (sql, found)
        assert found.note == ("" if "?" not in sql else STANDS_IN)
    for sql, note in (
        ("UPDATE priced SET price = 1 WHERE id = counted()", "stored function counted"),
        ("SELECT * FROM priced WHERE id = counted()", "stored function counted"),
        ("SELECT * FROM calls WHERE n = 1", "calls a stored function that does"),
        ("DROP TABLE priced", NO_VERB),
        ("SELECT * FROM missing", "no plan: "),
    ):
        found = await explained(priced, database, sql)
        assert note in found.note, (sql, found)
        assert found.plan == ()
    assert await priced.query("SELECT * FROM priced") == before


async def test_a_locked_table_holds_no_plan_up(priced: Connection, database: Target) -> None:
    """The plan waits a second at most, and leaves no lock behind."""
    async with sbtest.connected(database) as other:
        await priced.execute("LOCK TABLES priced WRITE")
        found = await explained(other, database, "SELECT * FROM priced WHERE id = 1")
        assert found.note.startswith("no plan: ")
        await priced.execute("UNLOCK TABLES")
        assert (await explained(other, database, "UPDATE priced SET price = 1 WHERE id = 1")).plan
        await priced.execute("ALTER TABLE priced COMMENT 'no lock was left'")


async def test_a_statement_of_the_digests_has_a_plan(binary: Binary, start: Starter) -> None:
    async with await start(binary, options=("--performance-schema=ON",)) as server:
        target = server.target
        async with sbtest.connected(target) as connection:
            for sql in MADE[:2]:
                await connection.execute(sql)
            await connection.query("SELECT price FROM priced WHERE price IN (10, 20) AND id > 0")
            prepared = await connection.prepare("SELECT price FROM priced WHERE id = ? AND price > ?")
            await sbtest.fetch(connection, prepared, (1, 1))
            sampler = StatementSampler(target, FakeClock(), binary.flavour)
            try:
                reading = await sampler.read()
                assert reading is not None
                for words in ("`price` IN (", "price > ?"):
                    key = next(
                        key
                        for key, sums in reading.totals.items()
                        if words.replace("`", "") in sums.text.replace("`", "") and "PREPARE" not in sums.text
                    )
                    detail = await sampler.detail(key)
                    assert detail.key == key
                    assert "priced" in detail.plan[1], detail
                    assert "20" not in detail.statement
            finally:
                await sampler.close()


async def test_a_login_without_privilege_is_told_what_it_needs(
    priced: Connection, database: Target, server: PrivateServer
) -> None:
    await priced.execute("CREATE USER 'poor'@'%' IDENTIFIED BY 'Poor-1-pw'")
    try:
        await priced.execute(f"GRANT SELECT ON `{database.database}`.calls TO 'poor'@'%'")
        poor = replace(database, user="poor", password="Poor-1-pw")
        async with sbtest.connected(poor) as connection:
            found = await explained(connection, poor, "SELECT * FROM priced")
            assert "needs the privileges of the statement itself" in found.note
    finally:
        await priced.execute("DROP USER 'poor'@'%'")
