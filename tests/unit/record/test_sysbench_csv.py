"""Intervals as CSV; sysbench's columns as its own report_csv printed them."""

from tuibench.model.histogram import Histogram
from tuibench.model.tick import Tick
from tuibench.record.sysbench_report import CSV_HEADER, SYSBENCH_COLUMNS, interval_csv_row

SYSBENCH_ROW = "1,1,1167.79,11685.93,11685.93,0.00,0.00,3.62,0.00,0.00"
"""Printed by sysbench 1.0.20 on a MariaDB."""


def columns(text: str) -> dict[str, str]:
    assert text.endswith("\n")
    return dict(zip(CSV_HEADER.strip().split(","), text.strip("\n").split(","), strict=True))


def test_the_first_columns_are_sysbenchs_byte_for_byte() -> None:
    tick = Tick(
        end=1.0,
        seconds=1.001033,
        sums={"completed": 1169, "queries": 11698, "reads": 11698},
        levels={"threads": 1},
        hists={"response": Histogram.of([3_620] * 1169)},
    )
    text = interval_csv_row(tick, 95)
    assert ",".join(text.split(",")[: len(SYSBENCH_COLUMNS)]) == SYSBENCH_ROW


def test_the_rest_tells_more() -> None:
    tick = Tick(
        end=2.5,
        seconds=2.0,
        sums={
            "completed": 3,
            "queries": 20,
            "reads": 10,
            "writes": 4,
            "others": 6,
            "error.1205": 1,
            "reconnects": 3,
        },
        levels={"threads": 8, "rate": 50.5, "backlog": 7, "in_flight": 2},
        hists={"response": Histogram.of([500, 1_000, 9_000])},
    )
    assert columns(interval_csv_row(tick, 50)) == {
        "time": "2.5",
        "threads": "8",
        "tps": "1.50",
        "qps": "10.00",
        "reads": "5.00",
        "writes": "2.00",
        "other": "3.00",
        "latency_pct": "1.00",
        "errors": "0.50",
        "reconnects": "1.50",
        "seconds": "2.000",
        "transactions": "3",
        "rate": "50.5",
        "backlog": "7",
        "concurrency": "2",
        "latency_min": "0.500",
        "latency_avg": "3.500",
        "latency_p50": "1.000",
        "latency_p95": "9.000",
        "latency_p99": "9.000",
        "latency_p999": "9.000",
        "latency_max": "9.000",
    }


def test_an_interval_without_a_transaction_has_no_latencies() -> None:
    told = columns(interval_csv_row(Tick(end=10.0, seconds=1.0, levels={"threads": 4}), 0))
    assert (told["time"], told["tps"], told["latency_pct"]) == ("10", "0.00", "0.00")
    assert told["latency_min"] == told["latency_p99"] == told["latency_max"] == ""


def test_a_long_run_keeps_its_seconds() -> None:
    assert columns(interval_csv_row(Tick(end=1_234_567.25, seconds=1.0), 95))["time"] == "1234567.25"
