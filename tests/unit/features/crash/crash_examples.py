"""Reports of crashes, for tests."""

import msgspec

from tuibench.model.findings import BinlogAgreement, CommitFates, Crash, CrashReport

NONE = CommitFates(acknowledged=1200, lost=0, lost_seconds=0.0, unknown=2, unknown_committed=1, unexplained=0)
AGREES = BinlogAgreement(only_in_binlog=0, only_in_tables=0)


def crash(setting: str, repeat: int, tps: float, fates: CommitFates = NONE, **changes: object) -> Crash:
    found = Crash(
        setting=setting,
        repeat=repeat,
        values={"innodb_flush_log_at_trx_commit": setting.partition("=")[2], "sync_binlog": "1"},
        tps=tps,
        ledger_share=0.04,
        commits=fates,
        accepts_seconds=1.25,
        first_commit_seconds=1.3,
        recovered_seconds=2.75,
        binlog=AGREES,
    )
    return msgspec.structs.replace(found, **changes)


def losing(lost: int, seconds: float) -> CommitFates:
    return msgspec.structs.replace(NONE, lost=lost, lost_seconds=seconds)


SAFE, FAST = "innodb_flush_log_at_trx_commit=1", "innodb_flush_log_at_trx_commit=0"


def report(*crashes: Crash) -> CrashReport:
    return CrashReport(
        server="MariaDB 10.11.19",
        profile="oltp_write_only",
        data="4 × 100,000 rows",
        threads=8,
        seconds=5.0,
        limited="",
        is_power_loss=False,
        seed=3,
        planned=6,
        crashes=crashes,
    )


KNOWN = report(
    crash(SAFE, 1, 400.0),
    crash(FAST, 1, 1000.0, losing(147, 0.94), binlog=BinlogAgreement(only_in_binlog=147, only_in_tables=0)),
    crash(FAST, 2, 1400.0, losing(12, 0.013), recovered_seconds=None),
    crash(SAFE, 2, 600.0),
    crash(FAST, 3, 1200.0, losing(90, 0.5)),
)
