"""Two private servers, one the replica of the other: found, read, stopped and caught up."""

import asyncio
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from tests.integration.support.sbtest import connected
from tests.integration.support.shared import Starter
from tuibench.base.clock import SystemClock
from tuibench.model.message import ReplicaChoice
from tuibench.model.server import Flavour, Target
from tuibench.model.tick import ReplicaSample
from tuibench.mysql.info import server_info
from tuibench.servers.binaries import Binary
from tuibench.session.replicas import LogPosition, ReplicaMonitor, log_end

RETRY_SECONDS = 1
USER, PASSWORD = "sight", "sight-1"


async def replicate(source: Target, replica: Target) -> tuple[Target, Target]:
    """Starts replication from the end of the source's binary log, over the loopback.

    Returns both with a login that they share.
    """
    for target in (source, replica):
        async with connected(target) as connection:
            await connection.execute(f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'")
            await connection.execute(f"GRANT ALL ON *.* TO {USER}@'%'")
    async with connected(source) as connection:
        end = await log_end(connection)
    assert end is not None
    async with connected(replica) as connection:
        info = await server_info(connection)
        is_mysql = info.flavour is Flavour.MYSQL
        for sql in _mysql(source, end) if is_mysql else _mariadb(source, end):
            await connection.execute(sql)
    shared = {"user": USER, "password": PASSWORD, "host": "127.0.0.1", "socket": ""}
    return replace(source, **shared), replace(replica, **shared)


def _mysql(source: Target, end: LogPosition) -> tuple[str, ...]:
    return (
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={source.port}, "
        f"SOURCE_USER='{source.user}', SOURCE_PASSWORD='{source.password}', GET_SOURCE_PUBLIC_KEY=1, "
        f"SOURCE_LOG_FILE='{end.file}', SOURCE_LOG_POS={end.position}, "
        f"SOURCE_CONNECT_RETRY={RETRY_SECONDS}",
        "START REPLICA",
    )


def _mariadb(source: Target, end: LogPosition) -> tuple[str, ...]:
    return (
        f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={source.port}, "
        f"MASTER_USER='{source.user}', MASTER_PASSWORD='{source.password}', "
        f"MASTER_LOG_FILE='{end.file}', MASTER_LOG_POS={end.position}, "
        f"MASTER_CONNECT_RETRY={RETRY_SECONDS}",
        "START SLAVE",
    )


PATIENCE_SECONDS, POLL_SECONDS = 60.0, 0.05


async def look(replicas: ReplicaMonitor) -> ReplicaSample | None:
    """The one replica as the next reading finds it."""
    replicas.begin()
    found = await replicas.finish(PATIENCE_SECONDS)
    return found[0] if found else None


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Reads again and again until the condition holds; a test that hangs fails by its own deadline."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await condition():
            await SystemClock().sleep(POLL_SECONDS)


async def test_a_replica_is_found_and_its_lag_is_read(binary: Binary, start: Starter) -> None:
    words = "REPLICA" if binary.flavour is Flavour.MYSQL else "SLAVE"
    async with await start(binary) as first, await start(binary, options=("--server-id=2",)) as second:
        source, replica = await replicate(first.target, second.target)
        replicas = ReplicaMonitor(ReplicaChoice(targets=(replica,)), source, SystemClock())
        try:

            async def is_level() -> bool:
                seen = await look(replicas)
                return seen is not None and seen.is_running and (seen.lag_bytes, seen.lag_seconds) == (0, 0)

            async def has_stopped_behind() -> bool:
                seen = await look(replicas)
                return seen is not None and not seen.is_running and (seen.lag_bytes or 0) > 0

            await until(is_level)
            async with connected(source) as writing, connected(replica) as stopping:
                await stopping.execute(f"STOP {words} SQL_THREAD")
                await writing.execute("CREATE TABLE behind (a INT)")
                await until(has_stopped_behind)
                seen = await look(replicas)
                assert seen is not None
                assert (seen.state, seen.lag_seconds) == ("the applier is stopped", None)
                await stopping.execute(f"START {words} SQL_THREAD")
                await until(is_level)
        finally:
            await replicas.close()
        attached = ReplicaMonitor(ReplicaChoice(find=True), source, SystemClock())
        try:
            found = await look(attached)
            assert found is not None
            assert (found.name, found.note) == (f"127.0.0.1:{replica.port}", "")
        finally:
            await attached.close()
