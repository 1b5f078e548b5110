"""`tuibench watch` beside clients that it knows nothing of, on real servers."""

import asyncio
import contextlib
import json
import re
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest

from tests.integration.load.tables.test_sysbench_interop import sysbench
from tests.integration.support.commands import (
    Finished,
    ask,
    finished,
    reach,
    started,
    tuibench,
    wait_for_output,
)
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE, Watcher, watched
from tests.integration.support.steering import a_user
from tests.integration.support.terminal import ends, terminal
from tests.trials import assert_holds
from tests.unit.cli.plans import planned
from tuibench.base import paths
from tuibench.base.errors import ExitCode
from tuibench.model.effect import Effect
from tuibench.model.message import ApplyPreset, Mark, Pause, SessionSpec, SetThreads, StartProbe, Stop
from tuibench.model.probe import ProbeOrder
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection, connect
from tuibench.servers.server import PrivateServer

STATEMENTS = ("BEGIN", "UPDATE sbtest1 SET k=k+1 WHERE id=1", "SELECT k FROM sbtest1 WHERE id=1", "COMMIT")
"""The row is locked before it is read: MariaDB 11.8 reports a change in between as an error."""
PAUSE_SECONDS = 0.005


def spec_of(target: Target, name: str, interval: float = 0.25) -> SessionSpec:
    return SessionSpec(
        session=name,
        plan=planned(f"--interval={interval}", command="watch", profile="watch"),
        target=target,
        run_directory=str(paths.runs_dir() / name),
    )


async def work(connection: Connection, times: int) -> None:
    """A client of somebody else's."""
    for _ in range(times):
        for sql in STATEMENTS:
            await connection.execute(sql)


@contextlib.asynccontextmanager
async def steady_client(target: Target) -> AsyncIterator[None]:
    """A client that works until the end of the context, at its leisure."""

    async def go_on() -> None:
        while True:
            await work(connection, 1)
            await asyncio.sleep(PAUSE_SECONDS)

    connection = await connect(target)
    task = asyncio.create_task(go_on())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        connection.abort()


async def watch_while(target: Target, meanwhile: Callable[[], Awaitable[None]], *options: str) -> Finished:
    """`tuibench watch` from before a piece of work to after it."""
    with started("watch", *options, target=target) as process:
        await asyncio.to_thread(wait_for_output, process, "watching ")
        await meanwhile()
        process.send_signal(signal.SIGINT)
        return await asyncio.to_thread(finished, process)


async def test_every_statement_of_another_client_is_counted(tables: PrivateServer) -> None:
    connection = await connect(tables.target)
    done = await watch_while(tables.target, lambda: work(connection, 100), "--format=json", "--interval=0.2")
    await connection.close()
    assert done.code == ExitCode.INTERRUPTED, done.err
    report = json.loads(done.out)
    counts = {name: report["queries"][name] for name in ("total", "read", "write", "other")}
    assert counts == pytest.approx({"total": 400, "read": 100, "write": 100, "other": 200}, abs=3), (
        "ours are not among them; a goodbye may be"
    )
    assert report["transactions"]["total"] == 100
    if tables.binary.flavour is Flavour.MYSQL:
        assert report["latency_ms"]["count"] == pytest.approx(400, abs=12)
        assert report["latency_ms"]["p50"] > 0
    else:
        assert report["latency_ms"] is None
        assert "performance_schema is OFF" in report["watched"]["latency_note"]


@pytest.mark.one_flavour
@pytest.mark.sysbench
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="no sysbench program here")
async def test_qps_are_those_of_sysbench(tables: PrivateServer) -> None:
    target = tables.target
    outputs: list[str] = []

    async def run() -> None:
        options = ("--table-size=500", "--events=300", "--time=0", "--threads=2")
        outputs.append(await sysbench(target, "oltp_read_write", "run", *options))

    done = await watch_while(target, run, "--format=json")
    report = json.loads(done.out)
    theirs = {
        name: int(count) for name, count in re.findall(r"^ +(read|write|total): +(\d+)$", outputs[0], re.M)
    }
    assert report["queries"]["total"] == pytest.approx(theirs["total"], rel=0.01)
    assert report["queries"]["read"] == pytest.approx(theirs["read"], rel=0.01)
    assert report["queries"]["write"] == pytest.approx(theirs["write"], rel=0.01)


@pytest.mark.one_flavour
async def test_a_change_gets_its_effect_and_is_restored(tables: PrivateServer) -> None:
    effect = await effect_of_unsafe(tables.target, "effect")
    assert "unsafe" in effect.change


