"""Watching a server without a load."""

import asyncio
import fcntl
import gzip
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from tests.fakes import FakeClock
from tests.unit.cli.plans import planned
from tests.unit.observe.fakes import FakeServer as StatusServer
from tests.unit.report.test_report import tune_text_result as tune_result
from tests.unit.tuning.fakes import INFO, TARGET
from tests.unit.tuning.fakes import FakeServer as SettingsServer
from tuibench.base import paths
from tuibench.base.errors import DeniedError, ExitCode, NotRestoredError, ServerUnavailableError, UsageError
from tuibench.features.tune.experiment import TuneRun
from tuibench.metrics.figures import read
from tuibench.model.effect import AbTestPlan
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import ErrorMessage
from tuibench.model.message import (
    ChangeSetting,
    Mark,
    RestoreSettings,
    RunState,
    SessionEnded,
    SessionSpec,
    SetThreads,
    StartProbe,
)
from tuibench.model.server import ServerInfo
from tuibench.model.summary import RunOutcome
from tuibench.model.tick import Sample
from tuibench.mysql.rows import Row
from tuibench.observe.status import StatusSampler
from tuibench.record.reader import load_run
from tuibench.record.recorder import EVENTS, PLAN, SAMPLES, SUMMARY
from tuibench.report.answer import exit_summary
from tuibench.report.text import csv_text, sysbench_text, watch_notes
from tuibench.servers.process import DirectoryLayout, reserve_end, write_end
from tuibench.session import run as session_run
from tuibench.session import sampling as sampler_module
from tuibench.session import settings as settings_module
from tuibench.session.laboratory import Laboratory
from tuibench.session.run import SERVER_ENDED, Watcher, WatchRun
from tuibench.tuning.guardian import Guardian

# A watcher by itself, on a scripted server: samples, record, commands, and settings that are restored.


SERVER = msgspec.structs.replace(INFO, is_local=False)
CHANGE = ChangeSetting("sync_binlog", "0")


class Server:
    """Its status, its settings, and how a watcher reaches both."""

    def __init__(self) -> None:
        self.status = StatusServer()
        self.settings = SettingsServer()

    async def identify(self) -> tuple[ServerInfo, tuple[str, ...]]:
        return SERVER, ()


@pytest.fixture
def server(tuibench_home: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    scripted = Server()
    monkeypatch.setattr(settings_module, "admin_connector", lambda target: scripted.settings.connect)
    monkeypatch.setattr(
        sampler_module, "StatusSampler", partial(StatusSampler, log_in=scripted.status.log_in)
    )
    monkeypatch.setattr(session_run, "read_environment", mock.AsyncMock(return_value=None))
    monkeypatch.setattr(Guardian, "ensure_alive", mock.AsyncMock(return_value=False))
    return scripted


def at_sample(watcher: Watcher, number: int, act: Callable[[], object]) -> None:
    def listen(message: object) -> None:
        if isinstance(message, Sample) and message.number == number:
            act()

    watcher.bus.listeners.append(listen)


async def test_a_watcher_samples_and_records_without_a_load(server: Server, tmp_path: Path) -> None:
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path)) as run:
        watcher = run.watcher
        watcher.bus.listeners.append(lambda each: samples.append(each) if isinstance(each, Sample) else None)
        at_sample(watcher, 3, watcher.lifecycle.request_stop)
        await run.run()
    assert [(each.number, each.load) for each in samples] == [(1, None), (2, None), (3, None)]
    assert all(each.server is not None and read("threads_connected", each.server) == 9 for each in samples)
    record = tmp_path / "record"
    assert len(gzip.decompress((record / SAMPLES).read_bytes()).splitlines()) == 3
    assert (record / PLAN).exists()
    assert "watching socket" in (record / EVENTS).read_text()
    assert watcher.lifecycle.state is RunState.ENDED
    assert watcher.lifecycle.exit_code is ExitCode.DONE
    assert [connection.end for connection in server.status.connections] == ["closed"]


