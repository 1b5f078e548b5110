"""Every command that prints JSON: one document on stdout that its schema describes, nothing with an error."""

import gzip
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests import sweeps
from tests.examples import LATENCY, SERVER, sample, summary
from tests.paths import DATA
from tests.schemas import SCHEMAS
from tests.tui.support.statements import REPORT
from tests.unit.cli.program import Program
from tests.unit.cli.served import serving
from tests.unit.cli.test_runs import VERDICTS
from tests.unit.features.blackbox.test_diagnosis import box, idle_holder
from tests.unit.features.crash import crash_examples
from tests.unit.features.failover import failover_examples
from tests.unit.features.prices.test_prices import BuiltServer
from tests.unit.features.probe.test_experiment import answered, probed
from tests.unit.features.tune.tune_examples import evaluated
from tests.unit.record.steady import steady
from tests.unit.record.written import SYNC, written
from tests.validation import check_valid, check_valid_lines
from tuibench.base import paths
from tuibench.base.errors import ExitCode, RunError, ServerUnavailableError
from tuibench.cli import server
from tuibench.cli.main import command_module
from tuibench.cli.output import echo_json
from tuibench.features.blackbox.command import BlackBoxReport
from tuibench.features.blackbox.diagnosis import diagnose
from tuibench.features.crash.text import crash_text
from tuibench.features.failover.text import failover_text
from tuibench.features.prices.experiment import PriceOrder
from tuibench.features.prices.text import FORMATS
from tuibench.features.probe.command import probe_output
from tuibench.features.tune.command import tune_output
from tuibench.model.findings import Finding, Severity
from tuibench.model.settings import PresetState
from tuibench.model.summary import OWN_QUERIES, QueryTotals, SlapBenchmark, WatchedTotals
from tuibench.record.recorder import EVENTS, REPORTS, SAMPLES, STATUS, pretty_json
from tuibench.record.sweep_folder import SweepFolder

SESSION = "20260101-120000-oltp_read_write"
KEPT = DATA / "recorded-run"


@pytest.fixture
def recorded(tuibench_home: Path) -> None:
    """A run, one that was cut short, two to compare, and a sweep."""
    written(paths.runs_dir() / "one")
    written(paths.runs_dir() / "cut", ended=False)
    for name, each in (("a", 50), ("b", 60)):
        steady(paths.runs_dir(), name, each=each)
    folder = SweepFolder.create(paths.sweeps_dir() / "matrix", sweeps.record())
    known = sweeps.sweep()
    for result in known.results:
        folder.add(result)
    for data in known.data:
        folder.add(data)
    folder.close()


@pytest.mark.parametrize(
    ("line", "schema"),
    [
        ("profiles list", "profiles"),
        ("profiles show oltp_read_write", "profile"),
        ("profiles show tpcc", "profile"),
        ("profiles show slap", "profile"),
        ("profiles check oltp_read_write", "profile-check"),
        ("runs list", "runs"),
        ("runs show one", "run"),
        ("runs show cut", "run"),
        ("runs show matrix", "sweep"),
        ("compare a b", "compare"),
        ("history oltp_read_write", "history"),
        ("sweep --show matrix", "sweep"),
        ("sweep --compare matrix matrix", "sweeps"),
        ("sessions", "sessions"),
    ],
)
@pytest.mark.usefixtures("recorded")
def test_of_what_is_there(tuibench: Program, line: str, schema: str) -> None:
    ended = tuibench(*line.split(), "--format=json")
    assert (ended.code, ended.err) == (ExitCode.DONE, "")
    check_valid(schema, ended.out)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("run", ["one", "cut", str(KEPT)])
def test_of_a_report(tuibench: Program, run: str) -> None:
    check_valid("summary", tuibench("report", run, "--json").out)


@pytest.mark.parametrize(
    ("line", "schema"),
    [
        ("sessions", "sessions"),
        ("ctl status", "status"),
        ("ctl threads 4", "answer"),
        ("ctl stop --wait", "summary"),
    ],
)
@pytest.mark.parametrize("samples", [0, 2])
def test_of_a_session(
    tuibench: Program,
    monkeypatch: pytest.MonkeyPatch,
    tuibench_home: Path,
    line: str,
    schema: str,
    samples: int,
) -> None:
    with serving(monkeypatch, tuibench_home, SESSION) as (served,):
        served.session.past = [sample(number) for number in range(samples)]
        served.session.stops_when_told = True
        ended = tuibench(*line.split(), "--format=json")
    assert ended.code == ExitCode.DONE
    check_valid(schema, ended.out)


FINDING = Finding(id="connections", severity=Severity.STOP, found="8 of 4", remedy="fewer")
LISTING = server.SettingsListing(
    flavour="MariaDB",
    version="10.11.19",
    where=SERVER.where,
    settings=(SYNC,),
    presets=(PresetState(name="durable", values={"sync_binlog": "1"}, risk=""),),
)
BENCHMARK = SlapBenchmark(
    engine="innodb",
    load_type=OWN_QUERIES,
    clients=8,
    queries_per_client=10,
    seconds=(0.5, 0.25),
    queries=QueryTotals(read=80, write=0, other=0, total=80, per_second=106.7),
    latency_ms=LATENCY,
)


