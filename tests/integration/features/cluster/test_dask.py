"""Load from Dask workers: a real scheduler and real workers, which let in holders of a certificate only."""

from pathlib import Path

import msgspec
import pytest

from tests.integration.features.cluster.dask_hosts import dask_hosts, needs_dask
from tests.integration.support.commands import assert_nothing_left, tuibench
from tuibench.base import paths
from tuibench.model.summary import Summary
from tuibench.servers.server import PrivateServer

LOAD = ("--tables=2", "--table-size=500", "--threads=4", "--client-delay=2ms", "--cluster-lease=60")


@pytest.mark.whole
@needs_dask
def test_the_workers_of_a_scheduler_share_a_load(
    any_tables: PrivateServer, tuibench_home: Path, tmp_path: Path
) -> None:
    with dask_hosts(tmp_path, tuibench_home, "east", "west") as hosts:
        limit = ("--events=40", "--time=0")
        done = tuibench("run", "oltp_read_write", *LOAD, *limit, *hosts.options, target=any_tables.target)
        assert done.code == 0, done.err
        assert_nothing_left(tuibench_home)
        stranger = tuibench("cluster", "check", f"--cluster={hosts.address}", "--hosts-only")
    assert stranger.code == 2
    assert "needs certificates" in stranger.err
    (record,) = paths.runs_dir().iterdir()
    summary = msgspec.json.decode((record / "summary.json").read_bytes(), type=Summary)
    assert sorted(host.name for host in summary.client.hosts) == ["east", "west"]
    assert sum(host.transactions for host in summary.client.hosts) == summary.transactions.total == 40
    assert summary.reconciliation.foreign == 0
    assert summary.is_complete
