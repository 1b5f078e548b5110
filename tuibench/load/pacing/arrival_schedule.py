"""Arrival schedule of an open loop: intended start times, independent of the server's speed.

The schedule has no clock: time is an argument. A rate of 0 means a closed loop, without arrivals.
"""

from random import Random

from tuibench.clock import NS_PER_SECOND
from tuibench.model.plan import Arrival


class ArrivalSchedule:
    """Generates arrivals: with exponential gaps (a Poisson process) or evenly spaced. All times are in ns.

    Several schedules with parts of a rate add up to the total rate: Poisson processes are additive, and even
    spacing is preserved by a different `phase` of each schedule (a share of the gap, 0 to 1).
    """

    def __init__(self, numbers: Random, arrival: Arrival, phase: float = 0.0) -> None:
        self.rate = 0.0
        self.next_ns: int | None = None
        self._numbers = numbers
        self._arrival = arrival
        self._phase = phase
        self._held_ns: int | None = None
        self._passed: list[int] = []

    def set_rate(self, rate_per_second: float, now_ns: int) -> None:
        """Sets the rate from now on; arrivals that are due stay due.

        The rest of the gap to the next arrival is scaled with the rate, so that a rate that changes
        continuously (a ramp) neither adds nor loses arrivals.
        """
        if rate_per_second == self.rate:
            return
        self._passed = self.due(now_ns)
        before, self.rate = self.rate, rate_per_second
        if self.next_ns is not None and self.rate > 0:
            self.next_ns = now_ns + int((self.next_ns - now_ns) * before / self.rate)
        elif self._held_ns is None:
            self._begin(now_ns)

    def hold(self, now_ns: int) -> None:
        """Stops the schedule until `release`; arrivals that are due stay due."""
        self._passed = self.due(now_ns)
        self._held_ns = now_ns
        self.next_ns = None

    def release(self, now_ns: int) -> None:
        """Resumes the schedule."""
        if self._held_ns is not None:
            self._held_ns = None
            self._begin(now_ns)

    def due(self, now_ns: int) -> list[int]:
        """The intended starts since the last call, in order."""
        arrived, self._passed = self._passed, []
        while self.next_ns is not None and self.next_ns <= now_ns:
            arrived.append(self.next_ns)
            self.next_ns += self._gap_ns()
        return arrived

    def _begin(self, now_ns: int) -> None:
        if self.rate <= 0:
            self.next_ns = None
            return
        even = self._arrival is Arrival.CONSTANT
        first_ns = int(self._phase * NS_PER_SECOND / self.rate) if even else self._gap_ns()
        self.next_ns = now_ns + first_ns

    def _gap_ns(self) -> int:
        if self._arrival is Arrival.CONSTANT:
            return max(1, int(NS_PER_SECOND / self.rate))
        return max(1, int(self._numbers.expovariate(self.rate) * NS_PER_SECOND))
