"""Output in the formats of sysbench and mysqlslap."""

import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import LATENCY, PLAN, summary
from tests.paths import DATA
from tests.unit.record.written import load, plan_record, tick
from tuibench.cli.headless import CsvWriter, IntervalPrinter
from tuibench.features.slap.command import slap_csv_row, slap_extra_lines, slap_report_text
from tuibench.model.message import RunState, Status
from tuibench.model.plan import RunPlan
from tuibench.model.summary import (
    OWN_QUERIES,
    ErrorTotals,
    Fairness,
    QueryTotals,
    SlapBenchmark,
    TransactionTotals,
)
from tuibench.model.tick import Histogram, Sample, Tick, merge_histograms
from tuibench.record.reader import load_run
from tuibench.record.recorder import RunRecorder
from tuibench.record.sysbench_report import (
    BUCKETS,
    CSV_HEADER,
    HIGHEST_MS,
    HISTOGRAM_HEAD,
    LOWEST_MS,
    SYSBENCH_COLUMNS,
    FullReport,
    IntervalAggregator,
    head_text,
    histogram_text,
    interval_csv_row,
    interval_line,
    queue_line,
    report_text,
    summary_text,
    sysbench_bucket,
    sysbench_bucket_ms,
)
from tuibench.report.text import csv_text, final_report, sysbench_text

# A run in sysbench's words: the bytes that sysbench 1.0.20 printed for the same figures.
#
# The files in tests/data are real output of sysbench on a MariaDB.


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
    assert "Latency" not in text
    assert "events:              0\n\nThreads fairness:" in text


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


# Intervals as CSV; sysbench's columns as its own report_csv printed them.


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
        "goodput": "",
        "late": "",
        "abandoned": "",
        "resent": "",
    }


def test_with_a_deadline_a_row_has_what_came_in_time() -> None:
    sums = {"completed": 30.0, "good": 21.0, "late": 9.0, "abandoned": 3.0, "resent": 12.0}
    told = columns(interval_csv_row(Tick(end=4.0, seconds=1.5, sums=sums), 95))
    assert [told[name] for name in ("goodput", "late", "abandoned", "resent")] == [
        "14.00", "6.00", "2.00", "8.00",
    ]  # fmt: skip


def test_an_interval_without_a_transaction_has_no_latencies() -> None:
    told = columns(interval_csv_row(Tick(end=10.0, seconds=1.0, levels={"threads": 4}), 0))
    assert (told["time"], told["tps"], told["latency_pct"]) == ("10", "0.00", "0.00")
    assert told["latency_min"] == told["latency_p99"] == told["latency_max"] == ""


def test_a_long_run_keeps_its_seconds() -> None:
    assert columns(interval_csv_row(Tick(end=1_234_567.25, seconds=1.0), 95))["time"] == "1234567.25"


# sysbench's latency histogram: its buckets, its rounding, its layout.
#
# tests/data/sysbench-histogram.txt is what sysbench 1.0.20 printed with --histogram on a MariaDB.


GOLDEN = (DATA / "sysbench-histogram.txt").read_text(encoding="utf-8")
PRINTED = [
    (float(value), int(count)) for value, count in re.findall(r"^ +([\d.]+) \|\**  *(\d+)$", GOLDEN, re.M)
]
"""Each line's value in milliseconds, and its count."""


def test_the_histogram_is_sysbenchs_byte_for_byte() -> None:
    values_us = [round(value * 1000) for value, count in PRINTED for _ in range(count)]
    assert histogram_text(Histogram.of(values_us)) == GOLDEN


def test_every_value_that_sysbench_printed_is_that_of_its_bucket() -> None:
    assert len(PRINTED) > 50
    assert [round(sysbench_bucket_ms(sysbench_bucket(value)), 3) for value, _ in PRINTED] == [
        value for value, _ in PRINTED
    ]


