"""What is in effect on real servers: starts with the same options agree, and each unfair option is named."""

from collections.abc import Sequence

import pytest

from tests.integration.support.shared import Starter
from tuibench.features.compare.audit import audit
from tuibench.features.sweep.runner import read_surroundings
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Flavour
from tuibench.model.sweep import SweepEnvironment
from tuibench.mysql.info import connect_with_defaults
from tuibench.servers.binaries import Binary
from tuibench.workload import library
from tuibench.workload.dataset import build_data_set

UNFAIR = (
    "--innodb-doublewrite=0", "--innodb-flush-log-at-trx-commit=2", "--skip-log-bin",
    "--innodb-buffer-pool-size=512M", "--transaction-isolation=READ-COMMITTED", "--innodb-flush-method=fsync",
    "--innodb-adaptive-hash-index=ON",
)  # fmt: skip
OF_FLAVOUR = {
    Flavour.MARIADB: (
        "--innodb-log-file-size=8M",
        "--performance-schema=ON",
        "--query-cache-type=1",
        "--query-cache-size=1M",
    ),
    Flavour.MYSQL: (
        "--innodb-redo-log-capacity=8M",
        "--performance-schema-consumer-events-waits-current=ON",
    ),
}
NAMED = {
    "doublewrite", "durability", "binary log", "buffer pool", "isolation", "flush method",
    "redo log capacity", "tables' collation", "performance_schema", "table definitions", "rows",
    "table statistics", "adaptive hash index",
}  # fmt: skip


async def surroundings(
    start: Starter, binary: Binary, options: Sequence[str], rows: int, *statements: str
) -> SweepEnvironment:
    program = library.load_program("oltp_read_write", {"tables": 2, "table_size": rows})
    async with await start(binary, options=options) as server:
        await prepare_tables(server.target, program)
        connection = await connect_with_defaults(server.target)
        try:
            for statement in statements:
                await connection.query(statement)
        finally:
            await connection.close()
        return await read_surroundings(server.target, build_data_set(program).table_names())


@pytest.mark.one_flavour
async def test_unfair_options_are_named_and_equal_starts_raise_nothing(
    binary: Binary, start: Starter
) -> None:
    options = ("--log-bin=binlog", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci")
    fair = [await surroundings(start, binary, options, 300) for _ in range(2)]
    assert fair[0].environment.in_effect["table_collations"] == "utf8mb4_general_ci"
    assert 570 <= int(fair[0].environment.in_effect["rows"]) <= 630
    assert audit([[side] for side in fair]) == ()
    unfair = await surroundings(
        start,
        binary,
        (*UNFAIR, *OF_FLAVOUR[binary.flavour]),
        900,
        "ALTER TABLE sbtest2 CONVERT TO CHARACTER SET latin2, ADD KEY pad_2 (pad)",
        "DELETE FROM mysql.innodb_table_stats WHERE table_name = 'sbtest1'",
    )
    found = audit([[fair[0]], [unfair]])
    query_cache = {"query cache"} if binary.flavour is Flavour.MARIADB else set()
    assert {one.path for one in found if one.has_weight} == NAMED | query_cache
