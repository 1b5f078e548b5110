"""Hosts of a load are killed or stopped, and the session that drives them: agents of a command, and of Dask.

The lease is longer than the default, so that a machine that stalls loses no other host. Leases, losses and
returns are tested in virtual time in tests/unit/features/cluster.
"""

import asyncio
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from msgspec.structs import replace

from tests.faults.load import WORKER, FaultLoad, Report, fault_spec, loaded
from tests.integration.features.cluster.dask_hosts import dask_hosts, needs_dask
from tests.integration.support.commands import ask, assert_nothing_left, eventually_asked, none_left, ours
from tests.integration.support.processes import until
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE
from tuibench.model.cluster import ClusterPlan, HostState
from tuibench.model.message import ApplyPreset, SessionSpec
from tuibench.servers.server import PrivateServer

pytestmark = pytest.mark.whole

LEASE_SECONDS = 8.0
AGENT = f"exec:{shlex.quote(sys.executable)} -m tuibench agent"
CARRIERS = ("command", pytest.param("dask", marks=needs_dask))


class Hosts(NamedTuple):
    """Where a load runs. `name` is for the report; `dask` has the pids of Dask's workers."""

    name: str
    plan: ClusterPlan
    dask: tuple[int, ...] = ()

    def victim(self, home: Path) -> psutil.Process:
        """The process that carries the first host's load: a Dask worker, else the agent itself."""
        return psutil.Process(self.dask[0]) if self.dask else agents(home)[0]


def agents(home: Path) -> list[psutil.Process]:
    found = (psutil.Process(pid) for pid, module in ours(home).items() if module == "tuibench")
    return [process for process in found if process.cmdline()[-1] == "agent"]


@contextmanager
def hosts_by(carrier: str, folder: Path, home: Path) -> Iterator[Hosts]:
    """Two hosts, reached in this way."""
    if carrier == "command":
        yield Hosts("agent", ClusterPlan(places=(AGENT, AGENT), lease_seconds=LEASE_SECONDS))
        return
    with dask_hosts(folder, home, "east", "west") as dask:
        pids = tuple(worker.pid for worker in dask.workers.values())
        yield Hosts("Dask worker", dask.plan(LEASE_SECONDS), pids)


def spec_on(server: PrivateServer, hosts: Hosts) -> SessionSpec:
    spec = fault_spec(server.target)
    return replace(spec, plan=replace(spec.plan, cluster=hosts.plan))


async def loses_a_host(load: FaultLoad) -> None:
    """Waits until a host is lost. What is heard from now on is the load without it."""
    lost = HostState.LOST
    await load.watcher.until(
        lambda: any(host.state is lost for sample in load.watcher.samples for host in sample.hosts)
    )
    load.begins()


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_killed_host(
    tables: PrivateServer, tuibench_home: Path, tmp_path: Path, carrier: str, report: Report
) -> None:
    """The other host takes the connections over, under new numbers; the summary says what is missing."""
    with hosts_by(carrier, tmp_path, tuibench_home) as hosts:
        async with loaded(spec_on(tables, hosts)) as load:
            killed_at = time.time()
            hosts.victim(tuibench_home).kill()
            await loses_a_host(load)
            report(f"{hosts.name} killed", await load.recovery_seconds_since(killed_at))
            summary = await load.stop()
        assert not summary.is_complete
        assert sum(host.lost_after_seconds is not None for host in summary.client.hosts) == 1
        await asyncio.to_thread(assert_nothing_left, tuibench_home)


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_stopped_host(
    tables: PrivateServer, tuibench_home: Path, tmp_path: Path, carrier: str, report: Report
) -> None:
    """Its workers end by themselves: the load that the others take over is not done twice."""
    with hosts_by(carrier, tmp_path, tuibench_home) as hosts:
        async with loaded(spec_on(tables, hosts)) as load:
            victim, stopped_at = hosts.victim(tuibench_home), time.time()
            workers = [each for each in victim.children(recursive=True) if WORKER in each.cmdline()]
            assert workers
            victim.suspend()
            try:
                await loses_a_host(load)
                report(f"{hosts.name} stopped", await load.recovery_seconds_since(stopped_at))
                assert until(lambda: not any(is_at_work(worker) for worker in workers))
            finally:
                with suppress(psutil.NoSuchProcess):  # the session ends the command of a lost host
                    victim.resume()
            summary = await load.stop()
        assert not summary.is_complete
        assert sum(host.lost_after_seconds is not None for host in summary.client.hosts) == 1
        await asyncio.to_thread(assert_nothing_left, tuibench_home)


def is_at_work(process: psutil.Process) -> bool:
    """Whether it has not ended: one that a stopped parent has not asked for has."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_killed_session_of_hosts(
    tables: PrivateServer, tuibench_home: Path, tmp_path: Path, carrier: str, report: Report
) -> None:
    """All hosts end their load, and the guardian restores the settings."""
    with hosts_by(carrier, tmp_path, tuibench_home) as hosts:
        async with loaded(spec_on(tables, hosts)) as load:
            assert (await load.watcher.submit(ApplyPreset("unsafe"))).ok
            assert await ask(tables.target, DURABILITY) == [UNSAFE]
            killed_at = time.time()
            os.kill(load.watcher.pid, signal.SIGKILL)
            assert await asyncio.to_thread(until, lambda: WORKER not in ours(tuibench_home).values())
            report(f"session killed, load of {hosts.name}s ended", time.time() - killed_at)
            assert await eventually_asked(tables.target, DURABILITY, DURABLE)
        assert await asyncio.to_thread(none_left, tuibench_home)


@needs_dask
async def test_a_killed_scheduler(
    tables: PrivateServer, tuibench_home: Path, tmp_path: Path, report: Report
) -> None:
    """Its workers end with it, and so does the run: its summary has the reason, the settings are restored."""
    with dask_hosts(tmp_path, tuibench_home, "east", "west") as dask:
        async with loaded(spec_on(tables, Hosts("Dask", dask.plan(LEASE_SECONDS)))) as load:
            assert (await load.watcher.submit(ApplyPreset("unsafe"))).ok
            assert await ask(tables.target, DURABILITY) == [UNSAFE]
            killed_at = time.time()
            dask.scheduler.kill()
            summary = (await load.watcher.end()).summary
            report("Dask scheduler killed, run ended", time.time() - killed_at)
        assert summary.outcome == "failed"
        assert summary.failure
        assert not summary.is_complete
        assert await ask(tables.target, DURABILITY) == [DURABLE]
        await asyncio.to_thread(assert_nothing_left, tuibench_home)
