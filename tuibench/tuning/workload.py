"""The settings that the workload's own connections have: what they are, and what to send to each connection.

They are never set for anybody else, and need no journal: they end with the connections.
"""

from collections.abc import Callable, Mapping

from tuibench.tuning.statements import session_sql

Tell = Callable[[tuple[str, ...]], None]
"""Has every connection of the workload, present and future, run these statements."""


class Workload:
    """What the workload's connections have. `began_with` are values that its logins set by themselves."""

    def __init__(self, began_with: Mapping[str, str] | None = None) -> None:
        self.tell: Tell = lambda _: None
        self._original = dict(began_with or {})
        self._fixed = frozenset(self._original)
        self._now: dict[str, str] = {}

    def learn(self, values: Mapping[str, str]) -> None:
        """What a new connection starts with, as the server says."""
        self._original |= {name: value for name, value in values.items() if name not in self._fixed}

    @property
    def values(self) -> dict[str, str]:
        """What its connections have now, of the settings that are theirs alone."""
        return self._original | {name: value for name, value in self._now.items() if name in self._original}

    @property
    def changed(self) -> dict[str, str]:
        """The settings of its own that differ from the beginning, with the value they had then."""
        return {name: was for name, was in self._original.items() if self.values[name] != was}

    def set(self, name: str, value: str) -> None:
        """From now on its connections have this value."""
        self._now[name] = value
        self.tell(tuple(session_sql(*each) for each in self._now.items()))
