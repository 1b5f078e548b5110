"""Parallel work on several connections: the first error cancels all of it."""

import asyncio
from collections.abc import Coroutine, Iterable

from tuibench.errors import SQLError, TuibenchError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.session_defaults import connect_with_defaults

ER_NO_SUCH_THREAD = 1094


async def run_all(coroutines: Iterable[Coroutine[None, None, None]]) -> None:
    """Runs all concurrently; the first error cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def kill_connection(connection: Connection, thread_id: int) -> None:
    """Kills another connection on the server; it may have ended already."""
    try:
        await connection.execute(f"KILL {thread_id}")
    except SQLError as error:
        if error.code != ER_NO_SUCH_THREAD:
            raise


async def abort_and_kill(target: Target, connections: Iterable[Connection]) -> None:
    """Closes connections during their work, and kills them on the server, if it is reachable."""
    connections = list(connections)
    for connection in connections:
        connection.abort()
    try:
        other = await connect_with_defaults(target)
        for connection in connections:
            await kill_connection(other, connection.thread_id)
        await other.close()
    except TuibenchError:
        return
