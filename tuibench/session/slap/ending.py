"""How a slap ends: its schema goes, whatever happened, and over a new connection if the old one is lost.

A lost connection ends the test, as in mysqlslap. Whether the server is back in time decides what that is: a
run that failed, or a server that is away. In the latter case the schema stays, and it is said which one, and
what removes it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from tuibench.clock import Clock
from tuibench.errors import ConnectionLostError, RunError, ServerAwayError, SQLError, TuibenchError
from tuibench.load.login import PASSING_CODES
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.session.slap.schema import Schema

PATIENCE_SECONDS = 20.0
"""How long the end of a test that went wrong may take."""

RETRY_SECONDS = 0.5
SEE_THE_LOG = (
    "its error log says whether it was restarted, crashed, or killed a connection; run the test again"
)

Dial = Callable[[], Awaitable[Connection]]
"""Makes a new connection to the server, in no database."""


class LostError(RunError):
    """The test has lost a connection: it was killed, or its server went away."""


@contextmanager
def told_as_lost(target: Target, doing: str) -> Iterator[None]:
    """Raises LostError for a lost connection, with where and when that was."""
    try:
        yield
    except ConnectionLostError as error:
        raise LostError(
            f"the server at {target.where} hung up in {doing}: {error.message}", SEE_THE_LOG
        ) from error


class Ending:
    """Sees to the schema when a test is over; `schema` is set as soon as there is one that would have to go.

    Without trouble a drop takes the time it takes; after trouble the user does not wait for ever.
    """

    def __init__(self, connection: Connection, dial: Dial, say: Callable[[str], None], clock: Clock) -> None:
        self.schema: Schema | None = None
        self._connection = connection
        self._dial = dial
        self._where = connection.target.where
        self._say = say
        self._clock = clock

    async def __aenter__(self) -> "Ending":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises ServerAwayError if the server is lost and stays away; any other trouble comes first."""
        try:
            async with asyncio.timeout(None if error is None else PATIENCE_SECONDS):
                await self._clear(is_lost=isinstance(error, LostError))
        except asyncio.CancelledError:
            self._say_what_stays()
            raise
        except (TuibenchError, TimeoutError) as trouble:
            self._say_what_stays()
            if error is None or isinstance(error, LostError):
                raise self._worst(error, trouble) from trouble
        finally:
            await self._hang_up(in_order=error is None)

    async def _clear(self, *, is_lost: bool) -> None:
        """Has the schema gone. After a loss, it also takes the server to be back."""
        if not is_lost:
            try:
                return await self._drop(self._connection)
            except ConnectionLostError:
                pass
        async with asyncio.timeout(PATIENCE_SECONDS):
            again = await self._back()
            try:
                await self._drop(again)
            finally:
                await again.close()

    async def _drop(self, connection: Connection) -> None:
        if self.schema is not None and self.schema.is_ours:
            await self.schema.drop(connection)

    async def _back(self) -> Connection:
        """A new connection, as soon as there is one."""
        told = False
        while True:
            try:
                return await self._dial()
            except (ServerAwayError, SQLError) as error:
                if isinstance(error, SQLError) and error.code not in PASSING_CODES:
                    raise
                if not told:
                    self._say(f"waiting up to {PATIENCE_SECONDS:.0f} s for the server: {error.message}")
                told = True
            await self._clock.sleep(RETRY_SECONDS)

    def _say_what_stays(self) -> None:
        if self.schema is not None and self.schema.is_ours:
            name = self.schema.quoted
            self._say(f"the schema {name} stays at {self._where}; to remove it: DROP SCHEMA {name}")

    def _worst(self, lost: BaseException | None, trouble: BaseException) -> TuibenchError:
        """What the test ends with when its schema could not be dropped, or its server did not come back."""
        if isinstance(trouble, SQLError) and not isinstance(trouble, ConnectionLostError):
            return trouble
        what = lost.message if isinstance(lost, LostError) else f"lost the server at {self._where}"
        return ServerAwayError(
            f"{what}; it did not come back within {PATIENCE_SECONDS:.0f} s",
            "is it running? its error log says more",
        )

    async def _hang_up(self, *, in_order: bool) -> None:
        """Says goodbye; a server in trouble may not listen."""
        if in_order:
            await self._connection.close()
        else:
            self._connection.abort()
