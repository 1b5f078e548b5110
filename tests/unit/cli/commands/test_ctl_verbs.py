"""Words of `ctl` into Commands, and what is said of words that make none."""

import typing

import pytest

from tests.tables import for_each
from tuibench.cli.commands.ctl import verbs
from tuibench.errors import UsageError
from tuibench.model import command as model
from tuibench.model.command import (
    ApplyPreset,
    ChangeSetting,
    Command,
    HoldPlan,
    KillQuery,
    Mark,
    NextStep,
    Pause,
    ResetStats,
    RestoreSettings,
    Resume,
    ResumePlan,
    SetDelay,
    SetPlan,
    SetRate,
    SetThreads,
    SetWeights,
    StartAbTest,
    StartProbe,
    StartTune,
    Stop,
    StopAbTest,
    StopProbe,
    StopTune,
    TrustServer,
    WatchActivity,
)
from tuibench.model.experiments.probe import ProbeOrder
from tuibench.model.experiments.tune import TunePlan
from tuibench.model.schedule import Quantity, parse_schedule

LINES: dict[str, Command] = {
    "threads 64": SetThreads(64),
    "threads 1,024": SetThreads(1024),
    "rate 0.5": SetRate(0.5),
    "rate 2,500": SetRate(2500),
    "weights new_order=50 payment=10": SetWeights({"new_order": 50, "payment": 10}),
    "delay 20ms": SetDelay(20),
    "plan 8:30s,16:30s": SetPlan(parse_schedule("8:30s,16:30s")),
    "plan hold": HoldPlan(),
    "plan resume": ResumePlan(),
    "probe p95<20ms": StartProbe(ProbeOrder(slo=("p95<20ms",))),
    "probe rate": StartProbe(ProbeOrder(by=Quantity.RATE)),
    "probe next": NextStep(),
    "probe stop": StopProbe(),
    "ab sync_binlog=1,0": StartAbTest(subject="sync_binlog", a="1", b="0"),
    "ab preset=durable,unsafe ±5% 2m": StartAbTest(
        subject="preset", a="durable", b="unsafe", tolerance_percent=5, max_seconds=120
    ),
    "ab stop": StopAbTest(),
    "tune": StartTune(),
    "tune flushing 5m ±3% allow-risk": StartTune(
        TunePlan(budget_seconds=300.0, only=("flushing",), tolerance_percent=3.0, allow_risk=True)
    ),
    "tune stop": StopTune(),
    "set sync_binlog=0": ChangeSetting("sync_binlog", "0"),
    "set sync_binlog 0": ChangeSetting("sync_binlog", "0"),
    "set innodb_buffer_pool_size=256M": ChangeSetting("innodb_buffer_pool_size", "256M"),
    "preset unsafe": ApplyPreset("unsafe"),
    "restore": RestoreSettings(),
    "restore sync_binlog long_query_time": RestoreSettings(("sync_binlog", "long_query_time")),
    "yes-this-server": TrustServer(),
    "kill 17": KillQuery(17),
    "pause": Pause(),
    "resume": Resume(),
    "mark": Mark(),
    "mark before the index": Mark("before the index"),
    "reset": ResetStats(),
    "stop": Stop(),
}
UNSPOKEN = {WatchActivity, model.WatchStatements}
"""Only a screen that shows the activity asks for it."""


@for_each(("line", "command"), LINES.items())
def test_each_line_is_its_command(line: str, command: Command) -> None:
    session, name, rest = verbs.split_words(line.split())
    assert session == ""
    assert verbs.VERBS_BY_NAME[name].command(rest) == command


def test_every_command_can_be_said() -> None:
    assert {type(command) for command in LINES.values()} == set(typing.get_args(model.Command)) - UNSPOKEN
    assert {line.split()[0] for line in LINES} == set(verbs.VERBS_BY_NAME)


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
    ],
)
def test_words_that_make_no_command_are_answered_with_the_usage(line: str, words: str) -> None:
    _, name, rest = verbs.split_words(line.split())
    verb = verbs.VERBS_BY_NAME[name]
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
    assert verbs.split_words(line.split()) == meant


@pytest.mark.parametrize(("line", "wrong"), [("puase", "puase"), ("2026 puase", "puase"), ("xy zw", "zw")])
def test_a_word_that_is_no_command_is_named(line: str, wrong: str) -> None:
    with pytest.raises(UsageError, match=f"ctl has no command '{wrong}'"):
        verbs.split_words(line.split())


def test_the_help_lists_all_of_them() -> None:
    listed = verbs.verbs_help().splitlines()
    assert [line.split()[0] for line in listed] == [*verbs.VERBS_BY_NAME, *verbs.REPORTS]
