"""Pauses and resets do not count as unsteadiness."""

import pytest

from tuibench.metrics.series.slots import Slot
from tuibench.model.event import EventKind
from tuibench.session.effects.steadiness_log import LEVEL_CHANGES, SteadinessLog


def ticks(log: SteadinessLog, rates: list[float], start: float = 0.0) -> None:
    for place, rate in enumerate(rates, 1):
        log.tick(Slot(start + place, 1.0, rate))


def test_a_stall_is_found_and_a_pause_is_not_one() -> None:
    log = SteadinessLog()
    ticks(log, [100.0] * 10 + [0.0, 0.0] + [100.0] * 5)
    log.on_event(EventKind.PAUSE)
    ticks(log, [40.0, 0.0, 0.0, 0.0], start=17)
    log.on_event(EventKind.RESUME)
    ticks(log, [30.0, 100.0], start=21)
    found = log.result
    assert found is not None
    assert [(stall.start_seconds, stall.seconds) for stall in found.stalls] == [(10.0, 2.0)]
    assert found.longest_stall_seconds == 2.0
    assert (found.p1, found.p99) == (0.0, 100.0)


def stalled(log: SteadinessLog) -> list[tuple[float, float]]:
    found = log.result
    assert found is not None
    return [(stall.start_seconds, stall.end_seconds) for stall in found.stalls]


@pytest.mark.parametrize("kind", sorted(LEVEL_CHANGES))
def test_a_slower_level_is_no_stall(kind: EventKind) -> None:
    log = SteadinessLog()
    ticks(log, [1000.0] * 20)
    log.on_event(kind)
    ticks(log, [400.0] + [30.0] * 9 + [1.0] + [30.0] * 4, start=20)
    log.on_event(kind)
    ticks(log, [1000.0] * 20 + [50.0] + [1000.0], start=35)
    assert stalled(log) == [(30.0, 31.0), (55.0, 56.0)]


def test_ticks_that_still_show_the_slower_level_are_no_stall() -> None:
    """Opening connections takes its time; a standstill after a change is one."""
    log = SteadinessLog()
    ticks(log, [20.0] * 10)
    log.on_event(EventKind.THREADS)
    ticks(log, [21.0, 40.0, 0.5, *[1000.0] * 12], start=10)
    assert stalled(log) == [(12.0, 13.0)]


def test_steps_of_a_ramp_are_levels_of_their_own() -> None:
    log = SteadinessLog()
    for step in range(1, 41):
        log.tick(Slot(float(step), 1.0, 25.0 * step), (4, 25.0 * step))
    for second in range(41, 81):
        log.tick(Slot(float(second), 1.0, 2.0 if second == 70 else 1000.0), (4, 1000.0))
    assert stalled(log) == [(69.0, 70.0)]


def test_a_stall_does_not_reach_across_a_pause() -> None:
    log = SteadinessLog()
    ticks(log, [100.0] * 10 + [0.0])
    log.on_event(EventKind.PAUSE)
    ticks(log, [0.0] * 5, start=11)
    log.on_event(EventKind.RESUME)
    ticks(log, [40.0, 0.0, 100.0], start=16)
    assert stalled(log) == [(10.0, 11.0), (17.0, 18.0)]


def test_a_reset_starts_over() -> None:
    log = SteadinessLog()
    ticks(log, [0.0, 100.0])
    log.on_event(EventKind.RESET)
    ticks(log, [100.0] * 3)
    found = log.result
    assert found is not None
    assert (found.p1, found.variation) == (100.0, 0.0)


def test_a_long_run_is_kept_in_little_room() -> None:
    """Neighbours are added up: what is left out is when within them it was."""
    log = SteadinessLog(most=100)
    for begin in range(0, 1000, 10):
        ticks(log, [100.0] * 10, start=begin)
        assert len(log) < 100
    found = log.result
    assert found is not None
    assert (found.p1, found.p50, found.p99, found.variation) == (100.0, 100.0, 100.0, 0.0)
    few = SteadinessLog(most=16)
    ticks(few, [100.0] * 12 + [0.0] * 4)
    assert stalled(few) == [(12.0, 16.0)]
    assert len(few) == 8
