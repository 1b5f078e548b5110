"""Figures of many samples together: what is not known is None, and no zero."""

import pytest

from tuibench.metrics.figures import grown, lock_waiters, mean, seconds_between, table_misses_percent


def test_the_mean_is_of_what_is_known() -> None:
    assert mean([1.0, None, 3.0], lambda each: each) == 2.0
    assert mean([None], lambda each: each) is None


def test_threads_that_wait_follow_from_the_time_they_waited() -> None:
    assert lock_waiters({"Innodb_row_lock_time": 6000.0}, 2.0) == pytest.approx(3.0)
    assert lock_waiters({}, 2.0) is None


def test_misses_are_a_part_of_all_look_ups() -> None:
    growths = {"Table_open_cache_misses": 1.0, "Table_open_cache_hits": 3.0}
    assert table_misses_percent(growths) == 25.0
    assert table_misses_percent({"Table_open_cache_misses": 1.0}) is None


def test_one_reading_says_nothing_of_growth_or_time() -> None:
    assert grown([]) == {}
    assert seconds_between([]) == 0.0
