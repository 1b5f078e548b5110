"""Recording: ticks, HDR logs, size."""

import errno
import gzip
import io
from pathlib import Path

import msgspec
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import EVENT, PLAN, SERVER, load_part, sample, status, summary
from tests.ticks import host_tick, traffic_tick
from tests.unit.record.hours import Busy, written_hour
from tests.unit.record.written import as_recorded, server_part
from tuibench.base.errors import RunError
from tuibench.model.event import Event
from tuibench.model.server import Target
from tuibench.model.summary import Summary
from tuibench.model.tick import (
    Histogram,
    Latency,
    Sample,
    SlowTransaction,
    Tick,
    TimedStatement,
    bucket_upper_bound,
)
from tuibench.record import hdr_log
from tuibench.record.hdr_log import HIGHEST_US, decode_histogram, encode_histogram
from tuibench.record.reader import load_run
from tuibench.record.recorder import HISTOGRAMS as SIZE_HISTOGRAMS
from tuibench.record.recorder import (
    SAMPLES,
    InflatedFile,
    LineCompressor,
    PlanRecord,
    RunRecorder,
    SampleLine,
    decode_sample,
    decoded,
    encode_sample,
    is_histogram,
    packed,
    pretty_json,
    unpacked,
)

# The run directory: what is in it at every moment, and that it holds no password.


TARGET = Target(host="db", user="ann", password="secret")
RECORD = PlanRecord(session="s1", started_at=1.0, plan=PLAN, target=TARGET.without_password(), server=SERVER)


@pytest.fixture
def recorder(tmp_path: Path) -> RunRecorder:
    made = RunRecorder(tmp_path / "runs" / "s1")
    made.open(RECORD)
    return made


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def sample_lines(directory: Path) -> list[bytes]:
    with (directory / SAMPLES).open("rb") as stream:
        return io.BufferedReader(InflatedFile(stream)).readlines()


def test_the_plan_is_there_from_the_start(recorder: RunRecorder) -> None:
    plan = (recorder.directory / "plan.json").read_bytes()
    assert msgspec.json.decode(plan, type=PlanRecord) == RECORD
    assert b"secret" not in plan
    recorder.close()


def test_each_line_is_on_disk_before_the_next(recorder: RunRecorder) -> None:
    for number in (1, 2, 3):
        recorder.sample(sample(number))
        written = sample_lines(recorder.directory)
        assert [msgspec.json.decode(line, type=SampleLine).number for line in written] == list(
            range(1, number + 1)
        )
    recorder.event(EVENT)
    (line,) = lines(recorder.directory / "events.jsonl")
    assert msgspec.json.decode(line, type=Event) == EVENT
    recorder.close()


def test_the_summary_reads_back_under_its_schema(recorder: RunRecorder) -> None:
    recorder.summary(summary())
    recorder.close()
    written = (recorder.directory / "summary.json").read_bytes()
    assert msgspec.json.decode(written, type=Summary) == summary()
    assert msgspec.json.decode(written)["schema"] == "tuibench.summary/1"


def test_json_is_indented_and_ends_in_a_newline() -> None:
    assert pretty_json(summary()).startswith(b'{\n  "type": "summary",\n  "schema": "tuibench.summary/1",\n')
    assert pretty_json(summary()).endswith(b"}\n")


def test_the_json_has_the_keys_that_scripts_rely_on() -> None:
    figures = msgspec.json.decode(pretty_json(summary(statements={})))
    promised = {
        "profile": None,
        "threads": None,
        "seconds": None,
        "transactions": {"total", "per_second"},
        "queries": {"read", "write", "other", "total", "per_second"},
        "errors": {"total", "by_code"},
        "retries": None,
        "reconnects": None,
        "latency_ms": {"min", "avg", "p50", "p95", "p99", "p999", "max"},
        "statements": None,
        "server": {"version", "flavour", "deltas"},
        "reconciliation": {"questions_client", "questions_server", "own", "foreign"},
        "client": {"workers", "cpu_share", "limited"},
        "events": None,
        "warnings": None,
    }
    for key, inner in promised.items():
        assert key in figures
        assert inner is None or inner <= figures[key].keys()


def test_a_place_that_cannot_be_written_is_named_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot write the run's record to .*--run-dir"):
        RunRecorder(tmp_path / "file" / "s1").open(RECORD)


