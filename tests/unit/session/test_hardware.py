"""The simulated disk of a session: what it writes into the page that its server reads."""

import struct
from pathlib import Path

import pytest

from tests.unit.session.fakes import FakeControllable
from tests.unit.tuning.fakes import FakeClock
from tuibench.base.errors import UsageError
from tuibench.model.event import EventKind
from tuibench.model.hardware import Hardware, parse_hardware
from tuibench.model.message import SetHardware
from tuibench.servers.disk import DiskPage
from tuibench.servers.process import DirectoryLayout
from tuibench.session.hardware import SimulatedHardware


def fsync_ns(file: Path) -> int:
    """Of the redo log."""
    return int(struct.unpack_from("=Q", file.read_bytes(), 64 + 24 + 16)[0])


async def test_a_command_changes_the_page_and_the_end_clears_it(tmp_path: Path) -> None:
    file = DirectoryLayout(tmp_path).disk_page
    DiskPage.create(file, binlog="binlog", tmpdir=tmp_path).close()
    controllable = FakeControllable()
    hardware = SimulatedHardware(str(tmp_path), FakeClock())
    controllable.session.parts = controllable.session.parts.__class__(hardware=hardware)  # type: ignore[call-arg]
    assert await controllable.execute(SetHardware("fsync=2ms")) == "disk.fsync 0ms → 2ms"
    assert await controllable.execute(SetHardware("read=1ms")) == "disk.read 0ms → 1ms"
    assert (
        await controllable.execute(SetHardware("fsync=2ms"))
        == "simulated hardware: fsync=2ms,read=1ms, as before"
    )
    assert [kind for kind, _ in controllable.told] == [EventKind.HARDWARE] * 2
    assert fsync_ns(file) == 2_000_000
    with pytest.raises(UsageError, match="no 'sync'"):
        await controllable.execute(SetHardware("sync=2ms"))
    assert hardware.used == parse_hardware("fsync=2ms,read=1ms")
    await hardware.close()
    assert fsync_ns(file) == 0
    assert hardware.present is None
    with pytest.raises(UsageError):
        await hardware.set(Hardware())


async def test_another_server_has_no_simulated_disk(tmp_path: Path) -> None:
    controllable = FakeControllable()
    with pytest.raises(UsageError, match="started with --disk"):
        await controllable.execute(SetHardware("fsync=2ms"))
    assert controllable.told == []
    assert not SimulatedHardware(str(tmp_path), FakeClock()).has_disk
