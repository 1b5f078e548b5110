"""The commands that repeat a run: read back by our own command line, they make the same plan."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from msgspec.structs import replace

from tests.examples import PLAN
from tests.unit.record.steady import steady
from tuibench.cli.options.profile_options import parse_profile_options
from tuibench.cli.options.run_options import RUN_SECONDS, RunOptions
from tuibench.model.event import Event, EventKind
from tuibench.model.plan import Arrival, Backlog, OnError, RunPlan
from tuibench.model.schedule import ConstantStage
from tuibench.model.target import Target
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.record.report.reproduce import reproduction_commands

FULL = RunPlan(
    profile="oltp_read_write",
    options={"tables": 4, "table_size": 1000, "skip_trx": True},
    threads=16,
    seconds=60.0,
    events=500,
    warmup_seconds=5.0,
    rate=250.0,
    arrival=Arrival.CONSTANT,
    backlog=Backlog.DROP,
    interval_seconds=0.5,
    seed=42,
    ignored_errors=None,
    on_error=OnError.CONTINUE,
    prepared=False,
    isolation="read-committed",
    workers=2,
    client_delay_ms=20.0,
)
NAMES = {"plan": "plan_text"}
KINDS: dict[Any, Callable[[str], Any]] = {int: int, str: str}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return load_run(steady(tmp_path, "a"))


def of(run: Run, plan: RunPlan, **target: Any) -> Run:
    return replace(run, plan=replace(run.plan, plan=plan, target=Target(user="ann", **target)))


def read_back(line: str) -> RunPlan:
    """The plan of one of our own command lines."""
    program, verb, profile, *words = shlex.split(line)
    assert (program, verb) == ("tuibench", "run")
    given = dict(word.removeprefix("--").split("=", 1) for word in words)
    for name in ("host", "port", "user", "database", "socket"):
        given.pop(name, None)
    known = {NAMES.get(name, name.replace("-", "_")): value for name, value in given.items()}
    kinds = get_type_hints(RunOptions)
    options: dict[str, Any] = {
        name: KINDS.get(kinds[name], float)(value) for name, value in known.items() if name in kinds
    }
    rest = parse_profile_options([f"--{name}={value}" for name, value in known.items() if name not in kinds])
    return RunOptions(**options).plan(profile, rest, RUN_SECONDS)


@pytest.mark.parametrize(
    "plan",
    [
        FULL,
        replace(PLAN, options={}, seed=7),
        RunPlan(profile="oltp_read_only", seconds=None, seed=3),
        RunPlan(
            profile="oltp_read_only",
            schedule=(ConstantStage(level=8, seconds=30.0),),
            threads=8,
            seconds=30.0,
            seed=3,
        ),
    ],
)
def test_our_own_command_makes_the_same_plan(run: Run, plan: RunPlan) -> None:
    again = read_back(reproduction_commands(of(run, plan)).tuibench)
    told = {name: str(value).lower().replace("true", "on") for name, value in plan.options.items()}
    assert replace(again, options={}) == replace(plan, options={})
    assert again.options == told


def test_the_sysbench_command_has_the_options_that_sysbench_knows(run: Run) -> None:
    line = reproduction_commands(of(run, FULL, host="db1")).sysbench
    assert line is not None
    assert shlex.split(line)[:2] == ["sysbench", "oltp_read_write"]
    assert line.endswith(" run")
    for word in (
        "--mysql-host=db1",
        "--threads=16",
        "--rate=250",
        "--skip-trx=on",
        '--mysql-password="$MYSQL_PWD"',
    ):
        assert word in line
    for word in ("--arrival", "--workers", "--client-delay", "--isolation"):
        assert word not in line


def test_what_sysbench_has_no_test_of_is_ours_alone(run: Run) -> None:
    told = reproduction_commands(of(run, replace(PLAN, profile="tpcc"), socket="/tmp/my server.sock"))
    assert told.sysbench is None
    assert "'--socket=/tmp/my server.sock'" in told.tuibench
    assert (told.prepare or "").startswith("tuibench prepare tpcc ")


def test_adhoc_sql_is_shown_as_given(run: Run) -> None:
    words = ("--sql=SELECT :id", "--sql-param=id=1..9")
    told = reproduction_commands(of(run, replace(PLAN, profile="sql", sql_words=words), socket="/s"))
    assert told.tuibench.startswith("tuibench run '--sql=SELECT :id' --sql-param=id=1..9 --socket=/s ")
    assert (told.prepare, told.sysbench) == (None, None)


def test_what_was_read_beside_the_server_is_read_again(run: Run) -> None:
    plan = replace(PLAN, host_metrics="ssh:ann@db1", replicas=("auto", "db2:3307"), max_lag_seconds=2.5)
    told = reproduction_commands(of(run, plan, host="db1"))
    for word in ("--host-metrics=ssh:ann@db1", "--replica=auto", "--replica=db2:3307", "--max-lag=2.5s"):
        assert word in shlex.split(told.tuibench)
        assert word not in (told.sysbench or "")


def test_manual_changes_are_shown_with_their_time(run: Run) -> None:
    steered = Event(at=1.0, elapsed_seconds=65.0, kind=EventKind.THREADS, text="threads 4 → 8", marker=1)
    mark = Event(at=1.0, elapsed_seconds=66.0, kind=EventKind.MARK, text="coffee", marker=2)
    assert reproduction_commands(replace(run, events=(steered, mark))).by_hand == (
        "after 01:05: threads 4 → 8",
    )
