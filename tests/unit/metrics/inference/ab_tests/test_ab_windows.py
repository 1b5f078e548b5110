"""Which value is due when, and which slots of its window count."""

import msgspec
import pytest

from tuibench.metrics.inference.ab_tests.ab_windows import TrialWindows, settling_slots
from tuibench.metrics.series.slots import Slot
from tuibench.model.experiments.effect import AbTestPlan, EffectFigure

ALTERNATING = 51
"""A seed whose first six cycles are A B, B A, A B, …"""

TRIAL = AbTestPlan(subject="sync_binlog", a="1", b="0", cycles=4, window_seconds=10.0, seed=ALTERNATING)


def slot(end: float, tps: float = 100.0) -> Slot:
    return Slot(end, 1.0, tps, p95_ms=10.0)


def filled(until: int = 80, *, rates: tuple[float, float] = (100.0, 150.0)) -> TrialWindows:
    """A whole run: a change takes 0.2 s of the window that it begins."""
    windows = TrialWindows(TRIAL)
    for second in range(1, until + 1):
        window = windows.at(second - 0.5)
        assert window is not None
        if second % 10 == 1 and second > 1 and window.value != windows.all[(second - 2) // 10].value:
            window.was_changed, window.changed_at = True, second - 1 + 0.2
        windows.add_slot(slot(second, rates[window.value == "0"]))
    return windows


def test_the_order_of_a_cycle_is_that_of_a_coin_seeded_by_the_plan() -> None:
    assert "".join(window.value for window in TrialWindows(TRIAL).all) == "10011001"
    orders = {
        "".join(window.value for window in TrialWindows(msgspec.structs.replace(TRIAL, seed=seed)).all)
        for seed in range(100)
    }
    assert len(orders) == 2**4


def test_a_moment_belongs_to_the_window_it_lies_in() -> None:
    windows = TrialWindows(TRIAL)
    assert windows.at(9.9) is windows.all[0]
    assert windows.at(10.0003) is windows.all[1]
    assert windows.at(80.0) is None


def test_a_slot_that_began_before_the_value_was_set_belongs_to_none() -> None:
    windows = filled()
    assert [len(window.slots) for window in windows.all] == [10, 9, 10, 9, 10, 9, 10, 9]


def test_each_cycle_makes_a_pair_whatever_its_order() -> None:
    pairs = filled().pairs(80.0)
    assert [(pair.cycle, pair.order) for pair in pairs] == [(1, "AB"), (2, "BA"), (3, "AB"), (4, "BA")]
    assert all(pair.a[EffectFigure.TPS] == 100 and pair.b[EffectFigure.TPS] == 150 for pair in pairs)


@pytest.mark.parametrize(("until", "pairs"), [(19.0, 0), (20.0, 1), (59.9, 2), (80.0, 4), (99.0, 4)])
def test_only_cycles_that_are_over_count(until: float, pairs: int) -> None:
    windows = filled()
    assert len(windows.pairs(until)) == windows.over(until) == pairs
    assert windows.left_out(until) == 0


def test_a_disturbed_window_costs_its_cycle() -> None:
    windows = filled()
    windows.all[3].spoil("a pause")
    windows.all[3].spoil("a pause")
    assert [pair.cycle for pair in windows.pairs(80.0)] == [1, 3, 4]
    assert windows.left_out(80.0) == 1
    assert windows.disturbances(80.0) == ("a pause",)
    assert windows.disturbances(20.0) == ()


def test_settling_time_is_discarded_after_a_change_and_reported() -> None:
    climb = [slot(n + 1, rate) for n, rate in enumerate((40, 70, 90, 101, 99, 100, 102, 98, 100))]
    assert 2 <= settling_slots(climb) <= 4
    windows = filled()
    windows.all[1].slots = climb
    first = windows.pairs(20.0)[0]
    assert first.b[EffectFigure.TPS] == pytest.approx(100, abs=4)
    assert first.settling_seconds >= 3


def test_a_window_without_a_slot_after_a_late_effect_costs_its_cycle() -> None:
    """The change itself took 6 s, and acts 5 s later."""
    windows = filled()
    windows.all[1].changed_at = 16.0
    windows.all[1].slots = [slot(second) for second in (17, 18, 19, 20)]
    known = TrialWindows(TRIAL, unsettled_seconds=5.0)
    known.all = windows.all
    assert [pair.cycle for pair in known.pairs(80.0)] == [2, 3, 4]
    assert len(windows.pairs(80.0)) == 4


def test_at_most_half_a_window_is_discarded() -> None:
    assert settling_slots([slot(n, 10.0 * n) for n in range(1, 11)]) == 5
