"""Logins and errors under load."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock, FakeServer
from tests.unit.load.driving import driving, turns, until
from tests.unit.load.programs import (
    ASKING,
    AWAY,
    BEGIN,
    DEADLOCK,
    DENIED,
    DUPLICATE,
    EXPLICIT,
    EXPLICIT_SQL,
    LOCK_WAIT,
    LOST,
    ROLLBACK,
    SINGLE,
    TOO_MANY,
    UPDATE,
    begin,
)
from tuibench.base.errors import (
    ConnectionLostError,
    DeniedError,
    ExitCode,
    ProtocolError,
    ServerUnavailableError,
    SQLError,
    TuibenchError,
)
from tuibench.load.asyncio_engine import RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS
from tuibench.load.connections import backoff_seconds
from tuibench.model.plan import OnError
from tuibench.mysql.errors import AccessDeniedError
from tuibench.workload.program import Transaction

# One connection of the load and its server: refused, lost, back again, and set up at each login.


# Connections


async def test_too_many_connections_end_a_new_one_and_are_counted() -> None:
    async with driving(FakeServer(logins=[None, TOO_MANY]), begin(SINGLE), connections=2) as drive:
        await drive.until_ended(5)
        report = drive.report()
        assert (report.connections, report.failure.message) == (1, "")
        assert report.counters.refused == {1040: 1}
        assert report.fairness.n == 1


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
        assert drive.report().failure.message == ""
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
        await until(lambda: bool(drive.report().failure.message))
        assert drive.report().failure.message == unknown.full_message
        assert drive.server.open_connections == 0


ISOLATION = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"


# What the workload's connections have


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
        assert drive.report().failure.message == ""


# Logins that are refused after the load has begun


REFUSED: list[TuibenchError | None] = [
    AccessDeniedError("the server refuses user 'ann'", "", 1045),
    ServerUnavailableError("the account is locked", "", 3118),
    DeniedError(1044, "access denied to the database"),
]
CODES = {1045: 1, 3118: 1, 1044: 1}


async def test_a_login_refused_on_the_way_is_tried_again_where_errors_are_outlived() -> None:
    clock = FakeClock()
    server = FakeServer([1, LOST], logins=[None, *REFUSED, None])
    async with driving(server, begin(SINGLE, on_error=OnError.CONTINUE), clock=clock) as drive:
        await drive.until_ended(3)
        counters = drive.counters
        assert (counters.errors, counters.reconnects) == ({2013: 1, **CODES}, 1)
        assert drive.report().failure.message == ""
        assert len(clock.slept) == len(REFUSED)
        assert clock.slept[0] < clock.slept[2]


@pytest.mark.parametrize("refusal", REFUSED, ids=str)
async def test_a_login_refused_on_the_way_ends_a_run_that_stops_at_errors(refusal: TuibenchError) -> None:
    async with driving(FakeServer([1, LOST], logins=[None, refusal]), begin(SINGLE)) as drive:
        await until(lambda: drive.report().failure.message == refusal.full_message)


@pytest.mark.parametrize("refusal", REFUSED, ids=str)
async def test_the_first_login_refused_ends_any_run(refusal: TuibenchError) -> None:
    rules = begin(SINGLE, on_error=OnError.CONTINUE)
    async with driving(FakeServer(logins=[refusal]), rules) as drive:
        await until(lambda: drive.report().failure.message == refusal.full_message)


async def test_the_first_login_of_a_later_worker_is_tried_again_where_errors_are_outlived() -> None:
    """The place of a worker that was killed, or one more: the server knows the load already."""
    clock = FakeClock()
    server = FakeServer(logins=[*REFUSED, None])
    rules = begin(SINGLE, on_error=OnError.CONTINUE, has_begun=True)
    async with driving(server, rules, clock=clock) as drive:
        await drive.until_ended(3)
        assert (drive.counters.errors, drive.report().failure.message) == (CODES, "")
        assert clock.slept[0] < clock.slept[2]


@pytest.mark.parametrize("refusal", REFUSED, ids=str)
async def test_the_first_login_of_a_later_worker_ends_a_run_that_stops_at_errors(
    refusal: TuibenchError,
) -> None:
    async with driving(FakeServer(logins=[refusal]), begin(SINGLE, has_begun=True)) as drive:
        await until(lambda: drive.report().failure.message == refusal.full_message)


async def test_a_worker_in_the_place_of_another_waits_for_the_slots_of_its_connections() -> None:
    server = FakeServer(logins=[TOO_MANY, TOO_MANY, None])
    async with driving(server, begin(SINGLE, has_begun=True, is_replacement=True)) as drive:
        await drive.until_ended(3)
        assert (drive.report().connections, drive.counters.refused) == (1, {})


# A server that breaks the protocol


async def test_a_broken_protocol_ends_a_run_that_stops_at_errors() -> None:
    broken = ProtocolError("a packet is too short", "db:3306")
    async with driving(FakeServer([1, broken]), begin(SINGLE)) as drive:
        await until(lambda: drive.report().failure.message == broken.message)
        assert drive.report().failure.exit_code == 3
        assert drive.counters.errors == {2014: 1}


async def test_a_broken_protocol_is_outlived_with_growing_waits() -> None:
    clock = FakeClock()
    server = FakeServer([1, *[ProtocolError("nonsense")] * 4])
    async with driving(server, begin(SINGLE, on_error=OnError.CONTINUE), clock=clock) as drive:
        await drive.until_ended(7)
        counters = drive.counters
        assert (counters.errors, counters.reconnects) == ({2014: 4}, 4)
        assert clock.slept[0] < clock.slept[3]


async def test_a_lost_connection_is_no_broken_protocol() -> None:
    async with driving(FakeServer([1, ConnectionLostError(2013, "lost")]), begin(SINGLE)) as drive:
        await drive.until_ended(3)
        assert drive.report().failure.message == ""


# What one connection of the load does after an error: it tries again, goes on, or ends the run.


# Back-off


@given(st.integers(0, 60), st.floats(1e-4, 1), st.floats(1, 10), st.floats(0, 1, exclude_max=True))
def test_back_off_doubles_between_half_and_all_of_its_step_up_to_the_longest(
    attempt: int, first: float, longest: float, chance: float
) -> None:
    step = min(longest, first * 2**attempt)
    assert step / 2 <= backoff_seconds(attempt, first, longest, chance) <= step


def test_back_off_of_a_very_long_wait_is_still_the_longest() -> None:
    assert backoff_seconds(10_000, RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS, 0) == RETRY_MAX_SECONDS / 2


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
        assert RETRY_MAX_SECONDS / 2 <= waits[-1] <= RETRY_MAX_SECONDS


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
        assert (report.failure.message, report.counters.failed, report.counters.retries) == ("", 0, 2)
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
        assert (report.failure.message, report.connections) == ("", 1)
        assert (report.counters.failed, report.counters.retries) == (1, 0)
        assert report.counters.errors == {1062: 1}
        assert report.counters.completed >= 3
        assert server.heard_by(0).count(ROLLBACK) == rollbacks


async def test_an_error_that_is_not_ignored_is_rolled_back_and_ends_everything() -> None:
    async with driving(FakeServer([1, DUPLICATE]), begin(EXPLICIT), connections=3) as drive:
        await until(lambda: bool(drive.report().failure.message) and not drive.report().connections)
        report = drive.report()
        assert (report.failure.message, report.failure.exit_code) == (
            DUPLICATE.full_message,
            ExitCode.RUN_FAILED,
        )
        assert report.counters.errors == {1062: 1}
        assert report.counters.failed == 1
        assert sum(sql == ROLLBACK for _, sql in drive.server.heard) == 1


async def test_a_refused_login_ends_the_run_with_its_hint_and_exit_code() -> None:
    async with driving(FakeServer(logins=[DENIED]), begin(SINGLE)) as drive:
        await until(lambda: bool(drive.report().failure.message))
        report = drive.report()
        assert (report.failure.message, report.failure.hint) == (DENIED.message, DENIED.hint)
        assert report.failure.exit_code == ExitCode.SERVER_UNAVAILABLE


async def test_a_statement_that_may_not_be_prepared_ends_the_run() -> None:
    denied = DeniedError(1142, "UPDATE command denied to user 'ann' for table 't'")
    async with driving(FakeServer(prepares=[denied]), begin(SINGLE)) as drive:
        await until(lambda: bool(drive.report().failure.message))
        assert drive.server.open_connections == 0
        assert drive.report().failure.message == denied.full_message


async def test_a_statement_that_was_prepared_before_is_not_sent_as_text() -> None:
    """Its table is missing for now: the second connection does not go on in another way."""
    missing = SQLError(1146, "table 't' does not exist")
    async with driving(FakeServer(prepares=[None, missing]), begin(SINGLE), connections=2) as drive:
        await until(lambda: bool(drive.report().failure.message))
        assert drive.report().failure.message == missing.full_message
        assert drive.counters.refused == {}


async def test_a_mistake_of_ours_ends_the_run_with_a_reason_and_keeps_the_books() -> None:
    async with driving(FakeServer([1, ZeroDivisionError("oh")]), begin(SINGLE)) as drive:
        await until(lambda: bool(drive.report().failure.message))
        report = drive.report()
        assert "ZeroDivisionError: oh" in report.failure.message
        assert (report.counters.scheduled, report.counters.completed, report.counters.failed) == (2, 1, 1)


INTERRUPTED = SQLError(1317, "query execution was interrupted")


# Queries that the operator ends


async def test_a_query_that_the_operator_ended_is_tried_again_whatever_the_rules_say() -> None:
    server = FakeServer([1, 1])
    async with driving(server, begin(EXPLICIT, ignored_errors=(), limit=3)) as drive:
        await until(lambda: bool(server.heard))
        drive.engine.expect_kill(server.connections[0].thread_id)
        server.results.append(INTERRUPTED)
        await until(drive.engine.finished.is_set)
        report = drive.report()
    assert (report.failure.message, report.counters.completed, report.counters.retries) == ("", 3, 1)
    assert report.counters.errors == {1317: 1}


async def test_the_query_of_another_connection_is_not_spared() -> None:
    server = FakeServer([1, 1])
    async with driving(server, begin(EXPLICIT, ignored_errors=(), limit=3)) as drive:
        await until(lambda: bool(server.heard))
        drive.engine.expect_kill(server.connections[0].thread_id + 1)
        server.results.append(INTERRUPTED)
        await until(lambda: bool(drive.report().failure.message))


async def test_only_one_query_is_spared() -> None:
    server = FakeServer([1, 1])
    async with driving(server, begin(SINGLE, ignored_errors=(), limit=9)) as drive:
        await until(lambda: bool(server.heard))
        drive.engine.expect_kill(server.connections[0].thread_id)
        server.results.extend([INTERRUPTED, INTERRUPTED])
        await until(lambda: bool(drive.report().failure.message))
        assert drive.counters.errors == {1317: 2}
