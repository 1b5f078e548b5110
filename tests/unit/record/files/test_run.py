"""A record reads back as what was written, however it ended."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.examples import EVENT, sample, status, summary
from tests.unit.record.written import (
    ENVIRONMENT,
    FLUSH,
    SYNC,
    as_recorded,
    load,
    plan_record,
    server_part,
    setting_changed,
    tick,
    written,
)
from tuibench.errors import RunError
from tuibench.model.event import Event, EventKind
from tuibench.model.histogram import merge_histograms
from tuibench.record.files.loading import load_run
from tuibench.record.files.recorder import ENVIRONMENT as ENVIRONMENT_FILE
from tuibench.record.files.recorder import EVENTS, HISTOGRAMS, SAMPLES, STATUS, RunRecorder
from tuibench.record.files.recorder import PLAN as PLAN_FILE


def test_all_that_was_written_is_there(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    run = load_run(tmp_path / "r1")
    assert (run.id, run.plan, run.environment) == ("r1", plan_record(), ENVIRONMENT)
    assert run.samples == tuple(as_recorded(tick(number)) for number in (1, 2, 3))
    assert run.events == (EVENT, setting_changed(2.5))
    assert (run.summary, run.cut_short, run.is_live, run.unreadable_lines) == (
        summary(events=(EVENT,)),
        False,
        False,
        0,
    )


def test_states_are_read_completely_with_their_times(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    first, second = load_run(tmp_path / "r1").states
    assert first.status == status(settings=(SYNC, FLUSH))
    assert second.status == status(settings=(replace(SYNC, value="0", at_risk=True), FLUSH))
    assert second.elapsed_seconds == pytest.approx(2.5, abs=0.001)


def test_intervals_are_the_ticks_of_the_load(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    made = [as_recorded(tick(number)).tick for number in (1, 2, 3)]
    assert list(load_run(tmp_path / "r1").intervals()) == made


@pytest.mark.parametrize("name", [SAMPLES, EVENTS, HISTOGRAMS])
def test_a_torn_last_line_costs_that_line_only(tmp_path: Path, name: str) -> None:
    written(tmp_path / "r1", ended=False)
    whole = load_run(tmp_path / "r1")
    latencies = list(whole.histograms())
    file = tmp_path / "r1" / name
    file.write_bytes(file.read_bytes()[: -50 if name == SAMPLES else -9])
    torn = load_run(tmp_path / "r1")
    lost = {
        SAMPLES: (len(whole.samples) - len(torn.samples), torn.events == whole.events),
        EVENTS: (len(whole.events) - len(torn.events), torn.samples == whole.samples),
        HISTOGRAMS: (len(latencies) - len(list(torn.histograms())), torn.samples == whole.samples),
    }
    assert lost[name] == (1, True)
    assert torn.unreadable_lines == 0


def test_a_line_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    file = tmp_path / "r1" / EVENTS
    file.write_bytes(b'{"type":"ev\x00' + file.read_bytes()[12:])
    run = load_run(tmp_path / "r1")
    assert (run.events, run.unreadable_lines) == ((setting_changed(2.5),), 1)


def test_counters_that_were_reset_and_readings_that_are_missing_come_back(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path / "r1")
    recorder.open(plan_record())
    parts = [server_part(5), None, server_part(6), server_part(1), server_part(2, counters={"Questions": 7})]
    samples = tuple(sample(number, server=part) for number, part in enumerate(parts, 1))
    for each in samples:
        recorder.sample(each)
    recorder.close()
    assert load_run(tmp_path / "r1").samples == samples


def test_a_warm_up_is_kept_and_has_no_latencies(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path / "r1")
    recorder.open(plan_record())
    for number, elapsed in enumerate((-1.0, 0.0, 1.0), 1):
        recorder.sample(tick(number, elapsed_seconds=elapsed))
    recorder.close()
    run = load_run(tmp_path / "r1")
    assert [each.elapsed_seconds for each in run.samples] == [-1.0, 0.0, 1.0]
    assert [each.elapsed_seconds for each in run.measured] == [1.0]
    assert [interval.end for interval in run.intervals()] == [1.0]
    assert len(list(run.histograms())) == 1


def test_the_summary_of_a_run_that_was_cut_short_is_made_from_its_samples(tmp_path: Path) -> None:
    written(tmp_path / "r1", ended=False)
    run = load_run(tmp_path / "r1")
    figures = run.summary
    latencies = merge_histograms(load(number).hist("response") for number in (1, 2, 3))
    assert (run.cut_short, run.is_live, figures.outcome) == (True, False, "cut short")
    assert (figures.seconds, figures.transactions.total, figures.transactions.per_second) == (3.0, 150, 50.0)
    assert (figures.queries.read, figures.queries.total, figures.errors.by_code) == (2100, 3000, {"1213": 1})
    assert figures.latency_ms == latencies.latency()
    assert figures.percentiles == {"95": latencies.percentiles((95,))[0] / 1e3}
    assert (figures.statements["commit"].count, figures.statements["commit"].max) == (150, 15.0)
    assert figures.server.deltas["Com_commit"] == 100
    assert figures.reconciliation.questions_server is None
    assert any("computed from its samples" in warning for warning in figures.warnings)
    assert run.latencies().counts == latencies.counts


def test_reset_figures_are_summed_from_the_reset(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path / "r1")
    recorder.open(plan_record())
    for number in (1, 2, 3):
        recorder.sample(tick(number))
        if number == 1:
            recorder.event(
                Event(at=1_700_000_001.2, elapsed_seconds=1.0, kind=EventKind.RESET, text="anew", marker=1)
            )
    recorder.close()
    figures = load_run(tmp_path / "r1").summary
    assert (figures.seconds, figures.transactions.total) == (2.0, 100)
    assert (
        figures.latency_ms == merge_histograms(load(number).hist("response") for number in (2, 3)).latency()
    )


def test_a_run_that_never_began_has_a_summary_without_figures(tmp_path: Path) -> None:
    written(tmp_path / "r1", ticks=0, ended=False)
    figures = load_run(tmp_path / "r1").summary
    assert (figures.transactions.total, figures.latency_ms, figures.outcome) == (0, None, "cut short")


def test_costs_of_each_value_are_read(tmp_path: Path) -> None:
    written(tmp_path / "r1", ticks=6)
    last = load_run(tmp_path / "r1").costs[-1]
    told = {(cost.setting, cost.value): cost.seconds for cost in last}
    assert told[("sync_binlog", "1")] == 1.0
    assert told[("sync_binlog", "0")] == 3.0


def test_who_writes_now_is_known_by_its_lock(tmp_path: Path) -> None:
    """It goes with the process, however that ends."""
    code = (
        "import sys; from pathlib import Path; from tests.unit.record.written import plan_record;"
        "from tuibench.record.files.recorder import RunRecorder;"
        "r = RunRecorder(Path(sys.argv[1])); r.open(plan_record()); print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "r1")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        assert load_run(tmp_path / "r1").is_live
        process.kill()
    assert not load_run(tmp_path / "r1").is_live


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="there is no recorded run in"):
        load_run(tmp_path)
    (tmp_path / PLAN_FILE).write_text('{"session": 1}')
    with pytest.raises(RunError, match=r"plan\.json is damaged"):
        load_run(tmp_path)


def test_without_environment_and_states_the_rest_reads_back(tmp_path: Path) -> None:
    written(tmp_path / "r1")
    for name in (ENVIRONMENT_FILE, STATUS):
        (tmp_path / "r1" / name).unlink()
    run = load_run(tmp_path / "r1")
    assert (len(run.samples), run.environment, run.states) == (3, None, ())
