"""Limits of a private server, processors and memory: by a control group if possible, otherwise by affinity.

A control group (cgroup v2) limits the time on all processors (`cpu.max`), so a fraction is possible, and all
memory, the page cache included (`memory.max`, no swap). Without one, the server is bound to a whole number of
processors (sched_setaffinity, as `taskset`), and its memory is not limited: only its buffer pool depends on
it. `Confinement.words` names the method used, and why it is not a control group.

A group needs a parent that delegates the controllers to its children. Two are possible:

- the supervisor's own scope. If the host runs systemd, it starts the supervisor in a new scope that is
  delegated to it. A group with processes cannot delegate controllers, so the supervisor first moves into a
  group of its own, next to the server's. systemd removes all groups when the last process has ended.
- otherwise tuibench's own group or its nearest ancestor that delegates the controllers and is writable: in a
  delegated slice or container, or as root without systemd.

systemd owns the control groups of its units. A group next to them may lose its controllers, and with them its
limits, whenever systemd reloads; in a scope with `Delegate=`, the groups belong to the supervisor. An
ordinary user gets a scope from their user manager, root from the system manager; no privilege is needed.
`systemd-run --scope` requests the scope and then becomes the program: same process, same descriptors.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tuibench.base import units
from tuibench.base.errors import UsageError
from tuibench.model.server import ServerLimits

ROOT = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")
SCOPE_PREFIX, SCOPE_SUFFIX = "tuibench-", ".scope"
SUPERVISOR = "supervisor"
"""The supervisor's group in its own scope."""


def has_controllers(root: Path = ROOT) -> bool:
    """True if this host's cgroup v2 hierarchy has controllers; version 1 takes away those that it uses."""
    try:
        return bool((root / "cgroup.controllers").read_text().split())
    except OSError:
        return False


def make_group(
    files: Mapping[str, str], name: str, root: Path = ROOT, own: Path = OWN_GROUP
) -> tuple[Path | None, str]:
    """A new group with these files set (cpu.max, …), or the reason why there is none."""
    if not has_controllers(root):
        try:
            has_v1 = any(not line.startswith("0::") for line in own.read_text().splitlines())
        except OSError:
            has_v1 = False
        return None, "this host uses cgroup v1" if has_v1 else "no cgroup v2 is mounted"
    parents = _parents(root, own)
    needed = {file.partition(".")[0] for file in files}
    reasons: list[str] = []
    if parents and parents[0].name.startswith(SCOPE_PREFIX) and parents[0].name.endswith(SCOPE_SUFFIX):
        reasons += _delegate_own_scope(parents[0], needed)
    denied: list[str] = []
    for parent in parents:
        missing = needed - _delegated(parent)
        if missing:
            names = f"{' and '.join(sorted(missing))} controller{'s' * (len(missing) > 1)}"
            reasons.append(f"{parent} does not delegate the {names}")
            continue
        why_not = _try_parent(parent / name, files)
        if not why_not:
            return parent / name, ""
        denied.append(why_not)
    return None, next(iter([*denied, *reasons]), "this process has no cgroup v2")


def oom_kills(group: Path) -> int:
    """The number of processes of the group that the kernel has killed because memory was exhausted."""
    try:
        events = (group / "memory.events").read_text()
    except OSError:
        return 0
    counts = dict(line.split() for line in events.splitlines())
    return int(counts.get("oom_kill", "0"))


def remove_group(group: Path, root: Path = ROOT) -> None:
    """Remove an empty group, if it still exists."""
    if group.is_relative_to(root) and group != root:
        with contextlib.suppress(OSError):
            group.rmdir()


def _parents(root: Path, own: Path) -> list[Path]:
    """tuibench's own group in the unified hierarchy and its ancestors, the nearest first."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    ours = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if ours is None:
        return []
    group = root / ours
    return [group, *(parent for parent in group.parents if parent.is_relative_to(root))]


def _delegate_own_scope(scope: Path, controllers: set[str]) -> list[str]:
    """Let the supervisor's scope delegate the controllers. Returns the reason if that is impossible."""
    try:
        (scope / SUPERVISOR).mkdir(exist_ok=True)
        (scope / SUPERVISOR / "cgroup.procs").write_text("0")
        (scope / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(controllers)))
    except OSError as error:
        return [f"{scope}: {error.strerror}"]
    return []


def _delegated(parent: Path) -> set[str]:
    try:
        return set((parent / "cgroup.subtree_control").read_text().split())
    except OSError:
        return set()


def _try_parent(group: Path, files: Mapping[str, str]) -> str:
    """Create the group and set its limits. Returns the reason if that is impossible."""
    try:
        group.mkdir()
        for file, value in files.items():
            (group / file).write_text(value)
        with contextlib.suppress(OSError):
            (group / "memory.swap.max").write_text("0")
        if _may_enter(group):
            return ""
        why_not = f"processes may not be moved to {group.parent}"
    except OSError as error:
        why_not = f"{group.parent}: {error.strerror}"
    with contextlib.suppress(OSError):
        group.rmdir()
    return why_not


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


GIB = 2**30
LEAST_MEMORY_BYTES = 2**29
"""Minimum memory: MySQL's own structures need nearly as much."""

