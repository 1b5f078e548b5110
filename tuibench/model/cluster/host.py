"""State and figures of a load host, per tick and per run."""

from enum import StrEnum

import msgspec


class HostState(StrEnum):
    """A host answers, does not answer for the moment, or has ended or outlived its lease in silence."""

    RUNNING = "running"
    SILENT = "silent"
    LOST = "lost"


class LoadHost(msgspec.Struct, frozen=True, kw_only=True):
    """One host of a load in a tick. Latencies and times are milliseconds, CPU figures percent of the host.

    `worker_cpu` is the busiest worker's share of one core (0 to 1), `lag_p99_ms` how late it ran.
    `cpu_others` is what other programs used, `cpu_steal` what the hypervisor gave to other guests,
    `cpu_throttled` how much of the time a control group held the load back; None where the host was not
    sampled.

    `clock_offset_ms` is how far its wall clock is ahead of the session's, give or take
    `clock_error_ms`, half of the shortest round trip. `round_trip_ms` is that of lately.
    """

    name: str
    state: HostState = HostState.RUNNING
    connections: int = 0
    transactions_per_second: float = 0.0
    p95_ms: float | None = None
    workers: int = 0
    worker_cpu: float = 0.0
    lag_p99_ms: float = 0.0
    cores: int = 0
    cpu_total: float | None = None
    cpu_others: float | None = None
    cpu_steal: float | None = None
    cpu_throttled: float | None = None
    clock_offset_ms: float = 0.0
    clock_error_ms: float = 0.0
    round_trip_ms: float = 0.0


class HostTotals(msgspec.Struct, frozen=True, kw_only=True):
    """One host in a run: its share of the load. `lost_after_seconds` is None for one that stayed to the end.

    `late_commands_ms` is how late its latest command took effect, 0 if all were in time.
    """

    name: str
    version: str
    cores: int
    transactions: int
    transactions_per_second: float
    cpu_seconds: float
    clock_offset_ms: float
    clock_error_ms: float
    late_commands_ms: float = 0.0
    lost_after_seconds: float | None = None
