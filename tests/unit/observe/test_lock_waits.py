"""Who holds the lock: metadata locks by their types, and inference from the list of sessions."""

from collections.abc import Sequence

import pytest

from tuibench.base.errors import DeniedError, SQLError
from tuibench.model.server import Flavour, LockKind
from tuibench.mysql.rows import Row
from tuibench.observe.lock_waits import (
    ListedSession,
    LockReader,
    MetadataLock,
    conflicts,
    metadata_holders,
    named_tables,
    probable_holder,
    state_kind,
)

TABLE = ("TABLE", "shop", "t")
GLOBAL = ("GLOBAL", "", "")


@pytest.mark.parametrize(
    ("request_type", "granted", "waits"),
    [
        ("EXCLUSIVE", "SHARED_READ", True),
        ("SHARED_READ", "SHARED_UPGRADABLE", False),
        ("SHARED_WRITE", "SHARED_READ_ONLY", True),
        ("SHARED_READ", "SHARED_NO_READ_WRITE", True),
        ("SHARED_READ", "SHARED_NO_WRITE", False),
        ("INTENTION_EXCLUSIVE", "SHARED", True),
        ("INTENTION_EXCLUSIVE", "INTENTION_EXCLUSIVE", False),
        ("BACKUP_DML", "BACKUP_FTWRL2", True),
        ("BACKUP_DML", "BACKUP_DDL", False),
    ],
)
def test_types_of_metadata_locks(request_type: str, granted: str, waits: bool) -> None:
    assert conflicts(request_type, granted) is waits


def test_who_reads_waits_for_the_alter_that_waits_for_a_reader() -> None:
    """The ALTER has not got its lock yet: only its request is in the way."""
    granted = [MetadataLock(41, TABLE, "SHARED_READ"), MetadataLock(9, TABLE, "SHARED_UPGRADABLE")]
    pending = [MetadataLock(9, TABLE, "EXCLUSIVE"), MetadataLock(8, TABLE, "SHARED_READ")]
    found = metadata_holders(pending, granted)
    assert [(request.id, holder) for request, holder in found] == [(9, 41), (8, 9)]


def test_a_lock_on_another_table_is_in_nobodys_way() -> None:
    granted = [MetadataLock(41, ("TABLE", "shop", "u"), "EXCLUSIVE")]
    assert metadata_holders([MetadataLock(9, TABLE, "SHARED_READ")], granted) == []


def test_a_global_read_lock_blocks_writers() -> None:
    granted = [MetadataLock(41, GLOBAL, "SHARED"), MetadataLock(42, GLOBAL, "INTENTION_EXCLUSIVE")]
    pending = [MetadataLock(9, GLOBAL, "INTENTION_EXCLUSIVE")]
    ((request, holder),) = metadata_holders(pending, granted)
    assert (holder, request.kind) == (41, LockKind.GLOBAL)


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("ALTER TABLE shop.orders ADD x INT", ("orders",)),
        ("UPDATE `my``t` SET a=1", ("my",)),
        ("DROP TABLE IF EXISTS a", ("a",)),
        ("SELECT * FROM a JOIN b ON b.x = a.x", ("a", "b", "x")),
        ("INSERT INTO c SELECT * FROM d", ("c", "d")),
        ("SELECT 1 FROM (SELECT 2) x", ()),
        ("", ()),
    ],
)
def test_tables_of_a_statement(statement: str, tables: tuple[str, ...]) -> None:
    found = named_tables(statement)
    assert set(tables) <= set(found) or found == tables


MDL, BACKUP, FLUSH = "Waiting for table metadata lock", "Waiting for backup lock", "Waiting for table flush"


def waiter(id: int, ms: float, statement: str, state: str = MDL) -> ListedSession:
    return ListedSession(id, "Query", state, ms, statement)


def idle(id: int, ms: float, open_seconds: int | None = None) -> ListedSession:
    return ListedSession(id, "Sleep", "", ms, "", open_seconds)


def holder_of(
    one: ListedSession, waiters: Sequence[ListedSession], others: Sequence[ListedSession]
) -> int | None:
    return probable_holder(one, waiters, [*waiters, *others], 100.0)


ALTER = waiter(9, 5000, "ALTER TABLE t ADD x INT")


def test_ddl_waits_for_the_oldest_idle_transaction() -> None:
    others = [idle(40, 9000), idle(41, 6000, 50), idle(42, 6000, 20), idle(43, 10, 90)]
    assert holder_of(ALTER, [ALTER], others) == 41


def test_a_statement_on_the_table_counts_more_than_an_idle_transaction() -> None:
    busy = ListedSession(50, "Query", "Sending data", 6000, "SELECT SUM(x) FROM t")
    elsewhere = ListedSession(51, "Query", "Sending data", 9000, "SELECT SUM(x) FROM other_t")
    assert holder_of(ALTER, [ALTER], [idle(41, 6000, 50), busy, elsewhere]) == 50


