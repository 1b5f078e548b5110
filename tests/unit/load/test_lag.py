"""How late an event loop runs, on a clock that wakes us late."""

import pytest

from tests.fakes import FakeClock
from tests.unit.load.driving import turns
from tuibench.load.lag import LagProbe


@pytest.mark.parametrize("late_seconds", [0.0, 0.004, 1.5])
async def test_the_lag_is_how_much_later_than_asked_it_was_woken(late_seconds: float) -> None:
    probe = LagProbe(FakeClock(overshoot_seconds=late_seconds))
    await turns(5)
    assert probe.take_p99_ms() == pytest.approx(late_seconds * 1000)
    probe.close()


async def test_one_late_waking_in_two_hundred_is_beyond_the_99th_percentile() -> None:
    clock = FakeClock()
    probe = LagProbe(clock)
    await turns(150)
    clock.advance(0.5)
    await turns(50)
    assert probe.take_p99_ms() == 0.0
    probe.close()


async def test_each_interval_has_its_own_percentile() -> None:
    clock = FakeClock(overshoot_seconds=0.01)
    probe = LagProbe(clock)
    await turns(5)
    assert probe.take_p99_ms() == pytest.approx(10)
    assert probe.take_p99_ms() == 0.0
    clock.overshoot_seconds = 0.0
    await turns(1)
    probe.take_p99_ms()
    await turns(5)
    assert probe.take_p99_ms() == 0.0
    probe.close()
