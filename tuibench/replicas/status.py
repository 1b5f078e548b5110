"""Replication status of source and replicas: addresses, the end of the binary log, lag, position, applier.

SHOW REPLICAS has the address that a replica reports (`report_host`, usually empty); the processlist has
the host that its connection comes from. MySQL and MariaDB have the same columns under old and new names. Of
several channels the worst counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, RunError, SQLError
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import AccessDeniedError
from tuibench.observe.status import Connect, MonitoringConnection, log_in

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


STATUS_SQL = ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
TIMEOUT_SECONDS, GIVE_UP_SECONDS = 0.8, 15.0
UNKNOWN_STATEMENT = 1064
ERROR_LENGTH = 120

BEHIND = ("Seconds_Behind_Source", "Seconds_Behind_Master")
FILE = ("Relay_Source_Log_File", "Relay_Master_Log_File")
POSITION = ("Exec_Source_Log_Pos", "Exec_Master_Log_Pos")
RECEIVER = ("Replica_IO_Running", "Slave_IO_Running")
APPLIER = ("Replica_SQL_Running", "Slave_SQL_Running")
APPLIER_STATE = ("Replica_SQL_Running_State", "Slave_SQL_Running_State")


class ReplicaStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`lag_seconds` is None while the replica does not know it; `state` is the applier's state as the server
    reports it, or the error that stopped it.
    """

    lag_seconds: float | None
    replayed: LogPosition | None
    is_running: bool
    state: str


class ReplicaReader:
    """A connection to one replica. Methods never raise for server errors, and never wait for long."""

    def __init__(self, target: Target, clock: Clock, connect: Connect = log_in) -> None:
        self._connect = connect
        self._refusal = ""
        self._connection = MonitoringConnection(
            target,
            clock,
            timeout_seconds=TIMEOUT_SECONDS,
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=self._log_in,
        )

    @property
    def last_error(self) -> str:
        """The reason why the last reading failed."""
        return self._refusal or self._connection.last_error

    async def read(self) -> ReplicaStatus | None:
        """The current status; None if it could not be read (see `last_error`). A refused login is not
        retried.
        """
        return None if self._refusal else await self._connection.run(_read_status)

    async def _log_in(self, target: Target) -> Connection:
        try:
            return await self._connect(target)
        except AccessDeniedError as error:
            self._refusal = error.message
            raise

    async def close(self) -> None:
        await self._connection.close()


async def _read_status(connection: Connection) -> ReplicaStatus:
    for sql in STATUS_SQL:
        try:
            rows = await connection.query_named(sql)
        except ConnectionLostError:
            raise
        except SQLError as error:
            if error.code == UNKNOWN_STATEMENT and sql != STATUS_SQL[-1]:
                continue
            raise
        return parse_status(rows)
    raise RunError("the server does not report the state of its replication")


def parse_status(rows: Sequence[Mapping[str, Any]]) -> ReplicaStatus:
    """The state of the worst channel. Raises RunError for a server that replicates nothing."""
    if not rows:
        raise RunError("this server is not a replica")
    return max((_channel(row) for row in rows), key=_badness)


def _badness(status: ReplicaStatus) -> tuple[bool, float]:
    return not status.is_running, status.lag_seconds or 0.0


def _channel(row: Mapping[str, Any]) -> ReplicaStatus:
    running = [str(_first(row, names) or "").lower() == "yes" for names in (RECEIVER, APPLIER)]
    lag, file, position = (_first(row, names) for names in (BEHIND, FILE, POSITION))
    errors = [str(row.get(name) or "") for name in ("Last_SQL_Error", "Last_IO_Error")]
    error = next((" ".join(text.split()) for text in errors if text), "")
    state = str(_first(row, APPLIER_STATE) or "")
    if not all(running):
        stopped = "the applier" if not running[1] else "the receiver"
        state = f"{stopped} is stopped" + (f": {error[:ERROR_LENGTH]}" if error else "")
    return ReplicaStatus(
        lag_seconds=None if lag is None else float(lag),
        replayed=LogPosition(str(file), int(position)) if file and position is not None else None,
        is_running=all(running),
        state=state,
    )


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if name in row), None)
