"""A small session for the chaos to kill, with a load beside it: python -m … SESSION ENGINE < orders.

The first line of standard input is the target. Each other one is an order: `set NAME VALUE`, `noticed` (a
restart of the server), `end`. Each is answered with a line: the guardian's pid and what came of it.
"""

import asyncio
import sys

import msgspec

from tests import guardians
from tests.integration.load.conformance.driving import ENGINES, Drive, driving, program
from tests.integration.support.steering import opened
from tuibench.errors import TuibenchError
from tuibench.model.plan import OnError
from tuibench.model.target import Target
from tuibench.tuning.change.settings_manager import SettingsManager
from tuibench.tuning.undo.guardian import Guardian
from tuibench.tuning.undo.journal import journal_path

SELECT = program("""
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
statements = [{ name = "one", sql = "SELECT 1" }]
""")
CONNECTIONS, RATE = 2, 50
MORE = 5


async def main() -> None:
    session, engine = sys.argv[1:]
    target = msgspec.json.decode(sys.stdin.readline(), type=Target)
    load = driving(ENGINES[engine], target, SELECT, CONNECTIONS, rate=RATE, on_error=OnError.CONTINUE)
    async with load as drive:
        await serve(session, target, drive)


async def serve(session: str, target: Target, drive: Drive) -> None:
    """Carries out the orders. The load must go on until the end, whatever the server has gone through."""
    watching = await guardians.started(target, journal_path(session))
    tuner = await opened(target, session, guard=watching.ensure_alive)
    answer(watching, "ready")
    while order := (await asyncio.to_thread(sys.stdin.readline)).split():
        try:
            said = await execute(order, tuner)
        except TuibenchError as error:
            said = f"refused: {error}"
        if order == ["end"]:
            await drive.completes(MORE)
        answer(watching, said)
        if order == ["end"]:
            await tuner.close()
            await watching.release(wait_seconds=30)
            return


async def execute(order: list[str], tuner: SettingsManager) -> str:
    match order:
        case ["set", name, value]:
            return f"{name} is {(await tuner.change(name, value)).value}"
        case ["noticed"]:
            return "; ".join(await tuner.after_restart()) or "nothing to settle"
        case ["end"]:
            return "; ".join(one.text for one in await tuner.restore()) or "nothing to restore"
        case _:
            return f"not understood: {order}"


def answer(watching: Guardian, text: str) -> None:
    print(watching.pid, text, flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
