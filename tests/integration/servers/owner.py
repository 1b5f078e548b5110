"""A program that owns a private server and does nothing else, for tests to kill.

    python -m tests.integration.servers.owner PROGRAM FOLDER [TEMPLATE]

Prints one JSON line about the server, then waits for the end of its standard input.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from tuibench.servers import binaries
from tuibench.servers.server import PrivateServer


class Owned(msgspec.Struct, frozen=True):
    """What a test must know to see that nothing is left."""

    server_pid: int
    supervisor_pid: int
    directory: str
    socket: str


async def main() -> None:
    program, base, *template = sys.argv[1:]
    start = PrivateServer.start(
        binaries.inspect_binary(program), base=Path(base), template=Path(*template) if template else None
    )
    async with await start as server:
        owned = Owned(server.pid, server.supervisor_pid, str(server.directory), server.target.socket)
        print(msgspec.json.encode(owned).decode(), flush=True)  # noqa: T201
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
