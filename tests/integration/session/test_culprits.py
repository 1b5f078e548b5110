"""Planted stalls of a load: the connection that caused each is named in its event and in the summary."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.faults.load import FaultLoad, fault_spec, loaded
from tuibench.model.findings import Culprit
from tuibench.model.message import SessionSpec
from tuibench.mysql.connection import Connection, connect
from tuibench.report.effects import stalls_line
from tuibench.servers.server import PrivateServer

THREADS = 6
STALLED_TICKS = 8
"""Ticks of a quarter of a second without a transaction."""

USER_LOCK = """
name = "one-lock"
summary = "takes and releases one user lock"
data_set = "sbtest"

[[transactions]]
name = "one"
autocommit = true

[[transactions.steps]]
statements = [{ name = "take", sql = "SELECT GET_LOCK('the door', 600)" }]

[[transactions.steps]]
statements = [{ name = "release", sql = "DO RELEASE_LOCK('the door')" }]
"""

PLANTED: dict[str, tuple[str, Sequence[str], str, str]] = {
    "row lock": (
        "BEGIN",
        ("UPDATE sbtest1 SET k = k + 1", "UPDATE sbtest2 SET k = k + 1"),
        "idle in",
        "row lock",
    ),
    "lock tables": ("", ("LOCK TABLES sbtest1 WRITE, sbtest2 WRITE",), "idle", "metadata lock"),
    "global read lock": ("", ("FLUSH TABLES WITH READ LOCK",), "idle", "global lock"),
    "user lock": ("", ("SELECT GET_LOCK('the door', 100)",), "idle", "user lock"),
    "ddl behind a reader": (
        "BEGIN",
        ("SELECT COUNT(*) FROM sbtest1", "SELECT COUNT(*) FROM sbtest2"),
        "idle in",
        "metadata lock",
    ),
}


def spec_of(server: PrivateServer, planted: str) -> SessionSpec:
    if planted == "user lock":
        spec = fault_spec(server.target, profile="one-lock", threads=THREADS)
        return replace(spec, plan=replace(spec.plan, profile_text=USER_LOCK))
    # Locks of whole tables, and transactions of several statements that wait for rows, block each other.
    profile = "oltp_write_only" if planted == "row lock" else "oltp_update_index"
    return fault_spec(server.target, profile=profile, threads=THREADS)


@contextlib.asynccontextmanager
async def ddl(server: PrivateServer, planted: str) -> AsyncIterator[None]:
    """The ALTERs that wait for the reader, and behind which the load waits."""
    if not planted.startswith("ddl"):
        yield
        return
    others = [await connect(server.target) for _ in range(2)]
    waiting = [
        asyncio.create_task(other.query(f"ALTER TABLE sbtest{number} COMMENT 'x'"))
        for number, other in enumerate(others, 1)
    ]
    try:
        yield
        await asyncio.gather(*waiting)
    finally:
        for other in others:
            await other.close()


@contextlib.asynccontextmanager
async def bystanders(server: PrivateServer) -> AsyncIterator[None]:
    """Sessions that have nothing to do with it: idle ones, and one that is busy now and then."""
    others = [await connect(server.target) for _ in range(3)]

    async def busy(other: Connection) -> None:
        while True:
            await other.query("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql'")
            await asyncio.sleep(0.7)

    task = asyncio.create_task(busy(others[0]))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        for other in others:
            other.abort()


async def stalled(load: FaultLoad) -> None:
    load.begins()
    await load.stalls(STALLED_TICKS)


@pytest.mark.parametrize("planted", PLANTED)
async def test_the_culprit_of_a_stall_is_named(
    tables: PrivateServer, tuibench_home: Path, planted: str
) -> None:
    begin, hold, doing, lock = PLANTED[planted]
    async with bystanders(tables), loaded(spec_of(tables, planted)) as load:
        holder = await connect(tables.target)
        id = holder.thread_id
        try:
            for sql in (begin, *hold):
                if sql:
                    await holder.query(sql)
            async with ddl(tables, planted):
                await stalled(load)
                await holder.close()
        finally:
            holder.abort()
        seen = len(load.watcher.samples)
        await load.watcher.until(lambda: len(load.watcher.samples) >= seen + 12)
        summary = await load.stop()
    assert summary.steadiness is not None
    longest = max(summary.steadiness.stalls, key=lambda stall: stall.seconds)
    culprit = longest.culprit
    told = [event.text for event in summary.events if event.text.startswith("stall of ")]
    assert isinstance(culprit, Culprit), told
    assert culprit.connection == id, culprit
    # It may take longer to get the global lock than the stall that this causes.
    assert culprit.doing.startswith(doing) or planted == "global read lock"
    assert culprit.lock.startswith(lock)
    assert THREADS - 1 <= culprit.blocked <= THREADS + 2
    words = f"session {id} ({culprit.doing}"
    assert any(f": {culprit.text}" in text and words in text for text in told), told
    assert words in stalls_line(summary.steadiness)
