"""Worker processes that are killed under load: the run goes on with all connections and reports the loss."""

import os
import signal
from pathlib import Path

import msgspec
import pytest

from tests.integration.support.commands import finished, ours, started
from tests.ticks import known
from tuibench.base import paths
from tuibench.model.summary import Summary
from tuibench.record.reader import load_run
from tuibench.servers.server import PrivateServer

OPTIONS = (
    "--tables=2",
    "--table-size=500",
    "--threads=4",
    "--time=4",
    "--workers=2",
    "--interval=0.5",
    "--client-delay=2ms",
)


def workers(home: Path) -> list[int]:
    return [pid for pid, module in ours(home).items() if module == "tuibench.load.worker"]


@pytest.mark.one_flavour
def test_a_killed_worker_is_replaced(tables: PrivateServer, tuibench_home: Path) -> None:
    with started("run", "oltp_read_write", *OPTIONS, target=tables.target) as process:
        assert process.stdout is not None
        assert any(" tps: " in line and " tps: 0.00 " not in line for line in process.stdout)
        killed = workers(tuibench_home)[0]
        os.kill(killed, signal.SIGKILL)
        done = finished(process)
    assert done.code == 0, done.err
    assert (
        f"worker process {killed} ended unexpectedly (it was killed by SIGKILL): another worker opens its "
        "2 connections again" in done.err
    )
    (record,) = paths.runs_dir().iterdir()
    summary = msgspec.json.decode((record / "summary.json").read_bytes(), type=Summary)
    assert summary.reconnects == 2
    assert any(f"worker process {killed} ended unexpectedly" in warning for warning in summary.warnings)
    last = load_run(record).samples[-1]
    assert last.load is not None
    assert known("open_connections", last.load) == 4
