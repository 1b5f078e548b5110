"""A server with strangers on it: a report that runs long, a lock held in an idle transaction, a deadlock."""

from tuibench.model.server import (
    Activity,
    Blocker,
    Deadlock,
    DeadlockParty,
    LockWait,
    OpenTransaction,
    OwnSessions,
    ServerSession,
)

UPDATE = "UPDATE sbtest2 SET k=k+? WHERE id=?"
REPORT = (
    "SELECT customer, SUM(amount) FROM orders JOIN items USING (order_id) WHERE day > ? GROUP BY customer"
)


def session(id: int, **changes: object) -> ServerSession:
    made = {
        "user": "shop",
        "host": "10.0.3.17:51234",
        "database": "shop",
        "command": "Query",
        "state": "Sending data",
        "seconds": 0,
        "statement": "SELECT name FROM products WHERE id = ?",
        **changes,
    }
    return ServerSession(id=id, **made)  # type: ignore[arg-type]


def wait(waiting: int, blocking: int, seconds: int, **changes: object) -> LockWait:
    made = {
        "waiting_is_ours": True,
        "blocking_is_ours": False,
        "table": "sbtest.sbtest2",
        "waiting_statement": UPDATE,
        "blocking_statement": "",
        **changes,
    }
    return LockWait(waiting=waiting, blocking=blocking, seconds=seconds, **made)  # type: ignore[arg-type]


DEADLOCK = Deadlock(
    at="2026-03-01 11:58:07",
    parties=(
        DeadlockParty(connection=212, statement=UPDATE, tables=("sbtest.sbtest2",), rolled_back=False),
        DeadlockParty(
            connection=219,
            statement="DELETE FROM sbtest2 WHERE id=?",
            tables=("sbtest.sbtest2",),
            rolled_back=True,
        ),
    ),
)
BLOCKER = Blocker(
    id=90,
    user="ann",
    host="pc7",
    command="Sleep",
    seconds=63,
    open_seconds=65,
    rows_locked=10_139,
    rows_changed=10_001,
    statement=UPDATE,
)
ACTIVITY = Activity(
    sessions=(
        session(88, user="report", host="bi2:40112", seconds=754, statement=REPORT),
        session(91, seconds=2, state="Statistics"),
        session(93, user="exporter", host="localhost", database="", statement="SHOW GLOBAL STATUS"),
        session(90, user="ann", host="pc7", command="Sleep", state="", seconds=63, statement=""),
        session(64, command="Sleep", state="", seconds=12, statement=""),
    ),
    others=5,
    own=(
        OwnSessions(command="Execute", state="Updating", count=41, seconds=3),
        OwnSessions(command="Sleep", state="", count=24, seconds=0),
        OwnSessions(command="Query", state="Filling schema table", count=1, seconds=0),
    ),
    waits=(wait(214, 90, 3), wait(230, 214, 1, blocking_is_ours=True, blocking_statement=UPDATE)),
    blockers=(BLOCKER,),
    blocked=2,
    deadlock=DEADLOCK,
    transactions=(
        OpenTransaction(connection=88, seconds=754, rows_locked=0, rows_changed=0),
        OpenTransaction(connection=90, seconds=65, rows_locked=3, rows_changed=1),
        OpenTransaction(connection=214, seconds=3, rows_locked=2, rows_changed=1, is_ours=True),
    ),
    open_transactions=43,
)
