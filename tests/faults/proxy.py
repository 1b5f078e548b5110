"""A TCP proxy before a server: it adds delay, loss and a queue, drops answers, resets connections, leads to
another server.

Loss is simulated where the kernel has no netem: a lost chunk of bytes is as late as TCP's retransmission
makes it, and all that follows on the connection waits for it.
"""

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable

from tuibench.model.server import Target

CHUNK = 65536
RETRANSMISSION_SECONDS = 0.2
ABORT = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: closing sends RST."""


class Proxy:
    """Where it leads, and what it does to the bytes on their way."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.delay_seconds = 0.0
        self.loss = 0.0
        self.requests_per_second = 0.0
        self.is_refusing = False
        self.is_mute = False
        self._chance = random.Random(1).random
        self._free_at = 0.0
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumping: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self, host: str = "127.0.0.1") -> AsyncIterator[int]:
        """Listens on a free port until the block ends; the port."""
        server = await asyncio.start_server(self._accept, host, 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            self.reset()
            await asyncio.gather(*self._pumping, return_exceptions=True)

    def reset(self) -> None:
        """Ends every connection with RST."""
        for writer in self._writers:
            sock: socket.socket = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        if self.is_refusing:
            self.reset()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target.port)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(back)
        ways = ((reader, back, self._turn, lambda: False), (there, writer, lambda: 0.0, lambda: self.is_mute))
        for way in ways:
            task = asyncio.create_task(self._pump(*way))
            self._pumping.add(task)
            task.add_done_callback(self._pumping.discard)

    def _turn(self) -> float:
        """Seconds until a request leaves the queue that all connections share."""
        if not self.requests_per_second:
            return 0.0
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + 1 / self.requests_per_second
        return self._free_at - now

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        turn: Callable[[], float],
        is_dropped: Callable[[], bool],
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(CHUNK):
                late = turn() + self.delay_seconds + RETRANSMISSION_SECONDS * (self._chance() < self.loss)
                if late:
                    await asyncio.sleep(late)
                if is_dropped():
                    continue
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
        self._writers.discard(writer)
