"""Options of every command that starts a session: background, grace period, metrics endpoint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec.structs import replace

from tuibench.cli.parsing.declarations import Option
from tuibench.errors import UsageError
from tuibench.model.plan import GRACE_SECONDS

if TYPE_CHECKING:
    from tuibench.model.plan import RunPlan
    from tuibench.model.target import Target
    from tuibench.session.spec import Address, ReplicaChoice, SessionSpec

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


@dataclass(frozen=True)
class HostMetricsOptions:
    """Option of every command that measures: the source of the server host's metrics."""

    SECTION: ClassVar = "Server"

    host_metrics: Annotated[
        str,
        Option(
            "--host-metrics",
            metavar="SOURCE",
            help="Read the server's host: ssh:USER@HOST, or http://HOST:9100/metrics of a node_exporter.",
        ),
    ] = ""

    def apply_to(self, plan: RunPlan) -> RunPlan:
        """The plan with that source. Raises UsageError for an invalid one."""
        from tuibench.observe.host.remote.source import parse_host_metrics

        if self.host_metrics:
            parse_host_metrics(self.host_metrics)
        return replace(plan, host_metrics=self.host_metrics)


@dataclass(frozen=True)
class SightOptions(HostMetricsOptions):
    """Options of every session: data sources beside the server itself."""

    replica: Annotated[
        list[str] | None,
        Option(
            "--replica",
            metavar="ADDRESS",
            help="Monitor this replica: [USER@]HOST[:PORT] or a socket; auto: all replicas of the server.",
        ),
    ] = None
    max_lag: Annotated[
        str,
        Option(
            "--max-lag", metavar="SECONDS", help="Pause the load while a replica lags by more than this: 5s."
        ),
    ] = ""

    def spec(self, spec: SessionSpec) -> SessionSpec:
        """The session spec with those sources. Raises UsageError for invalid ones."""
        plan = self.apply_to(spec.plan)
        replicas = replica_choice(self.replica or [], spec.target)
        limit = parse_max_lag(self.max_lag)
        if limit and not replicas.is_wanted:
            raise UsageError("--max-lag requires --replica", "add --replica=HOST:PORT, or --replica=auto")
        if limit and spec.plan.is_watch:
            raise UsageError("--max-lag pauses a load, but watch has none")
        plan = replace(plan, replicas=tuple(self.replica or ()), max_lag_seconds=limit)
        return replace(spec, plan=plan, replicas=replicas)

    def check_thresholds(self, texts: Sequence[str]) -> None:
        """Raises UsageError for an objective on lag without replicas."""
        if not self.replica and any(text.strip().lower().startswith("lag") for text in texts):
            raise UsageError(
                "an objective on lag requires --replica", "add --replica=HOST:PORT, or --replica=auto"
            )


AUTO = "auto"
_REPLICA = re.compile(r"(?:([^@/\s]+)@)?(\[[0-9A-Fa-f:.%]+\]|[^@:/\s\[\]]+)(?::(\d+))?")
_LAG = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*s?")


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


def parse_max_lag(text: str) -> float:
    """Parse seconds; 0 for no limit."""
    if not text:
        return 0.0
    match = _LAG.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise UsageError(f"--max-lag takes seconds, not '{text}'", "for example --max-lag=5s")
    return float(match[1])


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
