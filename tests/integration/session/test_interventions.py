"""SQL and commands once and under load: by the plan, by hand, refused, and ended with the run."""

import asyncio
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.support import sbtest
from tests.integration.support.commands import eventually_asked, tuibench
from tests.integration.support.session_process import Watcher, session_spec, watched
from tuibench.load.tables import prepare_tables
from tuibench.model.event import DURING, EventKind
from tuibench.model.message import RunSql, Stop
from tuibench.model.option import At
from tuibench.model.server import Target
from tuibench.mysql.connection import connect
from tuibench.servers.server import PrivateServer


@pytest.fixture(scope="module")
def tables(server: PrivateServer) -> PrivateServer:
    asyncio.run(prepare_tables(server.target, sbtest.program(table_size=500)))
    return server


ROWS = 400_000
SLEEP = "SELECT SLEEP(300)"
SLEEPING = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = '{SLEEP}'"


@pytest.mark.one_flavour
async def test_a_plan_and_an_operator_execute_sql_under_load(tables: PrivateServer) -> None:
    lock = "LOCK TABLES sbtest1 WRITE, sbtest2 WRITE"
    spec = session_spec(tables.target, "oltp_point_select", interval_seconds=0.5)
    planned = (At(1.3, "exec:printf 'to the record'; exit 7"), At(1.9, "SELECT SLEEP(1.5), 'said' AS word"))
    async with watched(replace(spec, plan=replace(spec.plan, interventions=planned))) as watcher:
        await watcher.until(lambda: any(event.text.startswith("during") for event in watcher.events))
        assert not (await watcher.submit(RunSql("  "))).ok
        assert (await watcher.submit(RunSql("SELECT 1 FROM nothing"))).ok
        await watcher.until(lambda: any("failed: " in event.text for event in watcher.events))
        assert (await watcher.submit(RunSql(lock))).ok
        assert (await watcher.submit(RunSql(SLEEP))).ok
        assert await eventually_asked(tables.target, SLEEPING, (1,))
        await watcher.submit(Stop())
        await watcher.end()
    assert await eventually_asked(tables.target, SLEEPING, (0,))
    events = [event for event in watcher.events if event.kind is EventKind.INTERVENTION]
    assert all(event.marker for event in events)
    texts = [event.text for event in events]
    assert texts[0] == "'exec:printf 'to the record'; exit 7' begins"
    ends = [text for text in texts if " ended after " in text]
    assert ends[0].endswith("failed with status 7")
    assert ends[1].startswith("'SELECT SLEEP(1.5), 'said' AS word' ended after 1.")
    assert ends[1].endswith(": 1 row")
    assert "nothing' doesn't exist" in ends[2]
    output = (Path(spec.run_directory) / "interventions.txt").read_text()
    assert "to the record" in output
    assert "SLEEP(1.5)\tword\n0\tsaid" in output
    during = next(event.text for event in watcher.events if event.text.startswith("during"))
    assert "SLEEP(1.5)" in during
    assert " instead of " in during


@pytest.mark.whole
async def test_an_index_that_is_added_with_a_shared_lock_stalls_writes(database: Target) -> None:
    """400,000 rows, so that adding an index takes samples; with LOCK=NONE the writes go on."""
    prepared = sbtest.program(tables=1, table_size=ROWS)
    await prepare_tables(database, prepared)
    spec = session_spec(
        database, "oltp_update_non_index", threads=4, interval_seconds=0.5, tables=1, table_size=ROWS
    )
    took, kept = {}, {}
    async with watched(spec) as watcher:
        for number, lock in enumerate(("SHARED", "NONE"), 1):
            await watcher.ticks(6)
            sql = f"ALTER TABLE sbtest1 LOCK={lock}, ADD INDEX a{number} (c, pad)"
            assert (await watcher.submit(RunSql(sql))).ok
            await watcher.until(lambda: len(spoken(watcher, DURING)) == number)  # noqa: B023
            ended = spoken(watcher, "'ALTER")[-1]
            took[lock] = float(ended.partition(" ended after ")[2].partition(" s")[0])
            during = spoken(watcher, DURING)[-1]
            now, before = re.findall(r"TPS ([\d.,]+) instead of ([\d.,]+)", during)[0]
            kept[lock] = float(now.replace(",", "")) / float(before.replace(",", ""))
        await watcher.ticks(6)
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    assert kept["SHARED"] < 0.1 < kept["NONE"], (kept, took)
    assert summary.steadiness is not None
    longest = summary.steadiness.longest_stall_seconds
    assert 0.8 * took["SHARED"] <= longest <= took["SHARED"] + 1, (kept, took, summary.steadiness.stalls)


def spoken(watcher: Watcher, beginning: str) -> list[str]:
    """The texts of the events so far that begin so."""
    return [event.text for event in watcher.events if event.text.startswith(beginning)]


@pytest.mark.one_flavour
async def test_an_altered_table_does_not_end_the_load(tables: PrivateServer) -> None:
    options = ("--tables=1", "--table-size=500", "--time=4", "--threads=4", "--max-retries=0")
    add = "ALTER TABLE sbtest1 ADD COLUMN added INT DEFAULT 3, ALGORITHM=COPY"
    done = await asyncio.to_thread(
        tuibench, "run", "oltp_update_index", *options, "--at", "1s", add, "--at", "2500ms", add,
        target=tables.target,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "the server counted the same" in done.err
    drop = await connect(tables.target)
    await drop.execute("ALTER TABLE sbtest1 DROP COLUMN added")
    await drop.close()
