"""Fleet of the workers on one host of several, under its agent: runs the connections of that host."""

from collections.abc import Collection

from msgspec.structs import replace

from tuibench.load.messages import ApplyExtraConnections, ApplyUsers, RenewLease, StartLoad
from tuibench.load.worker_report import Reassign
from tuibench.load.workers.fleet import Fleet
from tuibench.load.workers.link import Forward
from tuibench.load.workers.worker_count import worker_count
from tuibench.model.plan import RunPlan
from tuibench.mysql.login.first_login import first_logins

SLOTS = 1 << 20
"""Worker numbers per host. They select streams of arrivals, and the phase of evenly spaced arrivals."""


def _plan_of_host(plan: RunPlan, begin: StartLoad) -> RunPlan:
    """The part of a plan that a host knows; the session sends everything that changes during a load."""
    threads = -(-plan.threads // begin.workers)
    return replace(
        plan,
        threads=threads,
        events=begin.limit,
        rate=0.0,
        client_delay_ms=0.0,
        warmup_seconds=0.0,
        users=0,
        idle_connections=0,
        connect_rate=0.0,
    )


class AgentFleet(Fleet):
    """The workers of a host. `emit` receives work for which the host has no connection."""

    def __init__(self, begin: StartLoad, plan: RunPlan, emit: Forward) -> None:
        most = worker_count(
            _plan_of_host(plan, begin), is_beside_server=begin.target.is_local, is_native=begin.is_native
        )
        super().__init__(
            _plan_of_host(plan, begin),
            begin.target,
            begin.program,
            most,
            charset=begin.charset,
            is_native=begin.is_native,
        )
        self._first = begin
        first_logins().learn(begin.first_logins)
        self._emit = emit
        self._has_begun = begin.has_begun

    async def set_connections(self, numbers: Collection[int]) -> None:
        """Runs these connections of the load; with a transaction limit no worker is added."""
        if self._plan.events is None:
            await self._grow(len(numbers))
        if not self._is_over:
            self._send_spread(self._assignment.assign(numbers, len(self._workers)))

    def reset_with(self, limit: int | None) -> None:
        """Ends the warm-up; from now on the host may start `limit` transactions."""
        self._plan = replace(self._plan, events=limit)
        self.reset_stats()

    def set_users(self, users: int) -> None:
        """The host's share of the users that share connections."""
        self._plan = replace(self._plan, users=users)
        self._pace_again()
        if not users:
            self._broadcast(ApplyUsers(0))

    def set_extra_connections(self, idle: int, logins_per_second: float) -> None:
        """The host's part of the idle connections and of the extra logins."""
        self._plan = replace(self._plan, idle_connections=idle, connect_rate=logins_per_second)
        self._pace_again()
        if not idle and not logins_per_second:
            self._broadcast(ApplyExtraConnections(0, 0.0))

    def take_over(self, work: Reassign) -> None:
        """Adds the work of a host without connections."""
        self._workers[self._assignment.busiest].grant_quota(work)

    def renew_lease(self) -> None:
        self._broadcast(RenewLease())

    def forward(self, work: Reassign) -> None:
        if self._assignment.total:
            super().forward(work)
        elif not self._is_over:
            self._emit(work)

    def worker_number(self, index: int) -> int:
        """Worker numbers are spread over the host's slots; those of replacements lie in between."""
        place = index * SLOTS // self._most if index < self._most else 1 + index
        return self._first.worker * SLOTS + place

    def begin(self, number: int, limits: list[int | None]) -> StartLoad:
        hosts = max(self._first.workers, self._first.worker + 1)
        return replace(
            super().begin(number, limits),
            workers=hosts * SLOTS,
            lease_seconds=self._first.lease_seconds,
            is_replacement=self._first.is_replacement,
        )
