"""Whether a load recovers from a burst: the meter of its goodput, and the trend of the queue behind it.

While everything that waits is late, goodput is near 0 whatever the queue does. Two states look the same then:
a queue that drains, after which the load is back at its level, and one that grows or stays because late
transactions are sent again. Their difference is the trend of the queue (Bronson et al., Metastable Failures
in Distributed Systems, HotOS 2021).
"""

import math
from collections import deque
from itertools import pairwise
from typing import NamedTuple

from tuibench.base.units import count
from tuibench.metrics.inference import mean_with_interval
from tuibench.model.tick import Tick

BACK_SHARE = 0.9
STEADY_TICKS, STEADY_SECONDS = 2, 2.0
"""A load has recovered when so many ticks, and so many seconds, have `BACK_SHARE` of the level before."""

TREND_SECONDS = 20.0
"""The trend of a queue is that of the latest ticks of so many seconds."""

FEWEST_TREND_TICKS, FEWEST_TREND_SECONDS = 6, 3.0


class QueueTrend(NamedTuple):
    """How the number of transactions that wait changes."""

    size: float
    per_second: float
    """Positive while it grows."""
    margin: float
    """Half of the 95 % interval of `per_second`."""

    @property
    def is_falling(self) -> bool:
        return self.per_second + self.margin < 0

    @property
    def is_growing(self) -> bool:
        return self.per_second - self.margin > 0

    @property
    def left_seconds(self) -> float:
        """Until it is empty; infinite while it does not fall."""
        return self.size / -self.per_second if self.per_second < 0 else math.inf

    @property
    def text(self) -> str:
        if self.is_falling:
            left = f"about {count(self.left_seconds)} s"
            return f"queue {count(self.size)}, falling by {count(-self.per_second)}/s: {left}"
        if self.is_growing:
            return f"queue {count(self.size)}, growing by {count(self.per_second)}/s"
        return f"queue {count(self.size)}"


class RecoveryMeter:
    """When a load is back at its level, from the ticks after a burst. Times are seconds of the run."""

    def __init__(
        self, before: float, since: float, *, settles: float = 0.0, trend_seconds: float = TREND_SECONDS
    ) -> None:
        """`before` is the level and `since` the end of the burst; the trend is that of ticks which begin
        `settles` seconds after it.
        """
        self.before = before
        self.lowest = before
        self.recovered_after: float | None = None
        """Seconds from the end of the burst; None until it is known."""
        self._since = since
        self._trend_since = since + settles
        self._trend_seconds = trend_seconds
        self._latest: deque[tuple[float, float, float]] = deque()
        """Start, seconds and value of the ticks that may be the first of a recovery."""
        self._queue: deque[tuple[float, float]] = deque()
        """The time and the size at the ends of ticks."""

    def add(self, tick: Tick, value: float) -> None:
        """Adds a tick after the burst, with its value of the figure whose level was measured."""
        self.lowest = min(self.lowest, value)
        if tick.start >= self._trend_since:
            self._queue.append((tick.end, tick.levels.get("backlog", 0.0)))
            while self._queue[-1][0] - self._queue[0][0] > self._trend_seconds:
                self._queue.popleft()
        enough = BACK_SHARE * self.before
        self._latest.append((tick.start, tick.seconds, value))
        while self._latest and (
            self._latest[0][2] < enough
            or sum(seconds * each for _, seconds, each in self._latest)
            < enough * sum(seconds for _, seconds, _ in self._latest)
        ):
            self._latest.popleft()
        seconds = sum(each for _, each, _ in self._latest)
        if len(self._latest) >= STEADY_TICKS and seconds >= STEADY_SECONDS - 1e-3:
            self.recovered_after = max(0.0, self._latest[0][0] - self._since)

    @property
    def trend(self) -> QueueTrend | None:
        """None until enough ticks have been seen."""
        points = list(self._queue)
        if len(points) <= FEWEST_TREND_TICKS or points[-1][0] - points[0][0] < FEWEST_TREND_SECONDS:
            return None
        rates = [(after - before) / (end - start) for (start, before), (end, after) in pairwise(points)]
        (start, first), (end, last) = points[0], points[-1]
        half = mean_with_interval(rates).half_width or 0.0
        return QueueTrend(last, (last - first) / (end - start), half)
