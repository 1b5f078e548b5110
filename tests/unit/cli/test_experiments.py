"""The commands `sweep`, `versions` and `probe`."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import examples, sweeps, versions
from tests.examples import summary
from tests.unit.cli.plans import planned
from tests.unit.cli.program import Program
from tests.unit.features.probe.test_experiment import answered, probed
from tuibench.base import paths
from tuibench.base.errors import ExitCode, RunError, UsageError
from tuibench.cli.typer_command import parse_plan_words
from tuibench.features.probe.command import probe_exit_code, probe_output
from tuibench.features.sweep import runner as sweeping
from tuibench.features.sweep.execution import SweepProgress, sweep_notes
from tuibench.features.sweep.formats import sweep_text, versions_text
from tuibench.features.sweep.options import SweepOptions
from tuibench.features.sweep.planning import all_cells, cell_plan
from tuibench.model.probe import ProbeEnd, ProbeOrder
from tuibench.model.schedule import Quantity
from tuibench.model.sweep import Sweep
from tuibench.mysql.errors import NoDatabaseError
from tuibench.record.sweep_folder import SweepFolder, load_sweep

# `tuibench sweep` as a script meets it, as far as it needs no server.


CELLS = all_cells(sweeps.PLAN)


@pytest.fixture
def recorded(tuibench_home: Path) -> Path:
    directory = paths.sweeps_dir() / "one"
    folder = SweepFolder.create(directory, sweeps.record())
    for result in sweeps.sweep().results:
        folder.add(result)
    for data in sweeps.sweep().data:
        folder.add(data)
    folder.close()
    return directory


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--prepare",), "(--create-database creates it, too)"),
        ((), "(make it with: tuibench prepare)"),
    ],
)
def test_a_missing_database_is_reported_with_the_command_that_creates_it(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], hint: str
) -> None:
    async def begin(*_: object) -> SweepFolder:
        raise NoDatabaseError("the database 'x' does not exist", "make it with: tuibench prepare")

    monkeypatch.setattr(sweeping, "create_sweep", begin)
    ended = tuibench("sweep", "oltp_read_only", *words)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.endswith(f"the database 'x' does not exist {hint}\n")


def test_a_plan_that_differs_is_refused_with_what_differs(tuibench: Program, recorded: Path) -> None:
    ended = tuibench("sweep", "oltp_write_only", f"--resume={recorded}", "--threads=4,8", "--repeat=3")
    assert ended.code == 2
    assert "repeats: 2 there, 3 here" in ended.err
    assert "base.seconds: 5.0 there, 10.0 here" in ended.err


def test_recorded_sweeps_are_shown_by_folder_and_by_name(tuibench: Program, recorded: Path) -> None:
    by_folder = tuibench("sweep", "--show", str(recorded))
    assert (by_folder.code, by_folder.out) == (0, sweep_text(sweeps.sweep()))
    assert tuibench("sweep", "--show", "one").out == by_folder.out
    assert tuibench("sweep", "--show", "one", "--table=runs").out == sweep_text(sweeps.sweep(), "runs")


def test_results_go_to_a_file(tuibench: Program, recorded: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.md"
    ended = tuibench("sweep", "--show", "one", "--format=markdown", f"--out={out}")
    assert (ended.code, ended.out) == (0, "")
    assert out.read_text() == sweep_text(sweeps.sweep(), form="markdown")


def test_sweeps_are_compared(tuibench: Program, recorded: Path) -> None:
    ended = tuibench("sweep", "--compare", "one", str(recorded))
    assert ended.code == 0
    assert ended.out.startswith("relative to MariaDB 10.11.19 (1)\n")


# What it says on the way


def test_the_outlook_comes_first_and_each_cell_has_its_line() -> None:
    said: list[str] = []
    talk = SweepProgress(sweeps.PLAN, said.append)
    fresh = Sweep(record=sweeps.record())
    assert talk.outlook(fresh) == (
        "8 cells: 1 case × 2 variants × 2 numbers of threads × 2 runs, interleaved, 1 + 5 s each: "
        "about 01:08 to go"
    )
    result = sweeps.result(CELLS[0], 123.4)
    talk.on_cell_start(CELLS[0], 1)
    talk.ended(result, 1, Sweep(record=sweeps.record(), results=(result,)))
    assert said == ["[1/8] oltp_write_only, durable 1/1, 4 threads, run 1: 123 TPS, p95 3.25 ms; 00:56 left"]


def test_the_bar_moves_within_a_cell() -> None:
    moved: list[float] = []
    talk = SweepProgress(sweeps.PLAN, lambda _: None, lambda done, _: moved.append(done))
    talk.on_cell_start(CELLS[0], 1)
    for elapsed in (-0.5, 2.0, 5.0):
        talk.on_message(examples.sample(elapsed_seconds=elapsed))
    assert moved == pytest.approx([0, 0.5 / 6, 3 / 6, 0.99])


def test_what_the_tables_have_no_place_for() -> None:
    limited = [f"client-limited: a worker used {share} % of a core" for share in (91, 97)]
    results = (
        sweeps.result(CELLS[0], warnings=(limited[0],)),
        sweeps.result(CELLS[1], warnings=(limited[1],)),
        sweeps.failed(CELLS[2], "the server was restarted"),
    )
    known = Sweep(record=sweeps.record(), results=results)
    assert sweep_notes(known, Path("/sweeps/one")) == [
        "failed: oltp_write_only, durable 1/1, 8 threads, run 1: the server was restarted",
        "warning: client-limited: a worker used 91 % of a core (2 of 2 cells)",
        "6 cells are left; continue with: tuibench sweep --resume /sweeps/one",
        "recorded in /sweeps/one",
    ]


def test_every_option_of_a_load_may_have_several_values() -> None:
    words = (
        "--rate=0,50",
        "--client-delay=0,5ms,20ms",
        "--isolation=serializable",
        "--db-ps-mode=auto,disable",
    )
    load, _ = parse_plan_words("sweep", words)
    plan = SweepOptions().plan("oltp_read_only", {}, load)
    assert plan.cell_count == 2 * 3 * 2
    assert [variant.name for variant in plan.variants[:3]] == [
        "rate=0, client-delay=0, db-ps-mode=auto",
        "rate=0, client-delay=0, db-ps-mode=disable",
        "rate=0, client-delay=5ms, db-ps-mode=auto",
    ]
    plans = [cell_plan(plan, cell) for cell in all_cells(plan)]
    assert {(one.rate, one.client_delay_ms, one.prepared) for one in plans} == {
        (rate, delay, prepared)
        for rate in (0.0, 50.0)
        for delay in (0.0, 5.0, 20.0)
        for prepared in (True, False)
    }
    assert {one.isolation for one in plans} == {"serializable"}
    assert {one.seed for one in plans} == {plan.base.seed}


# `tuibench versions` as a script meets it, as far as it needs no server.


@pytest.fixture
def versions_recorded(tuibench_home: Path) -> Path:
    directory = paths.sweeps_dir() / "compared"
    whole = versions.comparison()
    folder = SweepFolder.create(directory, whole.record)
    for start in whole.starts:
        folder.add(start)
    for result in whole.results:
        folder.add(result)
    folder.close()
    return directory


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no server program is named"),
        (("x:/none/mysqld",), "cannot run /none/mysqld"),
        (("/bin/true", "--cpus=0"), "--cpus must be between 0.1 and"),
        (("/bin/true", "--memory=much"), "--memory: 'much' is not a size"),
        (("/bin/true",), "is not a MariaDB or MySQL server"),
        (("--format=xml",), "--format: 'xml' is unknown"),
        (("--show=nowhere",), "there is no sweep in nowhere"),
        (("--resume=nowhere",), "there is no sweep in nowhere"),
        (("--resume=nowhere", "mysql:/x"), "--resume takes no other options"),
        (("--resume=nowhere", "--tables=4"), "--resume takes no other options"),
    ],
)
def test_what_cannot_be_is_refused(tuibench: Program, arguments: tuple[str, ...], said: str) -> None:
    ended = tuibench("versions", *arguments)
    assert ended.code in (2, 3)
    assert ended.out == ""
    assert said in ended.err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--starts=0", "--starts must be between"),
        ("--threads=0", "threads must be between"),
        ("--time=0", "needs a time limit"),
        ("--profile=oltp", "oltp"),
        ("--warehouses=2", "warehouses"),
        ("--my-cnf=/none.cnf", "cannot read the option file /none.cnf"),
        ("--mysqld-option=a b", "--mysqld-option takes NAME=VALUE"),
    ],
)
def test_options_are_refused_before_a_server_is_started(
    tuibench: Program, tmp_path: Path, option: str, said: str
) -> None:
    path = tmp_path / "mysqld"
    path.write_text("#!/bin/sh\necho 'mysqld  Ver 8.4.3 for Linux'\n")
    path.chmod(0o755)
    ended = tuibench("versions", str(path), option)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_recorded_comparison_is_shown(tuibench: Program, versions_recorded: Path, tmp_path: Path) -> None:
    ended = tuibench("versions", "--show", "compared")
    assert (ended.code, ended.out) == (0, versions_text(load_sweep(versions_recorded)))
    out = tmp_path / "page.html"
    assert tuibench("versions", f"--show={versions_recorded}", "--format=html", f"--out={out}").code == 0
    assert "old against new" in out.read_text()


def test_a_comparison_that_is_complete_only_prints_itself(tuibench: Program, versions_recorded: Path) -> None:
    ended = tuibench("versions", "--resume", "compared")
    assert (ended.code, ended.out) == (0, versions_text(load_sweep(versions_recorded)))
    assert f"page with charts: {versions_recorded}/versions.html" in ended.err


def test_a_sweep_is_refused(tuibench: Program, tuibench_home: Path) -> None:
    SweepFolder.create(paths.sweeps_dir() / "one", sweeps.record()).close()
    for option in ("--show", "--resume"):
        ended = tuibench("versions", option, "one")
        assert (ended.code, ended.out) == (2, "")
        assert "is not a comparison of versions" in ended.err


def test_a_comparison_is_not_resumed_as_a_sweep(tuibench: Program, versions_recorded: Path) -> None:
    ended = tuibench("sweep", "--resume", "compared")
    assert (ended.code, ended.out) == (2, "")
    assert "tuibench versions --resume" in ended.err


def test_the_outlook_says_how_long_it_takes() -> None:
    said: list[str] = []
    talk = SweepProgress(versions.PLAN, said.append)
    assert talk.outlook(versions.record()) == (
        "12 runs: 2 tests × 2 servers × 1 number of threads × 3 starts, 1 + 5 s each, and 01:00 for starts "
        "and tables: about 02:42 to go"
    )


# `tuibench probe` and `ctl probe`: what their words mean, and what a script is told.


def test_the_usual_probe_ends_within_three_minutes() -> None:
    plan = planned(command="probe")
    assert plan.probe == ProbeOrder(least=1.0, seconds=177.0)
    assert plan.seconds is None
    assert (plan.threads, plan.interval_seconds, plan.warmup_seconds) == (1, 0.5, 3.0)


def test_a_probe_by_rate_has_its_threads() -> None:
    plan = planned(
        "--by=rate", "--threads=32", "--min-rate=50", "--max-rate=800", "--slo=p99<30ms", command="probe"
    )
    assert plan.threads == 32
    assert plan.probe is not None
    assert plan.probe.by is Quantity.RATE
    assert (plan.probe.least, plan.probe.most, plan.probe.slo) == (50, 800, ("p99<30ms",))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by=tables"], "--by is one of threads, rate"),
        (["--slo=p95"], "'p95' is not a threshold"),
        (["--slo=abandoned<1"], "cannot be judged by abandoned"),
        (["--min-threads=8", "--max-threads=4"], "--max-threads is below --min-threads"),
        (["--max-step-time=0"], "--max-step-time must be between 2 and 600"),
        (["--max-time=5"], "--max-time must be between 13 and 86,403, not 5"),
        (["--max-time=9", "--warmup-time=0"], "--max-time must be between 10 and 86,400, not 9"),
        (["--warmup-time=-1"], "--warmup-time must be between 0 and"),
    ],
)
def test_what_cannot_be_probed_is_refused(options: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        planned(*options, command="probe")


def test_the_answer_is_words_or_json() -> None:
    found = answered(probed())
    done = summary(probe=found)
    assert probe_output(done, "text").splitlines()[-1].startswith("Confidence: high")
    told = json.loads(probe_output(done, "json"))
    assert told["knee"]["level"] == found.knee.level if found.knee else False
    assert [step["level"] for step in told["steps"]] == [step.level for step in found.steps]
    with pytest.raises(RunError, match="before its first step"):
        probe_output(summary(), "text")


def test_a_probe_that_ended_early_has_failed() -> None:
    found = answered(probed())
    assert probe_exit_code(ExitCode.DONE, summary(probe=found)) is ExitCode.DONE
    early = summary(probe=replace(found, end=ProbeEnd.ABORTED))
    assert probe_exit_code(ExitCode.DONE, early) is ExitCode.RUN_FAILED
    assert probe_exit_code(ExitCode.INTERRUPTED, early) is ExitCode.INTERRUPTED