def test_the_buckets_reach_from_a_microsecond_to_a_hundred_seconds() -> None:
    assert (sysbench_bucket(LOWEST_MS), sysbench_bucket(HIGHEST_MS)) == (0, BUCKETS - 1)
    assert sysbench_bucket_ms(0) == pytest.approx(LOWEST_MS)
    assert sysbench_bucket_ms(BUCKETS - 1) == pytest.approx(HIGHEST_MS)


@given(st.integers(0, BUCKETS - 1))
def test_a_buckets_value_is_in_it(bucket: int) -> None:
    assert sysbench_bucket(sysbench_bucket_ms(bucket)) == bucket


@given(st.lists(st.integers(0, 3_600_000_000), max_size=200))
def test_no_latency_is_left_out(values_us: list[int]) -> None:
    text = histogram_text(Histogram.of(values_us))
    assert text.startswith(HISTOGRAM_HEAD)
    assert text.endswith(" \n")
    lines = text.removeprefix(HISTOGRAM_HEAD).splitlines()[:-1]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == len(values_us)
    assert max((line.count("*") for line in lines), default=40) == 40


def test_without_a_latency_there_is_the_head_only() -> None:
    assert histogram_text(Histogram()) == HISTOGRAM_HEAD + " \n"


# What a record is turned back into is what was printed, to the last byte.


TICKS = range(1, 6)
THIRD = 1.0 / 3
LATENCIES = Histogram.of([900, 4_711, 1_100_003])


def full_report(**changes: Any) -> FullReport:
    figures = summary()
    made = FullReport(
        seconds=THIRD,
        total_seconds=10 * THIRD,
        transactions=figures.transactions,
        queries=figures.queries,
        errors=7,
        reconnects=0,
        latency=LATENCIES.latency(),
        percentiles={"95": THIRD},
        latency_sum_ms=123_456.789,
        fairness=Fairness(events_avg=2 * THIRD, events_stddev=THIRD, seconds_avg=THIRD, seconds_stddev=0.0),
    )
    return replace(made, **changes)


def sampled(number: int) -> Sample:
    """A second and a third, with what a silent worker did before."""
    seen = load(number, seconds=1.0 + THIRD, arrears={"completed": 7, "reads": 98} if number == 3 else {})
    seen.levels.update(rate=50.5, backlog=3)
    return tick(number, seen)


def recorded(directory: Path, plan: RunPlan, checkpoints: dict[int, FullReport]) -> Path:
    """A run of five ticks; after which of them a checkpoint was made, and what it told. The last is told."""
    recorder = RunRecorder(directory)
    recorder.open(plan_record(plan))
    for number in TICKS:
        recorder.sample(sampled(number))
        if number in checkpoints:
            recorder.report(checkpoints[number])
    recorder.report(full_report(), LATENCIES, last=True)
    recorder.summary(summary())
    recorder.close()
    return directory


def printed(plan: RunPlan, capsys: pytest.CaptureFixture[str], checkpoints: dict[int, FullReport]) -> str:
    """What the run itself prints; a checkpoint comes before the tick of the same second."""
    printer = IntervalPrinter(plan.report_seconds, plan.percentiles)
    printer.state(Status(state=RunState.RUNNING, threads=8, workers=1, settings=(), presets=()))
    for number in TICKS:
        if number in checkpoints:
            printer.checkpoint(checkpoints[number])
        printer.tick(sampled(number).tick)
    return head_text("1.2.3", plan) + capsys.readouterr().out


@pytest.mark.parametrize(
    "plan",
    [
        PLAN,
        replace(PLAN, report_seconds=2.0, percentiles=(99.9, 50.0)),
        replace(PLAN, report_seconds=0.0),
        replace(PLAN, percentiles=(), histogram=True),
    ],
)
def test_the_lines_and_the_summary_are_those_of_the_run(
    tmp_path: Path, plan: RunPlan, capsys: pytest.CaptureFixture[str]
) -> None:
    run = load_run(recorded(tmp_path / "r1", plan, {}))
    distribution = histogram_text(LATENCIES) if plan.histogram else ""
    expected = printed(plan, capsys, {}) + distribution + report_text(full_report())
    assert "".join(sysbench_text(run)) == expected


