"""TPC-C on real servers: the tables that are loaded, the conditions that must hold, each of them broken."""

import signal
from collections.abc import AsyncIterator, Iterable
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import eventually_asked, finished, started, tuibench
from tests.integration.workload import tpcc
from tuibench.base.errors import RunError
from tuibench.load.conditions import (
    PARALLEL_CHECKS,
    ConditionOutcome,
    ConditionResult,
    check_condition,
    check_consistency,
    conditions_of,
)
from tuibench.load.tables import LoadOptions, check_tables_ready, drop_tables, prepare_tables
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.mysql.connection import Connection
from tuibench.servers.server import PrivateServer

EVENTS = 300
"""Enough for some remote lines and deadlocks."""

TABLES = {
    "warehouse": 2,
    "district": 20,
    "customer": 800,
    "history": 800,
    "orders": 800,
    "new_order": 240,
    "order_line": 20 * sum(5 + order % 11 for order in range(40)),
    "stock": 200,
    "item": 100,
}


@pytest.fixture
async def loaded(server: PrivateServer) -> AsyncIterator[Target]:
    """Two small warehouses, gone afterwards."""
    async with sbtest.empty_database(server.target, "tpcc") as target:
        await prepare_tables(target, tpcc.small(), method=LoadOptions(parallel=3))
        yield target


async def contradictions(connection: Connection) -> set[str]:
    """The conditions that do not hold, as the tests count them."""
    counts = {name: await connection.query(sql) for name, sql in tpcc.contradictions().items()}
    return {name for name, ((count,),) in counts.items() if count}


def broken(verdicts: Iterable[ConditionResult]) -> set[str]:
    return {verdict.condition for verdict in verdicts if verdict.outcome is ConditionOutcome.BROKEN}


async def test_each_condition_holds_after_the_load_and_is_broken_by_damage(loaded: Target) -> None:
    program = tpcc.small()
    assert {verdict.outcome for verdict in await check_consistency(loaded, program)} == {
        ConditionOutcome.HOLDS
    }
    async with sbtest.connected(loaded) as connection:
        assert await contradictions(connection) == set()
        for name, damage in tpcc.damage().items():
            await connection.execute("BEGIN")
            assert await connection.execute(damage) >= 1
            expected = await contradictions(connection)
            assert name in expected
            seen = [
                await check_condition(connection, each, after_load=True) for each in conditions_of(program)
            ]
            assert broken(seen) == expected
            await connection.execute("ROLLBACK")
        await connection.execute("UPDATE district SET d_ytd = d_ytd - 1, d_next_o_id = 9 WHERE d_id = 10")
    told = {verdict.condition: verdict for verdict in await check_consistency(loaded, program)}
    assert told["1"].message == "2 warehouses: w_id 1, w_ytd 4000.00, sum_d_ytd 3999.00"
    assert told["2"].example["d_next_o_id"] == "9"
    assert told["11"].outcome is ConditionOutcome.SKIPPED


@pytest.mark.parametrize("insert_method", ["bulk", "infile", "insert"])
async def test_what_is_loaded_is_what_the_specification_says(
    server: PrivateServer, insert_method: str
) -> None:
    if insert_method == "bulk" and server.binary.flavour == "MySQL":
        pytest.skip("MySQL has no bulk statements")
    program = tpcc.small(foreign_keys=insert_method == "insert")
    async with (
        sbtest.empty_database(server.target, "tpcc") as target,
        sbtest.connected(target) as connection,
        sbtest.set_global(connection, "local_infile", "ON"),
    ):
        options = LoadOptions(parallel=3, insert_method=insert_method)  # type: ignore[arg-type]
        made = await prepare_tables(target, program, method=options)
        assert (made.tables, made.rows, made.insert_method) == (9, sum(TABLES.values()), insert_method)
        assert await check_tables_ready(connection, program) == ""
        for table, rows in TABLES.items():
            assert await connection.query(f"SELECT COUNT(*) FROM {table}") == ((rows,),)
        assert await contradictions(connection) == set()
        await _look_at_values(connection)
        assert await check_tables_ready(connection, tpcc.small(warehouses=1)) == (
            "there are 2 warehouses, this run uses 1: --warehouses=2 uses all"
        )
        with pytest.raises(RunError, match="the tables already exist: 2 warehouses, smaller"):
            await prepare_tables(target, program)
        with pytest.raises(RunError, match="exists, but not 3 warehouses"):
            await prepare_tables(target, tpcc.small(warehouses=3))
        with pytest.raises(RunError, match=r"warehouse in .* has 2 warehouses, this run needs 3"):
            await check_tables_ready(connection, tpcc.small(warehouses=3))
        with pytest.raises(RunError, match=r"item in .* has 100 items, this run needs 100,000"):
            await check_tables_ready(connection, tpcc.small(items=100_000))
        assert len((await drop_tables(target, program)).dropped) == 9
        assert await sbtest.tables(target) == []


