"""How evenly the work of one worker is spread over its connections, those that have left included."""

from collections.abc import Iterable
from typing import NamedTuple

from tuibench.load.report import Moments
from tuibench.load.user import VirtualUser


class Share(NamedTuple):
    """Transactions and busy seconds of users, one value each; refused ones never took part."""

    events: Moments = Moments()
    seconds: Moments = Moments()

    @classmethod
    def of(cls, users: Iterable[VirtualUser]) -> "Share":
        admitted = [user for user in users if user.admitted]
        return cls(
            Moments.of([float(user.transactions.events) for user in admitted]),
            Moments.of([user.transactions.busy_us / 1e6 for user in admitted]),
        )

    @classmethod
    def since_checkpoint(cls, users: Iterable[VirtualUser]) -> "Share":
        """The same, of what they have done since the last checkpoint."""
        admitted = [user for user in users if user.admitted]
        return cls(
            Moments.of([float(user.transactions.events_since) for user in admitted]),
            Moments.of([user.transactions.busy_us_since / 1e6 for user in admitted]),
        )

    def merged(self, other: "Share") -> "Share":
        return Share(self.events + other.events, self.seconds + other.seconds)


class Shares:
    """What the users that have left did: since the beginning, and since the last checkpoint."""

    def __init__(self) -> None:
        self._left = Share()
        self._left_since = Share()

    def keep(self, users: Iterable[VirtualUser]) -> None:
        """These have left; their figures stay."""
        users = tuple(users)
        self._left = self._left.merged(Share.of(users))
        self._left_since = self._left_since.merged(Share.since_checkpoint(users))

    def checkpoint(self) -> None:
        self._left_since = Share()

    def forget(self) -> None:
        self._left = self._left_since = Share()

    def with_those(self, users: Iterable[VirtualUser]) -> tuple[Share, Share]:
        """All shares, those of present users too: since the beginning, and since the last checkpoint."""
        users = tuple(users)
        return self._left.merged(Share.of(users)), self._left_since.merged(Share.since_checkpoint(users))
