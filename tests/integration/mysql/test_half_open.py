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

import msgspec
import pytest

from tests.scripted_server import ScriptedServer
from tuibench.errors import ConnectionLostError
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
