"""`tuibench runs` and `report`: what is printed, what a mistake costs."""

import json
from pathlib import Path

import msgspec
import pytest

from tests import sweeps
from tests.examples import PLAN
from tests.unit.cli.program import Program
from tests.unit.record.written import plan_record, written
from tuibench import paths
from tuibench.cli.commands.runs import runs_table
from tuibench.model.results.summary import Summary
from tuibench.model.results.sweep import DataReady
from tuibench.record.files import store
from tuibench.record.files.loading import load_run
from tuibench.record.files.recorder import RunRecorder
from tuibench.record.files.sweep_folder import SweepFolder
from tuibench.record.report.sysbench_replay import csv_text, sysbench_text

DONE, CUT = "20260101-120000-oltp_insert", "20260101-130000-tpcc"


@pytest.fixture
def folder(tuibench_home: Path) -> Path:
    written(paths.runs_dir() / DONE)
    written(paths.runs_dir() / CUT, ended=False)
    return paths.runs_dir()


def test_the_list_is_a_table_or_json(tuibench: Program, folder: Path) -> None:
    table = tuibench("runs")
    assert (table.code, table.err) == (0, "")
    heading, done, cut = table.out.splitlines()
    assert heading.split()[:4] == ["run", "started", "profile", "outcome"]
    assert done.startswith(DONE)
    assert done.endswith("590.56")
    assert "cut short" in cut
    lines = json.loads(tuibench("runs", "list", "--format", "json").out)
    assert [(line["id"], line["outcome"]) for line in lines] == [(DONE, "done"), (CUT, "cut short")]


def test_threads_are_listed_as_at_the_start_and_at_the_end(tuibench: Program, tuibench_home: Path) -> None:
    """In the list and of one run alike; of one that was cut short by its samples."""
    written(paths.runs_dir() / DONE, plan=msgspec.structs.replace(PLAN, threads=64))
    written(paths.runs_dir() / CUT, ended=False, plan=msgspec.structs.replace(PLAN, threads=64))
    _, done, cut = tuibench("runs").out.splitlines()
    for line, run in ((done, DONE), (cut, CUT)):
        told = tuibench("runs", "show", run).out.splitlines()[1]
        last = load_run(paths.runs_dir() / run).summary.threads
        assert last != 64
        assert f" 64 → {last} " in line
        assert told.endswith(f", 64 → {last} threads")


def test_on_a_narrow_terminal_the_list_leaves_out_what_the_id_says(folder: Path) -> None:
    lines = store.list_runs()
    wide, narrow = runs_table(lines, 200), runs_table(lines, 80)
    assert wide == runs_table(lines)
    assert narrow.splitlines()[0].split() == ["run", "outcome", "threads", "time", "TPS", "p95", "ms"]
    assert max(map(len, narrow.splitlines())) <= 80 < max(map(len, wide.splitlines()))


def test_nothing_recorded_is_said(tuibench: Program) -> None:
    ended = tuibench("runs", "list")
    assert (ended.code, ended.out) == (0, "")
    assert "no run is recorded in" in ended.err
    assert json.loads(tuibench("runs", "--format=json").out) == []


def test_one_run_in_short(tuibench: Program, folder: Path) -> None:
    ended = tuibench("runs", "show", "insert")
    assert ended.code == 0
    assert ended.out.startswith(f"{DONE}: done after 00:03\n")
    assert "SQL statistics:" in ended.out
    told = json.loads(tuibench("runs", "show", "tpcc", "--format=json").out)
    assert told["plan"]["schema"] == "tuibench.run/1"
    assert told["summary"]["outcome"] == "cut short"
    assert told["environment"]["host"]["name"] == "box"


@pytest.fixture
def sweep(tuibench_home: Path) -> Path:
    """Three of eight cells; its tables are still there."""
    folder = SweepFolder.create(paths.sweeps_dir() / "20260102-080000-oltp_write_only", sweeps.record())
    for result in sweeps.sweep().results[:3]:
        folder.add(result)
    folder.add(DataReady(data=sweeps.CASE.data, prepared=True))
    folder.close()
    return folder.directory


def test_a_sweep_is_in_the_list_with_how_far_it_is(tuibench: Program, folder: Path, sweep: Path) -> None:
    row = next(line for line in tuibench("runs").out.splitlines() if line.startswith(sweep.name))
    assert "sweep: 3 of 8 cells" in row
    running = SweepFolder.resume(sweep)
    assert "sweep: running, 3 of 8 cells" in tuibench("runs").out
    running.close()


