"""Viewers on real terminals: whichever dies, and however, the run goes on, and is put right in the end."""

import asyncio
import json
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.integration.support.commands import ask, assert_nothing_left, eventually, reach, tuibench
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE
from tests.integration.support.terminal import ends, terminal
from tuibench.model.message import Hello, RunState
from tuibench.servers.server import PrivateServer
from tuibench.session import registry

SIZE = ("--tables=2", "--table-size=500", "--threads=2", "--interval=0.25", "--client-delay=2ms")
GRACE_SECONDS = 2


def ctl(*words: str) -> str:
    """What a script gets on its stdout; it reports no problems."""
    done = tuibench("ctl", *words)
    assert (done.code, done.err) == (0, ""), done
    return done.out


async def told() -> Hello:
    """What the one session says of itself now."""
    (entry,) = await registry.running_sessions()
    assert entry.hello is not None, entry
    return entry.hello


async def is_steered(threads: int, rate: float) -> bool:
    status = (await told()).status
    return (status.threads, status.rate) == (threads, rate)


@pytest.mark.one_flavour
async def test_a_run_outlives_its_viewers_and_ends_in_order_after_the_grace(
    tables: PrivateServer, tuibench_home: Path
) -> None:
    async def is_watched_by(viewers: int) -> bool:
        found = [entry.hello for entry in await registry.running_sessions() if entry.hello is not None]
        return [(hello.status.state, hello.viewers) for hello in found] == [(RunState.RUNNING, viewers)]

    target, env = tables.target, {"MYSQL_PWD": tables.target.password}
    live = ("live", "oltp_read_write", *SIZE, f"--grace={GRACE_SECONDS}", *reach(target))
    with terminal(*live, env=env) as first:
        assert await eventually(lambda: is_watched_by(1))
        with terminal("attach", env=env) as second:
            assert await eventually(lambda: is_watched_by(2))
            before = await told()
            first.kill()
            assert await eventually(lambda: is_watched_by(1))
            assert ctl("threads", "5") == "threads: 5\n"
            assert ctl("preset", "unsafe") == "preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0\n"
            assert await ask(target, DURABILITY) == [UNSAFE]
            now = await told()
            assert (now.session, now.pid, now.status.threads) == (before.session, before.pid, 5)
            assert now.elapsed_seconds > before.elapsed_seconds
            second.hang_up()
            assert await asyncio.to_thread(ends, second)
    await asyncio.to_thread(assert_nothing_left, tuibench_home)
    assert await ask(target, DURABILITY) == [DURABLE]
    (run,) = (tuibench_home / "data" / "runs").iterdir()
    summary = json.loads((run / "summary.json").read_text())
    assert summary["outcome"] == "stopped"
    assert summary["seconds"] >= now.elapsed_seconds + GRACE_SECONDS - 0.5


@pytest.mark.one_flavour
async def test_a_viewer_that_was_stopped_and_goes_on_still_hears_keys_and_ends(
    tables: PrivateServer, tuibench_home: Path
) -> None:
    """As with Ctrl+Z and fg, or with a debugger; the driver must not read keys twice from then on.

    It hears them also when they come all at once, as from a macro.
    """
    target, env = tables.target, {"MYSQL_PWD": tables.target.password}
    live = ("live", "oltp_read_write", *SIZE, f"--grace={GRACE_SECONDS}", *reach(target))
    with terminal(*live, env=env) as viewer:
        assert await asyncio.to_thread(viewer.shows, "DURABILITY")
        before = viewer.threads
        viewer.signal(signal.SIGSTOP)
        viewer.signal(signal.SIGCONT)
        viewer.type("3")
        assert await asyncio.to_thread(viewer.shows, "COMMANDS")
        assert viewer.threads == before
        viewer.type("t7\rr50\r1")
        assert await eventually(partial(is_steered, 7, 50.0)), viewer.text
        viewer.type("q")
        assert await asyncio.to_thread(ends, viewer), viewer.text
        assert viewer.code == 0
    await asyncio.to_thread(assert_nothing_left, tuibench_home)
