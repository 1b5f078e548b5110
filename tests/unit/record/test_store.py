"""Recorded runs and sweeps in their folders."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import sweeps
from tests.examples import EVENT, sample, status, summary
from tests.paths import DATA
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
from tuibench.base import paths
from tuibench.base.errors import RunError, UsageError
from tuibench.features.sweep.planning import all_cells
from tuibench.metrics.effect_detection import EffectDetector
from tuibench.model.effect import Verdict
from tuibench.model.event import Event, EventKind
from tuibench.model.sweep import DataDropped, DataReady
from tuibench.model.tick import Tick, merge_histograms
from tuibench.record import store
from tuibench.record.reader import Run, load_run
from tuibench.record.recorder import ENVIRONMENT as ENVIRONMENT_FILE
from tuibench.record.recorder import EVENTS, HISTOGRAMS, SAMPLES, STATUS, RunRecorder
from tuibench.record.recorder import PLAN as PLAN_FILE
from tuibench.record.sweep_folder import RESULTS, SweepFolder, load_sweep
from tuibench.record.sysbench_report import summary_text
from tuibench.report.run_report import run_markdown
from tuibench.report.text import csv_text, sysbench_text
from tuibench.session.replay import ReplayClient

# Runs and sweeps together: which there are, how far a sweep is, which of all is meant.


RUN, WHOLE, HALF = (
    "20231114-100000-oltp_insert",
    "20231115-090000-oltp_read_only",
    "20231115-120000-oltp_insert",
)
CELL = "001-oltp_insert-durable-4-threads-1"


def sweep_folder(name: str, cells: int) -> SweepFolder:
    folder = SweepFolder.create(paths.sweeps_dir() / name, sweeps.record())
    for result in sweeps.sweep().results[:cells]:
        folder.add(result)
    return folder


@pytest.fixture
def recorded(tuibench_home: Path) -> Path:
    """A run, a whole sweep with the record of one cell, and one that was cut short."""
    written(paths.runs_dir() / RUN)
    for name, cells in ((WHOLE, 8), (HALF, 3)):
        sweep_folder(name, cells).close()
    written(paths.sweeps_dir() / WHOLE / "cells" / CELL)
    return paths.sweeps_dir()


def test_the_list_has_runs_and_sweeps(recorded: Path) -> None:
    lines = {line.id: line for line in store.list_recorded()}
    assert set(lines) == {RUN, WHOLE, HALF}
    run, whole, half = lines[RUN], lines[WHOLE], lines[HALF]
    assert (run.kind, run.cells, run.cells_done) == ("run", None, None)
    assert (whole.kind, whole.outcome, whole.cells_done, whole.cells) == ("sweep", "done", 8, 8)
    assert (half.outcome, half.cells_done, half.cells) == ("cut short", 3, 8)
    assert (half.profile, half.seconds) == ("oltp_write_only", 24.0)
    assert half.transactions_per_second is None
    assert whole.bytes > half.bytes > 0


def test_a_failed_cell_is_not_done(tuibench_home: Path) -> None:
    folder = sweep_folder(HALF, 7)
    folder.add(sweeps.failed(all_cells(sweeps.PLAN)[7]))
    folder.close()
    (line,) = store.list_recorded()
    assert (line.outcome, line.cells_done) == ("cut short", 7)


def test_a_damaged_sweep_says_so_and_hides_nothing(recorded: Path) -> None:
    (recorded / HALF / "sweep.json").write_text("{")
    lines = {line.id: line for line in store.list_recorded()}
    assert "is damaged" in lines[HALF].error
    assert lines[WHOLE].error == ""


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (WHOLE, WHOLE),
        ("090000", WHOLE),
        ("read_only", WHOLE),
        (f"{WHOLE}/{CELL}", f"{WHOLE}/cells/{CELL}"),
        ("read_only/001", f"{WHOLE}/cells/{CELL}"),
        (f"{WHOLE}/cells/001", f"{WHOLE}/cells/{CELL}"),
        (RUN, f"../runs/{RUN}"),
        ("latest", f"../runs/{RUN}"),
    ],
)
def test_what_is_meant(recorded: Path, wanted: str, found: str) -> None:
    assert store.find_recorded(wanted).resolve() == (recorded / found).resolve()


def test_a_path_is_taken_as_it_is(recorded: Path) -> None:
    assert store.find_recorded(str(recorded / WHOLE)) == recorded / WHOLE
    cell = recorded / WHOLE / "cells" / CELL
    assert store.find_run(str(cell)) == cell


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("insert", "may be any of"),
        ("2023111", "may be any of"),
        ("nothing", "there is no run 'nothing'"),
        (f"{WHOLE}/002", "has no cell '002'"),
        ("nothing/001", "there is no run 'nothing/001'"),
    ],
)
def test_what_is_not_or_not_clear(recorded: Path, wanted: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        store.find_recorded(wanted)


@pytest.mark.parametrize("wanted", [WHOLE, "read_only", "path"])
def test_a_sweep_is_no_run(recorded: Path, wanted: str) -> None:
    with pytest.raises(UsageError, match="is a sweep, its cells are runs") as refused:
        store.find_run(str(recorded / WHOLE) if wanted == "path" else wanted)
    assert f"{WHOLE}/001" in refused.value.hint


def test_a_sweep_is_removed_but_not_while_it_is_run(recorded: Path) -> None:
    running = SweepFolder.resume(recorded / HALF)
    assert store.describe_recorded(recorded / HALF).outcome == "running"
    with pytest.raises(RunError, match="is running"):
        store.remove_recorded(recorded / HALF)
    running.close()
    store.remove_recorded(recorded / HALF)
    assert [line.id for line in store.list_recorded()] == [RUN, WHOLE]


@pytest.mark.parametrize("wanted", ["9" * 5000, "\0"])
def test_what_can_be_no_name_of_a_file_is_no_run(tuibench_home: Path, wanted: str) -> None:
    with pytest.raises(UsageError):
        store.find_recorded(wanted)


def test_records_that_may_not_be_read_are_said(tuibench_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(RunError, match=r"cannot read .*runs: Permission denied"):
        store.run_ids()


# Which runs there are, and which one is meant.


FIRST, SECOND, THIRD = "20260101-120000-oltp_insert", "20260101-130000-tpcc", "20260102-090000-tpcc"


@pytest.fixture
def folder(tuibench_home: Path) -> Path:
    """Three runs: one done, one cut short, one without a tick."""
    written(paths.runs_dir() / FIRST)
    written(paths.runs_dir() / SECOND, ended=False)
    written(paths.runs_dir() / THIRD, ticks=0, ended=False)
    (paths.runs_dir() / "notes").mkdir()
    return paths.runs_dir()


def test_the_list_has_all_runs_with_how_they_ended(folder: Path) -> None:
    lines = {line.id: line for line in store.list_runs()}
    assert list(lines) == [FIRST, SECOND, THIRD]
    done, cut, empty = lines.values()
    assert (done.outcome, done.transactions_per_second, done.p95_ms) == ("done", 52.0, 590.56)
    assert (cut.outcome, cut.seconds, cut.transactions, cut.p95_ms) == ("cut short", 3.0, 150, None)
    assert (empty.outcome, empty.seconds, empty.transactions_per_second) == ("cut short", 0.0, None)
    assert done.bytes > 1000


def test_a_run_that_is_being_written_says_so_and_stays(folder: Path) -> None:
    recorder = RunRecorder(folder / "live")
    recorder.open(plan_record())
    assert store.describe_run(folder / "live").outcome == "running"
    with pytest.raises(RunError, match="still being written"):
        store.remove_run(folder / "live")
    recorder.close()
    store.remove_run(folder / "live")
    assert not (folder / "live").exists()


def test_a_damaged_record_does_not_hide_the_others(folder: Path) -> None:
    (folder / SECOND / "plan.json").write_text("{}")
    lines = {line.id: line.error for line in store.list_runs()}
    assert "damaged" in lines[SECOND]
    assert not lines[FIRST]
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("wanted", "found"), [(FIRST, FIRST), ("insert", FIRST), ("20260102", THIRD), ("latest", THIRD)]
)
def test_a_part_of_the_id_is_enough(folder: Path, wanted: str, found: str) -> None:
    assert store.find_run_directory(wanted) == folder / found


def test_a_folder_anywhere_is_a_run(folder: Path, tmp_path: Path) -> None:
    (folder / FIRST).rename(tmp_path / "elsewhere")
    assert store.find_run_directory(str(tmp_path / "elsewhere")) == tmp_path / "elsewhere"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("tpcc", "several runs match: .*give a longer part"),
        ("tpc-c", "there is no run 'tpc-c'"),
        ("x", "no run 'x'"),
    ],
)
def test_what_is_not_clear_is_asked_back(folder: Path, wanted: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        store.find_run_directory(wanted)


def test_an_empty_shelf_says_how_it_fills(tuibench_home: Path) -> None:
    assert store.list_runs() == []
    with pytest.raises(UsageError, match=r"no recorded run in .*tuibench run"):
        store.find_run_directory("latest")


# A real run that is kept for every version to read: 40 s of oltp_write_only, durability relaxed midway.


KEPT = DATA / "recorded-run"
MOST_BYTES = 200_000


def kept() -> Run:
    return load_run(KEPT)


def test_it_is_small_and_whole() -> None:
    assert sum(file.stat().st_size for file in KEPT.iterdir()) <= MOST_BYTES
    run = kept()
    assert (len(run.measured), run.unreadable_lines, run.cut_short) == (40, 0, False)
    assert run.environment is not None
    assert run.environment.variables["innodb_flush_log_at_trx_commit"] == "1"
    assert {event.kind for event in run.events} >= {EventKind.SETTING, EventKind.EFFECT, EventKind.RESTORE}


def test_its_verdicts_are_those_of_its_samples() -> None:
    """The recorded figures are those of the version that ran; the verdicts are today's."""
    run = kept()
    detector = EffectDetector(run.plan.plan.interval_seconds)
    change = next(event for event in run.events if event.kind is EventKind.SETTING and event.marker)
    at = change.elapsed_seconds
    found = [detector.slot(sample.tick) for sample in run.samples if sample.tick.end <= at]
    detector.change(1, change.text, began_seconds=at, at_seconds=at, at_commit=True)
    found += [detector.slot(sample.tick) for sample in run.samples if sample.tick.end > at]
    (recorded,) = run.summary.effects
    effect = next(filter(None, found))
    assert {one.figure: one.verdict for one in effect.comparisons} == {
        one.figure: one.verdict for one in recorded.comparisons
    }
    fsyncs = recorded.comparison("fsyncs_per_transaction")
    assert fsyncs is not None
    assert fsyncs.verdict is Verdict.LOWER


