"""Steadiness of a run's throughput, and its stalls."""

import msgspec


class StallConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What server and disk did during a stall: the worst of its ticks; None where that is not known.

    `is_answered` is False if the server did not answer the sampler. The checkpoint age is a percentage of the
    redo log's capacity, `disk_write_ms` how long a write took, `row_lock_waits` how many transactions waited
    for a row lock at a time. `log_waits` (for room in the log buffer) and `free_page_waits` (for a free page
    in the buffer pool) are counts.
    """

    is_answered: bool = True
    checkpoint_age_percent: float | None = None
    dirty_bytes: int | None = None
    disk_write_ms: float | None = None
    log_fsyncs_per_second: float | None = None
    row_lock_waits: int | None = None
    log_waits: int | None = None
    free_page_waits: int | None = None


class Stall(msgspec.Struct, frozen=True):
    """A stretch with next to no throughput for its level, in seconds from the start of the run."""

    start_seconds: float
    end_seconds: float
    tps: float
    conditions: StallConditions | None = None

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds


class Steadiness(msgspec.Struct, frozen=True, kw_only=True):
    """TPS of single seconds (of ticks, where those are longer), and all stalls in the order of time.

    `variation` is the coefficient of variation, standard deviation over mean; None without throughput. Pauses
    are left out.
    """

    p1: float
    p50: float
    p99: float
    variation: float | None
    longest_stall_seconds: float
    stalls: tuple[Stall, ...]
