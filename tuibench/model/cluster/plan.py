"""Plan of a load from several hosts: addresses, connection options, behaviour when a host is lost."""

from enum import StrEnum
from typing import Annotated

import msgspec

from tuibench.model.cluster.places import MOST_HOSTS
from tuibench.model.option import Option

HOSTS = "Several hosts"
"""Section of the help."""

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

    places: Annotated[
        tuple[str, ...],
        Option(
            "--cluster",
            section=HOSTS,
            metavar="PLACES",
            help="Drive the load from these hosts instead of this one: ssh:HOST,HOST,…, exec:COMMAND, or "
            "tls://SCHEDULER (Dask); repeatable. 'ssh:load-{1..4}' names four hosts.",
            axis=False,
        ),
    ] = ()
    program: Annotated[
        str,
        Option(
            "--cluster-program",
            section=HOSTS,
            metavar="PROGRAM",
            help="Command that starts tuibench on a host reached by ssh.",
            axis=False,
        ),
    ] = AGENT_PROGRAM
    lease_seconds: Annotated[
        float,
        Option(
            "--cluster-lease",
            section=HOSTS,
            metavar="SECONDS",
            low=1,
            high=600,
            help="Seconds without a message from this session after which a host ends its load.",
            axis=False,
        ),
    ] = LEASE_SECONDS
    on_host_loss: Annotated[
        OnHostLoss,
        Option(
            "--on-host-loss",
            section=HOSTS,
            help="When a host is lost: continue (the other hosts take over its connections) or stop.",
            axis=False,
        ),
    ] = OnHostLoss.CONTINUE
    hosts: Annotated[
        int | None,
        Option(
            "--cluster-hosts",
            section=HOSTS,
            high=MOST_HOSTS,
            help="Workers of a Dask scheduler to use; 0 for all.",
            axis=False,
        ),
    ] = None
    ca: Annotated[
        str,
        Option(
            "--cluster-ca",
            section=HOSTS,
            metavar="FILE",
            help="Authority of a Dask cluster's certificates.",
            axis=False,
        ),
    ] = ""
    cert: Annotated[
        str,
        Option(
            "--cluster-cert",
            section=HOSTS,
            metavar="FILE",
            help="Client certificate for a Dask cluster.",
            axis=False,
        ),
    ] = ""
    key: Annotated[
        str,
        Option(
            "--cluster-key",
            section=HOSTS,
            metavar="FILE",
            help="Client key for a Dask cluster.",
            axis=False,
        ),
    ] = ""
    insecure: Annotated[
        bool,
        Option(
            "--cluster-insecure",
            section=HOSTS,
            help="Allow a Dask scheduler without TLS (tcp://) on another host.",
            axis=False,
        ),
    ] = False

    @property
    def silence_seconds(self) -> float:
        """Seconds without a message after which the host's load has certainly ended."""
        return self.lease_seconds + GRACE_SECONDS
