"""Which wait is named as the cause, on simulated loads: planted ones are found in short windows, and two
equal windows have none.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.tables import for_each
from tuibench.metrics.control import COMMIT
from tuibench.metrics.wait_changes import (
    WIDER,
    because_text,
    is_explicable,
    time_changes,
    untold,
    verdict_direction,
)
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.effect import Comparison, Verdict
from tuibench.model.tick import RESPONSE, Histogram, Tick

EXACT = frozenset((WaitClass.CPU, WaitClass.RUN_QUEUE))
"""Classes that the kernel counts; the others are those of the samples."""
LEVEL_NOISE, CLASS_NOISE, PHI = 0.08, 0.15, 0.4
ALIKE = 4
"""Connections that wait for the same at the same time: they count as one."""

USUAL = {
    WaitClass.CPU: 1.5,
    WaitClass.RUN_QUEUE: 3.0,
    WaitClass.ROW_LOCK: 0.5,
    WaitClass.COMMIT: 5.0,
    WaitClass.MUTEX: 0.4,
    WaitClass.ON_THE_WAY: 1.5,
    WaitClass.CLIENT: 1.0,
}
"""Milliseconds of a transaction."""
BUSIER = USUAL | {WaitClass.COMMIT: 0.2, WaitClass.RUN_QUEUE: 4.5, WaitClass.ON_THE_WAY: 2.0}
"""Commits are cheap, and connections wait for a processor instead."""
EQUAL_SPEED = USUAL | {WaitClass.COMMIT: 1.0, WaitClass.RUN_QUEUE: 6.0, WaitClass.ON_THE_WAY: 2.5}
"""The processors were the limit before."""
CALMER = USUAL | {WaitClass.COMMIT: 2.0, WaitClass.RUN_QUEUE: 0.3, WaitClass.CLIENT: 0.4}
"""A commit costs processor time, too."""
CROWDED = USUAL | {WaitClass.RUN_QUEUE: 9.0, WaitClass.ON_THE_WAY: 4.0, WaitClass.COMMIT: 4.2}
"""Another program takes the processors."""


def noise(rng: random.Random, count: int, size: float) -> list[float]:
    found = [rng.gauss(0, size)]
    while len(found) < count:
        found.append(PHI * found[-1] + math.sqrt(1 - PHI**2) * rng.gauss(0, size))
    return found


def window(
    rng: random.Random,
    count: int,
    usual: dict[WaitClass, float],
    *,
    rate: float = 10.0,
    connections: int = 16,
    seconds: float = 1.0,
) -> list[Tick]:
    """Ticks of a closed loop, with so many samples per second; one without is in the next account."""
    whole_ms = sum(usual.values())
    level = noise(rng, count, LEVEL_NOISE)
    by_class = {wait: noise(rng, count, CLASS_NOISE) for wait in usual}
    found: list[Tick] = []
    known_seconds = completed = 0.0
    for place in range(count):
        times = {wait: ms * math.exp(by_class[wait][place]) for wait, ms in usual.items()}
        each_ms = math.sqrt(whole_ms * sum(times.values())) * math.exp(level[place])
        known_seconds += seconds
        completed += 1000 * connections * seconds / each_ms
        samples = sum(rng.random() < rate * seconds / 40 for _ in range(40))
        sums: dict[str, float] = {}
        if samples:
            shares = {wait: ms / sum(times.values()) for wait, ms in times.items()}
            sampled = [wait for wait in shares if wait not in EXACT]
            looks = max(1, samples * connections // ALIKE)
            seen = rng.choices(sampled, [shares[wait] for wait in sampled], k=looks)
            rest = sum(shares[wait] for wait in sampled)
            shares |= {wait: rest * seen.count(wait) / looks for wait in sampled}
            us = 1e6 * connections * known_seconds
            sums = {wait.key: us * shares.get(wait, 0.0) for wait in WaitClass}
            sums |= {TIME + "connections_us": us, TIME + "completed": completed, TIME + "samples": samples}
            known_seconds = completed = 0.0
        found.append(Tick(end=seconds * (place + 1), seconds=seconds, sums=sums))
    return found


def sentences(
    count: int, other: dict[WaitClass, float], ticks: tuple[int, int] = (6, 6), load: Mapping[str, Any] = {}
) -> list[str]:
    rng = random.Random(36)
    sides = (
        (window(rng, ticks[0], USUAL, **load), window(rng, ticks[1], other, **load)) for _ in range(count)
    )
    return [because_text(time_changes(*each)) for each in sides]


def share(found: Sequence[str], *starts: str) -> float:
    return sum(text.replace("probably ", "").startswith(starts) for text in found) / len(found)


@for_each(
    ("after", "cause", "load"),
    [
        (BUSIER, "because: commit −", {}),
        (BUSIER, "because: commit −", {"connections": 64, "rate": 4.0}),
        (BUSIER, "because: commit −", {"seconds": 3.0, "rate": 3.0}),
        (EQUAL_SPEED, "because: commit −", {}),
        (CALMER, "because: commit −", {}),
        (CROWDED, "because: run queue +", {}),
    ],
)
def test_six_ticks_on_each_side_name_the_planted_cause(
    after: dict[WaitClass, float], cause: str, load: dict[str, float]
) -> None:
    found = sentences(12, after, load=load)
    assert share(found, cause) > 0.8, found


@pytest.mark.parametrize(
    ("ticks", "rate", "count"),
    [
        ((6, 6), 10.0, 25),
        *(
            pytest.param(ticks, rate, 200, marks=pytest.mark.whole)
            for ticks in ((6, 6), (18, 6), (12, 12), (36, 12))
            for rate in (1.0, 3.0, 10.0)
        ),
    ],
)
def test_two_equal_windows_have_a_cause_in_one_of_twenty_at_most(
    ticks: tuple[int, int], rate: float, count: int
) -> None:
    found = sentences(count, USUAL, ticks, {"rate": rate})
    assert share(found, "because") <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / count), found


def side(*times: Mapping[WaitClass, float]) -> list[Tick]:
    """Ticks of a second with 100 transactions, of which each class took so many milliseconds."""
    return [
        Tick(
            seconds=1.0,
            sums={wait.key: 1e5 * each.get(wait, 0.0) for wait in WaitClass}
            | {TIME + "completed": 100.0, TIME + "connections_us": 1e5 * sum(each.values())},
        )
        for each in times
    ]


@for_each(
    ("redo", "binary_log", "queue", "start"),
    [
        ((3.0, 0.2) * 3, (0.2, 3.0) * 3, 4.0, "because: probably commit"),
        ((0.2,) * 6, (3.0,) * 6, 4.0, "because: commit (binary log) −2.9 ms"),
        ((0.8,) * 6, (0.9,) * 6, 4.0, "because: commit (binary log) −0.8 ms"),
        ((0.5,) * 6, (0.5,) * 6, 12.0, "because: run queue −12.0 ms"),
    ],
)
def test_a_commit_that_waits_for_two_logs_is_named_before_the_queue_that_follows(
    redo: Sequence[float], binary_log: Sequence[float], queue: float, start: str
) -> None:
    """Also if the division between the logs changes from tick to tick; and less steadily than the queue."""
    before = side(
        *(
            {
                WaitClass.CPU: 1.0,
                WaitClass.RUN_QUEUE: 1.0 + queue,
                WaitClass.COMMIT: a,
                WaitClass.BINARY_LOG: b,
            }
            for a, b in zip(redo, binary_log, strict=True)
        )
    )
    after = {WaitClass.CPU: 1.0, WaitClass.RUN_QUEUE: 1.0, WaitClass.COMMIT: 0.1, WaitClass.BINARY_LOG: 0.1}
    found = because_text(time_changes(before, side(*[after] * 6)))
    assert found.startswith(start), found


def test_a_commit_that_waits_for_two_logs_counts_as_one_wait() -> None:
    """Each log takes less of the change than the processor's time, both together more."""
    times = {WaitClass.CPU: 3.0, WaitClass.COMMIT: 1.5, WaitClass.BINARY_LOG: 1.8}
    after = {WaitClass.CPU: 1.0, WaitClass.COMMIT: 0.1, WaitClass.BINARY_LOG: 0.1}
    found = because_text(time_changes(side(*[times] * 6), side(*[after] * 6)))
    assert found.startswith("because: commit (binary log) −1.7 ms"), found
    assert found.endswith("; commit −1.4 ms; CPU −2.0 ms"), found


