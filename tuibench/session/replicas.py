"""The replicas of a session's server: those that were named, or all attached ones.

SHOW REPLICAS has the address that a replica reports (`report_host`, usually empty); the processlist has the
host of its connection. MySQL and MariaDB have the same columns under old and new names. A replica with
several channels has the state of the worst one.

A reading starts at the beginning of a sample and is collected at its end. A late reading is collected by a
later sample, and its figures are missing until then.

With `--max-lag`, the load is paused when a replica's lag exceeds the limit, or a replica stops replicating,
and resumed when all lags are below half of the limit. A replica that cannot be read has no influence.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tuibench.base import numerals
from tuibench.base.clock import Clock
from tuibench.base.errors import MOMENTARY_ERRORS, RunError, SQLError, TuibenchError
from tuibench.base.units import decimal
from tuibench.model.event import EventKind
from tuibench.model.message import Pause, ReplicaChoice, Resume
from tuibench.model.server import Endpoint, Target
from tuibench.model.summary import ReplicationTotals
from tuibench.model.tick import ReplicaSample
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.errors import AccessDeniedError
from tuibench.observe.status import Connect, MonitoringConnection, log_in
from tuibench.session.lifecycle import StartTask

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


Attached = Mapping[str, Endpoint | None]
"""The address of each connected replica by its name: its server id if the address is unknown."""


async def first_answered(connection: Connection, texts: Sequence[str]) -> list[dict[str, Any]] | None:
    """The rows of the first statement that the server supports and allows; None if it refuses all."""
    for sql in texts:
        try:
            return await connection.query_named(sql)
        except MOMENTARY_ERRORS:
            raise
        except SQLError:
            continue
    return None


async def attached_replicas(connection: Connection) -> Attached:
    """The registered replicas, with their addresses as far as known."""
    rows = await first_answered(connection, REPLICAS_SQL) or []
    clients = await first_answered(connection, (PROCESSES_SQL,)) or []
    return found_replicas(rows, [str(row.get("HOST", "")) for row in clients])


def found_replicas(rows: Sequence[Mapping[str, Any]], clients: Sequence[str]) -> Attached:
    """The replicas, from the rows of SHOW REPLICAS and the hosts of the connections that fetch the binary
    log.

    A replica without an address gets the host of those connections, if it is the only one.
    """
    hosts = {client.rpartition(":")[0] or client for client in clients}
    only = hosts.pop() if len(hosts) == 1 else ""
    found: dict[str, Endpoint | None] = {}
    for row in rows:
        host, port = str(row.get("Host") or "") or only, numerals.count(row.get("Port"))
        if host and port:
            found[f"{host}:{port}"] = Endpoint(host=host, port=port)
        else:
            found[f"server {row.get('Server_Id', row.get('Server_id', '?'))}"] = None
    return found


async def log_end(connection: Connection) -> LogPosition | None:
    """The end of the source's binary log; None if there is no log, or it is unavailable."""
    rows = await first_answered(connection, POSITION_SQL)
    if not rows:
        return None
    position = numerals.count(rows[0]["Position"])
    return None if position is None else LogPosition(str(rows[0]["File"]), position)


async def bytes_between(connection: Connection, replayed: LogPosition, end: LogPosition) -> int | None:
    """Bytes that the source has written since a replica's position; file sizes are queried if the position is
    in an earlier file.
    """
    if replayed.file == end.file:
        return max(0, end.position - replayed.position)
    rows = await first_answered(connection, FILES_SQL)
    sizes = {str(row["Log_name"]): numerals.count(row["File_size"]) for row in rows or ()}
    return behind(replayed, end, sizes)


def behind(replayed: LogPosition, end: LogPosition, sizes: Mapping[str, int | None]) -> int | None:
    """The bytes from one position to another across files; None if a file or its size is unknown."""
    names = list(sizes)
    if replayed.file not in sizes or end.file not in sizes:
        return None
    first, last = names.index(replayed.file), names.index(end.file)
    if first > last:
        return None
    between = [sizes[name] for name in names[first:last]]
    known = [size for size in between if size is not None]
    if len(known) < len(between):
        return None
    return numerals.count(max(0, sum(known) - replayed.position + end.position))


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
    """The state of a replica's applier."""

    lag_seconds: float | None
    """None while the replica does not know it."""
    replayed: LogPosition | None
    is_running: bool
    state: str
    """The applier's state as the server reports it, or the error that stopped it."""


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
        except MOMENTARY_ERRORS:
            raise
        except SQLError as error:
            if error.code == UNKNOWN_STATEMENT and sql != STATUS_SQL[-1]:
                continue
            raise
        return parse_status(rows)
    raise RunError("the server does not report the state of its replication")


