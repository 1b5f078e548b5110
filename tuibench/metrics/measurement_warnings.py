"""Warnings about the measurement itself (client-limited, host busy, host disturbed), and the evidence for a
diagnosis of the bottleneck.

A worker limits the load if it uses more than 85 % of a core, or if its lateness (99th percentile) exceeds a
tenth of the p95 that it reports. On asyncio, lateness is the delay of the event loop after its timer. In the
native engine, it is the delay of paced starts and the time that threads wait for a processor (schedstat).

Evidence is collected from samples: means of gauges, and growth of counters.
"""

import math
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from statistics import median

from tuibench.base.units import decimal, percent
from tuibench.metrics.figures import read
from tuibench.metrics.series import ratio
from tuibench.model.callers import CallerPolicy, OnDeadline
from tuibench.model.cluster import LoadHost
from tuibench.model.counters import Counter
from tuibench.model.findings import Evidence
from tuibench.model.hardware import Hardware
from tuibench.model.schedule import format_delay
from tuibench.model.server import Flavour, ServerInfo
from tuibench.model.tick import HOST, RESPONSE, SERVICE, STATEMENT, US_PER_MS, Sample, Tick, total_tick

COMMIT = "commit"
"""The name of the last statement of explicit transactions in the samples."""

CPU_LIMIT = 0.85
"""A worker that uses a larger share of a core limits the load."""

BUSY_PERCENT = 88.0
"""A host with a higher CPU usage is saturated: the scheduler and the sampling need the rest."""

IDLE_PERCENT = 75.0
DOMINANT_SHARE = 0.25
COMMIT_SHARE, COMMIT_FSYNCS = 0.35, 0.02
TABLE_MISSES_PERCENT, DISK_READS = 1.0, 1.0

RATE_MET = 0.95
MAX_BACKLOG_SECONDS = 0.5

LATE_SHARE, MIN_LATE_MS = 0.5, 500.0
"""A tick whose lateness exceeds both this share of its interval and this time in ms indicates a lack of CPU
time.
"""

STARVED_LAG_MS = 250.0
"""Scheduling delay (p99) of a worker's event loop above which the worker lacks CPU time."""


def is_rate_met(tps: float, rate: float, backlog: int, half_width: float = 0.0) -> bool:
    """True if the server reached the target rate, within the random variation of arrivals."""
    is_short = tps < (RATE_MET - half_width / 2) * rate
    return not is_short and backlog <= max(5.0, MAX_BACKLOG_SECONDS * rate)


def is_host_saturated(cpu_total: float | None) -> bool:
    """True if a host has no CPU time left; False if its CPU usage is unknown."""
    return (cpu_total or 0.0) >= BUSY_PERCENT


def is_dominant_share(part: float | None, cpu_total: float | None) -> bool:
    """True if one part uses a quarter or more of a saturated host's CPU time."""
    return is_host_saturated(cpu_total) and (part or 0.0) >= DOMINANT_SHARE * (cpu_total or 0.0)


def is_delayed_by_host(worker_cpu: float, cpu_total: float | None, cpu_others: float | None) -> bool:
    """True if workers are late only because the server saturates the host that they share with it.

    They could send more; only the latencies contain their delay. `worker_cpu` is a share of a core, the
    host's figures are percentages.
    """
    return (
        worker_cpu <= CPU_LIMIT
        and is_host_saturated(cpu_total)
        and not is_dominant_share(cpu_others, cpu_total)
    )


def is_host_starved(sample: Sample, interval_seconds: float) -> bool:
    """True if this process or a worker waited for a processor during the tick."""
    is_late = sample.late_ms > max(MIN_LATE_MS, 1000 * LATE_SHARE * interval_seconds)
    return is_late or (read("scheduling_delay", sample.load) or 0.0) > STARVED_LAG_MS


LAG_LIMIT = 0.10
DISTURBED_PERCENT = 5.0
"""Steal of at least this percentage disturbs the measurement; throttling of at least this percentage limits
the client.
"""

