"""SQL and commands once and under load: by the plan, by hand, refused, and ended with the run."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.support import sbtest
from tests.integration.support.commands import eventually_asked, tuibench
from tests.integration.support.session_process import session_spec, watched
from tuibench.demo.server import PrivateServer
from tuibench.load.tables import prepare_tables
from tuibench.model.command import RunSql, Stop
from tuibench.model.event import EventKind
from tuibench.model.option import At
from tuibench.mysql.connection import connect


@pytest.fixture(scope="module")
def tables(server: PrivateServer) -> PrivateServer:
    asyncio.run(prepare_tables(server.target, sbtest.program(table_size=500)))
    return server


SLEEP = "SELECT SLEEP(300)"
SLEEPING = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = '{SLEEP}'"


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
