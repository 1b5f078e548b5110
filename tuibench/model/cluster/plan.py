"""Plan of a load from several hosts: addresses, connection options, behaviour when a host is lost."""

from enum import StrEnum

import msgspec

LEASE_SECONDS = 3.0
"""Seconds that a host's load continues without a message from its session."""

GRACE_SECONDS = 2.0
"""Seconds that transactions in flight may take after a lease has expired."""

AGENT_PROGRAM = "tuibench"


class OnHostLoss(StrEnum):
    """What the loss of a host does: the others take its connections over, or the run ends."""

    CONTINUE = "continue"
    STOP = "stop"


class ClusterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts of a load, as `--cluster` names them, one each: `ssh:HOST`, `exec:COMMAND`, `tls://SCHEDULER`.

    `program` is how tuibench is called on a host that is reached by ssh. `hosts` is how many hosts a Dask
    scheduler is asked for, None for all that it has. A scheduler without TLS beyond loopback needs
    `insecure`; one with TLS needs `ca`, `cert` and `key`, unless Dask's configuration names them.
    `lease_seconds` is how long a host goes on without word from the session.
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
