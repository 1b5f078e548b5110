"""Options of a cluster run: a load from several hosts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from tuibench.cli.parsing.declarations import Option
from tuibench.cli.parsing.option_values import check_choice, check_range
from tuibench.errors import UsageError
from tuibench.model.cluster.places import DASK_SCHEMES, MOST_HOSTS, parse_places
from tuibench.model.cluster.plan import AGENT_PROGRAM, LEASE_SECONDS, ClusterPlan, OnHostLoss

HOSTS = "Several hosts"
CLUSTER_HELP = (
    "Drive the load from these hosts instead of this one: ssh:HOST,HOST,…, exec:COMMAND, or tls://SCHEDULER "
    "(Dask); repeatable. 'ssh:load-{1..4}' names four hosts."
)
MAX_LEASE_SECONDS = 600.0

_host_option = partial(Option, section=HOSTS)


@dataclass(frozen=True)
class ClusterOptions:
    """Options of every command that drives a load."""

    cluster: Annotated[list[str] | None, _host_option("--cluster", help=CLUSTER_HELP)] = None
    cluster_program: Annotated[
        str, _host_option("--cluster-program", help="Command that starts tuibench on a host reached by ssh.")
    ] = AGENT_PROGRAM
    cluster_lease: Annotated[
        float,
        _host_option(
            "--cluster-lease",
            help="Seconds without a message from this session after which a host ends its load.",
        ),
    ] = LEASE_SECONDS
    on_host_loss: Annotated[
        str,
        _host_option(
            "--on-host-loss",
            help="When a host is lost: continue (the other hosts take over its connections) or stop.",
        ),
    ] = OnHostLoss.CONTINUE

    cluster_hosts: Annotated[
        int, _host_option("--cluster-hosts", help="Workers of a Dask scheduler to use; 0 for all.")
    ] = 0
    cluster_ca: Annotated[
        str, _host_option("--cluster-ca", help="Authority of a Dask cluster's certificates.")
    ] = ""
    cluster_cert: Annotated[
        str, _host_option("--cluster-cert", help="Client certificate for a Dask cluster.")
    ] = ""
    cluster_key: Annotated[str, _host_option("--cluster-key", help="Client key for a Dask cluster.")] = ""
    cluster_insecure: Annotated[
        bool,
        _host_option(
            "--cluster-insecure", help="Allow a Dask scheduler without TLS (tcp://) on another host."
        ),
    ] = False

    def cluster_plan(self) -> ClusterPlan | None:
        """The load hosts, None for this host alone. Raises UsageError for an invalid list."""
        check_range("--cluster-lease", self.cluster_lease, 1, MAX_LEASE_SECONDS)
        check_range("--cluster-hosts", self.cluster_hosts, 0, MOST_HOSTS)
        policy = check_choice("--on-host-loss", self.on_host_loss, OnHostLoss)
        if not self.cluster:
            self._check_unused(policy)
            return None
        plan = ClusterPlan(
            places=parse_places(self.cluster),
            program=self.cluster_program,
            on_host_loss=policy,
            lease_seconds=self.cluster_lease,
            hosts=self.cluster_hosts or None,
            insecure=self.cluster_insecure,
            ca=self.cluster_ca,
            cert=self.cluster_cert,
            key=self.cluster_key,
        )
        for scheduler in (place for place in plan.places if place.startswith(DASK_SCHEMES)):
            from tuibench.load.cluster.dask_carrier import check_address

            check_address(scheduler, plan)
        return plan

    def _check_unused(self, policy: OnHostLoss) -> None:
        """Raises UsageError for an option that needs `--cluster`."""
        given = {
            "--cluster-program": self.cluster_program != AGENT_PROGRAM,
            "--cluster-lease": self.cluster_lease != LEASE_SECONDS,
            "--cluster-hosts": self.cluster_hosts,
            "--cluster-ca": self.cluster_ca,
            "--cluster-cert": self.cluster_cert,
            "--cluster-key": self.cluster_key,
            "--cluster-insecure": self.cluster_insecure,
            "--on-host-loss": policy is not OnHostLoss.CONTINUE,
        }
        for name in (name for name, is_given in given.items() if is_given):
            raise UsageError(f"{name} is for a load from several hosts", "add --cluster=ssh:HOST,HOST")
