"""A load from several hosts: addresses, plan, checks, and figures of each host.

`--cluster` names the hosts, with brace ranges as in a shell:

    ssh:db-client-{1..4}             four hosts
    ssh:ann@a,bob@b:2222             two
    exec:kubectl exec -i load-{0..3} -- tuibench agent
    tls://scheduler:8786             the workers of a Dask scheduler
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.option import Option
from tuibench.model.server import LOOPBACK_HOSTS


class HostCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `tuibench cluster check` for one host."""

    name: str
    version: str = ""
    python: str = ""
    cores: int = 0
    descriptors: int = 0
    """The limit of open files per process."""
    native: str = ""
    """The version of the native engine; empty without it."""
    clock_offset_ms: float | None = None
    clock_error_ms: float | None = None
    round_trip_ms: float | None = None
    server_ms: float | None = None
    """The time of a login to the server; None if none was tried or it failed."""
    problem: str = ""
    """The reason why the host cannot take part; empty if it can."""
    remedy: str = ""
    notes: tuple[str, ...] = ()
    """Differences to this host."""


class HostState(StrEnum):
    """The state of a load host."""

    RUNNING = "running"
    SILENT = "silent"
    """It does not answer at the moment."""
    LOST = "lost"
    """It has ended, or its lease has expired."""


class LoadHost(msgspec.Struct, frozen=True, kw_only=True):
    """One host of a load in one sample.

    Latencies and times are milliseconds, CPU figures percent of the host; None if the host was not sampled.
    """

    name: str
    state: HostState = HostState.RUNNING
    connections: int = 0
    transactions_per_second: float = 0.0
    p95_ms: float | None = None
    workers: int = 0
    worker_cpu: float = 0.0
    """The busiest worker's share of one core, 0 to 1."""
    lag_p99_ms: float = 0.0
    """The busiest worker's scheduling delay."""
    cores: int = 0
    cpu_total: float | None = None
    cpu_others: float | None = None
    """CPU used by other programs."""
    cpu_steal: float | None = None
    """CPU that the hypervisor gave to other guests."""
    cpu_throttled: float | None = None
    """The share of time in which a control group throttled the load."""
    clock_offset_ms: float = 0.0
    """How far the host's wall clock is ahead of the session's."""
    clock_error_ms: float = 0.0
    """The maximum error of the offset: half of the shortest round trip."""
    round_trip_ms: float = 0.0
    """A recent round trip."""


class HostTotals(msgspec.Struct, frozen=True, kw_only=True):
    """One host in a run: its share of the load."""

    name: str
    version: str
    cores: int
    transactions: int
    transactions_per_second: float
    cpu_seconds: float
    clock_offset_ms: float
    clock_error_ms: float
    late_commands_ms: float = 0.0
    """The delay of its latest command; 0 if no command was late."""
    lost_after_seconds: float | None = None
    """None if the host was not lost."""


SSH_PLACE, EXEC_PLACE = "ssh:", "exec:"
DASK_SCHEMES = ("tls://", "tcp://")
MOST_HOSTS = 1000
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_HOST = re.compile(r"[A-Za-z0-9_.@%\[\]:][A-Za-z0-9_.@%\[\]:-]*")
EXAMPLES = "ssh:host1,host2 or 'ssh:load-{1..4}' or 'exec:kubectl exec -i load-{0..3} -- tuibench agent'"


def parse_places(given: Iterable[str]) -> tuple[str, ...]:
    """The address of each host. Raises UsageError for an invalid one."""
    places = tuple(place for text in given for place in _places(text.strip()))
    if len(places) > MOST_HOSTS:
        raise UsageError(f"--cluster names {len(places)} hosts; the maximum is {MOST_HOSTS}")
    twice = next((place for number, place in enumerate(places) if place in places[:number]), "")
    if twice.startswith(SSH_PLACE):
        raise UsageError(
            f"--cluster names {twice.removeprefix(SSH_PLACE)} twice", "one agent uses all of its cores"
        )
    return places


def _places(text: str) -> Iterator[str]:
    if text.startswith(DASK_SCHEMES):
        yield text
    elif text.startswith(EXEC_PLACE):
        text = text.removeprefix(EXEC_PLACE)
        try:
            is_empty = not shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--cluster: {text}: {error}", "quote the command as in a shell") from error
        if is_empty:
            raise UsageError("--cluster: exec: needs a command", f"such as {EXAMPLES}")
        yield from (EXEC_PLACE + command for command in expanded(text))
    elif text.startswith(SSH_PLACE):
        # Split at commas outside braces.
        for part in re.split(r",(?![^{}]*\})", text.removeprefix(SSH_PLACE)):
            for host in expanded(part):
                if not _HOST.fullmatch(host):
                    raise UsageError(f"--cluster: '{host}' is not a host for ssh", f"such as {EXAMPLES}")
                yield SSH_PLACE + host
    else:
        raise UsageError(f"--cluster: '{text}' has no ssh:, exec: or tls:", f"such as {EXAMPLES}")


