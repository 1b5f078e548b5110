"""Stalls that are planted on real servers: each black box names its cause, and what changed first."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from tests.faults.load import fault_spec, loaded
from tests.integration.support import sbtest
from tests.integration.support.session_process import Watcher, session_spec, watched
from tests.integration.support.stalls import (
    STALLED_TICKS,
    TICKS_AFTER,
    plant,
    stallable,
    stalling_spec,
)
from tuibench.base import paths
from tuibench.base.document import write_text
from tuibench.base.errors import ExitCode
from tuibench.cli.headless import HeadlessOutput, run_headless
from tuibench.features.blackbox.diagnosis import Cause, Diagnosis, diagnose
from tuibench.features.blackbox.frames import BlackBox, box_numbers, read_box
from tuibench.features.blackbox.page import blocks, page
from tuibench.load.tables import prepare_tables
from tuibench.metrics.thresholds import parse_threshold
from tuibench.model.event import EventKind, TroubleKind
from tuibench.model.message import KeepBlackBox, SetHardware, Stop
from tuibench.mysql.connection import Connection, connect
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

HELD_SECONDS = 3.0
"""How long a lock is held: as long as a stall must be to be seen on a busy machine."""
BEFORE_TICKS, AFTER_TICKS = 12, 10

Plant = Callable[[PrivateServer, list[Connection], Watcher], Awaitable[int]]
"""Plants a stall with some connections of somebody else; returns the connection at its root, or 0."""


class Planted(NamedTuple):
    plant: Plant
    cause: Cause
    first: str
    """Words of what changed first."""
    by_hand: bool = False
    """True if the load does not stall: the operator keeps the minute."""
    profile: str = "oltp_read_write"


async def idle_transaction(server: PrivateServer, strangers: list[Connection], watcher: Watcher) -> int:
    holder = strangers[0]
    await holder.query("BEGIN")
    for table in ("sbtest1", "sbtest2"):
        await holder.query(f"UPDATE {table} SET pad = 'x\x1b[2J'")
    await asyncio.sleep(HELD_SECONDS)
    await holder.query("ROLLBACK")
    return holder.thread_id


async def long_statement(server: PrivateServer, strangers: list[Connection], watcher: Watcher) -> int:
    holder = strangers[0]
    await holder.query("BEGIN")
    await holder.query("UPDATE sbtest1 SET pad = 'x'")
    await holder.query("UPDATE sbtest2 SET pad = CONCAT('x', SLEEP(0.008))")
    await holder.query("ROLLBACK")
    return holder.thread_id


async def ddl(server: PrivateServer, strangers: list[Connection], watcher: Watcher) -> int:
    holder, one, other, *_ = strangers
    await holder.query("BEGIN")
    await holder.query("SELECT COUNT(*) FROM sbtest1")
    await holder.query("SELECT COUNT(*) FROM sbtest2")
    # Their metadata lock is older than the wait of each ALTER.
    await watcher.ticks(4)
    altering = [
        asyncio.create_task(each.query(f"ALTER TABLE {table} COMMENT = 'planted'"))
        for each, table in ((one, "sbtest1"), (other, "sbtest2"))
    ]
    await asyncio.sleep(HELD_SECONDS)
    await holder.query("ROLLBACK")
    await asyncio.gather(*altering)
    return holder.thread_id


async def lock_tables(server: PrivateServer, strangers: list[Connection], watcher: Watcher) -> int:
    holder = strangers[0]
    await holder.query("LOCK TABLES sbtest1 WRITE, sbtest2 WRITE")
    await asyncio.sleep(HELD_SECONDS)
    await holder.query("UNLOCK TABLES")
    return holder.thread_id


async def global_read_lock(server: PrivateServer, strangers: list[Connection], watcher: Watcher) -> int:
    holder = strangers[0]
    await holder.query("FLUSH TABLES WITH READ LOCK")
    await asyncio.sleep(HELD_SECONDS)
    await holder.query("UNLOCK TABLES")
    return holder.thread_id


async def user_lock(server: PrivateServer, strangers: list[Connection], watcher: Watcher) -> int:
    holder, *others = strangers
    await holder.query("SELECT GET_LOCK('planted', 1)")
    waiting = [
        asyncio.create_task(each.query("SELECT GET_LOCK('planted', 30), RELEASE_LOCK('planted')"))
        for each in others
    ]
    await asyncio.sleep(HELD_SECONDS)
    await watcher.submit(KeepBlackBox("jobs wait"))
    await holder.query("SELECT RELEASE_LOCK('planted')")
    await asyncio.gather(*waiting)
    return holder.thread_id


async def stopped_process(server: PrivateServer, strangers: list[Connection], watcher: Watcher) -> int:
    os.kill(server.pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(HELD_SECONDS)
    finally:
        os.kill(server.pid, signal.SIGCONT)
    return 0


async def connection_storm(server: PrivateServer, strangers: list[Connection], watcher: Watcher) -> int:
    # The usual number is known from the time before.
    await watcher.ticks(24)
    storm = [await connect(server.target) for _ in range(60)]
    try:
        running = [asyncio.create_task(each.query("SELECT SLEEP(2)")) for each in storm]
        await asyncio.gather(*running)
        await watcher.submit(KeepBlackBox("a storm"))
    finally:
        for each in storm:
            await each.close()
    return 0


PLANTED = {
    "idle transaction": Planted(idle_transaction, Cause.ROW_LOCK, "begins a transaction"),
    "long statement": Planted(long_statement, Cause.ROW_LOCK, "begins a transaction"),
    "DDL": Planted(ddl, Cause.OTHER_LOCK, "begins a transaction"),
    "LOCK TABLES": Planted(lock_tables, Cause.OTHER_LOCK, ""),
    # Without row locks: MariaDB's FTWRL and transactions that wait for rows may block each other for 50 s.
    "FTWRL": Planted(global_read_lock, Cause.OTHER_LOCK, "", profile="oltp_insert"),
    "GET_LOCK": Planted(user_lock, Cause.OTHER_LOCK, "", by_hand=True),
    "SIGSTOP": Planted(stopped_process, Cause.STOPPED, ""),
    "storm": Planted(connection_storm, Cause.CONNECTIONS, "connections went from", by_hand=True),
}


@contextlib.asynccontextmanager
async def strangers_on(server: PrivateServer, count: int = 6) -> AsyncIterator[list[Connection]]:
    connections = [await connect(server.target) for _ in range(count)]
    try:
        yield connections
    finally:
        for each in connections:
            await each.close()


async def kept(server: PrivateServer, planted: Planted) -> tuple[BlackBox, Diagnosis, int]:
    """Plants under a load; returns the black box, its conclusions, and the connection at the root."""
    spec = session_spec(server.target, planted.profile, threads=6)
    async with strangers_on(server) as strangers, watched(spec) as watcher:
        await watcher.works()
        await watcher.ticks(BEFORE_TICKS)
        root = await planted.plant(server, strangers, watcher)
        await watcher.ticks(AFTER_TICKS)
        await watcher.submit(Stop())
        summary = (await watcher.end()).summary
    told = [event for event in watcher.events if event.kind is EventKind.BLACK_BOX]
    assert [f"black box {number}" in event.text for number, event in enumerate(told, 1)] == [True] * len(told)
    numbers = box_numbers(watcher.directory.iterdir())
    assert numbers, summary.events
    boxes = [read_box(watcher.directory, number) for number in numbers]
    # On a busy machine the load may stall by itself, before or after.
    box = max(boxes, key=lambda each: each.end_seconds - each.start_seconds)
    if planted.by_hand:
        box = next(each for each in boxes if any("a storm" in r or "jobs wait" in r for r in each.reasons))
        box = replace(box, troubles=())
    return box, diagnose(box), root


@pytest.mark.one_flavour
@pytest.mark.parametrize("name", PLANTED)
async def test_the_black_box_of_a_planted_stall_names_its_cause(tables: PrivateServer, name: str) -> None:
    planted = PLANTED[name]
    box, found, root = await kept(tables, planted)

    assert found.cause is planted.cause, found
    assert found.connection == root, found
    assert planted.first in found.first
    if not planted.by_hand:
        assert {each.kind for each in box.troubles} & {TroubleKind.STALL, TroubleKind.OUTAGE}
    if root:
        assert found.blocked >= 2
        mentioned = [each for each in found.moments if each.connection == root]
        assert mentioned, found.moments
    written = write_text(blocks(box)) + page(box, "run")
    assert "\x1b" not in written
    assert "[2J" not in written


SLOW_FLUSHES = "redo.fsync=3s,binlog.fsync=3s"
OF_THE_SERVER = {"purge": Cause.PURGE, "redo log": Cause.REDO, "slow disk": Cause.LOG}
"""Stalls that no connection causes; they need a server of their own."""


async def kept_of_a_server(server: PrivateServer, name: str) -> tuple[BlackBox, Diagnosis]:
    """Plants one of them; returns the black box of the longest trouble, and its conclusions."""
    spec = stalling_spec(server, "redo log" if name == "slow disk" else name)
    async with loaded(spec) as load:
        if name == "slow disk":
            assert (await load.watcher.submit(SetHardware(SLOW_FLUSHES))).ok
            await load.stalls(STALLED_TICKS)
            assert (await load.watcher.submit(SetHardware("0"))).ok
            await load.watcher.ticks(TICKS_AFTER)
        else:
            await plant(server, load, name)
        await load.stop()
        directory = load.watcher.directory
    boxes = [read_box(directory, number) for number in box_numbers(directory.iterdir())]
    assert boxes
    box = max(boxes, key=lambda each: each.end_seconds - each.start_seconds)
    return box, diagnose(box)


@pytest.mark.one_flavour
@pytest.mark.parametrize("name", OF_THE_SERVER)
async def test_the_black_box_of_a_delay_inside_the_server_names_it(
    binary: Binary, tuibench_home: Path, name: str
) -> None:
    async with await stallable(binary) as server:
        await prepare_tables(server.target, sbtest.program(tables=2, table_size=500))
        box, found = await kept_of_a_server(server, name)
    assert found.cause is OF_THE_SERVER[name], found
    assert found.connection == 0
    assert found.text[1:] in write_text(blocks(box))


async def test_the_time_of_an_outage_is_kept(any_binary: Binary, tuibench_home: Path) -> None:
    """The server is killed under a load that goes on after errors, and started again."""
    async with await PrivateServer.start(any_binary) as server:
        await prepare_tables(server.target, sbtest.program(tables=2, table_size=500))
        async with loaded(fault_spec(server.target, threads=4)) as load:
            await server.kill()
            await load.loses_all_connections()
            await server.start_again()
            await load.recovery_seconds()
            await load.watcher.ticks(AFTER_TICKS)
            await load.stop()
            directory = load.watcher.directory
        boxes = [read_box(directory, number) for number in box_numbers(directory.iterdir())]
    assert any(each.kind is TroubleKind.OUTAGE for box in boxes for each in box.troubles), boxes


async def test_a_limit_that_is_crossed_is_kept(any_tables: PrivateServer, tuibench_home: Path) -> None:
    """`--fail-if` keeps the time of its first intervals, whatever the exit code says about the whole run."""
    limit = parse_threshold("tps<1000000")
    spec = session_spec(any_tables.target, threads=2)
    spec = replace(spec, plan=replace(spec.plan, seconds=4.0))
    await asyncio.to_thread(paths.claim, paths.runs_dir(), spec.session)
    _, code = await run_headless(spec, HeadlessOutput(thresholds=(limit,)))
    directory = Path(spec.run_directory)
    boxes = [read_box(directory, number) for number in box_numbers(directory.iterdir())]
    assert code == ExitCode.THRESHOLD_CROSSED
    (trouble,) = (each for box in boxes for each in box.troubles if each.kind is TroubleKind.LIMIT)
    assert trouble.start_seconds < 1
    assert any("tps<1000000 in 3 intervals in a row" in reason for box in boxes for reason in box.reasons)
