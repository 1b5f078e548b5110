"""Properties of this host: system, processor, memory, hypervisor, container, storage medium, limits.

Unknown properties stay empty. `root` replaces `/` in tests.

Current conditions: limits, swap, disk, processor governors, clock.
"""

import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from tuibench.model.measurements.environment import DiskFacts, HostConditions, HostFacts

GOVERNORS = "devices/system/cpu/cpu*/cpufreq/scaling_governor"
CLOCKSOURCE = "devices/system/clocksource/clocksource0/current_clocksource"


def host_conditions(datadir: str = "", sys_folder: Path = Path("/sys")) -> HostConditions:
    """The current conditions. `datadir` is the server's data directory, if the server is on this host."""
    soft, hard = (_limit_or_none(limit) for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
    swap = _swap()
    disk = _disk(datadir)
    return HostConditions(
        files_soft=soft,
        files_hard=hard,
        swap_used_bytes=swap[0] if swap else None,
        swap_total_bytes=swap[1] if swap else None,
        disk_free_bytes=disk[0] if disk else None,
        disk_total_bytes=disk[1] if disk else None,
        governors=tuple(sorted({_first_line(path) for path in sys_folder.glob(GOVERNORS)} - {""})),
        clocksource=_first_line(sys_folder / CLOCKSOURCE),
        fine_timers=sys.platform.startswith("linux"),
        cores=os.cpu_count() or 0,
        load_average=_load_average(),
    )


def _limit_or_none(limit: int) -> int | None:
    return None if limit == resource.RLIM_INFINITY else limit


def _swap() -> tuple[int, int] | None:
    try:
        swap = psutil.swap_memory()
    except (psutil.Error, OSError, RuntimeError):
        return None
    return swap.used, swap.total


def _disk(datadir: str) -> tuple[int, int] | None:
    """Free and total bytes of the data directory's file system; None without permission."""
    try:
        usage = shutil.disk_usage(datadir) if datadir else None
    except OSError:
        return None
    return (usage.free, usage.total) if usage else None


def _first_line(path: Path) -> str:
    """The content of a one-line file; empty if it cannot be read."""
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


ROOT = Path("/")
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "lustre", "9p", "virtiofs"}
)
MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})
VIRTUAL_DISKS = ("vd", "xvd", "sr")
CONTAINER_FILES = {"/run/.containerenv": "podman", "/.dockerenv": "docker"}
CONTAINER_MARK = "container"
CONTAINER_GROUPS = ("kubepods", "docker", "lxc", "containerd", "libpod", "garden")
HYPERVISORS = {
    "kvm": "KVM",
    "qemu": "KVM",
    "vmware": "VMware",
    "virtualbox": "VirtualBox",
    "innotek": "VirtualBox",
    "xen": "Xen",
    "microsoft corporation": "Hyper-V",
    "amazon ec2": "Amazon EC2",
    "google": "Google Cloud",
    "firecracker": "Firecracker",
    "digitalocean": "DigitalOcean",
    "openstack": "OpenStack",
    "parallels": "Parallels",
}
"""Strings in the vendor and product name of a virtual machine, and the hypervisor they indicate."""


def host_facts(datadir: str = "", root: Path = ROOT) -> HostFacts:
    """The constant properties of this host. `datadir` is the server's, if the server is on this host."""
    system = platform.uname()
    return HostFacts(
        name=system.node,
        os=_os(root) or f"{system.system} {system.release}",
        kernel=f"{system.system} {system.release}",
        architecture=system.machine,
        cpu_model=_cpu_model(root),
        cores=os.cpu_count() or 0,
        physical_cores=psutil.cpu_count(logical=False),
        cpu_limit=_cpu_limit(root),
        memory_bytes=psutil.virtual_memory().total,
        memory_limit_bytes=_memory_limit(root),
        virtualisation=_virtualisation(root),
        container=_container(root),
        conditions=host_conditions(datadir),
    )


