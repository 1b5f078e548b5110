"""A crash of the private server under a session's load: what it says, records, and leaves behind."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.integration.support import sbtest
from tests.integration.support.commands import tuibench
from tests.integration.support.session_process import session_spec, watched
from tests.integration.support.shared import Starter
from tests.validation import check_valid
from tuibench.load.tables import prepare_tables
from tuibench.model.event import CRASHED, EventKind
from tuibench.model.message import ChangeSetting, CrashServer, SetThreads, Stop
from tuibench.mysql.connection import connect
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

FLUSH, TIMEOUT = "innodb_flush_log_at_trx_commit", "innodb_flush_log_at_timeout"


@pytest.mark.one_flavour
async def test_a_session_crashes_its_server_and_goes_on_with_its_settings(
    start: Starter, binary: Binary, tmp_path: Path
) -> None:
    """Durable, then with a log that is never flushed: none lost, then some; the load goes on in between."""
    async with await start(binary) as server:
        await prepare_tables(server.target, sbtest.program(table_size=500))
        spec = replace(
            session_spec(server.target, "oltp_write_only", interval_seconds=0.5),
            inherit_fds=(server.watch_fd,),
            private_server=str(server.directory),
            control=server.control,
        )
        async with watched(spec) as watcher:
            assert watcher.hello.can_crash
            await watcher.works()
            assert (await watcher.submit(CrashServer())).ok
            again = await watcher.submit(CrashServer())
            assert (again.ok, again.text) == (False, "crash is already running (stop it first)")
            for change in (ChangeSetting(FLUSH, "0"), SetThreads(3)):
                refused = await watcher.submit(change)
                assert (refused.ok, "the server is being killed" in refused.text) == (False, True), refused
            await watcher.until(lambda: sum(CRASHED in event.text for event in watcher.events) == 1)
            assert (await watcher.submit(SetThreads(3))).ok
            for name, value in ((FLUSH, "0"), (TIMEOUT, "100")):
                assert (await watcher.submit(ChangeSetting(name, value))).ok
            await watcher.ticks(2)
            assert (await watcher.submit(CrashServer())).ok
            await watcher.until(lambda: sum(CRASHED in event.text for event in watcher.events) == 2)
            await watcher.works()
            assert watcher.loads[-1].levels["threads"] == 3
            connection = await connect(server.target)
            ((flush, timeout),) = await connection.query(f"SELECT @@{FLUSH}, @@{TIMEOUT}")
            assert (int(flush), int(timeout)) == (0, 100)
            assert not await connection.query("SHOW TABLES LIKE 'tuibench_ledger'")
            await connection.close()
            await watcher.submit(Stop())
            ended = await watcher.end()
    durable, unsafe = ended.summary.crashes
    assert ended.exit_code == 0
    assert (durable.setting, unsafe.setting) == (
        "flush_log=1, sync_binlog=1",
        "flush_log=0, sync_binlog=1",
    )
    assert durable.commits.lost == 0 < unsafe.commits.lost
    for crash in (durable, unsafe):
        assert crash.commits.acknowledged > 0
        assert crash.commits.unexplained == 0
        assert crash.recovered_seconds is not None
    unknown = sum(crash.commits.unknown for crash in (durable, unsafe))
    assert ended.summary.unknown_commits == unknown, "the engine and the ledger count the same"
    assert not [event for event in watcher.told(EventKind.EFFECT) if "kill" in event.text]
    report = await asyncio.to_thread(
        tuibench, "report", spec.run_directory, "--html", str(tmp_path / "report.html")
    )
    assert report.code == 0, report.err
    page = (tmp_path / "report.html").read_text()
    assert "Crashes of the server" in page
    assert "flush_log=0, sync_binlog=1" in page
    written = await asyncio.to_thread(tuibench, "report", spec.run_directory, "--json")
    assert len(check_valid("summary", written.out)["crashes"]) == 2


@pytest.mark.one_flavour
async def test_a_server_that_is_not_a_demos_is_not_killed(server: PrivateServer) -> None:
    await prepare_tables(server.target, sbtest.program(table_size=500))
    async with watched(session_spec(server.target, "oltp_write_only")) as watcher:
        assert not watcher.hello.can_crash
        await watcher.works()
        refused = await watcher.submit(CrashServer())
        assert not refused.ok
        assert refused.text.startswith("only the private server of a demo is killed")
        await watcher.works()
        await watcher.submit(Stop())
        assert (await watcher.end()).summary.crashes == ()
