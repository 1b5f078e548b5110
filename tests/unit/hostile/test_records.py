"""Bytes that a file may hold by accident or malice: understood, passed over, or refused in words."""

import base64
import contextlib
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import sweeps
from tests.paths import DATA
from tests.tables import for_each
from tuibench.base import config
from tuibench.base.errors import RunError, TuibenchError, UsageError
from tuibench.base.units import DASH, local_time
from tuibench.features.compare.comparison import compare_runs
from tuibench.features.tune.candidates import read_tune_log
from tuibench.model.schedule import parse_schedule
from tuibench.model.tick import Histogram, bucket_index
from tuibench.mysql.option_files import OptionFiles, read_options
from tuibench.record import hdr_log, reader, store
from tuibench.record.hdr_log import decode_histogram, encode_histogram
from tuibench.record.reader import Run, load_run
from tuibench.record.recorder import (
    EVENTS,
    HISTOGRAMS,
    PLAN,
    REPORTS,
    SAMPLES,
    STATUS,
    SUMMARY,
    PlanRecord,
    StatusLine,
)
from tuibench.record.sweep_folder import RECORD, RESULTS, SweepFolder, load_sweep
from tuibench.report.run_report import html_report, run_markdown
from tuibench.report.text import csv_text, sysbench_text
from tuibench.session.replay import ReplayClient
from tuibench.tuning.changer import ProductionConsent
from tuibench.tuning.journal import decode_journal
from tuibench.tuning.restore import leftovers
from tuibench.workload import library

# A stranger's run folder: what is beyond the limits of a record is refused with its file and line, and costs
# neither time nor memory.


MIB = 1 << 20
HEADER = struct.Struct(">IIIIQQd")
COMPRESSED, ENCODED, HOUR_US = 0x1C849314, 0x1C849313, 3_600_000_000
MOST_CPU_SECONDS, MOST_MIB = 30, 300


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "recorded-run", tmp_path / "run"))


def change(path: Path, number: int, /, **values: Any) -> None:
    """Other values in one line, counted from 1; `raw` replaces the line, `tick` is of a sample's tick."""
    is_compressed = path.suffix == ".gz"
    data = path.read_bytes()
    lines = (gzip.decompress(data) if is_compressed else data).decode().splitlines()
    raw, tick = values.pop("raw", None), values.pop("tick", None)
    if raw is None:
        known = json.loads(lines[number - 1])
        raw = json.dumps(known | values | ({} if tick is None else {"tick": known["tick"] | tick}))
    lines[number - 1] = raw
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if is_compressed else text)


def change_document(path: Path, **values: Any) -> None:
    """Other values in a file that is one document."""
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change_histogram(place: Path, payload: str, *, longest_ms: str = "") -> None:
    """Another payload in the ninth line."""
    path = place / HISTOGRAMS
    fields = path.read_text().splitlines()[8].split(",")
    fields[-2:] = longest_ms or fields[-2], payload or fields[-1]
    change(path, 9, raw=",".join(fields))


def packed(counts: bytes, *, digits: int = 3, offset: int = 0, length: int | None = None) -> str:
    inner = HEADER.pack(ENCODED, len(counts) if length is None else length, offset, digits, 1, HOUR_US, 1.0)
    return wrapped(zlib.compress(inner + counts, 9))


def wrapped(squeezed: bytes) -> str:
    return base64.b64encode(struct.pack(">II", COMPRESSED, len(squeezed)) + squeezed).decode()


def all_forms(run: Run) -> None:
    for text in ("".join(sysbench_text(run)), "".join(csv_text(run)), run_markdown(run), html_report(run)):
        assert text
    assert ReplayClient(run).hello.samples is not None


