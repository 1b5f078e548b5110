"""Gaps between completions: those of a worker, and the common ones of workers that report on their own."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tuibench.load.completion_gaps import (
    FOREVER_NS,
    SHORTEST_NS,
    CompletionGaps,
    Gap,
    GapRecorder,
    GapsOfWorkers,
)

MS = 1_000_000
END_MS = 20_000


def times(most: int) -> st.SearchStrategy[list[int]]:
    """Milliseconds of completions, in order."""
    return st.lists(st.integers(1, END_MS - 1), max_size=most, unique=True).map(sorted)


def busy(completions_ms: list[int]) -> GapRecorder:
    """A worker that always has a transaction in flight."""
    recorder = GapRecorder()
    recorder.woken(0)
    for at_ms in completions_ms:
        recorder.completed(at_ms * MS)
    return recorder


def reported(completions_ms: list[int], until_ms: int) -> CompletionGaps:
    return busy([at for at in completions_ms if at <= until_ms]).report(until_ms * MS, 1)


@st.composite
def workers_gaps(draw: st.DrawFn) -> CompletionGaps:
    until_ms = draw(st.integers(1, END_MS))
    found = reported(draw(times(12)), until_ms)
    wanted = draw(st.lists(st.floats(0, 1), min_size=len(found.gaps), max_size=len(found.gaps)))
    return CompletionGaps(
        found.until_ns,
        tuple(
            Gap(gap.start_ns, gap.end_ns, gap.start_ns + int(share * (gap.end_ns - gap.start_ns)))
            for gap, share in zip(found.gaps, wanted, strict=True)
        ),
    )


@given(workers_gaps(), workers_gaps(), workers_gaps())
def test_the_common_gaps_do_not_depend_on_the_order(
    one: CompletionGaps, two: CompletionGaps, three: CompletionGaps
) -> None:
    assert (one & two) & three == one & (two & three)
    assert one & two == two & one
    assert one & one == one
    assert one & CompletionGaps() == one


@given(st.lists(times(30), min_size=1, max_size=4), st.lists(st.integers(1, END_MS), max_size=30), st.data())
def test_the_load_stands_still_where_no_worker_completes_anything(
    workers: list[list[int]], reports_ms: list[int], data: st.DataObject
) -> None:
    """Reports come at any time, and any of them may be lost: the last ones tell everything."""
    known = GapsOfWorkers()
    for until_ms in sorted(reports_ms):
        for number, completions in enumerate(workers):
            if data.draw(st.booleans()):
                known.add(number, reported(completions, until_ms))
    for number, completions in enumerate(workers):
        known.add(number, reported(completions, END_MS))
    every = sorted({0, END_MS, *(at for completions in workers for at in completions)})
    expected = [(a * MS, b * MS) for a, b in pairwise(every) if (b - a) * MS >= SHORTEST_NS]
    assert known.common.standstills(0, is_over=True) == expected
    open_at_the_end = [each for each in expected if each[1] == END_MS * MS]
    assert known.common.standstills(0) == [each for each in expected if each not in open_at_the_end]


def test_a_worker_without_work_says_nothing_against_a_stall() -> None:
    """Four arrivals a second on two workers: one has none for a while, the other waits for the server."""
    idle, waiting = GapRecorder(), GapRecorder()
    for recorder in (idle, waiting):
        recorder.woken(0)
        recorder.completed(10 * MS)
    waiting.woken(300 * MS)
    waiting.completed(2000 * MS)
    idle.woken(2500 * MS)
    idle.completed(2510 * MS)
    common = idle.report(3000 * MS, 0) & waiting.report(3000 * MS, 0)
    assert common.standstills(0) == [(300 * MS, 2000 * MS)]


def test_time_without_any_work_is_no_standstill() -> None:
    recorder = GapRecorder()
    recorder.woken(0)
    recorder.completed(10 * MS)
    assert recorder.report(5000 * MS, 0).standstills(0, is_over=True) == []
    recorder.woken(6000 * MS)
    recorder.completed(6400 * MS)
    assert recorder.report(6500 * MS, 0).standstills(0, is_over=True) == []


def test_a_pause_ends_a_gap_and_is_none() -> None:
    recorder = busy([100])
    recorder.hold(900 * MS, 1)
    recorder.completed(2500 * MS)
    assert recorder.report(2600 * MS, 1).gaps == (Gap(100 * MS, 900 * MS, 100 * MS),)
    recorder.release(4000 * MS)
    recorder.completed(4700 * MS)
    assert recorder.report(4700 * MS, 1).standstills(0) == [(100 * MS, 900 * MS)]
    recorder.completed(4710 * MS)
    assert recorder.report(4800 * MS, 1).standstills(0)[-1] == (4000 * MS, 4700 * MS)


def test_work_that_fails_is_wanted_until_a_completion() -> None:
    """Two connections are in flight when the server dies; both fail, and are opened again."""
    recorder = busy([100])
    recorder.failed()
    assert recorder.report(2000 * MS, 0).standstills(0, is_over=True) == [(100 * MS + 1, 2000 * MS)]
    recorder.woken(3000 * MS)
    recorder.failed()
    recorder.woken(4000 * MS)
    recorder.completed(4010 * MS)
    assert recorder.report(4020 * MS, 0).standstills(0) == [(100 * MS + 1, 4010 * MS)]


def test_without_a_connection_nothing_is_wanted() -> None:
    recorder = busy([100])
    recorder.failed()
    recorder.all_left()
    assert recorder.report(2000 * MS, 0).standstills(0, is_over=True) == []
    recorder.woken(3000 * MS)
    recorder.completed(3010 * MS)
    assert recorder.report(4020 * MS, 0).standstills(0) == []


def test_a_worker_that_ended_completes_nothing_any_more() -> None:
    ended, other = reported([500], 1500).closed(), reported([100, 900, 2600], 3000)
    assert ended.until_ns == FOREVER_NS
    assert (ended & other).standstills(0) == [(900 * MS, 2600 * MS)]


def test_gaps_of_another_clock_are_shifted() -> None:
    assert reported([700, 1500, 1600], 1700).shifted(5 * MS).standstills(0) == [
        (5 * MS, 705 * MS),
        (705 * MS, 1505 * MS),
    ]