TICKS_LOOKED_AT = 5
TICKS_NEEDED = 3
CALM_TICKS = 10
"""Consecutive good ticks that clear the alarm; an alarm that flaps would fill the list of events."""


def simulated_network_warning(delay_ms: float) -> tuple[str, ...]:
    """The warning about a simulated network delay of at most `delay_ms`."""
    if not delay_ms:
        return ()
    return (
        f"simulated network delay (--client-delay): up to {format_delay(delay_ms)} on each round trip, "
        "which the latencies include",
    )


LEAST_MARIADB, LEAST_MYSQL = (10, 1, 1), (5, 7, 8)
"""The first versions with a limit of statements."""


def time_limit_warning(policy: CallerPolicy, server: ServerInfo) -> tuple[str, ...]:
    """By which limit of the server `--on-deadline=kill` ends statements, and which ones."""
    if policy.on_deadline is not OnDeadline.KILL or not policy.deadline_ms:
        return ()
    is_mariadb, after = server.flavour is Flavour.MARIADB, format_delay(policy.deadline_ms)
    if server.version_tuple < (LEAST_MARIADB if is_mariadb else LEAST_MYSQL):
        said = f"this server ({server.version}) has no limit of statements: it ends none"
    elif is_mariadb:
        said = f"max_statement_time ends every statement after {after}"
    else:
        said = f"max_execution_time ends each SELECT after {after}; the server goes on with writes and CALL"
    return (f"--on-deadline=kill: {said}",)


def simulated_hardware_warning(hardware: Hardware, limits: str) -> tuple[str, ...]:
    """The warnings about simulated hardware; `limits` are those of processors and memory in words."""
    disk = hardware.disk
    found = () if disk == Hardware() else (f"simulated disk: {disk}; without asynchronous I/O",)
    return (*found, f"the server was limited to {limits}") if limits else found


def is_client_limited(load: Tick) -> bool:
    """True if the client was the bottleneck in this interval, or distorted the latencies."""
    p95_ms, lag_ms = read("p95", load), read("scheduling_delay", load) or 0.0
    return _is_full(load) or (p95_ms is not None and lag_ms > LAG_LIMIT * p95_ms)


def _is_full(load: Tick) -> bool:
    """True if a worker uses all of its core."""
    return (read("worker_cpu", load) or 0.0) > CPU_LIMIT


BadTick = tuple[tuple[float, ...], str]
"""A tick to warn about: its severity, compared with ticks of the same warning, and the text."""


def limiting_client(load: Tick, hosts: Sequence[LoadHost], *, is_saturated: bool) -> BadTick:
    """The warning about a tick in which the client was the limit, with the remedy. `hosts` drive the load; if
    there are none, this host does, and `is_saturated` is True if it has no CPU time left. A saturated worker
    is more severe than a late one.
    """
    is_full, worker, further = _is_full(load), "a worker", "another host"
    cpu, late_ms = read("worker_cpu", load) or 0.0, read("scheduling_delay", load) or 0.0
    if hosts:
        worst = max(hosts, key=lambda host: host.worker_cpu if is_full else host.lag_p99_ms)
        worker, further = f"a worker of host {worst.name}", "more hosts"
    late = f"scheduling delay p99 {decimal(late_ms, 1 if late_ms >= 1 else 2)} ms"
    if is_full:
        text = (
            f"{worker} used {percent(100 * cpu)} of a core, {late}; the server may do more: use --workers or "
            f"{further}"
        )
        return ((True, cpu), f"client-limited: {text}")
    cause = "this host has no CPU left, " if is_saturated else ""
    remedy = "load from another host" if is_saturated else f"use --workers or {further}"
    text = f"{cause}{late} of {worker}; it inflates the latencies shown; {remedy} to measure the server alone"
    return ((False, late_ms), f"client-limited: {text}")


