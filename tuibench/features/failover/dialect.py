"""The statements of replication in each flavour, and what the servers answer in one form."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tuibench.base.errors import ServerUnavailableError, SQLError, UsageError
from tuibench.features.failover.gtid import GtidSet
from tuibench.features.failover.modes import WAIT_POINTS, Mode
from tuibench.features.failover.result import SemisyncCounts
from tuibench.model.server import Flavour
from tuibench.mysql.connection import Connection
from tuibench.servers.binaries import Binary

USER = "tuibench_replica"
"""The account of the replicas; it is on each server, with one password."""

OLDEST_MYSQL = (8, 0, 26)
"""The first version with the names of today."""

CANNOT_OPEN_LIBRARY, PLUGIN_INSTALLED = 1126, 1125

COMMON_OPTIONS = ("--loose-binlog-expire-logs-seconds=0", "--binlog-format=ROW", "--relay-log=relay")


class ReplicaState(NamedTuple):
    """What a replica says about itself."""

    received: GtidSet
    """Transactions that are complete in the relay log, or applied."""
    executed: GtidSet
    """Transactions that are committed."""
    is_connected: bool
    """True if it receives from its source."""
    receive_error: str
    """Why it does not receive; empty if it does, or tries again."""
    apply_error: str
    """Why it does not apply; empty if it does."""


class Dialect(ABC):
    """The statements of one flavour. `semisync` is the middle of the names of semi-synchronous variables."""

    user_host = "127.0.0.1"
    semisync_source: str
    semisync_replica: str

    @abstractmethod
    def options(self, number: int) -> tuple[str, ...]:
        """Options of the server with this number."""

    @abstractmethod
    async def prepare(self, connection: Connection, password: str, modes: Iterable[Mode]) -> None:
        """Create the account of the replicas, and load the plugins, on a new server, unlogged.

        Raises ServerUnavailableError if the server does not have a plugin.
        """

    @abstractmethod
    async def follow(self, connection: Connection, port: int, password: str) -> None:
        """Make the server a replica of that port, from its own position on, and start it."""

    @abstractmethod
    async def stop_receiving(self, connection: Connection) -> None: ...

    @abstractmethod
    async def detach(self, connection: Connection) -> None:
        """Stop the replication, and forget the source."""

    @abstractmethod
    async def executed(self, connection: Connection) -> GtidSet: ...

    @abstractmethod
    async def replica_state(self, connection: Connection) -> ReplicaState: ...

    async def set_source(self, connection: Connection, mode: Mode, timeout_seconds: float) -> None:
        """Make a source asynchronous or semi-synchronous."""
        name = f"rpl_semi_sync_{self.semisync_source}"
        if point := WAIT_POINTS.get(mode):
            await connection.execute(f"SET GLOBAL {name}_wait_point = '{point}'")
            await connection.execute(f"SET GLOBAL {name}_timeout = {round(1000 * timeout_seconds)}")
            await connection.execute(f"SET GLOBAL {name}_enabled = ON")
        elif await connection.query(f"SHOW GLOBAL VARIABLES LIKE '{name}_enabled'"):
            await connection.execute(f"SET GLOBAL {name}_enabled = OFF")

    async def set_replica(self, connection: Connection, mode: Mode) -> None:
        """Make a replica that is not started acknowledge what it receives, or not."""
        name = f"rpl_semi_sync_{self.semisync_replica}_enabled"
        if await connection.query(f"SHOW GLOBAL VARIABLES LIKE '{name}'"):
            await connection.execute(f"SET GLOBAL {name} = {'ON' if mode in WAIT_POINTS else 'OFF'}")
        await connection.execute("SET GLOBAL read_only = ON")

    async def semisync_clients(self, connection: Connection) -> int:
        """The number of replicas that acknowledge."""
        return int((await self._semisync_status(connection))["clients"])

    async def semisync_counts(self, connection: Connection) -> SemisyncCounts:
        status = await self._semisync_status(connection)
        return SemisyncCounts(
            acknowledged=int(status["yes_tx"]),
            unacknowledged=int(status["no_tx"]),
            fallbacks=int(status["no_times"]),
            is_on=status["status"] == "ON",
        )

    async def _semisync_status(self, connection: Connection) -> Mapping[str, str]:
        prefix = f"Rpl_semi_sync_{self.semisync_source}_"
        rows = await connection.query(f"SHOW GLOBAL STATUS LIKE '{prefix}%'")
        return {str(name).removeprefix(prefix): str(value) for name, value in rows}

    async def _create_user(self, connection: Connection, identified: str) -> None:
        account = f"'{USER}'@'{self.user_host}'"
        for sql in (
            "SET SESSION sql_log_bin = 0",
            f"CREATE USER {account} {identified}",
            f"GRANT REPLICATION SLAVE ON *.* TO {account}",
        ):
            await connection.execute(sql)


class MariaDB(Dialect):
    semisync_source, semisync_replica = "master", "slave"

    def options(self, number: int) -> tuple[str, ...]:
        return (
            *COMMON_OPTIONS,
            f"--server-id={number}",
            "--log-slave-updates=ON",
            "--gtid-strict-mode=ON",
        )

    async def prepare(self, connection: Connection, password: str, modes: Iterable[Mode]) -> None:
        await self._create_user(connection, f"IDENTIFIED BY {connection.quote(password)}")

    async def follow(self, connection: Connection, port: int, password: str) -> None:
        await connection.execute(
            f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='{USER}',"
            f" MASTER_PASSWORD={connection.quote(password)}, MASTER_CONNECT_RETRY=1,"
            " MASTER_USE_GTID=slave_pos"
        )
        await connection.execute("START SLAVE")

    async def stop_receiving(self, connection: Connection) -> None:
        await connection.execute("STOP SLAVE IO_THREAD")

    async def detach(self, connection: Connection) -> None:
        await connection.execute("STOP SLAVE")
        await connection.execute("RESET SLAVE ALL")

    async def executed(self, connection: Connection) -> GtidSet:
        ((state,),) = await connection.query("SELECT @@GLOBAL.gtid_binlog_state")
        return GtidSet.of_mariadb(str(state))

    async def replica_state(self, connection: Connection) -> ReplicaState:
        (row,) = await connection.query_named("SHOW SLAVE STATUS")
        executed = await self.executed(connection)
        received = GtidSet.of_mariadb(str(row["Gtid_IO_Pos"] or ""))
        return ReplicaState(received | executed, executed, *_threads(row, "Slave"))


class MySQL(Dialect):
    semisync_source, semisync_replica = "source", "replica"

    def __init__(self, *, has_group: bool) -> None:
        self._has_group = has_group

    def options(self, number: int) -> tuple[str, ...]:
        group = ("--loose-group-replication-start-on-boot=OFF",) if self._has_group else ()
        return (
            *COMMON_OPTIONS,
            f"--server-id={number}",
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
            "--log-replica-updates=ON",
            "--report-host=127.0.0.1",
            *group,
        )

    async def prepare(self, connection: Connection, password: str, modes: Iterable[Mode]) -> None:
        await self._create_user(connection, f"IDENTIFIED BY {connection.quote(password)}")
        wanted = {name: file for mode in modes for name, file in PLUGINS.items() if _needs(mode, name)}
        for name, file in wanted.items():
            try:
                await connection.execute(f"INSTALL PLUGIN {name} SONAME '{file}'")
            except SQLError as error:
                if error.code == CANNOT_OPEN_LIBRARY:
                    raise ServerUnavailableError(
                        f"this MySQL does not have the plugin {name}: {error.message}",
                        f"install {file} into its plugin_dir, or name other modes by --mode",
                    ) from error
                if error.code != PLUGIN_INSTALLED:
                    raise
        if self._has_group:
            await connection.execute(
                f"GRANT GROUP_REPLICATION_STREAM, BACKUP_ADMIN ON *.* TO '{USER}'@'{self.user_host}'"
            )

    async def follow(self, connection: Connection, port: int, password: str) -> None:
        await connection.execute(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='{USER}',"
            f" SOURCE_PASSWORD={connection.quote(password)}, SOURCE_CONNECT_RETRY=1,"
            " SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1"
        )
        await connection.execute("START REPLICA")

    async def stop_receiving(self, connection: Connection) -> None:
        await connection.execute("STOP REPLICA IO_THREAD")

    async def detach(self, connection: Connection) -> None:
        await connection.execute("STOP REPLICA")
        await connection.execute("RESET REPLICA ALL")

    async def executed(self, connection: Connection) -> GtidSet:
        ((executed,),) = await connection.query("SELECT @@GLOBAL.gtid_executed")
        return GtidSet.of_mysql(str(executed))

    async def replica_state(self, connection: Connection) -> ReplicaState:
        (row,) = await connection.query_named("SHOW REPLICA STATUS")
        executed = await self.executed(connection)
        received = GtidSet.of_mysql(str(row["Retrieved_Gtid_Set"] or ""))
        return ReplicaState(received | executed, executed, *_threads(row, "Replica"))


PLUGINS = {
    "rpl_semi_sync_source": "semisync_source.so",
    "rpl_semi_sync_replica": "semisync_replica.so",
    "group_replication": "group_replication.so",
}


def _needs(mode: Mode, plugin: str) -> bool:
    return mode is Mode.GROUP if plugin == "group_replication" else mode in WAIT_POINTS


def _threads(row: Mapping[str, Any], who: str) -> tuple[bool, str, str]:
    """Whether the replica receives, and the errors that have ended its two threads."""
    errors = (
        str(row[f"Last_{thread}_Error"])
        if row[f"{who}_{thread}_Running"] == "No" and row[f"Last_{thread}_Errno"]
        else ""
        for thread in ("IO", "SQL")
    )
    receive_error, apply_error = errors
    return row[f"{who}_IO_Running"] == "Yes", receive_error, apply_error


def dialect_of(binary: Binary, modes: Iterable[Mode]) -> Dialect:
    """The dialect of a server program. Raises UsageError for modes that it does not have."""
    has_group = Mode.GROUP in modes
    if binary.flavour is Flavour.MARIADB:
        if has_group:
            raise UsageError(
                f"{binary} has no group replication, which is MySQL's",
                "--server names a mysqld, or leave group out of --mode",
            )
        return MariaDB()
    if binary.version_tuple < OLDEST_MYSQL:
        raise UsageError(f"{binary} is too old for a failover", "MySQL 8.0.26 or newer is needed")
    return MySQL(has_group=has_group)
