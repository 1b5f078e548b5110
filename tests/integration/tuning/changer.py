"""A session in little, for tests to kill: a guardian, one preset, then nothing but waiting.

    python -m tests.integration.tuning.changer SESSION PRESET [KEPT …] < target

The first line of standard input is the target, as JSON. Prints the guardian's pid when all is changed.
"""

import asyncio
import sys

import msgspec

from tests import guardians
from tuibench.base.clock import SystemClock
from tuibench.model.server import Target
from tuibench.mysql.connection import connect
from tuibench.mysql.info import server_info
from tuibench.tuning.changer import SettingsManager, session_journal
from tuibench.tuning.connection import admin_connector
from tuibench.tuning.journal import journal_path


async def main() -> None:
    session, preset, *kept = sys.argv[1:]
    target = msgspec.json.decode(sys.stdin.readline(), type=Target)
    connection = await connect(target)
    server = await server_info(connection)
    await connection.close()
    watching = await guardians.started(target, journal_path(session))
    journal = session_journal(session, target, server, SystemClock())
    journal.on_file = watching.hold
    tuner = SettingsManager(admin_connector(target), journal, server, guard=watching.ensure_alive)
    await tuner.open()
    await tuner.apply(preset)
    if kept:
        await tuner.keep_values(kept)
    print(watching.pid, flush=True)  # noqa: T201
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