def cpu_of_hosts(hosts: Sequence[LoadHost], host: Tick | None) -> Sequence[LoadHost]:
    """The hosts of the workers. If there are none, this host, sampled as `host`, without a name."""
    return hosts or ([] if host is None else [cpu_of_host("", host)])


def cpu_of_host(name: str, host: Tick) -> LoadHost:
    """The CPU usage of one host. CPU time stolen by the hypervisor is not that of other programs."""
    total, rest, steal, throttled = (
        read(figure, host) or 0.0 for figure in ("cpu_total", "cpu_rest", "steal", "throttled")
    )
    return LoadHost(
        name=name,
        cpu_total=total,
        cpu_others=max(0.0, rest - steal),
        cpu_steal=steal,
        cpu_throttled=throttled,
    )


def busy_host(host: LoadHost) -> BadTick | None:
    """A host saturated by other programs. CPU time stolen by the hypervisor does not count."""
    others = host.cpu_others or 0.0
    if not is_dominant_share(others, host.cpu_total):
        return None
    return ((others,), busy_text(others, host.name))


def busy_text(others: float | None, host: str = "") -> str:
    """What the percentage of CPU that other programs use means, and the remedy."""
    of = f" of host {host}" if host else ""
    return (
        f"host busy: other programs use {percent(others)} of CPU{of}, which skews the results; "
        "stop them or use another host"
    )


def disturbed_host(host: LoadHost) -> BadTick | None:
    """A host whose CPU time goes to other guests."""
    steal = host.cpu_steal or 0.0
    if steal < DISTURBED_PERCENT:
        return None
    name = f"host {host.name}: " if host.name else ""
    text = f"{percent(steal)} steal: the hypervisor gives the CPU to other guests; use another host"
    return ((steal,), f"host disturbed: {name}{text}")


def throttled_client(host: LoadHost) -> BadTick | None:
    """A host on which the CPU limit of the workers' own control group (such as a container's) stops them."""
    throttled = host.cpu_throttled or 0.0
    if throttled < DISTURBED_PERCENT:
        return None
    of = f" of host {host.name}" if host.name else ""
    text = (
        f"the CPU limit of the control group{of} stopped the client {percent(throttled)} of the time; the "
        "server may do more: raise the limit, or use another host"
    )
    return ((True, throttled / 100), f"client-limited: {text}")


def worst_of(ticks: Iterable[BadTick | None]) -> BadTick | None:
    """The most severe tick; None if there is none."""
    return max((tick for tick in ticks if tick), key=itemgetter(0), default=None)


def warning_name(text: str) -> str:
    """The name of a warning, which its text begins with: the figures in it differ from time to time."""
    return text.partition(":")[0]


class TickAlarm:
    """Alarm with hysteresis: a single bad tick does not raise it, and a single good one does not clear it.

    `now` becomes True if most of five ticks are bad, and remains True until ten consecutive ticks are good.
    """

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=TICKS_LOOKED_AT)
        self._ticks = 0
        self._bad_ticks = 0
        self._calm_ticks = 0
        self._worst: BadTick | None = None
        self.now = False

    def add(self, tick: BadTick | None) -> None:
        """Add a tick; None is a good one."""
        is_bad = tick is not None
        self._recent.append(is_bad)
        self._ticks += 1
        self._bad_ticks += is_bad
        self._calm_ticks = 0 if is_bad else self._calm_ticks + 1
        if tick is not None and (self._worst is None or tick[0] > self._worst[0]):
            self._worst = tick
        self.now = sum(self._recent) >= TICKS_NEEDED or (self.now and self._calm_ticks < CALM_TICKS)

    @property
    def overall(self) -> bool:
        """True if more than a quarter of all ticks were bad."""
        return self._bad_ticks * 4 > self._ticks

    @property
    def text(self) -> str:
        """The warning of the worst tick; empty if no tick was bad."""
        return "" if self._worst is None else self._worst[1]


