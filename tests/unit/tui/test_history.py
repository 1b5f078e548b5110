"""The pyramid of merged points: bounded, nothing lost, peaks least of all."""

import math
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tuibench.tui.history import FACTOR, KEPT, LEVELS, History, Point, level_of, merged, merging, summed

VALUES = st.one_of(st.none(), st.floats(0, 1e6))


def tick(slot: int, tps: float | None = 1.0, p95: float | None = 1.0, counts: tuple[int, ...] = ()) -> Point:
    return Point(
        float(slot), tps, tps, p95, max_ms=p95, slot=slot, seconds=0.0 if tps is None else 1.0, counts=counts
    )


@st.composite
def runs(draw: st.DrawFn) -> list[Point]:
    """Ticks in order, some of them missing, some without a load."""
    steps = draw(st.lists(st.integers(1, 40), min_size=1, max_size=120))
    slots = [sum(steps[: n + 1]) for n in range(len(steps))]
    return [tick(slot, draw(VALUES), draw(VALUES)) for slot in slots]


@given(runs(), st.integers(1, 200), st.integers(1, 90))
def test_no_peak_is_lost_to_a_zoom(points: list[Point], slots: int, columns: int) -> None:
    history = History.of(points)
    whole = merging(slots, columns)
    last = (history.last_slot - 1) // whole
    shown = history.window(whole, last, columns)
    for column, found in enumerate(shown):
        own = [point for point in points if (point.slot - 1) // whole == last - columns + 1 + column]
        peak = max((point.p95_ms for point in own if point.p95_ms is not None), default=None)
        assert (found is None) == (not own)
        assert found is None or found.p95_ms == peak


@given(runs(), st.integers(2, 60))
def test_a_merged_rate_is_the_mean_over_the_measured_time(points: list[Point], columns: int) -> None:
    history = History.of(points)
    whole = merging(history.last_slot / (columns - 1), columns)
    shown = [each for each in history.window(whole, (history.last_slot - 1) // whole, columns) if each]
    done = sum(each.tps * each.seconds for each in shown if each.tps is not None)
    assert math.isclose(done, sum(point.tps for point in points if point.tps is not None), abs_tol=1e-6)


@given(runs())
def test_one_by_one_is_the_same_as_all_at_once(points: list[Point]) -> None:
    history = History()
    for point in points:
        history = history.added(point)
    for grown, made in zip(history.levels, History.of(points).levels, strict=True):
        assert [(each.slot, each.p95_ms) for each in grown] == [(each.slot, each.p95_ms) for each in made]


@settings(max_examples=30)
@given(st.floats(1, 1e7), st.integers(1, 500))
def test_enough_is_shown_and_from_a_level_that_reaches_back(slots: float, columns: int) -> None:
    whole = merging(slots, columns)
    assert whole >= slots
    reach = (KEPT - 1) * FACTOR ** level_of(whole)
    assert whole * columns <= reach or level_of(whole) == LEVELS - 1


def test_memory_is_bounded_and_everything_is_still_there() -> None:
    history = History()
    for slot in range(1, 3 * KEPT):
        history = history.added(tick(slot, p95=9.0 if slot == 5 else 1.0))
    assert max(len(level) for level in history.levels) == KEPT
    assert history.first_slot == 1
    whole = merging(history.last_slot / 49, 50)
    columns = history.window(whole, (history.last_slot - 1) // whole, 50)
    assert max(each.p95_ms or 0.0 for each in columns if each) == 9.0


def test_a_stretch_is_told_as_finely_as_it_is_remembered() -> None:
    history = History.of(tick(slot) for slot in range(1, KEPT + 500))
    recent = history.between(KEPT, KEPT + 10)
    assert [point.slot for point in recent] == list(range(KEPT + 1, KEPT + 11))
    old = history.between(0, 80)
    assert {later.slot - earlier.slot for earlier, later in pairwise(old)} == {FACTOR}


def test_counts_are_added_bucket_by_bucket_and_unknown_ones_left_out() -> None:
    assert list(summed([(1, 2), (), (3, 4)])) == [4, 6]
    assert list(summed([(), ()])) == []
    assert merged([tick(1, counts=(1, 0)), tick(2, counts=(0, 5))]).slot == 2


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.integers(1, 50), st.integers(1, 90))
def test_ticks_that_go_back_in_time_do_no_harm(slots: list[int], whole: int, columns: int) -> None:
    history = History()
    for slot in slots:
        history = history.added(tick(slot))
        width = merging(whole, columns)
        shown = history.window(width, (history.last_slot - 1) // width, columns)
        assert len(shown) == columns
        assert shown[-1] is not None
