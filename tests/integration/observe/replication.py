"""Makes one private server the replica of another."""

from msgspec.structs import replace

from tests.integration.support.sbtest import connected
from tuibench.model.server import Flavour, Target
from tuibench.mysql.info import server_info
from tuibench.session.replicas import LogPosition, log_end

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
