"""The pyramid of merged points: bounded, nothing lost, peaks least of all."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tuibench.model.histogram import Latency
from tuibench.tui.charts.history import (
    BLOCKS_PER_LEVEL,
    FACTOR,
    LEVELS,
    ChartHistory,
    ChartPoint,
    coarsest_level,
    merge_points,
    slots_per_column,
    sum_counts,
)

VALUES = st.one_of(st.none(), st.floats(0, 1e6))


def latency_of(ms: float | None) -> Latency | None:
    if ms is None:
        return None
    return Latency(count=1, min=ms, avg=ms, p50=ms, p95=ms, p99=ms, p999=ms, max=ms)


def tick(
    slot: int, tps: float | None = 1.0, p95: float | None = 1.0, counts: tuple[int, ...] = ()
) -> ChartPoint:
    return ChartPoint(
        float(slot),
        tps,
        tps,
        p95,
        latency=latency_of(p95),
        slot=slot,
        seconds=0.0 if tps is None else 1.0,
        counts=counts,
    )


@st.composite
def runs(draw: st.DrawFn) -> list[ChartPoint]:
    """Ticks in order, some of them missing, some without a load."""
    steps = draw(st.lists(st.integers(1, 40), min_size=1, max_size=120))
    slots = [sum(steps[: n + 1]) for n in range(len(steps))]
    return [tick(slot, draw(VALUES), draw(VALUES)) for slot in slots]


@given(runs(), st.integers(1, 200), st.integers(1, 90))
def test_no_peak_is_lost_to_a_zoom(points: list[ChartPoint], slots: int, columns: int) -> None:
    history = ChartHistory.of(points)
    whole = slots_per_column(slots, columns)
    last = (history.last_slot - 1) // whole
    shown = history.window(whole, last, columns)
    for column, found in enumerate(shown):
        own = [point for point in points if (point.slot - 1) // whole == last - columns + 1 + column]
        peak = max((point.p95_ms for point in own if point.p95_ms is not None), default=None)
        assert (found is None) == (not own)
        assert found is None or found.p95_ms == peak


@given(runs(), st.integers(2, 60))
def test_a_merged_rate_is_the_mean_over_the_measured_time(points: list[ChartPoint], columns: int) -> None:
    history = ChartHistory.of(points)
    whole = slots_per_column(history.last_slot / (columns - 1), columns)
    shown = [each for each in history.window(whole, (history.last_slot - 1) // whole, columns) if each]
    done = sum(each.tps * each.seconds for each in shown if each.tps is not None)
    assert math.isclose(done, sum(point.tps for point in points if point.tps is not None), abs_tol=1e-6)


@given(runs())
def test_one_by_one_is_the_same_as_all_at_once(points: list[ChartPoint]) -> None:
    history = ChartHistory()
    for point in points:
        history = history.added(point)
    for grown, made in zip(history.levels, ChartHistory.of(points).levels, strict=True):
        assert [(each.slot, each.p95_ms) for each in grown] == [(each.slot, each.p95_ms) for each in made]


@given(st.floats(1, 1e7), st.integers(1, 500))
def test_enough_is_shown_and_from_a_level_that_reaches_back(slots: float, columns: int) -> None:
    whole = slots_per_column(slots, columns)
    assert whole >= slots
    reach = (BLOCKS_PER_LEVEL - 1) * FACTOR ** coarsest_level(whole)
    assert whole * columns <= reach or coarsest_level(whole) == LEVELS - 1


def test_memory_is_bounded_and_everything_is_still_there() -> None:
    most = 2 * BLOCKS_PER_LEVEL
    history = ChartHistory.of(tick(slot, p95=9.0 if slot == 5 else 1.0) for slot in range(1, most))
    for slot in range(most, most + 300):
        history = history.added(tick(slot))
    assert max(len(level) for level in history.levels) == BLOCKS_PER_LEVEL
    assert history.first_slot == 1
    whole = slots_per_column(history.last_slot / 49, 50)
    columns = history.window(whole, (history.last_slot - 1) // whole, 50)
    assert max(each.p95_ms or 0.0 for each in columns if each) == 9.0


def test_a_span_has_the_resolution_at_which_it_is_kept() -> None:
    history = ChartHistory.of(tick(slot) for slot in range(1, BLOCKS_PER_LEVEL + 500))
    recent = history.between(BLOCKS_PER_LEVEL, BLOCKS_PER_LEVEL + 10)
    assert [point.slot for point in recent] == list(range(BLOCKS_PER_LEVEL + 1, BLOCKS_PER_LEVEL + 11))
    old = history.between(0, 80)
    assert {later.slot - earlier.slot for earlier, later in pairwise(old)} == {FACTOR}


def test_counts_are_added_bucket_by_bucket_and_unknown_ones_left_out() -> None:
    assert list(sum_counts([(1, 2), (), (3, 4)])) == [4, 6]
    assert list(sum_counts([(), ()])) == []
    assert merge_points([tick(1, counts=(1, 0)), tick(2, counts=(0, 5))]).slot == 2


@given(st.lists(st.integers(1, 400), min_size=1, max_size=60), st.integers(1, 50), st.integers(1, 90))
def test_ticks_that_go_back_in_time_do_no_harm(slots: list[int], whole: int, columns: int) -> None:
    history = ChartHistory()
    for slot in slots:
        history = history.added(tick(slot))
        width = slots_per_column(whole, columns)
        shown = history.window(width, (history.last_slot - 1) // width, columns)
        assert len(shown) == columns
        assert shown[-1] is not None
