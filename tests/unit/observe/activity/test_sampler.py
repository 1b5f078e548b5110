"""Who is on a scripted server: what is asked, what is bounded, what may not be seen, what is killed."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock
from tuibench.errors import (
    DeniedError,
    ServerUnavailableError,
    ServerUnreachableError,
    SQLError,
    TuibenchError,
)
from tuibench.model.measurements.activity import LockWait, OwnSessions
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql.connection import Connection, Row
from tuibench.observe.activity.locks import lock_waits, waits_sql
from tuibench.observe.activity.sampler import DEADLOCK_EVERY_SAMPLES, ActivitySampler
from tuibench.observe.activity.sessions import (
    MOST_SESSIONS,
    MOST_TRANSACTIONS,
    count_sql,
    others_sql,
    own_sql,
    ranges,
)

OWN_ID = 70
SHOP = (9, "shop", "web:1", "shop", "Query", "updating", 3, "UPDATE orders SET paid=1")
OWN = ("Execute", "updating", 8, 2)
WAIT = (9, 21, "`sbtest`.`sbtest1`", 4, "UPDATE sbtest1 SET k=k+1 WHERE id=5", None)
OPEN = (9, 75, 12, 4)


class Server:
    """Answers by a word of the statement; an answer may be an error."""

    def __init__(self) -> None:
        self.answers: dict[str, Sequence[Row] | SQLError] = {
            "COUNT(*) FROM information_schema.INNODB_TRX": [(1234,)],
            "COUNT(*) FROM": [(1,)],
            "GROUP BY": [OWN],
            "ORDER BY COMMAND": [SHOP],
            "trx_started": [OPEN, (21, 2, 40, 3)],
            "TIMESTAMPDIFF": [WAIT],
            "INNODB STATUS": [("InnoDB", "", "nothing")],
            "KILL": [],
        }
        self.sent: list[str] = []
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
    assert [msgspec.structs.astuple(each) for each in activity.transactions] == [
        (9, 75, 12, 4, False),
        (21, 2, 40, 3, True),
    ]
    assert activity.open_transactions == 2
    assert (activity.others, activity.deadlock, activity.gaps) == (1, None, ())
    assert "NOT (ID BETWEEN 21 AND 23 OR ID BETWEEN 70 AND 70)" in "".join(server.sent)
    assert sampler.statements == len(server.sent) == 5


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
    for word in ("trx_started", "TIMESTAMPDIFF", "INNODB STATUS"):
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


def test_each_lock_pair_is_listed_once_and_the_longest_wait_first() -> None:
    rows = [(1, 2, None, 3, "a", "b"), (1, 2, None, 3, "a", "b"), (5, 2, "t", 9, "c", None)]
    assert [(wait.waiting, wait.seconds) for wait in lock_waits(rows, set())] == [(5, 9), (1, 3)]


def test_each_flavour_is_asked_in_its_words() -> None:
    assert "performance_schema.data_lock_waits" in waits_sql(Flavour.MYSQL)
    assert "INNODB_LOCK_WAITS" in waits_sql(Flavour.MARIADB)
