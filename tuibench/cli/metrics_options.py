"""`--prometheus [HOST]:PORT`: where a session serves its metrics. Loopback, unless a host is named."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer
from msgspec.structs import replace

from tuibench.errors import UsageError
from tuibench.session.responder import listening
from tuibench.session.spec import Address, SessionSpec

LOOPBACK = "127.0.0.1"
HIGHEST_PORT = 65_535


@dataclass(frozen=True)
class MetricsOptions:
    """The option of every command that starts a session."""

    SECTION: ClassVar = "What it prints and leaves"

    prometheus: Annotated[
        str,
        typer.Option(
            "--prometheus",
            metavar="[HOST]:PORT",
            help="Serve metrics for Prometheus there; this host's loopback without HOST, any port for 0.",
        ),
    ] = ""

    @property
    def address(self) -> Address | None:
        """Where to serve them, if anywhere. Raises UsageError for what is no address."""
        return address(self.prometheus) if self.prometheus else None

    def spec(self, spec: SessionSpec) -> SessionSpec:
        """The session with its metrics served there."""
        return replace(spec, metrics_at=self.address)

    def demand_free(self) -> None:
        """Raises RunError when somebody else is there: better before anything is begun."""
        if self.address is not None:
            listening(self.address).close()


def address(text: str) -> Address:
    """`HOST:PORT`, `:PORT` or `PORT`; an IPv6 address in brackets."""
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if (":" in bare) != host.startswith("[") or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise UsageError(
            f"--prometheus takes [HOST]:PORT, not '{text}'", "for example :9104, 0.0.0.0:9104 or [::1]:9104"
        )
    return Address(bare or LOOPBACK, int(port))
