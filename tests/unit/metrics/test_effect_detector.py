"""When an effect begins, and when it is there."""

import math
import random

import pytest

from tests.ticks import measured_tick
from tests.unit.metrics.noises import NOISES, ar1, drift
from tests.unit.metrics.planted import Outcome, Planted, outcomes
from tuibench.metrics.attribution import Onset, attribute, onset
from tuibench.metrics.effect_detection import FEWEST_SLOTS, EffectDetector
from tuibench.metrics.inference import movement_reason
from tuibench.model.effect import Effect, MovementKind, Verdict

# Which windows are compared: not across a change, not into settling, and not before they are complete.


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
            self._note(self.watch.slot(measured_tick(self.now, 1.0, rate + noise - off, p95_ms=10.0)))

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
    found = effect.comparison("tps")
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
    assert movement_reason(one) == "TPS fell by 20 % 20 s after the change"


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


# Late, slow and foreign movements beside a change: found at their place, and told from the change's own.


UP, DOWN = math.log(1.2), math.log(0.8)
BEFORE, LATE = 53, 3


def sides(
    *steps: tuple[int, float], approach: float = 0.0, size: float = 0.04
) -> tuple[list[float], list[float]]:
    """A level with steps at these ticks from the change, or an approach of UP."""
    rng = random.Random(11)
    level = [
        rng.gauss(0, size)
        + sum(height for at, height in steps if place >= at)
        + (UP * (1 - math.exp(-(place + 1) / approach)) if approach and place >= 0 else 0.0)
        for place in range(-BEFORE, 42)
    ]
    return level[:BEFORE], level[BEFORE:]


@pytest.mark.parametrize(
    "steps", [(), ((0, UP),), ((2, DOWN),), ((0, math.log(3)),)], ids=["none", "at once", "soon", "large"]
)
def test_a_step_with_the_change_is_its_own(steps: tuple[tuple[int, float], ...]) -> None:
    assert onset(*sides(*steps), 1, LATE) == Onset()


@pytest.mark.parametrize("place", [-17, -4, 6, 20])
@pytest.mark.parametrize("own", [0.0, UP, DOWN])
def test_a_step_at_another_time_is_found(place: int, own: float) -> None:
    found = onset(*sides((0, own), (place, DOWN)), 1, LATE)
    assert found.place == pytest.approx(place, abs=1)
    assert found.height == pytest.approx(DOWN, abs=0.06)
    assert found.slowest == 0.0


@pytest.mark.parametrize("constant", [5, 20])
def test_a_slow_approach_is_known_to_go_on(constant: float) -> None:
    found = onset(*sides(approach=constant, size=0.02), 1, LATE)
    assert found.height == 0.0
    assert constant <= found.slowest <= 3 * constant


@pytest.mark.parametrize("steps", [(), ((0, UP),)])
def test_a_level_without_noise_has_no_other_step(steps: tuple[tuple[int, float], ...]) -> None:
    level = [6.4 + sum(height for at, height in steps if place >= at) for place in range(-20, 13)]
    assert onset(level[:20], level[20:], 0, LATE) == Onset()


def test_the_interval_beside_a_foreign_step_of_the_same_size_holds_the_truth() -> None:
    before, since = sides((-6, DOWN), (0, DOWN))
    found = attribute(before, since[2:14], 3, settling=since[:2], tolerance=0.05)
    assert found.interval.low < DOWN < found.interval.high
    assert found.movement is not None
    assert (found.movement.kind, found.movement.place) == (MovementKind.STEP, -6)


def test_a_late_step_belongs_to_the_change_or_does_not() -> None:
    before, since = sides((7, DOWN))
    found = attribute(before, since[9:21], 10, settling=since[:9], tolerance=0.05)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.interval.low < DOWN < 0 < found.interval.high
    assert found.movement is not None
    assert found.movement.place == 8
    assert found.has_moved_later


def planted(seed: int, **course: float) -> list[Outcome]:
    """Three changes with this course: white and drifting noise, ticks of 0.5, 1 and 3 s."""
    rng = random.Random(seed)
    cases = ((0.5, NOISES["white"]), (1.0, drift), (3.0, NOISES["white"]))
    found = []
    for interval, noise in cases:
        after = 20 * interval + 45
        found += outcomes(
            Planted(interval=interval, before=70.0, after=after, size=0.03, **course), noise, rng
        )
    return found


@pytest.mark.parametrize(
    "course",
    [
        {"effect": DOWN},
        {"effect": DOWN, "delay": 20.0},
        {"effect": UP, "approach": 5.0},
        {"effect": DOWN, "approach": 20.0},
        {"effect": DOWN, "step": DOWN, "step_seconds": -9.5},
        {"step": DOWN, "step_seconds": -12.0},
        {"effect": UP, "step": UP, "step_seconds": 13.0},
    ],
    ids=str,
)
def test_planted_effects_get_no_false_verdict_and_intervals_that_hold_them(course: dict[str, float]) -> None:
    found = planted(3, **course)
    assert len(found) == 6
    assert sum(one.is_false for one in found) == 0
    assert sum(one.covers for one in found) >= 5
