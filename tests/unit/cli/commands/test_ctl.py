"""`tuibench sessions` and `tuibench ctl` with sessions behind real sockets."""

import json
from pathlib import Path

import msgspec
import pytest

from tests.examples import load_part, sample, summary
from tests.unit.cli.program import Program
from tests.unit.cli.served import serving
from tuibench import paths
from tuibench.errors import ExitCode, UsageError
from tuibench.model.command import Mark, Pause, SetThreads, Stop
from tuibench.model.results.summary import Summary
from tuibench.session.service.unix_sockets import listen_unix, socket_path

FIRST, SECOND = "20260101-120000-oltp_read_write", "20260101-130000-tpcc"


# What runs


def test_sessions_are_listed_for_people_and_for_programs(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    with serving(monkeypatch, tuibench_home, FIRST, SECOND) as (first, _):
        first.session.past = [sample(1, load=load_part(transactions_per_second=481.25))]
        table, code = tuibench("sessions"), tuibench("sessions", "--format", "json")
    assert (table.code, table.err) == (ExitCode.DONE, "")
    heading, *rows = [line.split() for line in table.out.splitlines()]
    assert heading == ["session", "profile", "target", "state", "threads", "elapsed", "TPS", "viewers"]
    where = "app@localhost:3306"
    assert rows == [
        [FIRST, "oltp_read_write", where, "running", "8", "00:00", "481.2", "0"],
        [SECOND, "oltp_read_write", where, "running", "8", "00:00", "–", "0"],
    ]
    listed = json.loads(code.out)
    assert [line["session"] for line in listed] == [FIRST, SECOND]
    assert listed[0]["transactions_per_second"] == 481.25
    assert listed[1]["transactions_per_second"] is None
    assert listed[0]["socket"] == str(socket_path(FIRST))


def test_without_a_session_there_is_no_data(tuibench: Program) -> None:
    code, out, err = tuibench("sessions")
    assert (code, out) == (ExitCode.DONE, "")
    assert err == "no session is running (start one with tuibench live … or run … --detach)\n"
    assert tuibench("sessions", "--format=json") == (ExitCode.DONE, "[]\n", "")


def test_a_session_that_does_not_answer_is_listed_with_the_reason(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    monkeypatch.setattr("tuibench.session.service.registry.running_sessions.__defaults__", (0.1,))
    with listen_unix(socket_path("mute")):
        code, out, err = tuibench("sessions")
    assert code == ExitCode.DONE
    assert out.splitlines()[1].split() == ["mute", "–", "–", "no", "answer", "–", "–", "–", "–"]
    assert "does not answer" in err


# Steering


def test_a_command_reaches_its_session_and_the_answer_is_data(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    with serving(monkeypatch, tuibench_home, FIRST, SECOND) as (first, second):
        assert tuibench("ctl", "tpcc", "threads", "64") == (ExitCode.DONE, "did 1\n", "")
        assert tuibench("ctl", "20260101-12", "mark", "now", "it is") == (ExitCode.DONE, "did 1\n", "")
        assert second.session.submitted == [SetThreads(64)]
        assert first.session.submitted == [Mark("now it is")]
        assert first.session.viewer_pids == set()


def test_a_refusal_is_talk_and_exit_code_1(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    with serving(monkeypatch, tuibench_home, FIRST) as (served,):
        served.session.refusal = UsageError("threads must be more", "try 1")
        code, out, err = tuibench("ctl", "threads", "0")
    assert (code, out, err) == (ExitCode.RUN_FAILED, "", "tuibench: threads must be more (try 1)\n")


def test_no_session_is_exit_code_3_and_several_are_a_mistake(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    code, out, err = tuibench("ctl", "pause")
    assert (code, out) == (ExitCode.SERVER_UNAVAILABLE, "")
    assert err.startswith("tuibench: no session is running (")
    with serving(monkeypatch, tuibench_home, FIRST, SECOND):
        code, _, err = tuibench("ctl", "tppc", "pause")
        assert code == ExitCode.SERVER_UNAVAILABLE
        assert f"there is no session 'tppc' (did you mean '{SECOND}'?)" in err
        code, _, err = tuibench("ctl", "pause")
        assert code == ExitCode.USAGE_ERROR
        assert "several sessions match" in err


def test_an_answer_that_does_not_come_is_not_waited_for(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    with serving(monkeypatch, tuibench_home, FIRST) as (served,):
        served.session.answering.clear()
        code, _, err = tuibench("ctl", "pause", "--timeout", "0.1")
        assert served.session.submitted == [Pause()]
    assert code == ExitCode.SERVER_UNAVAILABLE
    assert "no reply within 0.1 s" in err


def test_status_shows_the_state_of_the_run(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    with serving(monkeypatch, tuibench_home, FIRST) as (served,):
        served.session.past = [sample(1), sample(2)]
        text = tuibench("ctl", "status").out
        told = json.loads(tuibench("ctl", "status", "--format=json").out)
    assert text.startswith(f"{FIRST}: running, 00:00 of 00:10, viewers: 0\n")
    assert (
        "oltp_read_write on MariaDB 10.11.19, app@localhost:3306\nthreads: 8\nTPS: 100.0, QPS: 2,000.0"
        in text
    )
    assert (told["schema"], told["state"], told["threads"]) == ("tuibench.status/1", "running", 8)
    assert told["sample"]["number"] == 2
    assert "password" not in json.dumps(told)


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_stop_that_waits_leaves_the_summary(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path, output: str
) -> None:
    with serving(monkeypatch, tuibench_home, FIRST) as (served,):
        served.session.stops_when_told = True
        code, out, err = tuibench("ctl", "stop", "--wait", "--format", output)
        assert served.session.submitted == [Stop()]
    assert code == ExitCode.DONE
    if output == "json":
        assert msgspec.json.decode(out, type=Summary) == summary()
    else:
        assert out == "the summary\n"
    assert served.session.spec.run_directory in err
    assert list(paths.runtime_dir().iterdir()) == []


def test_the_exit_code_of_the_run_is_that_of_the_stop_that_waits(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, tuibench_home: Path
) -> None:
    with serving(monkeypatch, tuibench_home, FIRST) as (served,):
        served.session.stops_when_told = True
        served.session.watcher.lifecycle.exit_code = ExitCode.SERVER_UNAVAILABLE
        assert tuibench("ctl", "stop", "--wait").code == ExitCode.SERVER_UNAVAILABLE