@pytest.mark.whole
async def test_the_effect_of_most_changes_has_the_fsyncs(tables: PrivateServer) -> None:
    numbers = count(1)

    async def find() -> None:
        effect = await effect_of_unsafe(tables.target, f"effect-{next(numbers)}")
        fsyncs = effect.comparison("fsyncs_per_second")
        assert fsyncs is not None
        assert fsyncs.after < fsyncs.before / 2
        assert effect.comparison("qps") is not None

    await assert_holds(find, trials=5, chance=0.95)


async def effect_of_unsafe(target: Target, session: str) -> Effect:
    """What is told of a change beside the work of another client; the settings are restored."""
    async with steady_client(target), watched(spec_of(target, session)) as watcher:
        await watcher.ticks(14)
        assert (await watcher.submit(ApplyPreset("unsafe"))).ok
        assert await ask(target, DURABILITY) == [UNSAFE]
        await watcher.until(lambda: any(event.effect for event in watcher.events))
        await stop(watcher)
    (effect,) = [event.effect for event in watcher.events if event.effect]
    assert await ask(target, DURABILITY) == [DURABLE]
    return effect


async def stop(watcher: Watcher) -> None:
    await watcher.submit(Stop())
    await watcher.end()


async def test_load_commands_say_that_there_is_no_load(any_tables: PrivateServer) -> None:
    async with watched(spec_of(any_tables.target, "refuse")) as watcher:
        await watcher.ticks()
        for command in (SetThreads(4), Pause(), StartProbe(ProbeOrder())):
            reply = await watcher.submit(command)
            assert not reply.ok
            assert "no load to change" in reply.text
        assert (await watcher.submit(Mark("x"))).ok
        assert watcher.samples[-1].load is None
        await stop(watcher)
    assert watcher.ended is not None
    assert "The server's own traffic" in watcher.ended.text


async def test_a_record_is_reported_compared_and_listed(any_tables: PrivateServer, tmp_path: Path) -> None:
    for name in ("first", "second"):
        async with steady_client(any_tables.target), watched(spec_of(any_tables.target, name)) as watcher:
            await watcher.ticks(10)
            await stop(watcher)
    forms = ("html", "markdown", "json", "csv")
    for command in (
        ("runs", "list"),
        ("runs", "show", "first"),
        ("report", "first", *(f"--{form}={tmp_path / form}" for form in forms)),
        ("compare", "first", "second"),
    ):
        done = await asyncio.to_thread(tuibench, *command)
        assert done.code == 0, (command, done.err)
        assert done.out or command[0] == "report"
    assert all((tmp_path / form).stat().st_size for form in forms)
    text = await asyncio.to_thread(tuibench, "report", "first")
    assert "The server's own traffic" in text.out


async def test_a_login_without_any_privilege_watches(server: PrivateServer) -> None:
    async with a_user(server, "onlooker") as target:
        done = await asyncio.to_thread(tuibench, "watch", "--time=2", "--format=json", target=target)
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["latency_ms"] is None
    if server.binary.flavour is Flavour.MYSQL:
        assert report["watched"]["latency_note"] == "statement times need SELECT on performance_schema"


async def test_nothing_is_switched_on_in_the_server(server: PrivateServer) -> None:
    asked = ["SELECT * FROM performance_schema.setup_consumers", "SHOW GLOBAL VARIABLES LIKE 'perf%'"]
    if server.binary.flavour is Flavour.MYSQL:
        asked.append("SELECT name, enabled, timed FROM performance_schema.setup_instruments")
    before = [await ask(server.target, sql) for sql in asked]
    seconds = 0.5
    done = await watch_while(
        server.target, lambda: asyncio.sleep(seconds), "--format=jsonl", "--interval=0.2"
    )
    assert done.code == ExitCode.INTERRUPTED
    assert [await ask(server.target, sql) for sql in asked] == before
    kinds = [json.loads(line).get("type") for line in done.out.splitlines()]
    assert {"sample", "event"} <= set(kinds)
    assert "tuibench.summary/1" in done.out.splitlines()[-1]


async def test_the_screen_opens_and_says_what_a_key_cannot_do(any_tables: PrivateServer) -> None:
    env = {"MYSQL_PWD": any_tables.target.password}
    with terminal("watch", *reach(any_tables.target), env=env) as opened:
        assert await asyncio.to_thread(opened.shows, "commits/s"), opened.text
        opened.type("+")
        assert await asyncio.to_thread(opened.shows, "no load to change"), opened.text
        opened.type("q")
        assert await asyncio.to_thread(ends, opened), opened.text
        assert opened.code == 0
