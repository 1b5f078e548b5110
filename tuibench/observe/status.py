"""Samples the server: one SHOW GLOBAL STATUS a tick, over a connection of our own.

Whatever else is asked in a tick is asked before it: the status must have counted all that we sent.
"""

import msgspec

from tuibench.clock import Clock
from tuibench.errors import RunError
from tuibench.model.server import ServerInfo
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import identity, server_info
from tuibench.observe import counters
from tuibench.observe.binlog import BinlogFile
from tuibench.observe.innodb import InnodbMetrics
from tuibench.observe.line import Connect, Line, log_in
from tuibench.observe.reading import Observation, Reading, observe

STATUS_SQL = "SHOW GLOBAL STATUS"
VARIABLES_SQL = "SHOW GLOBAL VARIABLES"

BUDGET_SHARE = 0.8
MAX_BUDGET_SECONDS = 2.0
"""A call waits for the server at most this share of a tick, and at most so long."""

PATIENCE_SECONDS = 15.0
"""After so long without an answer the connection is given up and made anew."""


class StatusSampler:
    """Reads status and variables. Its methods never raise for what the server does, and never wait for long.

    `interval_seconds` is the tick. Nothing is sent before the first call.
    """

    def __init__(
        self, target: Target, clock: Clock, *, interval_seconds: float = 1.0, log_in: Connect = log_in
    ) -> None:
        self._clock = clock
        self._line = Line(
            target,
            clock,
            budget_seconds=min(BUDGET_SHARE * interval_seconds, MAX_BUDGET_SECONDS),
            patience_seconds=PATIENCE_SECONDS,
            log_in=log_in,
        )
        self._variables: dict[str, str] = {}
        self._variables_of = 0
        self._binlog = BinlogFile()
        self._innodb = InnodbMetrics()
        self._last: Reading | None = None

    @property
    def own_statements(self) -> int:
        """All statements this sampler has sent, over all its connections."""
        return self._line.statements

    @property
    def connection_ids(self) -> set[int]:
        """The server's id of the sampler's connection, if it has one."""
        return self._line.connection_ids

    @property
    def trouble(self) -> str:
        """Why the last call got no answer, in words; empty if it got one."""
        return self._line.trouble

    async def sample(self, transactions_total: int | None = None) -> Observation:
        """The server now, with rates since the last reading, however long ago that was.

        `transactions_total` is how many transactions the load has committed so far; without it there is no
        figure per transaction.
        """
        reading = await self._line.run(self._read)
        if reading is None:
            return Observation(part=None, trouble=self.trouble, own_statements=self.own_statements)
        reading = msgspec.structs.replace(reading, transactions=transactions_total)
        before, self._last = self._last, reading
        return observe(before, reading)

    async def variables(self) -> dict[str, str] | None:
        """All global variables; None if the server gave no answer."""
        return await self._line.run(self._read_variables)

    async def info(self) -> ServerInfo | None:
        """Who the server is now, to be asked again after a restart; None if it gave no answer."""
        return await self._line.run(server_info)

    async def close(self) -> None:
        await self._line.close()

    async def _read(self, connection: Connection) -> Reading:
        if self._variables_of != self._line.logins:
            await self._read_variables(connection)
        innodb = await self._innodb.read(connection, self._variables)
        binlog = await self._binlog.counters(connection, self._variables)
        sent_ns = self._clock.now_ns()
        status = counters.kept(await connection.query(STATUS_SQL))
        received_ns = self._clock.now_ns()
        _demand(status, counters.NEEDED)
        return Reading(
            at_ns=(sent_ns + received_ns) // 2,
            connection=self._line.logins,
            identity=identity(self._variables),
            status=status | binlog | innodb,
            untold=dict(self._innodb.untold),
            max_connections=int(self._variables["max_connections"]),
            table_open_cache=int(self._variables["table_open_cache"]),
            own_statements=self.own_statements,
            transactions=None,
        )

    async def _read_variables(self, connection: Connection) -> dict[str, str]:
        variables: dict[str, str] = dict(await connection.query(VARIABLES_SQL))
        _demand(variables, ("max_connections", "table_open_cache"))
        self._variables, self._variables_of = variables, self._line.logins
        return dict(variables)


def _demand(got: dict[str, int] | dict[str, str], names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in got]
    if missing:
        raise RunError(f"the server does not report {', '.join(missing)}")
