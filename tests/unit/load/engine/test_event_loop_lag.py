"""How late an event loop runs, on a clock that wakes us late."""

import pytest

from tests.fakes import FakeClock
from tuibench.load.engine.recorder import LAG_INTERVAL_NS, EventLoopLagProbe

EVERY_SECONDS = LAG_INTERVAL_NS / 1e9


def probe_on(clock: FakeClock) -> EventLoopLagProbe:
    return EventLoopLagProbe(clock, clock.timer)


def pass_readings(clock: FakeClock, readings: int) -> None:
    clock.advance(readings * (EVERY_SECONDS + clock.overshoot_seconds))


@pytest.mark.parametrize("late_seconds", [0.0, 0.004, 1.5])
def test_the_lag_is_how_much_later_than_asked_it_was_woken(late_seconds: float) -> None:
    clock = FakeClock(overshoot_seconds=late_seconds)
    probe = probe_on(clock)
    pass_readings(clock, 5)
    assert probe.take_p99_ms() == pytest.approx(late_seconds * 1000)


@pytest.mark.parametrize(("late", "p99_ms"), [(1, 0.0), (2, 0.0), (3, 500.0)])
def test_one_late_waking_in_a_hundred_is_beyond_the_99th_percentile(late: int, p99_ms: float) -> None:
    clock = FakeClock()
    probe = probe_on(clock)
    pass_readings(clock, 150)
    clock.overshoot_seconds = 0.5
    pass_readings(clock, late)
    clock.overshoot_seconds = 0.0
    pass_readings(clock, 50 - late)
    assert probe.take_p99_ms() == p99_ms


def test_each_interval_has_its_own_percentile() -> None:
    clock = FakeClock(overshoot_seconds=0.01)
    probe = probe_on(clock)
    pass_readings(clock, 5)
    assert probe.take_p99_ms() == pytest.approx(10)
    assert probe.take_p99_ms() == 0.0
    clock.overshoot_seconds = 0.0
    pass_readings(clock, 5)
    assert probe.take_p99_ms() == 0.0


def test_a_closed_probe_reads_no_more() -> None:
    clock = FakeClock(overshoot_seconds=0.01)
    probe = probe_on(clock)
    probe.close()
    pass_readings(clock, 5)
    assert probe.take_p99_ms() == 0.0
