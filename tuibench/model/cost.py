"""What a commit costs the server under each value of a durability setting."""

import msgspec


class CommitCost(msgspec.Struct, frozen=True, kw_only=True):
    """Averages over all the time that `setting` had `value`; each of them for one transaction.

    None where the server does not count it. `seconds` and `transactions` are what they were taken over.
    """

    setting: str
    value: str
    seconds: float
    transactions: int
    log_fsyncs: float | None = None
    log_bytes: float | None = None
    binlog_syncs: float | None = None
    binlog_bytes: float | None = None
    row_lock_waits: float | None = None


class Costs(msgspec.Struct, frozen=True, tag="costs"):
    """All of them so far, told with every sample."""

    costs: tuple[CommitCost, ...]
