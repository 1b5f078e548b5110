"""The ledger of a crash: which commits the server acknowledged, and which of them exist after its recovery.

Each transaction that writes inserts one row with its key into a table of its own, so that the row is there if
and only if the transaction is committed. The client notes when it sent COMMIT and when it got the answer:

    written ──COMMIT──> sent ──OK──> acknowledged
                          ├──error──> refused
                          └──────────> unknown: the connection is lost before the answer

After the recovery, the rows of the table are read. An acknowledged transaction whose row is missing is lost.
An unknown transaction may have a row or not: both are correct. Any other row is unexplained.

`with_ledger` adds an INSERT before the COMMIT of every transaction that writes; one without BEGIN and COMMIT
gets both. INSERT and COMMIT are sent as text, so that a connection recognizes them among its packets.
`LedgerProtocol` passes requests and answers on unchanged, and notes when a COMMIT after the INSERT was sent
and answered.
"""

import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace

from tuibench.base.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.base.errors import ConnectionLostError, RunError, UsageError
from tuibench.load.connections import Connect
from tuibench.load.messages import CommitNote, CommitNotes
from tuibench.model.findings import CommitFates
from tuibench.model.server import Target
from tuibench.mysql.connection import ENCODING, Connection
from tuibench.mysql.connection import connect as log_in
from tuibench.mysql.packets import text_packet
from tuibench.mysql.statements import AsyncCall, StatementProtocol, TransactionLoop
from tuibench.workload.compiler import BEGIN, COMMIT
from tuibench.workload.program import (
    CONNECTION,
    Program,
    ProgramStep,
    Statement,
    Transaction,
)
from tuibench.workload.sql import StatementClass
from tuibench.workload.values import Serial

Key = tuple[int, int, int]
"""A transaction: its connection, its kind in the program, and its number among those of this connection and
kind.
"""

RECOVERED_SHARE = 0.9
"""Share of the throughput before the crash at which a server counts as recovered."""

PATIENCE_SECONDS = 0.05


class CommitLedger:
    """The state of each transaction that the client has sent, in time order. Times are in nanoseconds."""

    def __init__(self) -> None:
        self.sent: dict[Key, int] = {}
        self.acknowledged: dict[Key, int] = {}
        self.refused: set[Key] = set()

    def commit_sent(self, key: Key, now_ns: int) -> None:
        self.sent[key] = now_ns

    def commit_acknowledged(self, key: Key, now_ns: int) -> None:
        self.acknowledged[key] = now_ns

    def commit_refused(self, key: Key) -> None:
        """Note that the server answered COMMIT with an error."""
        self.refused.add(key)

    def take(self) -> CommitNotes:
        """Return and remove everything that was noted since the last call."""
        sent, self.sent = self.sent, {}
        acknowledged, self.acknowledged = self.acknowledged, {}
        refused, self.refused = self.refused, set()
        return CommitNotes(
            tuple(CommitNote(*key, at_ns) for key, at_ns in sent.items()),
            tuple(CommitNote(*key, at_ns) for key, at_ns in acknowledged.items()),
            tuple(refused),
        )

    def add(self, notes: CommitNotes) -> None:
        """Add the notes of a worker's ledger."""
        self.sent.update((note[:3], note.at_ns) for note in notes.sent)
        self.acknowledged.update((note[:3], note.at_ns) for note in notes.acknowledged)
        self.refused.update(notes.refused)


class ImpatientClock(SystemClock):
    """A clock whose pauses are short: pauses between logins must not prolong the measured recovery."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(min(seconds, PATIENCE_SECONDS))


def judge_commits(
    ledger: CommitLedger, present: Collection[Key], crashed_ns: int, back_ns: int
) -> CommitFates:
    """Counts of the transactions by their fate; `present` are those that have a row after the recovery.

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


def rate_between(times_ns: Collection[int], begin_ns: int, end_ns: int) -> float:
    """Events per second in an interval."""
    return sum(begin_ns <= at_ns < end_ns for at_ns in times_ns) * NS_PER_SECOND / (end_ns - begin_ns)


def first_after(times_ns: Sequence[int], since_ns: int) -> int | None:
    """The first of ascending times that is not before `since_ns`; None if there is none."""
    return next((at_ns for at_ns in times_ns if at_ns >= since_ns), None)


