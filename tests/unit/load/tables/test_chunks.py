"""How rows are shared out to connections."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from tuibench.load.tables.loader import RowChunk, split_into_chunks


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