def test_its_report_is_printed_again() -> None:
    run = kept()
    text = "".join(sysbench_text(run))
    head, lines = text.split("Threads started!\n\n")
    assert "Running the test with following options:\nNumber of threads: 8\n" in head
    assert lines.startswith("[ 1s ] thds: 8 tps: ")
    assert lines.count("\n[ ") == 39
    assert text.endswith(summary_text(run.summary))
    assert "".join(csv_text(run)).count("\n") == 41
    assert "preset unsafe: flush_log 1 → 0, sync_binlog 1 → 0" in run_markdown(run)


def test_its_latencies_add_up_to_the_summary() -> None:
    run = kept()
    counts: dict[int, int] = {}
    for line in run.histograms():
        for bucket, times in line.histogram().counts.items():
            counts[bucket] = counts.get(bucket, 0) + times
    assert counts == run.latencies().counts


def test_what_held_is_known_at_every_time() -> None:
    run = kept()
    values = [{each.name: each.value for each in status.settings}["sync_binlog"] for _, status in run.states]
    assert list(dict.fromkeys(values)) == ["1", "0"]
    assert values[-1] == "1"


def test_it_can_be_replayed() -> None:
    client = ReplayClient(kept())
    assert client.hello.status.threads == 8
    assert client.hello.data_set == "4 × 100,000 rows"