NOT_A_TIME = [1e15, -1e308]
LINES: dict[str, tuple[str, int, dict[str, Any], str]] = {
    **{f"elapsed {at:g}": (SAMPLES, 40, {"tick": {"end": at}}, f"is {at:g}") for at in NOT_A_TIME},
    "a time back": (SAMPLES, 31, {"tick": {"end": 3.25}}, "elapsed_seconds goes back from 30 to 3.25"),
    "not a number": (SAMPLES, 9, {"raw": '{"number":1,"at":1.0,"late_ms":NaN}'}, "malformed"),
    "wall clock": (SAMPLES, 12, {"at": -1e12}, "at is -1e+12"),
    "huge number": (SAMPLES, 12, {"number": 10**300}, "number is a number of 301 digits"),
    "deep": (SAMPLES, 4, {"raw": '{"tick":' * 100_000}, "recursion"),
    "wrong type": (SAMPLES, 7, {"slowest": {"a": 1}}, "Expected `array`, got `object`"),
    "no length": (SAMPLES, 7, {"tick": {"seconds": 1e-320}}, "seconds is 9.99989e-321"),
    "negative length": (SAMPLES, 7, {"tick": {"seconds": -3.0}}, "seconds is -3"),
    "no histogram": (SAMPLES, 7, {"tick": {"hists": {"trx.x": [1, 2, 3, 4]}}}, "trx.x is not a histogram"),
    "bucket beyond": (SAMPLES, 7, {"tick": {"hists": {"response": [1, 2, 3, 10**6, 4]}}}, "response is not"),
    "count below zero": (SAMPLES, 7, {"tick": {"hists": {"response": [1, 2, 3, 4, -4]}}}, "response is not"),
    "level": (SAMPLES, 7, {"tick": {"levels": {"threads": "many"}}}, "Expected `float`, got `str`"),
    "event": (EVENTS, 2, {"elapsed_seconds": 1e15}, "elapsed_seconds is 1e+15"),
    "long event": (EVENTS, 2, {"text": "x" * (1 << 18)}, "longer than 256 KiB"),
    "status": (STATUS, 2, {"at": 1e15}, "elapsed_seconds is"),
    "status number": (STATUS, 2, {"threads": 10**50}, "threads is a number of 51 digits"),
}


@pytest.mark.parametrize("case", LINES)
def test_a_line_is_left_out_and_named(place: Path, case: str) -> None:
    name, number, values, reason = LINES[case]
    change(place / name, number, **values)
    run = load_run(place)
    assert run.unreadable_lines == 1
    assert run.refusal.startswith(f"1 line of the record is left out: {name}, line {number}: ")
    assert reason in run.refusal


@pytest.mark.whole
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "cut short"])
@pytest.mark.parametrize("case", ["elapsed 1e+15", "no histogram", "event", "status"])
def test_a_run_without_a_line_is_reported(place: Path, case: str, is_whole: bool) -> None:
    name, number, values, _ = LINES[case]
    change(place / name, number, **values)
    if not is_whole:
        (place / SUMMARY).unlink()
    run = load_run(place)
    if is_whole:
        all_forms(run)
        assert f"{name}, line {number}" in html_report(run)
    assert "".join(sysbench_text(run))
    assert f"{name}, line {number}" in run_markdown(run)
    assert f"{name}, line {number}" in "".join(compare_runs([[run], [run]]).doubts)
    if name == SAMPLES and not is_whole:
        assert f"{name}, line {number}" in store.describe_run(place).error


def test_a_lost_sample_does_not_move_the_latencies_of_others(place: Path) -> None:
    before = {interval.end: interval.hists for interval in load_run(place).intervals()}
    change(place / SAMPLES, 20, tick={"end": 1e15})
    after = {interval.end: interval.hists for interval in load_run(place).intervals()}
    assert len(after) == len(before) - 1
    assert all(before[at] == hists for at, hists in after.items())


