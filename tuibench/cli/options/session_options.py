"""Options of every command that starts a session: background, grace period, metrics endpoint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec.structs import replace

from tuibench.errors import UsageError
from tuibench.model.option import Option
from tuibench.model.plan import GRACE_SECONDS

if TYPE_CHECKING:
    from tuibench.model.target import Target
    from tuibench.session.spec import Address, ReplicaChoice, SessionSpec

RunDir = Annotated[
    str, Option("--run-dir", metavar="DIR", help="The --run-dir that it was recorded in, if any.")
]
"""The option of commands that read recorded runs."""

MAX_GRACE_SECONDS = 10.0**9


@dataclass(frozen=True)
class BackgroundOptions:
    """Options of every command that starts a session."""

    SECTION: ClassVar = "In the background"

    detach: Annotated[bool, Option("--detach", help="Start in the background, print the id and return.")] = (
        False
    )
    grace: Annotated[
        float | None,
        Option(
            "--grace",
            metavar="SECONDS",
            help=f"Seconds that it continues without a viewer [{GRACE_SECONDS:g}; with --detach: no limit].",
        ),
    ] = None

    def validate(self) -> None:
        """Raises UsageError for an invalid grace period."""
        if self.grace is not None and not 0 <= self.grace <= MAX_GRACE_SECONDS:
            raise UsageError(f"--grace is a number of seconds, not {self.grace:g}")

    @property
    def grace_seconds(self) -> float | None:
        """Grace period, None for no limit. Raises UsageError for an invalid duration."""
        self.validate()
        if self.grace is None:
            return None if self.detach else GRACE_SECONDS
        return self.grace


LOOPBACK = "127.0.0.1"
MAX_METRICS_PORT = 65_535


@dataclass(frozen=True)
class MetricsOptions:
    """Option of every command that starts a session: the metrics endpoint."""

    SECTION: ClassVar = "Output"

    prometheus: Annotated[
        str,
        Option(
            "--prometheus",
            metavar="[HOST]:PORT",
            help="Serve metrics for Prometheus at this address; without HOST on loopback; port 0: any free "
            "port.",
        ),
    ] = ""

    @property
    def address(self) -> Address | None:
        """Address of the metrics endpoint, if any. Raises UsageError for an invalid one."""
        return parse_address(self.prometheus) if self.prometheus else None

    def spec(self, spec: SessionSpec) -> SessionSpec:
        """The session spec with its metrics endpoint."""
        return replace(spec, metrics_at=self.address)

    def check_port_free(self) -> None:
        """Raises RunError if the port is in use, before anything is started."""
        from tuibench.session.service.http_server import listen_tcp

        if self.address is not None:
            listen_tcp(self.address).close()


AUTO = "auto"
_REPLICA = re.compile(r"(?:([^@/\s]+)@)?(\[[0-9A-Fa-f:.%]+\]|[^@:/\s\[\]]+)(?::(\d+))?")


def replica_choice(texts: Sequence[str], target: Target) -> ReplicaChoice:
    """The replicas, with the login of `target`. Raises UsageError for an invalid address."""
    from tuibench.session.spec import ReplicaChoice

    named = [text for text in texts if text != AUTO]
    return ReplicaChoice(
        targets=tuple(replica_target(text, target) for text in named), find=len(named) < len(texts)
    )


def replica_target(text: str, target: Target) -> Target:
    """Target of the replica at an address."""
    if text.startswith("/"):
        return replace(target, socket=text, further=())
    match = _REPLICA.fullmatch(text)
    if match is None or ":" in (match[1] or "") or not 0 < int(match[3] or 3306) <= MAX_METRICS_PORT:
        raise UsageError(
            f"--replica takes [USER@]HOST[:PORT], a socket's path, or auto, not '{text}'",
            "password and TLS are those of the server: --replica=db2:3306",
        )
    return replace(
        target,
        user=match[1] or target.user,
        host=match[2].strip("[]"),
        port=int(match[3] or 3306),
        socket="",
        further=(),
    )


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT`, `:PORT` or `PORT`; an IPv6 address is in brackets."""
    from tuibench.session.spec import Address

    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if (":" in bare) != host.startswith("[") or not port.isdecimal() or int(port) > MAX_METRICS_PORT:
        raise UsageError(
            f"--prometheus takes [HOST]:PORT, not '{text}'", "for example :9104, 0.0.0.0:9104 or [::1]:9104"
        )
    return Address(bare or LOOPBACK, int(port))
