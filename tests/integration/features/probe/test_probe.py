"""Probes of real servers: what is left when an objective, or the server itself, is lost in the middle."""

import asyncio
import contextlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.faults.proxy import Proxy
from tests.integration.support import sbtest
from tests.integration.support.commands import ask, finished, started, tuibench, wait_for_output
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE, session_spec, watched
from tests.validation import check_valid
from tuibench.load.tables import prepare_tables
from tuibench.metrics.diagnosis import QUEUE_OUTSIDE
from tuibench.model.message import ApplyPreset, StartProbe, Stop
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeResult
from tuibench.model.summary import Summary
from tuibench.servers.server import PrivateServer

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
    assert {step.level for step in found.steps} == {1}
    assert found.objective is not None
    assert found.objective.most is None
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
        wait_for_output(process, " s: 1 thread: ")
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert done.code == 130, done.err
    assert "The probe ended early: the run was interrupted." in done.out
    assert await ask(tables.target, DURABILITY) == [DURABLE]


@pytest.mark.one_flavour
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


WHOLE = pytest.mark.whole
QUEUE_PER_SECOND = 150.0
"""Far below what server and client can do, also on a machine with other work."""


@pytest.mark.one_flavour
@pytest.mark.parametrize(
    ("by", "hogs", "engine"),
    [
        ("threads", 0, "auto"),
        *(
            pytest.param(*each, marks=WHOLE)
            for each in (
                ("threads", 0, "asyncio"),
                ("threads", 2, "auto"),
                ("threads", 2, "asyncio"),
                ("rate", 0, "asyncio"),
                ("rate", 0, "auto"),
                ("rate", 2, "auto"),
                ("rate", 2, "asyncio"),
            )
        ),
    ],
)
async def test_a_queue_in_front_of_the_server_is_named_also_on_a_busy_host(
    tables: PrivateServer, home: Path, by: str, hogs: int, engine: str
) -> None:
    """A proxy passes on a fixed number of requests a second. On a busy machine it may find no limit, but
    never another one.
    """
    proxy = Proxy(sbtest.over_tcp(tables.target))
    proxy.requests_per_second = QUEUE_PER_SECOND
    levels = ("--min-rate=40", "--max-rate=330", "--threads=24") if by == "rate" else ("--max-threads=32",)
    async with proxy.listening() as port:
        target = sbtest.over_tcp(tables.target, port=port)
        with busy_host(hogs):
            done = await asyncio.to_thread(
                tuibench,
                "probe",
                "oltp_point_select",
                *QUICK,
                *levels,
                f"--by={by}",
                f"--engine={engine}",
                "--ssl-mode=disabled",
                "--get-server-public-key",
                "--format=json",
                target=target,
                env={"TUIBENCH_HOME": str(home)},
            )
    assert done.code == 0, done.err
    found = msgspec.json.decode(done.out, type=ProbeResult)
    if found.bottleneck is not None or found.knee is not None:
        assert found.bottleneck is not None, found.lines
        assert found.bottleneck.id == QUEUE_OUTSIDE, found.bottleneck
        assert "threads running in the server" in found.bottleneck.evidence[0]
    assert not any("ther programs take" in line or "load generator was" in line for line in found.lines)
    rates = re.findall(r"--rate=([\d.]+)", "".join(found.commands.values()))
    assert by == "rate" or not rates
    assert all(float(rate) < QUEUE_PER_SECOND for rate in rates)


@contextlib.contextmanager
def busy_host(hogs: int) -> Iterator[None]:
    """Programs with a low priority use all processors."""
    running = [
        subprocess.Popen(["nice", "-n", "19", sys.executable, "-c", "while True: pass"]) for _ in range(hogs)
    ]
    try:
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()
