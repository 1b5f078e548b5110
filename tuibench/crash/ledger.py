"""The ledger of a crash: what the server acknowledged, what it has after its recovery, and the difference.

Each transaction that writes inserts one row with its key into a table of its own, so that the row is there if
and only if the transaction is committed. The client notes when it sent COMMIT and when it got the answer:

    written ──COMMIT──> sent ──OK──> acknowledged
                          ├──error──> refused
                          └──────────> unknown: the connection is lost before the answer

After the recovery, the rows of the table are the truth. A row that is missing though it was acknowledged is
lost. One of an unknown transaction may be there or not: both are correct. Any other row has no explanation.

`with_ledger` adds an INSERT before the COMMIT of every transaction that writes; one without BEGIN and COMMIT
gets both. The statement and COMMIT are sent as text, so that a connection recognizes them among its packets:
`LedgerProtocol` passes requests and answers on unchanged, and notes when a COMMIT that follows the INSERT was
sent and answered.

The binary log tells which transactions of the ledger a replica gets. Its files are read as they are, after
the recovery: neither a client program nor the server takes part. An event begins with a header of 19 bytes
(time, type, server, length, end position, flags). A row of the ledger is in a row event, after a table map
with the table's name and number, or, in statement format, in the text of a query event. It counts only if the
XID event of its transaction follows: a replica gets nothing else. A file may end in the middle of an event,
where the server was killed.
"""

import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace

from tuibench.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.errors import ConnectionLostError, RunError, UsageError
from tuibench.load.connections import Connect
from tuibench.load.messages import CommitNotes
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
"""A transaction: its connection, its kind in the program, and its number among those of both."""

RECOVERED_SHARE = 0.9
"""Share of the throughput before the crash at which a server counts as recovered."""

PATIENCE_SECONDS = 0.05


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

    def take(self) -> CommitNotes:
        """What was noted since the last call; it is forgotten here."""
        sent, self.sent = self.sent, {}
        acknowledged, self.acknowledged = self.acknowledged, {}
        refused, self.refused = self.refused, set()
        return CommitNotes(
            tuple((*key, at_ns) for key, at_ns in sent.items()),
            tuple((*key, at_ns) for key, at_ns in acknowledged.items()),
            tuple(refused),
        )

    def add(self, notes: CommitNotes) -> None:
        """Takes in what another ledger, that of a worker, has noted."""
        self.sent.update((note[:3], note[3]) for note in notes.sent)
        self.acknowledged.update((note[:3], note[3]) for note in notes.acknowledged)
        self.refused.update(notes.refused)


class ImpatientClock(SystemClock):
    """Pauses between logins are short, so that the recovery measured is the server's alone."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(min(seconds, PATIENCE_SECONDS))


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


LEDGER_TABLE = "tuibench_ledger"
LEDGER_COLUMNS = "connection INT UNSIGNED, kind INT UNSIGNED, number BIGINT UNSIGNED"
"""All are parts of the primary key, so NOT NULL."""

LEDGER_INSERT = f"INSERT INTO {LEDGER_TABLE} VALUES "  # noqa: S608

MAGIC = b"\xfebin"
QUERY, XID, TABLE_MAP, WRITE_ROWS_V1, WRITE_ROWS_V2 = 2, 16, 19, 23, 30
BEGINNINGS = frozenset({33, 42, 162})
"""Events that begin a transaction: MySQL's GTID, anonymous or not, and MariaDB's."""

UNREADABLE = {40: "compressed", 164: "encrypted", **dict.fromkeys(range(165, 172), "compressed")}

_HEADER = struct.Struct("<IBIIIH")
_ROW = struct.Struct("<BIIQ")
_STATEMENT = re.compile(re.escape(LEDGER_INSERT).encode() + rb"\((\d+), (\d+), (\d+)\)")
_TABLE_NUMBER_BYTES, _POST_HEADER_BYTES = 6, {WRITE_ROWS_V1: 8, WRITE_ROWS_V2: 10}


def logged_transactions(files: Iterable[bytes]) -> set[Key]:
    """The transactions of the ledger in the contents of these files.

    Raises RunError for files that cannot be read: encrypted or compressed ones.
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
    """Of a table map: number, flags, then both names with their lengths, each with a final zero."""
    place = _TABLE_NUMBER_BYTES + 2
    place += 1 + body[place] + 1
    return body[place + 1 : place + 1 + body[place]]


def _row(kind: int, body: bytes) -> Key:
    """The only row of a row event: after the numbers of columns, a bitmap of them and one of the nulls."""
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
    """A protocol that notes the commits of its transactions."""

    def __init__(self, connection: Connection, ledger: Ledger, clock: Clock) -> None:
        super().__init__(connection.raw, connection.target.where)
        self._ledger = ledger
        self._now = clock.now_ns
        self._unobserved: TransactionLoop | None = None
        self._observed: TransactionLoop | None = None

    async def run(self, script: TransactionLoop, answer: Any = None) -> AsyncCall | None:
        if self._observed is None or script is not self._unobserved:
            self._unobserved, self._observed = script, observed(script, self._ledger, self._now)
        return await super().run(self._observed, answer)


def observed(script: TransactionLoop, ledger: Ledger, now_ns: Callable[[], int]) -> TransactionLoop:
    """The same requests and answers; a COMMIT directly after the ledger's INSERT is noted."""
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

    def __init__(self, opened: Connection, ledger: Ledger, clock: Clock) -> None:
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


def ledger_connector(ledger: Ledger, clock: Clock) -> Connect:
    """What an engine opens its connections with. Raises as `mysql.connection.connect` does."""

    async def connect(target: Target) -> Connection:
        return LedgerConnection(await log_in(target), ledger, clock)

    return connect
