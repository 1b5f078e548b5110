"""A session without load on a scripted server: its traffic, its totals, its effects and its summary."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tests.fakes import FakeClock
from tests.unit.cli.plans import planned
from tests.unit.observe.fakes import FakeServer as StatusServer
from tests.unit.record.report.test_tune_text import result as tune_result
from tests.unit.session.test_watcher import CHANGE, Server, at_sample, server  # noqa: F401
from tests.unit.tuning.fakes import TARGET
from tuibench.errors import UsageError
from tuibench.metrics.figures import read
from tuibench.model.command import SetThreads
from tuibench.model.experiments.effect import AbTestPlan, EffectFigure
from tuibench.model.measurements.sample import Sample
from tuibench.mysql.connection import Row
from tuibench.record.files.loading import load_run
from tuibench.record.files.recorder import SUMMARY
from tuibench.record.report.sysbench_replay import csv_text, sysbench_text
from tuibench.record.report.watch_report import watch_report
from tuibench.session.spec import SessionSpec
from tuibench.session.watch_run import WatchRun

COMMITS, QUERIES = 10, 200


def spec(folder: Path, seconds: float | None = None) -> SessionSpec:
    plan = planned(f"--time={seconds or 0}", command="watch", profile="watch")
    return SessionSpec(session="w1", plan=plan, target=TARGET, run_directory=str(folder / "record"))


def run_on(scripted: Server, made: SessionSpec) -> WatchRun:
    run = WatchRun(made, FakeClock())
    run.watcher._identify = scripted.identify
    return run


def busy(run: WatchRun, status: StatusServer, samples: list[Sample]) -> None:
    """Clients work between any two samples."""

    def listen(message: object) -> None:
        if isinstance(message, Sample):
            samples.append(message)
            counters = {"Questions": QUERIES, "Com_commit": COMMITS, "Com_select": 140, "Com_update": 40}
            for name, growth in {**counters, "Innodb_os_log_fsyncs": 12}.items():
                status.status[name] = status.status.get(name, 0) + growth
            status.status["Uptime"] += 1
            status.status["Uptime_since_flush_status"] += 1

    async def answer(sql: str) -> Sequence[Row]:
        status.status["Questions"] += 1
        status.status["Com_select"] = status.status.get("Com_select", 0) + sql.startswith("SELECT")
        return await answered(sql)

    answered = status.answer
    status.answer = answer  # type: ignore[method-assign]
    run.watcher.bus.listeners.append(listen)


async def test_the_traffic_of_a_server_is_sampled_and_summed_up(
    server: Server,  # noqa: F811
    tmp_path: Path,
) -> None:
    server.status.status |= {"Com_select": 0, "Com_update": 0}
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 5)) as run:
        busy(run, server.status, samples)
        summary = await run.run()
    assert [sample.load for sample in samples] == [None] * 5
    traffic = [sample.traffic for sample in samples[1:]]
    assert [read("qps", each) for each in traffic if each] == pytest.approx([QUERIES] * 4)
    assert [read("tps", each) for each in traffic if each] == pytest.approx([COMMITS] * 4)
    assert [each.missing["latency"] for each in traffic if each] == ["performance_schema is OFF"] * 4
    report = watch_report(summary)
    assert (report.queries.total, report.transactions.total, report.latency_ms) == (5 * 200, 5 * 10, None)
    assert (report.reads.total, report.writes.total, report.others.total) == (5 * 140, 5 * 40, 5 * 20)
    assert report.threads_running_avg == pytest.approx(3)
    fsyncs = [read("fsyncs", each.server) for each in samples[1:] if each.server]
    assert fsyncs == [pytest.approx(1.2)] * 4


async def test_its_record_is_read_back(server: Server, tmp_path: Path) -> None:  # noqa: F811
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 4)) as run:
        busy(run, server.status, samples)
        summary = await run.run()
    record = tmp_path / "record"
    assert (record / SUMMARY).exists()
    found = load_run(record)
    assert found.summary == summary
    assert [sample.tick.sums for sample in found.samples] == [
        pytest.approx(sample.tick.sums, rel=1e-8) for sample in samples
    ]
    said = "".join(sysbench_text(found))
    assert "commits/s: 10.00 qps: 200.00" in said
    assert "The server's own traffic" in said
    assert len(list(csv_text(found))) == 1 + len(samples)


async def test_a_change_is_measured_by_the_traffic(server: Server, tmp_path: Path) -> None:  # noqa: F811
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 40)) as run:
        busy(run, server.status, samples)

        async def change() -> None:
            await run.submit(CHANGE)
            with pytest.raises(UsageError, match="no load to change"):
                await run.submit(SetThreads(3))

        at_sample(run.watcher, 15, lambda: run.watcher.tasks.start(change(), "change"))
        summary = await run.run()
    (effect,) = summary.effects
    figures = {one.figure: one.before for one in effect.comparisons}
    assert figures[EffectFigure.QPS] == pytest.approx(QUERIES, rel=0.02)
    assert figures[EffectFigure.TPS] == pytest.approx(COMMITS)
    assert figures[EffectFigure.FSYNC_RATE] == pytest.approx(12)
    assert server.settings.settings["sync_binlog"] == "1"


async def test_the_result_of_a_screening_says_what_was_not_restored(
    server: Server,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(WatchRun, "tune", tune_result())
    async with run_on(server, spec(tmp_path, 4)) as run:

        async def change() -> None:
            await run.submit(CHANGE)

        at_sample(run.watcher, 2, lambda: run.watcher.tasks.start(change(), "change"))
        at_sample(run.watcher, 4, lambda: setattr(server.settings, "away", True))
        summary = await run.run()
    assert summary.tune is not None
    assert summary.tune.not_restored == run.watcher.not_restored != ""
    assert "Not restored: sync_binlog" in run.text(summary)


async def test_an_outage_is_a_gap(server: Server, tmp_path: Path) -> None:  # noqa: F811
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 6)) as run:
        busy(run, server.status, samples)
        at_sample(run.watcher, 2, lambda: setattr(server.status, "failure", UsageError("away")))
        at_sample(run.watcher, 4, lambda: setattr(server.status, "failure", None))
        await run.run()
    assert [sample.traffic is None for sample in samples][2:4] == [True, True]
    assert samples[-1].traffic is not None


async def test_a_last_tick_without_an_answer_loses_no_traffic(
    server: Server,  # noqa: F811
    tmp_path: Path,
) -> None:
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 6)) as run:
        busy(run, server.status, samples)
        at_sample(run.watcher, 5, lambda: setattr(server.status, "failure", UsageError("away")))
        at_sample(run.watcher, 6, lambda: setattr(server.status, "failure", None))
        summary = await run.run()
    assert samples[-1].traffic is None
    assert summary.queries.total == 6 * QUERIES


async def test_a_server_that_counts_no_statements_has_no_traffic_and_says_so(
    server: Server,  # noqa: F811
    tmp_path: Path,
) -> None:
    for name in ("Uptime", "Questions", "Threads_running"):
        del server.status.status[name]
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 3)) as run:
        run.watcher.bus.listeners.append(
            lambda message: samples.append(message) if isinstance(message, Sample) else None
        )
        summary = await run.run()
    assert summary.outcome == "done"
    assert [sample.traffic for sample in samples] == [None] * 3
    connected = [read("threads_connected", sample.server) for sample in samples if sample.server]
    assert connected == [9] * 3
    report = watch_report(summary)
    assert (report.queries.total, report.queries.per_second, report.threads_running_avg) == (None, None, None)
    assert report.warnings == ("the server does not count its statements: no traffic",)
    assert any("lacks Uptime, Questions, Threads_running" in event.text for event in report.events)
    lines = run.text(summary).splitlines()
    assert lines[1].split() == ["queries:", "–", "(–", "per", "sec.)"]


def test_threads_cannot_be_compared(tmp_path: Path) -> None:
    made = spec(tmp_path)
    trial = AbTestPlan(subject="threads", a="1", b="2")
    with pytest.raises(UsageError, match="no load to change"):
        WatchRun(msgspec.structs.replace(made, plan=msgspec.structs.replace(made.plan, trial=trial)))
