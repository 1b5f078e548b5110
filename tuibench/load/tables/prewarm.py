"""Reads the tables of a data set into the server's buffer pool, each by all of its indexes."""

from collections.abc import Callable

from tuibench.load.tables.inspect_tables import read_catalogue
from tuibench.model.target import Target
from tuibench.mysql.session_defaults import Manner, connect_with_defaults
from tuibench.workload.datasets import build_data_set
from tuibench.workload.program.program import Program

INDEXES = (
    "SELECT DISTINCT index_name FROM information_schema.statistics "
    "WHERE table_schema = DATABASE() AND table_name = '{table}' AND index_type = 'BTREE'"
)


async def prewarm_tables(
    target: Target, program: Program, progress: Callable[[str], None]
) -> tuple[str, ...]:
    """Analyses and reads the program's existing tables; returns their names. Calls `progress` for each."""
    spec = build_data_set(program)
    connection = await connect_with_defaults(target, manner=Manner.WORKS)
    try:
        found = await read_catalogue(connection, spec)
        tables = tuple(table for table in spec.table_names() if table in found.ours)
        for table in tables:
            progress(table)
            await connection.query(f"ANALYZE TABLE {table}")
            for (index,) in await connection.query(INDEXES.format(table=table)):
                await connection.query(f"SELECT COUNT(*) FROM {table} FORCE INDEX (`{index}`)")  # noqa: S608
    finally:
        await connection.close()
    return tables
