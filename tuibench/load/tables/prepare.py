"""Prepare: creating and loading the tables of a data set, unless one exists already."""

from collections.abc import Callable
from functools import partial

import msgspec

from tuibench.load.tables.insert_methods import InsertMethod
from tuibench.load.tables.inspect_tables import check_tables_absent, cleanup_line, database_hint
from tuibench.load.tables.loader import LoadOptions, LoadProgress, TableLoader
from tuibench.model.target import Target
from tuibench.mysql.errors import NoDatabaseError
from tuibench.mysql.info import READ_ONLY_BYPASS_WARNING, is_read_only, server_value
from tuibench.mysql.session_defaults import connect_with_defaults
from tuibench.workload.datasets import build_data_set
from tuibench.workload.program.program import Program

LEAST_PACKET_BYTES = 1 << 20
"""max_allowed_packet if the server does not report it: the smallest default of all servers."""


class PrepareResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result: rows, insert method, and the time including indexes."""

    tables: int
    rows: int
    seconds: float
    insert_method: InsertMethod = "auto"

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0


async def prepare_tables(
    target: Target,
    program: Program,
    *,
    method: LoadOptions | None = None,
    parallel: int = 4,
    progress: Callable[[LoadProgress], None] | None = None,
    create_database: bool = False,
    warn: Callable[[str], None] | None = None,
) -> PrepareResult:
    """Creates and fills the tables of a program on the first server of a target.

    `method` defaults to the fastest insert method over `parallel` connections. `warn` is called, after the
    first table was created, with reasons against loading. Raises RunError, with the fix, if a table exists
    already. On failure or cancellation, unfinished tables are dropped.
    """
    if create_database:
        await ensure_database(target)
    try:
        first = await connect_with_defaults(target)
    except NoDatabaseError as error:
        error.hint = database_hint(program, target)
        raise
    try:
        await check_tables_absent(first, program)
        limit = int(await server_value(first, "max_allowed_packet") or LEAST_PACKET_BYTES)
        read_only = await is_read_only(first)
    finally:
        await first.close()
    spec = build_data_set(program)
    load = TableLoader(
        target, spec, method or LoadOptions(parallel=parallel), limit, progress or (lambda _: None)
    )
    load.cleanup = cleanup_line(program, target)
    if read_only and warn is not None:
        load.accepted = partial(warn, READ_ONLY_BYPASS_WARNING)
    await load.run()
    return PrepareResult(
        tables=len(spec.table_names()), rows=load.rows, seconds=load.seconds, insert_method=load.insert_method
    )


async def ensure_database(target: Target) -> None:
    """Creates the target's database unless it exists."""
    connection = await connect_with_defaults(target, use_database=False)
    try:
        name = target.database.replace("`", "``")
        await connection.execute(f"CREATE DATABASE IF NOT EXISTS `{name}`")
    finally:
        await connection.close()
