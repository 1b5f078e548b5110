"""Limits of a private server, processors and memory: by control groups if possible, otherwise from user
space.

A control group limits the time on all processors, so a fraction is possible, and all memory, the page cache
included, without swap: `cpu.max` and `memory.max` of version 2, which has one group for both, or
`cpu.cfs_quota_us` and `memory.limit_in_bytes` of version 1, which has a hierarchy for each controller.
Without one, the server is bound to a whole number of processors (sched_setaffinity, as `taskset`), a fraction
is a duty cycle (`duty_cycle`), and its memory is not limited: only its buffer pool depends on it.
`Confinement.words` names the method used, and why it is not a control group.

Limits change while the server runs. A group for its processors is made when they are first limited: in a
group of its own, a server gets another share of a busy host. A group for its memory must be there from the
start, because pages stay where they were charged.

A group of version 2 needs a parent that delegates the controllers to its children. Two are possible:

- the supervisor's own scope. If the host runs systemd, it starts the supervisor in a new scope that is
  delegated to it. A group with processes cannot delegate controllers, so the supervisor first moves into a
  group of its own, next to the server's. systemd removes all groups when the last process has ended.
- otherwise tuibench's own group or its nearest ancestor that delegates the controllers and is writable: in a
  delegated slice or container, or as root without systemd.

systemd owns the control groups of its units. A group next to them may lose its controllers, and with them its
limits, whenever systemd reloads; in a scope with `Delegate=`, the groups belong to the supervisor. An
ordinary user gets a scope from their user manager, root from the system manager; no privilege is needed.
`systemd-run --scope` requests the scope and then becomes the program: same process, same descriptors.
In version 1, a group may be made below tuibench's own by root, or where the group was given to the user.
"""

import contextlib
import math
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

import msgspec

from tuibench.base import units
from tuibench.base.errors import UsageError
from tuibench.model.server import ServerLimits
from tuibench.servers.duty_cycle import DutyCycle

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


def make_version_1_group(
    controller: str, name: str, root: Path = ROOT, own: Path = OWN_GROUP
) -> tuple[Path | None, str]:
    """A new group of version 1, without limits, or the reason why there is none."""
    parent = _version_1_parent(controller, root, own)
    if parent is None:
        return None, f"no cgroup v1 has the {controller} controller"
    why_not = _try_parent(parent / name, {})
    return (None, why_not) if why_not else (parent / name, "")


def _own_group(controller: str, root: Path, own: Path) -> Path:
    """The group of this process that a server without a group is in. Raises OSError if it is not known."""
    group = next(iter(_parents(root, own)), None) if has_controllers(root) else None
    group = group or _version_1_parent(controller, root, own)
    if group is None:
        raise FileNotFoundError(own)
    return group


