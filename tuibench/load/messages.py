"""Messages between a session and its workers: length-prefixed MessagePack over a socketpair.

`load.cluster.messages` adds those between a session and the agent of another host.
"""

import asyncio
import socket
from typing import Generic, TypeVar

import msgspec

from tuibench.load.worker_report import Finished, Reassign, WorkerReport
from tuibench.model.plan import Arrival, Backlog, OnError, RunPlan
from tuibench.model.target import Target
from tuibench.mysql.connection import CHARSET
from tuibench.mysql.login.first_login import FirstLogin
from tuibench.workload.program.program import Program


class ExecutionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Error handling and protocol of a load.

    Transactions are retried after `ignored_errors`, up to `max_retries` times; None means every error.
    `on_error` applies to other errors. `prepared` is False to send every statement as text. `session_sql` is
    executed after each login. A connection logs in again after `reconnect` transactions; 0 for never.
    """

    ignored_errors: frozenset[int] | None
    max_retries: int
    on_error: OnError
    backlog: Backlog
    prepared: bool
    session_sql: tuple[str, ...]
    reconnect: int = 0

    def ignores(self, code: int) -> bool:
        return self.ignored_errors is None or code in self.ignored_errors


def execution_options(plan: RunPlan) -> ExecutionOptions:
    """The execution options of a plan."""
    isolation = plan.isolation.upper().replace("-", " ")
    return ExecutionOptions(
        ignored_errors=None if plan.ignored_errors is None else frozenset(plan.ignored_errors),
        max_retries=plan.max_retries,
        on_error=plan.on_error,
        backlog=plan.backlog,
        prepared=plan.prepared,
        session_sql=(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}",) if isolation else (),
        reconnect=plan.reconnect,
    )


LENGTH_BYTES = 4
MAX_FRAME_BYTES = 1 << 28
"""Maximum length of a message: anything longer is invalid."""


class StartLoad(msgspec.Struct, frozen=True, tag="begin", kw_only=True):
    """First message of a load to a worker.

    `limit` is the number of transactions that this worker may start, None for no limit. `workers` offsets
    evenly spaced arrivals. `charset` is the connections' character set; `is_native` selects the native
    engine. `has_begun` is True if the server has accepted a connection of the load before; a worker that
    `is_replacement` opens connections of a lost worker again. With `lease_seconds` the load ends unless a
    RenewLease arrives within that time. `first_logins` are the session's, for the worker's own.
    """

    worker: int
    workers: int
    target: Target
    program: Program
    seed: int
    execution: ExecutionOptions
    arrival: Arrival
    limit: int | None
    charset: str = CHARSET
    is_native: bool = False
    has_begun: bool = False
    is_replacement: bool = False
    lease_seconds: float = 0.0
    first_logins: tuple[FirstLogin, ...] = ()


class RenewLease(msgspec.Struct, frozen=True, tag="lease"):
    """The session is alive: the load may continue."""


class AssignConnections(msgspec.Struct, frozen=True, tag="connections"):
    """The connections of the run that this worker keeps open from now on."""

    numbers: tuple[int, ...]


class ApplyRate(msgspec.Struct, frozen=True, tag="rate"):
    """This worker's part of the rate, in transactions per second; 0 for a closed loop."""

    rate: float


class ApplyUsers(msgspec.Struct, frozen=True, tag="users"):
    """This worker's number of users that share its connections; 0 without a pool."""

    users: int


class ApplyExtraConnections(msgspec.Struct, frozen=True, tag="extra connections"):
    """This worker's part of the idle connections, and of the extra logins per second."""

    idle: int
    logins_per_second: float


class ApplyWeights(msgspec.Struct, frozen=True, tag="weights"):
    """The weights of the program's transactions from now on, in their order."""

    weights: tuple[float, ...]


class ApplyDelay(msgspec.Struct, frozen=True, tag="delay"):
    """The simulated network delay of every response; 0 for none."""

    delay_ns: int


class ResetLoadStats(msgspec.Struct, frozen=True, tag="start over"):
    """End of the warm-up: drop the backlog and reset each connection's statistics.

    From now on this worker may start `limit` transactions.
    """

    limit: int | None


class ApplySessionSql(msgspec.Struct, frozen=True, tag="session"):
    """Every connection executes these statements between two transactions; new connections after login."""

    statements: tuple[str, ...]


class PauseLoad(msgspec.Struct, frozen=True, tag="pause"):
    """Start no new transaction."""


class ResumeLoad(msgspec.Struct, frozen=True, tag="resume"):
    """Resume."""


class RequestReport(msgspec.Struct, frozen=True, tag="ask"):
    """Request a WorkerReport. A checkpoint resets each connection's statistics after it."""

    checkpoint: bool = False


class RequestConnectionIds(msgspec.Struct, frozen=True, tag="ask connections"):
    """Request the ConnectionIds message."""


class ConnectionIds(msgspec.Struct, frozen=True, tag="connection ids"):
    """The server's ids of a worker's connections, to distinguish them from those of other clients."""

    ids: tuple[int, ...]


class ExpectKill(msgspec.Struct, frozen=True, tag="expect_kill"):
    """The operator kills the query of this connection (the server's id); the transaction will be retried."""

    connection_id: int


class FinishLoad(msgspec.Struct, frozen=True, tag="finish"):
    """End all transactions within the grace period, disconnect, send a last report, wait for a StartLoad."""

    grace_seconds: float


WorkerCommand = (
    AssignConnections
    | ApplyRate
    | ApplyUsers
    | ApplyExtraConnections
    | ApplyWeights
    | ApplyDelay
    | ApplySessionSql
    | ResetLoadStats
    | Reassign
    | PauseLoad
    | ResumeLoad
    | RequestReport
    | RequestConnectionIds
    | ExpectKill
    | FinishLoad
)
"""Messages during a load."""

ToWorker = StartLoad | RenewLease | WorkerCommand
FromWorker = WorkerReport | ConnectionIds | Reassign | Finished

Incoming = TypeVar("Incoming")


class BrokenFrameError(Exception):
    """The bytes read are not a message."""


class MessageChannel(Generic[Incoming]):
    """One end of a connection. `receive` returns None after the other end is closed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, incoming: object) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder: msgspec.msgpack.Decoder[Incoming] = msgspec.msgpack.Decoder(incoming)

    @classmethod
    async def over(cls, sock: socket.socket, incoming: object) -> "MessageChannel[Incoming]":
        reader, writer = await asyncio.open_unix_connection(sock=sock)
        return cls(reader, writer, incoming)

    def send(self, message: msgspec.Struct) -> None:
        """Queues a message.

        If the peer has closed the connection the message is lost; the reader reports this.
        """
        if self._writer.is_closing():
            return
        body = msgspec.msgpack.encode(message)
        self._writer.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)

    async def receive(self) -> Incoming | None:
        """The next message. Raises BrokenFrameError for invalid bytes."""
        try:
            length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            if length > MAX_FRAME_BYTES:
                raise BrokenFrameError(f"a message of {length} bytes")
            return self._decoder.decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        except msgspec.MsgspecError as error:
            raise BrokenFrameError(str(error)) from error

    async def close(self) -> None:
        """Sends the queued messages, then closes the connection."""
        try:
            self._writer.close()
            await self._writer.wait_closed()
        except ConnectionError:
            return


SessionChannel = MessageChannel[FromWorker]
WorkerChannel = MessageChannel[ToWorker]
