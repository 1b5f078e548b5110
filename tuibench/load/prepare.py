"""Making the tables of a data set: refused when any of them exists, else loaded in parallel."""

from collections.abc import Callable
from functools import partial

import msgspec

from tuibench.load.prepare_check import check_free
from tuibench.load.prepare_load import Load, Method, Progress
from tuibench.load.prepare_ways import Way
from tuibench.model.target import Target
from tuibench.mysql.own import connect_own
from tuibench.mysql.readonly import ABOVE_READ_ONLY, is_read_only
from tuibench.workload.datasets import data_set
from tuibench.workload.program import Program


class PrepareResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was loaded, which way, and how long it took with its indexes."""

    tables: int
    rows: int
    seconds: float
    way: Way = "auto"

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0


async def prepare(
    target: Target,
    program: Program,
    *,
    method: Method | None = None,
    parallel: int = 4,
    progress: Callable[[Progress], None] | None = None,
    create_database: bool = False,
    warn: Callable[[str], None] | None = None,
) -> PrepareResult:
    """Makes and fills the tables of a program on the first server of a target.

    `method` tells how; without one, the quickest way over `parallel` connections.
    `warn` hears, once the first table is made, why it had perhaps better not be.

    Raises RunError when one of them exists already, and says what to do about it. When the load fails or is
    cancelled, the tables it has not finished are dropped again.
    """
    if create_database:
        await make_database(target)
    first = await connect_own(target)
    try:
        await check_free(first, program)
        limit = int((await first.query("SELECT @@max_allowed_packet"))[0][0])
        read_only = await is_read_only(first)
    finally:
        await first.close()
    spec = data_set(program)
    load = Load(target, spec, method or Method(parallel=parallel), limit, progress or (lambda _: None))
    if read_only and warn is not None:
        load.accepted = partial(warn, ABOVE_READ_ONLY)
    await load.run()
    return PrepareResult(tables=len(spec.table_names()), rows=load.rows, seconds=load.seconds, way=load.way)


async def make_database(target: Target) -> None:
    """Makes the target's database unless it is there."""
    connection = await connect_own(target, use_database=False)
    try:
        name = target.database.replace("`", "``")
        await connection.execute(f"CREATE DATABASE IF NOT EXISTS `{name}`")
    finally:
        await connection.close()
