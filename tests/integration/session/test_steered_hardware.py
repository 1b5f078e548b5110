"""Hardware that is steered while a load runs: slower commits, less CPU time; undo takes it back."""

import pytest
from msgspec.structs import replace

from tests.integration.support import sbtest
from tests.integration.support.session_process import session_spec
from tests.integration.support.shared import Starter
from tuibench.base.errors import UsageError
from tuibench.base.installation import disk_library
from tuibench.load.tables import prepare_tables
from tuibench.model.event import EventKind
from tuibench.model.hardware import Hardware, parse_hardware
from tuibench.model.message import SessionMessage, SetHardware, Undo
from tuibench.model.tick import Sample
from tuibench.servers.binaries import Binary
from tuibench.servers.duty_cycle import cpu_seconds
from tuibench.session.load_run import LoadRun

SLOW_MS = 100.0
"""Much more than a flush of a busy machine."""
TICKS = 8


@pytest.mark.skipif(disk_library() is None, reason="the library is built with the native engine")
async def test_commits_wait_for_a_slow_disk_until_it_is_taken_back(binary: Binary, start: Starter) -> None:
    async with await start(binary, disk=Hardware()) as server:
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
                    command = SetHardware(f"redo.fsync={SLOW_MS:g}ms") if len(completed) == TICKS else Undo()
                    run.watcher.tasks.start(submit(command), "command")
                if len(completed) == 3 * TICKS:
                    run.request_stop()

            async def submit(command: SetHardware | Undo) -> None:
                states.append(await run.submit(command))

            run.watcher.bus.listeners.append(take)
            summary = await run.run()
    assert states[0] == f"disk.redo.fsync 0ms → {SLOW_MS:g}ms"
    assert states[1].startswith("undone: disk.redo.fsync")
    told = [event for event in summary.events if event.kind is EventKind.HARDWARE]
    assert [event.marker for event in told] == [1, 2]
    slow = completed[TICKS + 1 : 2 * TICKS]
    # Two connections share a flush at best, each of which takes at least this long.
    assert sum(slow) <= 2 * (len(slow) * 0.25 * 1e3 / SLOW_MS + 2)
    assert sum(completed[2 * TICKS + 1 :]) > 2 * sum(slow)
    assert any("simulated disk: redo.fsync=100ms" in warning for warning in summary.warnings)
    assert parse_hardware("redo.fsync=100ms") == run.watcher.hardware.used


async def test_a_server_has_a_part_of_a_processor_until_it_is_taken_back(
    binary: Binary, start: Starter
) -> None:
    async with await start(binary) as server:
        await prepare_tables(server.target, sbtest.program(table_size=500))
        spec = session_spec(
            server.target, "oltp_point_select", threads=4, interval_seconds=0.25, table_size=500
        )
        spec = replace(spec, private_server=str(server.directory), plan=replace(spec.plan, seconds=None))
        replies: list[str] = []
        used: list[float] = []
        async with LoadRun(spec) as run:
            now = [0]

            def take(message: SessionMessage) -> None:
                if not isinstance(message, Sample):
                    return
                now[0] += 1
                if now[0] in (TICKS, 3 * TICKS):
                    command = SetHardware("cpus=0.1") if now[0] == TICKS else Undo()
                    run.watcher.tasks.start(submit(command), "command")

            async def submit(command: SetHardware | Undo) -> None:
                if isinstance(command, Undo):
                    took = cpu_seconds(server.pid) - used.pop()
                    used.append(took * 1e9 / (run.watcher.clock.now_ns() - used.pop()))
                replies.append(await run.submit(command))
                if isinstance(command, SetHardware):
                    used.extend((run.watcher.clock.now_ns(), cpu_seconds(server.pid)))
                else:
                    assert run.watcher.hardware.present == Hardware()
                    run.request_stop()

            run.watcher.bus.listeners.append(take)
            summary = await run.run()
        assert replies[0] == "cpus 0 → 0.1"
        assert replies[1].startswith("undone: cpus 0 → 0.1")
        # A period's quota is more than the share over four seconds.
        assert 0 < used[0] < 0.15
        markers = [one.marker for one in summary.events if one.kind is EventKind.HARDWARE and one.marker]
        assert markers == [1, 2]
        assert any("limited to 0.1 CPUs by" in warning for warning in summary.warnings)


async def test_another_server_has_no_simulated_hardware(binary: Binary, start: Starter) -> None:
    async with await start(binary) as server:
        await prepare_tables(server.target, sbtest.program(table_size=500))
        spec = session_spec(server.target, "oltp_point_select", threads=1, table_size=500)
        async with LoadRun(spec) as run:
            assert run.watcher.status().hardware is None
            with pytest.raises(UsageError, match="only for a private server"):
                await run.watcher.hardware.set(Hardware(cpus=1))
