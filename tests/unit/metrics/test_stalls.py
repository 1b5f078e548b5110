"""Which gaps between completions are stalls, and the conditions during each."""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import examples
from tests.ticks import measured_tick, server_tick
from tuibench.base import units
from tuibench.metrics.stalls import Span, StallLog
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.counters import Counter
from tuibench.model.event import EventKind
from tuibench.model.findings import Culprit, Stall, Steadiness
from tuibench.model.tick import Latency, Sample
from tuibench.report.effects import stall_event_text, stalls_line


def sample(
    *,
    log_waits: int = 0,
    age: int = 20,
    waiting: int = 0,
    running: int = 9,
    answers: bool = True,
    p50_ms: float = 8.0,
    threads: int = 16,
    seconds: float = 1.0,
) -> Sample:
    server = server_tick(
        seconds=seconds,
        threads_running=running,
        gauges={
            Counter.CHECKPOINT_AGE: age,
            Counter.CHECKPOINT_MAX_AGE: 200,
            Counter.POOL_BYTES_DIRTY: 2**20,
            Counter.ROW_LOCK_CURRENT_WAITS: waiting,
        },
        growth={Counter.LOG_WAITS: log_waits},
        log_fsyncs_per_second=3.0,
    )
    latency = Latency(
        count=9, avg=p50_ms, min=p50_ms, max=p50_ms, p50=p50_ms, p95=p50_ms, p99=p50_ms, p999=p50_ms
    )
    load = examples.load_part(seconds=seconds, threads=threads, latency=latency)
    return examples.sample(load=load, server=server if answers else None)


def gaps_of(completions: Iterable[float]) -> list[Span]:
    times = sorted(completions)
    return [(a, b) for a, b in pairwise(times) if b - a >= 0.5]


def played(
    completions: Iterable[float],
    *,
    tick_seconds: float = 1.0,
    until: float = 60.0,
    p50_ms: float = 8.0,
    threads: Callable[[float], int] = lambda _: 16,
) -> StallLog:
    """A load whose transactions end at these times, in ticks."""
    times, log = sorted(completions), StallLog()
    gaps, done = gaps_of(times), 0
    for place in range(1, int(until / tick_seconds) + 1):
        end = place * tick_seconds
        now = bisect_right(times, end)
        known = [gap for gap in gaps if gap[1] <= end]
        log.tick(
            measured_tick(end, tick_seconds, float(now - done)),
            sample(p50_ms=p50_ms, threads=threads(end), seconds=tick_seconds),
            known,
        )
        done = now
    log.end(gaps)
    return log


def steady(tps: float, begin: float, end: float) -> Iterator[float]:
    """Evenly spaced completions."""
    return (begin + place / tps for place in range(int((end - begin) * tps)))


def spans(log: StallLog) -> list[Span]:
    return [(round(stall.start_seconds, 2), round(stall.end_seconds, 2)) for stall in log.stalls]


@st.composite
def planted(draw: st.DrawFn) -> list[Span]:
    """Stalls of 0.5 to 3 s at random moments of a minute, at least half a second apart."""
    found: list[Span] = []
    at = draw(st.floats(0.6, 8))
    while at < 55 and len(found) < 8:
        seconds = draw(st.floats(0.52, 3))
        found.append((at, at + seconds))
        at += seconds + draw(st.floats(0.55, 9))
    return found


@given(planted(), st.sampled_from([150.0, 400.0]), st.sampled_from([0.5, 1.0, 3.0]))
@example([(9.9, 11.4), (20.5, 21.5), (30.01, 31.01)], 250.0, 1.0)
def test_planted_stalls_are_found_with_their_true_length(
    stalls: list[Span], tps: float, tick_seconds: float
) -> None:
    completions = [at for at in steady(tps, 0, 62) if not any(a < at < b for a, b in stalls)]
    log = played(completions, tick_seconds=tick_seconds)
    assert len(log.stalls) == len(stalls)
    for found, (start, end) in zip(log.stalls, stalls, strict=True):
        assert found.start_seconds == pytest.approx(start, abs=1.1 / tps)
        assert found.end_seconds == pytest.approx(end, abs=1.1 / tps)


