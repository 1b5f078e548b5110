"""Server activity at one moment: sessions, lock waits, and the last deadlock.

Statements are digests: their values are replaced by `?`.
"""

import msgspec


class ServerSession(msgspec.Struct, frozen=True, kw_only=True):
    """A connection of another client. `seconds` is the time it has been in its state."""

    id: int
    user: str
    host: str
    database: str
    command: str
    state: str
    seconds: int
    statement: str


class OwnSessions(msgspec.Struct, frozen=True, kw_only=True):
    """The session's own connections in one state: their number, and the time of the oldest one."""

    command: str
    state: str
    count: int
    seconds: int


class LockWait(msgspec.Struct, frozen=True, kw_only=True):
    """One connection waits for a lock that another one holds. An idle blocker has no statement."""

    waiting: int
    blocking: int
    waiting_is_ours: bool
    blocking_is_ours: bool
    table: str
    seconds: int
    waiting_statement: str
    blocking_statement: str


class OpenTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that has neither committed nor rolled back, and the time it has been open.

    Its connection is 0 if it has none: prepared by XA, or found at the server's start.
    """

    connection: int
    seconds: int
    rows_locked: int
    rows_changed: int
    is_ours: bool = False


class DeadlockParty(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction of a deadlock: its connection, and the tables it waited for or held locks on."""

    connection: int
    statement: str
    tables: tuple[str, ...]
    rolled_back: bool


class Deadlock(msgspec.Struct, frozen=True, kw_only=True):
    """The last deadlock; `at` is the server's own time, as the server formats it."""

    at: str
    parties: tuple[DeadlockParty, ...]


class Activity(msgspec.Struct, frozen=True, tag="activity", kw_only=True):
    """The server's sessions at one moment, active ones first, then by duration.

    `others` is the number of other clients' sessions, of which at most a few hundred are listed. `gaps`
    describes what the login has no privilege to read. `transactions` are the oldest of all the
    `open_transactions`.
    """

    sessions: tuple[ServerSession, ...]
    others: int
    own: tuple[OwnSessions, ...]
    waits: tuple[LockWait, ...] = ()
    deadlock: Deadlock | None = None
    gaps: tuple[str, ...] = ()
    transactions: tuple[OpenTransaction, ...] = ()
    open_transactions: int = 0


class StatementFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a statement in a period. Times are milliseconds; a figure that the source does not provide
    is None.

    `total_ms` is the execution time on the server; `rows_examined`, `lock_ms` and `cpu_ms` are also sums.
    """

    calls: int
    total_ms: float
    p95_ms: float | None = None
    rows_examined: int | None = None
    lock_ms: float | None = None
    cpu_ms: float | None = None

    @property
    def avg_ms(self) -> float:
        return self.total_ms / self.calls if self.calls else 0.0


class StatementRow(msgspec.Struct, frozen=True, kw_only=True):
    """One statement now, and `before` the last change; `source` is the source of its figures."""

    text: str
    source: str
    now: StatementFigures
    before: StatementFigures | None = None


class StatementReport(msgspec.Struct, frozen=True, tag="statements", kw_only=True):
    """The statements with the most execution time on the server in a period of the run.

    The period has `seconds`: since the first reading, or since the last change (`change`). `before_seconds`
    is the length of the period before it, 0 without one. `gaps` describe what could not be read.
    """

    seconds: float
    rows: tuple[StatementRow, ...]
    before_seconds: float = 0.0
    change: str = ""
    gaps: tuple[str, ...] = ()
