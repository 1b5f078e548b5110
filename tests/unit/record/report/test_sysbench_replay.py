"""What a record is turned back into is what was printed, to the last byte."""

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.examples import PLAN, summary
from tests.unit.record.written import load, plan_record, tick
from tuibench.cli.runner.headless import CsvWriter, IntervalPrinter
from tuibench.model.histogram import Histogram, merge_histograms
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import RunState, Status
from tuibench.model.plan import RunPlan
from tuibench.model.results.summary import Fairness
from tuibench.record.files.loading import load_run
from tuibench.record.files.recorder import RunRecorder
from tuibench.record.report.sysbench_replay import csv_text, final_report, sysbench_text
from tuibench.record.sysbench_report import FullReport, head_text, histogram_text, report_text

TICKS = range(1, 6)
THIRD = 1.0 / 3
LATENCIES = Histogram.of([900, 4_711, 1_100_003])


def full_report(**changes: Any) -> FullReport:
    figures = summary()
    made = FullReport(
        seconds=THIRD,
        total_seconds=10 * THIRD,
        transactions=figures.transactions,
        queries=figures.queries,
        errors=7,
        reconnects=0,
        latency=LATENCIES.latency(),
        percentiles={"95": THIRD},
        latency_sum_ms=123_456.789,
        fairness=Fairness(events_avg=2 * THIRD, events_stddev=THIRD, seconds_avg=THIRD, seconds_stddev=0.0),
    )
    return replace(made, **changes)


def sampled(number: int) -> Sample:
    """A second and a third, with what a silent worker did before."""
    seen = load(number, seconds=1.0 + THIRD, arrears={"completed": 7, "reads": 98} if number == 3 else {})
    seen.levels.update(rate=50.5, backlog=3)
    return tick(number, seen)


def recorded(directory: Path, plan: RunPlan, checkpoints: dict[int, FullReport]) -> Path:
    """A run of five ticks; after which of them a checkpoint was made, and what it told. The last is told."""
    recorder = RunRecorder(directory)
    recorder.open(plan_record(plan))
    for number in TICKS:
        recorder.sample(sampled(number))
        if number in checkpoints:
            recorder.report(checkpoints[number])
    recorder.report(full_report(), LATENCIES, last=True)
    recorder.summary(summary())
    recorder.close()
    return directory


def printed(plan: RunPlan, capsys: pytest.CaptureFixture[str], checkpoints: dict[int, FullReport]) -> str:
    """What the run itself prints; a checkpoint comes before the tick of the same second."""
    printer = IntervalPrinter(plan.report_seconds, plan.percentiles)
    printer.state(Status(state=RunState.RUNNING, threads=8, workers=1, settings=(), presets=()))
    for number in TICKS:
        if number in checkpoints:
            printer.checkpoint(checkpoints[number])
        printer.tick(sampled(number).tick)
    return head_text("1.2.3", plan) + capsys.readouterr().out


@pytest.mark.parametrize(
    "plan",
    [
        PLAN,
        replace(PLAN, report_seconds=2.0, percentiles=(99.9, 50.0)),
        replace(PLAN, report_seconds=0.0),
        replace(PLAN, percentiles=(), histogram=True),
    ],
)
def test_the_lines_and_the_summary_are_those_of_the_run(
    tmp_path: Path, plan: RunPlan, capsys: pytest.CaptureFixture[str]
) -> None:
    run = load_run(recorded(tmp_path / "r1", plan, {}))
    distribution = histogram_text(LATENCIES) if plan.histogram else ""
    expected = printed(plan, capsys, {}) + distribution + report_text(full_report())
    assert "".join(sysbench_text(run)) == expected


def test_checkpoints_stand_where_they_stood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = replace(PLAN, checkpoints=(2, 4))
    made = {2: full_report(errors=1), 4: full_report(errors=2, percentiles={"95": 2 * THIRD})}
    run = load_run(recorded(tmp_path / "r1", plan, made))
    expected = printed(plan, capsys, made)
    assert "".join(sysbench_text(run)) == expected + report_text(full_report())


@pytest.mark.parametrize("every", [1.0, 2.0])
def test_the_rows_are_those_of_the_run(tmp_path: Path, every: float) -> None:
    plan = replace(PLAN, report_seconds=every)
    stream = io.StringIO()
    rows = CsvWriter(stream.write, every, plan.percentiles)
    for number in TICKS:
        rows.tick(sampled(number).tick)
    assert "".join(csv_text(load_run(recorded(tmp_path / "r1", plan, {})))) == stream.getvalue()


def test_a_run_that_was_cut_short_has_the_summary_of_its_samples(tmp_path: Path) -> None:
    directory = recorded(tmp_path / "r1", replace(PLAN, histogram=True), {})
    (directory / "summary.json").unlink()
    (directory / "reports.jsonl").unlink()
    text = final_report(load_run(directory))
    assert histogram_text(merge_histograms(load(number).hist("response") for number in TICKS)) in text
    assert "    transactions:                        257 " in text


def test_a_report_goes_through_json_as_it_is() -> None:
    report = full_report()
    assert msgspec.json.decode(msgspec.json.encode(report), type=FullReport) == report
