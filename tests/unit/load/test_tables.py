"""Tables of a load: chunks, consistency, inspection."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.base.errors import ConnectionLostError, RunError, SQLError
from tuibench.load.conditions import Condition, ConditionOutcome, check_condition
from tuibench.load.tables import (
    FoundTables,
    RowChunk,
    check_tables_present,
    read_catalogue,
    split_into_chunks,
)
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.rows import Row
from tuibench.workload import library
from tuibench.workload.dataset import build_data_set

# How rows are shared out to connections.


@given(tables=st.integers(1, 30), size=st.integers(1, 500), parallel=st.integers(1, 40))
def test_every_row_belongs_to_one_piece(tables: int, size: int, parallel: int) -> None:
    names = [f"sbtest{number}" for number in range(1, tables + 1)]
    rows: dict[str, list[int]] = defaultdict(list)
    for piece in split_into_chunks(names, size, parallel):
        assert piece.rows > 0
        rows[piece.table] += range(piece.first, piece.first + piece.rows)
    assert {table: sorted(ids) for table, ids in rows.items()} == {
        table: list(range(1, size + 1)) for table in names
    }


@given(tables=st.integers(1, 30), parallel=st.integers(1, 40))
def test_every_connection_has_work_to_the_end(tables: int, parallel: int) -> None:
    """As many pieces as connections or more, and no piece is longer than a table."""
    names = [f"sbtest{number}" for number in range(1, tables + 1)]
    assert len(split_into_chunks(names, 1000, parallel)) >= parallel


def test_whole_tables_come_first() -> None:
    assert split_into_chunks(["sbtest1", "sbtest2", "sbtest3"], 10, 2) == [
        RowChunk("sbtest1", 1, 10),
        RowChunk("sbtest2", 1, 10),
        RowChunk("sbtest3", 1, 5),
        RowChunk("sbtest3", 6, 5),
    ]


def test_an_empty_table_is_a_piece_to_make() -> None:
    assert split_into_chunks(["sbtest1"], 0, 4) == [RowChunk("sbtest1", 1, 0)]


def test_one_table_is_cut_for_all() -> None:
    assert [piece.rows for piece in split_into_chunks(["sbtest1"], 10, 4)] == [2, 3, 2, 3]


# What becomes of a condition that a command of the server decides.


SERVER = Condition(name="server", description="fine", differing="", about="remark", command="CHECK TABLE t")


class Answering:
    """A connection that gives the same rows to every question."""

    def __init__(self, *texts: str) -> None:
        self._rows = [{"Table": "t", "Msg_type": "status", "Msg_text": text} for text in texts]
        self.asked: list[str] = []

    async def query_named(self, sql: str) -> list[dict[str, Any]]:
        self.asked.append(sql)
        return self._rows


@pytest.mark.parametrize(
    ("texts", "outcome", "message"),
    [
        (("OK",), ConditionOutcome.HOLDS, ""),
        (("OK", "OK"), ConditionOutcome.HOLDS, ""),
        (
            ("OK", "Corrupt"),
            ConditionOutcome.BROKEN,
            "1 remark: Table t, Msg_type status, Msg_text Corrupt",
        ),
    ],
)
async def test_a_commands_rows_end_in_what_it_found(
    texts: tuple[str, ...], outcome: ConditionOutcome, message: str
) -> None:
    connection = Answering(*texts)
    verdict = await check_condition(cast(Connection, connection), SERVER)
    assert (verdict.outcome, verdict.message) == (outcome, message)
    assert connection.asked == ["CHECK TABLE t"]


# The catalogue of a data set's tables on a server that refuses information_schema.


PROGRAM = library.load_program("oltp_read_write", {"tables": 2, "table_size": 10})
SPEC = build_data_set(PROGRAM)


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
    assert found == FoundTables(frozenset({"sbtest1"}), frozenset({"sbtest2"}), {})


async def test_a_table_that_is_missing_is_neither() -> None:
    found = await read_catalogue(Scripted(SQLError(1109, "unknown here"), missing="sbtest1"), SPEC)
    assert found == FoundTables(frozenset({"sbtest2"}), frozenset(), {})


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


# Tables of other tools and servers.


OWN = (("id", "int", "auto_increment"), ("k", "int", ""), ("c", "char(120)", ""), ("pad", "char(60)", ""))
Columns = Sequence[tuple[str, str, str]]


class Listed(Connection):
    """A server whose catalogue has these tables: kind, options, and columns with type and extra."""

    def __init__(self, tables: dict[str, tuple[str, str, Columns]]) -> None:
        super().__init__(None, Target(host="db", database="sbtest"))
        self._rows = [
            (name, kind, options, *column)
            for name, (kind, options, columns) in tables.items()
            for column in columns
        ]

    async def query(self, sql: str) -> Sequence[Row]:
        return self._rows


@pytest.mark.parametrize(
    "columns",
    [
        OWN,
        [("id", "int(11)", "auto_increment"), *OWN[1:]],
        [("my_row_id", "bigint unsigned", "auto_increment INVISIBLE"), *OWN],
        [("row_no", "bigint(20)", "INVISIBLE"), *OWN],
        [("number", "int", "auto_increment"), ("id", "int", ""), *OWN[1:]],
    ],
)
async def test_columns_that_the_server_fills_make_no_other_table(columns: Columns) -> None:
    found = await read_catalogue(Listed({"sbtest1": ("BASE TABLE", "", columns)}), SPEC)
    assert found == FoundTables(frozenset({"sbtest1"}), frozenset(), {})


@pytest.mark.parametrize(
    ("kind", "options", "columns", "remark"),
    [
        ("BASE TABLE", "", [("id", "int(10) unsigned", ""), *OWN[1:]], "id is int unsigned"),
        ("BASE TABLE", "", [("id", "bigint", ""), *OWN[1:]], "id is bigint"),
        ("BASE TABLE", "", [*OWN[:2], ("c", "varchar(200)", ""), OWN[3]], "c is varchar(200)"),
        ("BASE TABLE", "", [("ID", "int", ""), *OWN[1:]], "ID is int"),
        ("SYSTEM VERSIONED", "", OWN, "it is system-versioned"),
        (
            "SYSTEM VERSIONED",
            "partitioned",
            [OWN[0], ("k", "bigint", ""), *OWN[2:]],
            "k is bigint, it is system-versioned, it is partitioned",
        ),
    ],
)
async def test_a_run_uses_tables_of_others_and_says_so_but_does_not_own_them(
    kind: str, options: str, columns: Columns, remark: str
) -> None:
    connection = Listed({"sbtest1": (kind, options, columns), "sbtest2": ("BASE TABLE", "", OWN)})
    found = await read_catalogue(connection, SPEC)
    assert found == FoundTables(frozenset({"sbtest2"}), frozenset({"sbtest1"}), {"sbtest1": remark})
    assert (await check_tables_present(connection, PROGRAM)).endswith(
        f"affects the figures: sbtest1: {remark}"
    )


async def test_our_own_table_in_partitions_is_told_and_ours() -> None:
    connection = Listed({f"sbtest{number}": ("BASE TABLE", "partitioned", OWN) for number in (1, 2)})
    found = await read_catalogue(connection, SPEC)
    assert found.ours == {"sbtest1", "sbtest2"}
    assert (await check_tables_present(connection, PROGRAM)).endswith("sbtest1, sbtest2: it is partitioned")


@pytest.mark.parametrize(
    "columns",
    [
        OWN[:3],
        [*OWN, ("more", "int", "")],
        [("id", "smallint", ""), *OWN[1:]],
        [*OWN[:2], ("c", "char(20)", ""), OWN[3]],
        [*OWN[:2], ("c", "blob", ""), OWN[3]],
        [OWN[0], ("k", "varchar(20)", ""), *OWN[2:]],
    ],
)
async def test_tables_whose_columns_take_other_values_are_refused(columns: Columns) -> None:
    connection = Listed({"sbtest1": ("BASE TABLE", "", columns), "sbtest2": ("BASE TABLE", "", OWN)})
    with pytest.raises(
        RunError, match="sbtest1 in the database 'sbtest' does not have the columns of sbtest"
    ):
        await check_tables_present(connection, PROGRAM)


async def test_a_run_of_more_tables_than_there_are_is_told_to_use_those() -> None:
    program = library.load_program("oltp_read_write", {"tables": 9, "table_size": 10})
    four = Listed({f"sbtest{number}": ("BASE TABLE", "", OWN) for number in range(1, 5)})
    with pytest.raises(RunError, match="sbtest5, sbtest6") as refused:
        await check_tables_present(four, program)
    assert (refused.value.hint or "").startswith("4 of 9 exist: run with --tables=4, or drop them with: ")
    others = Listed({f"sbtest{number}": ("BASE TABLE", "", OWN) for number in (1, 3)})
    with pytest.raises(RunError) as refused:
        await check_tables_present(others, program)
    assert "--tables=2" not in (refused.value.hint or ""), "sbtest2 is missing"


async def test_a_view_is_no_table() -> None:
    found = await read_catalogue(Listed({"sbtest1": ("VIEW", "", OWN)}), SPEC)
    assert found == FoundTables(frozenset(), frozenset({"sbtest1"}), {})
