"""A server that says why it takes nobody, and hangs up before the client has looked at its socket."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from tests.unit.mysql.protocol.server_packets import packet
from tuibench.errors import ExitCode, ServerUnreachableError, TuibenchError
from tuibench.model.target import Target
from tuibench.mysql.connection import connect


class HungUp(asyncio.SelectorEventLoop):
    """Hands over a connection when the server has closed it, as a busy machine does."""

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        made = await super().create_connection(*arguments, **options)
        return await hung_up(made)


class UvHungUp(uvloop.Loop):
    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        made = await super().create_connection(*arguments, **options)
        return await hung_up(made)


async def hung_up(made: tuple[Any, Any]) -> tuple[Any, Any]:
    """The connection, once its transport knows of the end and has told the driver."""
    while not made[0].is_closing():  # noqa: ASYNC110 (only the loop can tell)
        await asyncio.sleep(0)
    for _ in range(3):
        await asyncio.sleep(0)
    return made


Loop = Callable[[], asyncio.AbstractEventLoop]
loops = pytest.mark.parametrize("loop", [HungUp, UvHungUp])


def refused(loop: Loop, *greeting: bytes) -> tuple[TuibenchError, str]:
    """The error of a login at a server that sends this and closes, and the server's address."""

    async def login() -> tuple[TuibenchError, str]:
        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.writelines(greeting)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        target = Target(host="127.0.0.1", port=server.sockets[0].getsockname()[1], user="ann")
        async with server:
            with pytest.raises(TuibenchError) as error:
                await connect(target)
        return error.value, target.where

    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(login())


def error_packet(code: int, text: str) -> bytes:
    """Without a state: no capabilities are known yet."""
    return packet(0, b"\xff" + code.to_bytes(2, "little") + text.encode())


@loops
def test_the_servers_reason_is_reported(loop: Loop) -> None:
    error, where = refused(loop, error_packet(1130, "Host 'me' is not allowed to connect"))
    assert error.message == f"cannot log in at {where}: Host 'me' is not allowed to connect (error 1130)"
    assert (error.exit_code, "CREATE USER" in error.hint) == (ExitCode.SERVER_UNAVAILABLE, True)


@loops
def test_too_many_connections_are_known_as_such(loop: Loop) -> None:
    error, where = refused(loop, error_packet(1040, "Too many connections"))
    assert error.message == f"the server at {where} accepts no more connections: Too many connections"


@loops
def test_a_server_that_hangs_up_without_a_word(loop: Loop) -> None:
    error, where = refused(loop)
    assert isinstance(error, ServerUnreachableError)
    assert error.message.startswith(f"cannot reach a server at {where}: ")
    assert "Transport" not in str(error)
    assert error.exit_code == ExitCode.SERVER_UNAVAILABLE
