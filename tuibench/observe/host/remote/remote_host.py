"""Sampling of a remote host in parallel with a session's ticks; a failed or late reading is a gap with a
reason.

A reading starts at the beginning of a tick and is collected at its end, so that it does not delay the tick. A
late reading is collected by a later tick. The delay before the next attempt grows with each failure.
"""

import asyncio

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.model.server import ServerInfo
from tuibench.observe.host.figures import host_tick
from tuibench.observe.host.remote.source import (
    HostAddress,
    HostReading,
    HostSource,
    HostSourceError,
    NamedSample,
    parse_host_metrics,
)
from tuibench.observe.host.remote.ssh import SshSource

ANSWER_SECONDS = 5.0
CONNECT_SECONDS = 15.0
"""Timeout of a reading that opens a connection."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 30.0
TIMEOUT_SHARE, MIN_TIMEOUT_SECONDS = 0.5, 0.5
FIRST_NOTE = "the next sample has its figures"


class RemoteHost:
    """One host. `begin` never waits; `finish` waits for a part of a tick at most."""

    def __init__(self, source: HostSource, origin: str, clock: Clock, interval_seconds: float) -> None:
        self._source = source
        self._origin = origin
        self._clock = clock
        self._timeout_seconds = min(
            max(TIMEOUT_SHARE * interval_seconds, MIN_TIMEOUT_SECONDS), ANSWER_SECONDS
        )
        self._task: asyncio.Task[HostReading] | None = None
        self._last: HostReading | None = None
        self._note = ""
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._retry_at_ns = 0

    @classmethod
    def of(cls, text: str, server: ServerInfo, clock: Clock, interval_seconds: float) -> "RemoteHost":
        """Create for a value of `--host-metrics`, without sending anything. Raises UsageError if it is
        invalid.
        """
        address = parse_host_metrics(text)
        return cls(_source_of(address, server), text, clock, interval_seconds)

    def follow(self, server: ServerInfo) -> None:
        """Find the server's process again after a restart."""
        self._last = None
        self._source.follow(server)

    def begin(self) -> None:
        """Start a reading, unless one is in progress or the delay after a failure has not passed."""
        if self._task is None and self._clock.now_ns() >= self._retry_at_ns:
            self._task = asyncio.create_task(self._read(), name="host metrics")

    async def finish(self, timeout_seconds: float | None = None) -> NamedSample:
        """The sample of the current reading, or the reason why there is none."""
        task = self._task
        if task is None:
            return NamedSample(None, self._note, failed=True)
        timeout = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        done, _ = await asyncio.wait({task}, timeout=timeout)
        if not done:
            return NamedSample(None, f"no answer from {self._origin} in time", failed=True)
        self._task = None
        try:
            reading = task.result()
        except HostSourceError as error:
            return self._failed(str(error))
        self._retry_seconds = FIRST_RETRY_SECONDS
        return self._sample(reading)

    async def close(self) -> None:
        """Cancel a reading in progress and close the connection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._source.close()

    async def _read(self) -> HostReading:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._source.read()
        except TimeoutError as error:
            raise HostSourceError(f"{self._origin} does not answer") from error

    def _failed(self, note: str) -> NamedSample:
        self._last, self._note = None, note
        self._retry_at_ns = self._clock.now_ns() + int(self._retry_seconds * NS_PER_SECOND)
        self._retry_seconds = min(2 * self._retry_seconds, LAST_RETRY_SECONDS)
        return NamedSample(None, note, failed=True)

    def _sample(self, reading: HostReading) -> NamedSample:
        before, self._last, self._note = self._last, reading, ""
        if before is None or before.cores != reading.cores or before.server_pid != reading.server_pid:
            return NamedSample(None, FIRST_NOTE)
        found = host_tick(
            before.totals,
            reading.totals,
            cores=reading.cores,
            server_pid=reading.server_pid,
            note=reading.note,
            origin=self._origin,
        )
        return NamedSample(found, "" if found else FIRST_NOTE)


def _source_of(address: HostAddress, server: ServerInfo) -> HostSource:
    """Create the source. The HTTP client is imported only for a node_exporter."""
    if not address.url:
        return SshSource(address, server)
    from tuibench.observe.host.remote.node_exporter import NodeExporterSource

    return NodeExporterSource(address, ANSWER_SECONDS)
