"""Checks of the measured disk speed: the commits it allows, and its plausibility."""

from tuibench import units
from tuibench.model.measurements.environment import DiskFacts, DiskSpeed
from tuibench.model.measurements.finding import Finding, note, ok, warning

FASTEST_FLUSH_US = {"HDD": 1_000.0, "NVMe SSD": 4.0, "SSD": 15.0, "virtual disk": 15.0, "": 4.0}
"""Below these a flush has not reached the medium. A turn of a disk takes 4 ms and more; SSDs with a capacitor
answer from their protected memory, which takes some microseconds for the way there."""

UNEVEN = 20.0
"""Times the median: flushes of this length at p99 are stalls."""

SHARING = 16
"""Transactions that group commit is assumed to flush together."""


def disk_findings(facts: DiskFacts | None, speed: DiskSpeed) -> tuple[Finding, ...]:
    """Flushes, the commits that they allow, reads, and whether flushes reach the disk."""
    return (
        _flushes(speed),
        _ceiling(speed),
        _reads(speed),
        _truth(facts, speed),
    )


def _flushes(speed: DiskSpeed) -> Finding:
    fact = (
        f"{units.count(speed.flushes_per_second)} flushes/s of 4 KiB in sequence, each "
        f"{_time(speed.flush_p50_us)} (p95 {_time(speed.flush_p95_us)}, p99 {_time(speed.flush_p99_us)}, "
        f"max {_time(speed.flush_max_us)})"
    )
    if speed.flush_p99_us > UNEVEN * speed.flush_p50_us:
        return note(
            "disk_flush",
            f"{fact}: some flushes, and commits that wait for them, take {UNEVEN:g} times as long as usual",
        )
    return ok("disk_flush", fact)


def _ceiling(speed: DiskSpeed) -> Finding:
    """A commit with a binary log takes two flushes, of the binary log and of the redo log."""
    flushes = speed.flushes_per_second
    return ok(
        "disk_commits",
        f"with innodb_flush_log_at_trx_commit=1 one connection commits at most "
        f"{units.count(flushes / 2)} times/s with a binary log (sync_binlog=1) and {units.count(flushes)} "
        f"without; {SHARING} connections that group commit flushes together, "
        f"{units.count(SHARING * flushes / 2)} and {units.count(SHARING * flushes)}",
    )


def _reads(speed: DiskSpeed) -> Finding:
    if speed.reads_per_second is None or speed.reads_per_second_parallel is None:
        return note("disk_reads", "this file system does not support direct reads: they were not measured")
    return ok(
        "disk_reads",
        f"{units.count(speed.reads_per_second)} random reads/s of 16 KiB, and "
        f"{units.count(speed.reads_per_second_parallel)} with {speed.readers} readers",
    )


def _truth(facts: DiskFacts | None, speed: DiskSpeed) -> Finding:
    kind = facts.kind if facts else ""
    name, medium = "disk_truth", kind or "medium unknown"
    if kind == "memory":
        return warning(
            name,
            f"{speed.folder} is in memory: a flush costs nothing, and a restart of the host loses all data",
            "put the data directory on a disk",
        )
    least = FASTEST_FLUSH_US.get(kind, FASTEST_FLUSH_US[""])
    if speed.flush_p50_us < least:
        return warning(
            name,
            f"this disk confirms flushes too early: a flush takes {_time(speed.flush_p50_us)}, and {medium} "
            "cannot do it in "
            f"less than {_time(least)}; a power failure loses commits, and durable settings appear to cost "
            "nothing",
            "disable its write cache (hdparm -W0), or check the virtual machine for cache=unsafe",
        )
    return ok(name, f"the time of a flush is plausible for this medium ({medium})")


def _time(us: float) -> str:
    return units.milliseconds(us / 1000) if us >= 1000 else f"{us:.0f} µs"
