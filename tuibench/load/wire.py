"""What the session and its workers say to each other: length-prefixed MessagePack over a socketpair."""

import asyncio
import socket
from typing import Generic, TypeVar

import msgspec

from tuibench.load.report import Finished, HandOver, WorkerReport
from tuibench.load.rules import Rules
from tuibench.model.plan import Arrival
from tuibench.model.target import Target
from tuibench.mysql.connection import CHARSET
from tuibench.workload.program import Program

LENGTH_BYTES = 4


class Begin(msgspec.Struct, frozen=True, tag="begin", kw_only=True):
    """First message of a load to a worker: everything it needs.

    `limit` is how many transactions this worker may start, None for no limit. `workers` spreads evenly
    spaced arrivals. `charset` is what connections speak.
    """

    worker: int
    workers: int
    target: Target
    program: Program
    seed: int
    rules: Rules
    arrival: Arrival
    limit: int | None
    charset: str = CHARSET


class SetConnections(msgspec.Struct, frozen=True, tag="connections"):
    """Which connections of the run this worker keeps open from now on."""

    numbers: tuple[int, ...]


class SetRate(msgspec.Struct, frozen=True, tag="rate"):
    """This worker's part of the rate, in transactions per second; 0 for a closed loop."""

    rate: float


class SetWeights(msgspec.Struct, frozen=True, tag="weights"):
    """What each of the program's transactions weighs from now on, in their order."""

    weights: tuple[float, ...]


class SetDelay(msgspec.Struct, frozen=True, tag="delay"):
    """How much later every answer is handed on, make-believe; 0 for not at all."""

    delay_ns: int


class StartOver(msgspec.Struct, frozen=True, tag="start over"):
    """The warm-up is over: drop what is due and not started, and each connection's figures.

    From now on this worker may start `limit` transactions.
    """

    limit: int | None


class SetSession(msgspec.Struct, frozen=True, tag="session"):
    """Every connection runs these statements once, between two transactions; new ones at their login."""

    statements: tuple[str, ...]


class Pause(msgspec.Struct, frozen=True, tag="pause"):
    """Start no new transaction."""


class Resume(msgspec.Struct, frozen=True, tag="resume"):
    """Go on."""


class Report(msgspec.Struct, frozen=True, tag="ask"):
    """Ask for a WorkerReport. At a checkpoint each connection's figures begin anew after it."""

    checkpoint: bool = False


class AskConnections(msgspec.Struct, frozen=True, tag="ask connections"):
    """Ask for the Connections there are."""


class Connections(msgspec.Struct, frozen=True, tag="connection ids"):
    """The server's ids of a worker's connections, to tell them from those of others."""

    ids: tuple[int, ...]


class Spare(msgspec.Struct, frozen=True, tag="spare"):
    """The operator ends the query of this connection, by the server's id: it is tried again."""

    connection_id: int


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """End all transactions within the grace, close the connections, send a last report, wait for a Begin."""

    grace_seconds: float


ToWorker = (
    Begin
    | SetConnections
    | SetRate
    | SetWeights
    | SetDelay
    | SetSession
    | StartOver
    | HandOver
    | Pause
    | Resume
    | Report
    | AskConnections
    | Spare
    | Finish
)
FromWorker = WorkerReport | Connections | HandOver | Finished

Incoming = TypeVar("Incoming")


class Channel(Generic[Incoming]):
    """One end of the socketpair. `receive` returns None once the other end is gone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, incoming: object) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder: msgspec.msgpack.Decoder[Incoming] = msgspec.msgpack.Decoder(incoming)

    @classmethod
    async def over(cls, sock: socket.socket, incoming: object) -> "Channel[Incoming]":
        reader, writer = await asyncio.open_unix_connection(sock=sock)
        return cls(reader, writer, incoming)

    def send(self, message: msgspec.Struct) -> None:
        """Queues a message; a peer that is gone loses it, which its reader notices."""
        if self._writer.is_closing():
            return
        body = msgspec.msgpack.encode(message)
        self._writer.write(len(body).to_bytes(LENGTH_BYTES, "big") + body)

    async def receive(self) -> Incoming | None:
        try:
            head = await self._reader.readexactly(LENGTH_BYTES)
            return self._decoder.decode(await self._reader.readexactly(int.from_bytes(head, "big")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def close(self) -> None:
        """Sends what is queued, then hangs up."""
        try:
            self._writer.close()
            await self._writer.wait_closed()
        except ConnectionError:
            return


SessionEnd = Channel[FromWorker]
WorkerEnd = Channel[ToWorker]
