"""Reads the server's sessions and locks for as long as a viewer shows them, and ends queries.

A viewer renews its lease every few seconds. When the lease runs out the connection to the server is closed,
so a viewer that vanished costs nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Set

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import DeniedError, SQLError
from tuibench.model.measurements.activity import Activity
from tuibench.model.server import ServerInfo
from tuibench.observe.activity.sampler import ActivitySampler
from tuibench.session.lifecycle.tasks import StartTask
from tuibench.session.spec import SessionSpec

LEASE_SECONDS = 5.0
LEASE_TICKS = 3.0
"""Duration of one renewal in samples; the longer of both limits applies."""

OwnIds = Callable[[], Awaitable[Set[int]]]
ExpectKill = Callable[[int], Awaitable[None]]

KILL_PRIVILEGE = "KILL needs CONNECTION ADMIN (MariaDB), CONNECTION_ADMIN (MySQL) or SUPER"
REFUSALS = {
    1094: ("connection {id} no longer exists", "its query may have ended by itself"),
    1095: ("connection {id} belongs to another user", KILL_PRIVILEGE),
}


class ActivityMonitor:
    """Reads at every sample, unless the previous reading is still in progress."""

    def __init__(
        self,
        sampler: ActivitySampler,
        own_ids: OwnIds,
        publish: Callable[[Activity], None],
        clock: Clock,
        interval_seconds: float,
        expect_kill: ExpectKill,
        start_task: StartTask,
    ) -> None:
        self._sampler = sampler
        self._own_ids = own_ids
        self._publish = publish
        self._clock = clock
        self._expect_kill = expect_kill
        self._start_task = start_task
        self._is_closed = False
        self._lease_ns = int(max(LEASE_SECONDS, LEASE_TICKS * interval_seconds) * NS_PER_SECOND)
        self._until_ns: int | None = None
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def of(
        cls,
        spec: SessionSpec,
        server: ServerInfo,
        own_ids: OwnIds,
        publish: Callable[[Activity], None],
        clock: Clock,
        expect_kill: ExpectKill,
        start_task: StartTask,
    ) -> "ActivityMonitor":
        """For the server of a session; `expect_kill` prepares the load for the end of a query.

        Nothing is sent yet.
        """
        sampler = ActivitySampler(spec.target, clock, server.flavour)
        return cls(sampler, own_ids, publish, clock, spec.plan.interval_seconds, expect_kill, start_task)

    @property
    def statements(self) -> int:
        """All statements sent, for the reconciliation."""
        return self._sampler.statements

    @property
    def is_wanted(self) -> bool:
        return self._until_ns is not None and self._clock.now_ns() < self._until_ns

    def renew(self) -> None:
        """Renew the lease. The first reading starts at once."""
        was_wanted = self.is_wanted
        self._until_ns = self._clock.now_ns() + self._lease_ns
        if not was_wanted:
            self.tick()

    def tick(self) -> None:
        """Start another reading, or close the connection if the lease has expired. Returns at once."""
        if self._is_closed or (self._task is not None and not self._task.done()):
            return
        if self.is_wanted:
            self._task = self._start_task(self._take_sample(), "activity")
        elif self._until_ns is not None:
            self._until_ns = None
            self._task = self._start_task(self._sampler.close(), "activity")

    async def kill(self, id: int) -> str:
        """Kills the query of a connection; returns the reply as text. Raises SQLError for a refusal."""
        await self._expect_kill(id)
        try:
            await self._sampler.kill(id)
        except SQLError as error:
            raise kill_error(error, id) from error
        finally:
            self._until_ns = self._until_ns or 0
        return f"connection {id} was asked to end its query"

    async def close(self) -> None:
        """End the query in progress, and log out. No further query is sent."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self._until_ns = None
        await self._sampler.close()

    async def _take_sample(self) -> None:
        activity = await self._sampler.look(await self._own_ids())
        if activity is not None:
            self._publish(activity)


def kill_error(error: SQLError, id: int) -> SQLError:
    """A refusal of KILL as a message with a hint."""
    if error.code in REFUSALS:
        message, hint = REFUSALS[error.code]
        return SQLError(error.code, f"{message.format(id=id)} (error {error.code})", hint)
    if isinstance(error, DeniedError):
        return SQLError(
            error.code, f"this login has no privilege to end queries (error {error.code})", KILL_PRIVILEGE
        )
    return error