HISTOGRAMS_REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "bomb": ({"payload": packed(b"\2" * (2 << 20))}, "too large"),
    "truncated": ({"payload": packed(b"\2\4")[:-8]}, "truncated"),
    "not base64": ({"payload": "=*="}, "this is not a histogram"),
    "empty": ({"payload": "AAAA"}, "this is not a histogram"),
    "five digits": ({"payload": packed(b"\2", digits=5)}, "three significant digits"),
    "an offset": ({"payload": packed(b"\2", offset=3)}, "three significant digits"),
    "another length": ({"payload": packed(b"\2", length=2**31)}, "not in V2 encoding"),
    "open end": ({"payload": packed(b"\2\x80")}, "this is not a histogram"),
    "beyond an hour": ({"payload": packed(b"\xff\xff\x7f\2")}, "longer times than an hour"),
    "endless": ({"payload": "", "longest_ms": "inf"}, "not an interval of latencies: a latency of inf ms"),
    "late": ({"payload": "", "longest_ms": "1e300"}, "a latency of 1e.300 ms"),
}


@pytest.mark.parametrize("case", HISTOGRAMS_REFUSED)
def test_damaged_latencies_are_refused(place: Path, case: str) -> None:
    values, reason = HISTOGRAMS_REFUSED[case]
    change_histogram(place, **values)
    with pytest.raises(RunError, match=f"{HISTOGRAMS}, line 9: .*{reason}"):
        [line.histogram() for line in load_run(place).histograms()]


def test_the_rest_of_damaged_samples_is_left_out_and_named(place: Path) -> None:
    data = (place / SAMPLES).read_bytes()
    (place / SAMPLES).write_bytes(data[:-8] + bytes(8))
    run = load_run(place)
    damage = f"{SAMPLES}, line {len(run.samples) + 1}: the compressed data is damaged from here on"
    assert run.refusal == f"1 line of the record is left out: {damage}"
    assert len(run.samples) >= 38
    (place / SAMPLES).write_bytes(data[: len(data) // 2] + bytes(64) + data[len(data) // 2 :])
    run = load_run(place)
    assert 10 < len(run.samples) < 30
    assert run.unreadable_lines >= 1


def test_samples_that_are_too_large_when_decompressed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdr_log, "INFLATED_BYTES", 8 * MIB)
    (place / SAMPLES).write_bytes(gzip.compress(b" " * (16 * MIB)))
    with pytest.raises(RunError, match=rf"{SAMPLES}: it is too large when it is decompressed"):
        load_run(place)


def test_damaged_latencies_of_a_summary_are_refused(place: Path) -> None:
    change_document(place / SUMMARY, latency_histogram=packed(b"\2" * (1 << 20)))
    with pytest.raises(RunError, match=rf"{SUMMARY}: this is not a histogram"):
        load_run(place).latencies()


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        (PLAN, {"options": {"a": [1]}}, "Expected"),
        (PLAN, {"started_at": 1e308}, "started_at is 1e+308"),
        (SUMMARY, {"retries": 10**400}, "retries is a number of 401 digits"),
        (SUMMARY, {"warnings": ["w" * hdr_log.DOCUMENT_BYTES]}, "larger than 16 MiB"),
    ],
)
def test_documents(place: Path, name: str, values: dict[str, Any], reason: str) -> None:
    change_document(place / name, **values)
    with pytest.raises(RunError, match=name) as told:
        load_run(place)
    assert reason in str(told.value)
    assert reason in store.describe_run(place).error


@pytest.mark.parametrize("name", [PLAN, SUMMARY, SAMPLES, EVENTS, STATUS, REPORTS])
def test_named_pipes_are_refused(place: Path, name: str) -> None:
    (place / name).unlink()
    os.mkfifo(place / name)
    with pytest.raises(RunError, match=rf"{name}: not a regular file"):
        load_run(place)
    assert store.describe_run(place).id == "run"


def test_more_lines_than_a_record_has(place: Path) -> None:
    with (place / EVENTS).open("a") as stream:
        stream.write("{}\n" * hdr_log.EVENTS.lines)
    with pytest.raises(RunError, match=rf"{EVENTS}, line 50001: more than 50,000 lines"):
        load_run(place)


def test_more_values_than_a_record_has(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdr_log, "MOST_FIGURES", 100)
    with pytest.raises(RunError, match=r"samples\.jsonl\.gz: more than 100 values"):
        load_run(place)


