"""The command `ctl`."""

import json
import typing
from pathlib import Path

import msgspec
import pytest

from tests.examples import hello, load_part, sample, status, summary
from tests.tables import for_each
from tests.tui.support.script import PLAN
from tests.unit.cli.program import Program
from tests.unit.cli.served import serving
from tuibench.base import paths
from tuibench.base.errors import ExitCode, UsageError
from tuibench.base.unix_sockets import listen_unix, socket_path
from tuibench.cli import sessions
from tuibench.cli.sessions import session_status, status_text
from tuibench.model import message as model
from tuibench.model.message import (
    ApplyPreset,
    ChangeSetting,
    CloseConnection,
    Command,
    CrashServer,
    HoldPlan,
    KeepBlackBox,
    KeepSettings,
    KillQuery,
    Mark,
    NextStep,
    Pause,
    RecordCpuProfile,
    ResetStats,
    RestoreSettings,
    Resume,
    ResumePlan,
    RunSql,
    SetCallers,
    SetDelay,
    SetHardware,
    SetPlan,
    SetRate,
    SetThreads,
    SetWeights,
    StartAbTest,
    StartBurst,
    StartProbe,
    StartTune,
    Stop,
    StopExperiment,
    TrustServer,
    Undo,
    Watch,
)
from tuibench.model.probe import ProbeOrder
from tuibench.model.schedule import PlanPhase, Quantity, parse_schedule
from tuibench.model.summary import Summary
from tuibench.model.tune import TunePlan

# `tuibench sessions` and `tuibench ctl` with sessions behind real sockets.


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
    monkeypatch.setattr("tuibench.session.registry.running_sessions.__defaults__", (0.1,))
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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "plan: 16:24s,32:9s,64:2m, stage 2 of 3, running, 64 threads in 00:41"),
        ({"phase": PlanPhase.HELD, "following": ""}, "stage 2 of 3, held, ends in 00:41"),
        ({"phase": PlanPhase.OVER}, "plan: 16:24s,32:9s,64:2m, over"),
    ],
)
def test_the_status_shows_the_position_in_the_plan(changes: dict[str, object], words: str) -> None:
    told = hello(status=status(plan=msgspec.structs.replace(PLAN, **changes), client_delay_ms=20))
    assert words in status_text(told)
    assert "simulated network delay: 20ms" in status_text(told)
    assert msgspec.json.decode(msgspec.json.encode(session_status(told)))["plan"]["stage"] == 2


# Words of `ctl` into Commands, and what is said of words that make none.


LINES: dict[str, Command] = {
    "threads 64": SetThreads(64),
    "threads 1,024": SetThreads(1024),
    "rate 0.5": SetRate(0.5),
    "rate 2,500": SetRate(2500),
    "weights new_order=50 payment=10": SetWeights({"new_order": 50, "payment": 10}),
    "delay 20ms": SetDelay(20),
    "delay 500us": SetDelay(0.5),
    "disk fsync=2ms,iops=500": SetHardware("fsync=2ms,iops=500"),
    "cpus 1.5": SetHardware("cpus=1.5"),
    "memory 1G": SetHardware("memory=1G"),
    "deadline 200ms": SetCallers("deadline", "200ms"),
    "attempts 3": SetCallers("attempts", "3"),
    "backoff 50ms,x2": SetCallers("backoff", "50ms,x2"),
    "on-deadline kill": SetCallers("on-deadline", "kill"),
    "queue lifo": SetCallers("queue", "lifo"),
    "retry-budget 10%": SetCallers("retry-budget", "10%"),
    "breaker off": SetCallers("breaker", "off"),
    "plan 8:30s,16:30s": SetPlan(parse_schedule("8:30s,16:30s")),
    "plan 1..64/1m doubling": SetPlan(parse_schedule("1..64/1m doubling")),
    "plan rate 5:1m": SetPlan(parse_schedule("rate 5:1m")),
    "plan hold": HoldPlan(),
    "plan resume": ResumePlan(),
    "probe": StartProbe(),
    "probe p95<20ms": StartProbe(ProbeOrder(slo=("p95<20ms",))),
    "probe rate": StartProbe(ProbeOrder(by=Quantity.RATE)),
    "probe rate p95<20ms": StartProbe(ProbeOrder(by=Quantity.RATE, slo=("p95<20ms",))),
    "probe next": NextStep(),
    "probe stop": StopExperiment("probe"),
    "ab sync_binlog=1,0": StartAbTest(subject="sync_binlog", a="1", b="0"),
    "ab preset=durable,unsafe ±5% 2m": StartAbTest(
        subject="preset", a="durable", b="unsafe", tolerance_percent=5, max_seconds=120
    ),
    "ab stop": StopExperiment("ab"),
    "tune": StartTune(),
    "tune flushing 5m ±3% allow-risk": StartTune(
        TunePlan(budget_seconds=300.0, only=("flushing",), tolerance_percent=3.0, allow_risk=True)
    ),
    "tune stop": StopExperiment("tune"),
    "set sync_binlog=0": ChangeSetting("sync_binlog", "0"),
    "set sync_binlog 0": ChangeSetting("sync_binlog", "0"),
    "set innodb_buffer_pool_size=256M": ChangeSetting("innodb_buffer_pool_size", "256M"),
    "preset unsafe": ApplyPreset("unsafe"),
    "restore": RestoreSettings(),
    "restore sync_binlog long_query_time": RestoreSettings(("sync_binlog", "long_query_time")),
    "keep": KeepSettings(),
    "keep sync_binlog long_query_time": KeepSettings(("sync_binlog", "long_query_time")),
    "yes-this-server": TrustServer(),
    "kill 17": KillQuery(17),
    "close-connection 17": CloseConnection(17),
    "pause": Pause(),
    "resume": Resume(),
    "mark": Mark(),
    "mark before the index": Mark("before the index"),
    "undo": Undo(),
    "run-sql ALTER TABLE t FORCE": RunSql("ALTER TABLE t FORCE"),
    "cpu-profile": RecordCpuProfile(60),
    "cpu-profile 30s": RecordCpuProfile(30),
    "cpu-profile stop": RecordCpuProfile(0),
    "blackbox": KeepBlackBox(),
    "blackbox why so slow": KeepBlackBox("why so slow"),
    "burst x3 8s": StartBurst(3, 8),
    "burst x1.5,1m": StartBurst(1.5, 60),
    "burst stop": StopExperiment("burst"),
    "crash": CrashServer(),
    "reset": ResetStats(),
    "stop": Stop(),
}
UNSPOKEN = {Watch}
"""Only a screen that shows the activity asks for it."""


