"""Several connections that work together: the first error ends them all, and nothing is left running."""

import asyncio
from collections.abc import Coroutine, Iterable

from tuibench.errors import SQLError, TuibenchError
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.own import connect_own

NO_SUCH_THREAD = 1094


async def together(coroutines: Iterable[Coroutine[None, None, None]]) -> None:
    """Runs them all at once; the first error ends the others and is raised as itself."""
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def kill(connection: Connection, thread_id: int) -> None:
    """Ends what another connection does on the server, and that connection; it may have ended by itself."""
    try:
        await connection.execute(f"KILL {thread_id}")
    except SQLError as error:
        if error.code != NO_SUCH_THREAD:
            raise


async def cut_off(target: Target, connections: Iterable[Connection]) -> None:
    """Drops connections in the middle of their work, and ends it on the server, if that is still there."""
    connections = list(connections)
    for connection in connections:
        connection.abort()
    try:
        other = await connect_own(target)
        for connection in connections:
            await kill(other, connection.thread_id)
        await other.close()
    except TuibenchError:
        return
