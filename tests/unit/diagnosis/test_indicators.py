"""Figures of many samples together: what is not known is None, and no zero."""

import pytest

from tuibench.diagnosis.indicators import (
    is_delayed_by_host,
)


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
