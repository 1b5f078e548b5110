"""A watcher by itself, on a scripted server: samples, record, commands, and settings that are restored."""

import asyncio
import fcntl
import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from tests.fakes import FakeClock
from tests.unit.observe.fakes import FakeServer as StatusServer
from tests.unit.tuning.fakes import INFO, TARGET
from tests.unit.tuning.fakes import FakeServer as SettingsServer
from tuibench import paths
from tuibench.demo.layout import DirectoryLayout
from tuibench.demo.server_end import ServerEnd, reserve_end, write_end
from tuibench.errors import ExitCode, ServerUnavailableError, UsageError
from tuibench.metrics.figures import read
from tuibench.model.command import ChangeSetting, Mark, SetThreads
from tuibench.model.event import Event, EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.model.message import RunState
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo
from tuibench.observe.server.status_sampler import StatusSampler
from tuibench.record.files.recorder import EVENTS, PLAN, SAMPLES, SUMMARY
from tuibench.session.control import settings as settings_module
from tuibench.session.events import event_bus
from tuibench.session.sampling import sampler as sampler_module
from tuibench.session.spec import SessionSpec
from tuibench.session.watcher import SERVER_ENDED, Watcher
from tuibench.tuning.undo.guardian import Guardian

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
    monkeypatch.setattr(event_bus, "read_environment", mock.AsyncMock(return_value=None))
    monkeypatch.setattr(Guardian, "ensure_alive", mock.AsyncMock(return_value=False))
    return scripted


def watcher_on(server: Server, folder: Path, private_server: str = "") -> Watcher:
    spec = SessionSpec(
        session="w1",
        plan=RunPlan(profile="", threads=0, seconds=None),
        target=TARGET,
        run_directory=str(folder / "record"),
        private_server=private_server,
    )
    return Watcher(spec, FakeClock(), server.identify)


def at_sample(watcher: Watcher, number: int, act: Callable[[], object]) -> None:
    def listen(message: object) -> None:
        if isinstance(message, Sample) and message.number == number:
            act()

    watcher.bus.listeners.append(listen)


async def test_a_watcher_samples_and_records_without_a_load(server: Server, tmp_path: Path) -> None:
    samples: list[Sample] = []
    async with watcher_on(server, tmp_path) as watcher:
        watcher.bus.listeners.append(lambda each: samples.append(each) if isinstance(each, Sample) else None)
        at_sample(watcher, 3, watcher.lifecycle.request_stop)
        await watcher.run()
    assert [(each.number, each.load) for each in samples] == [(1, None), (2, None), (3, None)]
    assert all(each.server is not None and read("threads_connected", each.server) == 9 for each in samples)
    record = tmp_path / "record"
    assert len(gzip.decompress((record / SAMPLES).read_bytes()).splitlines()) == 3
    assert (record / PLAN).exists()
    assert "watching socket" in (record / EVENTS).read_text()
    assert not (record / SUMMARY).exists()
    assert watcher.lifecycle.state is RunState.ENDED
    assert watcher.lifecycle.exit_code is ExitCode.DONE
    assert [connection.end for connection in server.status.connections] == ["closed"]


async def test_settings_changed_from_a_watcher_are_restored(server: Server, tmp_path: Path) -> None:
    async with watcher_on(server, tmp_path) as watcher:

        async def change() -> None:
            assert await watcher.submit(CHANGE) == "sync_binlog 1 → 0"
            assert server.settings.settings["sync_binlog"] == "0"
            assert await watcher.submit(Mark("x")) == "marked"
            with pytest.raises(UsageError, match="no load to change"):
                await watcher.submit(SetThreads(3))
            watcher.lifecycle.request_stop()

        at_sample(watcher, 2, lambda: watcher.tasks.start(change(), "change"))
        await watcher.run()
        assert watcher.lifecycle.error is None
        assert server.settings.settings["sync_binlog"] == "1"
        with pytest.raises(UsageError, match="ending"):
            await watcher.submit(CHANGE)
    kinds = [event.kind for event in watcher.log.events]
    assert kinds == [EventKind.START, EventKind.SETTING, EventKind.MARK, EventKind.RESTORE]


async def test_a_watcher_that_is_left_without_running_restores_too(server: Server, tmp_path: Path) -> None:
    async with watcher_on(server, tmp_path) as watcher:
        await watcher.submit(CHANGE)
    assert server.settings.settings["sync_binlog"] == "1"


async def test_a_viewer_is_greeted_without_a_load(server: Server, tmp_path: Path) -> None:
    async with watcher_on(server, tmp_path) as watcher:
        hello = watcher.hello(1, with_events=True)
        assert (hello.session, hello.server, hello.status.threads) == ("w1", SERVER, 0)
        assert [state.value for state in hello.status.settings if state.name == "sync_binlog"] == ["1"]
        assert hello.target.password == ""


async def test_an_error_of_our_own_ends_a_watcher_as_failed(server: Server, tmp_path: Path) -> None:
    def broken(event: Event) -> None:
        if event.kind is EventKind.MARK:
            raise IndexError("list index out of range")

    async with watcher_on(server, tmp_path) as watcher:
        await watcher.submit(CHANGE)
        watcher.bus.event_listeners.append(broken)
        at_sample(watcher, 2, lambda: watcher.emit(EventKind.MARK, "x"))
        async with asyncio.timeout(30):
            await watcher.run()
    assert watcher.lifecycle.outcome == "failed"
    assert "IndexError" in str(watcher.lifecycle.error)
    assert server.settings.settings["sync_binlog"] == "1"


async def test_a_watcher_ends_with_its_private_server(server: Server, tmp_path: Path) -> None:
    """What it has changed is gone with the server, and is left to nobody."""
    layout = DirectoryLayout.create(tmp_path)
    reserve_end(layout)
    with layout.supervisor_lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with watcher_on(server, tmp_path, str(layout.root)) as watcher:
            await watcher.submit(CHANGE)
            assert list(paths.journal_dir().iterdir())
            killed = ServerEnd("it was killed")
            watcher.bus.listeners.append(
                lambda each: write_end(layout, killed) if isinstance(each, Sample) else None
            )
            async with asyncio.timeout(30):
                await watcher.run()
    assert str(watcher.lifecycle.error) == "the private server has ended: it was killed"
    assert (watcher.lifecycle.outcome, watcher.lifecycle.exit_code) == (
        "failed",
        ExitCode.SERVER_UNAVAILABLE,
    )
    assert server.settings.settings["sync_binlog"] == "0"
    assert watcher.not_restored == SERVER_ENDED
    assert not list(paths.journal_dir().iterdir())


async def test_settings_that_are_not_restored_are_named(server: Server, tmp_path: Path) -> None:
    async with watcher_on(server, tmp_path) as watcher:
        await watcher.submit(CHANGE)
        at_sample(watcher, 2, lambda: setattr(server.settings, "away", True))
        at_sample(watcher, 2, watcher.lifecycle.request_stop)
        await watcher.run()
    assert watcher.not_restored == "Not restored: sync_binlog; the events have the reason"


async def test_a_server_that_does_not_answer_leaves_nothing_open(server: Server, tmp_path: Path) -> None:
    server.settings.away = True
    with pytest.raises(ServerUnavailableError, match="cannot reach"):
        await watcher_on(server, tmp_path).__aenter__()
    assert server.status.connections == []
    assert not (tmp_path / "record").exists()
