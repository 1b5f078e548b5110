"""The table of figures: keys, readings, what a merge makes of them, and the scale of their charts."""

from itertools import product

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.ticks import changed
from tests.tui.support import script
from tuibench.model.counters import Counter
from tuibench.model.measurements.sample import ReplicaSample, Sample
from tuibench.tui.charts.figures.table import (
    AXIS_CELLS,
    FIGURES,
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
from tuibench.tui.charts.history import ChartHistory, ChartPoint, merge_points
from tuibench.tui.charts.scale import chart_scale

REDO = figure_key("INNODB", "Redo written")
WRITE = figure_key("DISKS", "Write")
CLIENT_CPU = figure_key("CLIENT", "CPU")
SAMPLE = script.samples(60)[-1]
TITLE_CELLS = 16
MIB = 1024.0 * 1024.0


def value(key: str, sample: Sample) -> float | None:
    return figure_value(key, read_figures(sample), read_lags(sample))


def test_every_figure_has_a_key_a_number_and_a_title_of_its_own() -> None:
    assert len({figure.key for figure in FIGURES}) == len(FIGURES)
    assert len({figure_number(figure.key) for figure in FIGURES}) == len(FIGURES)
    assert len({(figure.section, figure.title) for figure in FIGURES}) == len(FIGURES)
    assert all(len(figure.title) <= TITLE_CELLS for figure in FIGURES if figure.section != "figures")
    assert all(figure_of(figure.key) == figure for figure in FIGURES)
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
    of_lists = [place for place, figure in enumerate(FIGURES) if figure.section != "figures"]
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
    for figure in FIGURES:
        assert 0 < len(figure.axis(number)) <= AXIS_CELLS, (figure.key, figure.axis(number))


def test_a_rate_on_a_chart_says_that_it_is_one() -> None:
    written = {figure.key: figure.write(12.0) for figure in FIGURES}
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
    assert figure.axis(chart_scale([14.3 * MIB], may_rise=False, is_bytes=True).top) == "15 M"
