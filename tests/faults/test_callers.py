"""Faults under a load whose callers have a deadline and send again: all that came due is accounted for."""

import os
import signal
from collections import Counter

import msgspec
import pytest

from tests.faults.load import INTERVAL_SECONDS, FaultLoad, fault_spec, loaded
from tests.faults.proxy import Proxy
from tests.integration.load.conformance.driving import QUEUES
from tests.integration.support import sbtest
from tuibench.load.tables import prepare_tables
from tuibench.model.callers import CallerPolicy, OnDeadline
from tuibench.model.message import Command, Pause, Resume, SessionSpec, SetCallers, SetRate, SetThreads
from tuibench.model.plan import caller_options
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.servers.server import PrivateServer

THREADS = 8
RATE = 300.0
STALLED_TICKS = 6
COUNTED = ("scheduled", "completed", "failed", "abandoned", "good", "late", "resent")


def impatient(target: Target, way: str, policy: CallerPolicy) -> SessionSpec:
    """Some 800 point selects per second are possible."""
    spec = fault_spec(target, way, profile="oltp_point_select", threads=THREADS)
    fields = {each.field: getattr(policy, each.field) for each in caller_options().values()}
    return msgspec.structs.replace(spec, plan=msgspec.structs.replace(spec.plan, rate=RATE, **fields))


async def told(load: FaultLoad, command: Command) -> None:
    reply = await load.watcher.submit(command)
    assert reply.ok, reply


def account(load: FaultLoad) -> Counter[str]:
    """The counts of all ticks. After each of them, everything is accounted for."""
    total: Counter[str] = Counter()
    for tick in load.watcher.loads:
        for counts in (tick.sums, tick.arrears):
            total.update({name: counts.get(name, 0.0) for name in COUNTED})
        ended = total["completed"] + total["failed"] + total["abandoned"]
        waiting = tick.levels["backlog"] + tick.levels["in_flight"]
        assert total["scheduled"] == pytest.approx(ended + waiting, abs=1e-6), (total, tick.levels)
        assert total["good"] + total["late"] == pytest.approx(total["completed"], abs=1e-6), total
    return total


def is_settled(summary: Summary) -> bool:
    """Nothing waits at the end of a run, and nothing is lost."""
    ended = summary.transactions.total + summary.failed + summary.abandoned
    return summary.scheduled == ended


@pytest.mark.one_flavour
@pytest.mark.parametrize("policy", QUEUES, ids=[str(each.queue) for each in QUEUES])
@pytest.mark.parametrize("way", ["auto", pytest.param("asyncio", marks=pytest.mark.whole)])
async def test_callers_are_accounted_for_in_every_fault(
    restartable: PrivateServer, way: str, policy: CallerPolicy
) -> None:
    """Connections are reset and refused, the server stands still, is killed and comes back; the load is
    paused and changed; statements have a limit.
    """
    await prepare_tables(restartable.target, sbtest.program(table_size=500))
    proxy = Proxy(sbtest.over_tcp(restartable.target))
    async with proxy.listening() as port:
        target = msgspec.structs.replace(proxy.target, port=port)
        async with loaded(impatient(target, way, policy)) as load:
            proxy.reset()
            await load.reconnects(THREADS)
            proxy.is_refusing = True
            proxy.reset()
            await load.stalls(STALLED_TICKS)
            proxy.is_refusing = False
            await load.watcher.works()

            os.kill(restartable.pid, signal.SIGSTOP)
            try:
                load.begins()
                await load.stalls(STALLED_TICKS)
            finally:
                os.kill(restartable.pid, signal.SIGCONT)
            await load.watcher.works()

            await told(load, Pause())
            await load.watcher.ticks(3)
            await told(load, Resume())
            await told(load, SetRate(2 * RATE))
            await told(load, SetThreads(THREADS // 2))
            await told(load, SetCallers("deadline", "60ms"))
            await told(load, SetCallers("on-deadline", str(OnDeadline.KILL)))
            await load.watcher.works()

            load.begins()
            await restartable.kill()
            await load.stalls(round(1 / INTERVAL_SECONDS))
            await restartable.start_again()
            await load.watcher.works()
            await told(load, SetThreads(THREADS))
            await load.watcher.works()
            counts = account(load)
            summary = await load.stop()
    assert is_settled(summary), summary
    assert summary.reconnects >= 2 * THREADS
    assert counts["late"] + counts["abandoned"] > 0
    assert counts["resent"] > 0
