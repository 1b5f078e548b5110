"""A burst of the rate, and the meter of the recovery after it."""

from collections.abc import Iterator
from typing import cast

import pytest

from tuibench.base.errors import UsageError
from tuibench.features.overload.burst import BEFORE_SECONDS, PATIENCE_SECONDS, Burst
from tuibench.model.callers import CallerPolicy
from tuibench.model.message import StartBurst
from tuibench.model.schedule import Quantity, parse_burst
from tuibench.model.tick import Sample, Tick
from tuibench.session.laboratory import LoadLevel
from tuibench.session.load import LoadController

RATE = 400.0


class Load:
    """The level of a load."""

    threads = 8
    rate = RATE
    callers = CallerPolicy(deadline_ms=200)


class Stage:
    """A burst, and ticks of a second and a half with a goodput."""

    def __init__(self, factor: float = 3.0, seconds: float = 6.0) -> None:
        self.load = Load()
        self.burst = Burst(cast(LoadController, self.load), StartBurst(factor, seconds))
        self.now = 10.0
        self.ended = 0.0
        self.burst.begin(self.now)

    def tick(self, goodput: float, backlog: float = 0.0) -> list[str]:
        """Passes a tick; applies what is wanted then. Returns what is told."""
        self.now += 1.5
        sums = {"good": 1.5 * goodput, "completed": 600.0}
        tick = Tick(end=self.now, seconds=1.5, sums=sums, levels={"backlog": backlog})
        self.burst.tick(tick, Sample(number=1, at=0.0, late_ms=0.0, tick=tick))
        told, self.burst.told = self.burst.told, []
        return told

    def is_waited_for(self) -> bool:
        """Whether the burst wants another level."""
        return self.burst.wanted is not None

    def apply(self) -> dict[str, LoadLevel]:
        wanted, self.burst.wanted = self.burst.wanted, None
        assert wanted is not None
        self.burst.applied(self.now)
        return cast(dict[str, LoadLevel], dict(wanted))

    def until_after(self) -> None:
        """Up to the end of the burst, with a goodput of 390/s before it and 12/s in it."""
        while not self.is_waited_for():
            self.tick(390)
        assert self.now - 10 >= BEFORE_SECONDS - 1.5
        assert self.apply() == {"rate": LoadLevel(8, 1200.0, "burst ×3 for 6s: 1,200/s", keeps_backlog=True)}
        begun = self.now
        while not self.is_waited_for():
            self.tick(12)
        assert abs(self.now - begun - 6) <= 0.75
        assert self.apply() == {}
        self.ended = self.now


def test_the_seconds_until_most_of_the_goodput_is_back_are_told() -> None:
    stage = Stage()
    stage.until_after()
    told = [stage.tick(goodput) for goodput in (4, 200, 360, 100, 352, 380)]
    assert told[:-1] == [[]] * 5
    assert told[-1] == ["recovered 6 s after the burst: goodput 390.0/s before, 4.00/s at the lowest"]
    assert stage.burst.is_over


def test_a_load_that_does_not_recover_is_told_and_watched_until_it_has() -> None:
    stage = Stage()
    stage.until_after()
    told = list(until_told(stage, 12))
    assert told == [
        "it does not recover: goodput 3 % of before, 60 s after the burst, at 400/s: 390.0/s before, "
        "12.0/s at the lowest"
    ]
    assert not stage.burst.is_over
    stage.load.rate = 310.0
    stage.burst.on_manual_load(Quantity.RATE, stage.now)
    stage.tick(390)
    (text,) = stage.tick(390)
    assert text.startswith("recovered 62 s after the burst, at 310/s")


def until_told(stage: Stage, goodput: float, backlog: float = 0.0) -> Iterator[str]:
    for _ in range(int(PATIENCE_SECONDS / 1.5) + 1):
        yield from stage.tick(goodput, backlog)


def test_a_rate_of_the_operator_ends_the_burst_and_stays() -> None:
    stage = Stage()
    while stage.burst.wanted is None:
        stage.tick(390)
    stage.apply()
    stage.burst.on_manual_load(Quantity.THREADS, stage.now)
    assert not stage.burst.is_over
    stage.burst.on_manual_load(Quantity.RATE, stage.now)
    assert (stage.burst.is_over, stage.burst.before) == (True, {"rate": ()})


@pytest.mark.parametrize(
    ("per_second", "words", "queue"),
    [
        (-85.0, "still draining", "queue 4,900, falling by 85/s: about 58 s"),
        (40.0, "it does not recover", "queue 12,400, growing by 40/s"),
    ],
)
def test_a_queue_that_drains_is_told_apart_from_one_that_stays(
    per_second: float, words: str, queue: str
) -> None:
    stage = Stage()
    stage.until_after()
    told: list[str] = []
    while not told:
        since = stage.now + 1.5 - stage.ended
        told = stage.tick(0, 10_000 + per_second * since)
    assert told == [
        f"{words}: goodput 0 % of before, 60 s after the burst, at 400/s: 390.0/s before, "
        f"0/s at the lowest; {queue}"
    ]


def test_a_queue_that_begins_to_drain_is_told_too() -> None:
    stage = Stage()
    stage.until_after()
    assert len(list(until_told(stage, 0, 10_000))) == 1
    stage.load.rate = 200.0
    told = [text for size in range(9_500, 0, -300) for text in stage.tick(0, size)]
    assert len(told) == 1
    assert told[0].startswith("still draining: goodput 0 % of before, ")
    assert ", at 200/s: " in told[0]


@pytest.mark.parametrize("text", ["x3 8s", "×3,8s", "x3 for 8s", " x3.0  8s "])
def test_a_burst_is_written_as_factor_and_time(text: str) -> None:
    assert parse_burst(text) == (3.0, 8.0)


@pytest.mark.parametrize("text", ["3 8s", "x3", "x3 8", "x0 8s", "x3 2h", ""])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_burst(text)
