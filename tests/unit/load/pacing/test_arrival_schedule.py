"""The schedule of an open loop: how many arrivals, when, and in what order."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuibench.clock import NS_PER_SECOND
from tuibench.load.pacing.arrival_schedule import ArrivalSchedule
from tuibench.model.plan import Arrival

arrivals = st.sampled_from(Arrival)
rates = st.floats(0.5, 2000)
looks = st.lists(st.integers(0, NS_PER_SECOND), max_size=20)
"""Gaps in ns between two looks at what is due."""


def pacer(arrival: Arrival = Arrival.POISSON, seed: int = 1, phase: float = 0.0) -> ArrivalSchedule:
    return ArrivalSchedule(Random(seed), arrival, phase)


def started(
    arrival: Arrival, rate: float, now_ns: int = 0, seed: int = 1, phase: float = 0.0
) -> ArrivalSchedule:
    made = pacer(arrival, seed, phase)
    made.set_rate(rate, now_ns)
    return made


def gathered(of: ArrivalSchedule, times_ns: Iterable[int]) -> list[int]:
    return [intended for now_ns in times_ns for intended in of.due(now_ns)]


def sums(gaps: Sequence[int]) -> list[int]:
    return [sum(gaps[: place + 1]) for place in range(len(gaps))]


def test_without_a_rate_nothing_comes() -> None:
    for made in (pacer(), started(Arrival.CONSTANT, 0)):
        assert (made.due(10**12), made.next_ns) == ([], None)


@given(arrivals, rates, looks, st.integers(0, 2**32))
def test_arrivals_come_in_order_and_never_early(
    arrival: Arrival, rate: float, gaps: list[int], seed: int
) -> None:
    made, seen = started(arrival, rate, seed=seed), list[int]()
    for now_ns in sums(gaps):
        new = made.due(now_ns)
        assert all(intended <= now_ns for intended in new)
        assert made.next_ns is not None
        assert made.next_ns > now_ns
        seen += new
    assert all(before < after for before, after in pairwise(seen))


@given(arrivals, rates, looks, st.integers(0, 2**32))
def test_the_schedule_does_not_depend_on_how_often_it_is_looked_at(
    arrival: Arrival, rate: float, gaps: list[int], seed: int
) -> None:
    """That is what makes it absolute: lateness is reported, not handed on."""
    end_ns = sum(gaps)
    often = gathered(started(arrival, rate, seed=seed), [0, *sums(gaps)])
    assert often == started(arrival, rate, seed=seed).due(end_ns)


@pytest.mark.parametrize("rate", [7.0, 100.0, 3333.3])
def test_constant_arrivals_are_evenly_spaced_and_exact(rate: float) -> None:
    arrived = started(Arrival.CONSTANT, rate).due(10 * NS_PER_SECOND)
    assert abs(len(arrived) - 10 * rate) <= 1
    assert {after - before for before, after in pairwise(arrived)} == {int(NS_PER_SECOND / rate)}


@pytest.mark.parametrize("seed", range(5))
def test_poisson_arrivals_have_the_count_and_the_spread_of_a_poisson_process(seed: int) -> None:
    rate, seconds = 100.0, 100
    arrived = started(Arrival.POISSON, rate, seed=seed).due(seconds * NS_PER_SECOND)
    expected = rate * seconds
    assert abs(len(arrived) - expected) < 5 * expected**0.5
    gaps = [(after - before) / NS_PER_SECOND for before, after in pairwise(arrived)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert variance**0.5 == pytest.approx(mean, rel=0.06)


def test_different_streams_have_different_arrivals() -> None:
    schedules = {tuple(started(Arrival.POISSON, 50, seed=seed).due(NS_PER_SECOND)) for seed in range(5)}
    assert len(schedules) == 5


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_several_constant_pacers_make_one_evenly_spaced_schedule(workers: int) -> None:
    rate = 240.0
    pacers = [started(Arrival.CONSTANT, rate / workers, phase=n / workers) for n in range(workers)]
    together = sorted(intended for each in pacers for intended in each.due(NS_PER_SECOND))
    assert abs(len(together) - rate) <= 1
    assert all(
        abs(after - before - NS_PER_SECOND / rate) <= len(together) for before, after in pairwise(together)
    )


@given(arrivals, rates, st.integers(1, 5 * NS_PER_SECOND), st.integers(1, 3600 * NS_PER_SECOND))
def test_while_held_nothing_comes_and_afterwards_there_is_no_burst(
    arrival: Arrival, rate: float, before_ns: int, held_ns: int
) -> None:
    made = started(arrival, rate)
    made.due(before_ns)
    made.hold(before_ns)
    assert (made.due(before_ns + held_ns), made.next_ns) == ([], None)
    made.release(before_ns + held_ns)
    assert made.next_ns is not None
    assert made.next_ns >= before_ns + held_ns


def test_releasing_what_is_not_held_changes_nothing() -> None:
    made = started(Arrival.POISSON, 10)
    planned = made.next_ns
    made.release(1)
    assert made.next_ns == planned


def test_a_rate_that_is_set_while_held_comes_with_the_release() -> None:
    made = pacer(Arrival.CONSTANT)
    made.hold(0)
    made.set_rate(10, 5)
    assert made.due(NS_PER_SECOND) == []
    made.release(NS_PER_SECOND)
    assert len(made.due(2 * NS_PER_SECOND)) == 11


@given(arrivals, rates, rates, st.integers(0, 2 * NS_PER_SECOND))
def test_a_new_rate_counts_from_now(arrival: Arrival, before: float, after: float, at_ns: int) -> None:
    made = started(arrival, before)
    made.due(at_ns)
    made.set_rate(after, at_ns)
    assert made.rate == after
    assert made.next_ns is not None
    assert made.next_ns >= at_ns


def test_setting_the_same_rate_again_does_not_restart_the_schedule() -> None:
    """Each change of the threads tells every worker its rate, often the one it has."""
    made, undisturbed = (started(Arrival.CONSTANT, 1) for _ in range(2))
    seen: list[int] = []
    for now_ns in range(0, 10 * NS_PER_SECOND, NS_PER_SECOND // 10):
        made.set_rate(1, now_ns)
        seen += made.due(now_ns)
    assert seen == undisturbed.due(10 * NS_PER_SECOND - NS_PER_SECOND // 10)


@given(arrivals, rates, st.integers(0, 2 * NS_PER_SECOND))
def test_what_has_come_due_stays_due_whatever_happens_to_the_rate(
    arrival: Arrival, rate: float, at_ns: int
) -> None:
    due = started(arrival, rate).due(at_ns)
    changed, stopped, held = (started(arrival, rate) for _ in range(3))
    changed.set_rate(2 * rate, at_ns)
    stopped.set_rate(0, at_ns)
    held.hold(at_ns)
    for made in (changed, stopped, held):
        assert made.due(at_ns)[: len(due)] == due


@pytest.mark.parametrize("steps", [1, 10, 1000])
def test_a_rising_rate_brings_as_many_arrivals_in_one_step_or_in_many(steps: int) -> None:
    """From 10 to 210 a second in 10 s: the area under the ramp, to within one arrival and the last step."""
    made = started(Arrival.CONSTANT, 10)
    seen = []
    for step in range(1, steps + 1):
        now_ns = step * 10 * NS_PER_SECOND // steps
        seen += made.due(now_ns)
        made.set_rate(10 + 200 * step / steps, now_ns)
    area = sum(10 + 200 * step / steps for step in range(steps)) * 10 / steps
    assert abs(len(seen) - area) <= 1
    assert all(before < after for before, after in pairwise(seen))


@given(arrivals, rates, rates, st.integers(0, NS_PER_SECOND))
def test_what_is_left_of_a_gap_changes_with_the_rate(
    arrival: Arrival, before: float, after: float, now_ns: int
) -> None:
    made = started(arrival, before)
    made.due(now_ns)
    assert made.next_ns is not None
    left_ns = made.next_ns - now_ns
    made.set_rate(after, now_ns)
    assert made.next_ns == pytest.approx(now_ns + left_ns * before / after, abs=1)
