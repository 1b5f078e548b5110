"""A small session for the chaos to kill, with a load beside it: python -m … SESSION ENGINE [far] < orders.

One that is `far` is on another host, as far as it and its guardian know, and locks no file. The first line of
standard input is the target. Each other one is an order: `set NAME VALUE`, `die POINT NAME VALUE` (killed at
this point of the change), `lose HOW[+HOW] NAME VALUE` (replies are lost), `noticed` (a restart of the
server), `sample` (the home is looked after, as with every sample), `disk HOW` (of the journal), `end`. Each
is answered with a line: the guardian's pid and what came of it. The callers of the load have a deadline and
send again; their queue depends on the session's name.
"""

import asyncio
import errno
import fcntl
import os
import random
import signal
import socket
import sys
from collections.abc import Sequence

import msgspec

from tests import guardians
from tests.integration.load.conformance.driving import ENGINES, QUEUES, Drive, driving, program
from tests.integration.support.steering import opened
from tests.unit.load.driving import ended
from tuibench.base.errors import ConnectionLostError, TuibenchError
from tuibench.model.plan import OnError
from tuibench.model.server import Target
from tuibench.mysql.rows import Row
from tuibench.tuning import guardian, journal
from tuibench.tuning.changer import SettingsManager
from tuibench.tuning.connection import change_sql, is_change
from tuibench.tuning.guardian import Guardian
from tuibench.tuning.journal import journal_path

SELECT = program("""
[[transactions]]
name = "one"
autocommit = true
[[transactions.steps]]
statements = [{ name = "one", sql = "SELECT 1" }]
""")
CONNECTIONS, RATE = 2, 50
MORE = 5
POINTS = ("journalled", "sent", "replied", "read", "confirmed")
DISKS = {"full": errno.ENOSPC, "frozen": errno.EROFS, "well": 0}
LOSSES = ("before", "sent", "after")
"""Before the server gets the statement, while it executes it, after that."""
LONGEST_SECONDS = 0.004


async def main() -> None:
    session, engine, *far = sys.argv[1:]
    if far:
        be_far()
        guardian._COMMAND = [sys.executable, "-m", "tests.integration.tuning.chaos_session", FAR_GUARDIAN]
    target = msgspec.json.decode(sys.stdin.readline(), type=Target)
    load = driving(ENGINES[engine], target, SELECT, CONNECTIONS, rate=RATE, on_error=OnError.CONTINUE)
    async with load as drive:
        drive.engine.set_callers(QUEUES[sum(session.encode()) % len(QUEUES)])
        await serve(session, target, drive)


def be_far() -> None:
    """On a host of another name, which sees no locks of files."""
    socket.gethostname = lambda: "far"
    fcntl.flock = lambda fd, how: None


FAR_GUARDIAN = "guardian"


async def serve(session: str, target: Target, drive: Drive) -> None:
    """Carries out the orders. The load must go on until the end, whatever the server has gone through. What
    came due is accounted for with every order, and when the load has ended.
    """
    watching = await guardians.started(target, journal_path(session))
    tuner = await opened(target, session, guard=watching.ensure_alive)
    tuner.journal.on_file = watching.hold
    answer(watching, "ready")
    while order := (await asyncio.to_thread(sys.stdin.readline)).split():
        drive.report()
        try:
            said = await execute(order, tuner)
        except TuibenchError as error:
            said = f"refused: {error}"
        if order == ["end"]:
            await drive.completes(MORE)
            counters = await drive.ends()
            assert counters.scheduled == ended(counters), counters
        answer(watching, said)
        if order == ["end"]:
            await tuner.close()
            await watching.release(wait_seconds=30)
            return


class Mishap:
    """What happens to the statement that changes a setting: a death at one of POINTS, or lost replies."""

    def __init__(
        self, tuner: SettingsManager, name: str, *, point: str = "", losses: Sequence[str] = ()
    ) -> None:
        self._tuner, self._name, self._point, self._losses = tuner, name, point, list(losses)
        (value,) = (state.value for state in tuner.known if state.name == name)
        self._way_back = change_sql(name, value)
        self._once = tuner.control._once
        self._is_set = False

    def __enter__(self) -> None:
        self._tuner.control._once = self.once  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        self._tuner.control._once = self._once  # type: ignore[method-assign]

    async def once(self, sql: str, seconds: float | None) -> Sequence[Row]:
        if is_change(sql, self._name) and sql != self._way_back:
            self._is_set = True
            return await self._change(sql, seconds)
        rows = await self._once(sql, seconds)
        if self._is_set and self._point == "read":
            kill()
        return rows

    async def _change(self, sql: str, seconds: float | None) -> Sequence[Row]:
        how = self._losses.pop(0) if self._losses else ""
        if self._point == "journalled":
            kill()
        if how == "before":
            self._tuner.control._drop()
            raise ConnectionLostError(2013, "lost before")
        asked = asyncio.ensure_future(self._once(sql, seconds))
        if "sent" in (self._point, how):
            await asyncio.sleep(random.random() * LONGEST_SECONDS)
            if self._point:
                kill()
            asked.cancel()
            await asyncio.wait([asked])
            raise ConnectionLostError(2013, "lost while it is executed")
        rows = await asked
        if self._point == "replied":
            kill()
        if how == "after":
            self._tuner.control._drop()
            raise ConnectionLostError(2013, "lost after")
        return rows


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def execute(order: list[str], tuner: SettingsManager) -> str:
    match order:
        case ["die", point, name, value]:
            with Mishap(tuner, name, point=point):
                said = await execute(["set", name, value], tuner)
            if point == "confirmed" and tuner.journal.ledger.changes_of(name):
                kill()
            return said
        case ["lose", losses, name, value]:
            with Mishap(tuner, name, losses=losses.split("+")):
                return await execute(["set", name, value], tuner)
        case ["set", name, value]:
            return f"{name} is {(await tuner.change(name, value)).value}"
        case ["noticed"]:
            return "; ".join(await tuner.after_restart()) or "nothing to settle"
        case ["sample"]:
            return await tuner.keep() or "nothing happened"
        case ["disk", how]:
            break_disk(DISKS[how])
            return "so it is"
        case ["end"]:
            return "; ".join(one.text for one in await tuner.restore()) or "nothing to restore"
        case _:
            return f"not understood: {order}"


WRITERS = {name: getattr(journal, name) for name in ("append", "create_locked", "remove")}


def break_disk(number: int) -> None:
    """Nothing more can be written to the journal, for the reason with this number; with 0 it can again."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    for name, works in WRITERS.items():
        setattr(journal, name, refuse if number else works)


def answer(watching: Guardian, text: str) -> None:
    print(watching.pid, text, flush=True)  # noqa: T201


if __name__ == "__main__":
    if sys.argv[1:] == [FAR_GUARDIAN]:
        be_far()
        sys.exit(guardian.main())
    asyncio.run(main())