@pytest.mark.parametrize("tick_seconds", [0.5, 1.0, 3.0])
def test_stalls_of_a_slow_load_are_found(tick_seconds: float) -> None:
    """Twenty a second at random times."""
    chance, completions, at = random.Random(3), [], 0.0
    stalls = [(9.9, 10.6), (20.4, 21.15), (31.0, 32.0), (44.2, 47.2)]
    while at < 60:
        at += chance.expovariate(20)
        completions.append(next((end for start, end in stalls if start < at < end), at))
    found = spans(played(completions, tick_seconds=tick_seconds))
    assert len(found) == len(stalls)
    for (found_start, found_end), (start, end) in zip(found, stalls, strict=True):
        assert start - 0.25 < found_start <= start
        assert found_end == pytest.approx(end, abs=0.01)


SLOW = [0.9, 2.6, 3.5, 5.4, 6.1, 7.8, 9.7]
"""Ends of the transactions of a level with one thread, in seconds from its beginning."""


@pytest.mark.parametrize("tick_seconds", [0.5, 1.0, 3.0])
def test_a_slower_level_is_no_stall(tick_seconds: float) -> None:
    """A probe goes from 32 threads to one for 10 s, and back; then the server by itself is slow for 30 s."""
    step = [*steady(1000, 0, 20), *(20 + at for at in SLOW), *steady(800, 30, 60)]
    log = played(step, tick_seconds=tick_seconds, threads=lambda at: 1 if 20 < at <= 30.0 else 32)
    assert spans(log) == []
    itself = [*steady(1000, 0, 20), *(at + begin for begin in (20, 30, 40) for at in SLOW)]
    assert spans(played([*itself, *steady(1000, 50, 60)], tick_seconds=tick_seconds)) == []


def test_a_stall_in_a_step_of_a_ramp_is_one() -> None:
    """Each second has more threads."""
    rising = (at for at in steady(300, 0, 60) if not 20.4 < at < 21.9)
    assert spans(played(rising, threads=lambda at: int(at))) == [(20.4, 21.9)]


def test_a_stall_at_a_change_of_the_level_is_one() -> None:
    assert spans(played([*steady(1000, 0, 30), *steady(57, 31.2, 60)])) == [(30.0, 31.2)]


def test_the_first_and_the_last_seconds_count_too() -> None:
    assert spans(played([0.0, *steady(100, 1.3, 58), 60.0])) == [(0.0, 1.3), (57.99, 60.0)]


def test_gaps_by_chance_are_no_stalls() -> None:
    """Ten a second at random: each tenth second is longer than half a second without one."""
    chance, at, times = random.Random(5), 0.0, []
    while at < 600:
        at += chance.expovariate(10)
        times.append(at)
    assert len(gaps_of(times)) > 20
    assert spans(played(times, until=600)) == []


def test_connections_in_step_do_not_stall() -> None:
    """32 connections whose transactions take 0.6 s, started together; then the server stops for 2.4 s."""
    beats = [0.6 * beat + (2.4 if beat > 50 else 0.0) for beat in range(96)]
    completions = [beat + 0.001 * place for beat in beats for place in range(32)]
    assert spans(played(completions, p50_ms=600.0)) == [(30.03, 33.0)]


def test_stalls_that_take_up_most_of_the_time_are_stalls() -> None:
    completions = [at for second in range(0, 60, 4) for at in steady(200, second, second + 1)]
    assert len(played(completions).stalls) == 14


def test_a_pause_is_no_stall_and_says_nothing_of_the_rate() -> None:
    log = StallLog()
    for place in range(1, 11):
        log.tick(measured_tick(float(place), 1.0, 100.0), sample(), [])
    log.on_event(EventKind.PAUSE, 10.0)
    for place in range(11, 31):
        log.tick(measured_tick(float(place), 1.0, 0.0), sample(), [])
    log.on_event(EventKind.RESUME, 30.0)
    found = []
    for place in range(31, 41):
        gaps = [(30.2, 30.9)] if place > 30 else []
        found += log.tick(measured_tick(float(place), 1.0, 100.0), sample(), gaps)
    assert [(stall.start_seconds, stall.end_seconds) for stall in found] == [(30.2, 30.9)]


