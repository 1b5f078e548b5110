"""The slowest transactions in words."""

from tuibench.metrics.series.slow_messages import slow_lines, slow_text
from tuibench.model.measurements.sample import SlowTransaction, TimedStatement

SLOW = SlowTransaction(
    transaction="oltp_write_only",
    response_ms=124.0,
    service_ms=84.0,
    statements=(
        TimedStatement("begin", 1, 0.1, 0.1),
        TimedStatement("point_select", 10, 4.0, 1.5),
        TimedStatement("index_update", 1, 9.8, 9.8, 1205),
        TimedStatement("commit", 1, 55.0, 55.0),
    ),
    at_seconds=72.0,
)


def test_where_the_time_went_is_said_most_first() -> None:
    assert slow_text(SLOW) == (
        "124 ms at 01:12, oltp_write_only: 40 ms waiting for a connection, commit 55 ms, "
        "index_update 9.8 ms (error 1205), 10 point_select 4 ms (longest 1.5 ms), 1 other 0.1 ms, "
        "15.1 ms between statements"
    )


def test_a_summary_without_transactions_says_nothing_of_them() -> None:
    assert list(slow_lines(())) == []
    assert next(iter(slow_lines((SLOW,) * 5))) == "slowest transactions:"
    assert len(list(slow_lines((SLOW,) * 5))) == 4
