"""The simulated disk of a private server: what is added to its reads, writes and flushes of files.

As text, it is `fsync=2ms,read=0.3ms,jitter=20%,iops=500`; `redo.fsync=2ms` is of one kind of file, and takes
precedence. A change names what it changes; `0` first removes everything.
"""

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.option import check_range
from tuibench.model.schedule import MAX_CLIENT_DELAY_MS, format_delay, parse_delay_ms

OPERATIONS = ("read", "write", "fsync")
FILE_KINDS = ("redo", "binlog", "data", "doublewrite", "temporary")
"""MariaDB's doublewrite buffer is in the system tablespace, so it is `data`."""

JITTER, IOPS = "jitter", "iops"
MAX_IOPS = 1_000_000
NONE = "0"
EXAMPLE = "fsync=2ms,read=0.3ms, or redo.fsync=2ms,jitter=20%,iops=500; 0 for none"
DISK_SUBJECT = "disk."
"""The beginning of the subject of an A/B test: `disk.fsync`."""

DISK_REFUSAL = "the disk is simulated only for a private server that was started with --disk"


class DiskDelays(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is added to the I/O of a server's files."""

    delays_ms: dict[str, float] = {}
    """By operation (`fsync`), or kind of file and operation (`redo.fsync`)."""
    jitter_percent: float = 0.0
    """Each delay varies uniformly by this much in both directions."""
    iops: float = 0.0
    """I/Os per second, at most: reads, flushes, and writes other than those of logs, which the page cache
    collects. 0 without a limit.
    """

    def delay_ms(self, kind: str, operation: str) -> float:
        return self.delays_ms.get(f"{kind}.{operation}", self.delays_ms.get(operation, 0.0))

    def __str__(self) -> str:
        return ",".join(f"{name}={text}" for name, text in disk_texts(self).items()) or NONE


def disk_texts(disk: DiskDelays) -> dict[str, str]:
    """The parts that are set, by name, as in a text."""
    found = {
        name: format_delay(disk.delays_ms[name])
        for name in sorted(disk.delays_ms, key=lambda name: ("." in name, name))
    }
    if disk.jitter_percent:
        found[JITTER] = f"{disk.jitter_percent:g}%"
    if disk.iops:
        found[IOPS] = f"{disk.iops:g}"
    return found


def disk_text(disk: DiskDelays, name: str) -> str:
    """The present value of a part, set or not."""
    if text := disk_texts(disk).get(name, ""):
        return text
    if name in (JITTER, IOPS):
        return NONE
    return format_delay(disk.delays_ms.get(name.rpartition(".")[2], 0.0))


def parse_disk(text: str) -> DiskDelays:
    """Raises UsageError for a text that is none."""
    return changed_disk(DiskDelays(), text)


def changed_disk(disk: DiskDelays, change: str) -> DiskDelays:
    """The disk after a change. Raises UsageError for a text that is none."""
    parts = [part.strip() for part in change.split(",") if part.strip()]
    if not parts:
        raise UsageError("a simulated disk has no parts", EXAMPLE)
    for part in parts:
        if part in (NONE, "off"):
            disk = DiskDelays()
            continue
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            raise UsageError(f"a simulated disk takes NAME=VALUE, not '{part}'", EXAMPLE)
        disk = _changed(disk, name.lower(), value)
    return disk


def _changed(disk: DiskDelays, name: str, value: str) -> DiskDelays:
    if name == JITTER:
        jitter = check_range("the jitter in percent", _number(name, value.removesuffix("%")), 0, 100)
        return msgspec.structs.replace(disk, jitter_percent=jitter)
    if name == IOPS:
        iops = check_range("the I/Os per second", _number(name, value), 0, MAX_IOPS)
        if 0 < iops < 1:
            raise UsageError(f"iops={value}: at least 1, or 0 for no limit")
        return msgspec.structs.replace(disk, iops=iops)
    kind, dot, operation = name.rpartition(".")
    if operation not in OPERATIONS or (dot and kind not in FILE_KINDS):
        raise UsageError(
            f"a simulated disk has no '{name}'",
            f"valid: {', '.join((*OPERATIONS, JITTER, IOPS))}; of one kind of file: "
            f"{', '.join(f'{kind}.fsync' for kind in FILE_KINDS)}",
        )
    delay_ms = parse_delay_ms(value)
    if delay_ms > MAX_CLIENT_DELAY_MS:
        raise UsageError(f"{name}={value}: at most {format_delay(MAX_CLIENT_DELAY_MS)}")
    delays = {**disk.delays_ms, name: delay_ms}
    if not dot and not delay_ms:
        del delays[name]
    return msgspec.structs.replace(disk, delays_ms=delays)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"{name}={value}: '{value}' is not a number", EXAMPLE) from None


def disk_change(before: DiskDelays, after: DiskDelays) -> str:
    """The difference in words: `disk.fsync 0ms → 2ms`, `disk: fsync 0ms → 2ms, iops 0 → 500`."""
    names = dict.fromkeys((*disk_texts(before), *disk_texts(after)))
    texts = {name: (disk_text(before, name), disk_text(after, name)) for name in names}
    changed = [f"{name} {old} → {new}" for name, (old, new) in texts.items() if old != new]
    if len(changed) == 1:
        return f"{DISK_SUBJECT}{changed[0]}"
    return f"disk: {', '.join(changed) or after}"