def test_a_record_that_is_there_already_is_not_overwritten(recorder: RunRecorder) -> None:
    recorder.close()
    with pytest.raises(RunError, match="cannot write"):
        RunRecorder(recorder.directory).open(RECORD)


def test_before_it_is_open_and_after_a_failed_open_there_is_nothing_to_write_to(tmp_path: Path) -> None:
    never = RunRecorder(tmp_path / "never")
    never.sample(sample())
    never.event(EVENT)
    never.close()
    assert not never.directory.exists()


def test_a_disk_that_is_full_ends_the_record_and_not_the_run(tmp_path: Path) -> None:
    told: list[str] = []
    recorder = RunRecorder(tmp_path / "s1", told.append)
    recorder.open(RECORD)
    recorder._streams[SAMPLES].close()
    recorder._streams[SAMPLES] = Path("/dev/full").open("wb")  # noqa: SIM115
    recorder._samples = LineCompressor(recorder._streams[SAMPLES])
    for number in (1, 2):
        recorder.sample(sample(number))
    recorder.event(EVENT)
    recorder.close()
    (text,) = told
    assert "the record of this run ends here" in text
    assert "No space left" in text
    assert not lines(recorder.directory / "events.jsonl")


def test_no_half_summary_is_left_on_a_full_disk(
    recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    recorder.summary(summary())
    assert not [path.name for path in recorder.directory.iterdir() if "summary" in path.name]


def test_an_event_takes_what_came_before_it_to_the_disk(
    recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    files = {stream.fileno() for stream in recorder._streams.values()}
    recorder.sample(sample(1))
    assert not synced
    recorder.event(EVENT)
    assert recorder._synced is not None
    recorder._synced.result(10)
    assert set(synced) == files
    recorder.close()


def test_fractions_are_short_but_for_those_that_are_printed(recorder: RunRecorder) -> None:
    third = 1 / 3
    recorder.sample(sample(1, elapsed_seconds=third, load=load_part(seconds=third, worker_cpu=third)))
    recorder.close()
    (line,) = sample_lines(recorder.directory)
    tick = msgspec.json.decode(line)["tick"]
    assert (tick["end"], tick["seconds"], tick["peaks"]["worker_cpu"]) == (third, third, 0.3333333)


def test_a_status_is_written_as_far_as_it_changed(recorder: RunRecorder) -> None:
    for now in (status(), status(), status(threads=9), status(threads=9, warnings=("w",))):
        recorder.status(5.0, now)
    recorder.close()
    first, *later = map(msgspec.json.decode, lines(recorder.directory / "status.jsonl"))
    assert first["threads"] == 8
    assert later == [{"at": 5.0, "threads": 9}, {"at": 5.0, "warnings": ["w"]}]


# Lines of samples.jsonl.gz: they tell all of a sample, are short, and are read as far as they are intact.


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


# An hour at a tick a second stays small, however many statements and kinds of transactions there are.


TICKS, HOUR = 20, 3600


@pytest.mark.parametrize(
    ("profile", "per_second", "most_bytes"), [("tpcc", 200, 18_500_000), ("oltp_read_write", 500, 12_000_000)]
)
def test_an_hour_stays_small(tmp_path: Path, profile: str, per_second: int, most_bytes: int) -> None:
    folder = written_hour(tmp_path / "r1", profile, per_second, ticks=TICKS)
    size = sum((folder / name).stat().st_size for name in (SAMPLES, SIZE_HISTOGRAMS))
    assert size / TICKS * HOUR <= most_bytes
    run = load_run(folder)
    assert (len(run.measured), run.unreadable_lines) == (TICKS, 0)


# The log of latencies is read by HdrHistogram's own reader, with the same figures.


FAST, HDR_LOG_SLOW = Histogram.of([500, 900, 4_000]), Histogram.of([90_000, 2_000_000])
TEXT = (
    hdr_log.log_header(1_700_000_000.25)
    + hdr_log.log_lines(0.0, 1.0, hdr_log.by_tag(FAST, FAST, {"new order, old": FAST}))
    + hdr_log.log_lines(1.0, 0.5, hdr_log.by_tag(HDR_LOG_SLOW, Histogram(), {}))
    + hdr_log.log_lines(1.5, 1.0, hdr_log.by_tag(Histogram(), Histogram(), {}))
)


def test_another_reader_finds_the_same_intervals(tmp_path: Path) -> None:
    path = tmp_path / "log.hlog"
    path.write_text(TEXT)
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000, 3))
    found = []
    while (interval := reader.get_next_interval_histogram()) is not None:
        found.append(interval)
    reader.close()
    tags = [interval.get_tag() for interval in found]
    assert tags == [None, "service", "transaction:new_order__old", None, None]
    for interval, ours in zip(found, (FAST, FAST, FAST, HDR_LOG_SLOW, Histogram()), strict=True):
        assert interval.get_total_count() == ours.count
        if ours.count:
            assert interval.get_value_at_percentile(50) == ours.percentiles((50,))[0]
            assert interval.get_max_value() >= ours.max_us
    assert reader.get_start_time_sec() == 1_700_000_000.25
    assert found[0].get_start_time_stamp() == 1_700_000_000_250
    assert found[3].get_end_time_stamp() == 1_700_000_001_750


