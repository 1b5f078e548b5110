"""Which windows are compared: not across a change, not into settling, and not before they are complete."""

import math
import random

import pytest

from tests.unit.metrics.noise import ar1
from tuibench.metrics.inference.effects.effect_detector import FEWEST_SLOTS, EffectDetector
from tuibench.metrics.inference.messages import attribution_text
from tuibench.metrics.series.slots import Slot
from tuibench.model.experiments.effect import Effect, EffectFigure, Verdict


class Run:
    """A make-believe load, a slot a second; a change falls into the middle of the next one."""

    def __init__(self, seed: int = 1) -> None:
        self.watch = EffectDetector(1.0)
        self.now = 0.0
        self.effects: list[Effect] = []
        self._rng = random.Random(seed)
        self._markers = 0

    def load(self, seconds: int, rate: float, *, approach: float = 0.0, away: float = 0.0) -> None:
        """Steady at a rate; with `approach` it comes from `away` below it with that time constant."""
        for place, noise in enumerate(ar1(self._rng, seconds, 0.2, 0.02 * rate, 0.0)):
            off = away * math.exp(-place / approach) if approach else 0.0
            self.now += 1.0
            self._note(self.watch.slot(Slot(self.now, 1.0, rate + noise - off, p95_ms=10.0)))

    def change(self, text: str = "change") -> None:
        self._markers += 1
        at = self.now + 0.5
        self._note(self.watch.change(self._markers, text, began_seconds=at, at_seconds=at))

    def boundary(self) -> None:
        self._note(self.watch.boundary())

    def _note(self, effect: Effect | None) -> None:
        if effect is not None:
            self.effects.append(effect)


def tps(effect: Effect) -> tuple[float, float]:
    found = effect.comparison(EffectFigure.TPS)
    assert found is not None
    return found.before, found.after


def assert_tps(effect: Effect, before: float, after: float) -> None:
    found = tps(effect)
    assert found[0] == pytest.approx(before, rel=0.03)
    assert found[1] == pytest.approx(after, rel=0.03)


def test_a_step_is_reported_when_both_windows_are_full() -> None:
    run = Run()
    run.load(20, 1000)
    run.change("threads 8 → 16")
    run.load(13, 1500)
    assert run.effects == []
    run.load(10, 1500)
    (effect,) = run.effects
    assert (effect.markers, effect.change, effect.settled) == ((1,), "threads 8 → 16", True)
    assert effect.window_seconds == 12.0
    assert_tps(effect, 1000, 1500)


def test_the_slot_of_the_change_is_on_neither_side() -> None:
    run = Run()
    run.load(20, 1000)
    run.change()
    run.load(1, 1_000_000)
    run.load(20, 1000)
    assert tps(run.effects[0])[1] == pytest.approx(1000, rel=0.03)


def test_settling_is_not_measured() -> None:
    run = Run()
    run.load(20, 1000)
    run.change()
    run.load(40, 2000, approach=3.0, away=1000)
    (effect,) = run.effects
    assert effect.settling_seconds >= 5
    assert tps(effect)[1] == pytest.approx(2000, rel=0.04)


def test_a_load_that_never_settles_is_measured_at_last_and_said_to_move() -> None:
    run = Run()
    run.load(20, 1000)
    run.change()
    for rate in range(1000, 3000, 40):
        run.load(1, rate)
    (effect,) = run.effects
    assert not effect.settled
    assert effect.settling_seconds == pytest.approx(30.5)


def test_changes_in_quick_succession_are_measured_together() -> None:
    run = Run()
    run.load(20, 1000)
    for text in ("threads 8 → 9", "threads 9 → 10", "threads 10 → 11"):
        run.change(text)
        run.load(2, 1200)
    run.load(20, 1500)
    (effect,) = run.effects
    assert effect.markers == (1, 2, 3)
    assert effect.change == "threads 8 → 9; threads 9 → 10; threads 10 → 11"
    assert tps(effect)[0] == pytest.approx(1000, rel=0.03)
    assert effect.at_seconds == 24.5


