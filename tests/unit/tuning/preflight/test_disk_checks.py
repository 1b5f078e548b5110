"""What a disk's speed means: the commits that it allows, and when it cannot be believed."""

from typing import Any

import pytest

from tuibench.model.measurements.environment import DiskFacts, DiskSpeed
from tuibench.model.measurements.finding import Finding, Severity
from tuibench.tuning.preflight.disk_checks import disk_findings


def findings(kind: str = "SSD", **changes: Any) -> dict[str, Finding]:
    measured = {
        "folder": "/data",
        "flushes_per_second": 2000.0,
        "flush_p50_us": 480.0,
        "flush_p95_us": 700.0,
        "flush_p99_us": 900.0,
        "flush_max_us": 12_000.0,
        "reads_per_second": 9000.0,
        "reads_per_second_parallel": 80_000.0,
        "readers": 16,
    }
    facts = DiskFacts(mount="/", file_system="ext4", kind=kind)
    return {one.id: one for one in disk_findings(facts, DiskSpeed(**{**measured, **changes}))}


def test_flushes_say_how_many_commits_are_possible() -> None:
    found = findings()
    assert found["disk_flush"].found.startswith("2,000 flushes/s of 4 KiB in sequence, each 480 µs")
    assert "max 12 ms" in found["disk_flush"].found
    assert "commits at most 1,000 times/s with a binary log (sync_binlog=1) and 2,000" in (
        found["disk_commits"].found
    )
    assert "16,000 and 32,000" in found["disk_commits"].found
    assert "9,000 random reads/s of 16 KiB, and 80,000 with 16 readers" in found["disk_reads"].found
    assert {one.severity for one in found.values()} == {Severity.OK}


@pytest.mark.parametrize(
    ("kind", "median_us", "lies"),
    [
        ("HDD", 900.0, True),
        ("HDD", 6000.0, False),
        ("SSD", 9.0, True),
        ("SSD", 40.0, False),
        ("NVMe SSD", 9.0, False),
        ("NVMe SSD", 2.0, True),
        ("virtual disk", 9.0, True),
        ("memory", 900.0, True),
        ("", 2.0, True),
    ],
)
def test_a_flush_faster_than_the_medium_is_a_lie(kind: str, median_us: float, lies: bool) -> None:
    found = findings(kind, flush_p50_us=median_us, flush_p99_us=median_us)["disk_truth"]
    assert (found.severity is Severity.WARNING) is lies
    if lies and kind != "memory":
        assert found.found.startswith("this disk confirms flushes too early: a flush takes")


def test_stalls_and_missing_reads_are_reported() -> None:
    found = findings(flush_p99_us=20_000.0, reads_per_second=None)
    assert found["disk_flush"].severity is Severity.NOTE
    assert "20 times as long as usual" in found["disk_flush"].found
    assert "they were not measured" in found["disk_reads"].found
