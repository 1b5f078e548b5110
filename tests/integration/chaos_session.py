"""A session in little that does as it is told, for the chaos to kill: python -m … SESSION < orders.

The first line of standard input is the target. Each other one is an order: `set NAME VALUE`, `noticed` (a
restart of the server), `end`. Each is answered with a line: the guardian's pid and what came of it.
"""

import asyncio
import sys

import msgspec

from tests import guardians
from tests.integration.steering import opened
from tuibench.errors import TuibenchError
from tuibench.model.target import Target
from tuibench.tuning.guardian import Guardian
from tuibench.tuning.journal import path_of
from tuibench.tuning.tuner import Tuner


async def main() -> None:
    session = sys.argv[1]
    target = msgspec.json.decode(sys.stdin.readline(), type=Target)
    watching = await guardians.started(target, path_of(session))
    tuner = await opened(target, session, guard=watching.ensure_alive)
    answer(watching, "ready")
    while order := (await asyncio.to_thread(sys.stdin.readline)).split():
        try:
            said = await obey(order, tuner)
        except TuibenchError as error:
            said = f"refused: {error}"
        answer(watching, said)
        if order == ["end"]:
            await tuner.close()
            await watching.release(wait_seconds=30)
            return


async def obey(order: list[str], tuner: Tuner) -> str:
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
