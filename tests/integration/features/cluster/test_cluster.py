"""Load from several hosts, played by agents on this one: a stand-in for ssh runs its command here.

Leases are long, so that a machine that stalls loses no host. tests/unit/features/cluster tests leases and
losses in virtual time.
"""

import asyncio
import gzip
import os
import shlex
import signal
import sys
from pathlib import Path

import msgspec
import psutil
import pytest
from msgspec.structs import replace

from tests.integration.support.commands import (
    ask,
    assert_nothing_left,
    eventually_asked,
    ours,
    tuibench,
)
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE, session_spec, watched
from tuibench.base import paths
from tuibench.model.cluster import ClusterPlan, HostState, OnHostLoss
from tuibench.model.message import ApplyPreset, SessionSpec, SetThreads
from tuibench.model.summary import Summary
from tuibench.record.hdr_log import decode_histogram
from tuibench.servers.server import PrivateServer

AGENT = f"{shlex.quote(sys.executable)} -m tuibench"
HOSTS = ("--cluster=ssh:east,west", f"--cluster-program={AGENT}", "--cluster-lease=60")
LOAD = ("--tables=2", "--table-size=500", "--threads=5", "--client-delay=2ms", "--interval=0.5")


@pytest.fixture(autouse=True)
def _ssh_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = tmp_path / "ssh"
    stand_in.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "exec $last"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def agents(home: Path) -> list[psutil.Process]:
    processes = (psutil.Process(pid) for pid, module in ours(home).items() if module == "tuibench")
    return [process for process in processes if process.cmdline()[-1] == "agent"]


def cluster_spec(server: PrivateServer, on_loss: OnHostLoss = OnHostLoss.CONTINUE) -> SessionSpec:
    spec = session_spec(server.target, threads=4)
    cluster = ClusterPlan(
        places=("ssh:east", "ssh:west"), program=AGENT, lease_seconds=60.0, on_host_loss=on_loss
    )
    return replace(spec, plan=replace(spec.plan, cluster=cluster))


@pytest.mark.one_flavour
def test_two_hosts_share_a_load_and_the_server_counts_what_they_do(
    tables: PrivateServer, tuibench_home: Path
) -> None:
    done = tuibench("run", "oltp_read_write", *LOAD, *HOSTS, "--time=2", target=tables.target)
    assert done.code == 0, done.err
    (record,) = paths.runs_dir().iterdir()
    summary = msgspec.json.decode((record / "summary.json").read_bytes(), type=Summary)
    assert [host.name for host in summary.client.hosts] == ["east", "west"]
    assert all(host.transactions > 0 for host in summary.client.hosts)
    assert sum(host.transactions for host in summary.client.hosts) == summary.transactions.total
    assert summary.reconciliation.foreign == 0
    assert summary.reconciliation.commits_client == summary.reconciliation.commits_server
    assert decode_histogram(summary.latency_histogram).count == summary.transactions.total
    assert summary.is_complete
    for path in record.iterdir():
        data = path.read_bytes()
        found = gzip.decompress(data) if path.suffix == ".gz" else data
        assert tables.target.password.encode() not in found
    assert_nothing_left(tuibench_home)


def test_a_number_of_transactions_is_done_exactly(any_tables: PrivateServer) -> None:
    limit = ("--events=101", "--time=0", "--rate=200")
    done = tuibench("run", "oltp_read_write", *LOAD, *HOSTS, *limit, target=any_tables.target)
    assert done.code == 0, done.err
    (record,) = paths.runs_dir().iterdir()
    summary = msgspec.json.decode((record / "summary.json").read_bytes(), type=Summary)
    assert summary.transactions.total == 101


async def test_a_killed_agent_ends_its_load_and_the_run_if_that_is_asked_for(
    any_tables: PrivateServer, tuibench_home: Path
) -> None:
    async with watched(cluster_spec(any_tables, OnHostLoss.STOP)) as watcher:
        await watcher.works()
        assert (await watcher.submit(ApplyPreset("unsafe"))).ok
        assert (await watcher.submit(SetThreads(6))).ok
        await watcher.until(lambda: sum(host.connections for host in watcher.samples[-1].hosts) == 6)
        assert all(host.state is HostState.RUNNING for host in watcher.samples[-1].hosts)
        for process in agents(tuibench_home)[:1]:
            process.kill()
        ended = await watcher.end()
    assert ended.summary.outcome == "failed"
    assert "was lost" in ended.summary.failure
    assert not ended.summary.is_complete
    assert any(warning.startswith("incomplete: host ") for warning in ended.summary.warnings)
    assert any(host.lost_after_seconds is not None for host in ended.summary.client.hosts)
    assert await ask(any_tables.target, DURABILITY) == [DURABLE]
    await asyncio.to_thread(assert_nothing_left, tuibench_home)


async def test_a_killed_session_ends_the_load_of_its_hosts(
    any_tables: PrivateServer, tuibench_home: Path
) -> None:
    async with watched(cluster_spec(any_tables)) as watcher:
        await watcher.works()
        assert (await watcher.submit(ApplyPreset("unsafe"))).ok
        assert await ask(any_tables.target, DURABILITY) == [UNSAFE]
        os.kill(watcher.pid, signal.SIGKILL)
        await watcher.until(lambda: watcher.hung_up)
        assert await eventually_asked(any_tables.target, DURABILITY, DURABLE)
    assert not ours(tuibench_home)
