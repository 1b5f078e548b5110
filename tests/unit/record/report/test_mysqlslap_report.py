"""The report of a slap beside mysqlslap's own, numbers masked."""

import re

import msgspec
import pytest

from tests.examples import LATENCY
from tests.paths import DATA
from tuibench.model.results.summary import OWN_QUERIES, QueryTotals, SlapBenchmark
from tuibench.record.report.mysqlslap_report import slap_csv_row, slap_extra_lines, slap_report_text

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
