"""How many connections a session's socket serves at a time.

Each takes a descriptor and a task of the session's process, which runs the load as well. Beyond the limit a
newcomer takes the place of the oldest connection that is idle: it neither watches nor waits for an answer.
Viewers keep their places; where all connections are viewers', the newcomer is turned away.
"""

from collections.abc import Callable
from typing import Protocol

MOST_CONNECTIONS = 200


class Served(Protocol):
    """A connection. It is idle as long as no command of it is under way."""

    @property
    def is_idle(self) -> bool: ...

    def drop(self) -> None: ...


class ConnectionLimit:
    """The connections there are, the oldest first. `watches` tells viewers from callers."""

    def __init__(self, watches: Callable[[Served], bool], most: int = MOST_CONNECTIONS) -> None:
        self._watches = watches
        self._most = most
        self._open: dict[Served, None] = {}

    def admit(self, newcomer: Served) -> bool:
        """Whether it may stay. Another one may be dropped for it."""
        if len(self._open) >= self._most:
            replaced = next(filter(self._is_replaceable, self._open), None)
            if replaced is None:
                return False
            self.forget(replaced)
            replaced.drop()
        self._open[newcomer] = None
        return True

    def forget(self, ended: Served) -> None:
        self._open.pop(ended, None)

    def _is_replaceable(self, served: Served) -> bool:
        return served.is_idle and not self._watches(served)
