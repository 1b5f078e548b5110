"""Connections that rest between transactions: how long, what counts, and what wakes them."""

import asyncio

import msgspec
import pytest

from tests.unit.load.engine.virtual_runs import Run, ran
from tests.unit.load.programs import SINGLE, begin
from tuibench.workload.program.program import Transaction

KEYING, THINKING = 3.0, 2.0
RESTING = msgspec.structs.replace(SINGLE, keying_seconds=KEYING)
THINKING_TOO = msgspec.structs.replace(RESTING, think_seconds=THINKING)


async def for_a_minute(run: Run) -> None:
    await run.wait_until(60)


def rested(transaction: Transaction, connections: int = 1, limit: int | None = None) -> Run:
    return ran(for_a_minute, begin(transaction, limit=limit), connections=connections, rate=0.0)


def test_each_transaction_is_keyed_in_first() -> None:
    """Each takes 3 s of keying and 2 ms of work; only the work is latency."""
    run = rested(RESTING)
    assert run.server.started[:3] == pytest.approx([3.0, 6.002, 9.004])
    assert run.last.completed == 19
    assert run.transactions.max_us == 2_000
    assert run.engine.report().seconds_per_connection.mean == pytest.approx(19 * 0.002)


def test_thinking_is_drawn_for_each() -> None:
    run = rested(THINKING_TOO, connections=50)
    gaps = 50 * 60 / run.last.completed
    assert gaps == pytest.approx(KEYING + THINKING, rel=0.15)
    assert run.last.scheduled == run.last.completed


def test_an_open_loop_does_not_wait_for_people() -> None:
    run = ran(for_a_minute, begin(RESTING), connections=2, rate=10.0)
    assert run.last.completed == pytest.approx(600, abs=100)


def test_think_time_ends_when_all_work_is_done() -> None:
    """Five connections wait for their three seconds to pass; two may still start something."""

    async def until_finished(run: Run) -> None:
        await asyncio.wait_for(run.engine.finished.wait(), 60)
        assert run.clock.time() == pytest.approx(KEYING + 0.002)

    long = msgspec.structs.replace(THINKING_TOO, think_seconds=3000.0)
    run = ran(until_finished, begin(long, limit=5), connections=5, rate=0.0)
    assert run.last.completed == 5


def test_whoever_leaves_does_not_rest_first() -> None:
    async def leave(run: Run) -> None:
        await run.wait_until(1)
        await asyncio.wait_for(run.engine.stop(10), 0.5)

    assert ran(leave, begin(RESTING), connections=3, rate=0.0).last.scheduled == 0


def test_a_pause_of_the_load_outlasts_the_rest() -> None:
    async def pause(run: Run) -> None:
        await run.wait_until(1)
        run.engine.pause()
        await run.wait_until(10)
        assert run.counters.scheduled == 0
        run.engine.resume()
        await run.wait_until(10.1)
        assert run.counters.completed == 1

    ran(pause, begin(RESTING), connections=1, rate=0.0)


def test_being_woken_early_changes_nothing() -> None:
    async def wake(run: Run) -> None:
        for second in (0.5, 1.0, 2.5):
            await run.wait_until(second)
            run.engine.set_session(())
        await run.wait_until(7)
        assert run.server.started == pytest.approx([3.0, 6.002])

    ran(wake, begin(RESTING), connections=1, rate=0.0)
