"""Charts: history, figures, axis of time."""

import math
from itertools import pairwise, product

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.ticks import changed
from tests.tui.support import script
from tests.unit.tui.views import short_story
from tuibench.model.counters import Counter
from tuibench.model.tick import Latency, ReplicaSample, Sample
from tuibench.tui.charts import (
    BLOCKS_PER_LEVEL,
    FACTOR,
    LEVELS,
    ChartHistory,
    ChartPoint,
    TimeGrid,
    chart_scale,
    coarsest_level,
    merge_points,
    slots_per_column,
    sum_counts,
)
from tuibench.tui.figures import (
    AXIS_CELLS,
    CHARTED_FIGURES,
    REPLICA,
    UNKNOWN,
    figure_key,
    figure_number,
    figure_of,
    figure_value,
    lag_text,
    mean_figures,
    read_figures,
    read_lags,
    worst_lags,
)
from tuibench.tui.panels.time_chart import cursor_column
from tuibench.tui.steering import move_cursor
from tuibench.tui.view import chart_points, view_grid

# The pyramid of merged points: bounded, nothing lost, peaks least of all.


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


# The table of figures: keys, readings, what a merge makes of them, and the scale of their charts.


REDO = figure_key("INNODB", "Redo written")
WRITE = figure_key("DISKS", "Write")
CLIENT_CPU = figure_key("CLIENT", "CPU")
SAMPLE = script.samples(60)[-1]
TITLE_CELLS = 16
MIB = 1024.0 * 1024.0


def value(key: str, sample: Sample) -> float | None:
    return figure_value(key, read_figures(sample), read_lags(sample))


def test_every_figure_has_a_key_a_number_and_a_title_of_its_own() -> None:
    assert len({figure.key for figure in CHARTED_FIGURES}) == len(CHARTED_FIGURES)
    assert len({figure_number(figure.key) for figure in CHARTED_FIGURES}) == len(CHARTED_FIGURES)
    assert len({(figure.section, figure.title) for figure in CHARTED_FIGURES}) == len(CHARTED_FIGURES)
    assert all(len(figure.title) <= TITLE_CELLS for figure in CHARTED_FIGURES if figure.section != "figures")
    assert all(figure_of(figure.key) == figure for figure in CHARTED_FIGURES)
    assert figure_of("COMMANDS/nothing") is None


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
def test_a_counter_is_read_from_its_growth_over_the_time_that_it_grew_in(seconds: float) -> None:
    part = script.server_part(60, 1_510.0, 64, 1.04, seconds=seconds, growth={Counter.LSN_CURRENT: 93_620})
    assert value(REDO, changed(SAMPLE, server=part)) == pytest.approx(93_620 / seconds)


def test_a_counter_without_growth_is_not_known_and_a_gauge_needs_none() -> None:
    first = changed(SAMPLE, server=script.server_part(60, 1_510.0, 64, 1.04, growth={}))
    assert value(REDO, first) is None
    assert value(figure_key("CONNECTIONS", "Threads running"), first) == 61.0
    assert value(WRITE, first) == pytest.approx(12_400_000.0)


def test_what_is_not_known_is_none_and_never_zero() -> None:
    silent = script.without(SAMPLE, "server", "host")
    of_lists = [place for place, figure in enumerate(CHARTED_FIGURES) if figure.section != "figures"]
    assert {read_figures(silent)[place] for place in of_lists} == {UNKNOWN}
    assert value(CLIENT_CPU, SAMPLE) is None
    assert figure_value(REDO, (), {}) is None


def test_the_client_has_figures_where_it_is_another_host() -> None:
    sample = changed(SAMPLE, client_host=script.host_part(cpu_total=31.0))
    assert value(CLIENT_CPU, sample) == pytest.approx(31.0)


def test_a_replica_has_its_lag_by_name() -> None:
    told = (ReplicaSample(name="db2:3306", lag_seconds=4.0), ReplicaSample(name="db3", state="stopped"))
    sample = msgspec.structs.replace(SAMPLE, replicas=told)
    assert value(REPLICA + "db2:3306", sample) == 4.0
    assert value(REPLICA + "db3", sample) is None
    figure = figure_of(REPLICA + "db2:3306")
    assert figure is not None
    assert (figure.title, figure.write(4.0), figure.write(2.25)) == ("db2:3306", "4 s", "2.2 s")
    assert lag_text(None) == "–"
    assert worst_lags([{"db2": 1.0}, {}, {"db2": 3.0, "db3": 0.0}]) == {"db2": 3.0, "db3": 0.0}


@given(st.lists(st.floats(0, 1e6, width=32), min_size=2, max_size=40))
def test_blocks_have_the_mean_of_their_ticks_however_they_were_merged(values: list[float]) -> None:
    points = [
        ChartPoint(float(n), None, None, None, slot=n, figures=(each,), cpu=(each, 0.0, 0.0))
        for n, each in enumerate(values, 1)
    ]
    mean = sum(values) / len(values)
    by_ones = ChartHistory()
    for point in points:
        by_ones = by_ones.added(point)
    for merged in (merge_points(points), by_ones.levels[-1][0]):
        assert merged.ticks == len(values)
        assert merged.figures[0] == pytest.approx(mean, rel=1e-3, abs=1e-2)
        assert merged.cpu is not None
        assert merged.cpu[0] == pytest.approx(mean, rel=1e-6, abs=1e-6)


