"""Quantiles of Student's t against scipy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tuibench.metrics.inference.students_t import two_sided

levels = st.floats(1e-4, 0.5)


@given(levels, st.floats(2, 1e5))
def test_it_agrees_with_scipy(level: float, degrees: float) -> None:
    assert two_sided(level, degrees) == pytest.approx(stats.t.isf(level / 2, degrees), rel=2e-3)


@given(st.floats(0.001, 0.1), st.floats(1, 2))
def test_between_one_and_two_degrees_it_is_interpolated(level: float, degrees: float) -> None:
    exact = stats.t.isf(level / 2, degrees)
    assert exact * (1 - 1e-8) <= two_sided(level, degrees) <= 1.05 * exact


@pytest.mark.parametrize(("level", "degrees"), [(0.0, 3), (1.0, 3), (0.05, 0.5)])
def test_what_has_no_quantile_is_refused(level: float, degrees: float) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        two_sided(level, degrees)
