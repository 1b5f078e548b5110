"""Whole runs of an open loop, in make-believe time: stalls, too much work, pauses and outages."""

from itertools import pairwise

import pytest

from tests.unit.load.engine.virtual_runs import RATE, Run, for_ten_seconds, p_ms, ran
from tests.unit.load.programs import SINGLE, begin
from tuibench.load.worker_report import Counters
from tuibench.model.plan import Arrival, Backlog

# Coordinated omission


@pytest.mark.parametrize("arrival", Arrival)
def test_a_stall_of_a_second_shows_in_the_response_time_and_not_in_the_service_time(
    arrival: Arrival,
) -> None:
    run = ran(for_ten_seconds, begin(SINGLE, arrival=arrival), stall=(5, 6))
    assert run.transactions.count == run.service.count == run.last.completed == run.last.scheduled
    assert abs(run.last.scheduled - 1000) < 5 * 1000**0.5
    assert p_ms(run.transactions, 99) > 800
    assert p_ms(run.transactions, 50) < 5
    assert p_ms(run.service, 99) < 5
    assert p_ms(run.service, 100) >= 990


def test_a_closed_loop_hides_the_same_stall() -> None:
    run = ran(for_ten_seconds, rate=0, connections=1, stall=(5, 6))
    assert run.last.completed > 4000
    assert p_ms(run.transactions, 99) < 5
    assert run.service.count == 0


def test_without_a_stall_the_response_time_is_the_service_time() -> None:
    run = ran(for_ten_seconds)
    assert run.last.completed == run.last.scheduled
    assert abs(run.last.scheduled - 1000) <= 1
    assert run.transactions == run.service
    assert (p_ms(run.transactions, 0), p_ms(run.transactions, 100)) == (2.0, 2.0)


def test_the_work_of_a_stall_is_caught_up_with_and_no_more_is_started_than_was_due() -> None:
    run = ran(for_ten_seconds, stall=(5, 6))
    for span in (0.5, 1.0, 2.0):
        assert run.started_in(span, 6.0) <= (1 + span) * RATE + 1
    assert run.started_in(1.0, 8.0) == RATE
    assert run.last.abandoned == 0


def test_transactions_start_when_they_are_due() -> None:
    run = ran(for_ten_seconds)
    gaps = [after - before for before, after in pairwise(run.server.started)]
    assert min(gaps) == pytest.approx(0.01)
    assert max(gaps) == pytest.approx(0.01)


def test_all_connections_get_their_share() -> None:
    run = ran(for_ten_seconds, connections=4)
    shares = [len(run.server.heard_by(number)) for number in range(4)]
    assert max(shares) - min(shares) <= 2


# Too much work


def test_over_capacity_the_backlog_grows_and_nothing_breaks() -> None:
    seen: list[Counters] = []

    async def script(run: Run) -> None:
        for second in range(1, 11):
            await run.wait_until(second)
            seen.append(run.counters)

    run = ran(script, rate=500, connections=2, service_seconds=0.01)
    assert all(after.backlog > before.backlog for before, after in pairwise(seen))
    assert seen[-1].backlog == pytest.approx(10 * (500 - 200), rel=0.01)
    assert seen[-1].completed == pytest.approx(10 * 200, rel=0.01)
    assert run.report().failure == ""
    assert run.last.abandoned == seen[-1].backlog


def test_a_rate_taken_off_forgets_the_backlog_and_goes_on_as_a_closed_loop() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(5)
        backlog = run.counters.backlog
        run.engine.set_rate(0)
        counters = run.counters
        assert (counters.backlog, counters.abandoned) == (0, backlog)
        assert backlog > 1000
        done = counters.completed
        await run.wait_until(6)
        assert run.counters.completed - done == pytest.approx(200, abs=4)

    ran(script, rate=500, connections=2, service_seconds=0.01)