def test_what_moved_most_is_named_first_though_it_is_less_sure_than_a_smaller_change() -> None:
    """The whole is not sure either, as connections wait for rows more or less at random."""

    def window(commits: Sequence[float], rows: Sequence[float], cpu_ms: float) -> list[Tick]:
        classes = (WaitClass.COMMIT, WaitClass.ROW_LOCK)
        return side(
            *(
                {**dict(zip(classes, each, strict=True)), WaitClass.CPU: cpu_ms}
                for each in zip(commits, rows, strict=True)
            )
        )

    before = window((4.8, 2.8, 2.8, 4.8, 2.8, 4.8), (1.0, 9.0, 2.0, 8.0, 1.0, 9.0), 1.0)
    after = window((2.0, 2.2, 1.8, 2.0, 2.1, 1.9), (9.0, 1.0, 8.0, 2.0, 9.0, 1.0), 1.5)
    found = because_text(time_changes(before, after))
    assert found.startswith("because: probably commit −1."), found
    assert "; CPU +0.5 ms" in found, found


def test_a_small_change_does_not_explain_a_large_one_that_is_not_sure() -> None:
    """The client has no think time any more, and the processor's time is all over the place."""

    def window(client_ms: float, cpu_ms: Sequence[float]) -> list[Tick]:
        return side(*({WaitClass.CLIENT: client_ms, WaitClass.CPU: ms} for ms in cpu_ms))

    steady, uneven = [1.0, 1.1, 0.9, 1.0, 1.05, 0.95], [1.0, 12.0, 1.5, 0.5, 9.0, 1.0]
    assert time_changes(window(0.5, steady), window(0.01, uneven)) == ()
    found = because_text(time_changes(window(0.5, steady), window(0.01, steady)))
    assert found.startswith("because: client −0.5 ms (")


