"""The replicas of a session's server: those that were named, or all attached ones.

A reading starts at the beginning of a sample and is collected at its end; a late reading is collected by a
later sample, and its figures are missing until then.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tuibench.clock import Clock
from tuibench.errors import RunError
from tuibench.model.sample import ReplicaSample
from tuibench.model.server import Target
from tuibench.mysql.connection import Connection
from tuibench.observe.status import MonitoringConnection
from tuibench.replicas.status import (
    NO_ADDRESS,
    FoundReplica,
    LogPosition,
    ReplicaReader,
    ReplicaStatus,
    attached_replicas,
    bytes_between,
    log_end,
)
from tuibench.session.spec import ReplicaChoice

TIMEOUT_SECONDS, GIVE_UP_SECONDS = 0.8, 15.0
TIMEOUT_SECONDS = 1.0
FIRST_TIMEOUT_SECONDS = 15.0
LOOK_EVERY_TICKS = 30
LATE = "no answer in time"


class ReplicasObservation(NamedTuple):
    """The replicas in a sample, and the texts of events about them."""

    samples: tuple[ReplicaSample, ...] = ()
    news: tuple[str, ...] = ()


class Replicas:
    """Reads them over separate connections: one to the source, one to each replica."""

    def __init__(self, choice: ReplicaChoice, target: Target, clock: Clock) -> None:
        self._choice = choice
        self._target = target
        self._clock = clock
        self._source = MonitoringConnection(
            target, clock, timeout_seconds=TIMEOUT_SECONDS, give_up_seconds=GIVE_UP_SECONDS
        )
        self._readers = {each.where: ReplicaReader(each, clock) for each in choice.targets}
        self._silent: dict[str, str] = {}
        self._task: asyncio.Task[tuple[ReplicaSample, ...]] | None = None
        self._ticks = 0
        self._doing: dict[str, bool] = {}
        self._last: tuple[ReplicaSample, ...] = ()

    @property
    def is_wanted(self) -> bool:
        return self._choice.is_wanted

    @property
    def statements(self) -> int:
        """All statements sent to the source, for the reconciliation."""
        return self._source.statements

    @property
    def connection_ids(self) -> set[int]:
        """The source's id of this connection, if there is one."""
        return self._source.connection_ids

    async def connect(self) -> None:
        """The first reading. Raises RunError where a replica that was named cannot be read."""
        self.begin()
        observed = await self.finish(FIRST_TIMEOUT_SECONDS)
        self._doing = {}
        named = {target.where for target in self._choice.targets}
        for replica in observed.samples:
            if replica.name in named and replica.note:
                raise RunError(
                    f"--replica {replica.name}: {replica.note}",
                    "the login is that of the server; it needs REPLICATION CLIENT (MariaDB: REPLICA MONITOR)",
                )

    def begin(self) -> None:
        """Start a reading, unless one is in progress."""
        if self.is_wanted and self._task is None:
            self._task = asyncio.create_task(self._read(), name="replicas")

    async def finish(self, timeout_seconds: float = TIMEOUT_SECONDS) -> ReplicasObservation:
        """The replicas according to the reading."""
        if self._task is None:
            return ReplicasObservation()
        done, _ = await asyncio.wait({self._task}, timeout=timeout_seconds)
        if not done:
            return ReplicasObservation(tuple(_unknown(each.name, LATE) for each in self._last))
        samples, self._task = self._task.result(), None
        self._last = samples
        return ReplicasObservation(samples, tuple(self._news(samples)))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await asyncio.gather(*(reader.close() for reader in self._readers.values()))
        await self._source.close()

    async def _read(self) -> tuple[ReplicaSample, ...]:
        if self._choice.find and self._ticks % LOOK_EVERY_TICKS == 0:
            await self._find_attached()
        self._ticks += 1
        names, readers = list(self._readers), list(self._readers.values())
        end, statuses = await asyncio.gather(
            self._source.run(log_end), asyncio.gather(*(reader.read() for reader in readers))
        )
        found = [
            await self._sample(name, reader, status, end)
            for name, reader, status in zip(names, readers, statuses, strict=True)
        ]
        return (*found, *(_unknown(name, why) for name, why in self._silent.items()))

    async def _find_attached(self) -> None:
        """Finds replicas that are attached; those that were found stay, so that a lost one is seen."""
        attached: Sequence[FoundReplica] = await self._source.run(attached_replicas) or ()
        self._silent = {each.name: NO_ADDRESS for each in attached if not each.host}
        for each in attached:
            if each.host and each.name not in self._readers:
                target = replace(self._target, host=each.host, port=each.port, socket="", further=())
                self._readers[each.name] = ReplicaReader(target, self._clock)

    async def _sample(
        self, name: str, reader: ReplicaReader, status: ReplicaStatus | None, end: LogPosition | None
    ) -> ReplicaSample:
        if status is None:
            return _unknown(name, reader.last_error or LATE)
        replayed, behind = status.replayed, None
        if end is not None and replayed is not None:

            async def measure(connection: Connection) -> int | None:
                return await bytes_between(connection, replayed, end)

            behind = await self._source.run(measure)
        return ReplicaSample(
            name=name,
            lag_seconds=status.lag_seconds if status.is_running else None,
            lag_bytes=behind,
            is_running=status.is_running,
            state=status.state,
        )

    def _news(self, samples: Sequence[ReplicaSample]) -> list[str]:
        """What changed: a replica that came, was lost, stopped or works again."""
        before, self._doing = self._doing, {each.name: each.is_running for each in samples}
        return [
            f"replica {each.name} works"
            if each.is_running
            else f"replica {each.name}: {each.note or each.state}"
            for each in samples
            if before.get(each.name) is not each.is_running and (each.name in before or not each.is_running)
        ]


def _unknown(name: str, note: str) -> ReplicaSample:
    return ReplicaSample(name=name, note=note)