# A record reads back as what was written, however it ended.


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
    assert first[1] == status(settings=(SYNC, FLUSH))
    assert second[1] == status(settings=(replace(SYNC, value="0", at_risk=True), FLUSH))
    assert second[0] == pytest.approx(2.5, abs=0.001)


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
    assert (figures.figures["tps"], figures.figures["qps"]) == (50.0, 1000.0)
    assert figures.watched is None
    assert any("computed from its samples" in warning for warning in figures.warnings)
    assert run.latencies().counts == latencies.counts


def test_a_watch_that_was_cut_short_has_the_totals_of_the_traffic(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path / "r1")
    plan = plan_record()
    recorder.open(replace(plan, plan=replace(plan.plan, is_watch=True)))
    sums: dict[str, float] = {
        "completed": 4,
        "commits": 4,
        "rollbacks": 2,
        "queries": 30,
        "reads": 20,
        "writes": 10,
    }
    for number, end, seconds, running in ((1, 1.0, 1.0, 3), (2, 4.0, 3.0, 7)):
        traffic = Tick(
            end=end,
            seconds=seconds,
            sums=sums | {"thread_seconds": running * seconds},
            peaks={"threads_running": running},
        )
        recorder.sample(replace(tick(number), tick=traffic))
    recorder.close()
    figures = load_run(tmp_path / "r1").summary
    assert figures.watched is not None
    assert (figures.transactions.total, figures.queries.total, figures.watched.rollbacks) == (8, 60, 4)
    assert (figures.watched.threads_running_avg, figures.watched.threads_running_max) == (6.0, 7)


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
        "from tuibench.record.recorder import RunRecorder;"
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


