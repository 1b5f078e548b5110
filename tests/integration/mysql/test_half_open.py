"""A peer that is gone without a word: its connections count as lost, and are not waited for.

    unshare --net python -m tests.integration.mysql.test_half_open SECONDS

connects with this `net_timeout`, in a network namespace of this process alone, asks as the load does, with no
deadline but that of the connection, cuts the network while the answer is due, and prints the error.
"""

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import msgspec
import pytest

from tests.integration.load.conformance.driving import ENGINES, driving, program
from tests.scripted_server import Answer, ScriptedServer, obliging
from tests.unit.mysql.server_packets import result, text_row
from tuibench.base.errors import ConnectionLostError
from tuibench.model.plan import OnError
from tuibench.mysql.connection import connect, tcp_options

CAN_UNSHARE = (
    shutil.which("unshare") is not None
    and shutil.which("ip") is not None
    and subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0
)


@pytest.mark.skipif(not CAN_UNSHARE, reason="no network namespaces here")
def test_a_peer_that_is_gone_after_it_acknowledged_is_noticed() -> None:
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-m", __name__, "2"],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.stdout.startswith("2013 "), done


SELECT = program("""
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
statements = [{ name = "one", sql = "SELECT 1" }]
""")
END_BYTES = 11
"""Of the packet that ends a result."""
FLIPPED: dict[str, Callable[[bytes], bytes]] = {
    "length of the first packet": lambda whole: flipped(whole, 1, 0x40),
    "length of the last packet": lambda whole: flipped(whole, -END_BYTES, 0x20),
    "mark of the last packet": lambda whole: flipped(whole, -END_BYTES + 4, 0x10),
}
"""What is changed of a result: after each, the client waits for bytes that the server does not owe."""


def flipped(whole: bytes, place: int, bit: int) -> bytes:
    changed = bytearray(whole)
    changed[place] ^= bit
    return bytes(changed)


@pytest.mark.parametrize("what", FLIPPED)
@pytest.mark.parametrize("engine", ENGINES)
async def test_a_response_that_is_half_received_is_not_waited_for(engine: str, what: str) -> None:
    asked = 0

    def respond(command: int, payload: bytes) -> Answer:
        nonlocal asked
        if payload != b"SELECT 1":
            return obliging(command, payload)
        asked += 1
        whole = result([text_row(1)])
        return FLIPPED[what](whole) if asked == 3 else whole

    async with ScriptedServer(respond).listening() as server:
        target = msgspec.structs.replace(server.target, net_timeout=0.2)
        load = driving(ENGINES[engine], target, SELECT, rate=50, prepared=False, on_error=OnError.CONTINUE)
        async with load as drive:
            await drive.reconnects(1)
            await drive.completes(3)
            counters = await drive.ends()
    assert counters.errors == {2013: 1}
    assert server.logins == 2


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_response_that_has_not_begun_is_waited_for(engine: str) -> None:
    """A statement may take longer."""
    begun = asyncio.Event()

    def respond(command: int, payload: bytes) -> Answer:
        if payload != b"SELECT 1" or begun.is_set():
            return obliging(command, payload)
        begun.set()
        return late()

    def late() -> Iterator[bytes]:
        yield b""
        yield b""
        yield result([text_row(1)])

    async with ScriptedServer(respond).listening() as server:
        server.pause_seconds = 0.3
        target = msgspec.structs.replace(server.target, net_timeout=0.2)
        async with driving(ENGINES[engine], target, SELECT, rate=50, prepared=False) as drive:
            await drive.completes(2)
    assert server.logins == 1


@pytest.mark.parametrize("seconds", [0.1, 2.0, 30.0, 86_400.0])
def test_the_system_takes_the_options(seconds: float) -> None:
    with socket.socket() as sock:
        for option, value in tcp_options(seconds).items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
            assert sock.getsockopt(socket.IPPROTO_TCP, option) == value


def loopback(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


async def main(seconds: float) -> None:
    loopback("up")
    asked = asyncio.Event()
    async with ScriptedServer(lambda command, payload: asked.set()).listening() as server:
        target = msgspec.structs.replace(server.target, net_timeout=seconds)
        connection = await connect(target)
        connection.questions = None
        asking = asyncio.create_task(connection.query("SELECT 1"))
        await asked.wait()
        loopback("down")
        try:
            await asking
        except ConnectionLostError as error:
            print(error.code, error.message)  # noqa: T201
        loopback("up")


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
