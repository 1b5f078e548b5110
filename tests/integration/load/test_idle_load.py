"""A load that begins without a thread: the server's own traffic, to which the load is added and from which it
is taken away.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.support.sbtest import connected
from tests.ticks import figures, known
from tuibench.base.errors import UsageError
from tuibench.model.message import SessionMessage, SessionSpec, SetThreads
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Sample
from tuibench.servers.server import PrivateServer
from tuibench.session.load_run import LoadRun

DEADLINE_SECONDS = 120.0


@pytest.mark.one_flavour
async def test_the_load_is_added_to_the_servers_traffic_and_taken_away(
    tables: PrivateServer, tmp_path: Path
) -> None:
    plan = RunPlan(
        profile="oltp_read_only", options={"tables": 2, "table_size": 500}, threads=0, seconds=None
    )
    spec = SessionSpec(session="idle", plan=plan, target=tables.target, run_directory=str(tmp_path / "run"))
    samples: asyncio.Queue[Sample] = asyncio.Queue()

    def listen(message: SessionMessage) -> None:
        if isinstance(message, Sample):
            samples.put_nowait(message)

    async def until(condition: Callable[[Sample], bool]) -> Sample:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not condition(sample := await samples.get()):
                pass
        return sample

    async with LoadRun(spec) as run, connected(tables.target) as client:
        run.watcher.bus.listeners.append(listen)
        running = asyncio.create_task(run.run())
        idle = await until(lambda sample: sample.traffic is not None and sample.load is not None)
        assert idle.load is not None
        assert figures(idle.load, "requested_threads", "tps") == (0, 0)

        before = asyncio.create_task(
            until(lambda sample: bool(sample.traffic and known("reads", sample.traffic)))
        )
        await client.query("SELECT COUNT(*) FROM sbtest1")
        foreign = await before
        assert foreign.throughput is foreign.traffic
        assert foreign.load is not None
        assert known("qps", foreign.load) == 0

        await run.submit(SetThreads(2))
        both = await until(lambda sample: bool(sample.load and known("tps", sample.load)))
        assert both.throughput is both.traffic
        await until(lambda sample: bool(sample.traffic and known("tps", sample.traffic)))
        await run.submit(SetThreads(0))
        await until(lambda sample: bool(sample.load and known("open_connections", sample.load) == 0))
        with pytest.raises(UsageError, match="between 0 and"):
            await run.submit(SetThreads(-1))
        run.request_stop()
        summary = await running
    assert summary.outcome == "stopped"
    assert summary.transactions.total > 0
