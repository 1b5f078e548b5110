"""Checks of this host: resources of the load, clock, and disturbances."""

from tuibench.model.measurements.finding import Finding, not_visible, note, ok, stop, warning
from tuibench.tuning.preflight.facts import Facts
from tuibench.units import binary_size, percent

STEADY_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", ""})
"""Clock sources read without a system call; the empty name is an unknown one."""

STEADY_GOVERNORS = frozenset({"performance"})
TOLERATED_OFFSET_SECONDS = 1.0
SWAP_SHARE = 0.05
BUSY_SHARE, STEAL_SHARE = 0.25, 0.02
"""Of all processor time, from which on figures are not those of the load alone."""

DISK_SHARE = 0.05
GROWTH_BYTES = 2 << 30
"""Redo log, binary log and temporary tables while a load runs for minutes."""


def check_files(facts: Facts) -> Finding:
    """A worker raises its soft limit to the hard one by itself."""
    name, machine, needed = "file_descriptors", facts.machine, facts.requirements.open_files
    if needed is None:
        return ok(name, "the load's hosts open its connections, each within its own limit of open files")
    fact = f"a worker needs {needed:,} open files, this account may have"
    if machine.files_hard is not None and machine.files_hard < needed:
        return stop(
            name,
            f"{fact} {machine.files_hard:,}",
            f"ulimit -Hn {needed}, or nofile in /etc/security/limits.conf, or more --workers",
        )
    most = "any number" if machine.files_hard is None else f"{machine.files_hard:,}"
    if machine.files_soft is not None and machine.files_soft < needed:
        return ok(name, f"{fact} {machine.files_soft:,}, raised to {most} automatically")
    return ok(name, f"{fact} {most}")


def check_disk(facts: Facts) -> Finding:
    """Room for the data set that is not there yet, and for the logs that a load writes."""
    name, machine = "disk", facts.machine
    if not facts.server.info.is_local:
        return note(name, "the server's disk cannot be examined from another host")
    if machine.disk_free_bytes is None or machine.disk_total_bytes is None:
        return not_visible(name, "the disk of the server's data directory")
    missing = 0 if facts.data.ready else facts.requirements.data_bytes
    needed = missing + (GROWTH_BYTES if facts.requirements.writes else 0)
    wanted = f", the data set needs about {binary_size(missing)}" if missing else ""
    fact = (
        f"{binary_size(machine.disk_free_bytes)} of {binary_size(machine.disk_total_bytes)} are free{wanted}"
    )
    if machine.disk_free_bytes < missing:
        return stop(name, fact, "free some space, or prepare a smaller --table-size")
    full = machine.disk_free_bytes < DISK_SHARE * machine.disk_total_bytes
    if machine.disk_free_bytes < needed or (full and facts.requirements.writes):
        return warning(
            name,
            f"{fact}: redo and binary log grow while the load writes",
            f"free some space in {facts.server.info.datadir}",
        )
    return ok(name, fact)


def check_clock_offset(facts: Facts) -> Finding:
    """Only times in logs are compared between the two: all figures come from one clock."""
    name, ahead = "clock", facts.server.clock_ahead_seconds
    if ahead is None:
        return not_visible(name, "the server's clock")
    if abs(ahead) <= TOLERATED_OFFSET_SECONDS:
        return ok(name, "the clocks of server and client agree to the second")
    way = "ahead of" if ahead > 0 else "behind"
    return note(
        name,
        f"the server's clock is {abs(ahead):,.1f} s {way} this host's: times in its logs differ from "
        "tuibench's",
        "timedatectl set-ntp true (on both hosts)",
    )


def check_busy(facts: Facts) -> Finding:
    """Other work on this host takes processor time from the load, and its noise goes into every figure."""
    name, machine = "host_busy", facts.machine
    busy, steal = machine.busy_share, machine.steal_share
    if busy is None or steal is None:
        return not_visible(name, "the CPU usage of this host")
    load = "" if machine.load_average is None else f", load average {machine.load_average:.1f}"
    fact = (
        f"{percent(100 * busy)} of {machine.cores} cores are in use before the load starts, "
        f"{percent(100 * steal)} steal{load}"
    )
    if steal > STEAL_SHARE:
        return warning(
            name,
            f"{fact}: the hypervisor gives CPU time to other guests, which affects all figures",
            "measure at another time, or on a dedicated host",
        )
    if busy > BUSY_SHARE:
        return warning(
            name,
            f"{fact}: other programs reduce throughput and widen intervals",
            "find the program with top, and stop it during the measurement",
        )
    return ok(name, fact)


def check_clocksource(facts: Facts) -> Finding:
    name, source = "clocksource", facts.machine.clocksource
    if source in STEADY_CLOCKS:
        return ok(name, f"reading this host's clock is fast ({source or 'source unknown'})")
    return note(
        name,
        f"this host's clock source is {source}: each reading is a system call and costs the client CPU time",
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource (if it has one)",
    )


def check_timers(facts: Facts) -> Finding:
    if facts.machine.fine_timers or not facts.requirements.rate:
        return ok("timers", "transaction starts are timed precisely")
    return note(
        "timers", "timers of this system are up to 1 ms late, and so are transaction starts in an open loop"
    )


def check_swap(facts: Facts) -> Finding:
    name, used, total = "swap", facts.machine.swap_used_bytes, facts.machine.swap_total_bytes
    if used is None or total is None:
        return not_visible(name, "this host's swap")
    if not total:
        return ok(name, "this host has no swap")
    share = percent(100 * used / total)
    fact = f"{binary_size(used)} of {binary_size(total)} swap are in use on this host ({share})"
    if used > SWAP_SHARE * total:
        return note(
            name,
            f"{fact}: swapped-out memory is slow to access",
            "free memory, then swapoff -a && swapon -a",
        )
    return ok(name, fact)


def check_governor(facts: Facts) -> Finding:
    name, found = "cpu_governor", facts.machine.governors
    slow = [governor for governor in found if governor not in STEADY_GOVERNORS]
    if slow:
        return note(
            name,
            f"the CPU frequency governor is '{', '.join(slow)}': the frequency changes with the load",
            "cpupower frequency-set -g performance",
        )
    return ok(
        name,
        f"the CPU frequency governor is {found[0]}" if found else "the CPU frequency governor is unknown",
    )
