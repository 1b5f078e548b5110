"""How the rows of a data set are shared out to connections: pure arithmetic, no I/O."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tuibench.workload.datasets import DataSet


class Piece(NamedTuple):
    """Rows of one table for one connection: ids from `first`, `rows` of them."""

    table: str
    first: int
    rows: int


def pieces_of(spec: DataSet, parallel: int) -> list[Piece]:
    """The rows of a data set in pieces, those of one table after the other."""
    names = spec.table_names()
    if not any(map(spec.piece_rows, names)):
        return pieces(names, spec.size(names[0]), parallel)
    return [piece for name in names for piece in _in_steps(name, spec.size(name), spec.piece_rows(name))]


def _in_steps(table: str, size: int, step: int) -> list[Piece]:
    return [
        Piece(table, first, min(step, size + 1 - first)) for first in range(1, max(size, 1) + 1, step or size)
    ]


def pieces(tables: Sequence[str], table_size: int, parallel: int) -> list[Piece]:
    """Whole tables as long as all connections have one; the last tables are cut so that none stands idle.

    Ten tables on four connections: eight whole ones, and the last two in two halves each. Empty tables are
    one piece without rows.
    """
    whole = len(tables) // parallel * parallel
    rest = len(tables) - whole
    cuts = -(-parallel // rest) if rest else 1
    parts = [Piece(table, 1, table_size) for table in tables[:whole]]
    for table in tables[whole:]:
        parts += _cut(table, table_size, max(1, min(cuts, table_size)))
    return parts


def _cut(table: str, table_size: int, cuts: int) -> list[Piece]:
    edges = [table_size * cut // cuts for cut in range(cuts + 1)]
    return [Piece(table, low + 1, high - low) for low, high in pairwise(edges)]