async def test_settings_changed_from_a_watcher_are_restored(server: Server, tmp_path: Path) -> None:
    async with run_on(server, spec(tmp_path)) as run:
        watcher = run.watcher

        async def change() -> None:
            assert await run.submit(CHANGE) == "sync_binlog 1 → 0"
            assert server.settings.settings["sync_binlog"] == "0"
            assert await run.submit(Mark("x")) == "marked"
            with pytest.raises(UsageError, match="no load to change"):
                await run.submit(SetThreads(3))
            watcher.lifecycle.request_stop()

        at_sample(watcher, 2, lambda: watcher.tasks.start(change(), "change"))
        await run.run()
        assert watcher.lifecycle.error is None
        assert server.settings.settings["sync_binlog"] == "1"
        with pytest.raises(UsageError, match="ending"):
            await run.submit(CHANGE)
    expected = [EventKind.START, EventKind.SETTING, EventKind.MARK, EventKind.RESTORE]
    assert [event.kind for event in watcher.log.events if event.kind in expected] == expected


async def test_a_watcher_that_is_left_without_running_restores_too(server: Server, tmp_path: Path) -> None:
    async with run_on(server, spec(tmp_path)) as run:
        await run.submit(CHANGE)
    assert server.settings.settings["sync_binlog"] == "1"


async def test_a_viewer_is_greeted_without_a_load(server: Server, tmp_path: Path) -> None:
    async with run_on(server, spec(tmp_path)) as run:
        watcher = run.watcher
        hello = watcher.hello(1, with_events=True)
        assert (hello.session, hello.server, hello.status.threads) == ("w1", SERVER, 0)
        assert [state.value for state in hello.status.settings if state.name == "sync_binlog"] == ["1"]
        assert hello.target.password == ""


async def test_an_error_of_our_own_ends_a_watcher_as_failed(server: Server, tmp_path: Path) -> None:
    def broken(event: Event) -> None:
        if event.kind is EventKind.MARK:
            raise IndexError("list index out of range")

    async with run_on(server, spec(tmp_path)) as run:
        watcher = run.watcher
        await run.submit(CHANGE)
        watcher.bus.event_listeners.append(broken)
        at_sample(watcher, 2, lambda: watcher.emit(EventKind.MARK, "x"))
        async with asyncio.timeout(30):
            await run.run()
    assert watcher.lifecycle.outcome == "failed"
    assert "IndexError" in str(watcher.lifecycle.error)
    assert server.settings.settings["sync_binlog"] == "1"


async def test_a_watcher_ends_with_its_private_server(server: Server, tmp_path: Path) -> None:
    """What it has changed is gone with the server, and is left to nobody."""
    layout = DirectoryLayout.create(tmp_path)
    reserve_end(layout)
    with layout.supervisor_lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with run_on(server, spec(tmp_path, private_server=str(layout.root))) as run:
            watcher = run.watcher
            await run.submit(CHANGE)
            assert list(paths.journal_dir().iterdir())
            killed = ErrorMessage("it was killed")
            watcher.bus.listeners.append(
                lambda each: write_end(layout, killed) if isinstance(each, Sample) else None
            )
            async with asyncio.timeout(30):
                await run.run()
    assert str(watcher.lifecycle.error) == "the private server has ended: it was killed"
    assert (watcher.lifecycle.outcome, watcher.lifecycle.exit_code) == (
        "failed",
        ExitCode.SERVER_UNAVAILABLE,
    )
    assert server.settings.settings["sync_binlog"] == "0"
    assert watcher.not_restored == SERVER_ENDED
    assert not list(paths.journal_dir().iterdir())


async def test_settings_that_are_not_restored_are_named(server: Server, tmp_path: Path) -> None:
    async with run_on(server, spec(tmp_path)) as run:
        watcher = run.watcher
        await run.submit(CHANGE)
        at_sample(watcher, 2, lambda: setattr(server.settings, "away", True))
        at_sample(watcher, 2, watcher.lifecycle.request_stop)
        await run.run()
    assert watcher.not_restored == "Not restored: sync_binlog; the events have the reason"
    assert watcher.lifecycle.exit_code is ExitCode.NOT_RESTORED