def test_a_rate_can_be_put_on_a_closed_loop_and_changed() -> None:
    async def script(run: Run) -> None:
        for second, rate in ((1, 50), (3, 200), (5, 0)):
            await run.wait_until(second)
            run.engine.set_rate(rate)
        await run.wait_until(6)

    run = ran(script, rate=0, connections=2)
    assert run.started_in(1, 0) == pytest.approx(1000, abs=4)
    assert run.started_in(1.9, 1.05) == pytest.approx(95, abs=2)
    assert run.started_in(1.9, 3.05) == pytest.approx(380, abs=3)
    assert run.started_in(0.9, 5.05) == pytest.approx(900, abs=4)


# Pauses and outages


@pytest.mark.parametrize("backlog", Backlog)
def test_after_a_pause_there_is_no_burst(backlog: Backlog) -> None:
    async def script(run: Run) -> None:
        await run.wait_until(2)
        run.engine.pause()
        await run.wait_until(7)
        run.engine.resume()
        await run.wait_until(10)

    run = ran(script, begin(SINGLE, arrival=Arrival.CONSTANT, backlog=backlog))
    assert run.started_in(4.9, 2.05) == 0
    assert run.started_in(1, 7.0) <= RATE + 1
    assert run.last.scheduled == pytest.approx(5 * RATE, abs=3)
    assert p_ms(run.transactions, 100) == 2.0


@pytest.mark.parametrize(("backlog", "dropped"), [(Backlog.KEEP, False), (Backlog.DROP, True)])
def test_a_backlog_from_before_a_pause_is_kept_or_dropped_at_its_end(backlog: Backlog, dropped: bool) -> None:
    async def script(run: Run) -> None:
        await run.wait_until(3)
        run.engine.pause()
        await run.wait_until(4)
        waiting, abandoned = run.counters.backlog, run.counters.abandoned
        assert waiting > 100
        run.engine.resume()
        at_once = 1  # evenly spaced arrivals begin with one
        assert run.counters.backlog == at_once + (0 if dropped else waiting)
        assert run.counters.abandoned - abandoned == (waiting if dropped else 0)

    ran(
        script,
        begin(SINGLE, arrival=Arrival.CONSTANT, backlog=backlog),
        rate=200,
        connections=1,
        service_seconds=0.01,
    )


def test_after_an_outage_what_came_due_is_worked_off() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(3.99)
        counters = run.counters
        assert counters.backlog == pytest.approx(2 * RATE - 8, abs=3)
        assert run.report().connections == 0
        assert run.report().last_refusal.startswith("cannot reach a server")
        await run.wait_until(10)

    run = ran(script, outage=(2, 4))
    assert (run.last.reconnects, run.last.abandoned) == (8, 0)
    assert (run.last.failed, run.last.errors[2013]) == (8, 8)
    assert run.last.completed == run.last.scheduled - 8
    assert p_ms(run.transactions, 100) > 1800
    assert run.started_in(2, 4.0) <= 4 * RATE + 1


def test_after_an_outage_what_came_due_is_dropped_if_asked() -> None:
    run = ran(for_ten_seconds, begin(SINGLE, arrival=Arrival.CONSTANT, backlog=Backlog.DROP), outage=(2, 4))
    assert run.last.abandoned == pytest.approx(2 * RATE, rel=0.5)
    assert run.last.abandoned >= 2 * RATE - 8 - 3
    assert run.last.completed == run.last.scheduled - run.last.failed - run.last.abandoned
    assert p_ms(run.transactions, 100) < 50


def test_what_comes_due_before_the_first_connection_is_there_is_not_dropped() -> None:
    """A worker that is added to a running load gets its part of the rate while it still logs in."""
    run = ran(for_ten_seconds, begin(SINGLE, arrival=Arrival.CONSTANT, backlog=Backlog.DROP), outage=(0, 2))
    assert run.last.abandoned == 0
    assert run.last.completed == run.last.scheduled >= 10 * RATE - 1