def test_threads_taken_away_after_a_stall_do_not_hide_it() -> None:
    log = StallLog()
    for place in range(1, 11):
        log.tick(measured_tick(float(place), 1.0, 100.0), sample(), [])
    for place in range(11, 40):
        log.tick(measured_tick(float(place), 1.0, 0.0), sample(threads=0), [(9.8, 10.6)])
    assert log.end([(9.8, 10.6)]) == log.stalls == [Stall(9.8, 10.6, log.stalls[0].conditions)]


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
def test_an_outage_has_its_errors_and_the_time_until_the_load_has_recovered(seconds: float) -> None:
    """200 a second, none from 21.2 to 26.2, then 60 a second for 6 s, half of which fail, then 190."""
    log, gap = StallLog(), (21.2, 26.2)
    for place in range(1, round(60 / seconds) + 1):
        end = place * seconds
        times = [end - seconds + (at + 0.5) * seconds / 100 for at in range(100)]
        rates = [
            0 if 21.2 < at < 26.2 else 60 if 26.2 <= at < 32.2 else 200 if at < 27 else 190 for at in times
        ]
        slot = measured_tick(end, seconds, sum(rates) / 100 * seconds)
        is_failing = end - seconds < 26.2 < end + seconds
        failed = {"error.2013": 3.0, "error.1213": 2.0, "unknown_commits": 1.0} if is_failing else {}
        slot = replace(slot, sums=slot.sums | failed)
        found = log.tick(slot, sample(seconds=seconds), [gap] if end > 26.2 else [])
        assert not found or found[0].recovery_seconds is None or seconds == 3.0
    (stall,) = log.stalls
    assert log.longest_seconds == stall.seconds == 5.0
    inside = [at for at in range(1, 200) if at * seconds > 21.2 and (at - 1) * seconds < 26.2]
    several = sum((at - 1) * seconds < 26.2 < (at + 1) * seconds for at in inside)
    assert stall.errors == {"1213": 2 * several, "2013": 3 * several}
    assert stall.unknown_commits == several
    first = next(
        at for at in range(1, 200) if (at - 1) * seconds >= 32.2 - 1e-6 or _share(at, seconds) >= 0.9
    )
    assert stall.recovery_seconds == pytest.approx(first * seconds - 26.2)
    line = stalls_line(cast(Steadiness, SimpleNamespace(stalls=(stall,))))
    assert line.startswith("stalls: 5.0 s at 00:21 (")
    assert "errors 1213 × " in line
    assert f"; {units.pluralize(several, 'commit')} of unknown fate; " in line
    assert line.endswith(f"back at 90 % of the TPS {stall.recovery_seconds:.1f} s later)")


def _share(place: int, seconds: float) -> float:
    """The part of the usual rate in a sample after the outage."""
    start, end = (place - 1) * seconds, place * seconds
    if start < 26.2:
        return 0.0
    slow = max(0.0, min(end, 32.2) - start)
    return (60 * slow + 190 * (seconds - slow)) / seconds / 200


def test_a_reset_forgets_the_stalls() -> None:
    log = played([*steady(100, 0, 10), *steady(100, 12, 30)], until=30)
    assert spans(log) == [(9.99, 12.0)]
    log.on_event(EventKind.RESET, 30.0)
    assert log.stalls == []


def test_a_stall_has_the_worst_conditions_of_its_samples() -> None:
    log, found, gap = StallLog(), [], (19.7, 21.9)
    for place in range(1, 31):
        is_in = place in (20, 21, 22)
        state = sample(
            log_waits={19: 8, 21: 15, 22: 25}.get(place, 0),
            age=190 if is_in else 20,
            waiting=7 if place == 22 else 0,
        )
        found += log.tick(measured_tick(float(place), 1.0, 30.0), state, [gap] if place >= 22 else [])
    (stall,) = found
    assert stall_event_text(stall) == (
        "stall of 2.2 s at 00:19: the redo log was full (95 % of its limit); checkpoint age 95 % of the "
        "redo log, 1 MiB dirty, 3.00 log fsyncs/s, "
        "7 waiting for row locks, 40 log waits"
    )


HOLDER = Culprit(connection=41, doing="idle in transaction", lock="row lock", blocked=10)
BUSY = replace(HOLDER, doing="executing")


