"""Control group limits: processors, memory, and the time that threads were throttled.

A group is limited by its ancestors as well: the minimum of all levels applies. Version 2 of control groups
is fully supported; of version 1, only the limits that a container sees as its own.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

CGROUP = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")

CPU_MAX, MEMORY_MAX, CPU_STAT = "cpu.max", "memory.max", "cpu.stat"
THROTTLED = "throttled_usec"
UNLIMITED_BYTES = 1 << 60
"""Version 1 reports a number above this if memory has no limit."""


class GroupLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`cpu_cores` and `memory_bytes` are None without a limit, `throttled_seconds` if unknown."""

    cpu_cores: float | None = None
    memory_bytes: int | None = None
    throttled_seconds: float | None = None


def group_path(lines: Iterable[str]) -> str:
    """The group's path of version 2, from the lines of /proc/PID/cgroup; empty if there is none."""
    groups = [line.split(":", 2) for line in lines]
    return next((group[2].strip() for group in groups if len(group) == 3 and group[0] == "0"), "")


def group_levels(path: str) -> list[str]:
    """The path and those of all its ancestors, the root ("") last."""
    parts = [part for part in path.split("/") if part]
    return ["".join(f"/{part}" for part in parts[:count]) for count in range(len(parts), -1, -1)]


def parse_limits(files: Mapping[str, str], path: str, root: str = str(CGROUP)) -> GroupLimits:
    """The limits of the group at `path`; `files` maps paths to contents."""
    levels = [f"{root}{level}" for level in group_levels(path)]
    cpu = [_cores(files.get(f"{level}/{CPU_MAX}", "")) for level in levels]
    memory = [_number(files.get(f"{level}/{MEMORY_MAX}", "")) for level in levels]
    return GroupLimits(
        cpu_cores=min((cores for cores in cpu if cores is not None), default=None),
        memory_bytes=min(
            (size for size in memory if size is not None and size < UNLIMITED_BYTES), default=None
        ),
        throttled_seconds=_throttled(files.get(f"{levels[0]}/{CPU_STAT}", "")),
    )


def own_limits(own: Path = OWN_CGROUP, root: Path = CGROUP) -> GroupLimits:
    """The limits of this process."""
    path = group_path(_text(own).splitlines())
    names = [f"{root}{level}/{name}" for level in group_levels(path) for name in (CPU_MAX, MEMORY_MAX)]
    found = parse_limits({name: _text(Path(name)) for name in names}, path, str(root))
    if found.cpu_cores is not None or found.memory_bytes is not None:
        return found
    quota, period = (_number(_text(root / "cpu" / f"cpu.cfs_{name}_us")) for name in ("quota", "period"))
    memory = _number(_text(root / "memory" / "memory.limit_in_bytes"))
    return GroupLimits(
        cpu_cores=quota / period if quota and period else None,
        memory_bytes=memory if memory is not None and memory < UNLIMITED_BYTES else None,
    )


def throttled_seconds(own: Path = OWN_CGROUP, root: Path = CGROUP) -> float | None:
    """The time that our control group (version 2) was throttled by its CPU limit so far; None if unknown."""
    path = group_path(_text(own).splitlines())
    return _throttled(_text(root / path.lstrip("/") / CPU_STAT)) if path else None


def _cores(text: str) -> float | None:
    """Parse `cpu.max`: quota and period, or `max` and period."""
    quota, _, period = text.strip().partition(" ")
    if not quota.isdecimal() or not period.isdecimal() or not int(period):
        return None
    return int(quota) / int(period)


def _throttled(text: str) -> float | None:
    figures = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    micros = figures.get(THROTTLED, "")
    return int(micros) / 1e6 if micros.isdecimal() else None


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
