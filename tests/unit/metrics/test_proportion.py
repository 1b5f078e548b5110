"""The exact interval of a share."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.metrics.proportion import proportion_bounds


@pytest.mark.parametrize(
    ("cases", "trials", "least", "greatest"),
    [(0, 30, 0.0, 0.0950), (30, 30, 0.9050, 1.0), (1, 10, 0.0025, 0.4450), (7, 20, 0.1539, 0.5922)],
)
def test_known_intervals(cases: int, trials: int, least: float, greatest: float) -> None:
    assert proportion_bounds(cases, trials) == pytest.approx((least, greatest), abs=5e-5)


@given(trials=st.integers(1, 40), share=st.floats(0.01, 0.99))
def test_the_true_share_is_missed_in_at_most_one_of_twenty(trials: int, share: float) -> None:
    missed = sum(
        comb(trials, cases) * share**cases * (1 - share) ** (trials - cases)
        for cases in range(1, trials)
        if not (bounds := proportion_bounds(cases, trials))[0] <= share <= bounds[1]
    )
    assert missed <= 0.05


@pytest.mark.parametrize(("cases", "trials"), [(0, 0), (4, 3), (-1, 3)])
def test_a_count_that_is_none_is_refused(cases: int, trials: int) -> None:
    with pytest.raises(ValueError, match="trials"):
        proportion_bounds(cases, trials)