def disk_facts(folder: str, root: Path = ROOT) -> DiskFacts | None:
    """The file system of a folder and its storage medium; None if unknown."""
    found = _mount_of(os.path.realpath(folder), root) if folder else None
    if found is None:
        return None
    number, mount, file_system = found
    device, kind = _medium(number, file_system, root)
    try:
        room = psutil.disk_usage(folder)
    except OSError:
        return DiskFacts(mount=mount, file_system=file_system, device=device, kind=kind)
    return DiskFacts(
        mount=mount,
        file_system=file_system,
        device=device,
        kind=kind,
        total_bytes=room.total,
        free_bytes=room.free,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _os(root: Path) -> str:
    """The distribution's name."""
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    for line in _text(root / "etc/os-release").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip('"')
    return ""


def _cpu_model(root: Path) -> str:
    if sys.platform == "darwin":
        return _mac_cpu()
    for line in _text(root / "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "Hardware", "cpu model"):
            return " ".join(value.split())
    return platform.processor()


def _mac_cpu() -> str:
    try:
        asked = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, timeout=2
        )
    except (OSError, subprocess.TimeoutExpired):
        return platform.processor()
    return asked.stdout.strip() or platform.processor()


def _cpu_limit(root: Path) -> float | None:
    """The control group's limit in cores, for both versions of control groups."""
    words = _text(root / "sys/fs/cgroup/cpu.max").split()
    if not words:
        folder = root / "sys/fs/cgroup/cpu"
        words = [_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")]
    quota, period = _number(words[0]), _number(words[-1])
    return quota / period if quota and period and quota > 0 else None


def _memory_limit(root: Path) -> int | None:
    limit = _number(_text(root / "sys/fs/cgroup/memory.max")) or _number(
        _text(root / "sys/fs/cgroup/memory/memory.limit_in_bytes")
    )
    return limit if limit and limit < psutil.virtual_memory().total else None


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdecimal() else None


def _virtualisation(root: Path) -> str:
    """The hypervisor's name; "none" on bare metal, empty if unknown."""
    named = " ".join(
        _text(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name", "bios_vendor")
    ).lower()
    for mark, name in HYPERVISORS.items():
        if mark in named:
            return name
    if kind := _text(root / "sys/hypervisor/type"):
        return HYPERVISORS.get(kind, kind)
    cpuinfo = _text(root / "proc/cpuinfo")
    if " hypervisor" in cpuinfo:
        return "a hypervisor"
    return "none" if cpuinfo and named.strip() else ""


def _container(root: Path) -> str:
    for file, kind in CONTAINER_FILES.items():
        if (root / file.lstrip("/")).exists():
            return kind
    if container := os.environ.get(CONTAINER_MARK, ""):
        return container
    groups = _text(root / "proc/1/cgroup")
    return next((kind for kind in CONTAINER_GROUPS if kind in groups), "")


def _mount_of(path: str, root: Path) -> tuple[str, str, str] | None:
    """Device number, mount point and file system of the mount that holds a path; of several mounts on one
    mount point, the last one.
    """
    found, longest = None, -1
    for number, mount, file_system in _mounts(root):
        inside = path == mount or path.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= longest:
            found, longest = (number, mount, file_system), len(mount)
    return found


def _mounts(root: Path) -> Iterator[tuple[str, str, str]]:
    """Device number, mount point and file system of each mount; macOS has no device numbers."""
    if sys.platform == "darwin" and root == ROOT:
        for each in psutil.disk_partitions(all=True):
            yield "", each.mountpoint, each.fstype
        return
    for line in _text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) >= 5 and kind:
            yield fields[2], fields[4].replace("\\040", " "), kind[0]


def _medium(number: str, file_system: str, root: Path) -> tuple[str, str]:
    """The block device's name and kind."""
    if file_system in MEMORY_FILE_SYSTEMS:
        return "", "memory"
    if file_system in NETWORK_FILE_SYSTEMS or file_system.startswith("fuse."):
        return "", "network"
    if file_system == "overlay":
        return "", "overlay"
    link = root / "sys/dev/block" / number
    if not number or not link.exists():
        return "", ""
    place = link.resolve()
    disk = place if (place / "queue").is_dir() else place.parent
    return place.name, _kind(disk)


def _kind(disk: Path) -> str:
    if disk.name.startswith("nvme"):
        return "NVMe SSD"
    if disk.name.startswith(VIRTUAL_DISKS):
        return "virtual disk"
    turns = _text(disk / "queue/rotational")
    return {"0": "SSD", "1": "HDD"}.get(turns, "")


def free_memory_bytes() -> int:
    """Memory that is available to programs without swapping."""
    return int(psutil.virtual_memory().available)


class CpuWatch:
    """Processor usage since the creation of this object."""

    def __init__(self) -> None:
        self._before = psutil.cpu_times()

    def shares(self) -> tuple[float, float] | None:
        """The shares in use and stolen, 0 to 1; None if no time has passed."""
        now = psutil.cpu_times()
        grown = {name: getattr(now, name) - getattr(self._before, name) for name in now._fields}
        for guest in ("guest", "guest_nice"):
            grown.pop(guest, None)
        total = sum(grown.values())
        if total <= 0:
            return None
        idle = grown.get("idle", 0.0) + grown.get("iowait", 0.0)
        steal = grown.get("steal", 0.0)
        return max(0.0, total - idle - steal) / total, max(0.0, steal) / total


def _load_average() -> float | None:
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None
