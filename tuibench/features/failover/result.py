"""The result of failovers, as it is reported."""

import msgspec

from tuibench.model.findings import CommitFates


class SemisyncCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Commits of the load on a semi-synchronous source, read directly before the kill."""

    acknowledged: int
    """Commits that a replica acknowledged."""
    unacknowledged: int
    """Commits without an acknowledgement: the client got its OK all the same."""
    fallbacks: int
    """Times that the source waited in vain and became asynchronous."""
    is_on: bool
    """False if the source was asynchronous when it was killed."""


class Failover(msgspec.Struct, frozen=True, kw_only=True):
    """One failover: the mode, the load before, the commits, and the times in seconds."""

    mode: str
    """The mode of replication."""
    repeat: int
    values: dict[str, str]
    """What the source reports for the variables that matter."""
    tps: float
    """Transactions with a write, per second before the kill."""
    ledger_share: float
    """The share of the transactions' time that the ledger's own statement takes."""
    commits: CommitFates
    """The fates of the commits, on the new primary."""
    phantoms: int
    """Commits that another connection had read on the source and that the new primary lacks."""
    unacknowledged_phantoms: int
    """Those of the phantoms that the server had not acknowledged to their client."""
    errant: int
    """Transactions in the GTID set of the old source that the new primary lacks, once the source is back."""
    errant_rows: int
    """Rows of the ledger on the old source that the new primary lacks: one for each errant transaction."""
    not_received: int
    """Transactions of the source that the most advanced replica had not received before the kill."""
    not_applied: int
    """Transactions that this replica had received and not applied before the kill."""
    semisync: SemisyncCounts | None
    """None if the mode is not semi-synchronous."""
    promoted_seconds: float
    """From the kill until the new primary accepts writes."""
    outage_seconds: float | None
    """From the last acknowledged commit before the kill to the first one after it; None if the time ran
    out.
    """
    recovered_seconds: float | None
    """From the kill to the first second with 90 % of the TPS before; None if the time ran out."""


class FailoverReport(msgspec.Struct, frozen=True, kw_only=True):
    """All failovers of a command, in chronological order, with the servers and the load."""

    server: str
    profile: str
    data: str
    threads: int
    seconds: float
    replicas: int
    """Replicas of the source; further members of a group."""
    lag_seconds: float
    """How late the replicas received what the source sent, but for a group."""
    semisync_timeout_seconds: float
    limited: str
    is_power_loss: bool
    """False if only the source's process was killed."""
    seed: int
    planned: int
    failovers: tuple[Failover, ...]
