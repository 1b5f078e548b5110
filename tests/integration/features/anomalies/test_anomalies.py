"""Anomalies are counted exactly, and occur where the isolation level and the remedy allow them."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.features.anomalies.proxy import Lie, LyingProxy
from tests.integration.support.sbtest import connected, set_global
from tuibench.base.clock import SystemClock
from tuibench.features.anomalies.tables import ANOMALY_TALLY, LOST_UPDATES, UPDATES, WRITE_SKEWS
from tuibench.load.tables import prepare_tables
from tuibench.metrics.figures import ANOMALY_KINDS
from tuibench.model.message import SessionSpec
from tuibench.model.plan import EngineChoice, RunPlan
from tuibench.model.server import Flavour, Target
from tuibench.model.summary import Summary
from tuibench.mysql.connection import OwnConnections
from tuibench.observe.tally import TallyReader
from tuibench.servers.binaries import Binary
from tuibench.session.load_run import LoadRun
from tuibench.workload.library import load_program

LOST, SKEW = {"lost_updates"}, {"write_skews"}
READS, UNCOMMITTED, PHANTOMS = (
    {"read_skews", "fuzzy_reads", "phantoms"},
    {"dirty_reads", "aborted_reads"},
    {"phantoms"},
)
RU, RC, RR, SI, SERIAL = (
    "read-uncommitted", "read-committed", "repeatable-read", "snapshot isolation", "serializable",
)  # fmt: skip
EXPECTED: dict[tuple[str, str], set[str]] = {
    (RU, "none"): LOST | SKEW | READS | UNCOMMITTED,
    (RC, "none"): LOST | SKEW | READS,
    (RR, "none"): LOST | SKEW,
    (SI, "none"): SKEW,
    (RU, "for-update"): PHANTOMS,
    (RC, "for-update"): PHANTOMS,
    (RU, "for-share"): PHANTOMS,
    (RC, "for-share"): PHANTOMS,
    (RU, "atomic"): UNCOMMITTED,
    (RU, "version"): UNCOMMITTED,
}
"""What each isolation level allows with each remedy, often enough to be seen in a run; nothing otherwise."""
RARE: dict[tuple[str, str], set[str]] = {
    (RU, "atomic"): READS,
    (RU, "version"): READS | SKEW,
}
"""What is allowed, and takes place within one statement of a reader."""


@pytest.fixture
async def meter(database: Target) -> Target:
    """The tables of the anomaly meter, in a database of their own."""
    await prepare_tables(database, load_program("anomalies"))
    return database


async def counted(
    target: Target,
    run_directory: Path,
    *,
    fix: str = "none",
    isolation: str = "",
    engine: EngineChoice = EngineChoice.AUTO,
    **changes: float | None,
) -> Summary:
    plan = RunPlan(
        profile="anomalies", options={"anomaly_fix": fix}, threads=8, isolation=isolation, engine=engine,
        interval_seconds=0.5, no_waits=True, prepared=False,
    )  # fmt: skip
    plan = replace(plan, **changes)
    spec = SessionSpec(session="meter", plan=plan, target=target, run_directory=str(run_directory))
    async with LoadRun(spec) as run:
        summary = await run.run()
    assert summary.outcome == "done", summary.failure
    return summary


async def test_a_row_written_from_three_equal_reads_has_lost_two_updates(meter: Target) -> None:
    reader = TallyReader(meter, ANOMALY_TALLY, SystemClock(), 60, OwnConnections())
    async with AsyncExitStack() as stack:
        stack.push_async_callback(reader.close)
        clients = [await stack.enter_async_context(connected(meter)) for _ in range(3)]
        await reader.begin()
        for client in clients:
            await client.execute("START TRANSACTION")
            ((n,),) = await client.query("SELECT n FROM anomaly_counter WHERE id = 1")
            assert n == 0
        for client in clients:
            await client.execute("UPDATE anomaly_counter SET n = 1, done = done + 1 WHERE id = 1")
            # What is not committed is not counted.
            grown = await reader.growth()
            await client.execute("COMMIT")
            assert grown[UPDATES] in (0, 1)
        await reader.growth()
        assert reader.total == {UPDATES: 3, LOST_UPDATES: 2, WRITE_SKEWS: 0}


async def test_a_shift_that_both_doctors_leave_is_one_write_skew(meter: Target) -> None:
    reader = TallyReader(meter, ANOMALY_TALLY, SystemClock(), 60, OwnConnections())
    async with AsyncExitStack() as stack:
        stack.push_async_callback(reader.close)
        clients = [await stack.enter_async_context(connected(meter)) for _ in range(2)]
        await reader.begin()
        for client in clients:
            await client.execute("START TRANSACTION")
            assert await client.query("SELECT on_call FROM anomaly_doctor WHERE shift = 1") == ((1,), (1,))
        for own, client in enumerate(clients, start=1):
            assert (await reader.growth())[WRITE_SKEWS] == 0
            await client.execute(f"UPDATE anomaly_doctor SET on_call = 0 WHERE id = {own} AND number = 0")
            await client.execute("COMMIT")
        assert (await reader.growth())[WRITE_SKEWS] == 1
        # The relief counts it in the shift, and ends it.
        await clients[0].execute("START TRANSACTION")
        await clients[0].execute("UPDATE anomaly_doctor SET on_call = 1, number = 1 WHERE shift = 1")
        await clients[0].execute("UPDATE anomaly_shift SET skews = skews + 1 WHERE id = 1")
        await clients[0].execute("COMMIT")
        assert (await reader.growth())[WRITE_SKEWS] == 0
        assert reader.total is not None
        assert reader.total[WRITE_SKEWS] == 1


@pytest.mark.one_flavour
@pytest.mark.parametrize(
    "engine", [EngineChoice.AUTO, pytest.param(EngineChoice.ASYNCIO, marks=pytest.mark.whole)]
)
@pytest.mark.parametrize("lie", Lie)
async def test_a_false_acknowledgement_is_counted(
    meter: Target, tmp_path: Path, lie: Lie, engine: EngineChoice
) -> None:
    proxy, socket = LyingProxy(meter, lie), tmp_path / "proxy.sock"
    async with proxy.listening(socket):
        through = replace(meter, socket=str(socket))
        summary = await counted(
            through, tmp_path / "run", fix="for-update", engine=engine, seconds=None, events=200
        )
    figures = summary.figures
    assert proxy.spoiled >= 2
    lacks, has_too_many = (0, proxy.spoiled) if lie is Lie.TWICE else (proxy.spoiled, 0)
    assert figures["missing_commits"] == figures["lost_updates"] == lacks
    assert figures["repeated_commits"] == has_too_many
    assert figures["anomalies"] == proxy.spoiled


async def test_updates_are_lost_at_the_default_isolation_level(meter: Target, tmp_path: Path) -> None:
    summary = await counted(meter, tmp_path / "run", seconds=1.5)
    figures, kinds = summary.figures, summary.by_transaction
    assert figures["lost_updates"] > 0
    assert figures["counted_updates"] == kinds["increment"].count
    assert found(summary) <= LOST | SKEW
    assert figures["lost_updates_share"] == pytest.approx(
        100 * figures["lost_updates"] / figures["counted_updates"]
    )


@pytest.mark.whole
@pytest.mark.parametrize("engine", [EngineChoice.ASYNCIO, EngineChoice.NATIVE])
@pytest.mark.parametrize("fix", ["none", "for-update", "for-share", "atomic", "version"])
@pytest.mark.parametrize("isolation", [RU, RC, RR, SI, SERIAL])
async def test_each_isolation_level_allows_what_theory_says(
    binary: Binary, meter: Target, tmp_path: Path, isolation: str, fix: str, engine: EngineChoice
) -> None:
    async with AsyncExitStack() as stack:
        if isolation == SI:
            if binary.flavour is not Flavour.MARIADB:
                pytest.skip("only MariaDB has innodb_snapshot_isolation")
            control = await stack.enter_async_context(connected(meter))
            await stack.enter_async_context(set_global(control, "innodb_snapshot_isolation", "ON"))
        level = RR if isolation == SI else isolation
        expected = EXPECTED.get((isolation, fix), set())
        allowed, missing = expected | RARE.get((isolation, fix), set()), expected
        # A rare one may need several runs of a slow machine; one that is impossible must not occur in any.
        for attempt in range(5):
            summary = await counted(
                meter, tmp_path / f"run-{attempt}", fix=fix, isolation=level, engine=engine, seconds=5.0
            )
            assert found(summary) <= allowed
            missing = missing - found(summary)
            if not missing:
                break
    assert not missing


def found(summary: Summary) -> set[str]:
    """The kinds of anomalies of which the run has some."""
    return {name for name in ANOMALY_KINDS if summary.figures[name]}
