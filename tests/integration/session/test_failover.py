"""Outages that are measured: a switch of primary, where the first address dies and the second one answers
later, and a restart.
"""

import asyncio
import time

import pytest
from msgspec.structs import replace

from tests.faults.load import THREADS, fault_spec, loaded
from tests.faults.proxy import Proxy
from tests.integration.support import sbtest
from tests.integration.support.commands import ask
from tuibench.load.tables import prepare_tables
from tuibench.model.event import EventKind
from tuibench.model.server import Endpoint
from tuibench.servers.server import PrivateServer

MUTE_SECONDS, SWITCH_SECONDS = 0.5, 1.5
LATE_SECONDS = 2.0
"""From the last transaction to the moment that counts as the end of the server: a busy host stands still."""


@pytest.mark.one_flavour
@pytest.mark.parametrize("engine", ["native", pytest.param("asyncio", marks=pytest.mark.whole)])
async def test_a_switch_of_primary_is_measured(tables: PrivateServer, engine: str) -> None:
    """Two proxies stand for the two addresses. The first drops all answers, then all connections, when each
    waits for the answer to an UPDATE; the second refuses for a while.
    """
    await ask(
        tables.target,
        "CREATE USER app@127.0.0.1 IDENTIFIED BY 'pass'",
        "GRANT ALL ON *.* TO app@127.0.0.1",
    )
    first, second = Proxy(tables.target), Proxy(tables.target)
    async with first.listening() as port, second.listening() as other:
        second.is_refusing = True
        target = replace(
            tables.target, host="127.0.0.1", port=port, socket="", user="app", password="pass",
            failover=(Endpoint(host="127.0.0.1", port=other),),
        )  # fmt: skip
        async with loaded(fault_spec(target, engine, profile="oltp_update_index")) as load:
            first.is_mute = True
            died = time.monotonic()
            await asyncio.sleep(MUTE_SECONDS)
            first.is_refusing = True
            first.reset()
            await asyncio.sleep(SWITCH_SECONDS)
            back = time.monotonic()
            load.begins()
            second.is_refusing = False
            await load.reconnects(THREADS)
            await load.recovery_seconds()
            recovered = time.monotonic()
            await load.watcher.until(lambda: load.watcher.samples[-1].server is not None)
            assert not load.watcher.told(EventKind.RESTART)
            summary = await load.stop()
    await ask(tables.target, "DROP USER app@127.0.0.1")
    assert summary.outcome == "stopped"
    assert summary.unknown_commits == summary.figures["unknown_commits"] == THREADS
    assert summary.steadiness is not None
    stall = max(summary.steadiness.stalls, key=lambda stall: stall.seconds)
    assert back - died - 0.1 <= stall.seconds == summary.figures["outage"] <= recovered - died + LATE_SECONDS
    assert stall.unknown_commits == THREADS
    assert stall.errors["2013"] == THREADS


@pytest.mark.one_flavour
async def test_a_restart_is_measured(restartable: PrivateServer) -> None:
    """A server that was killed, and is started again a while later."""
    await prepare_tables(restartable.target, sbtest.program(table_size=500))
    async with loaded(fault_spec(restartable.target)) as load:
        died = time.monotonic()
        await restartable.kill()
        gone = time.monotonic()
        await asyncio.sleep(SWITCH_SECONDS)
        load.begins()
        await restartable.start_again()
        await load.reconnects(THREADS)
        await load.recovery_seconds()
        recovered = time.monotonic()
        summary = await load.stop()
    outage = summary.figures["outage"]
    assert gone - died + SWITCH_SECONDS - 0.1 <= outage <= recovered - died + LATE_SECONDS
    assert summary.steadiness is not None
    assert summary.steadiness.longest_stall_seconds == outage
