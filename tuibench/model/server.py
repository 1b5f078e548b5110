"""Constant properties of a server: flavour, version, identity."""

from enum import StrEnum

import msgspec


class Flavour(StrEnum):
    MARIADB = "MariaDB"
    MYSQL = "MySQL"


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Flavour, version and identity. `version` is plain (10.11.19), `version_text` is the server's own
    string.

    `pid_file` and `socket` are used to find its process; `is_local` is True if it runs on this host.
    `identity` identifies the server instance across connections (host, port, data directory). `is_encrypted`
    is True if connections to it use TLS.
    """

    flavour: Flavour
    version: str
    version_text: str
    where: str
    identity: str
    datadir: str
    pid_file: str
    socket: str
    port: int
    is_local: bool
    uptime_seconds: int | None
    is_encrypted: bool = False

    @property
    def version_tuple(self) -> tuple[int, ...]:
        """The version as a tuple of numbers, for comparison: (10, 11, 19)."""
        return tuple(int(part) for part in self.version.split("."))


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a private server: CPUs, and memory in bytes; None for no limit."""

    cpus: float | None = None
    memory_bytes: int | None = None