@for_each(("line", "command"), LINES.items())
def test_each_line_is_its_command(line: str, command: Command) -> None:
    session, name, rest = sessions.split_words(line.split())
    assert session == ""
    assert sessions.VERBS_BY_NAME[name].command(rest) == command


def test_every_command_can_be_said() -> None:
    assert {type(command) for command in LINES.values()} == set(typing.get_args(model.Command)) - UNSPOKEN
    assert {line.split()[0] for line in LINES} == set(sessions.VERBS_BY_NAME)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("threads", "it takes one value, not 0"),
        ("threads 1 2", "it takes one value, not 2"),
        ("threads 1.5", "'1.5' is not a whole number"),
        ("rate much", "'much' is not a number"),
        ("set", "it takes a name and a value"),
        ("set sync_binlog", "it takes a name and a value"),
        ("set =1", "it takes a name and a value"),
        ("set a b c", "it takes a name and a value"),
        ("preset", "it takes one value"),
        ("kill him", "'him' is not a whole number"),
        ("pause now", "it takes no argument, not 'now'"),
        ("plan", "it takes stages, such as 8:30s"),
    ],
)
def test_words_that_make_no_command_are_answered_with_the_usage(line: str, words: str) -> None:
    _, name, rest = sessions.split_words(line.split())
    verb = sessions.VERBS_BY_NAME[name]
    with pytest.raises(UsageError) as refused:
        verb.command(rest)
    assert refused.value.message.startswith(f"ctl {name}: ")
    assert words in refused.value.message
    assert refused.value.hint == f"usage: ctl {verb.usage}"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("threads 8", ("", "threads", ["8"])),
        ("2026 threads 8", ("2026", "threads", ["8"])),
        ("2026 status", ("2026", "status", [])),
        ("mark threads", ("", "mark", ["threads"])),
    ],
)
def test_the_session_precedes_the_command(line: str, meant: tuple[str, str, list[str]]) -> None:
    assert sessions.split_words(line.split()) == meant


@pytest.mark.parametrize(("line", "wrong"), [("puase", "puase"), ("2026 puase", "puase"), ("xy zw", "zw")])
def test_a_word_that_is_no_command_is_named(line: str, wrong: str) -> None:
    with pytest.raises(UsageError, match=f"ctl has no command '{wrong}'"):
        sessions.split_words(line.split())


def test_the_help_lists_all_of_them() -> None:
    listed = sessions.verbs_help().splitlines()
    assert [line.split()[0] for line in listed] == [*sessions.VERBS_BY_NAME, *sessions.REPORTS]
