"""State and figures of a load host, per sample and per run."""

from enum import StrEnum

import msgspec


class HostState(StrEnum):
    """RUNNING: the host answers. SILENT: it does not answer at the moment. LOST: it has ended, or its lease
    has expired.
    """

    RUNNING = "running"
    SILENT = "silent"
    LOST = "lost"


class LoadHost(msgspec.Struct, frozen=True, kw_only=True):
    """One host of a load in one sample. Latencies and times are milliseconds, CPU figures percent of the
    host.

    `worker_cpu` is the busiest worker's share of one core (0 to 1), `lag_p99_ms` its scheduling delay.
    `cpu_others` is the CPU used by other programs, `cpu_steal` the CPU that the hypervisor gave to other
    guests, `cpu_throttled` the share of time in which a control group throttled the load; None if the host
    was not sampled.

    `clock_offset_ms` is how far its wall clock is ahead of the session's, with an error of at most
    `clock_error_ms`, half of the shortest round trip. `round_trip_ms` is a recent round trip.
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
    """One host in a run: its share of the load. `lost_after_seconds` is None if the host was not lost.

    `late_commands_ms` is the delay of its latest command, 0 if no command was late.
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