def test_numbers_in_texts_are_no_numbers() -> None:
    assert hdr_log.number_refusal(b'{"text": "a, 1e99, 99999999999999999999"}') == ""
    assert hdr_log.number_refusal(b'{"a": [{"b": 1e99}]}') == "b is 1e+99"
    assert hdr_log.number_refusal(b'{"a": 18446744073709551615}') == ""
    assert (
        hdr_log.number_refusal(b'[18446744073709551617, -1e-30, "x"]') == "a value is a number of 20 digits"
    )


def test_a_sweep_and_a_screening(tmp_path: Path) -> None:
    for name in ("sweep.json", "tune.jsonl"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(UsageError, match=r"sweep\.json: not a regular file"):
        load_sweep(tmp_path)
    with pytest.raises(UsageError, match=r"no tune\.jsonl: not a regular file"):
        read_tune_log(tmp_path)
    (tmp_path / "tune.jsonl").unlink()
    (tmp_path / "tune.jsonl").write_text("[" * 100_000 + "\n")
    with pytest.raises(UsageError, match=r"tune\.jsonl, line 1 cannot be read"):
        read_tune_log(tmp_path)


def long_mark(place: Path) -> None:
    with (place / EVENTS).open("a") as stream:
        stream.write(json.dumps({"kind": "mark", "text": "\x01" * (1 << 20)}) + "\n")


def many_events(place: Path) -> None:
    first = (place / EVENTS).read_text().splitlines(keepends=True)[0]
    (place / EVENTS).write_text(first * 300_000)


def most_events(place: Path) -> None:
    first = json.loads((place / EVENTS).read_text().splitlines()[0]) | {"kind": "mark"}
    lines = (
        json.dumps(first | {"marker": number, "elapsed_seconds": number / 7}) for number in range(40_000)
    )
    (place / EVENTS).write_text("\n".join(lines) + "\n")


def long_axis(place: Path) -> None:
    change(place / SAMPLES, 40, tick={"end": hdr_log.LONGEST_SECONDS})


def bombs(place: Path) -> None:
    lines = gzip.decompress((place / SAMPLES).read_bytes())
    (place / SAMPLES).write_bytes(gzip.compress(lines + bytes(200 * MIB) + b"\n", 1))


def wide_histograms(place: Path) -> None:
    """As many buckets as there can be, in every line."""
    lines = (place / HISTOGRAMS).read_text().splitlines()
    payload = packed(b"\2" * 23_000)
    (place / HISTOGRAMS).write_text(
        "\n".join(
            line if line.startswith(("#", '"')) else f"{line.rpartition(',')[0]},{payload}" for line in lines
        )
        + "\n"
    )


WORKS = {long_mark: 0, many_events: 1, most_events: 0, long_axis: 0, bombs: 1, wide_histograms: 0}
"""What is done to a run, and the exit code of a report of it."""

REPORTS_IN_PROCESSES = f"""
import os, resource, sys
from tuibench.cli.main import main
from tuibench.cli import records
from tuibench.report import run_report
for place in sys.argv[1:]:
    if not (pid := os.fork()):
        resource.setrlimit(resource.RLIMIT_CPU, ({MOST_CPU_SECONDS}, {MOST_CPU_SECONDS}))
        os.dup2(os.open(place + ".err", os.O_WRONLY | os.O_CREAT), 2)
        sys.argv = ["tuibench", "report", place, "--html=" + place + ".html"]
        main()
    _, status, used = os.wait4(pid, 0)
    print(os.waitstatus_to_exitcode(status), used.ru_maxrss >> 10)
"""


@pytest.mark.whole
def test_time_and_memory(tmp_path: Path) -> None:
    """The command, with a limit on its processor time, writes the page, its largest form."""
    places = [Path(shutil.copytree(DATA / "recorded-run", tmp_path / work.__name__)) for work in WORKS]
    for work, place in zip(WORKS, places, strict=True):
        work(place)
        (place / SUMMARY).unlink()
    done = subprocess.run(
        [sys.executable, "-c", REPORTS_IN_PROCESSES, *map(str, places)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TUIBENCH_HOME": str(tmp_path)},
        text=True,
        check=True,
    )
    for (work, code), place, ended in zip(WORKS.items(), places, done.stdout.splitlines(), strict=True):
        told = Path(f"{place}.err").read_text()
        exit_code, used_mib = map(int, ended.split())
        assert exit_code == code, told
        assert "a bug" not in told
        assert used_mib < MOST_MIB, work
        assert (f"{EVENTS}, line " in told) is (work in (long_mark, many_events))
        assert ("too large when it is decompressed" in told) is (work is bombs)


def test_the_largest_histogram_is_read() -> None:
    full = Histogram(dict.fromkeys(range(bucket_index(HOUR_US) + 1), 2**50), 2**50 * 23_000)
    assert decode_histogram(encode_histogram(full)).counts == full.counts


# Broken records that once ended in an exception of Python's, each by itself.


def test_a_start_that_no_calendar_has(place: Path) -> None:
    change_document(place / PLAN, started_at=1e17)
    run = load_run(place)
    assert DASH in run_markdown(run).splitlines()[2]
    assert html_report(run)
    assert local_time(1e17) == DASH


def test_a_status_with_a_field_missing(place: Path) -> None:
    path = place / STATUS
    first, *rest = path.read_text().splitlines()
    told = json.loads(first)
    del told["workers"]
    path.write_text("\n".join((json.dumps(told), *rest)) + "\n")
    assert list(sysbench_text(load_run(place)))


# Whatever bytes a file of ours holds: it is understood, passed over, or refused in words.


def journal(path: Path) -> object:
    return decode_journal(path.read_bytes(), str(path))


def claimed(path: Path) -> object:
    path.rename(path.with_name("a.jsonl"))
    return leftovers(path.parent)


def record_lines(path: Path) -> object:
    return list(reader.JsonLines().of(path, StatusLine, hdr_log.STATUS))


def sweep(path: Path) -> object:
    """These results of a sweep whose record is whole, then a sweep with this record."""
    whole = path.parent / "whole"
    SweepFolder.create(whole, sweeps.record()).close()
    (whole / RESULTS).write_bytes(path.read_bytes())
    with contextlib.suppress(TuibenchError):
        load_sweep(whole)
    path.rename(path.with_name(RECORD))
    return load_sweep(path.parent)


READERS: dict[str, Callable[[Path], object]] = {
    "journal": journal,
    "leftover": claimed,
    "record": lambda path: reader.read_document(path, PlanRecord),
    "lines": record_lines,
    "consent": lambda path: ProductionConsent(path).is_given("box"),
    "configuration": lambda path: config.read_section("screen", path),
    "sweep": sweep,
    "plan": lambda path: parse_schedule(path.read_text(encoding="utf-8", errors="replace")),
    "profile": lambda path: library.load_profile(str(path)),
    "option file": lambda path: read_options(OptionFiles(str(path))),
}

ODD = {
    "no UTF-8": b'{"\xff": 1}\n\n',
    "deep JSON": b'{"options": ' + b"[" * 5000 + b"\n\n",
    "a long number": b"x = " + b"9" * 5000 + b"\n",
    "deep TOML": b"x = " + b"[" * 5000 + b"\n",
    "includes of no name": b"[client]\n!include a\0b\n!includedir ~nobody-we-know/x\n",
    "nothing": b"",
}


def read(name: str, data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.toml"
        path.write_bytes(data)
        with contextlib.suppress(TuibenchError):
            READERS[name](path)


@for_each("data", ODD.values())
@for_each("name", READERS)
def test_what_is_odd(name: str, data: bytes) -> None:
    read(name, data)


@pytest.mark.whole
@pytest.mark.parametrize("name", READERS)
@given(data=st.binary(max_size=200) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
@example(data=b"\xff\n")
def test_any_bytes(name: str, data: bytes) -> None:
    read(name, data)
