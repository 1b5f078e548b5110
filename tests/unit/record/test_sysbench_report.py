"""A run in sysbench's words: the bytes that sysbench 1.0.20 printed for the same figures.

The files in tests/data are real output of sysbench on a MariaDB.
"""

import msgspec
import pytest

from tests.examples import LATENCY, summary
from tests.paths import DATA
from tuibench.model.histogram import Histogram
from tuibench.model.results.summary import ErrorTotals, Fairness, QueryTotals, TransactionTotals
from tuibench.model.tick import Tick
from tuibench.record.sysbench_report import IntervalAggregator, interval_line, queue_line, summary_text


def golden(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


# The summary


def test_the_summary_is_sysbenchs_byte_for_byte() -> None:
    assert summary_text(summary()) == golden("sysbench-summary.txt")


def test_a_percentile_of_zero_turns_it_off_as_in_sysbench() -> None:
    figures = summary(
        seconds=1.0159,
        percentiles={},
        transactions=TransactionTotals(total=407, per_second=399.95),
        queries=QueryTotals(read=5740, write=1631, other=817, total=8188, per_second=8046.24),
        errors=ErrorTotals(total=3, by_code={"1213": 3}),
        latency_ms=msgspec.structs.replace(LATENCY, min=3.42, avg=19.83, max=65.49),
        latency_sum_ms=8069.73,
        fairness=Fairness(events_avg=50.875, events_stddev=2.57, seconds_avg=1.0087, seconds_stddev=0.01),
    )
    assert summary_text(figures) == golden("sysbench-summary-percentile-0.txt")


@pytest.mark.parametrize(
    ("percentile", "line"),
    [
        ("5", "          5th percentile:                        7.98"),
        ("99", "         99th percentile:                        7.98"),
        ("100", "        100th percentile:                        7.98"),
        ("99.9", "        99.9th percentile:                       7.98"),
    ],
)
def test_percentiles_keep_the_figures_in_their_column(percentile: str, line: str) -> None:
    text = summary_text(summary(percentiles={percentile: 7.98}))
    assert line in text.splitlines()
    assert len({len(each) for each in text.splitlines() if "percentile" in each or "avg: " in each}) == 1


def test_several_percentiles_have_a_line_each() -> None:
    text = summary_text(summary(percentiles={"50": 1.5, "95": 20.25, "99.9": 1234.5}))
    lines = text.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("         max:"))
    assert lines[place + 1 : place + 5] == [
        "         50th percentile:                        1.50",
        "         95th percentile:                       20.25",
        "        99.9th percentile:                    1234.50",
        "         sum:                                24185.86",
    ]


def test_a_run_without_a_transaction_has_a_summary_too() -> None:
    text = summary_text(
        summary(
            seconds=0.0,
            transactions=TransactionTotals(total=0, per_second=0.0),
            queries=QueryTotals(read=0, write=0, other=0, total=0, per_second=0.0),
            latency_ms=None,
            percentiles={"95": None},
            latency_sum_ms=0.0,
        )
    )
    assert "    transactions:                        0      (0.00 per sec.)" in text
    assert "         95th percentile:                        0.00" in text


# Interval lines

COUNTED = [
    (95, 1.004055, (53, 843, 217, 115, 1), 320_170),
    (99, 1.002447, (311, 4504, 1250, 636, 6), 97_550),
    (0, 1.004321, (401, 5717, 1609, 811, 3), 20_000),
]
"""What sysbench must have counted for each line of the file: percentile, seconds, counts, latency in µs."""


@pytest.mark.parametrize(("which", "counted"), list(enumerate(COUNTED)))
def test_an_interval_line_is_sysbenchs_byte_for_byte(
    which: int, counted: tuple[float, float, tuple[int, int, int, int, int], int]
) -> None:
    percentile, seconds, (transactions, reads, writes, others, errors), latency_us = counted
    counts = {"completed": transactions, "reads": reads, "writes": writes, "others": others}
    interval = Tick(
        end=1.0,
        seconds=seconds,
        sums={**counts, "queries": reads + writes + others, "error.1213": errors},
        levels={"threads": 8},
        hists={"response": Histogram.of([latency_us] * transactions)},
    )
    assert interval_line(interval, percentile) == golden("sysbench-interval.txt").splitlines()[which]


def test_an_interval_without_anything_is_all_zero() -> None:
    assert interval_line(Tick(end=2.0, levels={"threads": 4}), 99.9) == (
        "[ 2s ] thds: 4 tps: 0.00 qps: 0.00 (r/w/o: 0.00/0.00/0.00) "
        "lat (ms,99.9%): 0.00 err/s: 0.00 reconn/s: 0.00"
    )


def test_the_queue_line_is_sysbenchs() -> None:
    assert (
        queue_line(Tick(end=3.0, levels={"backlog": 17, "in_flight": 8}))
        == "[ 3s ] queue length: 17, concurrency: 8"
    )


def aggregated(every: float, *ticks: Tick) -> list[Tick]:
    aggregator = IntervalAggregator(every)
    return [whole for tick in ticks if (whole := aggregator.add(tick)) is not None]


def test_a_backlog_is_the_last_value_not_a_sum() -> None:
    ticks = [
        Tick(end=end, seconds=1.0, levels={"backlog": backlog, "in_flight": backlog + 1})
        for end, backlog in ((1.0, 50), (2.0, 7))
    ]
    (whole,) = aggregated(2.0, *ticks)
    assert whole.levels == {"backlog": 7, "in_flight": 8}


FIRST = Tick(
    end=0.5,
    seconds=0.5,
    sums={"completed": 10, "reads": 140, "error.1213": 1},
    arrears={"completed": 2, "reads": 28},
    hists={"response": Histogram.of([1000])},
)
SECOND = Tick(
    end=3.5,
    seconds=3.0,
    sums={"completed": 15, "writes": 60, "reconnects": 2},
    arrears={"completed": 4, "writes": 16},
    hists={"response": Histogram.of([3000])},
)


def test_ticks_add_up_to_one_interval_with_what_was_in_arrears() -> None:
    (whole,) = aggregated(3.0, FIRST, SECOND)
    assert (whole.end, whole.seconds, whole.arrears) == (3.5, 3.5, {})
    assert whole.sums == {"completed": 31, "reads": 168, "writes": 76, "error.1213": 1, "reconnects": 2}
    assert whole.hist("response") == Histogram.of([1000, 3000])


def test_each_interval_begins_anew() -> None:
    early, late = aggregated(0.5, FIRST, SECOND)
    assert (early.end, early.seconds, early.sums["completed"]) == (0.5, 0.5, 12)
    assert (late.end, late.seconds, late.sums["completed"]) == (3.5, 3.0, 19)
    assert aggregated(0.0, FIRST, SECOND) == []
