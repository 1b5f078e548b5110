"""Limits of a private server, processors and memory: by a control group if possible, else by affinity.

A control group (cgroup v2; `cgroup` says where) limits the time on all processors (`cpu.max`), so a fraction
is possible, and all memory, the page cache included (`memory.max`, no swap).

Without one, the server is bound to as many processors (sched_setaffinity, as `taskset`), which must be a
whole number, and its memory is not limited: only the buffer pool is sized by it. `Confinement.words` names
the method used, and why it is not a control group.

The buffer pool is sized as by MySQL's innodb_dedicated_server: 128 MiB below 1 GiB of memory, a half up to 4
GiB, three quarters above.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tuibench import units
from tuibench.demo import cgroup
from tuibench.errors import UsageError
from tuibench.model.server import ServerLimits

GIB = 2**30
LEAST_MEMORY_BYTES = 2**29
"""The least memory: MySQL's own structures take nearly as much."""

SMALL_BUFFER_POOL_BYTES = 2**27
PERIOD_US = 100_000
UNITS = (("GiB", GIB), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
LEAST_CPUS = 0.1
"""The least CPU time: a server's start takes minutes then."""


class Confinement:
    """Limits as applied to one server. `words` is a short description of the method; empty without limits."""

    def __init__(
        self,
        group: Path | None = None,
        cpus: Sequence[int] = (),
        words: str = "",
        root: Path = cgroup.ROOT,
    ) -> None:
        self.group = group
        self.root = root
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
            cgroup.remove_group(self.group, self.root)

    @property
    def oom_kills(self) -> int:
        """How many processes of the group the kernel has killed for lack of memory."""
        return 0 if self.group is None else cgroup.oom_kills(self.group)


def check_limits(limits: ServerLimits) -> None:
    """Check the limits. Raises UsageError for more than this host has, or too little for a server."""
    if limits.cpus is not None:
        if sys.platform != "linux":
            raise UsageError("--cpus needs Linux", "leave it out, or use a container")
        cores = len(os.sched_getaffinity(0))
        if not LEAST_CPUS <= limits.cpus <= cores:
            raise UsageError(f"--cpus must be between {LEAST_CPUS:g} and {cores} here, not {limits.cpus:g}")
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


def confine(
    limits: ServerLimits,
    name: str,
    no_scope: str = "",
    root: Path = cgroup.ROOT,
    own: Path = cgroup.OWN_GROUP,
) -> Confinement:
    """Prepare the limits of a server; `name` is its group's. Raises UsageError if they cannot be applied.

    `no_scope` is the reason why systemd did not start this process in a scope.
    """
    if limits == ServerLimits():
        return Confinement()
    group, why_not = cgroup.make_group(_limit_files(limits), name, root, own)
    if group is not None:
        return Confinement(group, words=f"{wanted_words(limits)} by cgroup v2 ({group})", root=root)
    why_not = "; ".join(filter(None, (why_not, no_scope)))
    cpus = _last_cpus(limits.cpus, why_not)
    ways = [f"CPU affinity ({', '.join(map(str, cpus))})"] if cpus else []
    ways += ["its buffer pool only"] if limits.memory_bytes is not None else []
    words = f"{wanted_words(limits)} by {' and '.join(ways)}; no cgroup: {why_not}"
    return Confinement(cpus=cpus, words=words)


def wanted_words(limits: ServerLimits) -> str:
    """The limits in words: 2 CPUs and 4 GiB of memory."""
    memory = " of memory" if limits.memory_bytes is not None else ""
    return " and ".join(limit_names(limits)) + memory


def limit_names(limits: ServerLimits) -> list[str]:
    """The limits as a table calls them, exactly, because they tell servers apart: 2 CPUs, 4 GiB."""
    words = [f"{limits.cpus:g} CPU{'s' * (limits.cpus != 1)}"] if limits.cpus is not None else []
    if limits.memory_bytes is not None:
        unit, size = next(one for one in UNITS if limits.memory_bytes % one[1] == 0)
        words.append(f"{limits.memory_bytes // size:,} {unit}")
    return words


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


def _limit_files(limits: ServerLimits) -> dict[str, str]:
    files = {}
    if limits.cpus is not None:
        files["cpu.max"] = f"{int(limits.cpus * PERIOD_US)} {PERIOD_US}"
    if limits.memory_bytes is not None:
        files["memory.max"] = str(limits.memory_bytes)
    return files