def stall_with(
    holder: Culprit | None, waits: Mapping[WaitClass, float], age: int = 20
) -> tuple[Stall, list[tuple[float, float]]]:
    """One stall with this holder of a lock, this time in wait classes, and this checkpoint age."""
    asked: list[tuple[float, float]] = []

    def culprit_of(start: float, end: float) -> Culprit | None:
        asked.append((start, end))
        return holder

    log, found, gap = StallLog(culprit_of), [], (19.7, 21.9)
    for place in range(1, 31):
        one = sample(age=age if place in (20, 21, 22) else 20)
        sums = {wait.key: us for wait, us in waits.items()} if place in (20, 21, 22) else {}
        one = replace(one, tick=replace(one.tick, sums=one.tick.sums | sums))
        found += log.tick(measured_tick(float(place), 1.0, 30.0), one, [gap] if place >= 22 else [])
    (stall,) = found
    return stall, asked


@pytest.mark.parametrize(
    ("holder", "waits", "age", "expected"),
    [
        (HOLDER, {}, 190, "session 41 (idle in transaction) blocked 10"),
        (BUSY, {}, 20, "session 41 (executing) blocked 10"),
        (BUSY, {}, 190, "the redo log was full (95 % of its limit)"),
        (BUSY, {WaitClass.PURGE_LAG: 9e6}, 20, "purge is behind: innodb_max_purge_lag delayed every change"),
        (None, {WaitClass.COMMIT: 9e6, WaitClass.CPU: 1e6}, 20, "most waited for commit (90 % of the time)"),
        (
            None,
            {WaitClass.CLIENT: 9e6, WaitClass.MUTEX: 1e6},
            20,
            "most waited for mutex (100 % of the time)",
        ),
        (None, {WaitClass.COMMIT: 4e6, WaitClass.CPU: 4e6, WaitClass.MUTEX: 3e6}, 20, ""),
        (None, {}, 20, ""),
    ],
)
def test_the_culprit_of_a_stall(
    holder: Culprit | None, waits: Mapping[WaitClass, float], age: int, expected: str
) -> None:
    """An idle holder of a lock before all else; one that executes may itself have waited for the cause."""
    stall, asked = stall_with(holder, waits, age)
    assert (stall.culprit.text if stall.culprit is not None else "") == expected
    assert asked == [(stall.start_seconds, stall.end_seconds)]
    start = f"stall of 2.2 s at 00:19: {expected}"
    assert stall_event_text(stall).startswith(start)
    assert f"({expected}" in stalls_line(cast(Steadiness, SimpleNamespace(stalls=(stall,))))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"lock": "metadata lock t", "doing": "idle", "is_probable": True},
            "probably session 41 (idle, metadata lock t) blocked 10",
        ),
        ({"blocked": 1_000}, "session 41 (idle in transaction) blocked 1,000"),
        (
            {"connection": 0, "doing": "a prepared XA transaction"},
            "session 0 (a prepared XA transaction) blocked 10",
        ),
    ],
)
def test_a_culprit_in_words(changes: dict[str, Any], text: str) -> None:
    assert replace(HOLDER, **changes).text == text


def test_a_server_that_does_not_answer_is_reported_as_unresponsive() -> None:
    log, found = StallLog(), []
    for place in range(1, 21):
        answers = place != 12
        found += log.tick(
            measured_tick(float(place), 1.0, 100.0),
            sample(answers=answers),
            [(11.0, 12.0)] if place > 11 else [],
        )
    assert [stall_event_text(stall) for stall in found] == [
        "stall of 1.0 s at 00:11: the server did not answer"
    ]


@pytest.mark.parametrize(("running", "expected"), [(9, [(10.0, 12.0)]), (1, [])])
def test_a_watched_server_stalls_where_threads_run_and_nothing_is_committed(
    running: int, expected: list[Span]
) -> None:
    """One thread that runs is our own reading: nobody wants anything."""
    log = StallLog()
    for place in range(1, 31):
        is_in = place in (11, 12)
        log.tick(
            measured_tick(float(place), 1.0, 0.0 if is_in else 80.0), sample(running=running if is_in else 5)
        )
    log.end()
    assert spans(log) == expected
