"""The hot path: statements and answers of one connection, one after the other, without a task in between.

A script is a generator (see `load.transactions`): it yields a packet, and is given what the statement
affected, from within the callback that brings the last byte of the answer; so the next one leaves at once.
Nobody reads the rows, but a script that yields its packet as `Whole`: it is given the answer itself, for
`rows` to read. The driver logs in and does all else; its protocol gets all bytes that no script waits for.

    play ──> script ──packet──> server
               ^                  │
               └──affected────────┘ data_received, Answer

A script that has nothing to say yields None, and goes on when it is woken. One that wants something else (to
sleep) yields a function that gives an awaitable: `play` returns it to whoever plays, who then plays on with
the result.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import msgspec

from tuibench.errors import ConnectionLostError, SQLError
from tuibench.mysql.answer import Answer
from tuibench.mysql.glance import glance
from tuibench.mysql.keeper import Keeper
from tuibench.mysql.recall import Recall, memory_of


class Whole(msgspec.Struct, frozen=True, gc=False):
    """A packet whose answer is wanted byte for byte."""

    packet: bytes


Wish = Callable[[], Awaitable[Any]]
Said = bytes | Whole | Wish | None
Script = Generator[Said, Any, None]

SERVER_GONE, SERVER_LOST = 2006, 2013
GONE = "connection lost: the server has gone away"


class Exchange(asyncio.Protocol):
    """Plays scripts over the transport of a connection of the driver that is logged in."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._transport = raw._transport
        self._driver = raw._proto
        self._answer: Recall | Keeper
        self._answer = self._plain = Recall(
            Answer(without_eof=raw._deprecate_eof), memory_of(without_eof=raw._deprecate_eof)
        )
        self._descriptor = _descriptor(raw._transport)
        self._script: Script = _silence()
        self._ended: asyncio.Future[Wish | None] | None = None
        self._is_waiting = False
        self._is_silent = False
        self._transport.set_protocol(self)

    async def play(self, script: Script, answer: Any = None) -> Wish | None:
        """Plays a script on from where it stands, with the `answer` to its wish, or the error.

        Returns its next wish; None at its end. Raises what the script raises. Cancelled while the server owes
        an answer, it drops the connection.
        """
        self._script = script
        self._ended = asyncio.get_running_loop().create_future()
        self._look_at_transport()
        self._go_on(script.throw if isinstance(answer, Exception) else script.send, answer)
        try:
            return await self._ended
        finally:
            self._is_silent = False
            if self._is_waiting:
                self._drop()

    def wake(self) -> None:
        """Has a script go on that had nothing to say; the others know what they wait for."""
        if self._is_silent:
            self._is_silent = False
            self._look_at_transport()
            self._go_on(self._script.send, None)

    def _look_at_transport(self) -> None:
        """A descriptor that is closed, or about to be, may be another connection's next."""
        if self._transport.is_closing():
            self._descriptor = -1

    def data_received(self, data: bytes) -> None:
        """Bytes of the answer that a script waits for, or else the driver's."""
        if not self._is_waiting:
            self._hand_on(data)
            return
        told: int | bytes | None = glance(data) if self._answer.is_new else None
        if told is None and (told := self._take(data)) is None:
            return
        try:
            said = self._script.send(told)
        except StopIteration:
            self._end(None)
        except Exception as error:
            self._end_with(error)
        else:
            if type(said) is bytes:
                self._write(said)
            else:
                self._obey(said)

    def _take(self, data: bytes) -> int | bytes | None:
        """Reads what cannot be told at a glance; None while there is more to come.

        None, too, for an error: the script has heard it.
        """
        try:
            return self._answer.take(data)
        except SQLError as error:
            if isinstance(error, ConnectionLostError):
                self._drop()
            self._go_on(self._script.throw, error)
            return None

    def _go_on(self, resume: Callable[[Any], Said], answer: Any) -> None:
        """Gives the script what it waits for, and sends at once what it yields."""
        try:
            said = resume(answer)
        except StopIteration:
            self._end(None)
        except Exception as error:
            self._end_with(error)
        else:
            self._obey(said)

    def _obey(self, said: Said) -> None:
        """Does what a script wants."""
        if isinstance(said, bytes):
            self._is_waiting = True
            self._write(said)
        elif said is None:
            self._is_waiting = False
            self._is_silent = True
        elif isinstance(said, Whole):
            self._answer = Keeper(self._plain, self._keep_no_more)
            self._is_waiting = True
            self._write(said.packet)
        else:
            self._end(said)

    def _keep_no_more(self) -> None:
        self._answer = self._plain

    def _write(self, packet: bytes) -> None:
        """Writes to the socket itself, which spares a plain connection the event loop's queue.

        What does not go through at once is left to the transport, with all that follows.
        """
        if self._descriptor >= 0:
            try:
                written = os.write(self._descriptor, packet)
            except OSError:
                written = 0
            if written == len(packet):
                return
            self._descriptor = -1
            packet = packet[written:]
        if self._transport.is_closing():
            self._go_on(self._script.throw, ConnectionLostError(SERVER_GONE, GONE))
        else:
            self._transport.write(packet)

    def _end(self, wish: Wish | None) -> None:
        self._is_waiting = False
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(wish)

    def _end_with(self, error: Exception) -> None:
        self._is_waiting = False
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(error)

    def _drop(self) -> None:
        """Closes the connection: what comes next on it is nobody's."""
        self._is_waiting = False
        self._raw._close_on_cancel()

    def eof_received(self) -> bool:
        return bool(self._driver.eof_received())

    def connection_lost(self, error: Exception | None) -> None:
        self._driver.connection_lost(error)
        if self._is_waiting:
            words = f"connection lost: {error or 'the server hung up'}"
            self._go_on(self._script.throw, ConnectionLostError(SERVER_LOST, words))

    def pause_writing(self) -> None:
        self._driver.pause_writing()

    def resume_writing(self) -> None:
        self._driver.resume_writing()

    def _hand_on(self, data: bytes) -> None:
        """Gives bytes to the driver's protocol, as much at a time as it has room for."""
        while data:
            room = self._driver.get_buffer(len(data))
            taken = min(len(room), len(data))
            room[:taken] = data[:taken]
            self._driver.buffer_updated(taken)
            data = data[taken:]


def _silence() -> Script:
    """A script that says nothing."""
    yield from ()


def _descriptor(transport: Any) -> int:
    """The file descriptor of a plain socket; -1 where the bytes must be encrypted."""
    sock = transport.get_extra_info("socket")
    if sock is None or transport.get_extra_info("ssl_object") is not None:
        return -1
    return int(sock.fileno())