def test_why_there_is_no_cause_is_said() -> None:
    rng = random.Random(1)
    before, after = window(rng, 8, USUAL), window(rng, 6, USUAL)
    assert time_changes(before, after) == ()
    samples = [round(sum(tick.sums[TIME + "samples"] for tick in side)) for side in (before, after)]
    assert untold(before, after).startswith(
        f"because: no wait certainly changed in {samples[0]} samples before the change and {samples[1]} "
        "after it"
    )
    assert "1 tick with a sample of the waits after the change" in untold(
        before, [after[0], Tick(seconds=1.0)]
    )
    assert "2 ticks with a sample of the waits before the change" in untold(before[:2], after)
    assert untold([Tick(seconds=1.0)] * 6, [Tick(seconds=1.0)] * 6) == "", "there is no account"


# In the course of a run: not what moved anyway, and what explains the verdict first.


def commits(*ms: float, reads: tuple[float, ...] = ()) -> list[Tick]:
    reads = reads or (0.0,) * len(ms)
    return side(
        *(
            {WaitClass.CPU: 1.0, WaitClass.COMMIT: each, WaitClass.PAGE_READ: read}
            for each, read in zip(ms, reads, strict=True)
        )
    )


def test_what_was_falling_before_the_change_is_not_its_doing() -> None:
    """Page reads become fewer as a cache fills, as fast after the change as before it."""
    rng = random.Random(6)
    reads = [9.0 - 0.3 * place + rng.gauss(0, 0.9) for place in range(31)]
    before, after = commits(*[3.0] * 18, reads=(*reads[:18],)), commits(*[3.0] * 12, reads=(*reads[19:],))
    assert because_text(time_changes(before, after)).startswith("because: page read −")
    assert time_changes(before, after, gap=1, towards=-1.0) == ()


def test_a_wait_that_moved_as_much_before_is_not_named() -> None:
    before = commits(*[3.0] * 6, *[6.0] * 6, *[3.0] * 6)
    assert because_text(time_changes(before[:6], commits(*[6.0] * 6))).startswith("because: commit +3.0 ms")
    assert time_changes(before, commits(*[6.0] * 6), gap=1) == ()


