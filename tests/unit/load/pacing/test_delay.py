"""A make-believe network in make-believe time: what each round trip takes, and who waits."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.load.engine.virtual_runs import Run, ran
from tests.unit.load.programs import ASKING, EXPLICIT, EXPLICIT_SQL, SINGLE, begin
from tests.virtual import VirtualClock, in_no_time
from tuibench.clock import NS_PER_MS
from tuibench.errors import ConnectionLostError, SQLError
from tuibench.load.pacing.delay import NetworkDelay
from tuibench.mysql.protocol.statement_protocol import TransactionLoop
from tuibench.workload.program.program import Transaction

ROUND_TRIPS = len(EXPLICIT_SQL)
SERVICE_MS = 2
US_PER_MS = 1000

Patience = Callable[[VirtualClock, NetworkDelay], Awaitable[None]]


def with_delay(scenario: Patience, milliseconds: float = 20) -> None:
    async def played(clock: VirtualClock) -> None:
        delay = NetworkDelay(clock, clock.timer)
        delay.ns = round(milliseconds * NS_PER_MS)
        await scenario(clock, delay)
        delay.close()

    in_no_time(played)


# One round trip


@given(st.floats(0.001, 10_000))
def test_waiting_takes_the_delay_and_nothing_else(milliseconds: float) -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        await delay.wait()
        assert 0 <= clock.now_ns() - delay.ns < 2

    with_delay(scenario, milliseconds)


def test_thousands_wait_at_a_time_and_each_is_woken_when_its_own_time_has_come() -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        async def arrive(number: int) -> int:
            await clock.sleep(number / 1_000_000)
            begun_ns = clock.now_ns()
            await delay.wait()
            return clock.now_ns() - begun_ns

        took = await asyncio.gather(*(arrive(number) for number in range(5000)))
        assert min(took) >= delay.ns
        assert max(took) < delay.ns + 0.01 * NS_PER_MS

    with_delay(scenario)


def test_a_shorter_delay_overtakes_those_that_wait_already() -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        first = asyncio.create_task(delay.wait())
        await asyncio.sleep(0)
        delay.ns = 5 * NS_PER_MS
        await delay.wait()
        assert (clock.now_ns() // NS_PER_MS, first.done()) == (5, False)
        await first
        assert clock.now_ns() // NS_PER_MS == 20

    with_delay(scenario)


def test_no_delay_does_not_even_let_others_have_a_turn() -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        other = asyncio.create_task(asyncio.sleep(0))
        await delay.wait()
        assert not other.done()
        await other

    with_delay(scenario, 0)


def test_a_cancelled_wait_does_not_delay_the_others() -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        cut_off, stays = (asyncio.create_task(delay.wait()) for _ in range(2))
        await asyncio.sleep(0)
        cut_off.cancel()
        await stays
        assert clock.now_ns() // NS_PER_MS == 20

    with_delay(scenario)


@pytest.mark.parametrize(
    ("result", "took_ms"),
    [(7, 20), (SQLError(1213, "deadlock"), 20), (ConnectionLostError(2013, "lost"), 0)],
)
def test_an_error_is_an_answer_too_but_a_lost_connection_is_not(
    result: int | Exception, took_ms: int
) -> None:
    async def scenario(clock: VirtualClock, delay: NetworkDelay) -> None:
        told: list[object] = []

        def script() -> TransactionLoop:
            try:
                told.append((yield from delay.answer(b"SELECT 1")))
            except SQLError as error:
                told.append(error)

        playing = script()
        assert next(playing) == b"SELECT 1"
        with contextlib.suppress(StopIteration):
            wish = playing.throw(result) if isinstance(result, Exception) else playing.send(result)
            assert callable(wish)
            playing.send(await wish())
        assert told == [result]
        assert clock.now_ns() // NS_PER_MS == took_ms

    with_delay(scenario)


# Whole runs


@pytest.mark.parametrize("transaction", [EXPLICIT, ASKING], ids=["explicit", "asking"])
@given(delay_us=st.integers(1, 200_000))
def test_the_latency_of_a_transaction_is_its_round_trips_times_server_and_network(
    transaction: Transaction, delay_us: int
) -> None:
    """Closed loop, one thread: BEGIN, two SELECTs, UPDATE and COMMIT each pay once."""

    async def script(run: Run) -> None:
        run.engine.set_delay(delay_us * 1000)
        await run.wait_until(5)

    run = ran(script, begin(transaction), connections=1, rate=0, service_seconds=SERVICE_MS / 1000)
    expected_us = ROUND_TRIPS * (delay_us + SERVICE_MS * US_PER_MS)
    assert run.transactions.count >= 1
    assert expected_us <= run.transactions.min_us <= run.transactions.max_us <= expected_us + ROUND_TRIPS
    for histogram in run.statements.values():
        assert histogram.min_us >= delay_us + SERVICE_MS * US_PER_MS


def test_a_delay_comes_changes_and_goes_while_the_load_runs() -> None:
    """Ten connections for a second each: without, with 8 ms, with 18 ms, and without again."""

    async def script(run: Run) -> None:
        done = []
        for second, delay_ms in enumerate((0, 8, 18, 0), 1):
            run.engine.set_delay(delay_ms * NS_PER_MS)
            await run.wait_until(second)
            done.append(run.counters.completed)
        phases = [after - before for before, after in zip([0, *done], done, strict=False)]
        assert phases == [pytest.approx(10 / (SERVICE_MS + ms) * 1000, rel=0.03) for ms in (0, 8, 18, 0)]

    ran(script, begin(SINGLE), connections=10, rate=0, service_seconds=SERVICE_MS / 1000)


def test_transactions_cancelled_in_the_delay_count_as_sent_and_abandoned() -> None:
    async def script(run: Run) -> None:
        run.engine.set_delay(1000 * NS_PER_MS)
        await run.wait_until(0.5)
        await run.engine.stop(0.1)

    run = ran(script, begin(EXPLICIT), connections=3, rate=0)
    assert (run.last.abandoned, run.last.completed) == (3, 0)
    assert run.last.questions == run.server.questions
