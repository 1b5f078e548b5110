"""Limits of a private server, processors and memory: by a control group if possible, else by affinity.

Control group (cgroup v2): a group for the server below ours, or below the nearest of its ancestors that
delegates the controllers. It limits time on all processors (`cpu.max`), so a fraction is possible, and all
memory, the page cache included (`memory.max`, no swap). Usually this requires root, or a delegated slice
(`systemd-run --user --scope -p Delegate=yes tuibench …`).

Without one, the server is bound to as many processors (sched_setaffinity, as `taskset`), which must be a
whole number, and its memory is not limited: only the buffer pool is sized by it. `Confinement.words` names
the method used.

The buffer pool is sized as by MySQL's innodb_dedicated_server: 128 MiB below 1 GiB of memory, a half up to 4
GiB, three quarters above.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tuibench import units
from tuibench.errors import UsageError
from tuibench.model.server import ServerLimits

GIB = 2**30
LEAST_MEMORY_BYTES = 2**29
"""The least memory: MySQL's own structures take nearly as much."""

SMALL_BUFFER_POOL_BYTES = 2**27
PERIOD_US = 100_000
ROOT = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")


class Confinement:
    """Limits as applied to one server. `words` names the method, in a few words; empty without limits."""

    def __init__(self, group: Path | None = None, cpus: Sequence[int] = (), words: str = "") -> None:
        self.group = group
        self._cpus = cpus
        self.words = words

    def enter(self) -> None:
        """Confine this process; called in the child, before it becomes the server."""
        if self.group is not None:
            (self.group / "cgroup.procs").write_text("0")
        if self._cpus:
            os.sched_setaffinity(0, self._cpus)

    def remove(self) -> None:
        """Remove the group, once the server has ended."""
        if self.group is not None:
            with contextlib.suppress(OSError):
                self.group.rmdir()

    @property
    def was_out_of_memory(self) -> bool:
        """True if the kernel killed a process of the group for lack of memory."""
        if self.group is None:
            return False
        try:
            events = (self.group / "memory.events").read_text()
        except OSError:
            return False
        counts = dict(line.split() for line in events.splitlines())
        return counts.get("oom_kill", "0") != "0"


def check_limits(limits: ServerLimits) -> None:
    """Check the limits. Raises UsageError for more than this host has, or too little for a server."""
    if limits.cpus is not None:
        if sys.platform != "linux":
            raise UsageError("--cpus needs Linux", "leave it out, or use a container")
        cores = len(os.sched_getaffinity(0))
        if not 0 < limits.cpus <= cores:
            raise UsageError(f"--cpus must be above 0 and at most {cores} here, not {limits.cpus:g}")
    if limits.memory_bytes is not None:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if not LEAST_MEMORY_BYTES <= limits.memory_bytes <= total:
            raise UsageError(
                f"--memory must be between {units.binary_size(LEAST_MEMORY_BYTES)} and "
                f"{units.binary_size(total)} here, not {units.binary_size(limits.memory_bytes)}"
            )


def buffer_pool_bytes(memory_bytes: int) -> int:
    """The buffer pool of a server with this much memory."""
    if memory_bytes < GIB:
        return SMALL_BUFFER_POOL_BYTES
    return memory_bytes // 2 if memory_bytes <= 4 * GIB else memory_bytes * 3 // 4


def confine(limits: ServerLimits, name: str, root: Path = ROOT, own: Path = OWN_GROUP) -> Confinement:
    """Prepare the limits of a server; `name` is its group's. Raises UsageError if they cannot be applied."""
    if limits == ServerLimits():
        return Confinement()
    group, why_not = _make_group(limits, name, root, own)
    wanted = _wanted_words(limits)
    if group is not None:
        return Confinement(group, words=f"{wanted} by cgroup v2 ({group})")
    cpus = _last_cpus(limits.cpus, why_not)
    ways = [f"CPU affinity ({', '.join(map(str, cpus))})"] if cpus else []
    ways += ["its buffer pool only"] if limits.memory_bytes is not None else []
    return Confinement(cpus=cpus, words=f"{wanted} by {' and '.join(ways)}; no cgroup: {why_not}")


def remove_group(name: str, root: Path = ROOT, own: Path = OWN_GROUP) -> None:
    """Remove the group that a killed supervisor left behind."""
    for parent in _parents(root, own):
        with contextlib.suppress(OSError):
            (parent / name).rmdir()


def _wanted_words(limits: ServerLimits) -> str:
    words = [f"{limits.cpus:g} CPU{'s' * (limits.cpus != 1)}"] if limits.cpus is not None else []
    words += [f"{units.binary_size(limits.memory_bytes)} of memory"] if limits.memory_bytes else []
    return " and ".join(words)


def _last_cpus(cpus: float | None, why_not: str) -> list[int]:
    """The last processors, because the first one handles most interrupts."""
    if cpus is None:
        return []
    if cpus != int(cpus):
        raise UsageError(
            f"--cpus={cpus:g}: a fraction needs cgroup v2, which cannot be used here: {why_not}",
            "give a whole number",
        )
    return sorted(os.sched_getaffinity(0))[-int(cpus) :]


def _make_group(limits: ServerLimits, name: str, root: Path, own: Path) -> tuple[Path | None, str]:
    """The group with its limits set, or the reason why there is none."""
    files = _limit_files(limits)
    why_not = "no cgroup v2 is mounted"
    for parent in _parents(root, own):
        missing = {file.partition(".")[0] for file in files} - _handed_down(parent)
        if missing:
            why_not = f"{parent} does not delegate the {' and '.join(sorted(missing))} controller"
            continue
        group = parent / name
        try:
            group.mkdir()
            for file, value in files.items():
                (group / file).write_text(value)
            with contextlib.suppress(OSError):
                (group / "memory.swap.max").write_text("0")
            if _may_enter(group):
                return group, ""
            why_not = f"processes may not be moved to {parent}"
        except OSError as error:
            why_not = f"{parent}: {error.strerror}"
        with contextlib.suppress(OSError):
            group.rmdir()
    return None, why_not


def _limit_files(limits: ServerLimits) -> dict[str, str]:
    files = {}
    if limits.cpus is not None:
        files["cpu.max"] = f"{int(limits.cpus * PERIOD_US)} {PERIOD_US}"
    if limits.memory_bytes is not None:
        files["memory.max"] = str(limits.memory_bytes)
    return files


def _parents(root: Path, own: Path) -> list[Path]:
    """Our own group in the unified hierarchy and its ancestors, the nearest first."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    ours = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if ours is None or not (root / "cgroup.controllers").exists():
        return []
    group = root / ours
    return [group, *(parent for parent in group.parents if parent.is_relative_to(root))]


def _handed_down(parent: Path) -> set[str]:
    try:
        return set((parent / "cgroup.subtree_control").read_text().split())
    except OSError:
        return set()


def _may_enter(group: Path) -> bool:
    """True if a child of this process may be moved into the group."""
    child = os.fork()
    if child == 0:
        try:
            (group / "cgroup.procs").write_text("0")
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