async def _look_at_values(connection: Connection) -> None:
    """Values that tell whether columns came where they belong, in every way of loading."""
    (w,) = await connection.query("SELECT * FROM warehouse WHERE w_id = 2")
    assert (w[0], w[-1], len(w[5]), w[6][4:]) == (2, Decimal("4000.00"), 2, "11111")
    assert 0 <= w[7] <= Decimal("0.2")
    (d,) = await connection.query("SELECT * FROM district WHERE d_w_id = 2 AND d_id = 10")
    assert (d[0], d[1], d[-2:]) == (10, 2, (Decimal("400.00"), 41))
    customer = (
        "SELECT COUNT(*), COUNT(DISTINCT c_last), MIN(LENGTH(c_data)), MAX(LENGTH(c_data)) FROM customer"
    )
    ((count, names, shortest, longest),) = await connection.query(
        f"{customer} WHERE c_credit IN ('GC', 'BC')"
    )
    assert (count, names) == (800, 40)
    assert 300 <= shortest < 330 < 470 < longest <= 500
    (line,) = await connection.query(
        "SELECT COUNT(*), MIN(ol_amount), MAX(ol_amount), COUNT(DISTINCT ol_dist_info), "
        "MIN(LENGTH(ol_dist_info)) FROM order_line WHERE ol_delivery_d IS NULL"
    )
    assert line[0] == line[3]
    assert line[1] >= Decimal("0.01")
    assert Decimal("9000") < line[2] <= Decimal("9999.99")
    assert line[4] == 24
    (stock,) = await connection.query(
        "SELECT MIN(s_quantity), MAX(s_quantity), MIN(LENGTH(s_dist_10)) FROM stock"
    )
    assert 10 <= stock[0] < 13 < 97 < stock[1] <= 100
    assert stock[2] == 24
    original = await connection.query("SELECT COUNT(*) FROM stock WHERE s_data LIKE '%ORIGINAL%'")
    assert 8 <= original[0][0] <= 40


async def test_check_is_a_command(any_server: PrivateServer) -> None:
    options = [f"--{name.replace('_', '-')}={value}" for name, value in tpcc.SMALL.items()]
    async with sbtest.empty_database(any_server.target, "tpcc") as target:
        missing = tuibench("check", "tpcc", *options, target=target)
        assert (missing.code, missing.out) == (1, "")
        assert "create the tables with: tuibench prepare tpcc --warehouses=2" in missing.err
        await prepare_tables(target, tpcc.small())
        good = tuibench("check", "tpcc", *options, target=target)
        assert (good.code, good.err) == (0, "")
        assert good.out.splitlines()[-1] == "12 conditions: 12 hold"
        async with sbtest.connected(target) as connection:
            await connection.execute(tpcc.damage()["6"])
        bad = tuibench("check", "tpcc", "--format=json", *options, target=target)
        assert bad.code == 1
        assert '"condition": "6"' in bad.out
        assert '"o_id": "9"' in bad.out


async def test_a_check_that_is_interrupted_asks_no_more(any_server: PrivateServer) -> None:
    """A lock holds it up; Ctrl-C ends it at once, and what it asked the server."""
    options = [f"--{name.replace('_', '-')}={value}" for name, value in tpcc.SMALL.items()]
    asking = "SELECT COUNT(*) > 0 FROM information_schema.processlist WHERE info LIKE '%FROM%order_line%'"
    asking += " AND state LIKE 'Waiting for table%' AND id <> CONNECTION_ID()"
    async with sbtest.empty_database(any_server.target, "tpcc") as target:
        await prepare_tables(target, tpcc.small())
        async with sbtest.connected(target) as holder:
            await holder.execute("LOCK TABLES order_line WRITE")
            with started("check", "tpcc", *options, target=target) as process:
                assert await eventually_asked(any_server.target, asking, (1,))
                process.send_signal(signal.SIGINT)
                ended = finished(process)
            assert (ended.code, ended.out, ended.err) == (130, "", "")
            assert await eventually_asked(any_server.target, asking, (0,))


