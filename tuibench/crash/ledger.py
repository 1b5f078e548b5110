"""The ledger of a crash: what the server acknowledged, what it has after its recovery, and the difference.

Each transaction that writes inserts one row with its key into a table of its own, so that the row is there if
and only if the transaction is committed. The client notes when it sent COMMIT and when it got the answer:

    written ──COMMIT──> sent ──OK──> acknowledged
                          ├──error──> refused
                          └──────────> unknown: the connection is lost before the answer

After the recovery, the rows of the table are the truth. A row that is missing though it was acknowledged is
lost. One of an unknown transaction may be there or not: both are correct. Any other row has no explanation.
"""

from collections.abc import Collection, Sequence
from itertools import islice

import msgspec

from tuibench.clock import NS_PER_SECOND

Key = tuple[int, int, int]
"""A transaction: its connection, its kind in the program, and its number among those of both."""

RECOVERED_SHARE = 0.9
"""Share of the throughput before the crash at which a server counts as recovered."""


class Ledger:
    """What the client knows of each transaction, in the order of time. Times are in nanoseconds."""

    def __init__(self) -> None:
        self.sent: dict[Key, int] = {}
        self.acknowledged: dict[Key, int] = {}
        self.refused: set[Key] = set()

    def commit_sent(self, key: Key, now_ns: int) -> None:
        self.sent[key] = now_ns

    def commit_acknowledged(self, key: Key, now_ns: int) -> None:
        self.acknowledged[key] = now_ns

    def commit_refused(self, key: Key) -> None:
        """The server answered COMMIT with an error."""
        self.refused.add(key)


class CommitFates(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the transactions of a crash.

    `lost` were acknowledged and are gone, `lost_seconds` is the time from the first of them to the crash.
    `unknown` had no answer to COMMIT when the server ended; `unknown_committed` of them are committed.
    `unexplained` are committed, but their COMMIT was not sent, or refused.
    """

    acknowledged: int
    lost: int
    lost_seconds: float
    unknown: int
    unknown_committed: int
    unexplained: int


def judge_commits(ledger: Ledger, present: Collection[Key], crashed_ns: int, back_ns: int) -> CommitFates:
    """The fates of all transactions, given those that are `present` after the recovery.

    The server was killed at `crashed_ns`, and accepted connections again at `back_ns`.
    """
    present = frozenset(present)
    lost_ns = [at_ns for key, at_ns in ledger.acknowledged.items() if key not in present]
    unanswered = [key for key in ledger.sent if key not in ledger.acknowledged and key not in ledger.refused]
    unknown = [key for key in unanswered if ledger.sent[key] < back_ns]
    explained = ledger.acknowledged.keys() | set(unanswered)
    return CommitFates(
        acknowledged=len(ledger.acknowledged),
        lost=len(lost_ns),
        lost_seconds=max(0, crashed_ns - min(lost_ns)) / NS_PER_SECOND if lost_ns else 0.0,
        unknown=len(unknown),
        unknown_committed=sum(key in present for key in unknown),
        unexplained=len(present - explained),
    )


class BinlogAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Committed transactions that only one of binary log and tables has after the recovery."""

    only_in_binlog: int
    only_in_tables: int

    @classmethod
    def of(cls, logged: Collection[Key], present: Collection[Key]) -> "BinlogAgreement":
        return cls(
            only_in_binlog=len(set(logged) - set(present)), only_in_tables=len(set(present) - set(logged))
        )


def rate_between(times_ns: Collection[int], begin_ns: int, end_ns: int) -> float:
    """Events per second in an interval."""
    return sum(begin_ns <= at_ns < end_ns for at_ns in times_ns) * NS_PER_SECOND / (end_ns - begin_ns)


def first_after(times_ns: Sequence[int], since_ns: int) -> int | None:
    """The first of ascending times that is not before `since_ns`."""
    return next((at_ns for at_ns in times_ns if at_ns >= since_ns), None)


def recovered_at(times_ns: Sequence[int], since_ns: int, level: float) -> int | None:
    """The start of the first second after `since_ns` with 90 % of `level` events; None if there is none."""
    later = [at_ns for at_ns in times_ns if at_ns >= since_ns]
    needed = max(1, round(RECOVERED_SHARE * level))
    ends = islice(later, needed - 1, None)
    return next((begin for begin, end in zip(later, ends, strict=False) if end - begin < NS_PER_SECOND), None)


class Crash(msgspec.Struct, frozen=True, kw_only=True):
    """One crash: the settings, the load before, the commits, and the recovery in seconds since the crash.

    `setting` is what the crashes differ in, `values` are what the server reports for the settings that
    matter. `tps` are transactions with a write, per second before the crash. `ledger_share` is the share of
    their time that the ledger's own statement takes. `binlog` is None without a readable binary log;
    `binlog_note` says why. `first_commit_seconds` and `recovered_seconds` are None if the time ran out.
    """

    setting: str
    repeat: int
    values: dict[str, str]
    tps: float
    ledger_share: float
    commits: CommitFates
    accepts_seconds: float
    first_commit_seconds: float | None
    recovered_seconds: float | None
    binlog: BinlogAgreement | None
    binlog_note: str = ""


class CrashReport(msgspec.Struct, frozen=True, kw_only=True):
    """All crashes of a command, in the order of time, with the server and the load.

    `is_power_loss` is False if only the server's process was killed.
    """

    server: str
    profile: str
    data: str
    threads: int
    seconds: float
    limited: str
    is_power_loss: bool
    seed: int
    planned: int
    crashes: tuple[Crash, ...]
