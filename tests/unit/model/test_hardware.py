"""The text of simulated hardware."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.base.errors import UsageError
from tuibench.model.hardware import (
    FILE_KINDS,
    OPERATIONS,
    Hardware,
    changed_hardware,
    hardware_change,
    hardware_text,
    parse_hardware,
)

NAMES = [*OPERATIONS, *(f"{kind}.{operation}" for kind in FILE_KINDS for operation in OPERATIONS)]
DISKS = st.builds(
    Hardware,
    delays_ms=st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.05, 0.5, 2.0, 2.5, 1500.0])),
    jitter_percent=st.sampled_from([0.0, 20.0, 100.0]),
    iops=st.sampled_from([0.0, 1.0, 500.0, 12_000.0]),
    cpus=st.sampled_from([0.0, 0.125, 1.5, 16.0]),
    memory_bytes=st.sampled_from([0, 2**30, 1536 * 2**20, 2**29 + 1]),
)


def test_a_kind_of_file_takes_precedence() -> None:
    disk = parse_hardware("fsync=2ms, read=300us,redo.fsync=5ms,jitter=20%,iops=500")
    assert disk.delay_ms("redo", "fsync") == 5
    assert disk.delay_ms("binlog", "fsync") == 2
    assert disk.delay_ms("data", "read") == 0.3
    assert disk.delay_ms("data", "write") == 0
    assert (disk.jitter_percent, disk.iops) == (20, 500)
    assert str(disk) == "fsync=2ms,read=300us,redo.fsync=5ms,jitter=20%,iops=500"


@given(DISKS)
def test_a_text_stands_for_one_disk(disk: Hardware) -> None:
    assert parse_hardware(str(disk)) == disk


@given(DISKS, DISKS)
def test_a_change_that_begins_with_nothing_restores_any_disk(disk: Hardware, other: Hardware) -> None:
    assert changed_hardware(other, f"0,{disk}") == disk


def test_a_change_leaves_the_rest() -> None:
    disk = changed_hardware(parse_hardware("fsync=2ms,read=1ms"), "fsync=0")
    assert disk == parse_hardware("read=1ms")
    assert changed_hardware(disk, "off") == Hardware()
    assert changed_hardware(parse_hardware("fsync=2ms"), "redo.fsync=0").delay_ms("redo", "fsync") == 0


def test_a_change_in_words() -> None:
    nothing, slow = Hardware(), parse_hardware("fsync=2ms")
    assert hardware_change(nothing, slow) == "disk.fsync 0ms → 2ms"
    assert hardware_change(slow, parse_hardware("redo.fsync=5ms,fsync=2ms")) == "disk.redo.fsync 2ms → 5ms"
    both = hardware_change(slow, parse_hardware("read=1ms,iops=500"))
    assert both == "hardware: fsync 2ms → 0ms, read 0ms → 1ms, iops 0 → 500"
    assert hardware_text(slow, "binlog.fsync") == "2ms"
    assert hardware_change(parse_hardware("cpus=2"), parse_hardware("cpus=1.5")) == "cpus 2 → 1.5"
    assert hardware_change(nothing, parse_hardware("memory=1536M")) == "memory 0 → 1536M"


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
        ("cpus=-1", "processors must be between 0"),
        ("cpus=two", "not a number"),
        ("memory=much", "not a size"),
    ],
)
def test_a_wrong_text_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_hardware(text)