async def test_how_far_a_check_is_can_be_seen(any_server: PrivateServer) -> None:
    seen: list[tuple[int, int, tuple[str, ...]]] = []
    async with sbtest.empty_database(any_server.target, "tpcc") as target:
        await prepare_tables(target, tpcc.small())
        verdicts = await check_consistency(target, tpcc.small(), progress=lambda *now: seen.append(now))
    names = [str(number) for number in range(1, 13)]
    assert [verdict.condition for verdict in verdicts] == names
    assert (seen[0][0], seen[0][2]) == (0, ("1",))
    assert seen[-1] == (12, 12, ())
    assert max(len(under_way) for _, _, under_way in seen) == PARALLEL_CHECKS
    assert seen == sorted(seen, key=lambda now: now[0])


@pytest.mark.one_flavour
@pytest.mark.parametrize("note", ["not audited", "not audited, batched"])
async def test_conditions_hold_after_a_run_with_deadlocks(loaded: Target, tmp_path: Path, note: str) -> None:
    """A hundred items and two warehouses for 16 connections: they meet each other without any help."""
    options = [f"--{name.replace('_', '-')}={value}" for name, value in tpcc.SMALL.items()]
    home = {"TUIBENCH_HOME": str(tmp_path)}
    how = ["--threads=16", "--any-warehouse", f"--events={EVENTS}", "--time=20", "--rand-seed=1"]
    how += ["--report-interval=0", "--json=-", *["--batch"] * ("batched" in note)]
    async with (
        sbtest.connected(loaded) as connection,
        sbtest.set_global(connection, "innodb_flush_log_at_trx_commit", "0"),
        sbtest.set_global(connection, "sync_binlog", "0"),
    ):
        ran = tuibench("run", "tpcc", *options, *how, target=loaded, env=home)
    assert ran.code == 0, ran.err
    assert f"tpmC ({note}):" in ran.err
    assert "Transactions (ms):" in ran.err
    summary = msgspec.json.decode(ran.out, type=Summary)
    kinds = summary.by_transaction
    assert list(kinds) == ["new_order", "payment", "order_status", "delivery", "stock_level"]
    done = sum(kind.count for kind in kinds.values())
    assert done == summary.transactions.total
    assert summary.failed == 0
    assert sum(kind.retries for kind in kinds.values()) == summary.retries == summary.errors.total
    if note == "not audited":  # batched, all lock rows in the same order
        assert summary.retries > 0
    assert summary.headline is not None
    assert summary.headline.note == note
    assert summary.headline.value == pytest.approx(kinds["new_order"].count / summary.seconds * 60)
    assert summary.reconciliation.foreign == 0
    verdicts = await check_consistency(loaded, tpcc.small())
    assert broken(verdicts) == set()
    assert [verdict.condition for verdict in verdicts if verdict.outcome is ConditionOutcome.SKIPPED] == [
        "11"
    ]
    async with sbtest.connected(loaded) as connection:
        assert await contradictions(connection) <= {"11"}
        committed = kinds["new_order"].count - kinds["new_order"].rolled_back
        assert await connection.query("SELECT COUNT(*) FROM orders") == ((800 + committed,),)
        assert await connection.query("SELECT COUNT(*) FROM history") == ((800 + kinds["payment"].count,),)
        remote = "SELECT COUNT(*) FROM order_line WHERE ol_supply_w_id <> ol_w_id"
        assert (await connection.query(remote))[0][0] > 0
        away = "SELECT COUNT(*) FROM history WHERE h_c_w_id <> h_w_id"
        assert (await connection.query(away))[0][0] > 0
        taken = await connection.query("SELECT SUM(s_order_cnt), SUM(s_remote_cnt) FROM stock")
        lines = await connection.query(f"SELECT COUNT(*), ({remote}) FROM order_line WHERE ol_o_id > 40")
        assert tuple(map(int, taken[0])) == tuple(lines[0])