def test_a_figure_that_is_unknown_for_a_while_keeps_what_is_known() -> None:
    assert list(mean_figures([((UNKNOWN, 4.0), 3), ((2.0, 8.0), 1)])) == [2.0, 5.0]
    assert mean_figures([((), 1), ((2.0,), 1)]) == (2.0,)
    assert mean_figures([((), 1)]) == ()


@pytest.mark.parametrize("number", [0.0, 0.02, 3.5, 61.0, 48_240.0, 123_456.0, 9_876_543.0, 14_954_400.0])
def test_every_axis_label_fits_its_cells(number: float) -> None:
    for figure in CHARTED_FIGURES:
        assert 0 < len(figure.axis(number)) <= AXIS_CELLS, (figure.key, figure.axis(number))


def test_a_rate_on_a_chart_says_that_it_is_one() -> None:
    written = {figure.key: figure.write(12.0) for figure in CHARTED_FIGURES}
    assert written[figure_key("COMMANDS", "SELECT")] == "12.0/s"
    assert written[figure_key("CONNECTIONS", "Threads running")] == "12"


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=30))
@example([5e-324])
def test_a_scale_holds_all_its_values(values: list[float]) -> None:
    for may_rise, is_bytes in product((True, False), repeat=2):
        base, top = chart_scale(values, may_rise=may_rise, is_bytes=is_bytes)
        assert base <= min(values)
        assert max(values) <= top * (1 + 1e-9)
        assert base < top
        assert may_rise or base == 0.0


def test_a_scale_rises_where_all_values_are_far_from_zero_and_differ() -> None:
    assert chart_scale([97.0, 98.0], may_rise=True).base > 90.0
    assert chart_scale([97.0, 97.1], may_rise=True).base == 0.0
    assert chart_scale([10.0, 98.0], may_rise=True).base == 0.0


@pytest.mark.parametrize(
    ("most", "top"), [(14.3 * MIB, 15 * MIB), (900 * 1024.0, MIB), (700.0, 800.0), (0.0, 1.0)]
)
def test_an_axis_of_bytes_ends_at_a_round_binary_number(most: float, top: float) -> None:
    assert chart_scale([most], may_rise=False, is_bytes=True).top == pytest.approx(top)


def test_the_axis_of_a_figure_in_bytes_is_labelled_with_a_round_number() -> None:
    figure = figure_of(REDO)
    assert figure is not None
    assert figure.is_bytes
    assert figure.axis(chart_scale([14.3 * MIB], may_rise=False, is_bytes=True).top) == "15 MiB"


# The columns of a chart: two a tick while a run is young.


COLUMNS = 20


def drawn(ticks: int) -> list[int]:
    """The slot that each column shows, 0 for none."""
    view = short_story(*[10.0 + number for number in range(ticks)])
    return [point.slot if point else 0 for point in chart_points(view, COLUMNS)]


@pytest.mark.parametrize("ticks", [1, 3, COLUMNS // 2])
def test_a_young_run_has_two_columns_a_tick(ticks: int) -> None:
    slots = [slot for slot in range(1, ticks + 1) for _ in range(2)]
    assert drawn(ticks) == [0] * (COLUMNS - len(slots)) + slots


def test_once_the_width_is_full_a_tick_has_one_column() -> None:
    ticks = COLUMNS // 2 + 1
    assert drawn(ticks) == [0] * (COLUMNS - ticks) + list(range(1, ticks + 1))


def test_the_cursor_moves_by_ticks() -> None:
    view = short_story(10.0, 11.0, 12.0)
    found = []
    for _ in range(3):
        view = move_cursor(-1)(view, COLUMNS)
        found.append((view.chart_state.cursor, cursor_column(view, COLUMNS)))
    assert found == [((2.0, 3.0), 18), ((1.0, 2.0), 16), ((0.0, 1.0), 14)]


def test_the_axis_of_a_young_run_is_half_as_long() -> None:
    assert view_grid(short_story(10.0), COLUMNS).column_seconds == 0.5


@given(st.integers(1, 8), st.integers(0, 500), st.integers(1, 200), st.sampled_from([1, 2]), st.data())
def test_the_time_of_a_column_is_in_a_block_that_holds_the_column(
    slots: int, last: int, columns: int, cells: int, data: st.DataObject
) -> None:
    grid = TimeGrid(slots, last, columns, 1.0, cells)
    column = data.draw(st.integers(0, columns - 1))
    start, end = grid.stretch_of(column)
    assert end - start == slots
    assert grid.column_at(end) <= column < grid.column_at(end) + cells