class ClientLimit:
    """Alarms about the client and its host.

    Lateness has only one warning. If other programs or the hypervisor take the CPU time, they are the cause,
    and the client is the limit only if a worker is saturated. A worker that its CPU limit stops is the limit,
    however little CPU it uses.
    """

    def __init__(self) -> None:
        self._client, self._busy, self._disturbed = self._alarms = tuple(TickAlarm() for _ in range(3))

    def add(self, load: Tick, host: Tick | None = None, hosts: tuple[LoadHost, ...] = ()) -> None:
        """Add a tick. `host` is this host if it was sampled, `hosts` are those that drive the load."""
        usage = cpu_of_hosts(hosts, host)
        busy, disturbed = worst_of(map(busy_host, usage)), worst_of(map(disturbed_host, usage))
        self._busy.add(busy)
        self._disturbed.add(disturbed)
        is_explained = (busy or disturbed) is not None and not _is_full(load)
        is_saturated = not hosts and is_host_saturated(read("cpu_total", host))
        limited = is_client_limited(load) and not is_explained
        throttled = worst_of(map(throttled_client, usage))
        late = limiting_client(load, hosts, is_saturated=is_saturated) if limited else None
        self._client.add(throttled or late)

    @property
    def now(self) -> bool:
        """True while the client is the limit."""
        return self._client.now

    @property
    def raised(self) -> frozenset[str]:
        """The names of the active alarms."""
        return frozenset(map(warning_name, self.active_warnings))

    @property
    def overall(self) -> bool:
        """True if the client limited the run as a whole."""
        return self._client.overall

    @property
    def active_warnings(self) -> tuple[str, ...]:
        return tuple(alarm.text for alarm in self._alarms if alarm.now)

    @property
    def overall_warnings(self) -> tuple[str, ...]:
        """The warnings about the run as a whole."""
        return tuple(alarm.text for alarm in self._alarms if alarm.overall)

    def text(self) -> str:
        """The warning that the client is the limit, with the remedy."""
        return self._client.text


def measurement_warnings(
    max_client_delay_ms: float, limit: ClientLimit, unresponsive: Collection[str] = ()
) -> tuple[str, ...]:
    """The warnings about the measurement as a whole."""
    return (
        *simulated_network_warning(max_client_delay_ms),
        *limit.overall_warnings,
        *(
            f"incomplete: {name} did not answer at the end; its last work is missing from the figures"
            for name in unresponsive
        ),
    )


OWN_THREAD = 1.0
"""The thread that reads the server's figures is itself counted as running."""


