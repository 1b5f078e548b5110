"""The gaps that the asyncio engine notes, in virtual time."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.load.engine.virtual_runs import Run, ran
from tests.unit.load.programs import SINGLE, begin
from tuibench.model.plan import Arrival, OnError

MOST_LATE = 0.03
"""Seconds: a transaction before or after the stall, and the time to the next arrival."""


def standstills(run: Run) -> list[tuple[float, float]]:
    """In seconds since the start of the run."""
    return [(a / 1e9, b / 1e9) for a, b in run.engine.report().gaps.standstills(0, is_over=True)]


@given(start=st.floats(0.5, 5), seconds=st.floats(0.6, 3), rate=st.sampled_from([0.0, 100.0]))
@example(start=2.0, seconds=1.0, rate=0.0)
def test_a_stall_is_noted_with_its_true_length(start: float, seconds: float, rate: float) -> None:
    found: list[tuple[float, float]] = []

    async def script(run: Run) -> None:
        await run.wait_until(start + seconds / 2)
        run.engine.report()
        await run.wait_until(9)
        found.extend(standstills(run))

    ran(script, rate=rate, connections=3, stall=(start, start + seconds))
    ((begun, ended),) = found
    assert begun == pytest.approx(start, abs=MOST_LATE)
    assert ended == pytest.approx(start + seconds, abs=MOST_LATE)


@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_an_outage_is_noted_until_the_first_completion_after_it(rate: float) -> None:
    """All transactions fail, and connections are opened again."""

    async def script(run: Run) -> None:
        await run.wait_until(20)
        ((start, end),) = standstills(run)
        assert start == pytest.approx(1.0, abs=MOST_LATE)
        assert 4.0 <= end < 20

    how = begin(SINGLE, arrival=Arrival.CONSTANT, on_error=OnError.CONTINUE)
    ran(script, how, rate=rate, connections=4, outage=(1.0, 4.0))


def test_waiting_for_arrivals_is_no_gap_of_the_server() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(8)
        assert run.engine.report().gaps.gaps
        assert standstills(run) == []

    ran(script, rate=0.6, connections=2)


def test_a_pause_and_a_change_of_threads_are_none() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(1)
        run.engine.pause()
        await run.wait_until(3)
        run.engine.resume()
        await run.wait_until(4)
        run.engine.set_connections(())
        await run.wait_until(6)
        run.engine.set_connections([0])
        await run.wait_until(8)
        assert standstills(run) == []

    ran(script, rate=0.0, connections=8)