def test_a_sweep_is_shown_with_what_is_left_of_it(tuibench: Program, folder: Path, sweep: Path) -> None:
    shown = tuibench("runs", "show", "080000")
    assert shown.code == 0
    first, rest = shown.out.split("\n", 1)
    assert first == f"{sweep.name}: cut short, 3 of 8 cells"
    assert rest == tuibench("sweep", "--show", str(sweep)).out
    assert f"5 cells are left; continue with: tuibench sweep --resume {sweep}" in shown.err
    told = json.loads(tuibench("runs", "show", "080000", "--format=json").out)
    assert (told["record"]["schema"], len(told["results"])) == ("tuibench.sweep/1", 3)


def test_a_sweep_is_removed_as_a_run_is(tuibench: Program, folder: Path, sweep: Path) -> None:
    assert "add --yes" in tuibench("runs", "remove", "080000").err
    running = SweepFolder.resume(sweep)
    refused = tuibench("runs", "remove", "080000", "--yes")
    assert (refused.code, "is running" in refused.err) == (1, True)
    running.close()
    removed = tuibench("runs", "remove", "080000", "--yes")
    assert removed.err == f"removed {sweep}; the tables that it created stay on the server\n"
    assert not sweep.exists()


def test_a_cell_is_a_run_for_reports_and_comparisons(tuibench: Program, folder: Path, sweep: Path) -> None:
    for name in ("001-a", "002-b"):
        written(sweep / "cells" / name)
    cell = str(sweep / "cells" / "001-a")
    assert tuibench("report", "080000/001").out == tuibench("report", cell).out != ""
    assert tuibench("compare", "080000/001", "080000/002", "--format=json").code == 0
    assert tuibench("runs", "show", "080000/002").out.startswith("002-b: done after 00:03\n")
    whole = tuibench("report", sweep.name)
    assert (whole.code, whole.out) == (2, "")
    assert "is a sweep, its cells are runs" in whole.err


def test_removing_requires_a_confirmation_or_yes(tuibench: Program, folder: Path) -> None:
    refused = tuibench("runs", "remove", "insert")
    assert refused.code == 2
    assert "add --yes" in refused.err
    assert tuibench("runs", "remove", "insert", CUT, "--yes").code == 0
    assert not list(folder.iterdir())


@pytest.mark.parametrize(("answer", "left"), [("n\n", True), ("y\n", False)])
def test_the_answer_decides(
    tuibench: Program, folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, left: bool
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda text, err: answer == "y\n")
    assert tuibench("runs", "remove", CUT).code == 0
    assert (folder / CUT).exists() is left


def test_a_run_under_way_is_not_removed(tuibench: Program, folder: Path) -> None:
    recorder = RunRecorder(folder / "live")
    recorder.open(plan_record())
    ended = tuibench("runs", "remove", "live", "--yes")
    assert ended.code == 1
    assert "still being written" in ended.err
    assert (folder / "live").exists()
    recorder.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("runs", "lst"), "did you mean 'list'?"),
        (("runs", "list", "x"), "takes no run"),
        (("runs", "show"), "takes one run"),
        (("runs", "show", "nothing"), "there is no run 'nothing'"),
        (("runs", "remove"), "at least one run"),
        (("runs", "--format=xml"), "'xml' is unknown"),
        (("report", "insert", "--csv", "--json"), "only one format can be printed on stdout"),
        (("report", "insert", "--csv=/nowhere/x"), "cannot write /nowhere/x"),
    ],
)
def test_mistakes_are_wrong_usage(
    tuibench: Program, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    ended = tuibench(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err


def test_a_report_is_what_the_run_printed(tuibench: Program, folder: Path) -> None:
    run = load_run(folder / DONE)
    told = tuibench("report", "insert")
    assert told.out == "".join(sysbench_text(run)) == tuibench("report", DONE, "--sysbench").out
    assert f"recorded in {folder / DONE}" in told.err
    assert tuibench("report", "insert", "--csv").out == "".join(csv_text(run))
    assert msgspec.json.decode(tuibench("report", "insert", "--json").out, type=Summary) == run.summary


def test_several_forms_go_to_files(tuibench: Program, folder: Path, tmp_path: Path) -> None:
    ended = tuibench("report", "tpcc", f"--markdown={tmp_path}/run.md", f"--csv={tmp_path}/run.csv", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["outcome"] == "cut short"
    assert (tmp_path / "run.md").read_text().startswith("# oltp_read_write on MariaDB")
    assert (tmp_path / "run.csv").read_text().count("\n") == 4


def test_another_home_is_looked_into(tuibench: Program, folder: Path, tmp_path: Path) -> None:
    assert "no run is recorded" in tuibench("runs", f"--run-dir={tmp_path}").err
