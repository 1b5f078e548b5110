"""One connection of the load: what it sends after each kind of mishap, and how that is counted."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import SILENCE, FakeClock, FakeServer, Result
from tests.unit.load.driving import driving, turns, until
from tests.unit.load.programs import ASKING, BEGIN, EXPLICIT, EXPLICIT_SQL, SINGLE, UPDATE, begin
from tuibench.errors import (
    ConnectionLostError,
    ExitCode,
    ServerAwayError,
    ServerUnavailableError,
    SQLError,
)
from tuibench.load.login import back_off
from tuibench.load.transactions import RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS
from tuibench.load.wire import Begin
from tuibench.model.plan import OnError
from tuibench.workload.program import Transaction, Turns

ROLLBACK = "ROLLBACK"
DEADLOCK = SQLError(1213, "deadlock")
LOCK_WAIT = SQLError(1205, "lock wait timeout")
DUPLICATE = SQLError(1062, "duplicate entry")
LOST = ConnectionLostError(2013, "connection lost")
TOO_MANY = SQLError(1040, "too many connections")
AWAY = ServerAwayError("cannot reach a server at db:3306", "is it running?")
DENIED = ServerUnavailableError("the server refuses user 'ann'", "give --user")


# Back-off


@given(st.integers(0, 60), st.floats(1e-4, 1), st.floats(1, 10), st.floats(0, 1, exclude_max=True))
def test_back_off_doubles_between_half_and_all_of_its_step_up_to_the_longest(
    attempt: int, first: float, longest: float, chance: float
) -> None:
    step = min(longest, first * 2**attempt)
    assert step / 2 <= back_off(attempt, first, longest, chance) <= step


def test_back_off_of_a_very_long_wait_is_still_the_longest() -> None:
    assert back_off(10_000, RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS, 0) == RETRY_LONGEST_SECONDS / 2


# Retries


@pytest.mark.parametrize("error", [DEADLOCK, LOCK_WAIT])
@pytest.mark.parametrize("transaction", [EXPLICIT, ASKING], ids=["explicit", "asking"])
async def test_an_explicit_transaction_is_rolled_back_before_it_is_tried_again(
    error: SQLError, transaction: Transaction
) -> None:
    async with driving(FakeServer([1, 1, error]), begin(transaction)) as drive:
        await drive.until_ended(1)
        assert drive.server.heard_by(0)[:9] == [*EXPLICIT_SQL[:3], ROLLBACK, *EXPLICIT_SQL]
        counters = drive.counters
        assert (counters.completed, counters.failed, counters.retries) == (1, 0, 1)
        assert (counters.errors, counters.commits) == ({error.code: 1}, 1)
        assert (counters.retried, counters.rolled_back) == ({transaction.name: 1}, {})


async def test_a_single_statement_is_tried_again_without_a_rollback() -> None:
    async with driving(FakeServer([DEADLOCK, LOCK_WAIT]), begin(SINGLE)) as drive:
        await drive.until_ended(1)
        assert set(drive.server.heard_by(0)) == {UPDATE.sql[0]}
        counters = drive.counters
        assert (counters.retries, counters.commits) == (2, 0)
        assert counters.errors == {1213: 1, 1205: 1}


async def test_retries_that_are_used_up_make_one_failed_transaction_rolled_back() -> None:
    server = FakeServer([DEADLOCK, DEADLOCK, DEADLOCK])
    async with driving(server, begin(EXPLICIT, max_retries=2)) as drive:
        await drive.until_ended(1)
        assert server.heard_by(0)[:6] == [BEGIN.sql[0], ROLLBACK] * 3
        counters = drive.counters
        assert (counters.failed, counters.retries, counters.errors) == (1, 2, {1213: 3})
        await drive.until_ended(2)
        assert drive.counters.completed >= 1


async def test_each_retry_waits_longer_and_never_beyond_the_longest() -> None:
    clock = FakeClock()
    async with driving(FakeServer([DEADLOCK] * 12), begin(SINGLE, max_retries=12), clock=clock) as drive:
        await drive.until_ended(1)
        waits = clock.slept[:12]
        assert len(waits) == 12
        assert waits[0] < 2 * RETRY_FIRST_SECONDS
        assert RETRY_LONGEST_SECONDS / 2 <= waits[-1] <= RETRY_LONGEST_SECONDS


async def test_no_retries_at_all_make_a_deadlock_a_failure() -> None:
    async with driving(FakeServer([DEADLOCK]), begin(EXPLICIT, max_retries=0)) as drive:
        await drive.until_ended(2)
        counters = drive.counters
        assert (counters.failed, counters.retries, counters.errors) == (1, 0, {1213: 1})
        assert drive.server.heard_by(0)[:3] == [BEGIN.sql[0], ROLLBACK, BEGIN.sql[0]]
        assert drive.clock.slept == []


async def test_with_all_errors_ignored_any_of_them_is_tried_again() -> None:
    server = FakeServer([1, DUPLICATE, 1, 1, LOCK_WAIT])
    async with driving(server, begin(EXPLICIT, ignored_errors=None)) as drive:
        await drive.until_ended(1)
        report = drive.report()
        assert (report.failure, report.counters.failed, report.counters.retries) == ("", 0, 2)
        assert report.counters.errors == {1062: 1, 1205: 1}


async def test_all_errors_ignored_still_ends_after_the_last_retry() -> None:
    server = FakeServer([DUPLICATE] * 3)
    async with driving(server, begin(SINGLE, ignored_errors=None, max_retries=2)) as drive:
        await drive.until_ended(2)
        counters = drive.counters
        assert (counters.failed, counters.retries, counters.errors) == (1, 2, {1062: 3})


# What ends a run, and what does not


@pytest.mark.parametrize(("transaction", "rollbacks"), [(EXPLICIT, 1), (SINGLE, 0)])
async def test_an_error_to_continue_after_fails_its_transaction_and_no_other(
    transaction: Transaction, rollbacks: int
) -> None:
    server = FakeServer([DUPLICATE])
    async with driving(server, begin(transaction, on_error=OnError.CONTINUE)) as drive:
        await drive.until_ended(4)
        report = drive.report()
        assert (report.failure, report.connections) == ("", 1)
        assert (report.counters.failed, report.counters.retries) == (1, 0)
        assert report.counters.errors == {1062: 1}
        assert report.counters.completed >= 3
        assert server.heard_by(0).count(ROLLBACK) == rollbacks


async def test_an_error_that_is_not_ignored_is_rolled_back_and_ends_everything() -> None:
    async with driving(FakeServer([1, DUPLICATE]), begin(EXPLICIT), connections=3) as drive:
        await until(lambda: bool(drive.report().failure) and not drive.report().connections)
        report = drive.report()
        assert (report.failure, report.failure_exit) == ("duplicate entry", ExitCode.RUN_FAILED)
        assert report.counters.errors == {1062: 1}
        assert report.counters.failed == 1
        assert sum(sql == ROLLBACK for _, sql in drive.server.heard) == 1


async def test_a_refused_login_ends_the_run_with_its_hint_and_exit_code() -> None:
    async with driving(FakeServer(logins=[DENIED]), begin(SINGLE)) as drive:
        await until(lambda: bool(drive.report().failure))
        report = drive.report()
        assert (report.failure, report.failure_hint) == (DENIED.message, DENIED.hint)
        assert report.failure_exit == ExitCode.SERVER_UNAVAILABLE


async def test_a_statement_that_cannot_be_prepared_ends_the_run() -> None:
    missing = SQLError(1146, "table 't' does not exist")
    async with driving(FakeServer(prepares=[missing]), begin(SINGLE)) as drive:
        await until(lambda: bool(drive.report().failure))
        assert drive.server.open_connections == 0
        assert drive.report().failure == missing.message


async def test_a_mistake_of_ours_ends_the_run_with_a_reason_and_keeps_the_books() -> None:
    async with driving(FakeServer([1, ZeroDivisionError("oh")]), begin(SINGLE)) as drive:
        await until(lambda: bool(drive.report().failure))
        report = drive.report()
        assert "ZeroDivisionError: oh" in report.failure
        assert (report.counters.scheduled, report.counters.completed, report.counters.failed) == (2, 1, 1)


# Connections


async def test_too_many_connections_end_a_new_one_and_are_counted() -> None:
    async with driving(FakeServer(logins=[None, TOO_MANY]), begin(SINGLE), connections=2) as drive:
        await drive.until_ended(5)
        report = drive.report()
        assert (report.connections, report.failure) == (1, "")
        assert report.counters.refused == {1040: 1}
        assert report.events_per_connection.n == 1


async def test_too_many_connections_while_coming_back_are_waited_out() -> None:
    server = FakeServer([1, LOST], logins=[None, TOO_MANY, TOO_MANY, None])
    async with driving(server, begin(SINGLE)) as drive:
        await drive.until_ended(3)
        report = drive.report()
        assert (report.connections, report.counters.refused) == (1, {})
        assert (report.counters.reconnects, report.counters.completed >= 2) == (1, True)


async def test_one_that_was_refused_waits_for_the_place_of_those_who_leave() -> None:
    server = FakeServer(logins=[TOO_MANY, TOO_MANY, None, None, TOO_MANY, TOO_MANY, TOO_MANY, None, None])
    async with driving(server, begin(SINGLE), connections=4) as drive:
        await until(lambda: drive.counters.refused == {1040: 2} and drive.report().connections == 2)
        drive.engine.set_connections((0, 1))
        await until(lambda: server.open_connections == 2 and len(server.connections) == 4)
        assert drive.report().connections == 2
        assert drive.counters.refused == {1040: 2}
        drive.engine.set_connections((0, 1, 2))
        await until(lambda: drive.report().connections == 3)


async def test_a_lost_connection_fails_its_transaction_and_comes_back() -> None:
    async with driving(FakeServer([1, 1, LOST]), begin(EXPLICIT)) as drive:
        await drive.until_ended(2)
        counters = drive.counters
        assert (counters.failed, counters.completed, counters.retries) == (1, 1, 0)
        assert (counters.reconnects, counters.errors) == (1, {2013: 1})
        assert ROLLBACK not in drive.server.heard_by(0) + drive.server.heard_by(1)
        assert drive.server.heard_by(1)[:5] == EXPLICIT_SQL


async def test_a_connection_lost_in_a_rollback_counts_both_errors() -> None:
    async with driving(FakeServer([DEADLOCK], rollbacks=[LOST]), begin(EXPLICIT)) as drive:
        await drive.until_ended(2)
        assert drive.counters.errors == {1213: 1, 2013: 1}
        assert drive.counters.failed == 1


async def test_a_server_that_is_away_is_tried_again_with_growing_waits() -> None:
    clock = FakeClock()
    server = FakeServer([1, LOST], logins=[None, *[AWAY] * 4, None])
    async with driving(server, begin(SINGLE), clock=clock) as drive:
        await drive.until_ended(3)
        counters = drive.counters
        assert (counters.errors, counters.reconnects) == ({2013: 1, 2003: 4}, 1)
        assert len(clock.slept) == 4
        assert clock.slept[0] < 0.05 < clock.slept[3]


async def test_prepared_statements_beyond_the_limit_are_sent_as_text() -> None:
    limit = SQLError(1461, "max_prepared_stmt_count")
    async with driving(FakeServer(prepares=[limit]), begin(SINGLE)) as drive:
        await drive.until_ended(1)
        assert drive.server.heard_by(0)[0].startswith("UPDATE t SET k=k+1 WHERE id=")
        assert "?" not in drive.server.heard_by(0)[0]
        assert drive.counters.refused == {1461: 1}


async def test_without_preparing_every_statement_is_sent_as_text() -> None:
    never = SQLError(1295, "nothing may be prepared here")
    async with driving(FakeServer(prepares=[never]), begin(EXPLICIT, prepared=False)) as drive:
        await drive.until_ended(1)
        heard = drive.server.heard_by(0)[:5]
        assert [sql.partition("=")[0] for sql in heard] == [sql.partition("=")[0] for sql in EXPLICIT_SQL]
        assert not any("?" in sql for sql in heard)
        assert drive.report().failure == ""
        assert drive.counters.refused == {}


async def test_the_session_is_set_up_at_each_login_before_its_work() -> None:
    setup = ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET @a = 1")
    async with driving(FakeServer([1, 1, 1, LOST]), begin(SINGLE, session_sql=setup)) as drive:
        await drive.until_ended(3)
        for connection in (0, 1):
            assert drive.server.heard_by(connection)[:3] == [*setup, UPDATE.sql[0]]
        await drive.engine.stop(1)
        counters = drive.counters
        assert counters.questions == drive.server.questions
        assert counters.queries == len(drive.server.returned) - 2 * len(setup)


async def test_a_session_that_cannot_be_set_up_ends_the_run() -> None:
    unknown = SQLError(1193, "unknown system variable")
    async with driving(FakeServer([unknown]), begin(SINGLE, session_sql=("SET x = 1",))) as drive:
        await until(lambda: bool(drive.report().failure))
        assert drive.report().failure == unknown.message
        assert drive.server.open_connections == 0


# Counting


@pytest.mark.parametrize(("affected", "figures"), [(1, (2, 1, 2)), (0, (2, 0, 3))])
async def test_a_write_without_an_effect_counts_as_other(
    affected: int, figures: tuple[int, int, int]
) -> None:
    stop: list[Result] = [1, 1, 1, affected, 1, SILENCE]
    async with driving(FakeServer(stop), begin(EXPLICIT)) as drive:
        await drive.until_ended(1)
        counters = drive.counters
        assert (counters.reads, counters.writes, counters.others) == figures
        assert counters.queries == 5


async def test_a_statement_cut_off_at_the_end_was_a_question_and_its_transaction_is_abandoned() -> None:
    async with driving(FakeServer([1, SILENCE]), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 2)
        assert drive.counters.in_flight == 1
        await drive.engine.stop(0)
        counters = drive.counters
        assert (counters.abandoned, counters.in_flight, counters.queries) == (1, 0, 1)
        assert counters.questions == drive.server.questions == 2


async def test_a_rollback_cut_off_at_the_end_was_a_question_too() -> None:
    async with driving(FakeServer([DEADLOCK], rollbacks=[SILENCE]), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 2)
        await drive.engine.stop(0)
        assert drive.counters.questions == drive.server.questions == 2


async def test_a_departure_ends_the_transaction_in_flight_then_says_goodbye() -> None:
    async with driving(FakeServer(), begin(EXPLICIT)) as drive:
        await until(lambda: len(drive.server.heard) == 3)
        drive.engine.set_connections(range(0))
        await until(lambda: drive.server.open_connections == 0)
        counters = drive.counters
        assert drive.server.heard_by(0) == EXPLICIT_SQL
        assert (counters.completed, counters.abandoned) == (1, 0)
        assert counters.questions == drive.server.questions == len(EXPLICIT_SQL) + 1


async def test_nothing_starts_while_the_load_is_held() -> None:
    async with driving(FakeServer(), begin(EXPLICIT), connections=4) as drive:
        await drive.until_ended(4)
        drive.engine.pause()
        await until(lambda: drive.counters.in_flight == 0)
        held = drive.counters
        await turns(50)
        assert drive.counters == held
        drive.engine.resume()
        await drive.until_ended(held.completed + 4)


# What the workload's connections have


ISOLATION = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"


async def test_session_settings_come_between_transactions_and_to_new_connections_at_login() -> None:
    server = FakeServer()
    async with driving(server, begin(EXPLICIT)) as drive:
        await drive.until_ended(1)
        before = drive.counters.questions - drive.counters.queries
        drive.engine.set_session((ISOLATION,))
        await until(lambda: ISOLATION in server.heard_by(0))
        heard = server.heard_by(0)
        assert (heard.index(ISOLATION)) % len(EXPLICIT_SQL) == 0
        await until(lambda: drive.counters.questions - drive.counters.queries == before + 1)
        drive.engine.set_connections((0, 1))
        await until(lambda: bool(server.heard_by(1)))
        assert server.heard_by(1)[0] == ISOLATION
    assert server.heard_by(0).count(ISOLATION) == 1


async def test_a_paused_connection_takes_them_at_once() -> None:
    server = FakeServer()
    async with driving(server, begin(SINGLE)) as drive:
        await drive.until_ended(1)
        drive.engine.pause()
        await turns(20)
        drive.engine.set_session((ISOLATION,))
        await until(lambda: server.heard_by(0)[-1] == ISOLATION)


async def test_a_refused_session_setting_is_counted_and_the_work_goes_on() -> None:
    server = FakeServer()
    async with driving(server, begin(SINGLE)) as drive:
        await drive.until_ended(1)
        drive.engine.pause()
        await turns(20)
        server.results.append(SQLError(1227, "access denied"))
        drive.engine.set_session((ISOLATION,))
        await until(lambda: drive.counters.errors == {1227: 1})
        assert drive.counters.questions == server.questions
        done = drive.counters.completed
        drive.engine.resume()
        await drive.until_ended(done + 5)
        assert drive.report().failure == ""


# Turns


async def test_a_connection_with_turns_does_them_in_order_and_leaves() -> None:
    server = FakeServer()
    async with driving(server, in_turns(Turns(cycle=(0, 1), count=3, ending=(1,)), limit=8), 2) as drive:
        await until(drive.engine.finished.is_set)
    single, explicit = [UPDATE.sql[0]], EXPLICIT_SQL
    for connection in (0, 1):
        assert server.heard_by(connection) == [*single, *explicit, *single, *explicit]
    assert server.open_connections == 0


async def test_a_connection_with_turns_logs_in_anew_where_it_is_told_to() -> None:
    server = FakeServer()
    turns = Turns(cycle=(0, 0, 0), count=7, anew=frozenset({0, 2}))
    async with driving(server, in_turns(turns, limit=7)) as drive:
        await until(drive.engine.finished.is_set)
        counters = drive.counters
    assert [len(server.heard_by(number)) for number in range(len(server.connections))] == [2, 1, 2, 1, 1]
    assert counters.completed == 7
    assert not counters.failed


async def test_a_lost_connection_goes_on_with_its_turns() -> None:
    server = FakeServer([1, LOST])
    async with driving(server, in_turns(Turns(cycle=(0,), count=4), limit=4)) as drive:
        await until(drive.engine.finished.is_set)
        counters = drive.counters
    assert (counters.completed, counters.failed) == (3, 1)


def in_turns(turns: Turns, limit: int) -> Begin:
    """A worker whose connections do these turns of SINGLE and EXPLICIT."""
    message = begin(SINGLE, EXPLICIT, limit=limit)
    return msgspec.structs.replace(message, program=msgspec.structs.replace(message.program, turns=turns))


# Queries that the operator ends

INTERRUPTED = SQLError(1317, "query execution was interrupted")


async def test_a_query_that_the_operator_ended_is_tried_again_whatever_the_rules_say() -> None:
    server = FakeServer([1, 1])
    async with driving(server, begin(EXPLICIT, ignored_errors=(), limit=3)) as drive:
        await until(lambda: bool(server.heard))
        drive.engine.spare(server.connections[0].thread_id)
        server.results.append(INTERRUPTED)
        await until(drive.engine.finished.is_set)
        report = drive.report()
    assert (report.failure, report.counters.completed, report.counters.retries) == ("", 3, 1)
    assert report.counters.errors == {1317: 1}


async def test_the_query_of_another_connection_is_not_spared() -> None:
    server = FakeServer([1, 1])
    async with driving(server, begin(EXPLICIT, ignored_errors=(), limit=3)) as drive:
        await until(lambda: bool(server.heard))
        drive.engine.spare(server.connections[0].thread_id + 1)
        server.results.append(INTERRUPTED)
        await until(lambda: bool(drive.report().failure))


async def test_only_one_query_is_spared() -> None:
    server = FakeServer([1, 1])
    async with driving(server, begin(SINGLE, ignored_errors=(), limit=9)) as drive:
        await until(lambda: bool(server.heard))
        drive.engine.spare(server.connections[0].thread_id)
        server.results.extend([INTERRUPTED, INTERRUPTED])
        await until(lambda: bool(drive.report().failure))
        assert drive.counters.errors == {1317: 2}
