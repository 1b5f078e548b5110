"""The load of a session: its workers on this host or on load hosts, its level, and its ticks.

A load is refused before it starts if a host does not answer or has another protocol version, if a server
address means another machine on that host, or if it has too few file descriptors. Another version of tuibench
is a warning.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tuibench.base.clock import NS_PER_MS, NS_PER_SECOND, Clock
from tuibench.base.errors import RunError, TuibenchError
from tuibench.base.feature import installed, resolve
from tuibench.load.fleet import Fleet, worker_count
from tuibench.load.messages import WorkerReport
from tuibench.load.native_engine import Chosen
from tuibench.model.callers import CallerPolicy
from tuibench.model.cluster import ClusterPlan, HostTotals, LoadHost
from tuibench.model.findings import Headline
from tuibench.model.message import SessionSpec
from tuibench.model.plan import RunPlan
from tuibench.model.server import ServerInfo
from tuibench.model.tick import ROLLED_BACK, SlowTransaction, Tick, without_prefix
from tuibench.observe.tally import seen_by_readers
from tuibench.session.alarms import Alarms
from tuibench.session.load_ticks import LoadTicks
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program, validated_mix, weights_of, with_weights

POLL_SECONDS = 0.02
AGAIN_SECONDS = 2.0
"""How long transactions in flight may take before another program replaces the current one."""


class LoadTick(NamedTuple):
    """The load in one sample."""

    tick: Tick | None
    """None if no worker answered in time: the sample is a gap, and the next one covers its time."""
    slowest: tuple[SlowTransaction, ...]
    hosts: tuple[LoadHost, ...]
    refused: str
    """Describes connections that the server refused; otherwise empty."""


class LoadController:
    """Controls the fleet."""

    def __init__(self, plan: RunPlan, program: Program, fleet: Fleet, clock: Clock) -> None:
        self.threads = plan.threads
        """The requested number, as are `rate`, `weights`, `client_delay_ms` and `callers`."""
        self.fewest_threads = 0 if plan.starts_idle else 1
        self.rate = plan.rate
        self.accepted_connections: int | None = None
        """The connections that the server accepted when it refused some; None if it refused none."""
        self.unresponsive: tuple[str, ...] = ()
        """The workers that did not answer at the end: their last work is in no figure."""
        self.failure: TuibenchError | None = None
        """The failure of a worker after the last tick."""
        self.client_delay_ms = self.max_client_delay_ms = plan.client_delay_ms
        """The largest simulated delay so far is kept for the summary."""
        self.callers = plan.callers
        self.reported = LoadTicks()
        """The ticks of the reports since `begin`."""
        self.alarms = Alarms()
        self.fleet = fleet
        self.lock = asyncio.Lock()
        """Held during a change of the load by a command, a plan or an experiment."""
        self.tick_lock = asyncio.Lock()
        """Held while the workers' reports are read."""
        self.commit_listeners: list[Callable[[WorkerReport], None]] = []
        """They get the reports of a load that keeps a ledger."""
        self._plan = plan
        self._has_connection_load = plan.has_connection_load
        self._program = program
        self.weights = weights_of(program)
        """Those of the transactions, by name."""
        self._tally = build_data_set(program).TALLY
        self._clock = clock
        self.zero_ns: int | None = None
        """The start of the measurement, or of its figures after a reset."""
        self._end_ns: int | None = None
        self._is_opened = False
        self._known: dict[int, WorkerReport] = {}

    @property
    def seconds(self) -> float:
        """The measured time of the load: until now, or until its end; 0 if it never began."""
        if self.zero_ns is None:
            return 0.0
        until_ns = self._clock.now_ns() if self._end_ns is None else self._end_ns
        return max(0, until_ns - self.zero_ns) / NS_PER_SECOND

    @property
    def headline(self) -> Headline | None:
        """The profile's headline figure."""
        return self._program.headline

    @property
    def users(self) -> int:
        """The number of users that share the connections; 0 for one user per connection."""
        return self._plan.users

    def pause(self) -> None:
        self.fleet.pause()

    def resume(self) -> None:
        self.fleet.resume()

    async def set_threads(self, threads: int) -> None:
        """Set the threads; until the load is opened, the number that it opens with."""
        self.threads = threads
        if self._is_opened:
            await self.fleet.set_threads(threads)

    def set_rate(self, rate_per_second: float) -> None:
        self.rate = rate_per_second
        self.fleet.set_rate(rate_per_second)

    async def set_level(self, threads: int, rate: float, *, keeps_backlog: bool = False) -> None:
        """Set threads and rate. The backlog is dropped unless it is kept; refused connections are retried."""
        if not keeps_backlog and self.rate:
            self.set_rate(0.0)
        if rate != self.rate:
            self.set_rate(rate)
        if threads != self.threads:
            self.accepted_connections = None
            await self.set_threads(threads)

    def set_weights(self, given: Mapping[str, float]) -> None:
        """Set the weights of the transactions. Raises UsageError for invalid weights."""
        mix = tuple(validated_mix(self._program, given).values())
        self._program = with_weights(self._program, mix)
        self.weights = weights_of(self._program)
        self.fleet.set_weights(mix)

    @property
    def program(self) -> Program:
        return self._program

    async def begin_again(self, program: Program, *, is_native: bool, keeps_ledger: bool) -> None:
        """Replaces the program, on new connections; the weights stay. Raises RunError if that fails."""
        async with self.lock, self.tick_lock:
            program = with_weights(program, tuple(self.weights.values()))
            last = await self.fleet.begin_again(
                program, is_native=is_native, keeps_ledger=keeps_ledger, grace_seconds=AGAIN_SECONDS
            )
            self._program = program
            self._known.clear()
            self._note_commits(last)
            self.reported.add(last)

    async def read_reports(self) -> None:
        """Read the workers' reports between two ticks; they count for the next tick."""
        async with self.tick_lock:
            self.reported.add(await self._report())

    def set_delay(self, milliseconds: float) -> None:
        self.client_delay_ms = milliseconds
        self.max_client_delay_ms = max(self.max_client_delay_ms, milliseconds)
        self.fleet.set_delay(round(milliseconds * NS_PER_MS))

    def set_callers(self, policy: CallerPolicy) -> None:
        self.callers = policy
        self.fleet.set_callers(policy)

    async def open(self, is_over: Callable[[], bool]) -> str:
        """Open the connections while the load is held; returns a description of refused ones.

        Raises RunError, with the reason, if none opens, or some do not open in time.
        """
        self.fleet.pause()
        self._is_opened = True
        await self.fleet.set_threads(self.threads)
        deadline_ns = self._clock.now_ns() + int(self._plan.opening_seconds * NS_PER_SECOND)
        while not is_over():
            await self._report()
            reports = self._latest
            opened = sum(report.connections for report in reports)
            if opened + self.alarms.refusals(reports) >= self.threads and self._has_idle(reports):
                if not opened and self.threads:
                    raise RunError("the server refused every connection", self.refusal_remedy)
                return await self._keep_what_opened(reports)
            if self._clock.now_ns() > deadline_ns:
                raise self._too_slow(opened, reports)
            await self._clock.sleep(POLL_SECONDS)
        return ""

    def _has_idle(self, reports: Sequence[WorkerReport]) -> bool:
        """True if the idle connections are open, or the server refuses some of them."""
        opened = sum(report.idle_connections for report in reports)
        return opened >= self._plan.idle_connections or any(report.idle_refusal for report in reports)

    @property
    def refusal_remedy(self) -> str:
        """The setting with which the server would accept the refused connections."""
        return self.alarms.refusal_remedy(self._latest)

    async def drain(self, seconds: float) -> None:
        """Hold the load until no transaction is in flight, and discard those that are due, so that nothing of
        a warm-up remains.
        """
        self.fleet.pause()
        deadline_ns = self._clock.now_ns() + int(seconds * NS_PER_SECOND)
        while True:
            self.reported.add(await self._report())
            if not any(report.counters.in_flight for report in self._latest):
                break
            if self._clock.now_ns() > deadline_ns:
                break
            await self._clock.sleep(POLL_SECONDS)
        self.fleet.reset_stats()

    async def begin(self) -> int:
        """Start counting reports; the load is still held. Returns the time (ns)."""
        self.reported = LoadTicks()
        self.max_client_delay_ms = self.client_delay_ms
        await self._report()
        self.reported.begin(self._latest)
        self.zero_ns = self._clock.now_ns()
        return self.zero_ns

    def reset_stats(self) -> None:
        """Restart the run's figures, after a tick; the load is held and drained."""
        self.reported.begin_again()
        self.max_client_delay_ms = self.client_delay_ms
        self.zero_ns = self._clock.now_ns()

    async def tick(self, *, checkpoint: bool = False) -> LoadTick:
        """Read the workers' reports. Raises the error of a worker that fails.

        After a `checkpoint`, the workers count the fairness of the next report anew.
        """
        threads, rate, delay_ms, callers = self.threads, self.rate, self.client_delay_ms, self.callers
        reports = await self._report(checkpoint=checkpoint)
        self.reported.add(reports)
        refused = await self._keep_what_opened(self._latest)
        if not reports or (tick := self._take()) is None:
            return LoadTick(None, (), self.fleet.hosts, refused)
        levels = {"threads": threads, "rate": rate, "client_delay_ms": delay_ms}
        in_time: dict[str, float] = {}
        if callers.deadline_ms:
            # Without a completed transaction the goodput is 0, not unknown.
            in_time = dict.fromkeys(("good", "late", "resent"), 0.0)
            levels["deadline_ms"] = callers.deadline_ms
        levels = tick.levels | levels | self._connection_levels(tick)
        tick = replace(tick, sums=in_time | tick.sums, levels=levels)
        return LoadTick(tick, self.reported.slowest, self.fleet.hosts, refused)

    def remainder(self) -> Tick | None:
        """What was reported after the last tick, without levels and peaks; None if nothing was."""
        tick = self._take()
        return None if tick is None else replace(tick, levels={}, peaks={})

    def _take(self) -> Tick | None:
        """The reported tick, with what follows from its counts and adds up as they do: the headline figure
        times the seconds, and the anomalies that transactions have reported by intended rollbacks.
        """
        tick, headline = self.reported.take(), self._program.headline
        if tick is None:
            return None
        sums, arrears = dict(tick.sums), dict(tick.arrears)
        if headline is not None:
            sums["headline"] = headline.rate(tick.of_kind(headline.transaction).count, 1.0)
        if self._tally is not None:
            for counts in (sums, arrears):
                counts |= seen_by_readers(self._tally, without_prefix(ROLLED_BACK, counts))
        return replace(tick, sums=sums, arrears=arrears)

    def acknowledged(self, total: Tick) -> int | None:
        """The commits of the transaction that the data set's tables count, in the total of a load that has
        ended; None if some are unknown, because a worker did not report its last work.
        """
        if self._tally is None or self.unresponsive or self.fleet.losses:
            return None
        kind = self._tally.transaction
        return total.of_kind(kind).count - round(total.sums.get(ROLLED_BACK + kind, 0))

    def _connection_levels(self, tick: Tick) -> dict[str, float]:
        """The number of connections outside the load, and of users that share those of the load."""
        if not self._has_connection_load:
            return {}
        plan = self._plan
        return {
            "idle": self.reported.idle_connections,
            "idle_wanted": plan.idle_connections,
            "users": plan.users,
            "waiting": tick.levels["backlog"] if plan.users else 0,
        }

    async def finish(self, drain_seconds: float) -> None:
        """End the load and the workers, and collect their last reports."""
        try:
            reports = await self.fleet.finish(drain_seconds)
            self.unresponsive = self.fleet.unresponsive
            if self.zero_ns is not None:
                self._end_ns = self.fleet.ended_ns
                self.reported.add(reports)
            self.failure = next((each.failure.error for each in reports if each.failure), None)
        finally:
            self._end_ns = self._clock.now_ns() if self._end_ns is None else self._end_ns
            await self.fleet.kill()

    async def _report(self, *, checkpoint: bool = False) -> list[WorkerReport]:
        reports = await self.fleet.report(checkpoint=checkpoint)
        self.alarms.report_unresponsive(self.fleet.overdue, self.fleet.silent)
        self.alarms.lost(self.fleet.losses)
        self.alarms.notice(self.fleet.take_notices())
        self._note_commits(reports)
        for report in reports:
            self._known[report.worker] = report
            if report.failure:
                raise report.failure.error
        return reports

    def _note_commits(self, reports: Sequence[WorkerReport]) -> None:
        for report in reports:
            if report.commits is not None:
                for listener in self.commit_listeners:
                    listener(report)

    @property
    def _latest(self) -> list[WorkerReport]:
        """The latest report of every worker, also of those that do not answer."""
        return [report for _, report in sorted(self._known.items())]

    async def _keep_what_opened(self, reports: Sequence[WorkerReport]) -> str:
        """Continue with the open connections; returns a description of refused ones, empty for none."""
        count = self.alarms.refusals(reports)
        refused = self.alarms.refused(reports)
        if not refused:
            return ""
        await self.set_threads(max(1, self.threads - count))
        if count:
            self.accepted_connections = self.threads
        return f"{refused}; continuing with {self.threads}"

    def _too_slow(self, opened: int, reports: Sequence[WorkerReport]) -> RunError:
        seconds = self._plan.opening_seconds
        reason = next((report.last_refusal for report in reports if report.last_refusal), "")
        return RunError(
            f"only {opened} of {self.threads} connections opened in {seconds:g} s"
            + (f": {reason}" if reason else ""),
            "increase --thread-init-timeout",
        )