def collect_evidence(
    samples: Sequence[Sample], *, is_local: bool = True, round_trip_ms: float | None = None
) -> Evidence:
    """Collect the evidence from the measured samples.

    `is_local` is True if the server runs on this host; `round_trip_ms` is the round trip of an idle network.
    """
    loads = [sample.load for sample in samples if sample.load is not None]
    servers = [sample.server for sample in samples if sample.server is not None]
    hosts = [sample.host for sample in samples if sample.host is not None]
    whole = total_tick(sample.tick for sample in samples)
    host = whole if hosts else None
    attempted = (read("tps", whole) or 0.0) + (read("errors_per_second", whole) or 0.0)
    rate = _mean(samples, "target_rate") or 0.0
    backlog = int(read("backlog", loads[-1]) or 0) if loads else 0
    newest = servers[-1] if servers else None
    in_flight = ratio(_latency_us(whole), 1e6 * whole.seconds)
    running = _mean(samples, "threads_running", less=OWN_THREAD)
    # COMMIT's share of the transactions' time; None for a profile without explicit transactions.
    commits = whole.hists.get(STATEMENT + COMMIT)
    # The approximate share of other clients' statements: client and server are read at different moments.
    theirs = read("questions", whole)
    return Evidence(
        threads=_mean(samples, "requested_threads") or 0.0,
        connections=int(max((read("open_connections", load) or 0 for load in loads), default=0)),
        rate=rate,
        is_rate_met=bool(rate) and is_rate_met(attempted, rate, backlog),
        backlog=backlog,
        client_limited_share=_weighted_mean((is_client_limited(load), load.seconds) for load in loads) or 0.0,
        worker_cpu=read("worker_cpu", whole) or 0.0,
        lag_ms=read("scheduling_delay", whole) or 0.0,
        usual_lag_ms=median(read("scheduling_delay", load) or 0.0 for load in loads) if loads else 0.0,
        network_share=_network_share(whole, round_trip_ms),
        cpu_total=read("cpu_total", host),
        cpu_server=read("cpu_server", host),
        cpu_tuibench=read("cpu_tuibench", host),
        cpu_others=others_percent(host, is_local=is_local) if host else None,
        threads_running=running,
        in_flight=in_flight,
        outside_ms=_outside_ms(whole, in_flight, running, round_trip_ms or 0.0),
        lock_waiters=read("lock_waiters", whole),
        commit_share=None if commits is None else ratio(commits.sum_us, _latency_us(whole)),
        log_fsyncs_per_transaction=read("fsyncs", whole),
        log_waits_per_second=read("innodb_log_waits", whole),
        table_misses_percent=read("table_misses", whole),
        open_tables=_level(newest, Counter.OPEN_TABLES),
        table_open_cache=_level(newest, "table_open_cache"),
        buffer_pool_hit=read("pool_hit", whole),
        disk_reads_per_transaction=read("disk_reads", whole),
        foreign_percent=max(0.0, 100 * (1 - (read("qps", whole) or 0.0) / theirs)) if theirs else None,
    )


def _level(tick: Tick | None, name: str) -> int | None:
    return None if tick is None or name not in tick.levels else int(tick.levels[name])


def others_percent(host: Tick, *, is_local: bool) -> float | None:
    """The CPU share of other programs; None if the server runs on this host but its process was not found."""
    is_known = HOST + "server_cpu" in host.sums or not (is_local or HOST + "local" in host.missing)
    return read("cpu_rest", host) if is_known else None


def _latency_us(whole: Tick) -> float:
    """The total time of all transactions, without the wait for a free connection."""
    return (whole.hists.get(SERVICE) or whole.hist(RESPONSE)).sum_us


def _network_share(whole: Tick, round_trip_ms: float | None) -> float | None:
    """The share of the transactions' time in which a query or its response is in the network."""
    if round_trip_ms is None:
        return None
    trip_us = US_PER_MS * (round_trip_ms + whole.levels.get("client_delay_ms", 0.0))
    share = ratio(whole.sums.get("queries", 0.0) * trip_us, _latency_us(whole))
    return None if share is None else min(1.0, share)


def _mean(samples: Sequence[Sample], figure: str, less: float = 0.0) -> float | None:
    """The mean of a figure minus `less`, never below 0, weighted by the lengths of the ticks."""
    values = ((read(figure, sample.tick), sample.tick.seconds) for sample in samples)
    return _weighted_mean((None if value is None else max(0.0, value - less), each) for value, each in values)


def _weighted_mean(values: Iterable[tuple[float | None, float]]) -> float | None:
    """The mean of the known values, weighted by the lengths of their ticks in seconds."""
    known = [(value, seconds) for value, seconds in values if value is not None]
    return ratio(math.fsum(value * seconds for value, seconds in known), math.fsum(each for _, each in known))


def _outside_ms(
    whole: Tick, in_flight: float | None, running: float | None, round_trip_ms: float
) -> float | None:
    """The mean time of a query outside the server, by Little's law, without known network delays; in ms."""
    qps = read("qps", whole)
    if in_flight is None or running is None or not qps:
        return None
    delay_ms = round_trip_ms + whole.levels.get("client_delay_ms", 0.0)
    return max(0.0, 1000 * (in_flight - running) / qps - delay_ms)
