"""Users that share the connections of a worker, as with a connection pool.

Each user asks for a connection, waits until one is free, has its transaction run, thinks, and asks again. The
intended start of a transaction is the time at which its user asked: the response time contains the wait for a
connection, the service time does not. There are never more transactions on their way than users.

The pool has no clock: time is an argument. All times are nanoseconds.
"""

from heapq import heapify, heappop, heappush


class UserPool:
    """The users that neither wait for a connection nor have one, by the time of their next request."""

    def __init__(self) -> None:
        self.users = 0
        self._leaving = 0
        self._next_ns: list[int] = []
        self._is_held = False

    @property
    def is_used(self) -> bool:
        """Whether there are users, including those that still have to leave."""
        return self.users > 0 or self._leaving > 0

    @property
    def leaving(self) -> int:
        """The number of users that leave at the end of their transaction."""
        return self._leaving

    @property
    def next_ns(self) -> int | None:
        """The time of the next request; None while held, or if every user waits or is served."""
        return self._next_ns[0] if self._next_ns and not self._is_held else None

    def set_users(self, users: int, now_ns: int) -> None:
        """Sets the number of users: new ones ask at once, others leave, some after their transaction."""
        more, self.users = users - self.users, users
        returning = min(self._leaving, max(0, more))
        self._leaving -= returning
        for _ in range(more - returning):
            heappush(self._next_ns, now_ns)
        for _ in range(-more):
            if self._next_ns:
                self._next_ns.remove(max(self._next_ns))
                heapify(self._next_ns)
            else:
                self._leaving += 1

    def hold(self) -> None:
        """No user requests a connection until `release`."""
        self._is_held = True

    def release(self, now_ns: int) -> None:
        """Resumes requests; users whose time has passed request a connection now."""
        if self._is_held:
            self._is_held = False
            self._next_ns = [max(at_ns, now_ns) for at_ns in self._next_ns]
            heapify(self._next_ns)

    def due(self, now_ns: int, most: int | None) -> list[int]:
        """The times of the requests since the last call, in order, at most `most` (None: all)."""
        asked: list[int] = []
        while (at_ns := self.next_ns) is not None and at_ns <= now_ns and (most is None or len(asked) < most):
            asked.append(heappop(self._next_ns))
        return asked

    def came_back(self, at_ns: int) -> None:
        """A user's transaction has ended; it requests the next one at this time, unless it must leave."""
        if self._leaving:
            self._leaving -= 1
        else:
            heappush(self._next_ns, at_ns)
