"""A session behind its socket: how long it waits for viewers, and what ends it."""

import os
import signal

import pytest

from tests.unit.load.engine.driving import until
from tests.unit.session.serving import Serve
from tuibench.model.message import SessionEnded
from tuibench.session.service.service import FIRST_VIEWER_SECONDS


async def test_the_first_viewer_has_time_to_come_whatever_the_grace(serve: Serve) -> None:
    async with serve(grace_seconds=0.0) as served:
        assert [seconds for seconds, _, _ in served.timers] == [FIRST_VIEWER_SECONDS]


async def test_the_grace_begins_when_the_last_viewer_leaves_and_ends_when_one_comes(serve: Serve) -> None:
    async with serve(grace_seconds=45.0) as served:
        first, second = await served.join(), await served.join()
        assert (len(served.timers), served.cancelled) == (1, 1)
        await first.close()
        await until(lambda: len(served.session.viewer_pids) == 0)
        assert len(served.timers) == 1
        await second.close()
        await until(lambda: len(served.timers) == 2)
        assert served.timers[1][0] == 45.0
        third = await served.join()
        assert served.cancelled == 2
        await third.close()


async def test_when_the_grace_is_over_the_run_is_stopped_in_good_order(serve: Serve) -> None:
    async with serve(grace_seconds=45.0) as served:
        _, ring, words = served.timers[0]
        ring(*words)
        await served.serving
        assert served.session.stops == ["stopped"]


async def test_a_detached_session_continues_without_viewers(serve: Serve) -> None:
    async with serve(grace_seconds=None) as served:
        client = await served.join()
        await client.close()
        await until(lambda: served.session.viewer_pids == set())
        assert served.timers == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_ends_the_run_with_its_summary(serve: Serve, number: signal.Signals) -> None:
    async with serve() as served:
        client = await served.join()
        os.kill(os.getpid(), number)
        heard = [message async for message in client.messages()]
        assert isinstance(heard[-1], SessionEnded)
        assert served.session.stops == ["interrupted"]
        await client.close()
