"""Lines of samples.jsonl.gz: they tell all of a sample, are short, and are read as far as they are intact."""

import gzip
import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import load_part, sample
from tests.ticks import host_tick, traffic_tick
from tests.unit.record.hours import Busy
from tests.unit.record.written import as_recorded, server_part
from tuibench.model.histogram import Histogram, Latency
from tuibench.model.measurements.sample import Sample, SlowTransaction, TimedStatement
from tuibench.model.tick import Tick
from tuibench.record.files.ticks import (
    InflatedFile,
    LineCompressor,
    SampleLine,
    decode_sample,
    decoded,
    encode_sample,
    is_histogram,
    packed,
    unpacked,
)

SLOW = SlowTransaction(
    transaction="payment",
    response_ms=84.0,
    service_ms=80.0,
    statements=(TimedStatement("update", 2, 70.5, 50.25), TimedStatement("commit", 1, 9.0, 9.0, 1205)),
    at_seconds=1.0,
)
HOST = host_tick(
    seconds=0.5,
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
HISTOGRAMS = st.lists(st.integers(0, 3_600_000_000), max_size=50).map(Histogram.of)


def through_json(made: Sample) -> Sample:
    return decoded(decode_sample(msgspec.json.decode(encode_sample(made), type=SampleLine)))


@pytest.mark.parametrize("note", ["by performance_schema", "it is OFF"])
@pytest.mark.parametrize("latency", [FEW, None])
def test_the_traffic_of_a_server_survives_a_round_trip(note: str, latency: Latency | None) -> None:
    traffic = traffic_tick(
        seconds=3.0,
        transactions_per_second=5.0,
        rollbacks_per_second=1.0,
        queries_per_second=50.0,
        reads_per_second=30.0,
        writes_per_second=10.0,
        others_per_second=10.0,
        latency=latency,
        latency_avg_ms=0.25,
        latency_note=note,
    )
    made = sample(load=None, traffic=traffic)
    assert through_json(made) == made
    assert made.traffic is not None
    assert made.traffic.missing["latency"] == note


def test_a_sample_survives_a_round_trip() -> None:
    made = sample(
        1,
        load=load_part(
            seconds=0.5,
            service=FEW,
            by_transaction={"payment": FEW},
            statements={"commit": ONE, "payment": FEW},
            errors_by_code={"1213": 2},
            client_delay_ms=1.5,
            headline=0.0,
        ),
        server=server_part(2, gauges={"Open_files": 3}, unavailable={"Binlog_bytes_written": "not granted"}),
        host=HOST,
        slowest=(SLOW,),
    )
    made = replace(made, tick=replace(made.tick, arrears={"completed": 3, "error.1205": 1}))
    assert through_json(made) == as_recorded(made)


def test_a_busy_second_survives_to_seven_digits() -> None:
    made = Busy("tpcc", 200).tick(1)
    read = through_json(made)
    assert read.tick.sums == pytest.approx(made.tick.sums, rel=5e-7)
    assert read.tick.peaks == pytest.approx(made.tick.peaks, rel=5e-7)
    kept = as_recorded(made)
    assert replace(read, tick=replace(read.tick, sums={}, peaks={})) == replace(
        kept, tick=replace(kept.tick, sums={}, peaks={})
    )


def test_of_the_slowest_transactions_the_first_is_kept() -> None:
    assert through_json(sample(slowest=(SLOW, replace(SLOW, response_ms=2.0)))).slowest == (SLOW,)


@pytest.mark.parametrize(("part", "line"), [(Sample, SampleLine), (Tick, SampleLine.__annotations__["tick"])])
def test_no_field_is_forgotten(part: type[msgspec.Struct], line: type[msgspec.Struct]) -> None:
    assert set(part.__struct_fields__) <= set(line.__struct_fields__)


def test_nothing_that_is_empty_is_written() -> None:
    told = msgspec.json.decode(encode_sample(Sample(number=1, at=2.0, late_ms=0.5, tick=Tick(end=3.0))))
    assert told == {"type": "sample", "number": 1, "at": 2.0, "late_ms": 0.5, "tick": {"end": 3.0}}


@given(HISTOGRAMS)
def test_a_histogram_comes_back_as_it_was(histogram: Histogram) -> None:
    assert is_histogram(packed(histogram))
    assert unpacked(packed(histogram)) == histogram


@pytest.mark.parametrize("row", [(), (1, 2), (1, 2, 3, 4), (1, 2, 3, -4, 1), (1, 2, 3, 40_001, 1)])
def test_a_list_that_is_no_histogram_is_known(row: tuple[int, ...]) -> None:
    assert not is_histogram(msgspec.Raw(msgspec.json.encode(row)))


LINES = [encode_sample(Busy("oltp_read_write", 50, seed).tick(seed)) for seed in (1, 2, 3)]


def compressed(*, closed: bool = True) -> tuple[bytes, list[int]]:
    """Some lines, and the length of the file after each."""
    stream, ends = io.BytesIO(), []
    compressor = LineCompressor(stream)
    for line in LINES:
        compressor.write(line)
        ends.append(stream.tell())
    if closed:
        compressor.close()
    return stream.getvalue(), ends


def inflated(data: bytes) -> list[bytes]:
    return io.BufferedReader(InflatedFile(io.BytesIO(data))).readlines()


def test_a_closed_file_is_read_by_gzip() -> None:
    data, _ = compressed()
    assert gzip.decompress(data) == b"".join(LINES)
    assert inflated(data) == LINES


def test_every_line_is_there_once_it_is_written() -> None:
    data, ends = compressed(closed=False)
    for number, end in enumerate(ends, 1):
        assert inflated(data[:end]) == LINES[:number]


@given(st.data())
def test_of_a_file_that_is_cut_off_the_lines_before_are_read(drawn: st.DataObject) -> None:
    data, ends = compressed()
    length = drawn.draw(st.integers(0, len(data)))
    whole = [line for line in inflated(data[:length]) if line.endswith(b"\n")]
    there = sum(end <= length for end in ends)
    assert whole == LINES[: len(whole)]
    assert len(whole) >= there


def test_what_follows_the_end_is_no_part_of_it() -> None:
    data, _ = compressed()
    assert inflated(data + b"\0" * 100_000) == inflated(data + data) == LINES


def test_damage_and_a_cut_are_not_the_same() -> None:
    data, _ = compressed()
    for spoilt, is_damaged in ((data[:-8] + bytes(8), True), (data[:-8], False), (data, False)):
        file = InflatedFile(io.BytesIO(spoilt))
        io.BufferedReader(file).read()
        assert file.is_damaged is is_damaged


def test_a_small_file_does_not_become_a_large_one() -> None:
    bomb = InflatedFile(io.BytesIO(gzip.compress(bytes(1 << 20))), limit=1 << 19)
    with pytest.raises(OSError, match="too large"):
        io.BufferedReader(bomb).readline()
