"""`tuibench history` as a script meets it."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.examples import PLAN, summary
from tests.unit.cli.program import Program
from tests.unit.record.written import ENVIRONMENT, plan_record
from tests.validation import check_valid
from tuibench import paths
from tuibench.errors import ExitCode
from tuibench.record.files.recorder import RunRecorder


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


def test_a_profile_without_runs_is_refused(tuibench: Program) -> None:
    ended = tuibench("history", "no_such_profile")
    assert ended.code == ExitCode.USAGE_ERROR
    assert "there is no finished run of 'no_such_profile'" in ended.err


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
