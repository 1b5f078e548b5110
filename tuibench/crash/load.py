"""The load of a crash: the profile's transactions with a row for the ledger, and connections that keep it.

`with_ledger` adds an INSERT before the COMMIT of every transaction that writes; one without BEGIN and COMMIT
gets both. The statement and COMMIT are sent as text, so that a connection recognizes them among its packets:
`LedgerProtocol` passes requests and answers on unchanged, and notes when a COMMIT that follows the INSERT was
sent and answered.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tuibench.clock import Clock
from tuibench.crash.binlog import LEDGER_INSERT
from tuibench.crash.ledger import Key, Ledger
from tuibench.errors import ConnectionLostError, UsageError
from tuibench.load.connections import Connect
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
    Serial,
    Statement,
    StatementClass,
    Transaction,
    all_steps,
)

LEDGER_STATEMENT = "ledger"
"""The name of the INSERT among the program's statements."""

_NUMBER = "ledger_number"
_INSERT_PACKET = re.compile(rb".{5}" + re.escape(LEDGER_INSERT).encode() + rb"\((\d+), (\d+), (\d+)\)", re.S)
_COMMIT_PACKET = text_packet("COMMIT", ENCODING)


def with_ledger(program: Program) -> Program:
    """The program whose writing transactions fill the ledger. Raises UsageError if none of them writes."""
    if not any(writes(transaction) for transaction in program.transactions):
        raise UsageError(f"{program.profile} writes nothing, so a crash loses nothing", "try oltp_write_only")
    recorded = (
        _recorded(kind, transaction) if writes(transaction) else transaction
        for kind, transaction in enumerate(program.transactions)
    )
    return replace(program, transactions=tuple(recorded))


def writes(transaction: Transaction) -> bool:
    """True if it has a statement that inserts, updates or deletes."""
    return any(
        statement.cls is StatementClass.WRITE
        for step in all_steps(transaction.steps)
        for statement in step.statements
    )


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
