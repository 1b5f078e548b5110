"""When the measurement itself is in doubt, and how that is said.

A worker that burns more than 85 % of a core, or whose event loop is late (99th percentile) by more than a
tenth of the p95 it reports, limits the load: the figures then tell of the client, not of the server.
"""

from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from tuibench.metrics.figures import CPU_LIMIT, is_used_up
from tuibench.model.duration import delay_text
from tuibench.model.sample import HostPart, LoadPart
from tuibench.units import decimal, percent

LAG_LIMIT = 0.10
TICKS_LOOKED_AT = 5
TICKS_NEEDED = 3
CALM_TICKS = 10
"""So many good ticks in a row lower the alarm: one that came and went would fill the list of events."""


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


class Doubt(NamedTuple):
    """A tick in which the client was the limit, and whether its host had a processor left."""

    load: LoadPart
    host_used_up: bool

    @property
    def weight(self) -> tuple[bool, float]:
        """A worker that is full weighs more than one that is late."""
        is_full = self.load.worker_cpu > CPU_LIMIT
        return is_full, self.load.worker_cpu if is_full else self.load.lag_p99_ms

    @property
    def words(self) -> str:
        """What was the limit, first; then by how much, and what to do."""
        cpu, late = percent(100 * self.load.worker_cpu), f"{decimal(self.load.lag_p99_ms, 1)} ms"
        if self.load.worker_cpu > CPU_LIMIT:
            return (
                f"client-limited: a worker used {cpu} of a core, its loop ran {late} late (p99); "
                "the server may do more: use --workers or another host"
            )
        cause = "this host has no CPU left, a worker's" if self.host_used_up else "a worker's"
        remedy = "load from another host" if self.host_used_up else "use --workers or another host"
        return (
            f"client-limited: {cause} loop ran {late} late (p99), which latencies include; {remedy} "
            "to see the server's own"
        )


class ClientLimit:
    """Watches the ticks, so that one odd interval raises no alarm, and one good one does not lower it."""

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=TICKS_LOOKED_AT)
        self._ticks = 0
        self._limited_ticks = 0
        self._calm_ticks = 0
        self._worst: Doubt | None = None
        self.now = False
        """True while the alarm stands: from most of five ticks until ten in a row are good."""

    def look(self, load: LoadPart, host: HostPart | None = None) -> None:
        """One tick; `host` is the one that the workers share."""
        limited = is_limited(load)
        self._recent.append(limited)
        self._ticks += 1
        self._limited_ticks += limited
        self._calm_ticks = 0 if limited else self._calm_ticks + 1
        if limited:
            doubt = Doubt(load, is_used_up(host.cpu_total if host else None))
            self._worst = max(self._worst or doubt, doubt, key=lambda it: it.weight)
        self.now = sum(self._recent) >= TICKS_NEEDED or (self.now and self._calm_ticks < CALM_TICKS)

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
        return "" if self._worst is None else self._worst.words


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
