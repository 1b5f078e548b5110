"""Options of every command that starts a session: background, grace period, metrics endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec.structs import replace

from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError
from tuibench.model.plan import GRACE_SECONDS

if TYPE_CHECKING:
    from tuibench.session.spec import Address, SessionSpec

MAX_GRACE_SECONDS = 10.0**9


@dataclass(frozen=True)
class BackgroundOptions:
    """Options of every command that starts a session."""

    SECTION: ClassVar = "In the background"

    detach: Annotated[
        bool, Option("--detach", help="Start it in the background, print its id and return.")
    ] = False
    grace: Annotated[
        float | None,
        Option(
            "--grace",
            help=f"Seconds that it continues without a viewer [{GRACE_SECONDS:g}; with --detach: no limit].",
        ),
    ] = None

    def validate(self) -> None:
        """Raises UsageError for a grace that is no time."""
        if self.grace is not None and not 0 <= self.grace <= MAX_GRACE_SECONDS:
            raise UsageError(f"--grace is a number of seconds, not {self.grace:g}")

    @property
    def grace_seconds(self) -> float | None:
        """None for as long as it likes. Raises UsageError for what is no time."""
        self.validate()
        if self.grace is None:
            return None if self.detach else GRACE_SECONDS
        return self.grace


LOOPBACK = "127.0.0.1"
MAX_METRICS_PORT = 65_535


@dataclass(frozen=True)
class MetricsOptions:
    """The option of every command that starts a session."""

    SECTION: ClassVar = "Output"

    prometheus: Annotated[
        str,
        Option(
            "--prometheus",
            metavar="[HOST]:PORT",
            help="Serve metrics for Prometheus there; this host's loopback without HOST, any port for 0.",
        ),
    ] = ""

    @property
    def address(self) -> Address | None:
        """Where to serve them, if anywhere. Raises UsageError for what is no address."""
        return parse_address(self.prometheus) if self.prometheus else None

    def spec(self, spec: SessionSpec) -> SessionSpec:
        """The session with its metrics served there."""
        return replace(spec, metrics_at=self.address)

    def check_port_free(self) -> None:
        """Raises RunError if the port is in use: before anything is started."""
        from tuibench.session.service.http_server import listen_tcp

        if self.address is not None:
            listen_tcp(self.address).close()


@dataclass(frozen=True)
class SightOptions:
    """Options of every command that watches a server on another host."""

    SECTION: ClassVar = "Server"

    host_metrics: Annotated[
        str,
        Option(
            "--host-metrics",
            metavar="SOURCE",
            help="Read the server's host: ssh:USER@HOST, or http://HOST:9100/metrics of a node_exporter.",
        ),
    ] = ""

    def spec(self, spec: SessionSpec) -> SessionSpec:
        """The session that reads it. Raises UsageError for what is no source."""
        from tuibench.observe.host.remote.source import parse_host_metrics

        if self.host_metrics:
            parse_host_metrics(self.host_metrics)
        return replace(spec, host_metrics=self.host_metrics)


def parse_address(text: str) -> Address:
    """`HOST:PORT`, `:PORT` or `PORT`; an IPv6 address in brackets."""
    from tuibench.session.spec import Address

    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if (":" in bare) != host.startswith("[") or not port.isdecimal() or int(port) > MAX_METRICS_PORT:
        raise UsageError(
            f"--prometheus takes [HOST]:PORT, not '{text}'", "for example :9104, 0.0.0.0:9104 or [::1]:9104"
        )
    return Address(bare or LOOPBACK, int(port))