def recovered_at(times_ns: Sequence[int], since_ns: int, level: float) -> int | None:
    """The start of the first second after `since_ns` with at least 90 % of `level` events per second.

    None if there is none.
    """
    later = [at_ns for at_ns in times_ns if at_ns >= since_ns]
    needed = max(1, round(RECOVERED_SHARE * level))
    ends = islice(later, needed - 1, None)
    return next((begin for begin, end in zip(later, ends, strict=False) if end - begin < NS_PER_SECOND), None)


LEDGER_TABLE = "tuibench_ledger"
LEDGER_COLUMNS = "connection INT UNSIGNED, kind INT UNSIGNED, number BIGINT UNSIGNED"
"""The columns are the primary key, and therefore NOT NULL."""

LEDGER_INSERT = f"INSERT INTO {LEDGER_TABLE} VALUES "  # noqa: S608

# Binary log
#
# It determines which transactions of the ledger a replica gets. Its files are read directly after the
# recovery, without a client program or the server. An event starts with a header of 19 bytes: time, type,
# server, length, end position, flags. A row of the ledger is in a row event, which follows a table map with
# the table's name and number; in statement format, it is in the text of a query event. A transaction counts
# only if its XID event follows, as a replica applies no other one. A file may end inside an event, because
# the server was killed.

MAGIC = b"\xfebin"
QUERY, XID, TABLE_MAP, WRITE_ROWS_V1, WRITE_ROWS_V2 = 2, 16, 19, 23, 30
BEGINNINGS = frozenset({33, 42, 162})
"""Types of events that begin a transaction: MySQL's GTID event, its anonymous form, and MariaDB's GTID event.
"""

UNREADABLE = {40: "compressed", 164: "encrypted", **dict.fromkeys(range(165, 172), "compressed")}

_HEADER = struct.Struct("<IBIIIH")
_ROW = struct.Struct("<BIIQ")
_STATEMENT = re.compile(re.escape(LEDGER_INSERT).encode() + rb"\((\d+), (\d+), (\d+)\)")
_TABLE_NUMBER_BYTES, _POST_HEADER_BYTES = 6, {WRITE_ROWS_V1: 8, WRITE_ROWS_V2: 10}


def logged_transactions(files: Iterable[bytes]) -> set[Key]:
    """The transactions of the ledger in these files of the binary log, given by their contents.

    Raises RunError for encrypted or compressed files.
    """
    found: set[Key] = set()
    for data in files:
        tables: set[bytes] = set()
        pending: list[Key] = []
        for kind, body in _events(data):
            if kind in UNREADABLE:
                raise RunError(f"the binary log is {UNREADABLE[kind]}")
            if kind in BEGINNINGS:
                pending.clear()
            elif kind == TABLE_MAP and _table_name(body) == LEDGER_TABLE.encode():
                tables.add(body[:_TABLE_NUMBER_BYTES])
            elif kind in _POST_HEADER_BYTES and body[:_TABLE_NUMBER_BYTES] in tables:
                pending.append(_row(kind, body))
            elif kind == QUERY and (text := _STATEMENT.search(body)):
                pending.append((int(text[1]), int(text[2]), int(text[3])))
            elif kind == XID:
                found.update(pending)
                pending.clear()
    return found


