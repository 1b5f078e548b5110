"""Probes of real servers: what is left when an objective, or the server itself, is lost in the middle."""

import json
import signal
from pathlib import Path

import msgspec
import pytest

from tests.integration.support import sbtest
from tests.integration.support.commands import ask, finished, started, tuibench, wait_for_output
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE, session_spec, watched
from tests.validation import check_valid
from tuibench.demo.server import PrivateServer
from tuibench.load.tables.prepare import prepare_tables
from tuibench.model.command import ApplyPreset, StartProbe, Stop
from tuibench.model.experiments.probe import ProbeEnd, ProbeOrder, ProbeResult
from tuibench.model.results.summary import Summary

QUICK = (
    "--tables=2",
    "--table-size=500",
    "--interval=0.2",
    "--warmup-time=0.2",
    "--max-step-time=2",
    "--max-time=20",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_a_lost_objective_ends_it_with_its_answer(
    any_tables: PrivateServer, home: Path, tmp_path: Path
) -> None:
    written = tmp_path / "summary.json"
    done = tuibench(
        "probe",
        "oltp_read_write",
        *QUICK,
        "--slo=p95<1us",
        "--format=json",
        f"--json={written}",
        target=any_tables.target,
        env={"TUIBENCH_HOME": str(home)},
    )
    assert done.code == 0, done.err
    check_valid("probe", done.out)
    found = msgspec.json.decode(done.out, type=ProbeResult)
    assert found.end is ProbeEnd.SLO
    assert [step.level for step in found.steps] == [1]
    assert found.objective is not None
    assert found.objective.most is None
    assert "[ " in done.err
    assert "1 thread: " in done.err
    (recorded,) = home.glob("data/runs/*/summary.json")
    for path in (written, recorded):
        summary = json.loads(path.read_bytes())
        assert summary["probe"]["end"] == "slo"
        assert summary["transactions"]["total"] > 0


@pytest.mark.one_flavour
async def test_interrupted_it_answers_for_what_there_is(tables: PrivateServer, home: Path) -> None:
    with started(
        "probe", "oltp_read_write", *QUICK, target=tables.target, env={"TUIBENCH_HOME": str(home)}
    ) as process:
        wait_for_output(process, "] 1 thread: ")
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert done.code == 130, done.err
    assert "Ended early: the run was interrupted." in done.out
    assert await ask(tables.target, DURABILITY) == [DURABLE]


async def test_a_restart_ends_it_and_the_settings_go_back(
    restartable: PrivateServer, tuibench_home: Path
) -> None:
    await prepare_tables(restartable.target, sbtest.program(table_size=500))
    async with watched(session_spec(restartable.target)) as watcher:
        await watcher.works()
        assert (await watcher.submit(ApplyPreset("unsafe"))).ok
        assert await ask(restartable.target, DURABILITY) == [UNSAFE]
        answer = await watcher.submit(StartProbe(ProbeOrder(step_seconds=2.0)))
        assert answer.ok, answer.text
        await watcher.until(lambda: watcher.probe is not None and bool(watcher.probe.steps))
        await restartable.restart()
        await watcher.until(lambda: watcher.probe is not None and watcher.probe.is_over)
        assert (await watcher.submit(Stop())).ok
        summary = (await watcher.end()).summary
    assert_ended_by_restart(summary)
    assert summary.threads == 2, "the load went back to what it was"
    assert await ask(restartable.target, DURABILITY) == [DURABLE]


def assert_ended_by_restart(summary: Summary) -> None:
    assert summary.probe is not None
    assert summary.probe.end is ProbeEnd.ABORTED
    assert summary.probe.reason == "the server was restarted"
    assert summary.probe.steps
    assert summary.probe.steps[0].tps > 0
    assert any("was restarted" in line for line in summary.probe.lines)
