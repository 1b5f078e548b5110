"""Cleanup: dropping the tables of a data set, identified by names and columns."""

from collections.abc import Callable

import msgspec

from tuibench.load.tables.inspect_tables import read_catalogue
from tuibench.model.target import Target
from tuibench.mysql.info import READ_ONLY_BYPASS_WARNING, is_read_only
from tuibench.mysql.session_defaults import Manner, connect_with_defaults
from tuibench.workload.datasets import build_data_set
from tuibench.workload.program.program import Program


class CleanupResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a cleanup.

    `foreign` have the data set's names but other columns, and were kept; `missing` did not exist; `others`
    are tables beyond the requested number, and were kept, too.
    """

    dropped: tuple[str, ...]
    foreign: tuple[str, ...]
    missing: tuple[str, ...]
    others: tuple[str, ...]


async def drop_tables(
    target: Target, program: Program, warn: Callable[[str], None] | None = None
) -> CleanupResult:
    """Drops the program's tables that have the names and columns of its data set.

    `warn` is called with reasons against dropping them.
    """
    spec = build_data_set(program)
    names = spec.table_names()
    connection = await connect_with_defaults(target, manner=Manner.WORKS)
    try:
        found = await read_catalogue(connection, spec)
        dropped = tuple(table for table in names if table in found.ours)
        for table in dropped:
            await connection.execute(f"DROP TABLE {table}")
        if dropped and warn is not None and await is_read_only(connection):
            warn(READ_ONLY_BYPASS_WARNING)
    finally:
        await connection.close()
    foreign = tuple(table for table in names if table in found.foreign)
    return CleanupResult(
        dropped=dropped,
        foreign=foreign,
        missing=tuple(table for table in names if table not in found.ours and table not in found.foreign),
        others=tuple(sorted(found.ours.difference(names), key=lambda table: (len(table), table))),
    )
