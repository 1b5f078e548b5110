"""sysbench's latency histogram: its buckets, its rounding, its layout.

tests/data/sysbench-histogram.txt is what sysbench 1.0.20 printed with --histogram on a MariaDB.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import DATA
from tuibench.model.histogram import Histogram
from tuibench.record.sysbench_report import (
    BUCKETS,
    HIGHEST_MS,
    HISTOGRAM_HEAD,
    LOWEST_MS,
    histogram_text,
    sysbench_bucket,
    sysbench_bucket_ms,
)

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
