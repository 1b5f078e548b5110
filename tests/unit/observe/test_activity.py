"""What connections do: statements, locks, the last deadlock."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock
from tests.paths import DATA
from tests.tables import for_each
from tests.unit.observe.fakes import TARGET
from tuibench.base.errors import (
    DeniedError,
    ServerUnavailableError,
    ServerUnreachableError,
    SQLError,
    TuibenchError,
)
from tuibench.model.server import Flavour, LockWait, OwnSessions, Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.rows import Row
from tuibench.observe.sessions import (
    DEADLOCK_EVERY_SAMPLES,
    MOST_SESSIONS,
    MOST_TRANSACTIONS,
    PLANNED_ANEW,
    ActivitySampler,
    count_sql,
    last_deadlock,
    others_sql,
    own_sql,
    ranges,
)
from tuibench.observe.statements import (
    DIGEST,
    EXECUTED_NOTE,
    LONGEST,
    NO_HISTOGRAMS,
    OFF,
    PREPARED,
    PREPARED_NOTE,
    StatementSampler,
    normalize_sql,
)

# Who is on a scripted server: what is asked, what is bounded, what may not be seen, what is killed.


OWN_ID = 70
SHOP = (9, "shop", "web:1", "shop", "Query", "updating", 3, "UPDATE orders SET paid=1")
OWN = ("Execute", "updating", 8, 2)
WAITER = (101, 9, 4, "UPDATE sbtest1 SET k=k+1 WHERE id=5")
WAIT = (101, 102, "`sbtest`.`sbtest1`", "PRIMARY", "5")
HOLDER = (102, 21, 75, 12, 4, None)
HOLDING_SESSION = (21, "shop", "web:2", "Sleep", "", 8, None)
OPEN = (9, 75, 12, 4)


PLANNING: dict[str, Sequence[Row] | SQLError] = {
    word: [] for word in ("ROUTINES", "SET SESSION", "USE `", "START TRANSACTION", "ROLLBACK")
}
"""What is sent beside EXPLAIN itself."""


class Server:
    """Answers by a word of the statement; an answer may be an error."""

    def __init__(self) -> None:
        self.answers: dict[str, Sequence[Row] | SQLError] = {
            "COUNT(*) FROM information_schema.INNODB_TRX": [(1234,)],
            "trx_state = 'LOCK WAIT'": [WAITER],
            "INNODB_LOCK_WAITS": [WAIT],
            "data_lock_waits": [WAIT],
            "INNODB_TRX WHERE trx_": [HOLDER],
            "STATE LIKE": [],
            "events_statements_current": SQLError(1146, "no such table"),
            "PROCESSLIST\nWHERE ID IN": [HOLDING_SESSION],
            "COUNT(*) FROM": [(1,)],
            "GROUP BY": [OWN],
            "ORDER BY COMMAND": [SHOP],
            "trx_started": [OPEN, (21, 2, 40, 3)],
            "INNODB STATUS": [("InnoDB", "", "nothing")],
            "KILL": [],
            "SHOW GRANTS": [("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`",)],
            "USER()": [("shop",)],
        }
        self.sent: list[str] = []
        self.named: list[dict[str, object]] = []
        self.refusal: TuibenchError | None = None
        self.closed = 0

    async def log_in(self, target: Target) -> Connection:
        if self.refusal:
            raise self.refusal
        return Asked(self)

    def count(self, word: str) -> int:
        return sum(word in sql for sql in self.sent)


class Asked(Connection):
    def __init__(self, server: Server) -> None:
        super().__init__(None, Target())
        self._server = server

    @property
    def thread_id(self) -> int:
        return OWN_ID

    async def query(self, sql: str) -> Sequence[Row]:
        self.statements += 1
        self._server.sent.append(sql)
        for word, answer in self._server.answers.items():
            if word in sql:
                if isinstance(answer, SQLError):
                    raise answer
                return answer
        raise AssertionError(sql)

    async def query_named(self, sql: str) -> list[dict[str, object]]:
        self._server.sent.append(sql)
        return self._server.named

    async def close(self) -> None:
        self._server.closed += 1

    def abort(self) -> None:
        pass


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def sampler(server: Server) -> ActivitySampler:
    return ActivitySampler(Target(), FakeClock(), Flavour.MARIADB, log_in=server.log_in)


async def test_a_look_tells_others_ours_and_who_waits(server: Server, sampler: ActivitySampler) -> None:
    activity = await sampler.look({21, 22, 23})
    assert activity is not None
    (session,) = activity.sessions
    assert (session.id, session.seconds, session.statement) == (9, 3, "UPDATE orders SET paid=?")
    assert activity.own == (OwnSessions(command="Execute", state="updating", count=8, seconds=2),)
    assert activity.waits == (
        LockWait(
            waiting=9,
            blocking=21,
            waiting_is_ours=False,
            blocking_is_ours=True,
            table="sbtest.sbtest1",
            seconds=4,
            waiting_statement="UPDATE sbtest1 SET k=k+? WHERE id=?",
            blocking_statement="",
        ),
    )
    (blocker,) = activity.blockers
    assert (blocker.id, blocker.doing, blocker.rows_locked, blocker.rows_changed) == (
        21,
        "idle in transaction",
        12,
        4,
    )
    assert (blocker.user, blocker.is_ours, activity.blocked) == ("shop", True, 1)
    assert [msgspec.structs.astuple(each) for each in activity.transactions] == [
        (9, 75, 12, 4, False),
        (21, 2, 40, 3, True),
    ]
    assert activity.open_transactions == 2
    assert (activity.others, activity.deadlock, activity.gaps) == (1, None, ())
    assert "NOT (ID BETWEEN 21 AND 23 OR ID BETWEEN 70 AND 70)" in "".join(server.sent)
    assert len(server.sent) == 12


async def test_a_full_list_is_counted(server: Server, sampler: ActivitySampler) -> None:
    server.answers["ORDER BY COMMAND"] = [SHOP] * MOST_SESSIONS
    server.answers["COUNT(*) FROM"] = [(5000,)]
    activity = await sampler.look(set())
    assert activity is not None
    assert (len(activity.sessions), activity.others) == (MOST_SESSIONS, 5000)


async def test_more_transactions_than_are_listed_are_counted(
    server: Server, sampler: ActivitySampler
) -> None:
    server.answers["trx_started"] = [OPEN] * MOST_TRANSACTIONS
    activity = await sampler.look(set())
    assert activity is not None
    assert (len(activity.transactions), activity.open_transactions) == (MOST_TRANSACTIONS, 1234)


async def test_the_deadlock_is_looked_for_now_and_then(server: Server, sampler: ActivitySampler) -> None:
    for _ in range(2 * DEADLOCK_EVERY_SAMPLES):
        await sampler.look(set())
    assert server.count("INNODB STATUS") == 2


async def test_what_may_not_be_seen_is_said(server: Server, sampler: ActivitySampler) -> None:
    for word in ("trx_started", "trx_state = 'LOCK WAIT'", "INNODB STATUS"):
        server.answers[word] = DeniedError(1227, "you need PROCESS")
    activity = await sampler.look(set())
    assert activity is not None
    assert activity.gaps == tuple(
        f"{what}: you need PROCESS" for what in ("lock waits", "open transactions", "the last deadlock")
    )
    assert len(activity.sessions) == 1


@pytest.mark.parametrize("answer", [SQLError(1146, "no such table"), []])
async def test_an_older_list_serves_where_the_newer_is_missing_or_empty(
    server: Server, answer: Sequence[Row] | SQLError
) -> None:
    sampler = ActivitySampler(Target(), FakeClock(), Flavour.MYSQL, log_in=server.log_in)
    server.answers = {"performance_schema.processlist": answer, **server.answers}
    for _ in range(2):
        activity = await sampler.look(set())
        assert activity is not None
        assert len(activity.sessions) == 1
    assert server.count("performance_schema.processlist") == 1


async def test_no_answer_is_no_activity(server: Server, sampler: ActivitySampler) -> None:
    server.refusal = ServerUnreachableError("nobody there")
    assert await sampler.look(set()) is None


async def test_a_kill_names_the_connection(server: Server, sampler: ActivitySampler) -> None:
    await sampler.kill(9)
    assert server.sent == ["KILL QUERY 9"]


async def test_a_connection_is_closed_as_a_whole(server: Server, sampler: ActivitySampler) -> None:
    await sampler.kill(9, whole=True)
    assert server.sent == ["KILL CONNECTION 9"]


async def test_nobody_who_waits_costs_two_questions(server: Server, sampler: ActivitySampler) -> None:
    server.answers["trx_state = 'LOCK WAIT'"] = []
    activity = await sampler.look(set())
    assert activity is not None
    assert (activity.waits, activity.blockers, activity.blocked) == ((), (), 0)
    assert server.count("INNODB_LOCK_WAITS") == 0
    assert len(server.sent) == 7
    before = len(server.sent)
    await sampler.look(set())
    assert len(server.sent) - before == 5


async def test_a_statement_is_read_in_full_with_its_plan_only_if_asked(server: Server) -> None:
    sampler = ActivitySampler(Target(), FakeClock(), Flavour.MYSQL, log_in=server.log_in)
    long = "SELECT a FROM t WHERE b IN (SELECT c FROM u) AND name = 'secret' AND d = " + "e + " * 300 + "1"
    plan = [{"id": 1, "table": "t", "type": "ALL", "key": None, "rows": 9, "Extra": "Using where"}]
    server.answers |= {"WHERE ID = 9": [(long, "shop")], "EXPLAIN": []}
    server.named = plan
    activity = await sampler.look(set())
    assert activity is not None
    assert activity.details == ()
    activity = await sampler.look(set(), {9})
    assert activity is not None
    (detail,) = activity.details
    assert len(detail.statement) > 1000
    assert "secret" not in detail.statement
    assert detail.plan == (
        ("id", "table", "type", "key", "rows", "Extra"),
        ("1", "t", "ALL", "", "9", "Using where"),
    )


async def test_mariadb_explains_what_waits_anew(server: Server, sampler: ActivitySampler) -> None:
    """SHOW EXPLAIN would wait for the lock, too."""
    server.answers |= {"WHERE ID = 9": [("UPDATE t SET a = 1", "shop")], **PLANNING}
    server.named = [{"id": 1, "table": "t", "rows": 3}]
    activity = await sampler.look(set(), {9})
    assert activity is not None
    assert activity.details[0].note == PLANNED_ANEW
    assert activity.details[0].plan == (("id", "table", "rows"), ("1", "t", "3"))
    assert server.count("SHOW EXPLAIN") == 0
    assert server.count("EXPLAIN UPDATE t SET a = 1") == 1


async def test_the_last_statement_of_an_idle_session_has_a_plan(
    server: Server, sampler: ActivitySampler
) -> None:
    server.answers |= {"ORDER BY COMMAND": [SHOP], "WHERE ID = 9": [(None, "shop")], **PLANNING}
    server.named = [{"id": 1, "table": "orders"}]
    activity = await sampler.look(set(), {9})
    assert activity is not None
    (detail,) = activity.details
    assert detail.statement == "UPDATE orders SET paid=?"
    assert detail.note == "it executes no statement now: this is its last one"
    assert server.count("EXPLAIN UPDATE orders SET paid=1") == 1


@pytest.mark.parametrize(
    ("grant", "only"),
    [
        ("GRANT SUPER, PROCESS ON *.* TO `a`@`%`", ""),
        ("GRANT PROCESS, CONNECTION ADMIN ON *.* TO `a`@`%`", ""),
        ("GRANT CONNECTION_ADMIN ON *.* TO `a`@`%`", ""),
        ("GRANT PROCESS ON *.* TO `a`@`%`", "shop"),
        ("GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`", "shop"),
    ],
)
async def test_whose_sessions_the_login_may_end(
    server: Server, sampler: ActivitySampler, grant: str, only: str
) -> None:
    server.answers["SHOW GRANTS"] = [(grant,)]
    activity = await sampler.look(set())
    assert activity is not None
    assert activity.ends_only == only
    await sampler.look(set())
    assert server.count("SHOW GRANTS") == 1


async def test_grants_that_are_not_shown_forbid_nothing(server: Server, sampler: ActivitySampler) -> None:
    server.answers["SHOW GRANTS"] = DeniedError(1044, "denied")
    activity = await sampler.look(set())
    assert activity is not None
    assert activity.ends_only == ""


async def test_a_refused_kill_keeps_its_code(server: Server, sampler: ActivitySampler) -> None:
    server.answers["KILL"] = SQLError(1094, "unknown")
    with pytest.raises(SQLError) as refused:
        await sampler.kill(9)
    assert refused.value.code == 1094
    await sampler.look(set())


async def test_a_kill_on_a_server_that_is_away(server: Server, sampler: ActivitySampler) -> None:
    server.refusal = ServerUnreachableError("nobody there")
    with pytest.raises(ServerUnavailableError, match="nobody there"):
        await sampler.kill(9)


async def test_closed_it_logs_in_again(server: Server, sampler: ActivitySampler) -> None:
    await sampler.look(set())
    await sampler.close()
    assert server.closed == 1
    assert await sampler.look(set()) is not None
    assert server.count("INNODB STATUS") == 2


# Pure parts


@given(st.sets(st.integers(1, 60)))
def test_ranges_hold_exactly_the_numbers(numbers: set[int]) -> None:
    runs = ranges(numbers)
    assert {number for low, high in runs for number in range(low, high + 1)} == numbers
    assert all(before[1] + 1 < after[0] for before, after in pairwise(runs))


@pytest.mark.parametrize("sql", [others_sql, count_sql, own_sql])
def test_without_ids_of_ours_the_questions_are_still_sql(sql: Callable[[str, set[int]], str]) -> None:
    assert "FALSE" in sql("information_schema.PROCESSLIST", set())


# Reading statements of a scripted server, of either flavour.


PLAIN = ("sbtest abc", "SELECT `c` FROM `t` WHERE `id` = ?", 7, 9_000_000, 1_000_000, 70)
EXECUTE = ("sbtest def", "EXECUTE SELECT ?", 3, 5_000_000, 0, 3)
OURS = ("sbtest fff", "SELECT ? FROM `performance_schema` . `x`", 1, 99, 0, 0)
NAMELESS = (" ", None, 5, 5, 5, 5)
INSTANCE = ("SELECT c FROM t WHERE id=? AND k=5", 2, 4_000_000, 0, 20)


class Scripted:
    """A server with a performance schema."""

    thread_id = 5
    statements = selects = 0

    def __init__(self, digests: Sequence[Row], *, is_on: bool = True, counts_cpu: bool = True) -> None:
        self._digests = digests
        self._is_on = is_on
        self._counts_cpu = counts_cpu
        self.asked: list[str] = []

    def quote(self, value: str) -> str:
        return f"'{value}'"

    async def query(self, sql: str) -> Sequence[Row]:
        self.asked.append(sql)
        if sql.startswith("SHOW"):
            return (("performance_schema", "ON" if self._is_on else "OFF"),)
        if "CPU_TIME" in sql and not self._counts_cpu:
            raise SQLError(1054, "Unknown column 'SUM_CPU_TIME'")
        cpu = (2_000_000,) if "CPU_TIME" in sql else (None,)
        if "summary_by_digest" in sql:
            return [(*row, *cpu) for row in self._digests]
        if "prepared_statements_instances" in sql:
            return [(*INSTANCE, *cpu), (*INSTANCE, *cpu)]
        return [("sbtest abc", 250_000_000, 6), ("sbtest abc", 900_000_000, 1)]

    async def close(self) -> None:
        return


def statements_sampler(server: Scripted, flavour: Flavour = Flavour.MYSQL) -> StatementSampler:
    async def log_in(target: Target) -> Connection:
        return server  # type: ignore[return-value]

    return StatementSampler(TARGET, FakeClock(), flavour, log_in=log_in)


async def test_digests_and_their_distributions() -> None:
    server = Scripted((PLAIN, EXECUTE, OURS, NAMELESS))
    reading = await statements_sampler(server).read()
    assert reading is not None
    assert set(reading.totals) == {"sbtest abc", "sbtest def"}
    plain = reading.totals["sbtest abc"]
    assert (plain.source, plain.calls, plain.rows_examined, plain.cpu_us) == (DIGEST, 7, 70, 2.0)
    assert {key: each.distribution for key, each in reading.totals.items()} == {
        "sbtest abc": {250: 6, 900: 1},
        "sbtest def": None,
    }
    assert reading.gaps == (EXECUTED_NOTE,)
    assert "SCHEMA_NAME = 'sbtest' AND DIGEST = 'abc'" in server.asked[-1]
    assert not any("prepared_statements_instances" in sql for sql in server.asked)


async def test_prepared_statements_of_one_text_are_added_up_where_digests_lack_them() -> None:
    reading = await statements_sampler(Scripted((PLAIN,))).read()
    assert reading is not None
    prepared = reading.totals[f"{PREPARED} SELECT c FROM t WHERE id=? AND k=?"]
    assert (prepared.calls, prepared.time_us, prepared.rows_examined) == (4, 8.0, 40)
    assert PREPARED_NOTE in reading.gaps


async def test_a_server_without_cpu_times() -> None:
    reading = await statements_sampler(Scripted((PLAIN,), counts_cpu=False)).read()
    assert reading is not None
    assert {each.cpu_us for each in reading.totals.values()} == {None}


async def test_mariadb_has_no_distributions() -> None:
    reading = await statements_sampler(Scripted((PLAIN,)), Flavour.MARIADB).read()
    assert reading is not None
    assert {each.distribution for each in reading.totals.values()} == {None}
    assert NO_HISTOGRAMS in reading.gaps


async def test_a_server_that_counts_nothing_says_so() -> None:
    server = Scripted((PLAIN,), is_on=False)
    reading = await statements_sampler(server).read()
    assert reading is not None
    assert (reading.totals, reading.gaps, len(server.asked)) == ({}, (OFF,), 1)


# Values leave a statement, its shape stays.


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT c FROM sbtest1 WHERE id=4711", "SELECT c FROM sbtest1 WHERE id=?"),
        ("UPDATE t SET v='it''s\nlong', w=\"a\\\"b\" WHERE id = 1", "UPDATE t SET v=?, w=? WHERE id = ?"),
        ("SELECT `a``1`, t2.c3 FROM db.t2", "SELECT `a``1`, t2.c3 FROM db.t2"),
        ("SELECT 1.5e-3, .5, 0xFF, x'41', N'ä', _utf8mb4'ö'", "SELECT ?, …"),
        ("SELECT * FROM t WHERE id IN (1,2 , 3)", "SELECT * FROM t WHERE id IN (?, …)"),
        ("INSERT INTO t VALUES (1,'a'),(2,'b'),(-3,'c')", "INSERT INTO t VALUES (?, …), …"),
        ("UPDATE t SET k=k+1, m=m-2 WHERE a>-5", "UPDATE t SET k=k+?, m=m-? WHERE a>-?"),
        ("/* app:shop */ SELECT 1 -- why\n FROM dual # so", "SELECT ? FROM dual"),
        ("SELECT 'never ends", "SELECT ?"),
        ("SELECT @a1, $b2 FROM t_3 LIMIT 10", "SELECT @a1, $b2 FROM t_3 LIMIT ?"),
        ("COMMIT", "COMMIT"),
        ("", ""),
    ],
)
def test_examples(statement: str, expected: str) -> None:
    assert normalize_sql(statement) == expected


def test_long_ones_are_cut() -> None:
    assert (
        normalize_sql("SELECT " + "a_column, " * 100) == ("SELECT " + "a_column, " * 100)[: LONGEST - 1] + "…"
    )


@given(st.text(max_size=60))
def test_no_text_value_is_ever_shown(secret: str) -> None:
    quoted = secret.replace("\\", "\\\\").replace("'", "''")
    assert (
        normalize_sql(f"SELECT a FROM t WHERE b = '{quoted}' AND c = 5")
        == "SELECT a FROM t WHERE b = ? AND c = ?"
    )


@given(st.text(max_size=80))
def test_any_text_makes_one_line(text: str) -> None:
    assert len(normalize_sql(text).splitlines()) <= 1


# The last deadlock in InnoDB's words: real ones of both servers.


UPDATE = "UPDATE locks SET v=? WHERE id=?"
OTHER = "UPDATE locks SET v=? WHERE id = ?"


@pytest.mark.parametrize(
    ("flavour", "at", "parties"),
    [
        ("mariadb", "2026-11-21 03:50:28", [(8, UPDATE, True), (9, OTHER, False)]),
        ("mysql", "2026-11-21 03:50:30", [(13, OTHER, False), (12, UPDATE, True)]),
    ],
)
def test_who_wanted_what_and_who_lost(flavour: str, at: str, parties: list[tuple[int, str, bool]]) -> None:
    deadlock = last_deadlock((DATA / f"innodb-deadlock-{flavour}.txt").read_text())
    assert deadlock is not None
    assert deadlock.at == at
    told = [(party.connection, party.statement, party.rolled_back) for party in deadlock.parties]
    assert told == parties
    assert all(party.tables == ("sbtest.locks",) for party in deadlock.parties)


@for_each("flavour", ["mariadb", "mysql"])
@for_each("length", range(0, 4000, 97))
def test_a_status_that_is_cut_off_breaks_nothing(flavour: str, length: int) -> None:
    """The server cuts its status at 64 KiB to 1 MiB, wherever that falls."""
    deadlock = last_deadlock((DATA / f"innodb-deadlock-{flavour}.txt").read_text()[:length])
    assert deadlock is None or len(deadlock.parties) <= 2


def test_no_deadlock_so_far() -> None:
    assert (
        last_deadlock("=====\nINNODB MONITOR OUTPUT\n=====\n------------\nTRANSACTIONS\n------------\n")
        is None
    )
