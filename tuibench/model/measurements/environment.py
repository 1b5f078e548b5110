"""Environment of a run: both hosts, the server and its variables, the network between them."""

from typing import Literal

import msgspec


class HostConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and settings of this host that affect a measurement; None or empty if unknown.

    `files_soft` and `files_hard` are the limits of open files per process, None for no limit. Disk figures
    describe the file system of the server's data directory. `busy_share` is the share of all cores in use
    before tuibench's load, `steal_share` the share that the hypervisor gave to other guests (both 0 to 1);
    `load_average` is that of one minute.
    """

    files_soft: int | None = None
    files_hard: int | None = None
    swap_used_bytes: int | None = None
    swap_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    disk_total_bytes: int | None = None
    governors: tuple[str, ...] = ()
    clocksource: str = ""
    fine_timers: bool = True
    cores: int = 0
    load_average: float | None = None
    busy_share: float | None = None
    steal_share: float | None = None


class DiskFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The file system of the server's data directory.

    `kind` is the storage medium as far as it is known: NVMe SSD, SSD, HDD, virtual disk, memory, network,
    overlay; otherwise empty. `device` is the kernel's name of the block device, empty if there is none.
    """

    mount: str
    file_system: str
    device: str = ""
    kind: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None


class DiskSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """Measured performance of the disk below a folder; reads are None if they could not be measured.

    A flush is a write of 4 KiB with its fdatasync, sequentially; a read is of 16 KiB at a random position.
    """

    folder: str
    flushes_per_second: float
    flush_p50_us: float
    flush_p95_us: float
    flush_p99_us: float
    flush_max_us: float
    reads_per_second: float | None = None
    reads_per_second_parallel: float | None = None
    readers: int = 1


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The host that generated the load. Unknown values are empty or None.

    `cpu_limit` (cores) and `memory_limit_bytes` are the limits of a control group, None for no limit.
    `virtualisation` is the hypervisor, "none" on bare metal; `container` is the kind of container.
    """

    name: str = ""
    os: str = ""
    kernel: str = ""
    architecture: str = ""
    cpu_model: str = ""
    cores: int = 0
    physical_cores: int | None = None
    cpu_limit: float | None = None
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    virtualisation: str = ""
    container: str = ""
    conditions: HostConditions = HostConditions()


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """Time of a trivial statement before the load, from a number of repetitions."""

    tries: int
    min_ms: float
    median_ms: float
    max_ms: float


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """`environment.json`. `location` is the client's location relative to the server: local or remote.

    `variables` are the server's global variables that affect speed or durability, before the load. `disk`,
    and what `host` contains about the server, are known only if the server runs on the client's host. `gaps`
    lists the information that was not available.
    """

    schema: Literal["tuibench.environment/1"] = "tuibench.environment/1"
    tuibench: str
    python: str = ""
    location: Literal["local", "remote"]
    host: HostFacts
    round_trip: RoundTrip | None = None
    disk: DiskFacts | None = None
    variables: dict[str, str] = {}
    gaps: tuple[str, ...] = ()
