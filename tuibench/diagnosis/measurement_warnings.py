"""Warnings about the measurement itself: client-limited, host busy, host disturbed.

A worker limits the load if it uses more than 85 % of a core, or if its lateness (99th percentile) exceeds a
tenth of the p95 that it reports. On asyncio, lateness is the delay of the event loop after its timer;
natively, it is the delay of paced starts and the time that threads wait for a processor (schedstat).
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from tuibench.diagnosis.indicators import CPU_LIMIT, is_dominant_share, is_host_saturated
from tuibench.metrics.figures import read
from tuibench.model.cluster.host import LoadHost
from tuibench.model.notation import format_delay
from tuibench.model.tick import Tick
from tuibench.units import decimal, percent

LAG_LIMIT = 0.10
DISTURBED_PERCENT = 5.0
"""Steal or throttling of this share or more is a disturbance."""

TICKS_LOOKED_AT = 5
TICKS_NEEDED = 3
CALM_TICKS = 10
"""Consecutive good ticks that clear the alarm: a flapping alarm would fill the list of events."""


def simulated_network_warning(delay_ms: float) -> tuple[str, ...]:
    """The warning about a simulated network delay of at most this much."""
    if not delay_ms:
        return ()
    return (
        f"simulated network delay (--client-delay): up to {format_delay(delay_ms)} on each round trip, "
        "which the latencies include",
    )


def is_client_limited(load: Tick) -> bool:
    """True if the client was the bottleneck in this interval, or distorted the latencies."""
    p95_ms, lag_ms = read("p95", load), read("scheduling_delay", load) or 0.0
    return _is_full(load) or (p95_ms is not None and lag_ms > LAG_LIMIT * p95_ms)


def _is_full(load: Tick) -> bool:
    """True if a worker uses all of its core."""
    return (read("worker_cpu", load) or 0.0) > CPU_LIMIT


class ClientLimitTick(NamedTuple):
    """A tick in which the client was the limit, and whether its host had CPU time left. `hosts` drive the
    load, empty for this host alone.
    """

    load: Tick
    is_host_saturated: bool = False
    hosts: tuple[LoadHost, ...] = ()

    @property
    def severity(self) -> tuple[bool, float]:
        """A saturated worker is more severe than a late one."""
        is_full = _is_full(self.load)
        return is_full, read("worker_cpu" if is_full else "scheduling_delay", self.load) or 0.0

    @property
    def text(self) -> str:
        """The limit, its extent, and how to fix it."""
        is_full, worker, further = _is_full(self.load), "a worker", "another host"
        if self.hosts:
            worst = max(self.hosts, key=lambda host: host.worker_cpu if is_full else host.lag_p99_ms)
            worker, further = f"a worker of host {worst.name}", "more hosts"
        late = _milliseconds(read("scheduling_delay", self.load) or 0.0)
        if is_full:
            return (
                f"client-limited: {worker} used {percent(100 * (read('worker_cpu', self.load) or 0.0))} of a "
                f"core, scheduling delay p99 {late}; the server may do more: use --workers or {further}"
            )
        cause = "this host has no CPU left, " if self.is_host_saturated else ""
        remedy = "load from another host" if self.is_host_saturated else f"use --workers or {further}"
        return (
            f"client-limited: {cause}scheduling delay p99 {late} of {worker}; it inflates the latencies "
            f"shown; {remedy} to measure the server alone"
        )


class HostTick(NamedTuple):
    """A tick in which a host was busy with other programs, or disturbed, with the extent in percent."""

    severity: float
    text: str


class HostCpu(NamedTuple):
    """CPU usage of a host that workers run on, in percent. `name` is empty for this host."""

    name: str
    total: float
    others: float
    steal: float
    throttled: float


def cpu_of_hosts(hosts: Sequence[LoadHost], host: Tick | None) -> list[HostCpu]:
    """The hosts of the workers; `host` is this host, for a load without others."""
    if hosts:
        return [
            HostCpu(
                each.name,
                each.cpu_total,
                each.cpu_others or 0.0,
                each.cpu_steal or 0.0,
                each.cpu_throttled or 0.0,
            )
            for each in hosts
            if each.cpu_total is not None
        ]
    return [] if host is None else [cpu_of_host("", host)]


def cpu_of_host(name: str, host: Tick) -> HostCpu:
    """The CPU usage of one host. What the hypervisor took is not that of other programs."""
    total, rest, steal, throttled = (
        read(figure, host) or 0.0 for figure in ("cpu_total", "cpu_rest", "steal", "throttled")
    )
    return HostCpu(name, total, max(0.0, rest - steal), steal, throttled)


def busy_host(host: HostCpu) -> HostTick | None:
    """A host saturated by other programs. CPU time stolen by the hypervisor does not count."""
    if not is_dominant_share(host.others, host.total):
        return None
    of = f" of host {host.name}" if host.name else ""
    text = (
        f"host busy: other programs use {percent(host.others)} of CPU{of}, which skews the results; "
        "stop them or use another host"
    )
    return HostTick(host.others, text)


def disturbed_host(host: HostCpu) -> HostTick | None:
    """A host that does not get the CPU time that it requests."""
    most = max(host.steal, host.throttled)
    if most < DISTURBED_PERCENT:
        return None
    name = f"host {host.name}: " if host.name else ""
    if host.steal >= host.throttled:
        text = f"{percent(most)} steal: the hypervisor gives the CPU to other guests; use another host"
    else:
        text = f"its control group is throttled {percent(most)} of the time; raise its CPU limit"
    return HostTick(most, f"host disturbed: {name}{text}")


def worst_of(ticks: Iterable[HostTick | None]) -> HostTick | None:
    """The most severe one; None without any."""
    return max((tick for tick in ticks if tick), key=lambda tick: tick.severity, default=None)


def _milliseconds(value: float) -> str:
    return f"{decimal(value, 1 if value >= 1 else 2)} ms"


TickT = TypeVar("TickT", ClientLimitTick, HostTick)


class TickAlarm(Generic[TickT]):
    """Alarm with hysteresis, so that a single bad tick does not raise it and a single good one does not clear
    it.

    `now` is True from most of five ticks bad until ten consecutive ticks are good.
    """

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=TICKS_LOOKED_AT)
        self._ticks = 0
        self._bad_ticks = 0
        self._calm_ticks = 0
        self._worst: TickT | None = None
        self.now = False

    def add(self, tick: TickT | None) -> None:
        """Add a tick; None for a good one."""
        is_bad = tick is not None
        self._recent.append(is_bad)
        self._ticks += 1
        self._bad_ticks += is_bad
        self._calm_ticks = 0 if is_bad else self._calm_ticks + 1
        if tick is not None and (self._worst is None or tick.severity > self._worst.severity):
            self._worst = tick
        self.now = sum(self._recent) >= TICKS_NEEDED or (self.now and self._calm_ticks < CALM_TICKS)

    @property
    def overall(self) -> bool:
        """True if more than a quarter of all ticks were bad."""
        return self._bad_ticks * 4 > self._ticks

    @property
    def text(self) -> str:
        """The warning of the worst tick; empty without one."""
        return "" if self._worst is None else self._worst.text


class ClientLimit:
    """Alarms about the client and its host.

    Lateness has one warning: if other programs or the hypervisor take the CPU time, they are the cause,
    and the client is the limit only if a worker is saturated.
    """

    def __init__(self) -> None:
        self._client: TickAlarm[ClientLimitTick] = TickAlarm()
        self._busy: TickAlarm[HostTick] = TickAlarm()
        self._disturbed: TickAlarm[HostTick] = TickAlarm()

    def add(self, load: Tick, host: Tick | None = None, hosts: tuple[LoadHost, ...] = ()) -> None:
        """Add a tick; `host` is this host, if it was sampled, and `hosts` those that drive the load."""
        usage = cpu_of_hosts(hosts, host)
        busy, disturbed = worst_of(map(busy_host, usage)), worst_of(map(disturbed_host, usage))
        self._busy.add(busy)
        self._disturbed.add(disturbed)
        is_explained = (busy or disturbed) is not None and not _is_full(load)
        is_saturated = not hosts and is_host_saturated(read("cpu_total", host))
        limited = is_client_limited(load) and not is_explained
        self._client.add(ClientLimitTick(load, is_saturated, hosts) if limited else None)

    @property
    def now(self) -> bool:
        """True while the client is the limit."""
        return self._client.now

    @property
    def raised(self) -> frozenset[str]:
        """The names of the active alarms."""
        return frozenset(text.partition(":")[0] for text in self.active_warnings)

    @property
    def overall(self) -> bool:
        """True if the run as a whole was limited by the client."""
        return self._client.overall

    @property
    def active_warnings(self) -> tuple[str, ...]:
        """The active warnings."""
        return tuple(alarm.text for alarm in self._alarms if alarm.now)

    @property
    def overall_warnings(self) -> tuple[str, ...]:
        """The warnings about the run as a whole."""
        return tuple(alarm.text for alarm in self._alarms if alarm.overall)

    def text(self) -> str:
        """The warning that the client is the limit, with how to fix it."""
        return self._client.text

    @property
    def _alarms(self) -> tuple[TickAlarm[ClientLimitTick] | TickAlarm[HostTick], ...]:
        return self._client, self._busy, self._disturbed


def missing_worker_warnings(unresponsive: Collection[str]) -> tuple[str, ...]:
    """The warning that workers or hosts, by name, did not report the end of their load."""
    return tuple(
        f"incomplete: {name} did not answer at the end; its last work is missing from the figures"
        for name in unresponsive
    )


def measurement_warnings(
    max_client_delay_ms: float, limit: ClientLimit, unresponsive: Collection[str] = ()
) -> tuple[str, ...]:
    """The warnings about the measurement as a whole."""
    return (
        *simulated_network_warning(max_client_delay_ms),
        *limit.overall_warnings,
        *missing_worker_warnings(unresponsive),
    )
