"""Ticks: sums, levels and histograms, and results that are compared."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sweeps import PLAN
from tests.unit.record.hours import Busy
from tuibench.metrics.figures import (
    FIGURES,
    LOAD_COUNTS,
    Count,
    FirstKnown,
    Largest,
    Level,
    MeanLatency,
    Peak,
    Percent,
    Quantile,
    Ratio,
    Remainder,
    Source,
)
from tuibench.model.summary import struct_differences
from tuibench.model.sweep import SweepVariant
from tuibench.model.tick import US_PER_MS, Histogram, Tick, merge_histograms, total_tick

# Ticks add up: however the time is divided, the figures are those of all that was counted.


LENGTHS = st.sampled_from([0.5, 1.0, 3.0, 0.25])
NAMES = st.sampled_from(["completed", "queries", "error.1213", "server.seconds", "Questions", "host.busy"])
COUNTS = st.dictionaries(NAMES, st.integers(0, 10**6).map(float))
"""Whole numbers, whose sums are exact in any order."""
HISTOGRAMS = st.dictionaries(
    st.sampled_from(["response", "stmt.commit", "trx.payment"]),
    st.lists(st.integers(1, 10_000_000), min_size=1, max_size=8).map(Histogram.of),
)


@st.composite
def runs(draw: st.DrawFn, least: int = 2) -> list[Tick]:
    """Ticks that follow each other."""
    ticks, end = [], draw(st.sampled_from([0.0, -2.5, 7.25]))
    for _ in range(draw(st.integers(least, 6))):
        seconds = draw(LENGTHS)
        end += seconds
        ticks.append(
            Tick(
                end=end,
                seconds=seconds,
                sums=draw(COUNTS),
                arrears=draw(COUNTS),
                levels=draw(COUNTS),
                peaks=draw(COUNTS),
                hists=draw(HISTOGRAMS),
            )
        )
    return ticks


def bracketed(drawn: st.DataObject, ticks: Sequence[Tick]) -> Tick:
    """The same ticks joined two by two in some way, with the later one first in some."""
    if len(ticks) == 1:
        return ticks[0]
    middle = drawn.draw(st.integers(1, len(ticks) - 1))
    left, right = bracketed(drawn, ticks[:middle]), bracketed(drawn, ticks[middle:])
    return right + left if drawn.draw(st.booleans()) else left + right


@given(st.data())
def test_joining_is_associative_and_commutative(drawn: st.DataObject) -> None:
    ticks = drawn.draw(runs())
    whole = bracketed(drawn, ticks)
    assert whole == total_tick(ticks)
    assert total_tick(drawn.draw(st.permutations(ticks))) == whole


@given(runs(least=1))
def test_all_that_was_counted_is_in_the_sum(ticks: list[Tick]) -> None:
    whole = total_tick(ticks)
    assert (whole.start, whole.end) == (ticks[0].start, ticks[-1].end)
    for name in {name for tick in ticks for name in (*tick.sums, *tick.arrears)}:
        counted = sum(tick.sums.get(name, 0) + tick.arrears.get(name, 0) for tick in ticks)
        assert whole.sums.get(name, 0) + whole.arrears.get(name, 0) == counted
    for name in {name for tick in ticks for name in tick.hists}:
        assert whole.hists[name] == merge_histograms(tick.hist(name) for tick in ticks)
    for name in {name for tick in ticks for name in tick.peaks}:
        assert whole.peaks[name] == max(tick.peaks[name] for tick in ticks if name in tick.peaks)
    for name in {name for tick in ticks for name in tick.levels}:
        assert whole.levels[name] == [tick.levels[name] for tick in ticks if name in tick.levels][-1]


@given(runs(least=1))
def test_arrears_count_in_joined_ticks_and_not_in_their_own(ticks: list[Tick]) -> None:
    """What was done before the first of the ticks is not theirs."""
    alone = total_tick(ticks[:1])
    assert (alone.sums, alone.arrears) == (ticks[0].sums, ticks[0].arrears)
    for before, tick in pairwise(ticks):
        both = before + tick
        assert both.arrears == before.arrears
        for name in {*before.sums, *tick.sums, *tick.arrears}:
            assert both.sums[name] == before.sums.get(name, 0) + tick.sums.get(name, 0) + tick.arrears.get(
                name, 0
            )


@given(runs())
def test_no_tick_is_changed_by_joining_it(ticks: list[Tick]) -> None:
    copies = [
        replace(tick, hists={name: merge_histograms([each]) for name, each in tick.hists.items()})
        for tick in ticks
    ]
    whole = total_tick(ticks)
    for histogram in whole.hists.values():
        histogram.add(Histogram.of([1]))
    assert ticks == copies


BUSY = Busy("tpcc", 60)


def busy(lengths: Sequence[float]) -> list[Tick]:
    """Rich ticks of these lengths, each with more done than another."""
    ticks, end = [], 0.0
    for number, seconds in enumerate(lengths, 1):
        end += seconds
        made = BUSY.tick(number).tick
        scaled = {name: round(value * seconds * number, 6) for name, value in made.sums.items()}
        arrears = {"completed": 5.0 * number, "queries": 70.0, "error.1213": 1.0} if number % 2 else {}
        ticks.append(replace(made, end=end, seconds=seconds, sums=scaled, arrears=arrears))
    return ticks


def plain(source: Source, ticks: Sequence[Tick]) -> float | None:
    """The figure of all ticks, without joining them: of lists of what each counted."""

    def amount(name: str) -> float | None:
        if name == "seconds":
            return sum(tick.seconds for tick in ticks)
        found = [
            value
            for place, tick in enumerate(ticks)
            for counts in ((tick.sums, tick.arrears) if place else (tick.sums,))
            for key, value in counts.items()
            if key == name or (name.endswith(".") and key.startswith(name))
        ]
        rare = name in LOAD_COUNTS
        if name == "host.throttled":
            rare = any("host.seconds" in tick.sums for tick in ticks)
        return sum(found) if found else 0.0 if rare else None

    match source:
        case Ratio(above, below, factor):
            upper = next((value for name in above if (value := amount(name)) is not None), None)
            parts = [amount(name) for name in below]
            lower = sum(value or 0.0 for value in parts)
            if upper is None or None in parts or not lower:
                return None
            share = factor * upper / lower
            return min(100.0, share) if isinstance(source, Percent) else share
        case Remainder(less, whole):
            taken = [plain(each, ticks) for each in less]
            of = plain(whole, ticks) if whole else None if None in taken else 100.0
            return None if of is None else max(0.0, of - sum(each or 0.0 for each in taken))
        case FirstKnown(sources):
            return next((value for each in sources if (value := plain(each, ticks)) is not None), None)
        case Largest(sources):
            return max((value for each in sources if (value := plain(each, ticks)) is not None), default=None)
        case Count(name):
            return amount(name)
        case Quantile(name, share):
            every = merge_histograms(tick.hist(name) for tick in ticks)
            if not every.count:
                return None
            if share in (0, 1):
                ends = [(tick.hist(name).min_us, tick.hist(name).max_us) for tick in ticks]
                return (
                    max(most for _, most in ends) if share else min(least for least, _ in ends)
                ) / US_PER_MS
            return every.percentiles((100 * share,))[0] / US_PER_MS
        case MeanLatency(name):
            us, count = (
                sum(tick.hist(name).sum_us for tick in ticks),
                sum(tick.hist(name).count for tick in ticks),
            )
            return us / count / US_PER_MS if count else None
        case Level():
            levels = {name: value for tick in ticks for name, value in tick.levels.items()}
            return source.value(Tick(levels=levels))
        case Peak(name, factor):
            most = max((tick.peaks[name] for tick in ticks if name in tick.peaks), default=None)
            return None if most is None else factor * most
    raise AssertionError(source)


@given(st.data())
def test_no_figure_depends_on_how_the_time_is_divided(drawn: st.DataObject) -> None:
    ticks = busy(drawn.draw(st.lists(LENGTHS, min_size=2, max_size=4)))
    whole = bracketed(drawn, ticks)
    for name, figure in FIGURES.items():
        expected = plain(figure.source, ticks)
        found = figure.value(whole)
        assert found == (None if expected is None else pytest.approx(expected, rel=1e-9)), name


def test_a_ratio_is_weighted_by_what_its_ticks_counted() -> None:
    fast = Tick(
        end=0.5, seconds=0.5, sums={"completed": 900, "server.completed": 900, "Innodb_os_log_fsyncs": 90}
    )
    slow = Tick(
        end=3.5, seconds=3.0, sums={"completed": 150, "server.completed": 100, "Innodb_os_log_fsyncs": 60}
    )
    assert FIGURES["tps"].value(fast + slow) == pytest.approx(300)
    assert FIGURES["fsyncs"].value(fast + slow) == pytest.approx(0.15)


# What differs is named by its path, with both values.


def test_the_same_differs_in_nothing() -> None:
    assert struct_differences(PLAN, msgspec.structs.replace(PLAN)) == ()


def test_each_difference_is_named_by_its_path() -> None:
    other = msgspec.structs.replace(
        PLAN, repeats=3, threads=(4, 16), base=msgspec.structs.replace(PLAN.base, seconds=None, seed=9)
    )
    assert struct_differences(PLAN, other, besides=("base.seed",)) == (
        "threads[2]: 8 there, 16 here",
        "repeats: 2 there, 3 here",
        "base.seconds: 5.0 there, nothing here",
    )


def test_lists_of_another_length_differ_as_a_whole() -> None:
    other = msgspec.structs.replace(PLAN, threads=(4,))
    assert struct_differences(PLAN, other) == ("threads: 4, 8 there, 4 here",)


def test_named_items_are_shown_by_name() -> None:
    some = msgspec.structs.replace(
        PLAN, variants=(SweepVariant(name="durable 1/1"), SweepVariant(name="unsafe 0/0"))
    )
    none = msgspec.structs.replace(PLAN, variants=(SweepVariant(name=""),))
    assert struct_differences(some, none) == ("variants: durable 1/1, unsafe 0/0 there, unchanged here",)