MS_PER_SECOND = 1000.0


async def make_fleet(
    spec: SessionSpec, program: Program, engine: Chosen, server: ServerInfo, clock: Clock
) -> tuple[Fleet, Chosen, tuple[str, ...]]:
    """The workers of this host, or the connected hosts of the plan, with the engine that all hosts have, and
    warnings about the hosts.

    Raises a TuibenchError that names the host that cannot take part.
    """
    plan, target = spec.plan, spec.target
    if plan.cluster is None:
        most = worker_count(plan, is_beside_server=server.is_local, is_native=engine.is_native)
        return Fleet(plan, target, program, most, is_native=engine.is_native), engine, ()
    return await _hosts().connect(plan.cluster, spec, program, engine, clock)


def host_totals(load: LoadController) -> tuple[HostTotals, ...]:
    """Totals of each host in the measured time; empty for a load from this host."""
    if not load.fleet.hosts or load.zero_ns is None:
        return ()
    return _hosts().totals(load)


class LoadHosts(ABC):
    """A load from several hosts."""

    @abstractmethod
    async def connect(
        self, hosts: ClusterPlan, spec: SessionSpec, program: Program, engine: Chosen, clock: Clock
    ) -> tuple[Fleet, Chosen, tuple[str, ...]]:
        """Connect the hosts; returns and raises what `make_fleet` does."""

    @abstractmethod
    def totals(self, load: LoadController) -> tuple[HostTotals, ...]:
        """Totals of each host in the measured time."""


def _hosts() -> LoadHosts:
    hosts: LoadHosts = next(resolve(one.load_hosts) for one in installed() if one.load_hosts)
    return hosts
