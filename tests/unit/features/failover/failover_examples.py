"""Reports of failovers, for tests."""

import msgspec

from tuibench.features.failover.result import Failover, FailoverReport, SemisyncCounts
from tuibench.model.findings import CommitFates

NONE = CommitFates(acknowledged=900, lost=0, lost_seconds=0.0, unknown=4, unknown_committed=1, unexplained=0)
IN_TIME = SemisyncCounts(acknowledged=900, unacknowledged=0, fallbacks=0, is_on=True)


def failover(mode: str, repeat: int, tps: float, **changes: object) -> Failover:
    found = Failover(
        mode=mode,
        repeat=repeat,
        values={"sync_binlog": "1"},
        tps=tps,
        ledger_share=0.04,
        commits=NONE,
        phantoms=0,
        unacknowledged_phantoms=0,
        errant=3,
        errant_rows=3,
        not_received=1,
        not_applied=0,
        semisync=None if mode in {"async", "group"} else IN_TIME,
        promoted_seconds=0.5,
        outage_seconds=0.75,
        recovered_seconds=1.25,
    )
    return msgspec.structs.replace(found, **changes)


def losing(lost: int, seconds: float) -> CommitFates:
    return msgspec.structs.replace(NONE, lost=lost, lost_seconds=seconds)


def report(*failovers: Failover) -> FailoverReport:
    return FailoverReport(
        server="MariaDB 10.11.19",
        profile="oltp_write_only",
        data="4 × 100,000 rows",
        threads=8,
        seconds=5.0,
        replicas=2,
        lag_seconds=0.02,
        semisync_timeout_seconds=10.0,
        limited="",
        is_power_loss=False,
        seed=3,
        planned=7,
        failovers=failovers,
    )


FALLEN = SemisyncCounts(acknowledged=200, unacknowledged=1200, fallbacks=1, is_on=False)
KNOWN = report(
    failover("async", 1, 800.0, commits=losing(16, 0.02), phantoms=14, errant=20, not_received=12),
    failover("semisync", 1, 300.0),
    failover("semisync-after-commit", 1, 400.0, phantoms=5, unacknowledged_phantoms=5, errant=5),
    failover("semisync-after-commit", 2, 600.0, phantoms=7, unacknowledged_phantoms=7, errant=8),
    failover("semisync", 2, 500.0, commits=losing(90, 0.5), semisync=FALLEN, outage_seconds=None),
    failover("async", 2, 1200.0, commits=losing(30, 0.025), phantoms=30, errant=31, not_applied=6),
)
