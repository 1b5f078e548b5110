"""One connection of the load, from login to goodbye.

    connecting ──> working ──> leaving
        ^             │
        └── lost <────┘

connecting  logs in and prepares; refused for want of connections it ends, for want of a server it tries again
working     runs one transaction after the other, or (open loop) each as it comes due; holds while paused
lost        the connection broke: the transaction failed, a new connection is made after a back-off
leaving     asked to go, or out of work: the transaction in flight ends, then the connection is closed
"""

import random
from functools import partial
from typing import Any

from tuibench.errors import ConnectionLostError, RunError, TuibenchError
from tuibench.load.login import Line, Refused, open_line
from tuibench.load.transactions import Transactions
from tuibench.load.work import Work
from tuibench.mysql.exchange import Script, Wish
from tuibench.workload.generate import Generator


class VirtualUser:
    """A connection of the load with its own stream of values. `admitted` once the server has let it in.

    One that `is_patient` waits for room on a server that takes no more connections.
    """

    def __init__(self, work: Work, generator: Generator, number: int, *, is_patient: bool = False) -> None:
        self.admitted = False
        self._is_patient = is_patient
        self._chance = random.Random(number).random
        self.transactions = Transactions(work, generator, self._chance)
        self._work = work
        self._generator = generator
        self._number = number
        self._leaving = False
        self._line: Line | None = None

    @property
    def connected(self) -> bool:
        return self._line is not None

    @property
    def connection_id(self) -> int | None:
        """The server's id of the connection, if there is one."""
        return self._line.connection.thread_id if self._line is not None else None

    def leave(self) -> None:
        """Ends after the transaction in flight."""
        self._leaving = True
        self._work.changed()
        self.wake()

    def wake(self) -> None:
        """Looks again whether there is something to do."""
        if self._line is not None:
            self._line.connection.exchange.wake()

    async def run(self) -> None:
        """Lives until told to leave, refused by the server, out of work, or cancelled."""
        try:
            lost = 0
            while not self._is_done() and (line := await self._connect(lost)) is not None:
                lost += 1
                await self._live(line)
                await self._disconnect()
        except TuibenchError as error:
            self._work.fail(error)
        except Exception as error:
            self._work.fail(RunError(f"a connection of the load broke down: {type(error).__name__}: {error}"))
        finally:
            await self._disconnect()

    def _is_done(self) -> bool:
        return self._leaving or self._work.is_over or self._generator.is_spent

    async def _connect(self, lost: int) -> Line | None:
        """A connection that is ready, None if there is to be none; `lost` is how many it had before."""
        try:
            self._line = await open_line(
                self._work,
                self._number,
                self._generator.needed,
                is_patient=self._is_patient or lost > 0,
                is_leaving=self._is_done,
                chance=self._chance,
            )
        except Refused:
            return None
        if self._line is None:
            return None
        self.admitted = True
        self._work.joined()
        if lost:
            self._work.recorder.counters.reconnects += 1
        return self._line

    async def _disconnect(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            self._work.parted()
            await line.close(self._work)

    async def _live(self, line: Line) -> None:
        """Works until it is done, the connection is lost, or is to be made anew."""
        script: Script = self._script(line)
        answer: Any = None
        try:
            while (wish := await line.connection.exchange.play(script, answer)) is not None:
                answer = await _granted(wish)
        except ConnectionLostError:
            await self._disconnect()
        finally:
            script.close()
            self._work.arrivals.withdraw(self)

    def _script(self, line: Line) -> Script:
        """Transactions one after the other, or (open loop) each as it comes due."""
        work, arrivals = self._work, self._work.arrivals
        while not self._is_done():
            if self._generator.takes_leave():
                return
            if line.session_sql is not work.session_sql:
                yield partial(line.set_up, work)
            elif work.paused or (not arrivals.is_open and self._rests()):
                yield None
            elif arrivals.is_open and not arrivals.backlog:
                arrivals.wait(self)
                yield None
            else:
                yield from self.transactions.in_a_row(line)

    def _rests(self) -> bool:
        """Whether it is too early for the next transaction; it is woken in time."""
        rest = self.transactions.rest
        if not self._generator.pauses.are_any or rest.is_over(self._work.clock.now_ns()):
            return False
        if (at_ns := rest.to_book()) is not None:
            self._work.reveille.book(at_ns, self)
        return True


async def _granted(wish: Wish) -> Any:
    """What a script wanted, or the error that came of it."""
    try:
        return await wish()
    except Exception as error:
        return error