def parse_status(rows: Sequence[Mapping[str, Any]]) -> ReplicaStatus:
    """The state of the worst channel. Raises RunError for a server that does not replicate."""
    if not rows:
        raise RunError("this server is not a replica")
    return max(
        (_channel(row) for row in rows), key=lambda status: (not status.is_running, status.lag_seconds or 0.0)
    )


def _channel(row: Mapping[str, Any]) -> ReplicaStatus:
    running = [str(_first(row, names) or "").lower() == "yes" for names in (RECEIVER, APPLIER)]
    lag, file, position = (_first(row, names) for names in (BEHIND, FILE, POSITION))
    errors = [str(row.get(name) or "") for name in ("Last_SQL_Error", "Last_IO_Error")]
    error = next((" ".join(text.split()) for text in errors if text), "")
    state = str(_first(row, APPLIER_STATE) or "")
    if not all(running):
        stopped = "the applier" if not running[1] else "the receiver"
        state = f"{stopped} is stopped" + (f": {error[:ERROR_LENGTH]}" if error else "")
    replayed, lag_seconds = numerals.count(position), numerals.amount(lag)
    if lag is not None and lag_seconds is None and all(running):
        state = f"{state}; its lag is {numerals.unreadable(lag)}"
    return ReplicaStatus(
        lag_seconds=lag_seconds,
        replayed=LogPosition(str(file), replayed) if file and replayed is not None else None,
        is_running=all(running),
        state=state,
    )


def _first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if name in row), None)


FINISH_SECONDS = 1.0
FIRST_TIMEOUT_SECONDS = 15.0
LOOK_EVERY_TICKS = 30
LATE = "no answer in time"


class ReplicaMonitor:
    """Reads the replicas over separate connections: one to the source, one to each replica."""

    def __init__(
        self, choice: ReplicaChoice, target: Target, clock: Clock, own: OwnConnections | None = None
    ) -> None:
        self._choice = choice
        self._target = target
        self._clock = clock
        self._source = MonitoringConnection(
            target, clock, timeout_seconds=TIMEOUT_SECONDS, give_up_seconds=GIVE_UP_SECONDS, own=own
        )
        self._readers = {each.where: ReplicaReader(each, clock) for each in choice.targets}
        self._silent: dict[str, str] = {}
        self._task: asyncio.Task[tuple[ReplicaSample, ...]] | None = None
        self._ticks = 0
        self._doing: dict[str, bool] = {}
        self._last: tuple[ReplicaSample, ...] = ()
        self.news: tuple[str, ...] = ()
        """The texts of the events of the last reading."""

    async def connect(self) -> None:
        """The first reading. Raises RunError if a replica that was named cannot be read."""
        self.begin()
        observed = await self.finish(FIRST_TIMEOUT_SECONDS)
        self._doing = {}
        named = {target.where for target in self._choice.targets}
        for replica in observed:
            if replica.name in named and replica.note:
                raise RunError(
                    f"--replica {replica.name}: {replica.note}",
                    "the login is that of the server; it needs REPLICATION CLIENT (MariaDB: REPLICA MONITOR)",
                )

    def begin(self) -> None:
        """Start a reading, unless one is in progress."""
        if self._task is None:
            self._task = asyncio.create_task(self._read(), name="replicas")

    async def finish(self, timeout_seconds: float = FINISH_SECONDS) -> tuple[ReplicaSample, ...]:
        """The replicas as of the last reading; waits for a reading in progress."""
        self.news = ()
        if self._task is None:
            return ()
        done, _ = await asyncio.wait({self._task}, timeout=timeout_seconds)
        if not done:
            return tuple(_unknown(each.name, LATE) for each in self._last)
        self._last, self._task = self._task.result(), None
        self.news = tuple(self._news(self._last))
        return self._last

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await asyncio.gather(*(reader.close() for reader in self._readers.values()))
        await self._source.close()

    async def _read(self) -> tuple[ReplicaSample, ...]:
        if self._choice.find and self._ticks % LOOK_EVERY_TICKS == 0:
            # A replica that was found stays in the list, so that its loss is noticed.
            attached = await self._source.run(attached_replicas) or {}
            self._silent = {name: NO_ADDRESS for name, address in attached.items() if address is None}
            for name, address in attached.items():
                if address is not None and name not in self._readers:
                    self._readers[name] = ReplicaReader(self._target.at(address), self._clock)
        self._ticks += 1
        names, readers = list(self._readers), list(self._readers.values())
        end, statuses = await asyncio.gather(
            self._source.run(log_end), asyncio.gather(*(reader.read() for reader in readers))
        )
        found = [
            await self._sample(name, reader, status, end)
            for name, reader, status in zip(names, readers, statuses, strict=True)
        ]
        return (*found, *(_unknown(name, why) for name, why in self._silent.items()))

    async def _sample(
        self, name: str, reader: ReplicaReader, status: ReplicaStatus | None, end: LogPosition | None
    ) -> ReplicaSample:
        if status is None:
            return _unknown(name, reader.last_error or LATE)
        replayed, behind = status.replayed, None
        if end is not None and replayed is not None:

            async def measure(connection: Connection) -> int | None:
                return await bytes_between(connection, replayed, end)

            behind = await self._source.run(measure)
        return ReplicaSample(
            name=name,
            lag_seconds=status.lag_seconds if status.is_running else None,
            lag_bytes=behind,
            is_running=status.is_running,
            state=status.state,
        )

    def _news(self, samples: Sequence[ReplicaSample]) -> list[str]:
        """The changes in words: a replica was found, lost, has stopped or works again."""
        before, self._doing = self._doing, {each.name: each.is_running for each in samples}
        return [
            f"replica {each.name} works"
            if each.is_running
            else f"replica {each.name}: {each.note or each.state}"
            for each in samples
            if before.get(each.name) is not each.is_running and (each.name in before or not each.is_running)
        ]


