"""The simulated hardware of a session's private server: delays of its disk with their lease, and limits."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from tuibench.base.clock import Clock
from tuibench.base.errors import UsageError
from tuibench.model.hardware import DISK_REFUSAL, HARDWARE_REFUSAL, LIMITS, Hardware
from tuibench.model.server import ServerLimits
from tuibench.servers.disk import LEASE_SECONDS, DiskPage, IoCounts
from tuibench.servers.limit_control import LimitControl, LimitState
from tuibench.servers.process import DirectoryLayout

RENEWALS = 5
"""Within one lease."""


class SimulatedHardware:
    """The hardware of one session's server."""

    def __init__(self, private_server: str, clock: Clock) -> None:
        """`private_server` is the directory of the server, empty for any other server."""
        self.used = Hardware()
        """The last hardware with a simulated disk."""
        self.used_limits = ""
        """The last limits in words."""
        self._present = Hardware()
        self._clock = clock
        layout = DirectoryLayout(Path(private_server))
        has_page = bool(private_server) and layout.disk_page.exists()
        self._page = DiskPage(layout.disk_page) if has_page else None
        has_socket = bool(private_server) and layout.limit_socket.exists()
        self._limits = LimitControl(layout.limit_socket) if has_socket else None

    async def open(self, wanted: Hardware | None) -> None:
        """Begin with this disk, and with the limits that the server has."""
        if self._limits is not None:
            self._note(await asyncio.to_thread(self._limits.ask))
        if self._page is not None:
            await self.set(with_disk(self._present, wanted or Hardware()))

    @property
    def has_disk(self) -> bool:
        """True if the disk can be simulated."""
        return self._page is not None

    @property
    def present(self) -> Hardware | None:
        """The present hardware; None if nothing of this server can be simulated."""
        return self._present if self._page is not None or self._limits is not None else None

    @property
    def counts(self) -> IoCounts:
        """What the server has done to its files so far; empty if that is not known."""
        return self._page.counts if self._page is not None else {}

    def check(self, part: str) -> None:
        """Raises UsageError if this part of the hardware cannot be changed."""
        if part in LIMITS:
            if self._limits is None:
                raise UsageError(HARDWARE_REFUSAL, "for example tuibench demo")
        elif part and self._page is None:
            raise UsageError(DISK_REFUSAL, "for example tuibench demo --disk fsync=2ms")

    async def set(self, hardware: Hardware) -> None:
        """Raises UsageError for hardware that this server cannot have."""
        before = self._present
        if hardware.disk != before.disk or self.present is None:
            self.check("disk")
        if _limits_of(hardware) != _limits_of(before):
            self.check(LIMITS[0])
            assert self._limits is not None  # noqa: S101
            self._note(await asyncio.to_thread(self._limits.ask, _limits_of(hardware)))
        if self._page is not None:
            self._page.set(hardware, self._clock.now_ns())
        self._present = with_disk(self._present, hardware)
        if hardware.disk != Hardware():
            self.used = hardware

    def _note(self, state: LimitState) -> None:
        limits = state.limits
        self._present = with_disk(
            Hardware(cpus=limits.cpus or 0.0, memory_bytes=limits.memory_bytes or 0), self._present
        )
        self.used_limits = state.words or self.used_limits

    async def keep(self) -> None:
        """Renews the lease of the delays until it is cancelled."""
        while self._page is not None:
            self._page.renew(self._clock.now_ns())
            await self._clock.sleep(LEASE_SECONDS / RENEWALS)

    async def close(self) -> None:
        """The server goes on without delays, and with its first limits."""
        if self._page is not None:
            self._page.set(Hardware(), self._clock.now_ns())
            self._page.close()
            self._page = None
        if self._limits is not None:
            self._limits.close()
            self._limits = None


def with_disk(hardware: Hardware, disk: Hardware) -> Hardware:
    """The limits of one with the disk of another."""
    return replace(disk, cpus=hardware.cpus, memory_bytes=hardware.memory_bytes)


def _limits_of(hardware: Hardware) -> ServerLimits:
    return ServerLimits(cpus=hardware.cpus or None, memory_bytes=hardware.memory_bytes or None)
