"""Broken records that once ended in an exception of Python's, each by itself."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tuibench.record.files.loading import load_run
from tuibench.record.report.sysbench_replay import sysbench_text
from tuibench.record.run_report import html_report, run_markdown
from tuibench.units import DASH, local_time

RECORDED = Path(__file__).parents[2] / "data" / "recorded-run"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDED, tmp_path / "run"))


def change(path: Path, **values: Any) -> None:
    """Other values in the first document of a file."""
    first, *rest = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    path.write_text("\n".join((json.dumps(json.loads(first) | values), *rest)) + "\n")


def test_a_start_that_no_calendar_has(place: Path) -> None:
    change(place / "plan.json", started_at=1e17)
    run = load_run(place)
    assert DASH in run_markdown(run).splitlines()[2]
    assert html_report(run)
    assert local_time(1e17) == DASH


def test_a_status_with_a_field_missing(place: Path) -> None:
    path = place / "status.jsonl"
    first, *rest = path.read_text().splitlines()
    told = json.loads(first)
    del told["workers"]
    path.write_text("\n".join((json.dumps(told), *rest)) + "\n")
    assert list(sysbench_text(load_run(place)))
