"""The simulated disk of a session's private server: its delays, and their lease."""

from pathlib import Path

from tuibench.base.clock import Clock
from tuibench.base.errors import UsageError
from tuibench.model.disk import DISK_REFUSAL, DiskDelays
from tuibench.servers.disk import LEASE_SECONDS, DiskPage, IoCounts
from tuibench.servers.process import DirectoryLayout

RENEWALS = 5
"""Within one lease."""


class SimulatedDisk:
    """The disk of one session's server."""

    def __init__(self, private_server: str, clock: Clock) -> None:
        """`private_server` is the directory of the server, empty for any other server."""
        self.used = DiskDelays()
        """The last delays that were not nothing."""
        self._delays = DiskDelays()
        self._clock = clock
        page = DirectoryLayout(Path(private_server)).disk_page
        self._page = DiskPage(page) if private_server and page.exists() else None

    @property
    def is_possible(self) -> bool:
        return self._page is not None

    @property
    def delays(self) -> DiskDelays | None:
        """The present delays; None if the disk of this server cannot be simulated."""
        return self._delays if self._page is not None else None

    @property
    def counts(self) -> IoCounts:
        """What the server has done to its files so far; empty if that is not known."""
        return self._page.counts if self._page is not None else {}

    def set(self, delays: DiskDelays) -> None:
        """Raises UsageError if the disk of this server cannot be simulated."""
        if self._page is None:
            raise UsageError(DISK_REFUSAL, "for example tuibench demo --disk fsync=2ms")
        self._page.set(delays, self._clock.now_ns())
        self._delays = delays
        if delays != DiskDelays():
            self.used = delays

    async def keep(self) -> None:
        """Renews the lease of the delays until it is cancelled."""
        while self._page is not None:
            self._page.renew(self._clock.now_ns())
            await self._clock.sleep(LEASE_SECONDS / RENEWALS)

    async def close(self) -> None:
        """The server goes on without delays."""
        if self._page is not None:
            self.set(DiskDelays())
            self._page.close()
            self._page = None
