"""Replication status of a replica: its lag, its position in the source's log, and the state of its applier.

MySQL and MariaDB have the same columns under old and new names. Of several channels the worst counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, RunError, SQLError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.errors import AccessDeniedError
from tuibench.observe.replication.source import LogPosition
from tuibench.observe.server.monitoring_connection import Connect, MonitoringConnection, log_in

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
