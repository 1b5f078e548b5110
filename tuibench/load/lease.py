"""Lease of a load: the load continues only while messages from the session arrive.

    session ──Beat──> agent ──RenewLease──> worker      every half second
                      3 s without one: the load ends, transactions in flight have 2 s more

The processes that run the load hold the lease themselves: the load of an agent that is stopped, or cut off
from its session, ends as that of one that was killed does.
"""

from tuibench.clock import NS_PER_SECOND


class Lease:
    """Expires unless renewed. Time is an argument; with `seconds` 0 it never expires."""

    def __init__(self, seconds: float, now_ns: int) -> None:
        self._ns = round(seconds * NS_PER_SECOND)
        self._until_ns = now_ns + self._ns
        self._has_ended = False

    def end(self) -> None:
        """Ends the lease now."""
        self._has_ended = True

    def renew(self, now_ns: int) -> None:
        """Renews the lease, unless it has expired: a load that was ordered to end does not continue."""
        if not self.is_over(now_ns):
            self._until_ns = now_ns + self._ns

    def is_over(self, now_ns: int) -> bool:
        return self._has_ended or (bool(self._ns) and now_ns >= self._until_ns)

    def seconds_left(self, now_ns: int) -> float | None:
        """Seconds until it expires; None if it does not."""
        return max(0, self._until_ns - now_ns) / NS_PER_SECOND if self._ns else None
