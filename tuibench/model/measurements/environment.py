"""Environment of a run: both hosts, the server and its variables, the network between them."""

from typing import Literal

import msgspec


class HostConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and habits of this host that matter to a measurement; None or empty where it does not tell.

    `files_soft` and `files_hard` are the open files a process of ours may have, None without a limit. Disk
    figures are those of the file system that holds the server's data directory. `busy_share` is how much of
    all cores was in use while nothing of ours ran, `steal_share` what the hypervisor gave to others, of 1;
    `load_average` is of one minute.
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
    """The file system that holds the server's data directory.

    `kind` is what can be told of the medium: NVMe SSD, SSD, HDD, virtual disk, memory, network, overlay;
    empty if nothing can. `device` is the kernel's name of the block device, empty where there is none.
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
    """The host that the load came from. Empty or None where the system does not tell.

    `cpu_limit` (cores) and `memory_limit_bytes` are what a control group leaves us of it, None without a
    limit. `virtualisation` names the hypervisor, "none" on bare metal; `container` likewise its kind.
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
    """How long the server took to answer a statement that does nothing, of so many tries, before the load."""

    tries: int
    min_ms: float
    median_ms: float
    max_ms: float


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """`environment.json`. `location` says where the client was, seen from the server.

    `variables` are the server's global variables that matter to its speed, as they were before the load.
    `disk` and what `host` says of the server are known only if the server shared the client's host.
    `gaps` says in words what could not be found out.
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
