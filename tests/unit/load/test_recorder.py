"""What a worker records: latencies, gaps, lag, slowest transactions."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fakes import FakeClock, FakeServer, Result
from tests.unit.load.driving import driving
from tests.unit.load.programs import BEGIN, DEADLOCK, EXPLICIT, SELECT, SINGLE, UPDATE, begin, program
from tests.unit.load.virtual_runs import Run, ran
from tuibench.base.errors import ConnectionLostError, SQLError
from tuibench.load.connections import (
    LAG_INTERVAL_NS,
    MOST_TIMED,
    OTHER,
    READ,
    WRITE,
    EventLoopLagProbe,
    LatencyRecorder,
)
from tuibench.load.messages import FOREVER_NS, SHORTEST_NS, CompletionGaps, Gap, GapRecorder, GapsOfWorkers
from tuibench.model.plan import Arrival, OnError
from tuibench.model.tick import MOST_SLOW
from tuibench.workload.program import FlatStatement, flat_statements

# What the users of a worker note down becomes counters and histograms.


def recorder() -> LatencyRecorder:
    return LatencyRecorder(flat_statements(program(EXPLICIT)), [EXPLICIT.name])


def test_each_statement_has_the_kind_of_its_class() -> None:
    assert recorder().kinds == [OTHER, READ, WRITE, OTHER]


def test_statements_of_one_name_share_their_latencies() -> None:
    tables = [FlatStatement(SELECT.name, SELECT.cls, f"SELECT c FROM t{n}") for n in (1, 2)]
    both = LatencyRecorder(tables, ["only"])
    both.latencies_us[0].append(100)
    both.latencies_us[1].append(300)
    taken = {name: (each.count, each.sum_us) for name, each in both.take().items()}
    assert taken == {f"stmt.{SELECT.name}": (2, 400)}


def test_taking_empties_the_latencies_and_names_only_what_ran() -> None:
    noted = recorder()
    noted.latencies_us[2].append(70)
    noted.response_us[0].append(8000)
    noted.service_us.append(7000)
    taken = noted.take()
    counts = {name: each.count for name, each in taken.items()}
    assert counts == {"response": 1, "service": 1, f"stmt.{UPDATE.name}": 1}
    assert noted.take() == {}


def test_transactions_of_several_kinds_are_kept_apart_and_together() -> None:
    noted = LatencyRecorder([], ["new", "old", "never"])
    noted.response_us[0].append(1000)
    noted.response_us[1] += [4000, 7000]
    taken = {name: (each.count, each.sum_us) for name, each in noted.take().items()}
    assert taken == {"response": (3, 12_000), "trx.new": (1, 1000), "trx.old": (2, 11_000)}
    assert noted.take() == {}


def test_a_single_kind_is_not_kept_twice() -> None:
    noted = recorder()
    noted.response_us[0].append(1000)
    assert list(noted.take()) == ["response"]


def test_questions_are_all_statements_that_the_server_received() -> None:
    noted = recorder()
    noted.tally[:] = [10, 4, 2]
    noted.other_questions = 3
    noted.failed(SQLError(1213, "deadlock"))
    noted.failed(ConnectionLostError(2013, "connection lost"))
    totals = noted.totals()
    assert (totals.queries, totals.questions) == (16, 16 + 3 + 1)
    assert totals.errors == {1213: 1, 2013: 1}


def test_totals_are_a_copy() -> None:
    noted = recorder()
    before = noted.totals()
    noted.failed(SQLError(1213, "deadlock"))
    assert before.errors == {}
    assert f"stmt.{BEGIN.name}" not in noted.take()


# The gaps that the asyncio engine notes, in virtual time.


MOST_LATE = 0.03
"""Seconds: a transaction before or after the stall, and the time to the next arrival."""


def standstills(run: Run) -> list[tuple[float, float]]:
    """In seconds since the start of the run."""
    return [(a / 1e9, b / 1e9) for a, b in run.engine.report().gaps.standstills(0, is_over=True)]


@given(start=st.floats(0.5, 5), seconds=st.floats(0.6, 3), rate=st.sampled_from([0.0, 100.0]))
@example(start=2.0, seconds=1.0, rate=0.0)
def test_a_stall_is_noted_with_its_true_length(start: float, seconds: float, rate: float) -> None:
    found: list[tuple[float, float]] = []

    async def script(run: Run) -> None:
        await run.wait_until(start + seconds / 2)
        run.engine.report()
        await run.wait_until(9)
        found.extend(standstills(run))

    ran(script, rate=rate, connections=3, stall=(start, start + seconds))
    ((begun, ended),) = found
    assert begun == pytest.approx(start, abs=MOST_LATE)
    assert ended == pytest.approx(start + seconds, abs=MOST_LATE)


@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_an_outage_is_noted_until_the_first_completion_after_it(rate: float) -> None:
    """All transactions fail, and connections are opened again."""

    async def script(run: Run) -> None:
        await run.wait_until(20)
        ((start, end),) = standstills(run)
        assert start == pytest.approx(1.0, abs=MOST_LATE)
        assert 4.0 <= end < 20

    how = begin(SINGLE, arrival=Arrival.CONSTANT, on_error=OnError.CONTINUE)
    ran(script, how, rate=rate, connections=4, outage=(1.0, 4.0))


def test_waiting_for_arrivals_is_no_gap_of_the_server() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(8)
        assert run.engine.report().gaps.gaps
        assert standstills(run) == []

    ran(script, rate=0.6, connections=2)


def test_a_pause_and_a_change_of_threads_are_none() -> None:
    async def script(run: Run) -> None:
        await run.wait_until(1)
        run.engine.pause()
        await run.wait_until(3)
        run.engine.resume()
        await run.wait_until(4)
        run.engine.set_connections(())
        await run.wait_until(6)
        run.engine.set_connections([0])
        await run.wait_until(8)
        assert standstills(run) == []

    ran(script, rate=0.0, connections=8)


# Gaps between completions: those of a worker, and the common ones of workers that report on their own.


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


# How late an event loop runs, on a clock that wakes us late.


EVERY_SECONDS = LAG_INTERVAL_NS / 1e9


def probe_on(clock: FakeClock) -> EventLoopLagProbe:
    return EventLoopLagProbe(clock, clock.timer)


def pass_readings(clock: FakeClock, readings: int) -> None:
    clock.advance(readings * (EVERY_SECONDS + clock.overshoot_seconds))


@pytest.mark.parametrize("late_seconds", [0.0, 0.004, 1.5])
def test_the_lag_is_how_much_later_than_asked_it_was_woken(late_seconds: float) -> None:
    clock = FakeClock(overshoot_seconds=late_seconds)
    probe = probe_on(clock)
    pass_readings(clock, 5)
    assert probe.take_p99_ms() == pytest.approx(late_seconds * 1000)


@pytest.mark.parametrize(("late", "p99_ms"), [(1, 0.0), (2, 0.0), (3, 500.0)])
def test_one_late_waking_in_a_hundred_is_beyond_the_99th_percentile(late: int, p99_ms: float) -> None:
    clock = FakeClock()
    probe = probe_on(clock)
    pass_readings(clock, 150)
    clock.overshoot_seconds = 0.5
    pass_readings(clock, late)
    clock.overshoot_seconds = 0.0
    pass_readings(clock, 50 - late)
    assert probe.take_p99_ms() == p99_ms


def test_each_interval_has_its_own_percentile() -> None:
    clock = FakeClock(overshoot_seconds=0.01)
    probe = probe_on(clock)
    pass_readings(clock, 5)
    assert probe.take_p99_ms() == pytest.approx(10)
    assert probe.take_p99_ms() == 0.0
    clock.overshoot_seconds = 0.0
    pass_readings(clock, 5)
    assert probe.take_p99_ms() == 0.0


def test_a_closed_probe_reads_no_more() -> None:
    clock = FakeClock(overshoot_seconds=0.01)
    probe = probe_on(clock)
    probe.close()
    pass_readings(clock, 5)
    assert probe.take_p99_ms() == 0.0


# The slowest transactions of an interval: which are kept, and what they sent.


def offered(*response_us: int) -> LatencyRecorder:
    """A recorder that was given transactions as the hot path gives them."""
    noted = recorder()
    for took in response_us:
        if took > noted.slow_us:
            noted.keep_slow(0, took, took, [(0, took // 2, 0)])
    return noted


def test_the_slowest_are_kept_the_slowest_first() -> None:
    taken = offered(5000, 900_000, 30_000, 700_000, 20_000, 800_000).take_slowest()
    assert [slow.response_ms for slow in taken] == [900.0, 800.0, 700.0]
    assert len(taken) == MOST_SLOW
    assert taken[0].statements[0].ms == 450.0


def test_each_interval_begins_with_none() -> None:
    noted = offered(5000, 6000, 7000)
    noted.take_slowest()
    assert noted.take_slowest() == ()
    noted.keep_slow(0, 10, 10, [])
    assert [slow.response_ms for slow in noted.take_slowest()] == [0.01]


def test_consecutive_statements_of_one_name_are_added_up_except_failed_ones() -> None:
    noted = recorder()
    timed = [(0, 100, 0), (1, 2000, 0), (1, 3000, 0), (1, 50_000, 1205), (3, 400, 0)]
    noted.keep_slow(0, 60_000, 56_000, timed)
    (slow,) = noted.take_slowest()
    assert [(each.count, each.ms, each.max_ms, each.error) for each in slow.statements] == [
        (1, 0.1, 0.1, 0),
        (2, 5.0, 3.0, 0),
        (1, 50.0, 50.0, 1205),
        (1, 0.4, 0.4, 0),
    ]
    assert slow.longest is not None
    assert slow.longest.error == 1205


def test_a_transaction_without_end_keeps_its_first_statements() -> None:
    noted = recorder()
    noted.keep_slow(0, 1000, 1000, [(place % 4, 1, 0) for place in range(4 * MOST_TIMED)])
    (slow,) = noted.take_slowest()
    assert sum(each.count for each in slow.statements) == MOST_TIMED


@pytest.mark.parametrize("is_refused", [False, True])
async def test_what_a_connection_sent_is_in_its_transaction_with_the_attempt_that_failed(
    is_refused: bool,
) -> None:
    first: list[Result] = [1, DEADLOCK] if is_refused else []
    async with driving(FakeServer(first), begin(EXPLICIT, limit=1)) as drive:
        await drive.until_ended(1)
    (slow,) = drive.slowest
    assert [(each.name, each.error) for each in slow.statements] == (
        [("begin", 0), ("point_select", 1213)] * is_refused
        + [("begin", 0), ("point_select", 0), ("update", 0), ("commit", 0)]
    )
    assert [each.count for each in slow.statements[-3:]] == [2, 1, 1]