def test_what_is_written_is_parsed() -> None:
    lines = [line for each in TEXT.splitlines() if (line := hdr_log.parse_line(each))]
    assert [(line.tag, line.start_seconds, line.seconds) for line in lines] == [
        ("", 0.0, 1.0),
        ("service", 0.0, 1.0),
        ("transaction:new_order__old", 0.0, 1.0),
        ("", 1.0, 0.5),
        ("", 1.5, 1.0),
    ]
    assert [line.histogram().counts for line in lines] == [
        each.counts for each in (FAST, FAST, FAST, HDR_LOG_SLOW, Histogram())
    ]
    assert lines[3].max_us == 2_000_000


@pytest.mark.parametrize("line", ["", "\n", "#[comment]\n", '"StartTimestamp","Interval_Length"\n'])
def test_comments_are_no_intervals(line: str) -> None:
    assert hdr_log.parse_line(line) is None


@pytest.mark.parametrize(
    "line",
    ["1.0,2.0", "a,b,c,d", "Tag=x", "1e300,1,1,H", "nan,1,1,H", "1,inf,1,H", "1,1,1e300,H", "1,1,-1,H"],
)
def test_a_line_that_is_no_interval_is_named(line: str) -> None:
    with pytest.raises(RunError, match=r"the log, line 7: this is not an interval"):
        hdr_log.parse_line(line, "the log, line 7")


# What a run leaves can be read by HdrHistogram's own tools, and by us.


LATENCIES = st.lists(st.integers(0, HIGHEST_US), max_size=50)


@given(LATENCIES)
def test_other_tools_can_read_the_encoding(values: list[int]) -> None:
    ours, theirs = Histogram.of(values), HdrHistogram.decode(encode_histogram(Histogram.of(values)))
    assert theirs.get_total_count() == len(values)
    read = {
        item.value_iterated_to: item.count_at_value_iterated_to for item in theirs.get_recorded_iterator()
    }
    assert read == {bucket_upper_bound(bucket): times for bucket, times in ours.counts.items()}


@given(LATENCIES)
def test_we_can_read_what_other_tools_wrote(values: list[int]) -> None:
    theirs = HdrHistogram(1, HIGHEST_US, 3)
    for value in values:
        theirs.record_value(value)
    assert decode_histogram(theirs.encode().decode()).counts == Histogram.of(values).counts


def test_large_counts_are_kept() -> None:
    many = Histogram({3_000: 2**40, 7: 300}, 2**40 + 300)
    assert decode_histogram(encode_histogram(many)).counts == many.counts
    assert HdrHistogram.decode(encode_histogram(many)).get_total_count() == many.count


@pytest.mark.parametrize("values", [[], [0], [1], [HIGHEST_US], [HIGHEST_US * 3], [0, 5_000_000_000]])
def test_no_latency_is_lost_at_the_ends(values: list[int]) -> None:
    """An hour and more is kept as an hour."""
    theirs = HdrHistogram.decode(encode_histogram(Histogram.of(values)))
    assert theirs.get_total_count() == len(values)


def test_sum_and_ends_come_from_whoever_knows_them() -> None:
    exact = Histogram.of([4_701, 250_001])
    text = encode_histogram(exact)
    assert decode_histogram(text, sum_us=exact.sum_us, min_us=exact.min_us, max_us=exact.max_us) == exact
    assert decode_histogram(text).max_us == bucket_upper_bound(max(exact.counts))


@pytest.mark.parametrize("text", ["", "HISTFAAA", "no base64!", encode_histogram(Histogram.of([5]))[:-8]])
def test_what_is_no_histogram_is_said(text: str) -> None:
    with pytest.raises(RunError, match="not a histogram"):
        decode_histogram(text)
