"""The agent's channel over its stdin and stdout."""

import asyncio
import os
import stat
import sys

from tuibench.errors import UsageError
from tuibench.load.cluster.messages import MAGIC, AgentChannel, ToAgent
from tuibench.load.messages import MessageChannel

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
