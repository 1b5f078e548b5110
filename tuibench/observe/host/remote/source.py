"""Source of a remote host's figures: parser of `--host-metrics`, and the protocol of a reader.

ssh:USER@db1            the system's ssh; nothing is installed there
http://db1:9100/metrics a node_exporter
"""

import re
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from tuibench.errors import UsageError
from tuibench.model.server import ServerInfo
from tuibench.model.tick import Tick
from tuibench.observe.host.figures import HostTotals

EXAMPLES = "for example ssh:ann@db1, ssh:ann@db1:2222 or http://db1:9100/metrics"
SSH, HTTP = "ssh", ("http", "https")
_USER = r"(?:(?P<user>[^@/\s-][^@/\s]*)@)?"
_HOST = r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^@:/\s\[\]-][^@:/\s\[\]]*)"
_SSH = re.compile(rf"{_USER}{_HOST}(?::(?P<port>\d+))?/?")


class HostAddress(NamedTuple):
    """A parsed `--host-metrics`. `url` is set for a node_exporter, the others for ssh."""

    text: str
    url: str = ""
    user: str = ""
    host: str = ""
    port: int | None = None


class HostReading(NamedTuple):
    """Totals of a host; `note` is the reason why the server's process is not included."""

    totals: HostTotals
    cores: int
    server_pid: int | None = None
    note: str = ""


class HostSourceError(Exception):
    """The figures cannot be read at the moment; the message is the reason."""


class HostSource(Protocol):
    """Reads a host. After an error the next reading starts from scratch."""

    async def read(self) -> HostReading:
        """One reading. Raises HostSourceError."""

    def follow(self, server: ServerInfo) -> None:
        """Find the server's process again after a restart."""

    async def close(self) -> None: ...


def parse_host_metrics(text: str) -> HostAddress:
    """Parse `--host-metrics`. Raises UsageError for an invalid value."""
    scheme, _, rest = text.partition(":")
    if scheme in HTTP:
        return _exporter(text)
    match = _SSH.fullmatch(rest.removeprefix("//")) if scheme == SSH else None
    if match is None or not 0 < int(match["port"] or 22) < 65_536:
        raise UsageError(f"--host-metrics takes ssh:[USER@]HOST[:PORT] or a URL, not '{text}'", EXAMPLES)
    port = int(match["port"]) if match["port"] else None
    return HostAddress(text, user=match["user"] or "", host=match["host"].strip("[]"), port=port)


def _exporter(text: str) -> HostAddress:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"--host-metrics: '{text}' is no URL: {error}", EXAMPLES) from error
    if not parts.hostname:
        raise UsageError(f"--host-metrics: '{text}' names no host", EXAMPLES)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "--host-metrics takes no user and password in a URL: it is recorded and shown",
            "let the exporter answer this host without one",
        )
    return HostAddress(text, url=text if parts.path not in ("", "/") else f"{text.rstrip('/')}/metrics")


class NamedSample(NamedTuple):
    """A sample of a remote host, or the reason for its absence; `failed` if it could not be read."""

    sample: Tick | None
    note: str = ""
    failed: bool = False
