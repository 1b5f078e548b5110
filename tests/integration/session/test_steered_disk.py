"""A disk that is steered while a load runs: the commits take that much longer, and undo takes it back."""

import pytest
from msgspec.structs import replace

from tests.integration.support import sbtest
from tests.integration.support.session_process import session_spec
from tests.integration.support.shared import Starter
from tuibench.base.installation import disk_library
from tuibench.load.tables import prepare_tables
from tuibench.model.disk import DiskDelays, parse_disk
from tuibench.model.event import EventKind
from tuibench.model.message import SessionMessage, SetDisk, Undo
from tuibench.model.tick import Sample
from tuibench.servers.binaries import Binary
from tuibench.session.load_run import LoadRun

pytestmark = pytest.mark.skipif(disk_library() is None, reason="the library is built with the native engine")

SLOW_MS = 100.0
"""Much more than a flush of a busy machine."""
TICKS = 8


async def test_commits_wait_for_a_slow_disk_until_it_is_taken_back(binary: Binary, start: Starter) -> None:
    async with await start(binary, disk=DiskDelays()) as server:
        await prepare_tables(server.target, sbtest.program(table_size=500))
        spec = session_spec(
            server.target, "oltp_update_index", threads=2, interval_seconds=0.25, table_size=500
        )
        spec = replace(spec, private_server=str(server.directory), plan=replace(spec.plan, seconds=None))
        completed: list[float] = []
        states: list[str] = []

        async with LoadRun(spec) as run:

            def take(message: SessionMessage) -> None:
                if not isinstance(message, Sample) or message.load is None:
                    return
                done = message.load.sums.get("completed", 0.0)
                completed.append(done)
                if len(completed) in (TICKS, 2 * TICKS):
                    command = SetDisk(f"redo.fsync={SLOW_MS:g}ms") if len(completed) == TICKS else Undo()
                    run.watcher.tasks.start(submit(command), "command")
                if len(completed) == 3 * TICKS:
                    run.request_stop()

            async def submit(command: SetDisk | Undo) -> None:
                states.append(await run.submit(command))

            run.watcher.bus.listeners.append(take)
            summary = await run.run()
    assert states[0] == f"disk.redo.fsync 0ms → {SLOW_MS:g}ms"
    assert states[1].startswith("undone: disk.redo.fsync")
    told = [event for event in summary.events if event.kind is EventKind.DISK]
    assert [event.marker for event in told] == [1, 2]
    slow = completed[TICKS + 1 : 2 * TICKS]
    # Two connections share a flush at best, each of which takes at least this long.
    assert sum(slow) <= 2 * (len(slow) * 0.25 * 1e3 / SLOW_MS + 2)
    assert sum(completed[2 * TICKS + 1 :]) > 2 * sum(slow)
    assert any("simulated disk: redo.fsync=100ms" in warning for warning in summary.warnings)
    assert parse_disk("redo.fsync=100ms") == run.watcher.disk.used