# The folder of a sweep: what was written can be read again, whatever a crash has left.


CELLS = all_cells(sweeps.PLAN)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sweep"


def test_what_was_written_can_be_read(directory: Path) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    folder.add(DataReady(data="d", files_bytes=1, prepared=True))
    folder.add(sweeps.result(CELLS[0]))
    folder.close()
    known = load_sweep(directory)
    assert known == folder.sweep
    assert known.record == sweeps.record()
    assert known.done == (sweeps.result(CELLS[0]),)


def test_the_last_result_of_a_cell_counts(directory: Path) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    folder.add(sweeps.failed(CELLS[0]))
    folder.add(sweeps.result(CELLS[0]))
    folder.close()
    assert [result.outcome for result in load_sweep(directory).results] == ["done"]


def test_dropped_tables_keep_their_size(directory: Path) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    folder.add(DataReady(data="d", files_bytes=5, prepared=True))
    folder.add(DataDropped(data="d"))
    folder.close()
    assert load_sweep(directory).data == (DataReady(data="d", files_bytes=5, prepared=False),)


@pytest.mark.parametrize("torn_off", [1, 5, 200])
def test_a_torn_line_counts_for_nothing_and_harms_no_other(directory: Path, torn_off: int) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    folder.add(sweeps.result(CELLS[0]))
    folder.add(sweeps.result(CELLS[1]))
    folder.close()
    path = directory / RESULTS
    path.write_bytes(path.read_bytes()[:-torn_off])
    again = SweepFolder.resume(directory)
    again.add(sweeps.result(CELLS[2]))
    again.close()
    whole = [0, 1, 2] if torn_off == 1 else [0, 2]
    assert [one.cell for one in load_sweep(directory).done] == [CELLS[number] for number in whole]


def test_a_sweep_is_run_by_one_process_at_a_time(directory: Path) -> None:
    folder = SweepFolder.create(directory, sweeps.record())
    with pytest.raises(UsageError, match="by another process"):
        SweepFolder.resume(directory)
    folder.close()
    SweepFolder.resume(directory).close()


def test_only_a_plan_that_nobody_has_changed_is_ones_own(directory: Path, tmp_path: Path) -> None:
    SweepFolder.create(directory, sweeps.record()).close()
    (again := SweepFolder.resume(directory)).close()
    assert again.is_own()
    written = (directory / "sweep.json").read_bytes()
    (directory / "sweep.json").write_bytes(written.replace(b"oltp", b"OLTP"))
    assert not again.is_own()
    (directory / "sweep.json").write_bytes(written)
    (paths.state_dir() / "records.key").unlink()
    assert not again.is_own()
    (directory / "sweep.seal").unlink()
    assert not again.is_own()


def test_no_sweep_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a sweep's folder contains sweep\.json"):
        load_sweep(tmp_path)
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(UsageError, match="is damaged"):
        load_sweep(tmp_path)


def test_no_place_for_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write the sweep's record"):
        SweepFolder.create(tmp_path / "file" / "sweep", sweeps.record())


def test_a_sweep_that_never_began_leaves_nothing(directory: Path) -> None:
    SweepFolder.create(directory, sweeps.record()).discard()
    assert not directory.exists()
