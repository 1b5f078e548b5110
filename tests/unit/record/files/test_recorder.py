"""The run directory: what is in it at every moment, and that it holds no password."""

import errno
import io
from pathlib import Path

import msgspec
import pytest

from tests.examples import EVENT, PLAN, SERVER, load_part, sample, status, summary
from tuibench.errors import RunError
from tuibench.model.event import Event
from tuibench.model.results.summary import Summary
from tuibench.model.target import Target
from tuibench.record.files.recorder import SAMPLES, RunRecorder, pretty_json
from tuibench.record.files.schema import PlanRecord
from tuibench.record.files.ticks import InflatedFile, LineCompressor, SampleLine

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
