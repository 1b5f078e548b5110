"""Dropping the tables of a data set, and none that only look like it."""

from collections.abc import Callable

import msgspec

from tuibench.load.prepare_check import catalogue
from tuibench.model.target import Target
from tuibench.mysql.own import connect_own
from tuibench.mysql.readonly import ABOVE_READ_ONLY, is_read_only
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program


class CleanupResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the tables.

    `foreign` have the data set's names but other columns, and were left; `missing` were not there; `others`
    are tables beyond the number that was asked for, and were left, too.
    """

    dropped: tuple[str, ...]
    foreign: tuple[str, ...]
    missing: tuple[str, ...]
    others: tuple[str, ...]


async def cleanup(
    target: Target, program: Program, warn: Callable[[str], None] | None = None
) -> CleanupResult:
    """Drops the program's tables that are its data set's by name and columns.

    `warn` hears why some had perhaps better stayed.
    """
    spec = data_set(program)
    names = spec.table_names()
    connection = await connect_own(target)
    try:
        found = await catalogue(connection, spec)
        dropped = tuple(table for table in names if table in found.ours)
        for table in dropped:
            await connection.execute(f"DROP TABLE {table}")
        if dropped and warn is not None and await is_read_only(connection):
            warn(ABOVE_READ_ONLY)
    finally:
        await connection.close()
    foreign = tuple(table for table in names if table in found.foreign)
    return CleanupResult(
        dropped=dropped,
        foreign=foreign,
        missing=tuple(table for table in names if table not in found.ours and table not in found.foreign),
        others=tuple(sorted(found.ours.difference(names), key=lambda table: (len(table), table))),
    )
