"""Programs and server errors for tests of the engines."""

import msgspec

from tuibench.base.errors import ConnectionLostError, ServerUnavailableError, ServerUnreachableError, SQLError
from tuibench.load.messages import ExecutionOptions, StartLoad
from tuibench.model.plan import Arrival, Backlog, OnError
from tuibench.model.server import Target
from tuibench.workload.program import Program, ProgramStep, Statement, Transaction
from tuibench.workload.sql import StatementClass
from tuibench.workload.values import Bound, Uniform

# Small programs, with and without a transaction around their statements, and a worker's first message.


TARGET = Target(host="db", user="ann", password="secret")
KEY: Uniform[Bound] = Uniform(low=1, high=100)

BEGIN = Statement(name="begin", cls=StatementClass.OTHER, sql=("START TRANSACTION",), prepared=False)
COMMIT = Statement(name="commit", cls=StatementClass.OTHER, sql=("COMMIT",))
SELECT = Statement(
    name="point_select", cls=StatementClass.READ, sql=("SELECT c FROM t WHERE id=?",), bind=("id",)
)
UPDATE = Statement(
    name="update", cls=StatementClass.WRITE, sql=("UPDATE t SET k=k+1 WHERE id=?",), bind=("id",)
)

EXPLICIT = Transaction(
    name="explicit",
    weight=1,
    explicit=True,
    steps=(
        ProgramStep(repeat=1, let={}, statements=(BEGIN,)),
        ProgramStep(repeat=2, let={"id": KEY}, statements=(SELECT,)),
        ProgramStep(repeat=1, let={"id": KEY}, statements=(UPDATE,)),
        ProgramStep(repeat=1, let={}, statements=(COMMIT,)),
    ),
)
SINGLE = Transaction(
    name="single",
    weight=1,
    explicit=False,
    steps=(ProgramStep(repeat=1, let={"id": KEY}, statements=(UPDATE,)),),
)
ASKING = msgspec.structs.replace(
    EXPLICIT,
    name="asking",
    steps=(
        EXPLICIT.steps[0],
        ProgramStep(
            repeat=2,
            let={"id": KEY},
            statements=(msgspec.structs.replace(SELECT, capture=("c",)),),
        ),
        *EXPLICIT.steps[2:],
    ),
)
"""The same, but for the rows of its SELECTs, which it wants to see."""

EXPLICIT_SQL = [BEGIN.sql[0], SELECT.sql[0], SELECT.sql[0], UPDATE.sql[0], COMMIT.sql[0]]


def program(*transactions: Transaction) -> Program:
    return Program(profile="test", data_set="none", tables=("t",), options={}, transactions=transactions)


def begin(
    *transactions: Transaction,
    max_retries: int = 3,
    ignored_errors: tuple[int, ...] | None = (1213, 1020, 1205),
    on_error: OnError = OnError.STOP,
    backlog: Backlog = Backlog.KEEP,
    prepared: bool = True,
    session_sql: tuple[str, ...] = (),
    arrival: Arrival = Arrival.POISSON,
    limit: int | None = None,
    worker: int = 0,
    workers: int = 1,
    has_begun: bool = False,
    is_replacement: bool = False,
) -> StartLoad:
    return StartLoad(
        worker=worker,
        workers=workers,
        target=TARGET,
        program=program(*transactions),
        seed=1,
        execution=ExecutionOptions(
            ignored_errors=None if ignored_errors is None else frozenset(ignored_errors),
            max_retries=max_retries,
            on_error=on_error,
            backlog=backlog,
            prepared=prepared,
            session_sql=session_sql,
        ),
        arrival=arrival,
        limit=limit,
        has_begun=has_begun,
        is_replacement=is_replacement,
    )


# What a server can say to a connection of the load, and ways to lose it.


ROLLBACK = "ROLLBACK"
DEADLOCK = SQLError(1213, "deadlock")
LOCK_WAIT = SQLError(1205, "lock wait timeout")
DUPLICATE = SQLError(1062, "duplicate entry")
LOST = ConnectionLostError(2013, "connection lost")
TOO_MANY = SQLError(1040, "too many connections")
AWAY = ServerUnreachableError("cannot reach a server at db:3306", "is it running?")
DENIED = ServerUnavailableError("the server refuses user 'ann'", "give --user")
