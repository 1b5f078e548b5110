"""The slowest transactions of an interval: which are kept, and what they sent."""

import pytest

from tests.fakes import FakeServer, Result
from tests.unit.load.engine.driving import driving
from tests.unit.load.engine.server_errors import DEADLOCK
from tests.unit.load.programs import EXPLICIT, begin, program
from tuibench.load.engine.recorder import MOST_TIMED, LatencyRecorder
from tuibench.model.measurements.sample import MOST_SLOW
from tuibench.workload.program.program import flat_statements


def recorder() -> LatencyRecorder:
    return LatencyRecorder(flat_statements(program(EXPLICIT)), [EXPLICIT.name])


def offered(*response_us: int) -> LatencyRecorder:
    """A recorder that was given transactions as the hot path gives them."""
    noted = recorder()
    for took in response_us:
        if took > noted.slow_us:
            noted.keep_slow(0, took, took, [(0, took // 2, 0)])
    return noted


def test_the_slowest_are_kept_the_slowest_first() -> None:
    taken = offered(5000, 900_000, 30_000, 700_000, 20_000, 800_000).take().slowest
    assert [slow.response_ms for slow in taken] == [900.0, 800.0, 700.0]
    assert len(taken) == MOST_SLOW
    assert taken[0].statements[0].ms == 450.0


def test_each_interval_begins_with_none() -> None:
    noted = offered(5000, 6000, 7000)
    noted.take()
    assert noted.take().slowest == ()
    noted.keep_slow(0, 10, 10, [])
    assert [slow.response_ms for slow in noted.take().slowest] == [0.01]


def test_consecutive_statements_of_one_name_are_added_up_except_failed_ones() -> None:
    noted = recorder()
    timed = [(0, 100, 0), (1, 2000, 0), (1, 3000, 0), (1, 50_000, 1205), (3, 400, 0)]
    noted.keep_slow(0, 60_000, 56_000, timed)
    (slow,) = noted.take().slowest
    assert [(each.count, each.ms, each.max_ms, each.error) for each in slow.statements] == [
        (1, 0.1, 0.1, 0),
        (2, 5.0, 3.0, 0),
        (1, 50.0, 50.0, 1205),
        (1, 0.4, 0.4, 0),
    ]
    assert slow.longest is not None
    assert slow.longest.error == 1205


def test_a_transaction_without_end_keeps_its_first_statements() -> None:
    noted = recorder()
    noted.keep_slow(0, 1000, 1000, [(place % 4, 1, 0) for place in range(4 * MOST_TIMED)])
    (slow,) = noted.take().slowest
    assert sum(each.count for each in slow.statements) == MOST_TIMED


@pytest.mark.parametrize("is_refused", [False, True])
async def test_what_a_connection_sent_is_in_its_transaction_with_the_attempt_that_failed(
    is_refused: bool,
) -> None:
    first: list[Result] = [1, DEADLOCK] if is_refused else []
    async with driving(FakeServer(first), begin(EXPLICIT, limit=1)) as drive:
        await drive.until_ended(1)
    (slow,) = drive.slowest
    assert [(each.name, each.error) for each in slow.statements] == (
        [("begin", 0), ("point_select", 1213)] * is_refused
        + [("begin", 0), ("point_select", 0), ("update", 0), ("commit", 0)]
    )
    assert [each.count for each in slow.statements[-3:]] == [2, 1, 1]
