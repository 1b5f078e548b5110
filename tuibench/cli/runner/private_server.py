"""Private server for the duration of a command, with its options and limits."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tuibench.cli.options.private_server_options import PrivateServerOptions
from tuibench.cli.output.log import info
from tuibench.cli.runner.event_loop import run_async
from tuibench.demo.binaries import find_binary, inspect_binary
from tuibench.demo.server import PrivateServer
from tuibench.errors import ServerUnavailableError, TuibenchError

SERVER_OPTIONS = ("--loose-innodb-snapshot-isolation=OFF",)
"""Disables snapshot isolation of MariaDB 11.6.2 and newer, which makes a transaction fail with error 1020 if
a row has changed since its first read, several times per second in the demo. The demo then behaves as on
other servers and versions.
"""


@contextmanager
def private_server(
    program_file: str, options: PrivateServerOptions, *, keep: bool = False
) -> Iterator[PrivateServer]:
    """Run a server during the context; with `keep`, it keeps running, and its address is reported.

    `program_file` is the server program; by default the first one found. Raises UsageError for invalid
    options and limits, ServerUnavailableError if the server ended by itself.
    """
    server = run_async(_start_server(program_file, options, keep=keep))
    ended: ServerUnavailableError | None = None
    try:
        yield server
    except TuibenchError as error:
        if ended := _why_ended(server):
            raise ended from error
        raise
    else:
        if ended := _why_ended(server):
            raise ended
    finally:
        _leave(server, keep=keep, is_running=ended is None)


def _why_ended(server: PrivateServer) -> ServerUnavailableError | None:
    """The reason why the server ended during the command; None if it runs."""
    try:
        run_async(server.check_running())
    except ServerUnavailableError as error:
        return error
    return None


def _leave(server: PrivateServer, *, keep: bool, is_running: bool) -> None:
    """Stop the server, or leave it and report its address, or its folder if it has ended."""
    if not keep:
        run_async(server.stop())
        return
    server.release()
    for line in server.how_to_reach().splitlines() if is_running else [f"its files: {server.directory}"]:
        info(line)


async def _start_server(program_file: str, options: PrivateServerOptions, *, keep: bool) -> PrivateServer:
    limits = options.limits()
    words: tuple[str, ...] = SERVER_OPTIONS
    binary = await asyncio.to_thread(inspect_binary, program_file) if program_file else None
    if options.is_given:
        if binary is None:
            binary = await asyncio.to_thread(find_binary)
        words = (*words, *options.build("server", binary).options)
    info("starting a private server …")
    server = await PrivateServer.start(binary, keep=keep, options=words, limits=limits)
    info(f"{server.binary.flavour} {server.binary.version} in {server.directory}")
    if server.limited:
        info(f"it is limited to {server.limited}")
    return server
