"""A session in little, for tests to kill: a guardian, one preset, then nothing but waiting.

    python -m tests.integration.changer SESSION PRESET < target

The first line of standard input is the target, as JSON. Prints the guardian's pid when all is changed.
"""

import asyncio
import sys

import msgspec

from tests import guardians
from tuibench.clock import SystemClock
from tuibench.model.target import Target
from tuibench.mysql.connection import connect
from tuibench.mysql.info import server_info
from tuibench.tuning.control import control_connect
from tuibench.tuning.journal import path_of
from tuibench.tuning.tuner import Tuner, session_journal


async def main() -> None:
    session, preset = sys.argv[1:]
    target = msgspec.json.decode(sys.stdin.readline(), type=Target)
    connection = await connect(target)
    server = await server_info(connection)
    await connection.close()
    watching = await guardians.started(target, path_of(session))
    journal = session_journal(session, target, server, SystemClock())
    tuner = Tuner(control_connect(target), journal, server, guard=watching.ensure_alive)
    await tuner.open()
    await tuner.apply(preset)
    print(watching.pid, flush=True)  # noqa: T201
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
