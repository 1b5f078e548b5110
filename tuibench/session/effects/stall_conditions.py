"""Conditions of server and disk in a sample that can explain a stall."""

from collections.abc import Iterable
from typing import TypeVar

from tuibench.metrics.figures import read
from tuibench.model.counters import REDO_CAPACITY, Counter, first_known
from tuibench.model.measurements.sample import Sample
from tuibench.model.measurements.steadiness import StallConditions
from tuibench.model.tick import Tick

Number = TypeVar("Number", int, float)


def conditions_of(sample: Sample) -> StallConditions:
    """The conditions of one sample."""
    server, host = sample.server, sample.host
    disk_write_ms = read("disk_write_ms", host)
    if server is None:
        return StallConditions(is_answered=False, disk_write_ms=disk_write_ms)
    return StallConditions(
        checkpoint_age_percent=_checkpoint_age_percent(server),
        dirty_bytes=_whole(server.levels.get(Counter.POOL_BYTES_DIRTY)),
        disk_write_ms=disk_write_ms,
        log_fsyncs_per_second=read("fsyncs_per_second", server),
        row_lock_waits=_whole(server.levels.get(Counter.ROW_LOCK_CURRENT_WAITS)),
        log_waits=_whole(server.sums.get(Counter.LOG_WAITS)),
        free_page_waits=_whole(server.sums.get(Counter.POOL_WAIT_FREE)),
    )


def worst_of(several: Iterable[StallConditions]) -> StallConditions | None:
    """The worst conditions of a stall's samples: the maximum of each, the fewest fsyncs, and the sum of all
    waits; None without samples.
    """
    ticks = list(several)
    if not ticks:
        return None
    return StallConditions(
        is_answered=all(tick.is_answered for tick in ticks),
        checkpoint_age_percent=_most(tick.checkpoint_age_percent for tick in ticks),
        dirty_bytes=_most(tick.dirty_bytes for tick in ticks),
        disk_write_ms=_most(tick.disk_write_ms for tick in ticks),
        log_fsyncs_per_second=_least(tick.log_fsyncs_per_second for tick in ticks),
        row_lock_waits=_most(tick.row_lock_waits for tick in ticks),
        log_waits=_sum(tick.log_waits for tick in ticks),
        free_page_waits=_sum(tick.free_page_waits for tick in ticks),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _checkpoint_age_percent(server: Tick) -> float | None:
    room, age = first_known(REDO_CAPACITY, server.levels), read("checkpoint_age", server)
    return 100 * age / room if age is not None and room else None


def _most(values: Iterable[Number | None]) -> Number | None:
    return max((value for value in values if value is not None), default=None)


def _least(values: Iterable[Number | None]) -> Number | None:
    return min((value for value in values if value is not None), default=None)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
