"""The hardware that a private server seems to have: a slower disk, fewer processors, less memory.

As text, it is `fsync=2ms,read=0.3ms,jitter=20%,iops=500,cpus=1.5,memory=1G`; `redo.fsync=2ms` is of one kind
of file, and takes precedence. A change names what it changes; `0` first removes everything.
"""

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.option import check_range
from tuibench.model.schedule import MAX_CLIENT_DELAY_MS, format_delay, parse_delay_ms, parse_size

OPERATIONS = ("read", "write", "fsync")
FILE_KINDS = ("redo", "binlog", "data", "doublewrite", "temporary")
"""MariaDB's doublewrite buffer is in the system tablespace, so it is `data`."""

JITTER, IOPS = "jitter", "iops"
MAX_IOPS = 1_000_000
MAX_CPUS, CPU_DIGITS = 4096, 3
NONE = "0"
EXAMPLE = "fsync=2ms,read=0.3ms, or redo.fsync=2ms,jitter=20%,iops=500; 0 for none"
DISK_SUBJECT = "disk."
"""The beginning of the subject of an A/B test: `disk.fsync`."""

CPUS, MEMORY = "cpus", "memory"
LIMITS = (CPUS, MEMORY)
"""Parts that are subjects of an A/B test by their own name."""

HARDWARE_REFUSAL = "disk, processors and memory are simulated only for a private server"

DISK_REFUSAL = "the disk is simulated only for a private server that was started with --disk"


class Hardware(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is added to the I/O of a server's files, and what the server may use."""

    delays_ms: dict[str, float] = {}
    """By operation (`fsync`), or kind of file and operation (`redo.fsync`)."""
    jitter_percent: float = 0.0
    """Each delay varies uniformly by this much in both directions."""
    iops: float = 0.0
    """I/Os per second, at most: reads, flushes, and writes other than those of logs, which the page cache
    collects. 0 without a limit.
    """
    cpus: float = 0.0
    """The processors that the server may use; 0 without a limit."""
    memory_bytes: int = 0
    """The memory that the server may use; 0 without a limit."""

    @property
    def disk(self) -> "Hardware":
        """The disk alone."""
        return msgspec.structs.replace(self, cpus=0.0, memory_bytes=0)

    def delay_ms(self, kind: str, operation: str) -> float:
        return self.delays_ms.get(f"{kind}.{operation}", self.delays_ms.get(operation, 0.0))

    def __str__(self) -> str:
        return ",".join(f"{name}={text}" for name, text in hardware_texts(self).items()) or NONE


def hardware_texts(hardware: Hardware) -> dict[str, str]:
    """The parts that are set, by name, as in a text."""
    found = {
        name: format_delay(hardware.delays_ms[name])
        for name in sorted(hardware.delays_ms, key=lambda name: ("." in name, name))
    }
    if hardware.jitter_percent:
        found[JITTER] = f"{hardware.jitter_percent:g}%"
    if hardware.iops:
        found[IOPS] = f"{hardware.iops:g}"
    if hardware.cpus:
        found[CPUS] = f"{hardware.cpus:g}"
    if hardware.memory_bytes:
        found[MEMORY] = _exact_size(hardware.memory_bytes)
    return found


def _exact_size(size_bytes: int) -> str:
    unit, size = next(
        one for one in (("G", 2**30), ("M", 2**20), ("K", 2**10), ("", 1)) if size_bytes % one[1] == 0
    )
    return f"{size_bytes // size}{unit}"


def hardware_text(hardware: Hardware, name: str) -> str:
    """The present value of a part, set or not."""
    if text := hardware_texts(hardware).get(name, ""):
        return text
    if name in (JITTER, IOPS, *LIMITS):
        return NONE
    return format_delay(hardware.delays_ms.get(name.rpartition(".")[2], 0.0))


def parse_hardware(text: str) -> Hardware:
    """Raises UsageError for a text that is none."""
    return changed_hardware(Hardware(), text)


def changed_hardware(hardware: Hardware, change: str) -> Hardware:
    """The hardware after a change. Raises UsageError for a text that is none."""
    parts = [part.strip() for part in change.split(",") if part.strip()]
    if not parts:
        raise UsageError("the hardware has no parts", EXAMPLE)
    for part in parts:
        if part in (NONE, "off"):
            hardware = Hardware()
            continue
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            raise UsageError(f"the hardware takes NAME=VALUE, not '{part}'", EXAMPLE)
        hardware = _changed(hardware, name.lower(), value)
    return hardware


def _changed(hardware: Hardware, name: str, value: str) -> Hardware:
    if name == JITTER:
        jitter = check_range("the jitter in percent", _number(name, value.removesuffix("%")), 0, 100)
        return msgspec.structs.replace(hardware, jitter_percent=jitter)
    if name == IOPS:
        iops = check_range("the I/Os per second", _number(name, value), 0, MAX_IOPS)
        if 0 < iops < 1:
            raise UsageError(f"iops={value}: at least 1, or 0 for no limit")
        return msgspec.structs.replace(hardware, iops=iops)
    if name == CPUS:
        return msgspec.structs.replace(
            hardware, cpus=round(check_range("the processors", _number(name, value), 0, MAX_CPUS), CPU_DIGITS)
        )
    if name == MEMORY:
        return msgspec.structs.replace(hardware, memory_bytes=parse_size(value))
    kind, dot, operation = name.rpartition(".")
    if operation not in OPERATIONS or (dot and kind not in FILE_KINDS):
        raise UsageError(
            f"the hardware has no '{name}'",
            f"valid: {', '.join((*OPERATIONS, JITTER, IOPS, *LIMITS))}; of one kind of file: "
            f"{', '.join(f'{kind}.fsync' for kind in FILE_KINDS)}",
        )
    delay_ms = parse_delay_ms(value)
    if delay_ms > MAX_CLIENT_DELAY_MS:
        raise UsageError(f"{name}={value}: at most {format_delay(MAX_CLIENT_DELAY_MS)}")
    delays = {**hardware.delays_ms, name: delay_ms}
    if not dot and not delay_ms:
        del delays[name]
    return msgspec.structs.replace(hardware, delays_ms=delays)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"{name}={value}: '{value}' is not a number", EXAMPLE) from None


def hardware_change(before: Hardware, after: Hardware) -> str:
    """The difference in words: `disk.fsync 0ms → 2ms`, `cpus 2 → 1`, `hardware: fsync 0ms → 2ms, iops 0 →
    500`.
    """
    names = dict.fromkeys((*hardware_texts(before), *hardware_texts(after)))
    texts = {name: (hardware_text(before, name), hardware_text(after, name)) for name in names}
    changed = [f"{name} {old} → {new}" for name, (old, new) in texts.items() if old != new]
    if len(changed) == 1:
        return f"{'' if changed[0].startswith(LIMITS) else DISK_SUBJECT}{changed[0]}"
    return f"hardware: {', '.join(changed) or after}"


def part_of_subject(subject: str) -> str:
    """The part of the hardware that is the subject of an A/B test: `fsync` of `disk.fsync`, `cpus`; empty if
    the subject is something else.
    """
    if subject in LIMITS:
        return subject
    return subject.removeprefix(DISK_SUBJECT) if subject.startswith(DISK_SUBJECT) else ""
