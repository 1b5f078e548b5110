"""The commands `runs`, `check`, `compare` and `history`."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests import sweeps
from tests.examples import PLAN, summary
from tests.unit.cli.program import Program
from tests.unit.record.steady import steady
from tests.unit.record.written import ENVIRONMENT, plan_record, written
from tests.validation import check_valid
from tuibench.base import paths
from tuibench.base.errors import ExitCode
from tuibench.cli.output import echo_json
from tuibench.cli.records import runs_table
from tuibench.cli.tables import verdicts_text
from tuibench.load.conditions import ConditionOutcome, ConditionResult
from tuibench.model.summary import RunComparison, Summary
from tuibench.model.sweep import DataReady
from tuibench.record import store
from tuibench.record.reader import load_run
from tuibench.record.recorder import SAMPLES, RunRecorder
from tuibench.record.sweep_folder import SweepFolder
from tuibench.report.text import csv_text, sysbench_text

# `tuibench runs` and `report`: what is printed, what a mistake costs.


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


# What `tuibench check` prints of its verdicts.


VERDICTS = (
    ConditionResult(condition="1", description="A = B", outcome=ConditionOutcome.HOLDS),
    ConditionResult(
        condition="12",
        description="C = D",
        outcome=ConditionOutcome.BROKEN,
        differing=2,
        example={"id": "3", "c": None},
        message="2 rows: id 3, c null",
    ),
    ConditionResult(
        condition="3",
        description="E = F",
        outcome=ConditionOutcome.SKIPPED,
        message="holds directly after loading only",
    ),
)


def test_a_line_says_what_became_of_each_condition() -> None:
    assert verdicts_text(VERDICTS).splitlines() == [
        " 1  holds    A = B",
        "12  broken   C = D — 2 rows: id 3, c null",
        " 3  skipped  E = F — holds directly after loading only",
        "3 conditions: 1 hold, 1 broken, 1 skipped",
    ]


def test_json_output_has_the_same_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json(VERDICTS)
    told = json.loads(capsys.readouterr().out)
    assert [each["outcome"] for each in told] == ["holds", "broken", "skipped"]
    assert told[1]["example"] == {"id": "3", "c": None}


# `tuibench compare` as a script meets it.


def test_a_run_that_was_cut_short_is_compared(tuibench: Program, tmp_path: Path) -> None:
    ended = tuibench("compare", str(steady(tmp_path, "a", cut_short=True)), str(steady(tmp_path, "b")))
    assert ended.code == 0
    assert "equal" in ended.out


def test_json_is_for_programs(tuibench: Program, tmp_path: Path) -> None:
    places = [str(steady(tmp_path, "a")), str(steady(tmp_path, "b", each=100))]
    ended = tuibench("compare", *places, "--format=json")
    found = json.loads(ended.out)
    assert found["schema"] == "tuibench.compare/1"
    (tps,) = [row for row in found["rows"] if row["metric"] == "tps"]
    assert tps["others"][0]["verdict"] == "better"
    assert msgspec.json.decode(ended.out, type=RunComparison).runs == ("a", "b")


def test_a_threshold_that_is_crossed_is_an_exit_code(tuibench: Program, tmp_path: Path) -> None:
    places = [str(steady(tmp_path, "a", each=100)), str(steady(tmp_path, "b", each=60))]
    ended = tuibench("compare", *places, "--fail-if", "tps<-5%", "--fail-if=p95>900%")
    assert ended.code == 4
    assert ended.err.startswith("tuibench: tps<-5% crossed by b: -39")
    assert tuibench("compare", *places, "--fail-if", "tps<-50%").code == 0


def test_what_differs_within_a_side_is_named(tuibench: Program, tmp_path: Path) -> None:
    plans = {"a": PLAN, "b": replace(PLAN, threads=5, isolation="read-committed"), "c": PLAN}
    places = {name: str(steady(tmp_path, name, plan=plan)) for name, plan in plans.items()}
    ended = tuibench("compare", f"{places['a']},{places['b']}", places["c"])
    differ = "the runs of the side that begins with a differ in"
    named = f"plan.threads ({PLAN.threads}, 5), plan.isolation (–, read-committed)"
    assert f"note: {differ} {named}" in ended.out.splitlines()
    same = tuibench("compare", f"{places['a']},{places['c']}", places["b"])
    assert " differ in " not in same.out


def test_a_line_that_is_left_out_is_named(tuibench: Program, tmp_path: Path) -> None:
    place = steady(tmp_path, "a")
    samples = gzip.decompress((place / SAMPLES).read_bytes()).splitlines(keepends=True)
    samples[4] = samples[4].replace(b'"end":', b'"end":1e15,"was":')
    (place / SAMPLES).write_bytes(gzip.compress(b"".join(samples)))
    note = f"1 line of the record is left out: {SAMPLES}, line 5: elapsed_seconds is 1e+15"
    for words in (("report",), ("report", "--csv"), ("runs", "show")):
        ended = tuibench(*words, str(place))
        assert ended.code == 0
        assert ended.err.startswith(f"tuibench: a: {note}\n")
    assert f"note: a: {note}" in tuibench("compare", str(place), str(steady(tmp_path, "b"))).out


# `tuibench history` as a script meets it.


@pytest.fixture
def fallen(tuibench: Program) -> None:
    """Twenty runs, and ten that are a tenth slower."""
    for place in range(30):
        recorder = RunRecorder(paths.runs_dir() / f"run-{place:02}")
        recorder.open(replace(plan_record(PLAN), started_at=1.7e9 + 3600 * place), ENVIRONMENT)
        tps = (1000.0 if place < 20 else 900.0) + place % 5
        recorder.summary(summary(figures={"tps": tps}))
        recorder.close()


@pytest.mark.usefixtures("fallen")
def test_a_regression_ends_with_4(tuibench: Program) -> None:
    ended = tuibench("history", PLAN.profile, "--since=run-15", "--format=json")
    assert ended.code == ExitCode.THRESHOLD_CROSSED
    check_valid("history", ended.out)
    assert json.loads(ended.out)["regression"]["run"] == "run-20"
    assert "a regression of −10" in ended.err


@pytest.mark.usefixtures("fallen")
def test_without_since_it_only_shows(tuibench: Program) -> None:
    ended = tuibench("history", PLAN.profile)
    assert ended.code == ExitCode.DONE
    assert "from run-20 on: −10." in ended.out


@pytest.mark.usefixtures("fallen")
def test_the_chart_is_a_picture_with_runs_levels_and_what_changed(tuibench: Program, tmp_path: Path) -> None:
    path = tmp_path / "history.svg"
    ended = tuibench("history", PLAN.profile, "--since=run-15", f"--chart={path}")
    assert f"wrote {path}" in ended.err
    picture = path.read_text(encoding="utf-8")
    assert picture.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert [picture.count(f'class="{name}"') for name in ("run", "level")] == [30, 2]
    assert 'class="change worse"' in picture
    assert "regression −10" in picture


@pytest.mark.usefixtures("fallen")
def test_a_chart_that_cannot_be_written_is_refused(tuibench: Program, tmp_path: Path) -> None:
    ended = tuibench("history", PLAN.profile, f"--chart={tmp_path}")
    assert ended.code == ExitCode.USAGE_ERROR
    assert "cannot be written" in ended.err


@pytest.mark.usefixtures("fallen")
def test_a_damaged_record_is_named_and_hides_no_other(tuibench: Program) -> None:
    whole = json.loads(tuibench("history", PLAN.profile, "--format=json").out)["runs"]
    (paths.runs_dir() / "run-07" / "summary.json").write_text("[" * 100_000)
    damaged = paths.runs_dir() / "run-11" / "summary.json"
    damaged.write_text(damaged.read_text().replace('"retries": ', '"retries": 1e300, "retries_": '))
    ended = tuibench("history", PLAN.profile, "--format=json")
    left = [run for run in whole if run["run"] not in ("run-07", "run-11")]
    assert json.loads(ended.out)["runs"] == left
    assert [line.partition(" is left out: ")[0] for line in ended.err.splitlines()] == [
        "tuibench: run-07",
        "tuibench: run-11",
    ]
    assert f"{damaged} is damaged" in ended.err