def test_what_explains_the_verdict_comes_before_a_surer_side_effect() -> None:
    """As with foreign keys: transactions wait for rows, and so fewer of them commit at the same time."""
    rng = random.Random(5)

    def window(row_ms: float, commit_ms: float) -> list[Tick]:
        return side(
            *(
                {
                    WaitClass.CPU: 4.0,
                    WaitClass.ROW_LOCK: row_ms * math.exp(rng.gauss(0, 0.6)),
                    WaitClass.COMMIT: commit_ms,
                }
                for _ in range(8)
            )
        )

    before, after = window(1.0, 5.0), window(7.0, 2.8)
    found = because_text(time_changes(before, after, gap=1, towards=1.0))
    assert found.removeprefix("because: ").removeprefix("probably ").startswith("row lock +"), found
    assert "commit −2.2 ms" in found


def test_a_side_effect_alone_explains_nothing() -> None:
    """Fewer transactions, though commits take less time: something else must have become slower."""
    sides = commits(*[5.0] * 8), commits(*[2.8] * 8)
    assert because_text(time_changes(*sides, gap=1, towards=-1.0)).startswith("because: commit −2.2 ms")
    assert time_changes(*sides, gap=1, towards=1.0) == ()


@for_each(
    ("figure", "delta", "verdict", "direction"),
    [
        ("tps", 10.0, Verdict.HIGHER, -1.0),
        ("tps", -10.0, Verdict.LOWER, 1.0),
        ("p95_ms", 10.0, Verdict.HIGHER, 1.0),
        ("tps", 1.0, Verdict.EQUAL, 0.0),
        ("tps", 10.0, Verdict.NOT_ONLY, None),
        ("tps", 10.0, Verdict.CANNOT_TELL, None),
    ],
)
def test_only_a_verdict_about_the_change_is_explained(
    figure: str, delta: float, verdict: Verdict, direction: float | None
) -> None:
    one = Comparison(
        figure=figure, verdict=verdict, before=100.0, after=110.0, delta=delta, low=delta, high=delta
    )
    assert is_explicable(one) is (direction is not None)
    assert verdict_direction(one) == (direction or 0.0)


# On a full host: a short wait for a log, and the long queue after it.


def on_a_full_host(queue_ms: Sequence[float], in_log_ms: float, in_commit: float) -> list[Tick]:
    """Transactions whose COMMIT has this share of the queue for a processor."""
    ticks = side(
        *({WaitClass.CPU: 3.0, WaitClass.RUN_QUEUE: ms, WaitClass.COMMIT: in_log_ms} for ms in queue_ms)
    )
    found = []
    for tick, ms in zip(ticks, queue_ms, strict=True):
        commit_us, whole_us = 1e3 * (in_log_ms + in_commit * ms), 1e3 * (3.0 + ms + in_log_ms)
        hists = {
            name: Histogram({1: 100}, 100, round(100 * us), round(us), round(us))
            for name, us in ((COMMIT, commit_us), (RESPONSE, whole_us))
        }
        found.append(replace(tick, hists=hists))
    return found


def noisy(rng: random.Random, count: int, ms: float) -> list[float]:
    return [ms * math.exp(rng.gauss(0, 0.25)) for _ in range(count)]


@for_each("seed", range(12))
def test_the_queue_after_a_wait_for_a_log_is_the_doing_of_the_commit(seed: int) -> None:
    """The log itself is a hundredth of the time: a class of its own never shows."""
    rng = random.Random(seed)
    before = on_a_full_host(noisy(rng, 36, 37.0), 0.65, 0.3)
    after = on_a_full_host(noisy(rng, 12, 27.0), 0.02, 0.05)
    changes = time_changes(before, after, gap=1, towards=-1.0)
    found = because_text(changes)
    assert found.removeprefix("because: ").removeprefix("probably ").startswith("commit −0."), found
    assert all(one.excludes_zero(WIDER) for one in changes[1:])


@for_each("seed", range(12))
def test_a_host_that_is_freed_is_no_doing_of_the_commit(seed: int) -> None:
    """All statements queue for less time, COMMIT like the others."""
    rng = random.Random(seed)
    before = on_a_full_host(noisy(rng, 36, 37.0), 0.65, 0.3)
    after = on_a_full_host(noisy(rng, 12, 20.0), 0.6, 0.3)
    assert "commit" not in because_text(time_changes(before, after, gap=1, towards=-1.0))
