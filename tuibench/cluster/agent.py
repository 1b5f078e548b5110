"""The agent: runs the load of its host for a session on another host, and ends with it.

    agent = Agent(channel, clock, sample_host, hello)
    await agent.run()                 until the session closes the channel, or the lease runs out

Beats are answered as they arrive; commands wait for their instant, one after the other. `host_load` is the
load itself. Whatever ends the agent, its workers end. `stdio_channel` is its channel, over stdin and stdout.
"""

import asyncio
import contextlib
import os
import stat
import sys
from collections.abc import Callable, Coroutine
from typing import Any, assert_never

from tuibench.clock import NS_PER_MS, NS_PER_SECOND, Clock, wait_with_timeout
from tuibench.cluster.host import check_files, try_login
from tuibench.cluster.host_load import HostLoad
from tuibench.cluster.messages import (
    MAGIC,
    AcceptHost,
    AgentChannel,
    AgentFailed,
    AgentHello,
    At,
    Beat,
    BeatReply,
    CheckServer,
    Command,
    StartHost,
    ToAgent,
)
from tuibench.errors import TuibenchError, UsageError
from tuibench.load.messages import Lease, MessageChannel
from tuibench.model.server import Target
from tuibench.model.tick import Tick

ACCEPT_SECONDS = 60.0
"""Seconds that the agent waits for the session's first message."""

CLOSE_SECONDS = 1.0
POLL_SECONDS = 0.25
"""How often the agent checks its lease."""


class LeaseOverError(TuibenchError):
    """The session has been silent for longer than the lease."""


class Agent:
    """One host's part of a load. `sample_host` samples the host; its argument is the list of tuibench's
    processes.
    """

    def __init__(
        self,
        channel: AgentChannel,
        clock: Clock,
        sample_host: Callable[[list[int]], Tick | None],
        hello: AgentHello,
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._sample_host = sample_host
        self._hello = hello
        self._lease = Lease(ACCEPT_SECONDS, clock.now_ns())
        self._commands: asyncio.Queue[At] = asyncio.Queue()
        self._load: HostLoad | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serves one session until it closes the channel, or until its lease runs out."""
        self._channel.send(self._hello)
        parts = (self._receive(), self._execute_all(), self._watch_lease())
        tasks = {asyncio.create_task(part) for part in parts}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except TuibenchError as error:
            failed = AgentFailed(message=error.message, hint=error.hint, exit_code=int(error.exit_code))
            self._channel.send(failed)
        finally:
            for task in tasks | self._tasks:
                task.cancel()
            await asyncio.gather(*tasks, *self._tasks, return_exceptions=True)
            if self._load is not None:
                await self._load.kill()
            with contextlib.suppress(TimeoutError):
                await wait_with_timeout(self._channel.close(), CLOSE_SECONDS)

    async def _receive(self) -> None:
        """Handles messages until the session closes the channel."""
        while (message := await self._channel.receive()) is not None:
            match message:
                case Beat(sent_ns=sent_ns):
                    self._renew()
                    self._channel.send(BeatReply(sent_ns, self._clock.now_ns(), self._clock.wall_seconds()))
                case AcceptHost(lease_seconds=seconds):
                    self._lease = Lease(seconds, self._clock.now_ns())
                case At():
                    self._commands.put_nowait(message)
                case _:
                    assert_never(message)

    def _renew(self) -> None:
        now_ns = self._clock.now_ns()
        self._lease.renew(now_ns)
        if self._load is not None and not self._lease.is_over(now_ns):
            self._load.renew_lease()

    async def _watch_lease(self) -> None:
        """Raises LeaseOverError when the lease has run out."""
        while seconds := self._lease.seconds_left(self._clock.now_ns()):
            await self._clock.sleep(min(seconds, POLL_SECONDS))
        self._lease.end()
        raise LeaseOverError("no message from the session for longer than the lease: its load has ended")

    async def _execute_all(self) -> None:
        """Executes the commands in their order, each at its instant."""
        while True:
            at = await self._commands.get()
            wait_ns = at.at_ns - self._clock.now_ns()
            if wait_ns > 0:
                await self._clock.sleep(wait_ns / NS_PER_SECOND)
            await self._execute(at.command, late_ms=max(0, -wait_ns) / NS_PER_MS)

    async def _execute(self, command: Command, late_ms: float) -> None:
        match command:
            case StartHost():
                check_files(command.begin.target)
                self._load = HostLoad(command, self._channel, self._clock, self._sample_host)
                await self._load.start()
            case CheckServer(target=target):
                self._start_task(self._check_server(target))
            case _ if self._load is not None:
                self._load.note_lateness(late_ms)
                await self._load.execute(command)
            case _:
                raise AssertionError("a load is begun before it is changed")

    async def _check_server(self, target: Target) -> None:
        self._channel.send(await try_login(target, self._clock))

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


STDIN, STDOUT, STDERR = 0, 1, 2


async def stdio_channel() -> AgentChannel:
    """Sends MAGIC. From then on, output of libraries goes to stderr.

    Raises UsageError if stdin and stdout are neither pipes nor sockets.
    """
    if not all(map(_is_stream, (STDIN, STDOUT))):
        raise _not_by_hand()
    out = os.dup(STDOUT)
    sys.stdout.flush()
    os.dup2(STDERR, STDOUT)
    os.set_inheritable(STDIN, False)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(STDIN, "rb", 0))
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(out, "wb", 0))
    except (ValueError, OSError) as error:
        raise _not_by_hand() from error
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    writer.write(MAGIC)
    channel: AgentChannel = MessageChannel(reader, writer, ToAgent)
    return channel


def _is_stream(descriptor: int) -> bool:
    """Whether it is a pipe or a socket: an event loop cannot wait for a file or for /dev/null."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _not_by_hand() -> UsageError:
    return UsageError(
        "tuibench agent talks to a session over its stdin and stdout, which must be pipes",
        "a session starts it: tuibench run PROFILE --cluster ssh:host1,host2",
    )
