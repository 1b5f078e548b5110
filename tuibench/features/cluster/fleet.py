"""The hosts of a load: their connections (`Cluster`), and their work as one fleet (`HostFleet`).

    running ──silent for half a lease──> silent ──for lease and grace──> lost ──connects again──> a new host

A separate task sends the beats: a tick that waits for one host must not let the leases of the others expire.

When lease and grace of a lost host have expired, its load has certainly ended. The other hosts then open its
connections under new numbers, because a number that is used again would repeat its stream of random values. A
host that returns counts as a new one, and gets its share of the connections.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import RunError, TuibenchError, UsageError
from tuibench.base.units import pluralize
from tuibench.features.cluster.agent import is_same_machine
from tuibench.features.cluster.carrier import Carrier, HostUnreachableError
from tuibench.features.cluster.host import (
    CommandTiming,
    Discover,
    HostLink,
    HostLoss,
    LostHost,
    host_line,
    local_endpoint,
)
from tuibench.features.cluster.messages import BEAT_SECONDS, sum_by_name
from tuibench.load.fleet import AnyLink, Fleet, WorkerGoneError, closed, open_files_of_worker
from tuibench.load.messages import Reassign, StartLoad, WorkerReport
from tuibench.model.cluster import MOST_HOSTS, ClusterPlan, LoadHost, OnHostLoss
from tuibench.model.plan import RunPlan
from tuibench.model.server import Target
from tuibench.mysql.connection import CHARSET
from tuibench.workload.program import Program

RETRY_SECONDS = 5.0
"""Seconds between two attempts to reconnect a lost host."""

MAX_PARALLEL_CONNECTS = 32


class Cluster:
    """Keeps the hosts of a load connected.

    `hosts` are the connected hosts, `arrivals` those of them that the fleet has not taken yet. `notices` are
    messages for the operator. `warnings` name the hosts that were left out at the start.
    """

    def __init__(self, plan: ClusterPlan, clock: Clock) -> None:
        self.plan = plan
        self._known_places: set[str] = set()
        self.clock = clock
        self.hosts: list[HostLink] = []
        self.arrivals: list[HostLink] = []
        self.notices: list[str] = []
        self.warnings: tuple[str, ...] = ()
        self._timing = CommandTiming(clock)
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    async def connect(
        cls,
        plan: ClusterPlan,
        carriers: Sequence[Carrier],
        clock: Clock,
        discover: Discover | None = None,
    ) -> "Cluster":
        """Connect to all hosts concurrently; after an error, no host stays connected.

        Each connected host gets beats immediately: a slow host must not let the leases of the others expire.
        Raises RunError or UsageError, the first error of a host.
        """
        cluster = cls(plan, clock)
        cluster._start(cluster._beat(), "beats")
        try:
            await cluster._connect_wanted(carriers)
        except BaseException:
            await cluster.close()
            raise
        cluster.hosts, connected = [], cluster.hosts
        places = [carrier.place for carrier in carriers]
        for host in sorted(connected, key=lambda host: places.index(host.carrier.place)):
            cluster._arrived(host)
        if discover is not None:
            cluster._start(cluster._find_more(discover), "discovery of hosts")
        return cluster

    async def _connect_wanted(self, carriers: Sequence[Carrier]) -> None:
        """Connect to the named hosts, and to as many discovered hosts as the plan requests.

        A discovered host that does not answer is left out with a warning if there are enough others: a
        scheduler also lists workers that hang or have just ended.
        """
        named = [carrier for carrier in carriers if carrier.is_permanent]
        found = deque(carrier for carrier in carriers if not carrier.is_permanent)
        wanted = len(found) if self.plan.hosts is None else self.plan.hosts
        chosen = [*named, *(found.popleft() for _ in range(min(wanted, len(found))))]
        silent: list[HostUnreachableError] = []
        while chosen:
            self._known_places |= {carrier.place for carrier in chosen}
            failed = await self._connect_all(chosen)
            silent += failed
            chosen = [found.popleft() for _ in range(min(len(failed), len(found)))]
        least = 1 if self.plan.hosts is None else len(named) + wanted
        if silent and len(self.hosts) < least:
            raise silent[0]
        self.warnings = tuple(f"a host is left out: {error.message}" for error in silent)

    async def _connect_all(self, carriers: Sequence[Carrier]) -> list[HostUnreachableError]:
        """Connect to all of these hosts concurrently; returns the errors of hosts that do not answer.

        Raises any other error.
        """
        slots = asyncio.Semaphore(MAX_PARALLEL_CONNECTS)

        async def connect(carrier: Carrier) -> None:
            async with slots:
                self.hosts.append(await HostLink.connect(carrier, self.plan, self._timing))

        results = await asyncio.gather(*map(connect, carriers), return_exceptions=True)
        failed = [result for result in results if isinstance(result, BaseException)]
        silent = [error for error in failed if isinstance(error, HostUnreachableError)]
        for error in failed:
            if error not in silent:
                raise error
        return silent

    def check_target(self, target: Target) -> None:
        """Raises UsageError for a server at a local address if a host is another machine."""
        if not (place := local_endpoint(target)):
            return
        for host in self.hosts:
            if not is_same_machine(host.hello):
                raise UsageError(
                    f"{place} is an address of this machine: {host.name} would not find the server there",
                    "give the server's name or address: --host=ADDRESS",
                )

    def check_descriptors(self, threads: int, workers: int | None, *, is_native: bool) -> None:
        """Raises UsageError if the limit of open files of a host is too low for its connections.

        Unless their number is given, a host starts as many workers as the limit requires, at most one per
        connection.
        """
        share = -(-threads // len(self.hosts))
        needed = open_files_of_worker(share, share if workers is None else workers, is_native=is_native)
        for host in self.hosts:
            if 0 < host.hello.descriptors < needed:
                raise UsageError(
                    f"{host.name} may open {host.hello.descriptors} files in a process, "
                    f"too few for its share of {share} connections",
                    "raise the limit there: ulimit -n, or /etc/security/limits.conf"
                    + ("" if workers is None else ", or use more --workers"),
                )

    def version_warnings(self, version: str) -> tuple[str, ...]:
        """A warning for each host with another version of tuibench."""
        return tuple(
            f"{host.name} has tuibench {host.hello.version}, this host has {version}: "
            "figures of different versions may differ"
            for host in self.hosts
            if host.hello.version != version
        )

    def without_native_engine(self) -> str:
        """The name of the first host without the native engine; empty if all hosts have it."""
        return next((host.name for host in self.hosts if not host.hello.native), "")

    def lose(self, host: HostLink, *, is_retried: bool) -> None:
        """Remove a host, and close it in the background; with `is_retried`, reconnect to it later."""
        if host in self.hosts:
            self.hosts.remove(host)
        self._start(self._follow_lost(host, is_retried=is_retried), f"after the loss of {host.name}")

    async def close(self) -> None:
        """End the beats and the connections; the hosts then end their loads."""
        tasks, self._tasks = self._tasks, set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        hosts, self.hosts, self.arrivals = self.hosts, [], []
        await asyncio.gather(*(host.end() for host in hosts))

    def _arrived(self, host: HostLink) -> None:
        taken = {known.label for known in self.hosts}
        label, number = host.label, 2
        while host.label in taken:
            host.label, number = f"{label} ({number})", number + 1
        host.name = f"host {host.label}"
        self.hosts.append(host)
        self.arrivals.append(host)

    async def _beat(self) -> None:
        """Renew all leases, and give up hosts that have been silent for too long."""
        while True:
            for host in self.hosts:
                host.beat()
                if host.silent_seconds > self.plan.silence_seconds:
                    host.give_up()
            # Only responding hosts count: a silent one must not delay the commands of the others.
            self._timing.follow(
                max(
                    (each.offset.recent_round_trip_ns for each in self.hosts if not each.is_unresponsive),
                    default=0,
                )
            )
            await self.clock.sleep(BEAT_SECONDS)

    async def _follow_lost(self, host: HostLink, *, is_retried: bool) -> None:
        """Close the carrier of a lost host; reconnect after its load has certainly ended."""
        with contextlib.suppress(OSError):
            await host.end()
        await self.clock.sleep(self.plan.silence_seconds)
        while is_retried and host.carrier.is_permanent:
            try:
                self._arrived(await HostLink.connect(host.carrier, self.plan, self._timing))
                return
            except TuibenchError:
                await self.clock.sleep(RETRY_SECONDS)

    async def _find_more(self, discover: Discover) -> None:
        """Connect to hosts that are discovered later, up to the requested number."""
        while True:
            await self.clock.sleep(RETRY_SECONDS)
            with contextlib.suppress(TuibenchError):
                new = [each for each in await discover() if each.place not in self._known_places]
                for carrier in new[: self._missing]:
                    self._known_places.add(carrier.place)
                    self._arrived(await HostLink.connect(carrier, self.plan, self._timing))

    @property
    def _missing(self) -> int:
        """The number of further hosts to discover; named hosts do not count."""
        if self.plan.hosts is None:
            return MOST_HOSTS
        return max(0, self.plan.hosts - sum(not host.carrier.is_permanent for host in self.hosts))

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


POLL_SECONDS = 0.1


class HeldConnections(NamedTuple):
    """The work of a lost host, whose load may still be running."""

    until_ns: int
    """The time from which the work can be reassigned."""
    connections: int
    """The number of its connections."""
    quota: int
    """The transactions of its quota that had not been started."""


class HostFleet(Fleet):
    """The hosts of a cluster as the workers of a fleet. `lost` are lost hosts that have not returned,
    `all_lost` also those that have.
    """

    def __init__(
        self,
        plan: RunPlan,
        target: Target,
        program: Program,
        cluster: Cluster,
        *,
        is_native: bool = False,
    ) -> None:
        super().__init__(plan, target, program, len(cluster.hosts), charset=CHARSET, is_native=is_native)
        self.cluster = cluster
        self.lost: list[LostHost] = []
        self.all_lost: list[LostHost] = []
        self._threads = plan.threads
        self._held: list[HeldConnections] = []
        self._started = 0
        self._numbers: dict[int, HostLink] = {}

    @property
    def worker_count(self) -> int:
        return sum(host.latest.workers for host in self._hosts if host.latest) or len(self)

    @property
    def hosts(self) -> tuple[LoadHost, ...]:
        """The state of each host, including lost ones."""
        return (*(host_line(host) for host in self._hosts), *(lost.line for lost in self.lost))

    @property
    def host_of_worker(self) -> dict[int, HostLink]:
        """The hosts of this load, by the number under which they report."""
        return self._numbers

    @property
    def overdue(self) -> tuple[str, ...]:
        return super().overdue + self._workers_of("overdue")

    @property
    def silent(self) -> tuple[str, ...]:
        return super().silent + self._workers_of("silent")

    @property
    def unresponsive(self) -> tuple[str, ...]:
        return super().unresponsive + self._workers_of("unresponsive")

    @property
    def ended_ns(self) -> int | None:
        """The latest reported end of a host's load by this host's clock; None before the first one."""
        ends = [host.ended_ns for host in self._hosts]
        return max((end for end in ends if end is not None), default=None)

    def take_notices(self) -> list[str]:
        notices, self.cluster.notices = self.cluster.notices, []
        return notices

    async def set_threads(self, threads: int) -> None:
        self._threads = threads
        self._send_spread(self._assignment.spread(self._allowed, len(self._workers)))

    async def report(self, *, checkpoint: bool = False) -> list[WorkerReport]:
        self._release_held()
        await self._take_arrivals()
        reports = await super().report(checkpoint=checkpoint)
        for host in self._hosts:
            losses, host.losses = host.losses, []
            self.losses += [replace(loss, name=f"{loss.name} of {host.name}") for loss in losses]
        return self._with_latencies(reports)

    async def finish(self, grace_seconds: float) -> list[WorkerReport]:
        return self._with_latencies(await super().finish(grace_seconds))

    async def replace(self, gone: AnyLink, error: WorkerGoneError) -> WorkerReport | None:
        """Hold a lost host's connections, to be reassigned to the other hosts later.

        Raises RunError if there are no other hosts, or if the plan says that the loss of a host ends the run.
        """
        gone = cast(HostLink, gone)
        known = self._known.pop(gone, None)
        place = self._workers.index(gone)
        is_last = len(self._workers) == 1
        if self._is_over or not self._has_begun:
            raise error
        gone.finished.set()
        self._workers.pop(place)
        connections = self._assignment.remove(place)
        until_ns = self.cluster.clock.now_ns() + round(self.cluster.plan.silence_seconds * NS_PER_SECOND)
        self._held.append(HeldConnections(until_ns, connections, self._quota_left(gone, known)))
        seconds = self.cluster.plan.silence_seconds
        self.losses.append(HostLoss.of(gone, error, known, connections, seconds))
        lost = LostHost(gone, self.cluster.clock.now_ns())
        self.lost.append(lost)
        self.all_lost.append(lost)
        self.cluster.lose(gone, is_retried=self._plan.events is None)
        if is_last:
            raise RunError(f"all hosts are lost, the last one: {error.message}", error.hint)
        if self.cluster.plan.on_host_loss is OnHostLoss.STOP:
            raise RunError(error.message, "the run ends as --on-host-loss=stop says; " + error.hint)
        self.spread_again()
        return closed(known) if known is not None else None

    async def kill(self) -> None:
        await super().kill()
        await self.cluster.close()

    def wanted_workers(self, threads: int) -> int:
        """The number of connected hosts, whatever the number of threads."""
        return len(self._workers) + len(self.cluster.arrivals)

    async def take(self) -> AnyLink:
        host = self.cluster.arrivals.pop(0)
        host.plan = self._plan
        host.reset(self.forward)
        return host

    def worker_number(self, index: int) -> int:
        """The number of a host; numbers are not reused, because a host that returns is a new one."""
        return self._started

    def introduce(self, worker: AnyLink, begin: StartLoad) -> None:
        self._numbers[begin.worker] = cast(HostLink, worker)
        self._started += 1
        super().introduce(worker, begin)

    def begin(self, number: int, limits: list[int | None]) -> StartLoad:
        return replace(super().begin(number, limits), is_replacement=self._has_begun)

    @property
    def held_connections(self) -> int:
        """The number of connections of lost hosts whose loads may still be running."""
        return sum(held.connections for held in self._held)

    @property
    def _hosts(self) -> list[HostLink]:
        return [worker for worker in self._workers if isinstance(worker, HostLink)]

    @property
    def _allowed(self) -> int:
        """The number of connections that the hosts may open, without those that lost hosts may still have."""
        return min(self._threads, max(self._threads - self.held_connections, self._assignment.total))

    def _quota_left(self, gone: HostLink, known: WorkerReport | None) -> int:
        """The transactions of a lost host's quota that it had not started at its last report."""
        if gone.quota is None or known is None:
            return 0
        done = known.counters.scheduled - self._scheduled_before.get(gone, 0)
        return max(0, gone.quota - done + known.counters.backlog)

    def _release_held(self) -> None:
        """Reassign the connections and quotas of lost hosts whose loads have ended."""
        now_ns = self.cluster.clock.now_ns()
        due = [held for held in self._held if held.until_ns <= now_ns]
        if not due or self._is_over:
            return
        self._held = [held for held in self._held if held.until_ns > now_ns]
        self._send_spread(self._assignment.spread(self._allowed, len(self._workers)))
        if quota := sum(held.quota for held in due):
            self._workers[self._assignment.busiest].grant_quota(Reassign((), quota))

    async def _take_arrivals(self) -> None:
        """Give hosts that connected later their share of the load, unless a quota is already divided."""
        if not self.cluster.arrivals or self._plan.events is not None or not self._has_begun:
            return
        async with self._growing:
            if self._is_over:
                return
            arrived = await self._take_all(len(self.cluster.arrivals))
            self._assignment.make_room(len(self._workers), len(arrived))
            for host in arrived:
                self.introduce(host, self.begin(len(self._workers), [None] * (len(self._workers) + 1)))
                self._workers.append(host)
            spread = self._assignment.spread(self._allowed, len(self._workers))
            self._send_spread(spread)
        for host, numbers in zip(arrived, spread[-len(arrived) :], strict=True):
            self.lost = [lost for lost in self.lost if lost.host.name != host.name]
            taken = pluralize(len(numbers), "connection")
            self.cluster.notices.append(f"{host.name} has joined and takes {taken}")

    async def finished(self) -> None:
        """Wait for the ends of all quotas, including those reassigned from lost hosts."""
        while True:
            await super().finished()
            if not any(held.quota for held in self._held):
                return
            await self.cluster.clock.sleep(POLL_SECONDS)

    def _with_latencies(self, reports: list[WorkerReport]) -> list[WorkerReport]:
        """The reports of a round; the first one has the sum of all histograms, which are added up packed."""
        hosts = [self._numbers[report.worker] for report in reports]
        arrived = [packed for host in hosts for packed in host.take_latencies()]
        if not (reports and arrived):
            return reports
        return [replace(reports[0], hists=sum_by_name(arrived)), *reports[1:]]

    def _workers_of(self, field: str) -> tuple[str, ...]:
        """The names of the workers in this field of the hosts' last reports."""
        return tuple(
            f"{name} of {host.name}"
            for host in self._hosts
            if host.latest
            for name in getattr(host.latest, field)
        )