@pytest.mark.parametrize("outcome", ["stopped", "interrupted"])
async def test_a_refused_restore_is_in_exit_code_summary_and_notes(
    server: Server, tmp_path: Path, outcome: RunOutcome
) -> None:
    async with run_on(server, spec(tmp_path, 4)) as run:
        await run.submit(CHANGE)
        refuse_changes(server)
        with pytest.raises(NotRestoredError, match="sync_binlog stays 0, it was 1: no privilege"):
            await run.submit(RestoreSettings())
        at_sample(run.watcher, 2, partial(run.request_stop, outcome))
        summary = await run.run()
    assert run.watcher.lifecycle.exit_code is ExitCode.NOT_RESTORED
    (left,) = summary.not_restored
    assert (left.setting, left.value, left.original) == ("sync_binlog", "0", "1")
    assert left.command == "tuibench restore"
    assert "manually: SET GLOBAL sync_binlog = 1" in left.text
    assert left.text in watch_notes(summary, run.spec.run_directory)
    ended = SessionEnded(summary=summary, text="", run_directory="r", exit_code=5)
    words = " ".join(" ".join(exit_summary(ended, 200)).split())
    assert left.text in words
    assert "put back: sync_binlog" not in words


async def test_the_error_of_a_run_keeps_its_exit_code(server: Server, tmp_path: Path) -> None:
    async with run_on(server, spec(tmp_path, 4)) as run:
        await run.submit(CHANGE)
        refuse_changes(server)
        at_sample(run.watcher, 2, lambda: run.watcher.lifecycle.fail(ServerUnavailableError("it is away")))
        summary = await run.run()
    assert run.watcher.lifecycle.exit_code is ExitCode.SERVER_UNAVAILABLE
    assert [one.setting for one in summary.not_restored] == ["sync_binlog"]


async def test_a_value_that_another_client_set_is_not_left_by_us(server: Server, tmp_path: Path) -> None:
    async with run_on(server, spec(tmp_path, 4)) as run:
        await run.submit(CHANGE)
        server.settings.settings["sync_binlog"] = "7"
        at_sample(run.watcher, 2, run.request_stop)
        summary = await run.run()
    assert (run.watcher.lifecycle.exit_code, summary.not_restored) == (ExitCode.DONE, ())


async def test_a_home_that_is_deleted_is_said(server: Server, tmp_path: Path) -> None:
    async with run_on(server, spec(tmp_path, 4)) as run:
        await run.submit(CHANGE)
        journal = next(paths.journal_dir().iterdir())
        shutil.rmtree(paths.journal_dir())
        at_sample(run.watcher, 2, run.request_stop)
        summary = await run.run()
    (told,) = (each.text for each in summary.events if each.kind is EventKind.WARNING)
    assert told == (
        f"the settings journal {journal} was deleted or moved; it has been written again, with the changes "
        "that are still to be restored"
    )
    assert server.settings.settings["sync_binlog"] == "1"
    assert not journal.exists()


def refuse_changes(server: Server) -> None:
    """The login has lost its privilege."""
    now = dict(server.settings.settings)

    def refuse(name: str, value: str) -> None:
        server.settings.settings.update(now)
        raise DeniedError(1227, "no privilege")

    server.settings.on_set = refuse


async def test_a_server_that_does_not_answer_leaves_nothing_open(server: Server, tmp_path: Path) -> None:
    server.settings.away = True
    with pytest.raises(ServerUnavailableError, match="cannot reach"):
        await run_on(server, spec(tmp_path)).__aenter__()
    assert server.status.connections == []
    assert not (tmp_path / "record").exists()


# A session without load on a scripted server: its traffic, its totals, its effects and its summary.


COMMITS, QUERIES = 10, 200


def spec(folder: Path, seconds: float | None = None, private_server: str = "") -> SessionSpec:
    watched = planned(f"--time={seconds or 0}", command="watch", profile="watch")
    plan = msgspec.structs.replace(watched, no_waits=True, no_black_box=True)
    return SessionSpec(
        session="w1",
        plan=plan,
        target=TARGET,
        run_directory=str(folder / "record"),
        private_server=private_server,
    )


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
    server: Server,
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
    queries, watched = summary.queries, summary.watched
    assert (queries.total, summary.transactions.total, summary.latency_ms) == (5 * 200, 5 * 10, None)
    assert (queries.read, queries.write, queries.other) == (5 * 140, 5 * 40, 5 * 20)
    assert watched is not None
    assert watched.threads_running_avg == pytest.approx(3)
    fsyncs = [read("fsyncs", each.server) for each in samples[1:] if each.server]
    assert fsyncs == [pytest.approx(1.2)] * 4
    figures = {name: summary.figures[name] for name in ("tps", "qps")}
    assert figures == {"tps": summary.transactions.per_second, "qps": queries.per_second}


