"""What the ring of the last minute holds, and which time is kept."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tuibench.features.blackbox.ring import (
    AFTER_SECONDS,
    BEFORE_SECONDS,
    EDGE_SECONDS,
    Encoded,
    Keeper,
    Request,
    Ring,
)
from tuibench.model.event import Trouble, TroubleKind

STEP = 0.2


def filled(until: float, ring: Ring, since: float = 0.0, size: int = 100) -> Ring:
    for number in range(round((until - since) / STEP)):
        ring.add(Encoded(since + number * STEP, b"x" * size))
    return ring


def test_without_a_standstill_the_ring_has_the_last_minute() -> None:
    ring = filled(200, Ring())
    times = [each.at_seconds for each in ring.within(0, 300)]
    assert times[0] >= 200 - STEP - BEFORE_SECONDS - 1e-6
    assert len(times) == round(BEFORE_SECONDS / STEP) + 1
    assert ring.size_bytes == 100 * len(ring)


def test_a_long_standstill_keeps_the_minute_before_it_and_both_of_its_edges() -> None:
    ring = filled(100, Ring())
    ring.held_since = 100.0
    filled(1_000, ring, since=100)
    times = [each.at_seconds for each in ring.within(0, 2_000)]
    assert times[0] <= 100 - BEFORE_SECONDS + STEP
    before = [at for at in times if at < 100 + EDGE_SECONDS]
    assert len(before) >= (BEFORE_SECONDS + EDGE_SECONDS) / STEP - 2
    middle = [at for at in times if 130 < at < 900]
    assert 50 <= len(middle) <= 1_000
    assert max(b - a for a, b in pairwise(times)) < 20
    assert ring.size_bytes == 100 * len(ring)


@given(st.lists(st.tuples(st.floats(0.01, 3.0), st.integers(1, 50_000)), max_size=200), st.booleans())
def test_its_size_is_bounded(readings: list[tuple[float, int]], is_held: bool) -> None:
    ring, at = Ring(most_bytes=100_000), 0.0
    ring.held_since = 0.0 if is_held else None
    for step, size in readings:
        at += step
        ring.add(Encoded(at, b"x" * size))
        assert ring.size_bytes <= max(100_000, size)
    assert ring.size_bytes == sum(len(each.data) for each in ring.within(0, 1e9))


def still(keeper: Keeper, start: float, end: float, *, answered: bool = True) -> None:
    at = start
    while at < end:
        keeper.sample(at, at + 1, is_still=True, is_answered=answered)
        at += 1


def running(keeper: Keeper, start: float, end: float) -> None:
    at = start
    while at < end:
        keeper.sample(at, at + 1, is_still=False, is_answered=True)
        at += 1


def held(keeper: Keeper) -> float | None:
    return keeper.held_since


def test_a_standstill_holds_the_ring_until_its_event_must_have_come() -> None:
    keeper = Keeper()
    running(keeper, 0, 10)
    assert held(keeper) is None
    still(keeper, 10, 100)
    assert held(keeper) == 10
    running(keeper, 100, 110)
    assert held(keeper) == 10
    running(keeper, 110, 120)
    assert held(keeper) is None


def test_a_stall_is_due_ten_seconds_after_its_end() -> None:
    keeper, trouble = Keeper(), Trouble(TroubleKind.STALL, 50, 53)
    keeper.keep("stall", 50, 53, trouble)
    assert keeper.due(53 + AFTER_SECONDS - 0.1) == []
    assert keeper.due(53 + AFTER_SECONDS) == [Request(("stall",), (trouble,), 50, 53)]
    assert keeper.due(1_000) == []


def test_troubles_of_one_time_are_one_record() -> None:
    keeper = Keeper()
    keeper.keep("one", 50, 53)
    keeper.keep("two", 58, 60)
    keeper.keep("far", 500, 501)
    assert [request.reasons for request in keeper.due(0)] == [("one", "two")]
    (last,) = keeper.due(0, is_over=True)
    assert (last.reasons, last.from_seconds, last.until_seconds) == (("far",), 440, 511)


def test_an_outage_is_told_when_the_server_answers_again() -> None:
    keeper = Keeper()
    running(keeper, 0, 5)
    still(keeper, 5, 8, answered=False)
    assert keeper.due(100) == []
    running(keeper, 8, 9)
    (found,) = keeper.due(100)
    assert (found.start_seconds, found.end_seconds) == (5, 8)
    assert found.troubles[0].kind is TroubleKind.OUTAGE


def test_an_outage_without_an_end_is_told_after_a_minute_and_once() -> None:
    keeper = Keeper()
    still(keeper, 0, 300, answered=False)
    assert [request.start_seconds for request in keeper.due(0, is_over=True)] == [0]


def test_a_single_missing_answer_is_no_outage() -> None:
    keeper = Keeper()
    still(keeper, 5, 6, answered=False)
    running(keeper, 6, 30)
    assert keeper.due(0, is_over=True) == []
