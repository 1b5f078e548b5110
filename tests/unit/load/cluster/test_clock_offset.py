"""Offsets by round trips: the error is at most half of the shortest."""

from hypothesis import given
from hypothesis import strategies as st

from tuibench.load.cluster.clock_offset import WINDOW, ClockOffset

MS = 1_000_000


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(0, 200 * MS), st.integers(0, 200 * MS)), min_size=1, max_size=WINDOW),
)
def test_the_error_is_at_most_half_of_the_shortest_round_trip(
    ahead_ns: int, trips: list[tuple[int, int]]
) -> None:
    clock, now_ns = ClockOffset(), 0
    for there_ns, back_ns in trips:
        received_ns = now_ns + there_ns + back_ns
        host_ns = now_ns + there_ns + ahead_ns
        clock.add(now_ns, received_ns, host_ns, received_ns / 1e9, host_ns / 1e9)
        now_ns = received_ns + 500 * MS
    shortest_ns = min(there + back for there, back in trips)
    assert abs(clock.offset_ns - ahead_ns) <= shortest_ns / 2 + 1
    assert clock.best.round_trip_ns == shortest_ns


def test_the_round_trip_of_lately_is_the_median_of_the_last_ones() -> None:
    clock = ClockOffset()
    assert (clock.offset_ns, clock.recent_round_trip_ns) == (0, 0)
    for round_trip_ns in (1, *[50] * 8, 90):
        clock.add(0, round_trip_ns, 0, 0.0, 0.0)
    assert clock.recent_round_trip_ns == 50
