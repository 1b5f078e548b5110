"""Steadiness of a run's throughput, and its stalls."""

import msgspec


class StallConditions(msgspec.Struct, frozen=True, kw_only=True):
    """State of server and disk during a stall, in its worst sample; None if unknown.

    `is_answered` is False if the server did not answer the sampler. The checkpoint age is a percentage of the
    redo log's capacity, `disk_write_ms` the time of a write, `row_lock_waits` the number of transactions that
    waited for a row lock at the same time. `log_waits` (for space in the log buffer) and `free_page_waits`
    (for a free page in the buffer pool) are counts.
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
    """A period in which no transaction was completed, in seconds from the start of the run."""

    start_seconds: float
    end_seconds: float
    conditions: StallConditions | None = None

    @property
    def seconds(self) -> float:
        return self.end_seconds - self.start_seconds


class Steadiness(msgspec.Struct, frozen=True, kw_only=True):
    """TPS of single seconds (of samples, if these are longer), and all stalls in chronological order.

    `variation` is the coefficient of variation (standard deviation divided by mean), None without throughput.
    Pauses are excluded.
    """

    p1: float
    p50: float
    p99: float
    variation: float | None
    longest_stall_seconds: float
    stalls: tuple[Stall, ...]
