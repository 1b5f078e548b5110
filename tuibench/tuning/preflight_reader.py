"""Reading of the server's facts with few statements. A refused statement leaves a gap."""

import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tuibench.model.counters import ROW_WRITES, Counter
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.settings import PREFLIGHT_VARIABLES
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import query_if_allowed
from tuibench.mysql.rows import Row
from tuibench.tuning.catalogue import access
from tuibench.tuning.preflight import ClientConnection, ServerFacts

GAUGES = (Counter.PREPARED_STMT_COUNT, Counter.THREADS_CONNECTED)

_VARIABLES_SQL = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN {tuple(map(str, PREFLIGHT_VARIABLES))}"


def _status_sql(counters: Iterable[Counter]) -> str:
    return f"SHOW GLOBAL STATUS WHERE Variable_name IN {tuple(map(str, counters))}"


_STATUS_SQL = _status_sql(GAUGES + ROW_WRITES)
_WRITES_SQL = _status_sql(ROW_WRITES)
_LIMIT_SQL = "SELECT @@SESSION.max_user_connections"
_CLOCK_SQL = "SELECT UNIX_TIMESTAMP(SYSDATE(6))"


async def read_server(
    connection: Connection,
    info: ServerInfo,
    *,
    wall_seconds: Callable[[], float] = time.time,
    monotonic_seconds: Callable[[], float] = time.monotonic,
) -> ServerFacts:
    """The server's facts as this login may see them. Raises ConnectionLostError only."""
    begun = monotonic_seconds()
    status = {str(name): int(value) for name, value in await query_if_allowed(connection, _STATUS_SQL) or ()}
    granted = await query_if_allowed(connection, "SHOW GRANTS")
    listed = await query_if_allowed(connection, "SHOW PROCESSLIST")
    database = connection.target.database
    return ServerFacts(
        info=info,
        database=database,
        variables={
            str(name): str(value) for name, value in await query_if_allowed(connection, _VARIABLES_SQL) or ()
        },
        status={name: value for name, value in status.items() if name in GAUGES},
        grants=None if granted is None else access.parse_grants((str(row[0]) for row in granted), database),
        clients=None if listed is None else _clients(listed, connection.thread_id),
        registered_replicas=len(await query_if_allowed(connection, _replicas_sql(info)) or ()),
        clock_ahead_seconds=await _clock_ahead(connection, wall_seconds),
        user=connection.target.user,
        user_connections=await _user_connections(connection),
        writes={name: value for name, value in status.items() if name in ROW_WRITES},
        read_at=begun,
    )


async def read_writes_again(
    connection: Connection,
    facts: ServerFacts,
    *,
    monotonic_seconds: Callable[[], float] = time.monotonic,
) -> ServerFacts:
    """The same facts, with what was written since they were read, and by whom. Once only."""
    later = {str(name): int(value) for name, value in await query_if_allowed(connection, _WRITES_SQL) or ()}
    listed = await query_if_allowed(connection, "SHOW PROCESSLIST")
    known = {client.id: client for client in _clients(listed or (), connection.thread_id)}
    busy_before = {client.id: client for client in facts.busy}
    return msgspec.structs.replace(
        facts,
        writes_later=later,
        watched_seconds=max(0.0, monotonic_seconds() - facts.read_at),
        clients=None if facts.clients is None else tuple({**known, **busy_before}.values()),
    )


async def _user_connections(connection: Connection) -> int | None:
    rows = await query_if_allowed(connection, _LIMIT_SQL)
    return int(rows[0][0]) if rows else None


def _replicas_sql(info: ServerInfo) -> str:
    """MySQL 8.0.22 has the new words; MariaDB keeps the old ones in all versions."""
    new = info.flavour == Flavour.MYSQL and info.version_tuple >= (8, 0, 22)
    return "SHOW REPLICAS" if new else "SHOW SLAVE HOSTS"


def _clients(rows: Sequence[Row], own_id: int) -> tuple[ClientConnection, ...]:
    return tuple(
        ClientConnection(
            id=int(row[0]),
            user=str(row[1] or ""),
            host=str(row[2] or ""),
            database=str(row[3] or ""),
            command=str(row[4] or ""),
            seconds=int(row[5] or 0),
            statement=str(row[7] or ""),
        )
        for row in rows
        if int(row[0]) != own_id
    )


async def _clock_ahead(connection: Connection, wall_seconds: Callable[[], float]) -> float | None:
    """How far the server's clock is ahead of this host's, within half the round trip."""
    sent = wall_seconds()
    rows = await query_if_allowed(connection, _CLOCK_SQL)
    received = wall_seconds()
    return float(rows[0][0]) - (sent + received) / 2 if rows else None
