"""A connection whose peer is gone without a word, in a network namespace of this process alone.

    unshare --net python -m tests.integration.mysql.half_open SECONDS

Connects with this `net_timeout`, asks, cuts the network while the answer is due, and prints the error.
It asks as the load does: with no deadline but that of the connection.
"""

import asyncio
import subprocess
import sys

import msgspec

from tests.scripted_server import ScriptedServer
from tuibench.errors import ConnectionLostError
from tuibench.mysql.connection import connect


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