def answering(answer: Any) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Instead of a server."""

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        work.close()
        if isinstance(answer, Exception):
            raise answer
        return answer

    return run


ASKING = {
    "check": (("check", "tpcc"), VERDICTS, "check"),
    "doctor": (("doctor",), [FINDING], "findings"),
    "settings": (("settings",), LISTING, "settings"),
    "slap": (("slap", "--query=SELECT 1", "--number-of-queries=80"), [BENCHMARK], "slap"),
}


def replace_run_async(monkeypatch: pytest.MonkeyPatch, command: str, played: Callable[..., object]) -> None:
    """Some commands import it when they run, others with their module, which must be imported before."""
    module = command_module(command)
    monkeypatch.setattr("tuibench.cli.runner.run_async", played)
    monkeypatch.setattr(module, "run_async", played, raising=False)


@pytest.mark.parametrize("command", ASKING)
def test_of_a_server(tuibench: Program, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    line, answer, schema = ASKING[command]
    replace_run_async(monkeypatch, command, answering(answer))
    check_valid(schema, tuibench(*line, "--format=json").out)


@pytest.mark.parametrize("command", ASKING)
def test_with_an_error_there_is_nothing_on_stdout(
    tuibench: Program, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    line, _, _ = ASKING[command]
    away = ServerUnavailableError("nobody is there")
    replace_run_async(monkeypatch, command, answering(away))
    ended = tuibench(*line, "--format=json")
    assert ended == (ExitCode.SERVER_UNAVAILABLE, "", "tuibench: nobody is there\n")


def test_of_a_screening() -> None:
    found = evaluated({1: 1.3, 2: 1.0}).result(60.0)
    check_valid("tune", tune_output(summary(tune=found), "json"))
    assert tune_output(summary(tune=found), "text").startswith("Tune: 2 values")
    with pytest.raises(RunError, match="ended before its first window"):
        tune_output(summary(), "json")


def test_of_a_probe() -> None:
    check_valid("probe", probe_output(summary(probe=answered(probed())), "json"))


def test_what_json_cannot_say_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json([float("nan"), float("inf"), None])
    assert capsys.readouterr().out.split() == ["[", "null,", "null,", "null", "]"]


def test_the_files_of_a_run_and_of_a_sweep(recorded: None) -> None:
    sweep = paths.sweeps_dir() / "matrix"
    check_valid("sweep-record", (sweep / "sweep.json").read_bytes())
    check_valid_lines("sweep-line", (sweep / "results.jsonl").read_bytes())
    for run in (paths.runs_dir() / "one", KEPT):
        for name in ("plan", "environment", "summary"):
            check_valid(name, (run / f"{name}.json").read_bytes())
        check_valid_lines("sample-line", gzip.decompress((run / SAMPLES).read_bytes()))
        for name, file in (("event", EVENTS), ("status", STATUS), ("report", REPORTS)):
            check_valid_lines(f"{name}-line", (run / file).read_bytes())


def test_slap_prints_one_form(tuibench: Program) -> None:
    ended = tuibench(*ASKING["slap"][0], "--csv", "--format=json")
    assert (ended.code, ended.out) == (ExitCode.USAGE_ERROR, "")
    assert "only one format can be printed on stdout" in ended.err


def test_of_a_watch(capsys: pytest.CaptureFixture[str]) -> None:
    watched = WatchedTotals(
        rollbacks=1, threads_running_avg=2.5, threads_running_max=4, latency_avg_ms=None, latency_note="OFF"
    )
    echo_json(summary(watched=watched))
    check_valid("summary", capsys.readouterr().out)


def test_of_statements(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json(REPORT)
    check_valid("statements", capsys.readouterr().out)


def test_of_the_hosts_of_a_load(tuibench: Program) -> None:
    asked = ("cluster", "check", "--cluster", "exec:false", "--hosts-only", "--format=json")
    ended = tuibench(*asked)
    assert ended.code == ExitCode.RUN_FAILED
    check_valid("hosts", ended.out)


def test_of_the_crashes_of_a_server() -> None:
    check_valid("crash", crash_text(crash_examples.KNOWN, "json"))


def test_of_a_price_list() -> None:
    found = BuiltServer(PriceOrder(cycles=3, window_seconds=3.0)).drive()
    check_valid("prices", FORMATS["json"](found))


def test_of_the_failovers_of_servers() -> None:
    check_valid("failover", failover_text(failover_examples.KNOWN, "json"))


def test_of_a_black_box() -> None:
    found = box(idle_holder)
    report = BlackBoxReport(run="20261128-1200", diagnosis=diagnose(found), box=found)
    check_valid("blackbox", pretty_json(report))


def test_each_schema_has_an_output_here() -> None:
    """So that a new one is tested: its name stands in this file."""
    text = Path(__file__).read_text(encoding="utf-8")
    lines = {"sample-line", "event-line", "status-line", "report-line", "plan", "environment"}
    assert {name for name in SCHEMAS if f'"{name}"' not in text} <= lines
