"""The socket of a connection goes to the native engine and comes back, on both event loops."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from tuibench.model.server import Target
from tuibench.mysql import connection as handover
from tuibench.mysql.connection import connect

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_socket_that_came_back_answers_as_before(run: Run, database: Target) -> None:
    run(_there_and_back(database))


async def _there_and_back(target: Target) -> None:
    connection = await connect(target)
    try:
        for round_number in range(3):
            socket = handover.detach_socket(connection)
            assert socket is not None
            assert len(connection.raw.receiver.buffer) == 0
            handover.reattach_socket(connection)
            ((number, text),) = await connection.query(f"SELECT {round_number}, REPEAT('x', 100000)")
            assert (int(number), len(text)) == (round_number, 100_000)
    finally:
        await connection.close()
    assert handover.detach_socket(connection) is None
