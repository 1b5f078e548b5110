"""What the server did during a stall, and when a stall is told."""

from tests import examples
from tests.ticks import server_tick
from tuibench.metrics.inference.steadiness import Tick, steadiness
from tuibench.metrics.series.slots import Slot
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.measurements.sample import Sample
from tuibench.record.report.steadiness_text import stall_event_text, stalls_line
from tuibench.session.effects.stall_log import StallLog


def slow_sample(log_waits: int, age: int, waiting: int = 0, *, answers: bool = True) -> Sample:
    server = server_tick(
        uptime_seconds=100,
        threads_running=1,
        threads_connected=1,
        max_connections=100,
        open_tables=10,
        table_open_cache=400,
        questions_total=1,
        slow_queries_total=0,
        growth={Counter.LOG_WAITS: log_waits},
        gauges={
            Counter.CHECKPOINT_AGE: age,
            Counter.CHECKPOINT_MAX_AGE: 200,
            Counter.POOL_BYTES_DIRTY: 2**20,
            Counter.ROW_LOCK_CURRENT_WAITS: waiting,
        },
        log_fsyncs_per_second=3.0,
    )
    return examples.sample(server=server if answers else None)


def test_a_stall_is_reported_at_its_end_with_the_activity_of_the_server() -> None:
    log = StallLog()
    told = []
    for place in range(1, 31):
        is_slow = place in (21, 22)
        sample = slow_sample(40 if place == 22 else 0, 190 if is_slow else 20, 7 if place == 22 else 0)
        told.append(log.tick(Slot(float(place), 1.0, 2.0 if is_slow else 100.0), sample))
    assert [place for place, stall in enumerate(told, 1) if stall is not None] == [23]
    stall = told[22]
    assert stall is not None
    assert (stall.start_seconds, stall.end_seconds, stall.tps) == (20.0, 22.0, 2.0)
    assert stall_event_text(stall) == (
        "stall of 2.0 s at 2.0 TPS: checkpoint age 95 % of the redo log, 1 MiB dirty, 3.00 log fsyncs/s, "
        "7 waiting for row locks, 40 log waits"
    )
    found = log.with_conditions(
        steadiness([Tick(float(place), 1.0, 2.0 if place in (21, 22) else 100.0) for place in range(1, 31)])
    )
    assert found is not None
    assert found.stalls == (stall,)
    assert stalls_line(found) == (
        "stalls below a tenth of the level's median TPS: 2.0 s at 00:20 (checkpoint age 95 % of "
        "the redo log, 1 MiB dirty, 3.00 log fsyncs/s, 7 waiting for row locks, 40 log waits)"
    )


def test_a_server_that_does_not_answer_is_reported_as_unresponsive() -> None:
    log = StallLog()
    told = []
    for place in range(1, 14):
        is_slow = place == 12
        sample = slow_sample(0, 0, answers=not is_slow)
        told.append(log.tick(Slot(float(place), 1.0, 0.0 if is_slow else 100.0), sample))
    assert told[-1] is not None
    assert stall_event_text(told[-1]) == "stall of 1.0 s at 0.0 TPS: the server did not answer"


def test_a_run_that_begins_slowly_has_no_stall_to_tell() -> None:
    log = StallLog()
    assert [
        log.tick(Slot(float(place), 1.0, 100.0 * (place > 3)), slow_sample(0, 0)) for place in range(1, 8)
    ] == [None] * 7


def test_a_pause_is_no_stall() -> None:
    log = StallLog()
    for place in range(1, 12):
        log.tick(Slot(float(place), 1.0, 100.0), slow_sample(0, 0))
    log.on_event(EventKind.PAUSE)
    told = [log.tick(Slot(float(place), 1.0, 0.0), slow_sample(0, 0)) for place in range(12, 15)]
    log.on_event(EventKind.RESUME)
    told += [log.tick(Slot(float(place), 1.0, 100.0), slow_sample(0, 0)) for place in range(15, 18)]
    assert told == [None] * 6


def test_a_load_that_was_made_slower_does_not_stall() -> None:
    log = StallLog()
    for place in range(1, 21):
        log.tick(Slot(float(place), 1.0, 1000.0), slow_sample(0, 0))
    log.on_event(EventKind.WEIGHTS)
    rates = [50.0] * 20 + [1.0] + [50.0]
    told = [log.tick(Slot(21.0 + place, 1.0, rate), slow_sample(0, 0)) for place, rate in enumerate(rates)]
    assert [stall.tps for stall in told if stall is not None] == [1.0]