def _version_1_parent(controller: str, root: Path, own: Path) -> Path | None:
    """tuibench's own group of a controller; in a container whose mount begins with it, the mount itself."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return None
    for _, controllers, path in lines:
        if controller in controllers.split(","):
            folders = [root / mounted for mounted in (controller, controllers)]
            mount = next((folder for folder in folders if folder.is_dir()), None)
            if mount is None:
                return None
            group = mount / path.lstrip("/")
            return group if group.is_dir() else mount
    return None


def oom_kills(group: Path) -> int:
    """The number of processes of the group that the kernel has killed because memory was exhausted."""
    for file in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            counts = dict(line.split() for line in (group / file).read_text().splitlines())
            return int(counts.get("oom_kill", "0"))
    return 0


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


CPU, MEMORY = "cpu", "memory"


class Confinement:
    """Limits as applied to one server."""

    def __init__(
        self,
        groups: Mapping[str, Path] = MappingProxyType({}),
        *,
        limits: ServerLimits = ServerLimits(),  # noqa: B008 (frozen)
        why_no_group: str = "",
        name: str = "",
        root: Path = ROOT,
        own: Path = OWN_GROUP,
    ) -> None:
        """`groups` are those that exist, by controller."""
        self.limits = limits
        """The present limits."""
        self._groups = dict(groups)
        self._first = self.groups
        self._why_no_group = why_no_group
        self._name, self._root, self._own = name, root, own
        self._allowed = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
        self._duty: DutyCycle | None = None

    @property
    def groups(self) -> list[Path]:
        return list(dict.fromkeys(self._groups.values()))

    @property
    def words(self) -> str:
        """A short description of limits and method; empty without limits."""
        limits = self.limits
        if limits == ServerLimits():
            return ""
        ways: dict[str, None] = {}
        if limits.cpus is not None:
            ways[self._way(CPU)] = None
        if limits.memory_bytes is not None:
            ways[self._way(MEMORY)] = None
        words = f"{wanted_words(limits)} by {' and '.join(ways)}"
        return f"{words}; no cgroup: {self._why_no_group}" if self._why_no_group else words

    def _way(self, controller: str) -> str:
        if (group := self._groups.get(controller)) is not None:
            return f"cgroup v{2 if _is_version_2(group) else 1} ({group})"
        if controller == MEMORY:
            return "its buffer pool only"
        text = f"CPU affinity ({', '.join(map(str, self._processors))})"
        return f"{text} and a duty cycle" if self._is_fraction else text

    @property
    def _processors(self) -> list[int]:
        """The processors that the server is bound to without a group: the last ones, because the first one
        handles most interrupts.
        """
        if self.limits.cpus is None or CPU in self._groups:
            return self._allowed
        return self._allowed[-math.ceil(self.limits.cpus) :]

    @property
    def _is_fraction(self) -> bool:
        cpus = self.limits.cpus
        return CPU not in self._groups and cpus is not None and cpus != int(cpus)

    def enter(self) -> None:
        """Confine this process; called in the child, before it becomes the server."""
        for group in self.groups:
            (group / "cgroup.procs").write_text("0")
        if self.limits.cpus is not None and CPU not in self._groups:
            os.sched_setaffinity(0, self._processors)

    def attend(self, pid: int) -> None:
        """From now on, the server is this process; what limits it from user space begins."""
        self.leave()
        if self._is_fraction:
            assert self.limits.cpus is not None  # noqa: S101
            self._duty = DutyCycle(pid, self.limits.cpus)

    def leave(self) -> None:
        """The server runs freely, because it is to end, or has ended."""
        if self._duty is not None:
            self._duty.end()
            self._duty = None

    def change(self, limits: ServerLimits, pid: int) -> None:
        """Change the limits of the running server. Raises UsageError for limits that cannot be applied."""
        check_limits(limits)
        if limits.memory_bytes != self.limits.memory_bytes:
            self._change_memory(limits.memory_bytes)
            self.limits = msgspec.structs.replace(self.limits, memory_bytes=limits.memory_bytes)
        if limits.cpus == self.limits.cpus:
            return
        if CPU not in self._groups and self.limits.cpus is None:
            self._make_cpu_group(pid)
        before, self.limits = self.limits, limits
        if (group := self._groups.get(CPU)) is None:
            bind(pid, self._processors)
            self.attend(pid)
            return
        try:
            set_cpus(group, limits.cpus)
        except OSError as error:
            self.limits = before
            raise UsageError(f"the processors cannot be limited: {group}: {error.strerror}") from error
        if limits.cpus is None and group not in (self._groups.get(MEMORY), *self._first):
            self._leave_cpu_group(group, pid)

    def _make_cpu_group(self, pid: int) -> None:
        """Make a group for the processors of a running server, if that is possible."""
        group, self._why_no_group = next_group(CPU, self._name, self._root, self._own)
        if group is None:
            return
        try:
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            self._why_no_group = f"{group}: {error.strerror}"
            remove_group(group, self._root)
        else:
            self._groups[CPU] = group

    def _leave_cpu_group(self, group: Path, pid: int) -> None:
        """Move the server back to where the supervisor is, and remove the group."""
        with contextlib.suppress(OSError):
            (_own_group(CPU, self._root, self._own) / "cgroup.procs").write_text(str(pid))
            remove_group(group, self._root)
            del self._groups[CPU]

    def _change_memory(self, memory_bytes: int | None) -> None:
        group = self._groups.get(MEMORY)
        if group is None:
            raise UsageError(
                "the memory of this server is not limited by a control group"
                + (f": {self._why_no_group}" if self._why_no_group else ", which is made at its start"),
                "start the server with --memory, or change innodb_buffer_pool_size",
            )
        if memory_bytes is not None and (used := _unreclaimable(group)) > memory_bytes:
            raise UsageError(
                f"the server uses {units.binary_size(used)} that is not page cache: with "
                f"{units.binary_size(memory_bytes)} the kernel would kill it",
                "make innodb_buffer_pool_size smaller first",
            )
        try:
            set_memory(group, memory_bytes)
        except OSError as error:
            raise UsageError(f"the memory cannot be limited: {group}: {error.strerror}") from error

    def remove(self) -> None:
        """Remove the groups, once the server has ended."""
        self.leave()
        for group in self.groups:
            remove_group(group, self._root)

    @property
    def oom_kills(self) -> int:
        """The number of processes of the group that the kernel has killed because memory was exhausted."""
        group = self._groups.get(MEMORY)
        return 0 if group is None else oom_kills(group)


def bind(pid: int, processors: Sequence[int]) -> None:
    """Bind all threads of a process to processors; threads that have ended meanwhile are left out."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(task), processors)


