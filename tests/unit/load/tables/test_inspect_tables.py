"""The catalogue of a data set's tables on a server that refuses information_schema."""

from collections.abc import Sequence

import pytest

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.tables.inspect_tables import read_catalogue
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, Row
from tuibench.workload import library
from tuibench.workload.datasets import build_data_set

SPEC = build_data_set(library.load_program("oltp_read_write", {"tables": 2, "table_size": 10}))


class Scripted(Connection):
    """Refuses information_schema with one error; `missing` and `foreign` tables with those of a SELECT."""

    def __init__(self, refusal: SQLError, missing: str = "", foreign: str = "") -> None:
        super().__init__(None, Target())
        self.refusal = refusal
        self.received: list[str] = []
        self._missing, self._foreign = missing, foreign

    async def query(self, sql: str) -> Sequence[Row]:
        self.received.append(sql)
        if "information_schema" in sql:
            raise self.refusal
        if self._missing and f"FROM {self._missing} " in sql:
            raise SQLError(1146, f"Table '{self._missing}' doesn't exist")
        if self._foreign and f"FROM {self._foreign} " in sql:
            raise SQLError(1054, "Unknown column 'k'")
        return []


@pytest.mark.parametrize("code", [1064, 1105, 1109, 1146, 1235])
async def test_without_information_schema_the_tables_are_tried(code: int) -> None:
    connection = Scripted(SQLError(code, "unknown here"), foreign="sbtest2")
    found = await read_catalogue(connection, SPEC)
    assert (found.ours, found.foreign) == (frozenset({"sbtest1"}), frozenset({"sbtest2"}))


async def test_a_table_that_is_missing_is_neither() -> None:
    found = await read_catalogue(Scripted(SQLError(1109, "unknown here"), missing="sbtest1"), SPEC)
    assert (found.ours, found.foreign) == (frozenset({"sbtest2"}), frozenset())


@pytest.mark.parametrize(
    "refusal",
    [
        SQLError(3024, "maximum statement execution time exceeded"),
        SQLError(1114, "The table '/tmp/#sql1' is full"),
        ConnectionLostError(2013, "connection lost"),
    ],
)
async def test_any_other_error_reaches_the_operator(refusal: SQLError) -> None:
    connection = Scripted(refusal)
    with pytest.raises(type(refusal)) as caught:
        await read_catalogue(connection, SPEC)
    assert caught.value is refusal
    assert len(connection.received) == 1