SMALL_BUFFER_POOL_BYTES = 2**27
PERIOD_US = 100_000
UNITS = (("GiB", GIB), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
LEAST_CPUS = 0.1
"""Minimum CPU time, with which a server's start takes minutes."""


class Confinement:
    """Limits as applied to one server."""

    def __init__(
        self,
        group: Path | None = None,
        cpus: Sequence[int] = (),
        words: str = "",
        root: Path = ROOT,
    ) -> None:
        self.group = group
        self.root = root
        self._cpus = cpus
        self.words = words
        """A short description of the method; empty without limits."""

    def enter(self) -> None:
        """Confine this process; called in the child, before it becomes the server."""
        if self.group is not None:
            (self.group / "cgroup.procs").write_text("0")
        if self._cpus:
            os.sched_setaffinity(0, self._cpus)

    def remove(self) -> None:
        """Remove the group, once the server has ended."""
        if self.group is not None:
            remove_group(self.group, self.root)

    @property
    def oom_kills(self) -> int:
        """The number of processes of the group that the kernel has killed because memory was exhausted."""
        return 0 if self.group is None else oom_kills(self.group)


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
    """The buffer pool of a server with this much memory, as with MySQL's innodb_dedicated_server: 128 MiB
    below 1 GiB, a half up to 4 GiB, three quarters above.
    """
    if memory_bytes < GIB:
        return SMALL_BUFFER_POOL_BYTES
    return memory_bytes // 2 if memory_bytes <= 4 * GIB else memory_bytes * 3 // 4


def confine(
    limits: ServerLimits,
    name: str,
    no_scope: str = "",
    root: Path = ROOT,
    own: Path = OWN_GROUP,
) -> Confinement:
    """Prepare the limits of a server; `name` is its group's. Raises UsageError if they cannot be applied.

    `no_scope` is the reason why systemd did not start this process in a scope.
    """
    if limits == ServerLimits():
        return Confinement()
    files = {}
    if limits.cpus is not None:
        files["cpu.max"] = f"{int(limits.cpus * PERIOD_US)} {PERIOD_US}"
    if limits.memory_bytes is not None:
        files["memory.max"] = str(limits.memory_bytes)
    group, why_not = make_group(files, name, root, own)
    if group is not None:
        return Confinement(group, words=f"{wanted_words(limits)} by cgroup v2 ({group})", root=root)
    why_not = "; ".join(filter(None, (why_not, no_scope)))
    # The last processors, because the first one handles most interrupts.
    if limits.cpus is None:
        cpus = []
    else:
        if limits.cpus != int(limits.cpus):
            raise UsageError(
                f"--cpus={limits.cpus:g}: a fraction needs cgroup v2, which cannot be used here: {why_not}",
                "give a whole number",
            )
        cpus = sorted(os.sched_getaffinity(0))[-int(limits.cpus) :]
    ways = [f"CPU affinity ({', '.join(map(str, cpus))})"] if cpus else []
    ways += ["its buffer pool only"] if limits.memory_bytes is not None else []
    words = f"{wanted_words(limits)} by {' and '.join(ways)}; no cgroup: {why_not}"
    return Confinement(cpus=cpus, words=words)


def wanted_words(limits: ServerLimits) -> str:
    """The limits in words: 2 CPUs and 4 GiB of memory."""
    memory = " of memory" if limits.memory_bytes is not None else ""
    return " and ".join(limit_names(limits)) + memory


def limit_names(limits: ServerLimits) -> list[str]:
    """The limits for a table, exactly, because they distinguish servers: 2 CPUs, 4 GiB."""
    words = [f"{limits.cpus:g} CPU{'s' * (limits.cpus != 1)}"] if limits.cpus is not None else []
    if limits.memory_bytes is not None:
        unit, size = next(one for one in UNITS if limits.memory_bytes % one[1] == 0)
        words.append(f"{limits.memory_bytes // size:,} {unit}")
    return words


BOOTED = Path("/run/systemd/system")
"""Exists if systemd is the init process (sd_booted)."""

TRIAL_SECONDS = 30.0


def scope_command(root: Path = ROOT, booted: Path = BOOTED) -> tuple[list[str], str]:
    """The words before a command that start it in a scope of its own, or the reason why that is impossible.

    Both are empty on a host without systemd or without cgroup v2, on which no scope is expected.
    """
    program = shutil.which("systemd-run")
    if program is None or not booted.exists() or not has_controllers(root):
        return [], ""
    command = _scope_words(program)
    try:
        trial = subprocess.run(
            [*command, "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [], f"systemd-run does not respond within {TRIAL_SECONDS:.0f} s"
    except OSError as error:
        return [], f"systemd-run: {error.strerror}"
    if trial.returncode:
        lines = trial.stderr.strip().splitlines()
        return [], f"systemd-run: {lines[-1] if lines else f'exit code {trial.returncode}'}"
    return _scope_words(program), ""


def _scope_words(program: str) -> list[str]:
    """A command for one scope, whose name is unique."""
    name = f"{SCOPE_PREFIX}{secrets.token_hex(6)}{SCOPE_SUFFIX}"
    manager = [] if os.geteuid() == 0 else ["--user"]
    options = ["--scope", "--quiet", "--collect", "--no-ask-password", "--property=Delegate=cpu memory"]
    return [program, *manager, *options, f"--unit={name}", "--description=Private server of tuibench", "--"]
