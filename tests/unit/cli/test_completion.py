"""What the Tab key offers, how the shells are told, and how they are set up."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables import for_each
from tests.unit.cli.program import Program
from tuibench.base.errors import ExitCode
from tuibench.cli import completion, sessions
from tuibench.cli.arguments import COMPLETE_VARIABLE
from tuibench.cli.main import COMMANDS
from tuibench.cli.options import THEMES
from tuibench.tui import styled_app
from tuibench.tuning.catalogue import SETTINGS

SESSION, RUNS = "20261121-165117-tpcc", ("20261120-101112-oltp_read_only", "20261121-165117-tpcc")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has runs, and a session under way."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TUIBENCH_HOME", str(tmp_path / "tuibench"))
    for run in RUNS:
        (tmp_path / "tuibench/data/runs" / run).mkdir(parents=True)
        (tmp_path / "tuibench/data/runs" / run / "plan.json").touch()
    (tmp_path / "tuibench/run").mkdir()
    (tmp_path / "tuibench/run" / f"{SESSION}.sock").touch()
    return tmp_path


def offered(tuibench: Program, monkeypatch: pytest.MonkeyPatch, line: str, shell: str = "fish") -> list[str]:
    """The lines of the answer to a Tab at the end of a command line."""
    words = line.split(" ")
    monkeypatch.setenv(COMPLETE_VARIABLE, f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    ended = tuibench()
    assert (ended.code, ended.err) == (ExitCode.DONE, "")
    return ended.out.splitlines()


@for_each(
    ("line", "expected"),
    [
        ("tuibench sw", ["sweep"]),
        ("tuibench --v", ["--version"]),
        ("tuibench run oltp_p", ["oltp_point_select"]),
        ("tuibench run tpcc ", []),
        ("tuibench run --threads 4 tp", ["tpcc"]),
        ("tuibench run --threads=4 tp", ["tpcc"]),
        ("tuibench run --detach tp", ["tpcc"]),
        ("tuibench oltp_read_write --threads=4 cle", ["cleanup"]),
        ("tuibench tpcc run --wareh", ["--warehouses="]),
        ("tuibench run tpcc --wareh", ["--warehouses="]),
        ("tuibench run no_such --wareh", []),
        ("tuibench run --thr", ["--threads=", "--thread-init-timeout="]),
        ("tuibench run --mysql-u", ["--mysql-user="]),
        ("tuibench run --det", ["--detach"]),
        ("tuibench attach --re", ["--read-only"]),
        ("tuibench run --db-ps-mode=", ["--db-ps-mode=auto", "--db-ps-mode=disable"]),
        ("tuibench run --db-ps-mode d", ["disable"]),
        ("tuibench run --isolation=read-c", ["--isolation=read-committed"]),
        ("tuibench sweep --engine n", ["native"]),
        ("tuibench run oltp_insert --rand-type=z", ["--rand-type=zipfian"]),
        ("tuibench run oltp_insert --auto-inc ", ["on", "off"]),
        ("tuibench run --json=", []),
        ("tuibench run --time ", []),
        ("tuibench demo --profile=tp", ["--profile=tpcc"]),
        ("tuibench runs ", ["list", "show", "remove"]),
        ("tuibench runs show ", ["latest", *reversed(RUNS)]),
        ("tuibench runs list ", []),
        ("tuibench report 20261120", [RUNS[0]]),
        ("tuibench report latest ", []),
        ("tuibench compare latest 2026", [*reversed(RUNS)]),
        ("tuibench attach ", [SESSION]),
        ("tuibench ctl 2", [SESSION]),
        ("tuibench ctl thr", ["threads"]),
        (f"tuibench ctl {SESSION} pau", ["pause"]),
        ("tuibench ctl set innodb_io_capacity_", ["innodb_io_capacity_max="]),
        ("tuibench ctl preset ", ["durable", "grouped", "batched", "relaxed", "unsafe", "strict", "default"]),
        ("tuibench ctl pause ", []),
        ("tuibench restore ", []),
    ],
)
def test_what_may_stand_there(
    line: str, expected: list[str], tuibench: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [each.partition("\t")[0] for each in offered(tuibench, monkeypatch, line)]
    assert known == expected


def test_everything_is_offered_with_its_help(tuibench: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered(tuibench, monkeypatch, "tuibench ") == [
        f"{name}\t{text}" for name, text in COMMANDS.items()
    ]
    verbs_told = [line.split("\t")[0] for line in offered(tuibench, monkeypatch, "tuibench ctl ")]
    assert verbs_told == [*sessions.VERBS_BY_NAME, *sessions.REPORTS, SESSION]
    told = [line.split("\t")[0] for line in offered(tuibench, monkeypatch, "tuibench ctl set ")]
    assert told == [f"{setting.name}=" for setting in SETTINGS]


def test_each_shell_has_its_form(tuibench: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    help = COMMANDS["sweep"]
    assert offered(tuibench, monkeypatch, "tuibench sw", "bash") == ["sweep"]
    assert offered(tuibench, monkeypatch, "tuibench sw", "zsh") == [f"sweep:{help}"]
    assert offered(tuibench, monkeypatch, "tuibench sw", "fish") == [f"sweep\t{help}"]
    assert offered(tuibench, monkeypatch, "tuibench sw", "tcsh") == []


def test_bash_cuts_a_line_at_equals_signs(tuibench: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """It puts the answer behind the last of them."""
    assert offered(tuibench, monkeypatch, "tuibench run --threads = 4 tp", "bash") == ["tpcc"]
    assert offered(tuibench, monkeypatch, "tuibench demo --profile = tp", "bash") == ["tpcc"]
    assert offered(tuibench, monkeypatch, "tuibench run --db-ps-mode =", "bash") == ["auto", "disable"]
    assert offered(tuibench, monkeypatch, "tuibench demo --profile=tp", "bash") == ["--profile=tpcc"]


def test_choices_are_those_that_are_taken() -> None:
    assert {each.name for each in styled_app.OWN_THEMES} <= set(THEMES)


BASH = """
tuibench() {{ "{python}" -m tuibench "$@"; }}
source <(tuibench --show-completion=bash)
asked() {{
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _tuibench_completion tuibench
    echo "${{COMPREPLY[*]}}"
}}
complete -p tuibench
asked tuibench run oltp_point
asked tuibench demo --profile = tp
asked tuibench report ''
asked tuibench run --json ''
"""


def test_in_bash() -> None:
    """The script as a user has it, in the shell itself."""
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH.format(python=sys.executable)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o default -F _tuibench_completion tuibench",
        "oltp_point_select",
        "tpcc",
        " ".join(("latest", *reversed(RUNS))),
        "",
    ]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_setting_a_shell_up_twice_is_setting_it_up(shell: str, home: Path, tuibench: Program) -> None:
    rule = completion.SHELLS[shell]
    if rule.rc:
        (home / rule.rc).write_text("alias ll='ls -l'")
    for arguments in ((f"--install-completion={shell}",), ("--install-completion", shell)):
        ended = tuibench(*arguments)
        assert (ended.code, ended.out) == (ExitCode.DONE, "")
        assert f"completion for {shell} is in {home}" in ended.err
    assert (home / rule.home).read_text() == tuibench(f"--show-completion={shell}").out
    if rule.rc:
        assert (home / rule.rc).read_text() == f"alias ll='ls -l'\n{rule.line}\n"


def test_the_shell_that_calls_is_meant(tuibench: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert tuibench("--show-completion").out == completion.completion_script("fish")


def test_another_shell_is_refused_in_words(tuibench: Program) -> None:
    ended = tuibench("--install-completion", "tcsh")
    assert ended.code == ExitCode.USAGE_ERROR
    assert ended.err == "tuibench: completion is for bash, zsh, fish, not for 'tcsh'\n"


def test_an_unwritable_home_is_reported(home: Path, tuibench: Program) -> None:
    (home / ".zfunc").write_text("a file, not a folder")
    ended = tuibench("--install-completion=zsh")
    assert ended.code == ExitCode.RUN_FAILED
    assert "tuibench --show-completion=zsh" in ended.err
