"""Which hosts drive the load of a run, how they are reached, and what the loss of one does."""

from enum import StrEnum

import msgspec

LEASE_SECONDS = 3.0
"""How long the load of a host goes on without word from its session."""

GRACE_SECONDS = 2.0
"""How long transactions in flight may take when a lease has run out."""

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
        """After so long without word, the load of a host has ended, whatever became of it."""
        return self.lease_seconds + GRACE_SECONDS
