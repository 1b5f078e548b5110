"""Replication data of the source: its replicas' addresses, and the end of its binary log.

SHOW REPLICAS has the address that a replica reports (`report_host`, usually empty); the processlist has
the host that its connection comes from.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.connection import Connection

REPLICAS_SQL = ("SHOW REPLICAS", "SHOW SLAVE HOSTS")
POSITION_SQL = ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")
FILES_SQL = ("SHOW BINARY LOGS",)
"""The current syntax first, then that of older servers and of MariaDB."""

PROCESSES_SQL = "SELECT HOST FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"
NO_ADDRESS = "it reports no address (report_host): name it, --replica=HOST:PORT"


class LogPosition(NamedTuple):
    """A position in a binary log."""

    file: str
    position: int


class FoundReplica(NamedTuple):
    """A connected replica. Without an address `host` is empty and `name` is its server id."""

    name: str
    host: str
    port: int


async def first_answered(connection: Connection, texts: Sequence[str]) -> list[dict[str, Any]] | None:
    """The rows of the first statement that the server supports and allows; None if it refuses all."""
    for sql in texts:
        try:
            return await connection.query_named(sql)
        except ConnectionLostError:
            raise
        except SQLError:
            continue
    return None


async def attached_replicas(connection: Connection) -> tuple[FoundReplica, ...]:
    """The registered replicas, with their addresses as far as known."""
    rows = await first_answered(connection, REPLICAS_SQL) or []
    clients = await first_answered(connection, (PROCESSES_SQL,)) or []
    return found_replicas(rows, [str(row.get("HOST", "")) for row in clients])


def found_replicas(rows: Sequence[Mapping[str, Any]], clients: Sequence[str]) -> tuple[FoundReplica, ...]:
    """The replicas, from the rows of SHOW REPLICAS and the hosts of the connections that fetch the binary
    log.

    A replica without an address gets the host of those connections, if it is the only one.
    """
    hosts = {client.rpartition(":")[0] or client for client in clients}
    only = hosts.pop() if len(hosts) == 1 else ""
    found = []
    for row in rows:
        host, port = str(row.get("Host") or "") or only, int(row.get("Port") or 0)
        name = (
            f"{host}:{port}" if host and port else f"server {row.get('Server_Id', row.get('Server_id', '?'))}"
        )
        found.append(FoundReplica(name, host if port else "", port))
    return tuple(found)


async def log_end(connection: Connection) -> LogPosition | None:
    """The end of the source's binary log; None if there is none, or it is unavailable."""
    rows = await first_answered(connection, POSITION_SQL)
    if not rows:
        return None
    return LogPosition(str(rows[0]["File"]), int(rows[0]["Position"]))


async def bytes_between(connection: Connection, replayed: LogPosition, end: LogPosition) -> int | None:
    """Bytes that the source has written since a replica's position; file sizes are queried if the position is
    in an earlier file.
    """
    if replayed.file == end.file:
        return max(0, end.position - replayed.position)
    rows = await first_answered(connection, FILES_SQL)
    return behind(replayed, end, {str(row["Log_name"]): int(row["File_size"]) for row in rows or ()})


def behind(replayed: LogPosition, end: LogPosition, sizes: Mapping[str, int]) -> int | None:
    """The bytes from one position to another across files; None if a file is unknown."""
    names = list(sizes)
    if replayed.file not in sizes or end.file not in sizes:
        return None
    first, last = names.index(replayed.file), names.index(end.file)
    if first > last:
        return None
    whole = sum(sizes[name] for name in names[first:last])
    return max(0, whole - replayed.position + end.position)
