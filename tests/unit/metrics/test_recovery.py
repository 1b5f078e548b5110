"""The meter of a recovery, and the trend of a queue."""

import random

import pytest

from tuibench.metrics.recovery import FEWEST_TREND_TICKS, QueueTrend, RecoveryMeter
from tuibench.model.tick import Tick


def meter_of(*ticks: tuple[float, float, float], before: float = 100.0) -> RecoveryMeter:
    """Ticks by length, value and backlog, from second 20 on."""
    meter, now = RecoveryMeter(before=before, since=20.0), 20.0
    for seconds, value, backlog in ticks:
        now += seconds
        meter.add(Tick(end=now, seconds=seconds, levels={"backlog": backlog}), value)
        if meter.recovered_after is not None:
            break
    return meter


@pytest.mark.parametrize(
    ("ticks", "after"),
    [
        (((1, 95), (1, 20), (3, 91), (3, 90)), 2.0),
        (((1, 95), (1, 20), (1, 91)), None),
        (((1, 89), (1, 200)), None),
        # Half a second is too little to tell, and noise within the two seconds is not a relapse.
        (((0.5, 10), (0.5, 100), (0.5, 82), (0.5, 100), (0.5, 95)), 0.5),
        (((0.5, 100), (0.5, 95), (0.5, 92)), None),
    ],
)
def test_recovered_is_two_ticks_and_two_seconds_at_the_level(
    ticks: tuple[tuple[float, float], ...], after: float | None
) -> None:
    meter = meter_of(*((seconds, value, 0.0) for seconds, value in ticks))
    assert meter.recovered_after == after
    assert meter.lowest == min(value for _, value in ticks)


@pytest.mark.parametrize("per_second", [-60.0, -25.0, 25.0, 60.0])
def test_the_trend_is_that_of_the_queue_beyond_its_noise(per_second: float) -> None:
    rng = random.Random(8)
    sizes = [5000.0]
    ticks = []
    for number in range(60):
        seconds = (0.5, 1.0, 1.5)[number % 3]
        sizes.append(sizes[-1] + per_second * seconds + rng.gauss(0, 20 * seconds**0.5))
        ticks.append((seconds, 0.0, sizes[-1]))
    trend = meter_of(*ticks).trend
    assert trend is not None
    assert trend.size == sizes[-1]
    assert (trend.is_falling, trend.is_growing) == (per_second < 0, per_second > 0)
    assert abs(trend.per_second - per_second) < trend.margin + 10


def test_a_queue_that_wanders_has_no_trend() -> None:
    rng, seen = random.Random(3), 0
    for _ in range(100):
        size = 5000.0
        ticks = [(1.0, 0.0, size := size + rng.gauss(0, 30)) for _ in range(25)]
        trend = meter_of(*ticks).trend
        assert trend is not None
        seen += trend.is_falling or trend.is_growing
    assert seen <= 12


def test_few_ticks_have_no_trend() -> None:
    assert meter_of(*[(1.0, 0.0, 10.0)] * FEWEST_TREND_TICKS).trend is None


def test_the_time_until_the_queue_is_empty() -> None:
    assert QueueTrend(1200, -30, 5).left_seconds == 40
    assert QueueTrend(1200, -30, 5).text == "queue 1,200, falling by 30/s: about 40 s"
    assert QueueTrend(1200, -30, 35).text == "queue 1,200"