async def test_its_record_is_read_back(server: Server, tmp_path: Path) -> None:
    """Its values have seven digits."""
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 4)) as run:
        busy(run, server.status, samples)
        summary = await run.run()
    record = tmp_path / "record"
    assert (record / SUMMARY).exists()
    found = load_run(record)
    assert found.summary == summary
    assert [sample.tick.sums for sample in found.samples] == [
        pytest.approx(sample.tick.sums, rel=1e-6) for sample in samples
    ]
    said = "".join(sysbench_text(found))
    assert "commits/s: 10.00 qps: 200.00" in said
    assert "The server's own traffic" in said
    assert len(list(csv_text(found))) == 1 + len(samples)


async def test_a_change_is_measured_by_the_traffic(server: Server, tmp_path: Path) -> None:
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 40)) as run:
        busy(run, server.status, samples)

        async def change() -> None:
            await run.submit(CHANGE)
            for command in (SetThreads(3), StartProbe()):
                with pytest.raises(UsageError, match="no load to change"):
                    await run.submit(command)

        at_sample(run.watcher, 15, lambda: run.watcher.tasks.start(change(), "change"))
        summary = await run.run()
    (effect,) = summary.effects
    figures = {one.figure: one.before for one in effect.comparisons}
    assert figures["qps"] == pytest.approx(QUERIES, rel=0.02)
    assert figures["tps"] == pytest.approx(COMMITS)
    assert figures["fsyncs_per_second"] == pytest.approx(12)
    assert server.settings.settings["sync_binlog"] == "1"


async def test_the_result_of_a_screening_says_what_was_not_restored(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screened = mock.Mock(result=tune_result())
    monkeypatch.setattr(Laboratory, "by_kind", lambda _: {TuneRun: [screened]})
    async with run_on(server, spec(tmp_path, 4)) as run:

        async def change() -> None:
            await run.submit(CHANGE)

        at_sample(run.watcher, 2, lambda: run.watcher.tasks.start(change(), "change"))
        at_sample(run.watcher, 4, lambda: setattr(server.settings, "away", True))
        summary = await run.run()
    assert summary.tune is not None
    assert summary.tune.not_restored == run.watcher.not_restored != ""
    assert "Not restored: sync_binlog" in run.text(summary)


async def test_an_outage_is_a_gap(server: Server, tmp_path: Path) -> None:
    samples: list[Sample] = []
    async with run_on(server, spec(tmp_path, 6)) as run:
        busy(run, server.status, samples)
        at_sample(run.watcher, 2, lambda: setattr(server.status, "failure", UsageError("away")))
        at_sample(run.watcher, 4, lambda: setattr(server.status, "failure", None))
        await run.run()
    assert [sample.traffic is None for sample in samples][2:4] == [True, True]
    assert samples[-1].traffic is not None


async def test_a_last_tick_without_an_answer_loses_no_traffic(
    server: Server,
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
    server: Server,
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
    assert summary.seconds == 0
    assert summary.watched is not None
    assert summary.watched.threads_running_avg is None
    assert summary.warnings == ("the server does not count its statements: no traffic",)
    assert any("lacks Uptime, Questions, Threads_running" in event.text for event in summary.events)
    lines = run.text(summary).splitlines()
    assert lines[1].split() == ["queries:", "–", "(–", "per", "sec.)"]


def test_threads_cannot_be_compared(tmp_path: Path) -> None:
    made = spec(tmp_path)
    trial = AbTestPlan(subject="threads", a="1", b="2")
    with pytest.raises(UsageError, match="no load to change"):
        WatchRun(msgspec.structs.replace(made, plan=msgspec.structs.replace(made.plan, trial=trial)))