def test_checkpoints_stand_where_they_stood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = replace(PLAN, checkpoints=(2, 4))
    made = {2: full_report(errors=1), 4: full_report(errors=2, percentiles={"95": 2 * THIRD})}
    run = load_run(recorded(tmp_path / "r1", plan, made))
    expected = printed(plan, capsys, made)
    assert "".join(sysbench_text(run)) == expected + report_text(full_report())


@pytest.mark.parametrize("every", [1.0, 2.0])
def test_the_rows_are_those_of_the_run(tmp_path: Path, every: float) -> None:
    plan = replace(PLAN, report_seconds=every)
    stream = io.StringIO()
    rows = CsvWriter(stream.write, every, plan.percentiles)
    for number in TICKS:
        rows.tick(sampled(number).tick)
    assert "".join(csv_text(load_run(recorded(tmp_path / "r1", plan, {})))) == stream.getvalue()


def test_a_run_that_was_cut_short_has_the_summary_of_its_samples(tmp_path: Path) -> None:
    directory = recorded(tmp_path / "r1", replace(PLAN, histogram=True), {})
    (directory / "summary.json").unlink()
    (directory / "reports.jsonl").unlink()
    text = final_report(load_run(directory))
    assert histogram_text(merge_histograms(load(number).hist("response") for number in TICKS)) in text
    assert "    transactions:                        257 " in text


def test_a_report_goes_through_json_as_it_is() -> None:
    report = full_report()
    assert msgspec.json.decode(msgspec.json.encode(report), type=FullReport) == report


# The report of a slap beside mysqlslap's own, numbers masked.


DONE = SlapBenchmark(
    engine="innodb",
    load_type="mixed",
    clients=2,
    queries_per_client=20,
    seconds=(0.0089, 0.0071),
    queries=QueryTotals(read=36, write=44, other=0, total=80, per_second=5000.0),
    latency_ms=LATENCY,
    server={"Com_select": 36, "Com_insert": 44, "Slow_queries": 0},
)


def masked(text: str) -> str:
    return re.sub(r"\d+", "N", text)


def test_the_report_has_mysqlslaps_labels() -> None:
    made = [
        msgspec.structs.replace(DONE, engine=engine, clients=clients)
        for engine in ("innodb", "memory")
        for clients in (2, 4)
    ]
    assert masked("".join(map(slap_report_text, made))) == masked((DATA / "mysqlslap-report.txt").read_text())


def test_without_an_engine_there_is_no_such_line() -> None:
    own = msgspec.structs.replace(DONE, engine="", load_type=OWN_QUERIES)
    assert masked(slap_report_text(own)) == masked((DATA / "mysqlslap-report-query.txt").read_text())


def test_times_are_cut_to_milliseconds_as_mysqlslap_reckons() -> None:
    assert re.findall(r"[\d.]+ seconds", slap_report_text(DONE)) == [
        "0.007 seconds",
        "0.007 seconds",
        "0.008 seconds",
    ]


@pytest.mark.parametrize("load_type", ["mixed", OWN_QUERIES])
def test_the_row_is_mysqlslaps(load_type: str) -> None:
    row = slap_csv_row(msgspec.structs.replace(DONE, load_type=load_type))
    assert row == "innodb,mixed,0.007,0.007,0.008,2,20\n"
    assert masked(row) == masked((DATA / "mysqlslap.csv").read_text().splitlines(keepends=True)[0])


def test_what_mysqlslap_lacks() -> None:
    failing = msgspec.structs.replace(DONE, errors={"1213": 3}, retries=3)
    assert slap_extra_lines(failing) == [
        "2 clients, innodb: 5,000 queries/s (36 reads, 44 writes, 0 other)",
        "  query latency: p50 120.00, p95 590.56, p99 700.00, p99.9 789.00, max 789.19 ms",
        "  errors by code: 1213 × 3; queries retried: 3",
        "  the server counted: 36 selects, 44 inserts",
    ]