def expanded(text: str) -> list[str]:
    """Expand the first braces of the text, {1..3} or {a,b}, to one text per value; without braces, the text
    itself.
    """
    braces = _BRACES.search(text)
    if braces is None:
        return [text]
    before, after = text[: braces.start()], text[braces.end() :]
    return [before + value + rest for value in _values(braces[1]) for rest in expanded(after)]


def _values(text: str) -> list[str]:
    span = _RANGE.fullmatch(text)
    if span is None:
        return text.split(",")
    first, last = int(span[1]), int(span[2])
    if abs(last - first) >= MOST_HOSTS:
        raise UsageError(f"--cluster: {{{text}}} are more than {MOST_HOSTS} hosts")
    step = 1 if last >= first else -1
    width = len(span[1]) if span[1].startswith("0") else 0
    return [f"{number:0{width}d}" for number in range(first, last + step, step)]


_hosts = partial(Option, section="Several hosts")
"""An option in its section of the help."""

LEASE_SECONDS = 3.0
"""Seconds that a host's load continues without a message from its session."""

GRACE_SECONDS = 2.0
"""Seconds that transactions in flight may take after a lease has expired."""

AGENT_PROGRAM = "tuibench"


class OnHostLoss(StrEnum):
    """The consequence of the loss of a host: the other hosts take over its connections, or the run ends."""

    CONTINUE = "continue"
    STOP = "stop"


class ClusterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts of a load and how to reach them.

    A scheduler without TLS beyond loopback requires `insecure`; one with TLS requires `ca`, `cert` and `key`,
    unless Dask's configuration has them.
    """

    places: Annotated[
        tuple[str, ...],
        _hosts(
            "--cluster",
            metavar="PLACES",
            help="Drive the load from these hosts instead of this one: ssh:HOST,HOST,…, exec:COMMAND, or "
            "tls://SCHEDULER (Dask); repeatable. 'ssh:load-{1..4}' names four hosts.",
        ),
    ] = ()
    """As given with `--cluster`, one entry each: `ssh:HOST`, `exec:COMMAND`, `tls://SCHEDULER`."""
    program: Annotated[
        str,
        _hosts(
            "--cluster-program",
            metavar="PROGRAM",
            help="Command that starts tuibench on a host reached by ssh.",
        ),
    ] = AGENT_PROGRAM
    """The command that starts tuibench on a host reached by ssh."""
    lease_seconds: Annotated[
        float,
        _hosts(
            "--cluster-lease",
            metavar="SECONDS",
            low=1,
            high=600,
            help="Seconds without a message from this session after which a host ends its load.",
        ),
    ] = LEASE_SECONDS
    """How long a host continues without a message from the session."""
    on_host_loss: Annotated[
        OnHostLoss,
        _hosts(help="When a host is lost: continue (the other hosts take over its connections) or stop."),
    ] = OnHostLoss.CONTINUE
    hosts: Annotated[
        int | None,
        _hosts("--cluster-hosts", high=MOST_HOSTS, help="Workers of a Dask scheduler to use; 0 for all."),
    ] = None
    """The number of hosts requested from a Dask scheduler; None for all of its workers."""
    ca: Annotated[
        str, _hosts("--cluster-ca", metavar="FILE", help="Authority of a Dask cluster's certificates.")
    ] = ""
    cert: Annotated[
        str, _hosts("--cluster-cert", metavar="FILE", help="Client certificate for a Dask cluster.")
    ] = ""
    key: Annotated[str, _hosts("--cluster-key", metavar="FILE", help="Client key for a Dask cluster.")] = ""
    insecure: Annotated[
        bool,
        _hosts("--cluster-insecure", help="Allow a Dask scheduler without TLS (tcp://) on another host."),
    ] = False

    @property
    def silence_seconds(self) -> float:
        """Seconds without a message after which the host's load has certainly ended."""
        return self.lease_seconds + GRACE_SECONDS


CERTIFICATES = {"--cluster-ca": "ca", "--cluster-cert": "cert", "--cluster-key": "key"}


def check_address(address: str, plan: ClusterPlan) -> None:
    """Raises UsageError for a scheduler that other users could reach without TLS, and for missing
    certificates.
    """
    host = urlsplit(address).hostname or ""
    is_loopback = host in LOOPBACK_HOSTS or host.startswith("127.")
    if address.startswith("tcp://") and not is_loopback and not plan.insecure:
        raise UsageError(
            f"{address} is without TLS: anyone who can reach a Dask scheduler can run programs on all of its "
            "hosts, and read the server's password",
            "use tls://, or add --cluster-insecure on an isolated network",
        )
    for option, field in CERTIFICATES.items():
        path = getattr(plan, field)
        if path and not Path(path).is_file():
            raise UsageError(
                f"{option}: there is no file {path}", "Dask's workers and scheduler have their own"
            )
