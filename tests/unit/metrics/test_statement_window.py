"""Statements between two moments."""

import pytest

from tuibench.metrics.series.statement_window import (
    CLIENT,
    MOST_ROWS,
    StatementSums,
    figures_between,
    statement_rows,
)


def sums(calls: int, time_us: float, text: str = "q", **more: object) -> StatementSums:
    return StatementSums(text, "digest", calls, time_us, **more)  # type: ignore[arg-type]


def test_figures_are_differences() -> None:
    before = sums(10, 5000, rows_examined=100, lock_us=10.0, cpu_us=None, distribution={100: 9, 900: 1})
    after = sums(30, 9000, rows_examined=160, lock_us=50.0, cpu_us=700.0, distribution={100: 10, 900: 20})
    found = figures_between(before, after)
    assert found is not None
    assert (found.calls, found.total_ms, found.avg_ms) == (20, 4.0, 0.2)
    assert (found.rows_examined, found.cpu_ms) == (60, 0.7)
    assert found.lock_ms == pytest.approx(0.04)
    assert found.p95_ms == 0.9


def test_a_statement_that_is_new_began_at_nothing() -> None:
    found = figures_between(None, sums(4, 400, distribution={100: 4}))
    assert found is not None
    assert (found.calls, found.avg_ms, found.p95_ms) == (4, 0.1, 0.1)


def test_without_a_distribution_at_both_ends_there_is_no_percentile() -> None:
    found = figures_between(sums(1, 10), sums(2, 20, distribution={10: 2}))
    assert found is not None
    assert found.p95_ms is None


@pytest.mark.parametrize(("calls", "time_us"), [(10, 5000), (9, 6000), (11, 4000)])
def test_a_statement_not_executed_or_reset_has_no_figures(calls: int, time_us: float) -> None:
    assert figures_between(sums(10, 5000), sums(calls, time_us)) is None


def test_before_and_after_a_change_stand_side_by_side() -> None:
    first, changed = {"a": sums(0, 0), "b": sums(5, 50)}, {"a": sums(10, 1000), "b": sums(5, 50)}
    now = {"a": sums(30, 2000), "b": sums(6, 9050), "c": sums(1, 5, "new")}
    rows = {row.now.total_ms: row for row in statement_rows(first, changed, now)}
    assert list(rows) == [9.0, 1.0, 0.005]
    before = rows[1.0].before
    assert before is not None
    assert (before.calls, before.avg_ms) == (10, 0.1)
    assert rows[9.0].before is None
    assert rows[0.005].before is None


def test_the_loads_own_come_last_and_are_always_there() -> None:
    server = {str(number): sums(1, 1000 + number, str(number)) for number in range(MOST_ROWS + 5)}
    own = StatementSums("point_select", CLIENT, 100, 1e9)
    rows = statement_rows({}, None, {**server, "own": own})
    assert [len(rows), rows[0].text, rows[-1].text] == [MOST_ROWS + 1, str(MOST_ROWS + 4), "point_select"]
