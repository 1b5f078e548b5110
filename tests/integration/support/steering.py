"""A tuner on a real server, and logins with few privileges, as the tests of settings need them."""

import contextlib
from collections.abc import AsyncIterator

import msgspec

from tuibench.base.clock import SystemClock
from tuibench.model.server import Flavour, Target
from tuibench.mysql.connection import connect
from tuibench.mysql.info import server_info
from tuibench.servers.server import PrivateServer
from tuibench.tuning.changer import SettingsManager, session_journal
from tuibench.tuning.connection import admin_connector


async def opened(target: Target, session: str = "test", **options: object) -> SettingsManager:
    """A tuner that has looked at the server."""
    connection = await connect(target, use_database=False)
    info = await server_info(connection)
    await connection.close()
    journal = session_journal(session, target, info, SystemClock())
    tuner = SettingsManager(admin_connector(target), journal, info, **options)  # type: ignore[arg-type]
    await tuner.open()
    return tuner


def steering_privileges(server: PrivateServer) -> tuple[str, ...]:
    """To change sync_binlog: from MariaDB 11.0.1 on, SUPER does not include BINLOG ADMIN."""
    mariadb = server.binary.flavour is Flavour.MARIADB
    return ("SUPER", "BINLOG ADMIN") if mariadb and server.binary.version_tuple >= (11, 0, 1) else ("SUPER",)


@contextlib.asynccontextmanager
async def a_user(server: PrivateServer, name: str, *privileges: str) -> AsyncIterator[Target]:
    """A login that may see its own threads and what is named."""
    root = await connect(server.target)
    await root.query(f"CREATE USER {name}@localhost IDENTIFIED BY 'pass'")
    if privileges:
        await root.query(f"GRANT {', '.join(privileges)} ON *.* TO {name}@localhost")
    try:
        yield msgspec.structs.replace(server.target, user=name, password="pass")
    finally:
        await root.query(f"DROP USER {name}@localhost")
        await root.close()
