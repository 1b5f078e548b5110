"""Prices on a server whose commits take a known time: nearly all of it are the flushes of its two logs."""

import pytest
from msgspec.structs import replace

from tests.integration.support import sbtest
from tests.integration.support.session_process import session_spec
from tests.integration.support.shared import Starter
from tuibench.base.installation import disk_library
from tuibench.features.prices.experiment import PriceExperiment, PriceOrder
from tuibench.load.tables import prepare_tables
from tuibench.model.hardware import Hardware, parse_hardware
from tuibench.model.prices import Service
from tuibench.servers.binaries import Binary
from tuibench.session.load_run import LoadRun

pytestmark = [
    pytest.mark.skipif(disk_library() is None, reason="the library is built with the native engine"),
    pytest.mark.one_flavour,
]

FSYNC_MS = 20.0
PRESENT = parse_hardware(f"redo.fsync={FSYNC_MS:g}ms,binlog.fsync={FSYNC_MS:g}ms")


async def test_the_price_of_a_flush_is_its_share_of_a_commit(binary: Binary, start: Starter) -> None:
    services = (Service.FSYNC, Service.PAGE_READ)
    order = PriceOrder(services=services, cycles=4, window_seconds=1.5, seed=3)
    async with await start(binary, disk=PRESENT) as server:
        await prepare_tables(server.target, sbtest.program(table_size=500))
        spec = session_spec(
            server.target,
            "oltp_update_non_index",
            threads=1,
            interval_seconds=0.25,
            table_size=500,
            delay_ms=0,
        )
        plan = replace(spec.plan, seconds=None, hardware=PRESENT)
        spec = replace(spec, private_server=str(server.directory), plan=plan)
        left: list[Hardware | None] = []
        async with LoadRun(spec) as run:
            disk = run.watcher.hardware
            experiment = PriceExperiment(order, 1, PRESENT, 0.0, lambda: disk.counts)
            await run.laboratory.plan(experiment)
            ended = run.laboratory._leave

            def leave(one: PriceExperiment) -> None:
                left.append(disk.present)
                ended(one)

            run.laboratory._leave = leave  # type: ignore[method-assign, assignment]
            summary = await run.run()
    assert left == [PRESENT], "the disk is as before"
    assert summary.prices is not None
    prices = {price.service: price for price in summary.prices.prices}
    fsync = prices[Service.FSYNC]
    assert 1.9 <= fsync.per_transaction <= 4
    assert fsync.now_ms is not None
    assert fsync.now_ms >= FSYNC_MS
    assert summary.prices.transaction_ms >= 2 * FSYNC_MS
    # A step adds its time to both flushes, and to those of the background that a commit meets.
    least, most = (100 * times / (summary.prices.transaction_ms + times) for times in (2, 4))
    assert fsync.cost_percent is not None
    assert fsync.cost_percent.low <= most
    assert fsync.cost_percent.high >= least
    assert least / 2 < fsync.cost_percent.value < 2 * most
    assert prices[Service.PAGE_READ].note == "no page read is in a transaction"
