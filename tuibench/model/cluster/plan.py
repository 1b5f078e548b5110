"""Plan of a load from several hosts: addresses, connection options, behaviour when a host is lost."""

from enum import StrEnum

import msgspec

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
    """The hosts of a load, one entry each, as given with `--cluster`: `ssh:HOST`, `exec:COMMAND`,
    `tls://SCHEDULER`.

    `program` is the command that starts tuibench on a host reached by ssh. `hosts` is the number of hosts
    requested from a Dask scheduler, None for all of its workers. A scheduler without TLS beyond loopback
    requires `insecure`; one with TLS requires `ca`, `cert` and `key`, unless Dask's configuration has them.
    `lease_seconds` is how long a host continues without a message from the session.
    """

    places: tuple[str, ...]
    program: str = AGENT_PROGRAM
    on_host_loss: OnHostLoss = OnHostLoss.CONTINUE
    lease_seconds: float = LEASE_SECONDS
    hosts: int | None = None
    insecure: bool = False
    ca: str = ""
    cert: str = ""
    key: str = ""

    @property
    def silence_seconds(self) -> float:
        """Seconds without a message after which the host's load has certainly ended."""
        return self.lease_seconds + GRACE_SECONDS