def _events(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The complete events, as type and body; a checksum is part of the body."""
    if not data.startswith(MAGIC):
        raise RunError("the binary log is encrypted")
    place = len(MAGIC)
    while place + _HEADER.size <= len(data):
        _, kind, _, length, _, _ = _HEADER.unpack_from(data, place)
        if length < _HEADER.size or place + length > len(data):
            return
        yield kind, data[place + _HEADER.size : place + length]
        place += length


def _table_name(body: bytes) -> bytes:
    """The table's name in a table map, which contains number, flags, then the names of database and table,
    each with its length and a final zero.
    """
    place = _TABLE_NUMBER_BYTES + 2
    place += 1 + body[place] + 1
    return body[place + 1 : place + 1 + body[place]]


def _row(kind: int, body: bytes) -> Key:
    """The only row of a row event. It follows the number of columns, a bitmap of the columns, and a bitmap of
    the NULLs.
    """
    place = _POST_HEADER_BYTES[kind] + 1 + 1
    _, connection, transaction, number = _ROW.unpack_from(body, place)
    return connection, transaction, number


LEDGER_STATEMENT = "ledger"
"""The name of the INSERT among the program's statements."""

_NUMBER = "ledger_number"
_INSERT_PACKET = re.compile(rb".{5}" + re.escape(LEDGER_INSERT).encode() + rb"\((\d+), (\d+), (\d+)\)", re.S)
_COMMIT_PACKET = text_packet("COMMIT", ENCODING)


def with_ledger(program: Program) -> Program:
    """The program whose writing transactions fill the ledger. Raises UsageError if none of them writes."""
    if not any(transaction.writes for transaction in program.transactions):
        raise UsageError(f"{program.profile} writes nothing, so a crash loses nothing", "try oltp_write_only")
    recorded = (
        _recorded(kind, transaction) if transaction.writes else transaction
        for kind, transaction in enumerate(program.transactions)
    )
    return replace(program, transactions=tuple(recorded))


def _recorded(kind: int, transaction: Transaction) -> Transaction:
    own = transaction.steps if transaction.explicit else (BEGIN, *transaction.steps, COMMIT)
    commit = replace(COMMIT, statements=tuple(replace(each, prepared=False) for each in COMMIT.statements))
    insert = Statement(
        name=LEDGER_STATEMENT,
        cls=StatementClass.WRITE,
        sql=(f"{LEDGER_INSERT}(?, {kind}, ?)",),
        bind=(CONNECTION, _NUMBER),
        prepared=False,
    )
    row = ProgramStep(repeat=1, let={_NUMBER: Serial(first=1)}, statements=(insert,))
    return replace(transaction, explicit=True, steps=(*own[:-1], row, commit))


class LedgerProtocol(StatementProtocol):
    """A protocol that notes the commits of its transactions in a ledger."""

    def __init__(self, connection: Connection, ledger: CommitLedger, clock: Clock) -> None:
        super().__init__(connection.raw, connection.target.where)
        self._ledger = ledger
        self._now = clock.now_ns
        self._unobserved: TransactionLoop | None = None
        self._observed: TransactionLoop | None = None

    async def run(self, script: TransactionLoop, answer: Any = None) -> AsyncCall | None:
        if self._observed is None or script is not self._unobserved:
            self._unobserved, self._observed = script, observed(script, self._ledger, self._now)
        return await super().run(self._observed, answer)


def observed(script: TransactionLoop, ledger: CommitLedger, now_ns: Callable[[], int]) -> TransactionLoop:
    """Pass on requests and answers unchanged, and note a COMMIT that directly follows the ledger's INSERT."""
    resume: Any = script.send
    answer: Any = None
    key: Key | None = None
    while True:
        try:
            request = resume(answer)
        except StopIteration:
            return
        committing = key if request == _COMMIT_PACKET else None
        if committing is not None:
            ledger.commit_sent(committing, now_ns())
        if type(request) is bytes:
            row = _INSERT_PACKET.match(request)
            key = (int(row[1]), int(row[2]), int(row[3])) if row else None
        try:
            answer, resume = (yield request), script.send
        except Exception as error:
            answer, resume = error, script.throw
            if committing is not None and not isinstance(error, ConnectionLostError):
                ledger.commit_refused(committing)
        else:
            if committing is not None:
                ledger.commit_acknowledged(committing, now_ns())


class LedgerConnection(Connection):
    """A connection of the load whose transactions are noted in the ledger."""

    def __init__(self, opened: Connection, ledger: CommitLedger, clock: Clock) -> None:
        super().__init__(opened.raw, opened.target)
        self.login = opened.login
        self.statements = opened.statements
        self.questions = opened.questions
        self._ledger = ledger
        self._clock = clock

    @property
    def protocol(self) -> StatementProtocol:
        if not isinstance(super().protocol, LedgerProtocol):
            self._protocol = LedgerProtocol(self, self._ledger, self._clock)
        return super().protocol


def ledger_connector(ledger: CommitLedger, clock: Clock) -> Connect:
    """A function that opens an engine's connections. It raises the errors of `mysql.connection.connect`."""

    async def connect(target: Target) -> Connection:
        return LedgerConnection(await log_in(target), ledger, clock)

    return connect
