"""Our own disk is full or read-only during a run: the load goes on, and no setting is changed unrecorded."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.load import FaultLoad, fault_spec, loaded
from tests.faults.small_disk import (
    BreakableDisk,
    SmallDisk,
    breakable_disk,
    can_break,
    can_mount,
    small_disk,
)
from tests.integration.support.commands import ask, tuibench
from tests.integration.support.session_process import DURABILITY, DURABLE, UNSAFE
from tuibench.base import paths
from tuibench.model.event import EventKind
from tuibench.model.message import ApplyPreset
from tuibench.record.reader import load_run
from tuibench.servers.server import PrivateServer

pytestmark = pytest.mark.skipif(not can_mount(), reason="no file systems can be mounted here")

DISK_MIB = 4
BREAKABLE_MIB = 16


@pytest.fixture
def disk(tuibench_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    """A disk of its own for TUIBENCH_HOME."""
    with small_disk(DISK_MIB) as made:
        monkeypatch.setenv("TUIBENCH_HOME", str(made.path))
        yield made


@pytest.fixture
def breakable(tuibench_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BreakableDisk]:
    """The same, on a disk that can fail."""
    if not can_break():
        pytest.skip("no ext4 file system can be made here")
    with breakable_disk(BREAKABLE_MIB) as made:
        monkeypatch.setenv("TUIBENCH_HOME", str(made.path))
        yield made


def record_ended(load: FaultLoad) -> bool:
    told = load.watcher.told(EventKind.WARNING)
    return any("the record of this run ends here" in event.text for event in told)


async def test_the_load_goes_on_without_its_record(any_tables: PrivateServer, disk: SmallDisk) -> None:
    async with loaded(fault_spec(any_tables.target)) as load:
        disk.fill()
        try:
            await load.watcher.until(lambda: record_ended(load))
            await load.watcher.works()
        finally:
            disk.empty()
        summary = await load.stop()
        run = await asyncio.to_thread(load_run, load.watcher.directory)
    assert summary.outcome == "stopped"
    assert run.samples
    assert run.summary.transactions.total > 0


async def test_a_change_that_cannot_be_journalled_is_refused(
    any_tables: PrivateServer, disk: SmallDisk
) -> None:
    """What was changed before is restored in the end, with the disk as it is."""
    async with loaded(fault_spec(any_tables.target)) as load:
        disk.fill()
        try:
            refused = await load.watcher.submit(ApplyPreset("unsafe"))
            assert (refused.ok, "journal" in refused.text) == (False, True), refused
            assert await ask(any_tables.target, DURABILITY) == [DURABLE]
        finally:
            disk.empty()
        taken = await load.watcher.submit(ApplyPreset("unsafe"))
        assert taken.ok, taken
        assert await ask(any_tables.target, DURABILITY) == [UNSAFE]
        disk.fill()
        try:
            summary = await load.stop()
            assert await ask(any_tables.target, DURABILITY) == [DURABLE]
        finally:
            disk.empty()
    assert summary.outcome == "stopped"
    assert sorted(paths.journal_dir().glob("*.jsonl")) == []


async def test_a_disk_that_becomes_read_only(any_tables: PrivateServer, breakable: BreakableDisk) -> None:
    """As ext4 does after an error of its device: the record ends, the load goes on, and so does restoring."""
    async with loaded(fault_spec(any_tables.target)) as load:
        taken = await load.watcher.submit(ApplyPreset("unsafe"))
        assert taken.ok, taken
        breakable.fail()
        await load.watcher.until(lambda: record_ended(load))
        await load.watcher.works()
        refused = await load.watcher.submit(ApplyPreset("durable"))
        assert (refused.ok, "journal" in refused.text) == (False, True), refused
        assert await ask(any_tables.target, DURABILITY) == [UNSAFE]
        summary = await load.stop()
        run = await asyncio.to_thread(load_run, load.watcher.directory)
    assert await ask(any_tables.target, DURABILITY) == [DURABLE]
    assert summary.outcome == "stopped"
    assert run.samples


async def test_a_home_that_is_read_only_from_the_start(any_tables: PrivateServer, disk: SmallDisk) -> None:
    disk.set_read_only(True)
    try:
        done = await asyncio.to_thread(
            tuibench,
            "run",
            "oltp_read_write",
            "--tables=2",
            "--table-size=500",
            "--time=1",
            target=any_tables.target,
        )
    finally:
        disk.set_read_only(False)
    assert done.code != 0
    assert "TUIBENCH_HOME" in done.err, done.err
    assert "Traceback" not in done.err
