"""The run's log: times, markers, and that everybody hears everything once."""

from tests.fakes import FakeClock
from tuibench.clock import NS_PER_SECOND
from tuibench.model.event import CHANGE_KINDS, Event, EventKind
from tuibench.session.events.event_log import EventLog


def test_elapsed_time_counts_from_the_start_of_the_load() -> None:
    clock, heard = FakeClock(), list[Event]()
    log = EventLog(clock, heard.append)
    clock.advance(5)
    log.emit(EventKind.WARNING, "early")
    log.start(clock.now_ns() + NS_PER_SECOND)
    log.emit(EventKind.START, "a second before")
    clock.advance(3)
    log.emit(EventKind.STOP, "after")
    assert [event.elapsed_seconds for event in heard] == [0.0, -1.0, 2.0]
    assert heard == log.events
    assert heard[2].at == clock.wall_seconds()


def test_only_changes_are_numbered_and_without_a_gap() -> None:
    log = EventLog(FakeClock(), lambda event: None)
    for kind in EventKind:
        log.emit(kind, kind)
    numbered = [event for event in log.events if event.marker is not None]
    assert {event.kind for event in numbered} == CHANGE_KINDS
    assert [event.marker for event in numbered] == list(range(1, len(CHANGE_KINDS) + 1))
