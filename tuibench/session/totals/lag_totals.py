"""How far the replicas were behind over a whole session."""

from collections.abc import Sequence

from tuibench.model.measurements.sample import ReplicaSample
from tuibench.model.results.summary import ReplicationTotals


class LagTotals:
    """Ticks in, the worst of all out."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._seconds: float | None = None
        self._bytes: int | None = None
        self._stopped_ticks = 0

    def add(self, replicas: Sequence[ReplicaSample]) -> None:
        """One tick."""
        for each in replicas:
            self._names.add(each.name)
            if each.lag_seconds is not None:
                self._seconds = max(self._seconds or 0.0, each.lag_seconds)
            if each.lag_bytes is not None:
                self._bytes = max(self._bytes or 0, each.lag_bytes)
        self._stopped_ticks += any(not each.is_running for each in replicas)

    def total(self) -> ReplicationTotals | None:
        """The session's; None where it read no replica."""
        if not self._names:
            return None
        return ReplicationTotals(
            replicas=tuple(sorted(self._names)),
            lag_max_seconds=self._seconds,
            lag_max_bytes=self._bytes,
            stopped_ticks=self._stopped_ticks,
        )