def test_a_window_does_not_reach_across_an_earlier_change() -> None:
    run = Run()
    run.load(20, 1000)
    run.change()
    run.load(10, 2000)
    run.change()
    run.load(20, 3000)
    first, second = run.effects
    assert_tps(first, 1000, 2000)
    assert_tps(second, 2000, 3000)
    assert first.window_seconds == second.window_seconds < 12


def test_a_change_right_after_the_start_has_nothing_to_be_compared_with() -> None:
    run = Run()
    run.load(FEWEST_SLOTS - 1, 1000)
    run.change()
    run.load(60, 2000)
    assert run.effects == []
    run.change()
    run.load(20, 1000)
    assert len(run.effects) == 1


def test_the_start_of_the_load_is_not_before() -> None:
    run = Run()
    run.load(16, 1000, approach=2.0, away=900)
    run.change()
    run.load(20, 1000)
    (effect,) = run.effects
    assert tps(effect)[0] == pytest.approx(1000, rel=0.06)


def test_no_window_reaches_across_a_pause() -> None:
    run = Run()
    run.load(20, 1000)
    run.boundary()
    run.load(3, 0)
    run.boundary()
    run.load(8, 1000)
    run.change()
    run.load(20, 1500)
    (effect,) = run.effects
    assert tps(effect)[0] == pytest.approx(1000, rel=0.03)
    assert effect.window_seconds <= 8


def test_the_end_tells_what_there_is() -> None:
    run = Run()
    run.load(20, 1000)
    run.change()
    run.load(9, 1500)
    assert run.effects == []
    run.boundary()
    assert tps(run.effects[0])[1] == pytest.approx(1500, rel=0.03)


def test_too_little_data_gives_no_effect_at_the_end() -> None:
    run = Run()
    run.load(20, 1000)
    run.change()
    run.load(FEWEST_SLOTS, 1500)
    run.boundary()
    assert run.effects == []


def test_a_change_that_was_noticed_late_ends_the_window_where_it_may_have_begun() -> None:
    run = Run()
    run.load(20, 1000)
    run.load(5, 2000)
    run.watch.change(1, "somebody else", began_seconds=20.0, at_seconds=25.0)
    run.load(20, 2000)
    (effect,) = run.effects
    assert tps(effect)[0] == pytest.approx(1000, rel=0.03)


def test_an_effect_that_begins_late_is_measured_again() -> None:
    run = Run()
    run.load(60, 1000)
    run.change()
    run.load(20, 1000)
    assert [effect.comparisons[0].verdict for effect in run.effects] == [Verdict.EQUAL]
    run.load(40, 800)
    first, again = run.effects
    assert again.markers == first.markers
    assert again.settling_seconds > first.settling_seconds + first.window_seconds
    assert_tps(again, 1000, 800)
    one = again.comparisons[0]
    assert one.verdict is Verdict.CANNOT_TELL
    assert one.low < -200 < 0 < one.high
    assert attribution_text(one) == "cannot be attributed: TPS fell by 20 % 20 s after the change"


@pytest.mark.parametrize("rate", [1000, 1300])
def test_an_effect_of_a_load_that_stays_is_measured_once(rate: float) -> None:
    run = Run()
    run.load(60, 1000)
    run.change()
    run.load(100, rate)
    assert len(run.effects) == 1


def test_the_next_change_ends_the_watch_of_an_effect_with_what_is_known() -> None:
    run = Run()
    run.load(60, 1000)
    run.change()
    run.load(16, 1000)
    run.load(8, 700)
    run.change()
    first, again = run.effects
    assert again.markers == first.markers == (1,)
    assert tps(again)[1] == pytest.approx(700, rel=0.2)
    run.load(60, 700)
    assert [effect.markers for effect in run.effects[2:]] == [(2,)]


def test_what_follows_a_boundary_is_not_measured_again() -> None:
    run = Run()
    run.load(60, 1000)
    run.change()
    run.load(20, 1000)
    run.boundary()
    run.load(40, 500)
    assert len(run.effects) == 1


@pytest.mark.parametrize(("interval", "slots"), [(1.0, 12), (0.25, 24), (0.5, 24), (10.0, 12)])
def test_a_window_has_enough_slots_at_every_interval(interval: float, slots: int) -> None:
    assert EffectDetector(interval).window == slots
