"""What one connection of the load does after an error: it tries again, goes on, or ends the run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeClock, FakeServer
from tests.unit.load.engine.driving import driving, until
from tests.unit.load.engine.server_errors import DEADLOCK, DENIED, DUPLICATE, LOCK_WAIT, ROLLBACK
from tests.unit.load.programs import ASKING, BEGIN, EXPLICIT, EXPLICIT_SQL, SINGLE, UPDATE, begin
from tuibench.errors import ExitCode, SQLError
from tuibench.load.engine.asyncio.transactions import RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS
from tuibench.load.engine.prepared_connection import backoff_seconds
from tuibench.model.plan import OnError
from tuibench.workload.program.program import Transaction

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
    assert (report.failure, report.counters.completed, report.counters.retries) == ("", 3, 1)
    assert report.counters.errors == {1317: 1}


async def test_the_query_of_another_connection_is_not_spared() -> None:
    server = FakeServer([1, 1])
    async with driving(server, begin(EXPLICIT, ignored_errors=(), limit=3)) as drive:
        await until(lambda: bool(server.heard))
        drive.engine.expect_kill(server.connections[0].thread_id + 1)
        server.results.append(INTERRUPTED)
        await until(lambda: bool(drive.report().failure))


async def test_only_one_query_is_spared() -> None:
    server = FakeServer([1, 1])
    async with driving(server, begin(SINGLE, ignored_errors=(), limit=9)) as drive:
        await until(lambda: bool(server.heard))
        drive.engine.expect_kill(server.connections[0].thread_id)
        server.results.extend([INTERRUPTED, INTERRUPTED])
        await until(lambda: bool(drive.report().failure))
        assert drive.counters.errors == {1317: 2}
