"""A server that refuses: connections, writes, privileges, tables, logins. One load outlives all of it.

The load logs in as an account of its own, without the privileges of an administrator.
"""

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
import pytest

from tests.faults.load import (
    THREADS,
    WAYS,
    WORKER,
    FaultLoad,
    Report,
    fault_spec,
    loaded,
    pid_of,
)
from tests.integration.support import sbtest
from tests.integration.support.commands import ask
from tuibench.base.errors import SQLError
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import Connection, connect
from tuibench.servers.server import PrivateServer

READ_ONLY = 1290
NO_PRIVILEGE = 1142
NO_TABLE = 1146
ACCESS_DENIED = 1045
TAKEN = 12
TICKS = 4
"""How long a fault lasts that is seen by nothing but a load at a standstill."""

Fault = Callable[[FaultLoad, Connection], AbstractAsyncContextManager[None]]
"""Within the block there is the fault; the load has noticed it at the block's beginning."""


@contextlib.asynccontextmanager
async def account(server: PrivateServer) -> AsyncIterator[tuple[Target, Connection]]:
    """A login for the load, and the administrator's connection."""
    async with sbtest.connected(server.target) as admin:
        await admin.execute("CREATE USER app@localhost IDENTIFIED BY 'first'")
        await grant(admin)
        try:
            yield msgspec.structs.replace(server.target, user="app", password="first"), admin
        finally:
            await admin.execute("DROP USER app@localhost")


async def grant(admin: Connection) -> None:
    await admin.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON sbtest.* TO app@localhost")


async def kill(admin: Connection, number: int | None = None) -> None:
    """Kills so many connections of the load's account, or all of them."""
    rows = await admin.query("SELECT id FROM information_schema.processlist WHERE user = 'app'")
    for (identity,) in list(rows)[:number]:
        with contextlib.suppress(SQLError):
            await admin.execute(f"KILL {identity}")


@contextlib.asynccontextmanager
async def connections_killed_singly(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    for _ in range(3):
        await kill(admin, 6)
        await load.watcher.ticks()
    await load.reconnects()
    yield


@contextlib.asynccontextmanager
async def all_connections_killed(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    await kill(admin)
    await load.reconnects(THREADS)
    yield


@contextlib.asynccontextmanager
async def connections_taken_by_others(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    ((limit,),) = await admin.query("SELECT @@GLOBAL.max_connections")
    others = [await connect(admin.target) for _ in range(TAKEN)]
    await admin.execute(f"SET GLOBAL max_connections = {TAKEN}")
    try:
        await kill(admin)
        await load.stalls(TICKS)
        yield
    finally:
        await admin.execute(f"SET GLOBAL max_connections = {limit}")
        for other in others:
            await other.close()


@contextlib.asynccontextmanager
async def read_only(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    await admin.execute("SET GLOBAL read_only = ON")
    try:
        await load.fails_with(READ_ONLY)
        yield
    finally:
        await admin.execute("SET GLOBAL read_only = OFF")


@contextlib.asynccontextmanager
async def super_read_only(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    """MySQL only."""
    await admin.execute("SET GLOBAL super_read_only = ON")
    try:
        await load.fails_with(READ_ONLY)
        yield
    finally:
        await admin.execute("SET GLOBAL read_only = OFF")


@contextlib.asynccontextmanager
async def privilege_revoked(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    await admin.execute("REVOKE UPDATE ON sbtest.* FROM app@localhost")
    try:
        await kill(admin)
        await load.fails_with(NO_PRIVILEGE)
        yield
    finally:
        await grant(admin)


@contextlib.asynccontextmanager
async def tables_dropped(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    """They come back whole and at once: the load would insert rows between those of `prepare`."""
    async with sbtest.empty_database(admin.target, "spare") as spare:
        await prepare_tables(spare, sbtest.program(table_size=500))
        await admin.execute("DROP TABLE sbtest1, sbtest2")
        try:
            await load.fails_with(NO_TABLE)
            yield
        finally:
            await admin.execute("RENAME TABLE spare.sbtest1 TO sbtest1, spare.sbtest2 TO sbtest2")


@contextlib.asynccontextmanager
async def tables_locked(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    await admin.execute("LOCK TABLES sbtest1 WRITE, sbtest2 WRITE")
    try:
        await load.stalls(TICKS)
        yield
    finally:
        await admin.execute("UNLOCK TABLES")


@contextlib.asynccontextmanager
async def password_changed(load: FaultLoad, admin: Connection) -> AsyncIterator[None]:
    async with refused_logins(admin):
        await kill(admin)
        await load.fails_with(ACCESS_DENIED)
        yield


@contextlib.asynccontextmanager
async def refused_logins(admin: Connection) -> AsyncIterator[None]:
    """The load's password is another one for a while."""
    await admin.execute("ALTER USER app@localhost IDENTIFIED BY 'second'")
    try:
        yield
    finally:
        await admin.execute("ALTER USER app@localhost IDENTIFIED BY 'first'")


FAULTS: tuple[Fault, ...] = (
    connections_killed_singly,
    all_connections_killed,
    connections_taken_by_others,
    read_only,
    super_read_only,
    privilege_revoked,
    tables_dropped,
    tables_locked,
    password_changed,
)


@pytest.mark.parametrize("way", WAYS)
async def test_a_load_recovers_from_each_refusal(tables: PrivateServer, way: str, report: Report) -> None:
    async with (
        account(tables) as (target, admin),
        sbtest.set_global(admin, "innodb_lock_wait_timeout", "1"),
        loaded(fault_spec(target, way, rand_type="uniform")) as load,
    ):
        for fault in FAULTS:
            if fault is super_read_only and tables.binary.flavour is Flavour.MARIADB:
                continue
            await outlives(load, admin, fault, report)
        await load.stop()
    for table in ("sbtest1", "sbtest2"):
        assert await ask(tables.target, f"SELECT COUNT(*) FROM {table}") == [(500,)]


@pytest.mark.parametrize("way", WAYS)
async def test_a_worker_is_killed_while_logins_are_refused(
    tables: PrivateServer, tuibench_home: Path, way: str, report: Report
) -> None:
    """The first login of the process in its place is none of a load that begins."""
    async with account(tables) as (target, admin), loaded(fault_spec(target, way)) as load:
        async with refused_logins(admin):
            os.kill(pid_of(tuibench_home, WORKER), signal.SIGKILL)
            await load.fails_with(ACCESS_DENIED)
        report("worker killed while the password is changed", await load.recovery_seconds())
        summary = await load.stop()
    assert summary.outcome == "stopped"
    assert any("and was replaced" in warning for warning in summary.warnings)


async def outlives(load: FaultLoad, admin: Connection, fault: Fault, report: Report) -> None:
    """Injects a fault, heals it, and waits for the recovery."""
    name = fault.__name__.replace("_", " ")
    load.begins()
    try:
        async with fault(load, admin):
            pass
        report(name, await load.recovery_seconds())
    except BaseException as error:
        error.add_note(f"fault: {name}")
        raise
