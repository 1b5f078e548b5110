"""Figures of many samples together: what is not known is None, and no zero."""

import pytest

from tuibench.diagnosis.indicators import (
    is_delayed_by_host,
    lock_waiters,
    table_misses_percent,
)


def test_threads_that_wait_follow_from_the_time_they_waited() -> None:
    assert lock_waiters({"Innodb_row_lock_time": 6000.0}, 2.0) == pytest.approx(3.0)
    assert lock_waiters({}, 2.0) is None


def test_misses_are_a_part_of_all_look_ups() -> None:
    growths = {"Table_open_cache_misses": 1.0, "Table_open_cache_hits": 3.0}
    assert table_misses_percent(growths) == 25.0
    assert table_misses_percent({"Table_open_cache_misses": 1.0}) is None


@pytest.mark.parametrize(
    ("worker_cpu", "total", "rest", "expected"),
    [
        (0.5, 98.0, 2.0, True),
        (0.9, 98.0, 2.0, False),
        (0.5, 70.0, 2.0, False),
        (0.5, 98.0, 40.0, False),
        (0.5, None, None, False),
    ],
)
def test_late_like_all_is_a_client_with_time_to_spare_beside_a_server_that_has_none(
    worker_cpu: float, total: float | None, rest: float | None, expected: bool
) -> None:
    assert is_delayed_by_host(worker_cpu, total, rest) is expected
