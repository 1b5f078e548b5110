"""The text of a simulated disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.base.errors import UsageError
from tuibench.model.disk import (
    FILE_KINDS,
    OPERATIONS,
    DiskDelays,
    changed_disk,
    disk_change,
    disk_text,
    parse_disk,
)

NAMES = [*OPERATIONS, *(f"{kind}.{operation}" for kind in FILE_KINDS for operation in OPERATIONS)]
DISKS = st.builds(
    DiskDelays,
    delays_ms=st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.05, 0.5, 2.0, 2.5, 1500.0])),
    jitter_percent=st.sampled_from([0.0, 20.0, 100.0]),
    iops=st.sampled_from([0.0, 1.0, 500.0, 12_000.0]),
)


def test_a_kind_of_file_takes_precedence() -> None:
    disk = parse_disk("fsync=2ms, read=300us,redo.fsync=5ms,jitter=20%,iops=500")
    assert disk.delay_ms("redo", "fsync") == 5
    assert disk.delay_ms("binlog", "fsync") == 2
    assert disk.delay_ms("data", "read") == 0.3
    assert disk.delay_ms("data", "write") == 0
    assert (disk.jitter_percent, disk.iops) == (20, 500)
    assert str(disk) == "fsync=2ms,read=300us,redo.fsync=5ms,jitter=20%,iops=500"


@given(DISKS)
def test_a_text_stands_for_one_disk(disk: DiskDelays) -> None:
    assert parse_disk(str(disk)) == disk


@given(DISKS, DISKS)
def test_a_change_that_begins_with_nothing_restores_any_disk(disk: DiskDelays, other: DiskDelays) -> None:
    assert changed_disk(other, f"0,{disk}") == disk


def test_a_change_leaves_the_rest() -> None:
    disk = changed_disk(parse_disk("fsync=2ms,read=1ms"), "fsync=0")
    assert disk == parse_disk("read=1ms")
    assert changed_disk(disk, "off") == DiskDelays()
    assert changed_disk(parse_disk("fsync=2ms"), "redo.fsync=0").delay_ms("redo", "fsync") == 0


def test_a_change_in_words() -> None:
    nothing, slow = DiskDelays(), parse_disk("fsync=2ms")
    assert disk_change(nothing, slow) == "disk.fsync 0ms → 2ms"
    assert disk_change(slow, parse_disk("redo.fsync=5ms,fsync=2ms")) == "disk.redo.fsync 2ms → 5ms"
    both = disk_change(slow, parse_disk("read=1ms,iops=500"))
    assert both == "disk: fsync 2ms → 0ms, read 0ms → 1ms, iops 0 → 500"
    assert disk_text(slow, "binlog.fsync") == "2ms"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no parts"),
        ("fsync", "takes NAME=VALUE"),
        ("fsync=", "takes NAME=VALUE"),
        ("flush=2ms", "no 'flush'"),
        ("tables.read=2ms", "no 'tables.read'"),
        ("fsync=20s", "at most 10000ms"),
        ("fsync=-1ms", "-1ms"),
        ("jitter=120%", "jitter"),
        ("jitter=much", "not a number"),
        ("iops=0.5", "at least 1"),
        ("iops=nan", "I/Os per second"),
    ],
)
def test_a_wrong_text_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_disk(text)
