"""The hosts of a load: connected together, kept alive by beats, retried when they were lost.

    running ──silent for half a lease──> silent ──for lease and grace──> lost ──connects again──> a new host

Beats have a task of their own: a tick that waits for a host must not let the leases of the others run out.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from tuibench.clock import Clock
from tuibench.errors import TuibenchError, UsageError
from tuibench.load.cluster.carrier import Carrier, HostUnreachableError
from tuibench.load.cluster.host import CommandTiming, HostLink
from tuibench.load.cluster.machine import is_same_machine
from tuibench.load.cluster.messages import BEAT_SECONDS
from tuibench.load.cluster.reach import local_endpoint
from tuibench.load.cluster.sources import Discover
from tuibench.load.workers.worker_count import open_files_of_worker
from tuibench.model.cluster.places import MOST_HOSTS
from tuibench.model.cluster.plan import ClusterPlan
from tuibench.model.target import Target

RETRY_SECONDS = 5.0
"""Seconds between two attempts to reconnect a lost host."""

MAX_PARALLEL_CONNECTS = 32


class Cluster:
    """All hosts of a load.

    `hosts` are the connected ones, `arrivals` those that no fleet has taken yet. `notices` are messages for
    the operator, `warnings` name hosts that were left out at the start.
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
        """Connects to all hosts concurrently. Raises the first error, and then leaves none connected.

        Each connected host gets beats immediately: a slow host must not let the leases of the others expire.
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
        """Connects to the named hosts, and to as many of the discovered ones as the plan requests.

        A discovered host that does not answer is left out, with a warning, if the others are enough: a
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
        """Connects to all of these concurrently; returns the errors of hosts that do not answer. Raises any
        other error.
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
        """Raises UsageError for a server at a local address if any host is another machine."""
        if not (place := local_endpoint(target)):
            return
        for host in self.hosts:
            if not is_same_machine(host.hello):
                raise UsageError(
                    f"{place} is an address of this machine: {host.name} would not find the server there",
                    "give the server's name or address: --host=ADDRESS",
                )

    def check_descriptors(self, threads: int, workers: int | None, *, is_native: bool) -> None:
        """Raises UsageError if a host's worker may not open its connections.

        Without a number of workers a host starts as many as its limit takes, at most one per connection.
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
        """The name of a host without the native engine; empty if all have it."""
        return next((host.name for host in self.hosts if not host.hello.native), "")

    def lose(self, host: HostLink, *, is_retried: bool) -> None:
        """Removes a host; closes it in the background, and reconnects to it when it returns."""
        if host in self.hosts:
            self.hosts.remove(host)
        self._start(self._follow_lost(host, is_retried=is_retried), f"after the loss of {host.name}")

    async def close(self) -> None:
        """Ends the beats and the connections; hosts that still run a load end it."""
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
        """Renews all leases, and gives up hosts that have been silent for too long."""
        while True:
            for host in self.hosts:
                host.beat()
                if host.silent_seconds > self.plan.silence_seconds:
                    host.give_up()
            self._timing.follow(self._slowest_round_trip(self.hosts))
            await self.clock.sleep(BEAT_SECONDS)

    @staticmethod
    def _slowest_round_trip(hosts: Iterable[HostLink]) -> int:
        """The slowest round trip of responding hosts; a silent host must not delay the others."""
        return max(
            (each.offset.recent_round_trip_ns for each in hosts if not each.is_unresponsive), default=0
        )

    async def _follow_lost(self, host: HostLink, *, is_retried: bool) -> None:
        """Ends the carrier of a lost host; reconnects to it when its load has certainly ended."""
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
        """Connects to hosts that are discovered later, up to the requested number."""
        while True:
            await self.clock.sleep(RETRY_SECONDS)
            with contextlib.suppress(TuibenchError):
                new = [each for each in await discover() if each.place not in self._known_places]
                for carrier in new[: self._missing]:
                    self._known_places.add(carrier.place)
                    self._arrived(await HostLink.connect(carrier, self.plan, self._timing))

    @property
    def _missing(self) -> int:
        """The number of further hosts to connect; a lost named host may return by itself."""
        if self.plan.hosts is None:
            return MOST_HOSTS
        return max(0, self.plan.hosts - sum(not host.carrier.is_permanent for host in self.hosts))

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
