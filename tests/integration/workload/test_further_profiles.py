"""Classic suite, YCSB, TATP, SmallBank, insert benchmark on real servers: each statement has an effect."""

from collections import Counter
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from tests.integration.support import sbtest
from tests.integration.workload.test_all_profiles import Engine
from tuibench.load.tables import check_tables_ready, prepare_tables
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection
from tuibench.servers.server import PrivateServer
from tuibench.workload import library
from tuibench.workload.program import Program, flat_statements, with_weights

FAMILIES = ("classic", "ycsb", "tatp", "smallbank", "ibench")
PROFILES = [name for name in library.available_profiles() if name.partition(".")[0] in FAMILIES]
SMALL: dict[str, dict[str, object]] = {
    "sbtest": {"tables": 2, "table_size": 300, "in_list": 5, "range_size": 10},
    "ycsb": {"records": 150},
    "tatp": {"subscribers": 40},
    "smallbank": {"accounts": 30},
    "ibench": {"table_size": 300},
}
EVENTS_OF_EACH = 25
WITHOUT_ROWS = {"classic.scan": {"scan"}}
"""Statements that are to find nothing."""


def small(name: str) -> Program:
    """A profile on small tables, with as many transactions of each kind."""
    known = library.load_profile(name)
    options = {
        option: value
        for option, value in SMALL[str(known.data_set)].items()
        if option != "in_list" or option in known.options
    }
    program = library.load_program(name, options)
    return with_weights(program, [1.0] * len(program.transactions))


@pytest.fixture
async def database(server: PrivateServer) -> AsyncIterator[Target]:
    async with sbtest.empty_database(server.target, "further") as target:
        yield target


@pytest.mark.parametrize("data_set", SMALL)
async def test_every_statement_of_every_profile_has_an_effect(database: Target, data_set: str) -> None:
    """All profiles of a data set, one after the other on the same tables."""
    names = [name for name in PROFILES if library.load_profile(name).data_set == data_set]
    await prepare_tables(database, small(names[-1]))
    missing = {}
    async with sbtest.connected(database) as connection:
        for name in names:
            program = small(name)
            await check_tables_ready(connection, program)
            idle = await statements_without_effect(connection, program)
            if idle != WITHOUT_ROWS.get(name, set()):
                missing[name] = idle
    assert missing == {}


async def statements_without_effect(connection: Connection, program: Program) -> set[str]:
    """The statements that found and changed nothing in many transactions."""
    affected: Counter[str] = Counter()
    engine = Engine(connection, program)
    for _ in range(EVENTS_OF_EACH * len(program.transactions)):
        for statement, rows in await engine.play():
            affected[statement] += rows
    wanted = {flat.name for flat in flat_statements(program)} - {"begin", "commit", "rollback"}
    return {name for name in wanted if not affected[name]}


@pytest.mark.one_flavour
async def test_smallbank_keeps_its_money(database: Target) -> None:
    """Amalgamating and sending payments move money, and make none."""
    program = small("smallbank")
    moving = with_weights(
        program, [float(each.name in ("amalgamate", "send_payment")) for each in program.transactions]
    )
    await prepare_tables(database, program)
    async with sbtest.connected(database) as connection:
        total = "SELECT (SELECT SUM(bal) FROM savings) + (SELECT SUM(bal) FROM checking)"
        before = await connection.query(total)
        engine = Engine(connection, moving)
        for _ in range(40):
            await engine.play()
        assert await connection.query(total) == before
        assert Decimal(before[0][0]) > 0


@pytest.mark.one_flavour
async def test_tatp_has_as_many_rows_as_specified(database: Target) -> None:
    program = small("tatp")
    await prepare_tables(database, program)
    async with sbtest.connected(database) as connection:
        counts = [
            int((await connection.query(f"SELECT COUNT(*) FROM {table}"))[0][0]) for table in program.tables
        ]
        orphans = await connection.query(
            "SELECT COUNT(*) FROM call_forwarding cf LEFT JOIN special_facility sf USING (s_id, sf_type) "
            "WHERE sf.s_id IS NULL"
        )
    assert counts == [40, 100, 100, 150]
    assert int(orphans[0][0]) == 0


@pytest.mark.one_flavour
async def test_the_insert_benchmark_keeps_its_size(database: Target) -> None:
    program = library.load_program("ibench.li1", {"table_size": 300, "tables": 2})
    await prepare_tables(database, program)
    async with sbtest.connected(database) as connection:
        for number in range(2):
            engine = Engine(connection, program, number)
            for _ in range(3):
                await engine.play()
        for table in ("pi1", "pi2"):
            rows = await connection.query(f"SELECT COUNT(*), MAX(transactionid) FROM {table}")
            assert [int(value) for value in rows[0]] == [300, 450]
            indexes = await connection.query(f"SHOW INDEX FROM {table}")
            assert len({row[2] for row in indexes}) == 4
