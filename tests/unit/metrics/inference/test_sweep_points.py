"""Repeats taken together: mean, Student's interval, and what is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import sweeps
from tuibench.metrics.inference.means import mean_with_interval, sweep_points
from tuibench.session.sweep.matrix import all_cells


def test_a_single_run_has_no_interval() -> None:
    assert mean_with_interval([5.0]).half_width is None


def test_three_runs_have_students_interval() -> None:
    mean = mean_with_interval([9.0, 10.0, 11.0])
    assert (mean.mean, mean.count) == (10.0, 3)
    assert mean.half_width == pytest.approx(4.3027 * 1.0 / 3**0.5, rel=1e-4)


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=2, max_size=8), st.floats(1.0, 50.0))
def test_the_interval_scales_with_the_values(values: list[float], factor: float) -> None:
    once, scaled = mean_with_interval(values), mean_with_interval([factor * value for value in values])
    assert once.half_width is not None
    assert scaled.half_width == pytest.approx(factor * once.half_width, rel=1e-6, abs=1e-6)


def test_points_stand_in_the_order_of_the_plan_whatever_ran_first() -> None:
    results = tuple(reversed(sweeps.sweep().results))
    known = sweep_points(sweeps.PLAN, results)
    assert [(point.variant.name, point.threads) for point in known] == [
        ("durable 1/1", 4),
        ("durable 1/1", 8),
        ("unsafe 0/0", 4),
        ("unsafe 0/0", 8),
    ]
    assert known[0].figures["headline"].mean == 100.0
    assert known[0].figures["headline"].count == 2


def test_failed_cells_and_unknown_figures_are_in_no_mean() -> None:
    first, second, *_ = all_cells(sweeps.PLAN)
    done = sweeps.result(first, 50.0)
    (point,) = sweep_points(sweeps.PLAN, (done, sweeps.failed(second)))
    assert point.figures["headline"].count == 1
    assert "memory_used_bytes" not in point.figures


def test_the_cost_of_an_operation_is_a_figure_where_it_is_known() -> None:
    first, second, *_ = all_cells(sweeps.PLAN)
    results = [
        sweeps.costing(sweeps.result(cell), server_cpu_us=us)
        for cell, us in ((first, 400.0), (second, 600.0))
    ]
    (point,) = sweep_points(sweeps.PLAN, results)
    assert point.figures["server_cpu_us_per_transaction"].mean == 500.0
    assert point.figures["server_cpu_us_per_query"].mean == 25.0
    assert "binlog_bytes_per_transaction" not in point.figures


def test_one_limited_run_makes_its_point_limited() -> None:
    first, second, *_ = all_cells(sweeps.PLAN)
    (point,) = sweep_points(sweeps.PLAN, (sweeps.result(first), sweeps.result(second, limited=True)))
    assert point.limited