def test_statements_behind_ddl_wait_for_it_and_not_for_its_holder() -> None:
    behind, ahead = waiter(8, 3000, "SELECT * FROM t"), waiter(7, 6000, "SELECT * FROM t")
    others = [idle(41, 7000, 50)]
    assert holder_of(behind, [ALTER, behind, ahead], others) == 9
    assert holder_of(ahead, [ALTER, behind, ahead], others) == 41


def test_without_a_transaction_it_is_who_fell_idle_just_before() -> None:
    """LOCK TABLES and FLUSH TABLES WITH READ LOCK need no transaction."""
    one = waiter(8, 3000, "UPDATE t SET a=1", BACKUP)
    others = [idle(40, 500_000), idle(41, 3005), idle(42, 2000), idle(43, 9000)]
    assert holder_of(one, [one], others) == 41


def test_writers_wait_for_the_flush_that_waits_for_a_reader() -> None:
    flush = waiter(9, 5000, "FLUSH TABLES WITH READ LOCK", FLUSH)
    writer = waiter(8, 3000, "UPDATE t SET a=1", BACKUP)
    reader = ListedSession(50, "Query", "User sleep", 8000, "SELECT SLEEP(100) FROM t")
    assert holder_of(writer, [flush, writer], [reader]) == 9
    assert holder_of(flush, [flush, writer], [reader]) == 50


def test_nobody_is_accused_without_a_candidate() -> None:
    assert holder_of(ALTER, [ALTER], []) is None


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (MDL, LockKind.METADATA),
        ("Waiting for global read lock", LockKind.GLOBAL),
        ("Waiting for table level lock", LockKind.TABLE),
        ("User lock", LockKind.USER),
        (FLUSH, LockKind.FLUSH),
    ],
)
def test_states_name_the_kind(state: str, kind: LockKind) -> None:
    assert state_kind(state) is kind


class Scripted:
    """Answers by a part of the statement, in order."""

    def __init__(self, **answers: Sequence[Row] | SQLError) -> None:
        self.answers = answers
        self.sent: list[str] = []

    async def __call__(self, sql: str) -> Sequence[Row]:
        self.sent.append(sql)
        for word, answer in self.answers.items():
            if word in sql:
                if isinstance(answer, SQLError):
                    raise answer
                return answer
        return ()


async def test_the_name_of_a_user_lock_is_never_sent_as_it_is() -> None:
    hostile = "SELECT GET_LOCK('a) OR SLEEP(9) -- ', 9)"
    query = Scripted(STATE=[(8, "User lock", 3000, hostile)], IS_USED_LOCK=[(41,)])
    query.answers = {"IS_USED_LOCK": [(41,)], "STATE LIKE": [(8, "User lock", 3000, hostile)]}
    found = await LockReader(Flavour.MARIADB).read(query, set(), set())
    assert [(wait.waiting, wait.blocking, wait.is_probable) for wait in found.waits] == [(8, 41, False)]
    (asked,) = [sql for sql in query.sent if "IS_USED_LOCK" in sql]
    assert "SLEEP" not in asked


async def test_a_missing_privilege_is_a_gap_and_ends_nothing() -> None:
    query = Scripted(INNODB_TRX=DeniedError(1227, "you need PROCESS"))
    found = await LockReader(Flavour.MYSQL).read(query, set(), set())
    assert (found.waits, found.gaps) == ((), ("lock waits: you need PROCESS",))


async def test_a_holder_that_may_not_be_read_is_inferred_and_a_gap() -> None:
    """It is asked once and said at every reading. A server without such a table lacks nothing."""
    reader = {code: LockReader(Flavour.MYSQL) for code in (1142, 1146)}
    for code, gaps in ((1142, ("metadata locks: SELECT denied",)), (1146, ())) * 2:
        query = Scripted()
        query.answers = {
            "STATE LIKE": [(8, "Waiting for table metadata lock", 3000, "ALTER TABLE t COMMENT 'x'")],
            "metadata_locks": SQLError(code, "SELECT denied"),
            "LEFT JOIN": [(41, "Sleep", "", 9000, None, 9)],
        }
        found = await reader[code].read(query, set(), set())
        assert [(wait.blocking, wait.is_probable) for wait in found.waits] == [(41, True)]
        assert found.gaps == gaps


async def test_own_monitoring_is_never_the_culprit() -> None:
    query = Scripted()
    query.answers = {
        "STATE LIKE": [(8, BACKUP, 3000, "UPDATE t SET a=1")],
        "LEFT JOIN": [(7, "Sleep", "", 3001, None, None), (41, "Sleep", "", 9000, None, None)],
    }
    found = await LockReader(Flavour.MARIADB).read(query, {7, 8}, {7})
    assert [(wait.blocking, wait.is_probable, wait.waiting_is_ours) for wait in found.waits] == [
        (41, True, True)
    ]
