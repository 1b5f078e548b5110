"""The options of a load from several hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tuibench.cli.parsing.declarations import Option
from tuibench.cli.parsing.option_values import check_choice, check_range
from tuibench.errors import UsageError
from tuibench.model.cluster.places import parse_places
from tuibench.model.cluster.plan import AGENT_PROGRAM, LEASE_SECONDS, ClusterPlan, OnHostLoss

HOSTS = "Several hosts"
CLUSTER_HELP = (
    "Drive the load from these hosts instead of this one: ssh:HOST,HOST,… or exec:COMMAND; may be repeated. "
    "'ssh:load-{1..4}' are four."
)
MAX_LEASE_SECONDS = 600.0


@dataclass(frozen=True)
class ClusterOptions:
    """Options of every command that drives a load."""

    cluster: Annotated[list[str] | None, Option("--cluster", help=CLUSTER_HELP, section=HOSTS)] = None
    cluster_program: Annotated[
        str,
        Option("--cluster-program", help="How a host reached by ssh calls tuibench.", section=HOSTS),
    ] = AGENT_PROGRAM
    cluster_lease: Annotated[
        float,
        Option(
            "--cluster-lease",
            help="Seconds without word from this session after which a host ends its load.",
            section=HOSTS,
        ),
    ] = LEASE_SECONDS
    on_host_loss: Annotated[
        str,
        Option(
            "--on-host-loss",
            help="A host is lost: continue (the others take its connections over) or stop.",
            section=HOSTS,
        ),
    ] = OnHostLoss.CONTINUE

    def cluster_plan(self) -> ClusterPlan | None:
        """The hosts meant, None for this host alone. Raises UsageError for what names none."""
        check_range("--cluster-lease", self.cluster_lease, 1, MAX_LEASE_SECONDS)
        policy = check_choice("--on-host-loss", self.on_host_loss, OnHostLoss)
        if not self.cluster:
            self._check_unused(policy)
            return None
        return ClusterPlan(
            places=parse_places(self.cluster),
            program=self.cluster_program,
            on_host_loss=policy,
            lease_seconds=self.cluster_lease,
        )

    def _check_unused(self, policy: OnHostLoss) -> None:
        """Raises UsageError for an option that needs `--cluster`."""
        given = {
            "--cluster-program": self.cluster_program != AGENT_PROGRAM,
            "--cluster-lease": self.cluster_lease != LEASE_SECONDS,
            "--on-host-loss": policy is not OnHostLoss.CONTINUE,
        }
        for name in (name for name, is_given in given.items() if is_given):
            raise UsageError(f"{name} is for a load from several hosts", "add --cluster=ssh:HOST,HOST")
