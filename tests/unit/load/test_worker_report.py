"""Counters and moments: merging loses nothing, in whatever order the workers report."""

from statistics import fmean, pstdev

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.load.worker_report import INTEGER_COUNTERS, Counters, FairnessStats

numbers = st.integers(0, 2**40)
by_code = st.dictionaries(st.sampled_from([1040, 1205, 1213, 2013]), st.integers(1, 1000))
by_kind = st.dictionaries(st.sampled_from(["payment", "new_order"]), st.integers(1, 1000))
counters = st.builds(
    Counters,
    **dict.fromkeys(INTEGER_COUNTERS, numbers),
    errors=by_code,
    refused=by_code,
    retried=by_kind,
    rolled_back=by_kind,
)
values = st.lists(st.floats(0, 1e6), max_size=50)


@given(counters, counters, counters)
def test_adding_is_associative_and_commutative(a: Counters, b: Counters, c: Counters) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@given(counters, counters)
def test_a_difference_is_what_came_on_top(before: Counters, more: Counters) -> None:
    assert (before + more) - before == more
    assert (before - before) == Counters()


@given(counters)
def test_adding_leaves_both_sides_alone(a: Counters) -> None:
    copy = msgspec.structs.replace(
        a,
        errors=dict(a.errors),
        refused=dict(a.refused),
        retried=dict(a.retried),
        rolled_back=dict(a.rolled_back),
    )
    total = a + Counters()
    total.count_error(1213)
    total.count_refusal(1040)
    total.count_retry("payment")
    total.count_rollback("new_order")
    assert a == copy


def test_queries_are_statements_of_all_three_kinds() -> None:
    assert Counters(reads=1, writes=2, others=4, questions=9).queries == 7


@given(values, values)
def test_merged_moments_are_those_of_all_values(a: list[float], b: list[float]) -> None:
    moments = FairnessStats.of(a) + FairnessStats.of(b)
    together = a + b
    assert moments.n == len(together)
    if together:
        largest = max(together)
        assert moments.mean == pytest.approx(fmean(together))
        assert moments.deviation == pytest.approx(pstdev(together), abs=1e-6 * (1 + largest))


def test_moments_of_nothing_are_zero() -> None:
    assert (FairnessStats().mean, FairnessStats().deviation) == (0.0, 0.0)
