"""Reads what this host is: limits, swap, disk, processor governors, clock."""

import resource
import shutil
import sys
from pathlib import Path

import psutil

from tuibench.model.machine import Machine

GOVERNORS = "devices/system/cpu/cpu*/cpufreq/scaling_governor"
CLOCKSOURCE = "devices/system/clocksource/clocksource0/current_clocksource"


def machine(datadir: str = "", sys_folder: Path = Path("/sys")) -> Machine:
    """This host now. `datadir` is the server's data directory, if the server is on this host."""
    soft, hard = (_limited(limit) for limit in resource.getrlimit(resource.RLIMIT_NOFILE))
    swap = _swap()
    disk = _disk(datadir)
    return Machine(
        files_soft=soft,
        files_hard=hard,
        swap_used_bytes=swap[0] if swap else None,
        swap_total_bytes=swap[1] if swap else None,
        disk_free_bytes=disk[0] if disk else None,
        disk_total_bytes=disk[1] if disk else None,
        governors=tuple(sorted({_line(path) for path in sys_folder.glob(GOVERNORS)} - {""})),
        clocksource=_line(sys_folder / CLOCKSOURCE),
        fine_timers=sys.platform.startswith("linux"),
    )


def _limited(limit: int) -> int | None:
    return None if limit == resource.RLIM_INFINITY else limit


def _swap() -> tuple[int, int] | None:
    try:
        swap = psutil.swap_memory()
    except (psutil.Error, OSError, RuntimeError):
        return None
    return swap.used, swap.total


def _disk(datadir: str) -> tuple[int, int] | None:
    """Free and total bytes where the data directory is; None if it may not be seen."""
    try:
        usage = shutil.disk_usage(datadir) if datadir else None
    except OSError:
        return None
    return (usage.free, usage.total) if usage else None


def _line(path: Path) -> str:
    """A file of one line; empty where it cannot be read."""
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
