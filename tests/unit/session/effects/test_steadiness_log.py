"""Pauses and resets do not count as unsteadiness."""

import pytest

from tuibench.metrics.series.slots import Slot
from tuibench.model.event import EventKind
from tuibench.model.measurements.steadiness import Stall
from tuibench.session.effects.steadiness_log import SteadinessLog


def ticks(log: SteadinessLog, rates: list[float], start: float = 0.0) -> None:
    for place, rate in enumerate(rates, 1):
        log.tick(Slot(start + place, 1.0, rate))


def test_a_pause_does_not_count() -> None:
    log = SteadinessLog()
    ticks(log, [100.0] * 10 + [0.0, 0.0] + [100.0] * 5)
    log.on_event(EventKind.PAUSE)
    ticks(log, [40.0, 0.0, 0.0, 0.0], start=17)
    log.on_event(EventKind.RESUME)
    ticks(log, [30.0, 100.0], start=21)
    found = log.result([Stall(9.8, 12.1)])
    assert found is not None
    assert found.stalls == (Stall(9.8, 12.1),)
    assert found.longest_stall_seconds == pytest.approx(2.3)
    assert (found.p1, found.p50, found.p99, len(log)) == (0.0, 100.0, 100.0, 18)


def test_a_reset_starts_over() -> None:
    log = SteadinessLog()
    ticks(log, [0.0, 100.0])
    log.on_event(EventKind.RESET)
    ticks(log, [100.0] * 3)
    found = log.result([])
    assert found is not None
    assert (found.p1, found.variation) == (100.0, 0.0)


def test_a_long_run_is_kept_in_little_room() -> None:
    """Neighbours are added up: what is left out is when within them it was."""
    log = SteadinessLog(most=100)
    for begin in range(0, 1000, 10):
        ticks(log, [100.0] * 10, start=begin)
        assert len(log) < 100
    found = log.result([])
    assert found is not None
    assert (found.p1, found.p50, found.p99, found.variation) == (100.0, 100.0, 100.0, 0.0)
    few = SteadinessLog(most=16)
    ticks(few, [100.0] * 12 + [0.0] * 4)
    assert len(few) == 8
