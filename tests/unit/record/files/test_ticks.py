"""Lines of samples.jsonl: they tell all of a sample, and are short."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import load_part, sample
from tests.paths import DOCS
from tests.ticks import host_tick, traffic_tick
from tests.unit.record.written import detail, server_part, tick
from tuibench.model.histogram import Latency
from tuibench.model.measurements.sample import (
    CoarseHistogram,
    HostSample,
    LoadSample,
    Sample,
    ServerSample,
    SlowTransaction,
    TimedStatement,
)
from tuibench.record.files.schema import TickCounts
from tuibench.record.files.ticks import (
    DeltaCodec,
    HostLine,
    LoadLine,
    SampleLine,
    ServerLine,
    TickReader,
    TickWriter,
    TrafficLine,
    decode_latency,
    encode_latency,
)

SLOW = SlowTransaction(
    transaction="payment",
    response_ms=84.0,
    service_ms=80.0,
    statements=(TimedStatement("update", 2, 70.5, 50.25), TimedStatement("commit", 1, 9.0, 9.0, 1205)),
    at_seconds=1.0,
)
DOCUMENT = DOCS / "runs.md"
HOST = host_tick(
    cores=2,
    cpu_total=50.5,
    cpu_server=None,
    cpu_tuibench=3.0,
    memory_used_bytes=1,
    memory_total_bytes=2,
    disk_read_bytes_per_second=None,
    disk_write_bytes_per_second=0.0,
    net_received_bytes_per_second=0.5,
    net_sent_bytes_per_second=0.5,
    note="no pid file",
    cpu_by_core=(50.0, 51.0),
    disk_write_ms=0.25,
)
ONE = Latency(count=1, min=0.5, avg=0.5, p50=0.5, p95=0.5, p99=0.5, p999=0.5, max=0.5)
FEW = replace(ONE, count=9, min=0.1, avg=0.25, p50=0.2)


NOTHING = TickCounts()


def encoded(samples: list[Sample], counts: TickCounts = NOTHING) -> list[SampleLine]:
    """As a file has them."""
    writer = TickWriter()
    lines = [msgspec.json.encode(writer.line(each, counts)) for each in samples]
    return [msgspec.json.decode(line, type=SampleLine) for line in lines]


def decoded(lines: list[SampleLine]) -> list[Sample]:
    reader = TickReader()
    return [reader.sample(line) for line in lines]


def test_the_traffic_of_a_server_survives_a_round_trip() -> None:
    traffic = traffic_tick(
        seconds=1.0,
        transactions_per_second=5.0,
        rollbacks_per_second=0.5,
        queries_per_second=50.0,
        reads_per_second=30.0,
        writes_per_second=10.0,
        others_per_second=10.0,
        latency=FEW,
        latency_avg_ms=0.25,
        latency_note="by performance_schema",
        latency_buckets=CoarseHistogram(3, (1, 0, 2)),
    )
    silent = replace(traffic, latency=None, latency_buckets=None, latency_note="it is OFF")
    parts = [
        replace(sample(number), load=None, traffic=part)
        for number, part in enumerate((traffic, traffic, silent, traffic), 1)
    ]
    lines = encoded(parts)
    assert decoded(lines) == parts
    assert [line.traffic.latency_note for line in lines if line.traffic] == [
        "by performance_schema",
        None,
        "it is OFF",
        "by performance_schema",
    ]


def test_a_sample_survives_a_round_trip() -> None:
    whole = sample(
        1,
        load=load_part(
            service=FEW,
            by_transaction={"payment": FEW},
            statements={"commit": ONE, "payment": FEW},
            errors_by_code={"1213": 2},
            client_delay_ms=1.5,
            latency_buckets=CoarseHistogram(3, (1, 0, 2)),
            headline=0.0,
            slowest=(SLOW,),
        ),
        server=server_part(1, gauges={"Open_files": 3}, unavailable={"Binlog_bytes_written": "not granted"}),
        host=HOST,
    )
    parts = [replace(whole, number=number) for number in (1, 2, 3)]
    assert decoded(encoded(parts)) == parts


def test_of_the_slowest_transactions_the_first_is_kept_and_lost_names_cost_only_it() -> None:
    faster = replace(SLOW, response_ms=2.0)
    two = [sample(n, load=load_part(slowest=(SLOW, faster))) for n in (1, 2)]
    lines = encoded(two)
    first, second = decoded(lines)
    assert first.load is not None
    assert first.load.slowest == (SLOW,)
    assert second.load is not None
    (without,) = decoded(lines[1:])
    assert without.load is not None
    assert without.load.slowest == ()


def test_no_field_of_a_sample_is_forgotten() -> None:
    for part, line in (
        (Sample, SampleLine),
        (LoadSample, LoadLine),
        (ServerSample, ServerLine),
        (HostSample, HostLine),
    ):
        assert set(part.__struct_fields__) <= set(line.__struct_fields__)


def test_what_follows_from_the_counts_is_left_out() -> None:
    seen = detail(2)
    rates = {"transactions_per_second": 50.0, "queries_per_second": 1000.0, "reads_per_second": 700.0}
    rates |= {"writes_per_second": 200.0, "others_per_second": 100.0, "errors_per_second": 1.0}
    made = tick(2, seen)
    assert made.load is not None
    made = replace(made, load=replace(made.load, **rates, errors_by_code={"1213": 1}))
    (line,) = encoded([made], seen.counts)
    assert line.load is not None
    assert not {name for name in line.load.__struct_fields__ if name.endswith("_per_second")} & set(
        msgspec.to_builtins(line.load)
    )
    assert line.load.errors_by_code is msgspec.UNSET
    assert decoded([line]) == [made]


def test_names_are_written_when_there_is_a_new_one() -> None:
    statements: list[dict[str, Latency]] = [{"a": ONE}, {"a": ONE}, {"b": FEW, "a": ONE}, {"b": FEW}]
    samples = [sample(n, load=load_part(statements=each)) for n, each in enumerate(statements, 1)]
    lines = encoded(samples)
    assert [line.load and line.load.names for line in lines] == [("a",), (), ("a", "b"), ()]
    assert decoded(lines) == samples


def test_a_line_that_is_lost_never_gives_a_row_another_name() -> None:
    samples = [
        sample(n, load=load_part(statements=each))
        for n, each in enumerate([{"a": ONE}, {"a": ONE, "b": FEW}, {"a": ONE, "b": FEW}], 1)
    ]
    first, _, last = encoded(samples)
    assert [each.load and each.load.statements for each in decoded([first, last])] == [{"a": ONE}, {"a": ONE}]
    assert [each.load and each.load.statements for each in decoded([last])] == [{}]


def test_counters_without_their_names_are_skipped_until_the_next_complete_record() -> None:
    parts = [server_part(n) for n in (1, 2, 3)] + [server_part(1)]
    lines = encoded([sample(n, server=part) for n, part in enumerate(parts, 1)])
    found = [each.server and each.server.counters for each in decoded(lines[1:])]
    assert found == [{}, {}, parts[-1].counters]


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(-9, 9))), st.booleans())
def test_figures_come_back_as_they_were(states: list[dict[str, int]], falls: bool) -> None:
    writer, reader = DeltaCodec(falls=falls), DeltaCodec()
    assert [reader.decoded(writer.encoded(each)) for each in states] == states


@pytest.mark.parametrize(
    ("latency", "row"),
    [(None, ()), (ONE, (1, 500)), (FEW, (9, 100, 250, 200, 500))],
)
def test_a_row_ends_where_the_rest_is_the_same(latency: Latency | None, row: tuple[int, ...]) -> None:
    assert encode_latency(latency) == row
    assert decode_latency(row) == latency


@pytest.mark.parametrize(
    ("heading", "line"),
    [("The server's", ServerLine), ("The host's", HostLine), ("The traffic's", TrafficLine)],
)
def test_columns_are_documented_in_their_order(heading: str, line: type[msgspec.Struct]) -> None:
    (encoded,) = re.findall(
        rf"^{heading} columns: (.*?)\.$", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert tuple(re.findall(r"`(\w+)`", encoded)) == line.__struct_fields__
