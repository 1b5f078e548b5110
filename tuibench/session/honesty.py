"""When the measurement itself is in doubt, and how that is said.

A worker that burns more than 85 % of a core, or whose event loop is late (99th percentile) by more than a
tenth of the p95 it reports, limits the load: the figures then tell of the client, not of the server.
"""

from collections import deque
from collections.abc import Collection

from tuibench.metrics.figures import CPU_LIMIT
from tuibench.model.duration import delay_text
from tuibench.model.sample import LoadPart

LAG_LIMIT = 0.10
TICKS_LOOKED_AT = 5
TICKS_NEEDED = 3


def simulated(delay_ms: float) -> tuple[str, ...]:
    """The warning that the network was made to look longer than it is, by up to so much."""
    if not delay_ms:
        return ()
    return (
        f"simulated: the network was made to look up to {delay_text(delay_ms)} longer on each round trip "
        "(--client-delay); latencies include that",
    )


def is_limited(load: LoadPart) -> bool:
    """True if the client, in this interval, was the bottleneck or blurred the latencies."""
    p95_ms = load.latency.p95 if load.latency else None
    late = p95_ms is not None and load.lag_p99_ms > LAG_LIMIT * p95_ms
    return load.worker_cpu > CPU_LIMIT or late


class ClientLimit:
    """Watches the ticks, so that one odd interval raises no alarm. Limited: most of the last five."""

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=TICKS_LOOKED_AT)
        self._ticks = 0
        self._limited_ticks = 0
        self._worst: LoadPart | None = None

    def look(self, load: LoadPart) -> None:
        limited = is_limited(load)
        self._recent.append(limited)
        self._ticks += 1
        self._limited_ticks += limited
        if limited and (self._worst is None or load.worker_cpu >= self._worst.worker_cpu):
            self._worst = load

    @property
    def now(self) -> bool:
        """True while the alarm stands."""
        return sum(self._recent) >= TICKS_NEEDED

    @property
    def overall(self) -> bool:
        """True if the run as a whole cannot be trusted: more than a quarter of its ticks were limited."""
        return self._limited_ticks * 4 > self._ticks

    @property
    def standing(self) -> tuple[str, ...]:
        """The warning, while the alarm stands."""
        return (self.words(),) if self.now else ()

    def words(self) -> str:
        """The warning, with what to do."""
        worst = self._worst
        if worst is None:
            return ""
        return (
            f"client-limited: a worker used {worst.worker_cpu:.0%} of a core, its loop ran "
            f"{worst.lag_p99_ms:.1f} ms late (p99); the server may do more: use --workers or another host"
        )


def incomplete(unheard: Collection[int]) -> tuple[str, ...]:
    """The warning that workers, by their process ids, did not answer in the end."""
    return tuple(
        f"incomplete: worker process {pid} did not answer in the end; no figure holds what it did last"
        for pid in unheard
    )


def doubts(longest_delay_ms: float, limit: ClientLimit, unheard: Collection[int] = ()) -> tuple[str, ...]:
    """The warnings about the measurement as a whole."""
    limited = (limit.words(),) if limit.overall else ()
    return (*simulated(longest_delay_ms), *limited, *incomplete(unheard))
