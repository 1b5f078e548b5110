"""COMMIT beside the other statements of the same transactions, for changes that act on commits only."""

import math
import random

import pytest
from msgspec.structs import replace

from tests.ticks import host_tick, joined, measured_tick
from tests.unit.metrics import simulated
from tests.unit.metrics.noises import SHARED
from tests.unit.metrics.simulated import share
from tuibench.metrics.control import COMMIT
from tuibench.metrics.effect_detection import EffectDetector
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.effect import Comparison, Verdict
from tuibench.model.tick import SERVICE, Histogram, Tick
from tuibench.report.effects import effect_text
from tuibench.tuning.catalogue import SETTINGS

THREADS = 8


@pytest.mark.parametrize(
    ("name", "repeats"),
    [
        ("swing", 6),
        ("others take half", 6),
        *(pytest.param(name, 200, marks=pytest.mark.whole) for name in SHARED),
    ],
)
def test_effects_of_commits_are_found_in_noise_that_all_statements_share(name: str, repeats: int) -> None:
    rng, by_chance = random.Random(6), 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)
    none, large = (
        [simulated.commit_change(SHARED[name], rng, effect=math.log(effect)) for _ in range(repeats)]
        for effect in (1.0, 1.42)
    )
    every = [(found.interval, true) for _, found, true in (*none, *large) if found is not None]
    known = [one is not None and not one.interval.low <= 0 <= one.interval.high for _, one, _ in none]
    assert share(known) <= by_chance
    assert share(plain or (one is not None and one.interval.low > 0) for plain, one, _ in large) >= 0.8
    assert share(not one.low <= true <= one.high for one, true in every) <= by_chance


def tick(end: float, seconds: float, commit_ms: float, others_ms: float, cpu: float) -> Tick:
    """A tick of a closed loop with these times of a transaction."""
    count = round(THREADS * seconds * 1000 / (commit_ms + others_ms))
    one = measured_tick(end, seconds, count, p95_ms=commit_ms + others_ms, threads=THREADS)
    sum_us = round(1000 * commit_ms * count)
    hists = {**one.hists, COMMIT: Histogram({10: count}, count, sum_us, 10, 10)}
    host = joined(end, host=host_tick(seconds=seconds, cpu_total=cpu))
    return replace(one, hists=hists, sums=host.sums | one.sums)


def change(
    seconds: float,
    *,
    at_commit: bool = True,
    gain: float = 2.5,
    moved: float = 0.0,
    cpu: float = 60.0,
    has_rate: bool = False,
    has_commit: bool = True,
    queued_ms: float | None = None,
) -> Comparison:
    """What becomes of TPS, if COMMIT gets `gain` times as fast in a load that swings by 40 %. Of the others'
    time, `queued_ms` more are a wait for a processor after it; None without an account of the time.
    """
    watch, rng = EffectDetector(seconds, slots=6), random.Random(3)
    found, change_at = None, 40
    for place in range(change_at + 12):
        if place == change_at:
            at = (place + 0.5) * seconds
            watch.change(1, "sync_binlog 1 → 0", began_seconds=at, at_seconds=at, at_commit=at_commit)
        host = math.exp(0.2 * math.sin(place / 4) + rng.gauss(0, 0.02))
        is_after = place > change_at
        commit = 6.0 * host / (gain if is_after else 1.0) * math.exp(rng.gauss(0, 0.03))
        others = 4.0 * host * math.exp(moved * is_after)
        one = tick((place + 1) * seconds, seconds, commit, others, cpu)
        if queued_ms is not None:
            done, wait_us = one.sums["completed"], 1000 * (1.0 + queued_ms * is_after)
            account = {TIME + "completed": done, WaitClass.RUN_QUEUE.key: wait_us * done}
            one = replace(one, sums=one.sums | account)
        if has_rate:
            one = replace(one, hists={**one.hists, SERVICE: one.hist("response")})
        if not has_commit:
            one = replace(one, hists={name: each for name, each in one.hists.items() if name != COMMIT})
        found = found or watch.slot(one)
    assert found is not None
    comparison = found.comparison("tps")
    assert comparison is not None
    assert ("by COMMIT beside" in effect_text(found)) is (comparison.others_percent is not None)
    return comparison


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
def test_a_change_at_commit_is_sure_where_tps_alone_is_not(seconds: float) -> None:
    assert change(seconds, at_commit=False).verdict not in (Verdict.HIGHER, Verdict.LOWER)
    found = change(seconds)
    assert found.verdict is Verdict.HIGHER
    assert found.percent_low is not None
    assert found.percent_high is not None
    assert found.percent_low <= 100 * (10 / 6.4 - 1) <= found.percent_high
    assert found.others_percent is not None


@pytest.mark.parametrize(
    "condition",
    [{"cpu": 97.0}, {"moved": 0.8}, {"has_rate": True}, {"has_commit": False}, {"gain": 1.0}],
    ids=str,
)
def test_it_is_not_used_where_its_assumption_fails(condition: dict[str, float]) -> None:
    """Processors that are full, others that moved with the change, a rate, autocommit, and no effect."""
    found = change(1.0, **condition)  # type: ignore[arg-type]
    assert found.others_percent is None


def test_on_a_full_host_the_interval_covers_what_the_queue_for_a_processor_explains() -> None:
    """The load that is freed may take longer in its other statements, or the host may: both are in it."""
    spare, full = change(1.0, gain=4.0), change(1.0, gain=4.0, cpu=97.0, queued_ms=0.0)
    for found in (spare, full):
        assert found.verdict is Verdict.HIGHER
        assert found.percent_low is not None
        assert found.percent_high is not None
        assert found.percent_low <= 100 * (10 / 5.5 - 1) <= found.percent_high
    assert (spare.percent_low or 0) > 2 * (full.percent_low or 0)
    assert change(1.0, gain=4.0, cpu=97.0, moved=0.25, queued_ms=1.2).others_percent is None


@pytest.mark.whole
@pytest.mark.parametrize("repeats", [6, pytest.param(100, marks=pytest.mark.whole)])
@pytest.mark.parametrize("crowded", [0.0, 0.25, 0.5])
def test_a_size_is_right_where_the_change_fills_the_processors(crowded: float, repeats: int) -> None:
    rng, by_chance = random.Random(6), 0.05 + 2 * math.sqrt(0.05 * 0.95 / repeats)
    for noise in (SHARED["swing"], SHARED["others take half"]):
        none, large = (
            [
                simulated.commit_change(noise, rng, effect=math.log(effect), crowded=crowd)
                for _ in range(repeats)
            ]
            for effect, crowd in ((1.0, 0.0), (1.8, crowded))
        )
        every = [(found.interval, true) for _, found, true in (*none, *large) if found is not None]
        known = [one is not None and not one.interval.low <= 0 <= one.interval.high for _, one, _ in none]
        assert share(known) <= by_chance
        assert share(not one.low <= true <= one.high for one, true in every) <= by_chance


def test_settings_that_act_at_commit_are_settings_of_the_logs() -> None:
    assert {one.name for one in SETTINGS if one.at_commit} == {
        "innodb_flush_log_at_trx_commit",
        "sync_binlog",
        "binlog_order_commits",
        "binlog_group_commit_sync_delay",
        "binlog_group_commit_sync_no_delay_count",
        "binlog_commit_wait_count",
        "binlog_commit_wait_usec",
    }
