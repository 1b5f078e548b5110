"""What is asked for in words becomes cases and variants, or is refused with what helps."""

from collections.abc import Callable

import pytest

from tuibench.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.model.results.sweep import SweepVariant
from tuibench.session.sweep.planning import (
    build_cases,
    build_variants,
    parse_profiles,
    parse_threads,
    with_loads,
)


def test_each_value_of_an_option_makes_a_case_of_its_own() -> None:
    cases = build_cases(["oltp_read_only"], {"table_size": "1000,20000", "tables": "2"}, 8)
    assert [case.name for case in cases] == [
        "oltp_read_only, table_size=1000",
        "oltp_read_only, table_size=20000",
    ]
    assert [case.options for case in cases] == [
        {"table_size": "1000", "tables": "2"},
        {"table_size": "20000", "tables": "2"},
    ]
    assert [case.size for case in cases] == ["2 × 1,000 rows", "2 × 20,000 rows"]
    assert cases[0].data != cases[1].data


def test_a_profile_takes_the_options_it_knows() -> None:
    given: dict[str, OptionValue] = {"tables": "2", "random_points": "5"}
    points, read = build_cases(["select_random_points", "oltp_read_only"], given, 1)
    assert points.options == given
    assert read.options == {"tables": "2"}


def test_profiles_on_the_same_tables_share_them() -> None:
    read, write = build_cases(["oltp_read_only", "oltp_write_only"], {"range_size": "10"}, 1)
    assert read.data == write.data


def test_presets_and_settings_are_combined() -> None:
    variants = build_variants("durable,unsafe", ["innodb_io_capacity=200,2000"])
    assert [variant.name for variant in variants] == [
        "durable 1/1, innodb_io_capacity=200",
        "durable 1/1, innodb_io_capacity=2000",
        "unsafe 0/0, innodb_io_capacity=200",
        "unsafe 0/0, innodb_io_capacity=2000",
    ]
    assert variants[3] == SweepVariant(
        name="unsafe 0/0, innodb_io_capacity=2000", preset="unsafe", settings={"innodb_io_capacity": "2000"}
    )


def test_variants_are_called_by_what_tells_them_apart() -> None:
    variants = build_variants("durable,unsafe", ["long_query_time=0.1"])
    assert [variant.name for variant in variants] == ["durable 1/1", "unsafe 0/0"]
    assert [variant.settings for variant in variants] == [{"long_query_time": "0.1"}] * 2
    several = build_variants("", ["long_query_time=0.1", "sync_binlog=0,1"])
    assert [variant.name for variant in several] == ["sync_binlog=0", "sync_binlog=1"]
    (alone,) = build_variants("", ["long_query_time=0.1", "sync_binlog=1"])
    assert alone.name == "long_query_time=0.1, sync_binlog=1"


def test_without_settings_the_server_is_used_unchanged() -> None:
    assert build_variants("", []) == (SweepVariant(name=""),)


def test_lists() -> None:
    assert parse_threads("4, 8,16") == (4, 8, 16)
    assert parse_profiles("oltp_read_only,oltp_write_only") == ("oltp_read_only", "oltp_write_only")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: parse_threads("4,x"), "--threads takes whole numbers"),
        (lambda: parse_threads("4,,8"), "separated by commas"),
        (lambda: parse_threads("4,4"), "--threads: 4 is given twice"),
        (lambda: build_cases(["oltp_read_only"], {"table_size": "10,000"}, 1), "commas separate values here"),
        (lambda: build_cases(["oltp_read_only"], {"tabel_size": "10"}, 1), "--table-size"),
        (lambda: build_cases(["oltp_read_only"], {"tables": "0,1"}, 1), "too small"),
        (lambda: build_cases(["oltp_raed_only"], {}, 1), "oltp_read_only"),
        (lambda: build_variants("durabel", []), "durable"),
        (lambda: build_variants("", ["sync_binlog"]), "NAME=V1,V2"),
        (lambda: build_variants("", ["sync_binlgo=1"]), "sync_binlog"),
        (lambda: build_variants("", ["sync_binlog=1", "sync-binlog=0"]), "given twice"),
        (lambda: build_variants("", ["sync_binlog="]), "separated by commas"),
    ],
)
def test_what_cannot_be_is_refused_with_what_helps(ask: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        ask()
    assert said in str(refusal.value)


def test_choices_of_a_profile_are_values_of_their_own() -> None:
    cases = build_cases(["oltp_read_only"], {"rand_type": "uniform,zipfian"}, 1)
    assert [case.options for case in cases] == [{"rand_type": "uniform"}, {"rand_type": "zipfian"}]
    assert [case.name for case in cases] == [
        "oltp_read_only, rand_type=uniform",
        "oltp_read_only, rand_type=zipfian",
    ]


def test_loads_are_combined_with_settings() -> None:
    variants = with_loads(
        build_variants("durable,unsafe", []), [("rate=100", {"rate": 100.0}), ("rate=200", {"rate": 200.0})]
    )
    assert [variant.name for variant in variants] == [
        "durable 1/1, rate=100",
        "durable 1/1, rate=200",
        "unsafe 0/0, rate=100",
        "unsafe 0/0, rate=200",
    ]
    assert variants[3].load == {"rate": 200.0}
    assert with_loads(build_variants("", []), [("", {})]) == build_variants("", [])
