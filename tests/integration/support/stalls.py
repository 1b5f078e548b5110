"""Stalls that are planted under a load: what is done, and who or what is to blame for it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tests.faults.load import FaultLoad, fault_spec
from tuibench.model.findings import Stall
from tuibench.model.hardware import Hardware
from tuibench.model.message import SessionSpec, SetHardware
from tuibench.model.server import Flavour
from tuibench.mysql.connection import Connection, connect
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

THREADS = 6
STALLED_TICKS, TICKS_AFTER = 8, 12
"""Ticks of a quarter of a second without a transaction, and those until a stall is certain."""
REDO_SIZE = {
    Flavour.MARIADB: "--innodb-log-file-size=8M",
    Flavour.MYSQL: "--innodb-redo-log-capacity=8M",
}
LAZY = ("--innodb-adaptive-flushing=OFF", "--innodb-max-dirty-pages-pct=99", "--innodb-doublewrite=0")
FILL_ROWS = 8000
"""Rows of 1000 bytes that are updated until the redo log is full."""
HISTORY_TICKS, LONGEST_DELAY_US = 20, 4_000_000
"""Time in which the history list grows before it delays each change by at most so much."""
SLOW_WRITES, USUAL_WRITES = "data.write=300ms,data.fsync=300ms", "0"

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


class Plant(NamedTuple):
    """A stall that is planted, and how its culprit must be described."""

    hold: Sequence[str]
    """The statements by which one connection takes what the load needs."""
    doing: str = ""
    """The beginning of what that connection does; empty if it is not to blame."""
    lock: str = ""
    """The beginning of the lock's kind."""
    cause: str = ""
    """Words of the cause if it is no connection."""
    profile: str = "oltp_update_index"
    """Locks of whole tables, and transactions of several statements that wait for rows, block each other."""

    def explains(self, stall: Stall, holder: int) -> bool:
        """True if the culprit of a stall is the planted one."""
        culprit = stall.culprit
        if culprit is None:
            return False
        if self.cause:
            return culprit.connection is None and self.cause in culprit.text
        # It may take longer to get the global lock than the stall that this causes.
        does = culprit.doing.startswith(self.doing) or self.lock == "global lock"
        return culprit.connection == holder and does and culprit.lock.startswith(self.lock)


PLANTS = {
    "row lock": Plant(
        ("BEGIN", "UPDATE sbtest1 SET k = k + 1", "UPDATE sbtest2 SET k = k + 1"),
        "idle in",
        "row lock",
        profile="oltp_write_only",
    ),
    "lock tables": Plant(("LOCK TABLES sbtest1 WRITE, sbtest2 WRITE",), "idle", "metadata lock"),
    "ddl behind a reader": Plant(
        ("BEGIN", "SELECT COUNT(*) FROM sbtest1", "SELECT COUNT(*) FROM sbtest2"), "idle in", "metadata lock"
    ),
    "global read lock": Plant(("FLUSH TABLES WITH READ LOCK",), "idle", "global lock"),
    "user lock": Plant(("SELECT GET_LOCK('the door', 100)",), "idle", "user lock"),
}
"""Locks, which any server has."""
DELAYS = {
    "purge": Plant(("START TRANSACTION WITH CONSISTENT SNAPSHOT",), cause="purge"),
    "redo log": Plant((), cause="redo log"),
}
"""Delays inside InnoDB: a read view holds purge back (innodb_max_purge_lag); a disk writes pages so slowly
that the redo log is full. They need a server of their own (`stallable`).
"""
EVERY_PLANT = PLANTS | DELAYS


async def stallable(binary: Binary) -> PrivateServer:
    """A server with a small redo log and a disk that can be made slow."""
    return await PrivateServer.start(binary, options=(REDO_SIZE[binary.flavour], *LAZY), disk=Hardware())


def stalling_spec(server: PrivateServer, planted: str) -> SessionSpec:
    """A load that the stall stops."""
    spec = fault_spec(
        server.target,
        profile="one-lock" if planted == "user lock" else EVERY_PLANT[planted].profile,
        threads=THREADS,
    )
    if planted == "user lock":
        return replace(spec, plan=replace(spec.plan, profile_text=USER_LOCK))
    return replace(spec, private_server=str(server.directory)) if planted in DELAYS else spec


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


async def plant(server: PrivateServer, load: FaultLoad, planted: str) -> int:
    """Stalls a load, and lets it go on again; returns the connection that held what it needs."""
    holder = await connect(server.target)
    id = holder.thread_id
    load.begins()
    try:
        for sql in EVERY_PLANT[planted].hold:
            await holder.query(sql)
        async with _beside(server, load, planted, holder):
            await load.stalls(STALLED_TICKS)
            await holder.close()
    finally:
        holder.abort()
    seen = len(load.watcher.samples)
    await load.watcher.until(lambda: len(load.watcher.samples) >= seen + TICKS_AFTER)
    return id


def _beside(
    server: PrivateServer, load: FaultLoad, planted: str, holder: Connection
) -> contextlib.AbstractAsyncContextManager[None]:
    """What else a stall takes, from its beginning to its end."""
    match planted:
        case "ddl behind a reader":
            return _ddl(server)
        case "purge":
            return _purge_behind(server, load, holder)
        case "redo log":
            return _redo_full(server, load)
    return contextlib.nullcontext()


@contextlib.asynccontextmanager
async def _ddl(server: PrivateServer) -> AsyncIterator[None]:
    """The ALTERs that wait for the reader, and behind which the load waits."""
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
async def _purge_behind(server: PrivateServer, load: FaultLoad, holder: Connection) -> AsyncIterator[None]:
    """Each change is delayed by seconds: the delay is in proportion to the length of the history list.

    MariaDB computes it when it purges: at the end of the read view.
    """
    other = await connect(server.target)
    try:
        await load.watcher.ticks(HISTORY_TICKS)
        await other.query(f"SET GLOBAL innodb_max_purge_lag_delay = {LONGEST_DELAY_US}")
        await other.query("SET GLOBAL innodb_max_purge_lag = 1")
        if server.binary.flavour is Flavour.MARIADB:
            await holder.query("ROLLBACK")
        yield
    finally:
        await other.query("SET GLOBAL innodb_max_purge_lag = 0")
        await other.close()


@contextlib.asynccontextmanager
async def _redo_full(server: PrivateServer, load: FaultLoad) -> AsyncIterator[None]:
    """Pages are written slowly while another connection fills the redo log."""
    filler = await connect(server.target)
    await filler.query("CREATE TABLE IF NOT EXISTS filler (id INT PRIMARY KEY, pad VARCHAR(1000))")
    ((rows,),) = await filler.query("SELECT COUNT(*) FROM filler")
    if not rows:
        # From no table: the rows of one that is read would be locked.
        await filler.query(
            "INSERT INTO filler "
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) "
            f"SELECT a.i * 1000 + b.i, REPEAT('x', 1000) FROM n a, n b WHERE a.i < {FILL_ROWS // 1000}"
        )
    assert (await load.watcher.submit(SetHardware(SLOW_WRITES))).ok

    async def fill() -> None:
        while True:
            for letter in "ab":
                await filler.query(f"UPDATE filler SET pad = REPEAT('{letter}', 1000)")

    filling = asyncio.create_task(fill())
    try:
        yield
    finally:
        assert (await load.watcher.submit(SetHardware(USUAL_WRITES))).ok
        filling.cancel()
        await asyncio.wait({filling})
        filler.abort()
