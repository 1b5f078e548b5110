"""Control groups (cgroup v2) of private servers: where one may be created, its limits, its removal.

A group needs a parent that delegates the controllers to its children. Two are possible:

- the supervisor's own scope. Where systemd runs, it starts the supervisor in a new scope that is delegated to
  it (`systemd_scope`). A group with processes cannot delegate controllers, so the supervisor moves into a
  group of its own first, beside the server's. systemd removes all of it when the last process has ended.
- else our own group or the nearest of its ancestors that delegates the controllers and is writable: in a
  delegated slice or container, or as root without systemd.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")
SCOPE_PREFIX, SCOPE_SUFFIX = "tuibench-", ".scope"
SUPERVISOR = "supervisor"
"""The supervisor's group in its own scope."""


def has_controllers(root: Path = ROOT) -> bool:
    """True if this host's cgroup v2 hierarchy has controllers; those of version 1 take them away."""
    try:
        return bool((root / "cgroup.controllers").read_text().split())
    except OSError:
        return False


def make_group(
    files: Mapping[str, str], name: str, root: Path = ROOT, own: Path = OWN_GROUP
) -> tuple[Path | None, str]:
    """A new group with these files set (cpu.max, …), or the reason why there is none."""
    if not has_controllers(root):
        return None, _why_no_controllers(own)
    parents = _parents(root, own)
    needed = {file.partition(".")[0] for file in files}
    reasons: list[str] = []
    if parents and _is_own_scope(parents[0]):
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
    """How many processes of the group the kernel has killed for lack of memory."""
    try:
        events = (group / "memory.events").read_text()
    except OSError:
        return 0
    counts = dict(line.split() for line in events.splitlines())
    return int(counts.get("oom_kill", "0"))


def remove_group(group: Path, root: Path = ROOT) -> None:
    """Remove an empty group, if it is still there."""
    if group.is_relative_to(root) and group != root:
        with contextlib.suppress(OSError):
            group.rmdir()


def _why_no_controllers(own: Path) -> str:
    try:
        has_v1 = any(not line.startswith("0::") for line in own.read_text().splitlines())
    except OSError:
        has_v1 = False
    return "this host uses cgroup v1" if has_v1 else "no cgroup v2 is mounted"


def _parents(root: Path, own: Path) -> list[Path]:
    """Our own group in the unified hierarchy and its ancestors, the nearest first."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    ours = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if ours is None:
        return []
    group = root / ours
    return [group, *(parent for parent in group.parents if parent.is_relative_to(root))]


def _is_own_scope(group: Path) -> bool:
    return group.name.startswith(SCOPE_PREFIX) and group.name.endswith(SCOPE_SUFFIX)


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
