"""Distribution of the work of a worker over its connections, closed ones included."""

from collections.abc import Iterable

from tuibench.load.engine.asyncio.virtual_user import VirtualUser
from tuibench.load.engine.base import ConnectionFairness
from tuibench.load.worker_report import FairnessStats

US_PER_SECOND = 1e6


def fairness_of(users: Iterable[VirtualUser]) -> ConnectionFairness:
    """The figures of users since the start."""
    admitted = [user.transactions for user in users if user.admitted]
    return ConnectionFairness(
        FairnessStats.of([float(each.events) for each in admitted]),
        FairnessStats.of([each.busy_us / US_PER_SECOND for each in admitted]),
    )


def fairness_since_checkpoint(users: Iterable[VirtualUser]) -> ConnectionFairness:
    """The figures of users since the last checkpoint."""
    admitted = [user.transactions for user in users if user.admitted]
    return ConnectionFairness(
        FairnessStats.of([float(each.events_since) for each in admitted]),
        FairnessStats.of([each.busy_us_since / US_PER_SECOND for each in admitted]),
    )


class FairnessTracker:
    """The figures of users that have left: since the start, and since the last checkpoint."""

    def __init__(self) -> None:
        self._left = ConnectionFairness()
        self._left_since = ConnectionFairness()

    def keep(self, users: Iterable[VirtualUser]) -> None:
        """Keeps the figures of users that have left."""
        users = tuple(users)
        self._left = self._left.merged(fairness_of(users))
        self._left_since = self._left_since.merged(fairness_since_checkpoint(users))

    def checkpoint(self) -> None:
        self._left_since = ConnectionFairness()

    def reset(self) -> None:
        self._left = self._left_since = ConnectionFairness()

    def merged_with(self, users: Iterable[VirtualUser]) -> tuple[ConnectionFairness, ConnectionFairness]:
        """The figures of all users, present ones included: since the start, and since the last checkpoint."""
        users = tuple(users)
        since = fairness_since_checkpoint(users)
        return self._left.merged(fairness_of(users)), self._left_since.merged(since)