def next_group(controller: str, name: str, root: Path, own: Path) -> tuple[Path | None, str]:
    """A new group, without limits, of version 2 or else of version 1; or the reason why there is none."""
    if has_controllers(root):
        return make_group({LIMIT_FILES[controller]: NO_LIMIT}, name, root, own)
    return make_version_1_group(controller, name, root, own)


LIMIT_FILES = {CPU: "cpu.max", MEMORY: "memory.max"}
NO_LIMIT = "max"


def set_cpus(group: Path, cpus: float | None) -> None:
    """Limit the processors of a group. Raises OSError."""
    quota = None if cpus is None else int(cpus * PERIOD_US)
    if _is_version_2(group):
        (group / "cpu.max").write_text(f"{quota or NO_LIMIT} {PERIOD_US}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota or -1))


def set_memory(group: Path, memory_bytes: int | None) -> None:
    """Limit the memory of a group, without swap. Raises OSError, also if the kernel cannot free enough."""
    if _is_version_2(group):
        (group / "memory.max").write_text(str(memory_bytes or NO_LIMIT))
        return
    # The limit with swap must never be below that without it.
    both = group / "memory.memsw.limit_in_bytes"
    with contextlib.suppress(OSError):
        both.write_text("-1")
    (group / "memory.limit_in_bytes").write_text(str(memory_bytes or -1))
    if memory_bytes is not None:
        with contextlib.suppress(OSError):
            both.write_text(str(memory_bytes))


def _is_version_2(group: Path) -> bool:
    """Every group of version 2 but the root has this file."""
    return (
        (group / "cgroup.events").exists() or (group / "cpu.max").exists() or (group / "memory.max").exists()
    )


def _unreclaimable(group: Path) -> int:
    """The memory of a group that is not page cache, in bytes."""
    with contextlib.suppress(OSError, ValueError):
        fields = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return int(fields.get("anon", fields.get("total_rss", "0")))
    return 0


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
    files = {}
    if limits.cpus is not None:
        files[LIMIT_FILES[CPU]] = f"{int(limits.cpus * PERIOD_US)} {PERIOD_US}"
    if limits.memory_bytes is not None:
        files[LIMIT_FILES[MEMORY]] = str(limits.memory_bytes)
    wanted = [controller for controller, file in LIMIT_FILES.items() if file in files]
    groups, why_not = {}, ""
    if files and has_controllers(root):
        group, why_not = make_group(files, name, root, own)
        groups = {} if group is None else dict.fromkeys(wanted, group)
    else:
        for controller in wanted:
            group, reason = make_version_1_group(controller, name, root, own)
            if group is not None:
                groups[controller] = group
                try:
                    set_limit = {CPU: partial(set_cpus, group, limits.cpus)}
                    set_limit.get(controller, partial(set_memory, group, limits.memory_bytes))()
                except OSError as error:
                    reason = f"{group}: {error.strerror}"
                    del groups[controller]
                    remove_group(group, root)
            why_not = why_not or reason
    why_not = "; ".join(filter(None, (why_not, no_scope))) if len(groups) < len(wanted) else ""
    return Confinement(groups, limits=limits, why_no_group=why_not, name=name, root=root, own=own)


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
