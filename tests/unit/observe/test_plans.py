"""Plans: what is explained, with which values, and what is refused before it reaches the server."""

from collections.abc import Sequence

import pytest

from tests.tables import for_each
from tuibench.base.errors import DeniedError, SQLError
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.rows import Row
from tuibench.observe.plans import CUT_OFF, NO_VERB, STANDS_IN, explain, plan_rows, with_values


class Planner(Connection):
    """Answers EXPLAIN with a row, or with an error."""

    def __init__(self, functions: Sequence[str] = (), error: SQLError | None = None) -> None:
        super().__init__(None, Target())
        self.sent: list[str] = []
        self.functions = functions
        self.error = error

    async def query(self, sql: str) -> Sequence[Row]:
        self.sent.append(sql)
        return [(name,) for name in self.functions if f"'{name}'" in sql]

    async def query_named(self, sql: str) -> list[dict[str, object]]:
        self.sent.append(sql)
        if self.error is not None:
            raise self.error
        return [{"id": 1, "table": "t", "rows": 0, "key": None, "odd": 5}]

    def quote(self, value: object) -> str:
        return f"'{value}'"

    @property
    def explained(self) -> list[str]:
        return [sql for sql in self.sent if sql.startswith("EXPLAIN")]


@for_each(
    ("sql", "filled", "stands_in"),
    [
        ("SELECT a FROM t WHERE id=?", "SELECT a FROM t WHERE id=1", True),
        ("SELECT a FROM t", "SELECT a FROM t", False),
        ("SELECT a FROM t WHERE b='?'", "SELECT a FROM t WHERE b='?'", False),
        ("SELECT `a` FROM `t` WHERE `id` IN (...)", "SELECT `a` FROM `t` WHERE `id` IN (1)", True),
        ("DELETE FROM t WHERE id IN (?, …)", "DELETE FROM t WHERE id IN (1)", True),
        ("INSERT INTO `t` VALUES (...) /* , ... */", "INSERT INTO `t` VALUES (1)", True),
    ],
)
def test_a_value_that_is_not_known_is_1(sql: str, filled: str, stands_in: bool) -> None:
    text, did = with_values(sql)
    assert (text.strip(), did) == (filled, stands_in)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE t",
        "CALL p()",
        "SELECT 1; DROP TABLE t",
        "SELECT a FROM t INTO OUTFILE '/tmp/x'",
        "ANALYZE SELECT 1",
        "EXPLAIN ANALYZE SELECT 1",
        "BEGIN",
        "COMMIT",
        "SET STATEMENT max_statement_time=0 FOR DELETE FROM t",
        "SELECT /*!50000 SLEEP(9) */ 1",
    ],
)
@pytest.mark.parametrize("flavour", Flavour)
async def test_only_reads_and_writes_of_rows_are_explained(sql: str, flavour: Flavour) -> None:
    server = Planner()
    assert (await explain(server, flavour, sql, "shop")).note == NO_VERB
    assert server.sent == []


@pytest.mark.parametrize("sql", ["SELECT a FROM t WHERE b = 'lo…", "SELECT a FROM ..."])
async def test_the_beginning_of_a_statement_has_no_plan(sql: str) -> None:
    server = Planner()
    assert (await explain(server, Flavour.MYSQL, sql, "")).note == CUT_OFF
    assert server.sent == []


async def test_a_plan_of_a_read_is_made_in_a_read_only_transaction_of_its_database() -> None:
    server = Planner()
    found = await explain(server, Flavour.MYSQL, "SELECT a FROM t WHERE id = ?;", "a`b")
    assert found.plan == (("id", "table", "key", "rows"), ("1", "t", "", "0"))
    assert found.note == STANDS_IN
    assert server.sent[-4:] == [
        "USE `a``b`",
        "START TRANSACTION READ ONLY",
        "EXPLAIN FORMAT=TRADITIONAL SELECT a FROM t WHERE id = 1",
        "ROLLBACK",
    ]


@pytest.mark.parametrize("verb", ["UPDATE t SET a = 1", "DELETE FROM t", "INSERT INTO t SET a = 1"])
async def test_a_write_is_rolled_back_although_it_is_not_executed(verb: str) -> None:
    server = Planner()
    assert (await explain(server, Flavour.MARIADB, verb, "")).note == ""
    assert server.sent[-3:] == ["START TRANSACTION", f"EXPLAIN {verb}", "ROLLBACK"]


@pytest.mark.parametrize("call", ["price(1)", "`price` (1)", "shop.PRICE(1)"])
async def test_a_stored_function_is_not_executed(call: str) -> None:
    server = Planner(functions=["price"])
    found = await explain(server, Flavour.MARIADB, f"DELETE FROM t WHERE id = {call}", "")
    assert "stored function price" in found.note
    assert server.explained == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DeniedError(1142, "SELECT command denied"), "needs the privileges"),
        (SQLError(1792, "Cannot execute"), "calls a stored function that does"),
        (SQLError(1146, "no such table"), "no plan: no such table (error 1146)"),
    ],
)
async def test_an_error_is_said_and_the_transaction_ends(error: SQLError, words: str) -> None:
    server = Planner(error=error)
    found = await explain(server, Flavour.MYSQL, "SELECT a FROM t", "")
    assert words in found.note
    assert found.plan == ()
    assert server.sent[-1] == "ROLLBACK"


def test_no_rows_are_no_plan() -> None:
    assert plan_rows([]) == ()
