"""Fleet of hosts: divides connections, rate and quota among hosts as a fleet does among workers.

A lost host is not replaced. When its lease and the grace have expired and its load has certainly ended, the
other hosts open its connections under new numbers: a number used again would repeat its stream of values. A
host that returns counts as a new one, and gets its share of the connections.
"""

from typing import NamedTuple, cast

from msgspec.structs import replace

from tuibench.clock import NS_PER_SECOND
from tuibench.errors import RunError
from tuibench.load.cluster.cluster import Cluster
from tuibench.load.cluster.host import HostLink
from tuibench.load.cluster.lines import HostLoss, LostHost, host_line
from tuibench.load.cluster.packing import with_sum
from tuibench.load.messages import StartLoad
from tuibench.load.worker_report import Reassign, WorkerReport
from tuibench.load.workers.fleet import Fleet
from tuibench.load.workers.link import AnyLink, WorkerGoneError
from tuibench.load.workers.replacement import closed
from tuibench.model.cluster.host import LoadHost
from tuibench.model.cluster.plan import OnHostLoss
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target
from tuibench.mysql.connection import CHARSET
from tuibench.units import pluralize
from tuibench.workload.program.program import Program

POLL_SECONDS = 0.1


class HeldConnections(NamedTuple):
    """Connections of a lost host, and the rest of its quota; not reassigned before `until_ns`."""

    until_ns: int
    connections: int
    quota: int


class HostFleet(Fleet):
    """The hosts of a cluster. `lost` are hosts that were lost and have not returned, `all_lost` all that were
    lost.
    """

    def __init__(
        self,
        plan: RunPlan,
        target: Target,
        program: Program,
        cluster: Cluster,
        *,
        charset: str = CHARSET,
        is_native: bool = False,
    ) -> None:
        super().__init__(plan, target, program, len(cluster.hosts), charset=charset, is_native=is_native)
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
        """A line for each host, including lost ones."""
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
        """The latest end reported by a host, by this host's clock."""
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
        self._note_losses_of_workers()
        return self._with_latencies(reports)

    async def finish(self, grace_seconds: float) -> list[WorkerReport]:
        return self._with_latencies(await super().finish(grace_seconds))

    async def replace(self, gone: AnyLink, error: WorkerGoneError) -> WorkerReport | None:
        """Reassigns a lost host's connections to the other hosts, later.

        Raises RunError if there are none, or if the loss of a host ends the run.
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
        self._hold(gone, known, connections)
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
        """All connected hosts, regardless of the number of threads."""
        return len(self._workers) + len(self.cluster.arrivals)

    async def take(self) -> AnyLink:
        host = self.cluster.arrivals.pop(0)
        host.plan = self._plan
        host.reset(self.forward)
        return host

    def worker_number(self, index: int) -> int:
        """Numbers of hosts are not reused: a host that returns is a new one."""
        return self._started

    def introduce(self, worker: AnyLink, begin: StartLoad) -> None:
        self._numbers[begin.worker] = cast(HostLink, worker)
        self._started += 1
        super().introduce(worker, begin)

    def begin(self, number: int, limits: list[int | None]) -> StartLoad:
        return replace(super().begin(number, limits), is_replacement=self._has_begun)

    @property
    def held_connections(self) -> int:
        """Connections of lost hosts, which may still send their share of the rate."""
        return sum(held.connections for held in self._held)

    @property
    def _hosts(self) -> list[HostLink]:
        return [worker for worker in self._workers if isinstance(worker, HostLink)]

    @property
    def _allowed(self) -> int:
        """The number of connections for the hosts; those of lost hosts may still be open for a while."""
        return min(self._threads, max(self._threads - self.held_connections, self._assignment.total))

    def _hold(self, gone: HostLink, known: WorkerReport | None, connections: int) -> None:
        until_ns = self.cluster.clock.now_ns() + round(self.cluster.plan.silence_seconds * NS_PER_SECOND)
        self._held.append(HeldConnections(until_ns, connections, self._quota_left(gone, known)))

    def _quota_left(self, gone: HostLink, known: WorkerReport | None) -> int:
        """Transactions of a lost host's quota that were not started by its last report."""
        if gone.quota is None or known is None:
            return 0
        done = known.counters.scheduled - self._scheduled_before.get(gone, 0)
        return max(0, gone.quota - done + known.counters.backlog)

    def _release_held(self) -> None:
        """Reassigns connections and quota of lost hosts whose load has ended."""
        now_ns = self.cluster.clock.now_ns()
        due = [held for held in self._held if held.until_ns <= now_ns]
        if not due or self._is_over:
            return
        self._held = [held for held in self._held if held.until_ns > now_ns]
        self._send_spread(self._assignment.spread(self._allowed, len(self._workers)))
        if quota := sum(held.quota for held in due):
            self._workers[self._assignment.busiest].grant_quota(Reassign((), quota))

    async def _take_arrivals(self) -> None:
        """Gives hosts that connected after the start their share, unless the quota is already divided."""
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
        """Waits for the reassigned quota of lost hosts, too."""
        while True:
            await super().finished()
            if not any(held.quota for held in self._held):
                return
            await self.cluster.clock.sleep(POLL_SECONDS)

    def _with_latencies(self, reports: list[WorkerReport]) -> list[WorkerReport]:
        """The reports of a round, the first one with the sum of all histograms: they are added up in packed
        form.
        """
        hosts = [self._numbers[report.worker] for report in reports]
        arrived = [packed for host in hosts for packed in host.take_latencies()]
        return [with_sum(reports[0], arrived), *reports[1:]] if reports and arrived else reports

    def _note_losses_of_workers(self) -> None:
        """Records workers that ended on a host and were replaced there."""
        for host in self._hosts:
            losses, host.losses = host.losses, []
            self.losses += [replace(loss, name=f"{loss.name} of {host.name}") for loss in losses]

    def _workers_of(self, field: str) -> tuple[str, ...]:
        """Names of the workers listed in this field of the hosts' last reports."""
        return tuple(
            f"{name} of {host.name}"
            for host in self._hosts
            if host.latest
            for name in getattr(host.latest, field)
        )