def _unknown(name: str, note: str) -> ReplicaSample:
    return ReplicaSample(name=name, note=note)


RESUME_SHARE = 0.5

Emit = Callable[[EventKind, str], object]


class LagLimit:
    """Decides when to pause and to resume, without I/O."""

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self.is_held = False
        """True from a pause to the next resume."""

    def check(self, replicas: Sequence[ReplicaSample]) -> tuple[Pause | Resume, str] | None:
        """Process one sample: the command and its reason; None if nothing is to be done."""
        known = [each for each in replicas if not each.note]
        late = next((each for each in known if self._is_late(each, self._limit_seconds)), None)
        if not self.is_held and late is not None:
            self.is_held = True
            limit = f"--max-lag {decimal(self._limit_seconds, 1)} s"
            is_unknown = late.lag_seconds is None or not late.is_running
            lag = (
                f"does not replicate: {late.state}"
                if is_unknown
                else f"is {decimal(late.lag_seconds, 1)} s behind"
            )
            return Pause(), f"load paused: replica {late.name} {lag} ({limit})"
        resume_seconds = self._limit_seconds * RESUME_SHARE
        if self.is_held and known and not any(self._is_late(each, resume_seconds) for each in known):
            self.is_held = False
            return Resume(), "load resumed: the replicas have caught up"
        return None

    @staticmethod
    def _is_late(replica: ReplicaSample, limit_seconds: float) -> bool:
        if not replica.is_running:
            return True
        return replica.lag_seconds is not None and replica.lag_seconds > limit_seconds


class LagGuard:
    """Executes the decisions of `LagLimit` as an operator's commands."""

    def __init__(
        self,
        limit_seconds: float,
        submit: Callable[[Pause | Resume], Awaitable[str]],
        emit: Emit,
        start_task: StartTask,
    ) -> None:
        self._limit = LagLimit(limit_seconds)
        self._submit = submit
        self._emit = emit
        self._start_task = start_task

    def tick(self, replicas: Sequence[ReplicaSample]) -> None:
        """Process one sample of the measurement."""
        if (decision := self._limit.check(replicas)) is not None:
            self._start_task(self._carry_out(*decision), "max lag")

    async def _carry_out(self, command: Pause | Resume, reason: str) -> None:
        self._emit(EventKind.WARNING, reason)
        try:
            await self._submit(command)
        except TuibenchError as error:
            self._emit(EventKind.WARNING, f"--max-lag: {error.message}")


class LagTotals:
    """The longest replication lag of all ticks."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._seconds: float | None = None
        self._bytes: int | None = None
        self._stopped_ticks = 0

    def add(self, replicas: Sequence[ReplicaSample]) -> None:
        """One tick."""
        for each in replicas:
            self._names.add(each.name)
            if each.lag_seconds is not None:
                self._seconds = max(self._seconds or 0.0, each.lag_seconds)
            if each.lag_bytes is not None:
                self._bytes = max(self._bytes or 0, each.lag_bytes)
        self._stopped_ticks += any(not each.is_running for each in replicas)

    def total(self) -> ReplicationTotals | None:
        """The total of the session; None if it read no replica."""
        if not self._names:
            return None
        return ReplicationTotals(
            replicas=tuple(sorted(self._names)),
            lag_max_seconds=self._seconds,
            lag_max_bytes=self._bytes,
            stopped_ticks=self._stopped_ticks,
        )
