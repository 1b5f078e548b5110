"""The load of one host under its agent: executes the session's commands on local workers, and reports.

Reports are collected in a separate task, because a silent worker would delay the commands.
"""

import asyncio
import os
import platform
import resource
import socket
from collections.abc import Callable, Collection
from pathlib import Path
from typing import assert_never

from msgspec.structs import replace

from tuibench.clock import Clock
from tuibench.cluster.messages import (
    PROTOCOL,
    AgentChannel,
    AgentFailed,
    AgentHello,
    HostReport,
    ReportMerger,
    StartHost,
    pack_report,
)
from tuibench.errors import TuibenchError
from tuibench.load import messages
from tuibench.load.fleet import Fleet, Forward, worker_count
from tuibench.load.messages import (
    Adjust,
    Finished,
    Reassign,
    RenewLease,
    StartLoad,
    WorkerReport,
)
from tuibench.load.native_engine import module
from tuibench.model.plan import RunPlan
from tuibench.model.tick import Tick
from tuibench.mysql.login import first_logins

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
            self._broadcast(Adjust(users=0))

    def set_extra_connections(self, idle: int, logins_per_second: float) -> None:
        """The host's part of the idle connections and of the extra logins."""
        self._plan = replace(self._plan, idle_connections=idle, connect_rate=logins_per_second)
        self._pace_again()
        if not idle and not logins_per_second:
            self._broadcast(Adjust(idle=0, logins_per_second=0.0))

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


SILENCE_POLL_SECONDS = 0.05
"""Interval of requests while no worker reports."""


class HostLoad:
    """One load on one host."""

    def __init__(
        self,
        start: StartHost,
        channel: AgentChannel,
        clock: Clock,
        sample_host: Callable[[list[int]], Tick | None],
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._sample_host = sample_host
        self._fleet = AgentFleet(start.begin, start.plan, channel.send)
        self._merger = ReportMerger(start.begin.worker, clock.now_ns())
        self._late_ms = 0.0
        self._grants = 1
        self._known_losses = 0
        self._reporting: asyncio.Task[None] | None = None
        self._finishing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts the workers. Raises RunError if they do not start."""
        await self._fleet.start()
        self._watch_finish()

    def note_lateness(self, milliseconds: float) -> None:
        """Records that a command took effect late."""
        self._late_ms = max(self._late_ms, milliseconds)

    def renew_lease(self) -> None:
        self._fleet.renew_lease()

    async def kill(self) -> None:
        """Ends the workers."""
        for task in (self._reporting, self._finishing):
            if task is not None:
                task.cancel()
        await self._fleet.kill()

    async def execute(self, command: messages.WorkerCommand) -> None:
        """Executes a command of the session."""
        fleet = self._fleet
        match command:
            case messages.Adjust():
                if command.connections is not None:
                    await fleet.set_connections(command.connections)
                messages.adjust(fleet, command)
            case messages.ResetLoadStats(limit=limit):
                fleet.reset_with(limit)
                self._quota_granted()
            case Reassign():
                fleet.take_over(command)
                self._quota_granted()
            case messages.RequestReport(checkpoint=checkpoint):
                self._reporting = asyncio.create_task(self._report(checkpoint), name="report")
                await asyncio.sleep(0)
            case messages.RequestConnectionIds():
                self._channel.send(messages.ConnectionIds(tuple(sorted(await fleet.connection_ids()))))
            case messages.ExpectKill(connection_id=id):
                await fleet.expect_kill(id)
            case messages.FinishLoad(grace_seconds=grace):
                await self._finish(grace)
            case _:
                assert_never(command)

    async def _report(self, checkpoint: bool) -> None:
        """Reports once a worker has; with the error if a worker cannot be replaced."""
        try:
            while not (reports := await self._fleet.report(checkpoint=checkpoint)):
                await self._clock.sleep(SILENCE_POLL_SECONDS)
        except TuibenchError as error:
            failed = AgentFailed(message=error.message, hint=error.hint, exit_code=int(error.exit_code))
            self._channel.send(failed)
            return
        self._send(reports)

    def _send(
        self, reports: list[WorkerReport], unresponsive: tuple[str, ...] = (), ended_ns: int = 0
    ) -> None:
        fleet = self._fleet
        new, self._known_losses = fleet.losses[self._known_losses :], len(fleet.losses)
        merged, latencies = pack_report(self._merger.merge(reports, self._clock.now_ns()))
        report = HostReport(
            report=merged,
            latencies=latencies,
            workers=len(fleet),
            sample=self._sample_host(fleet.pids),
            losses=tuple(new),
            overdue=fleet.overdue,
            silent=fleet.silent,
            unresponsive=unresponsive,
            late_commands_ms=self._late_ms,
            ended_ns=ended_ns,
        )
        self._late_ms = 0.0
        self._channel.send(report)

    async def _finish(self, grace_seconds: float) -> None:
        """Ends the load; sends the report that is pending, and the last one."""
        pending, self._reporting = self._reporting, None
        if is_owed := pending is not None and not pending.done():
            pending.cancel()
        reports = await self._fleet.finish(grace_seconds)
        ended_ns = self._clock.now_ns()
        if is_owed:
            self._send([])
        self._send(reports, self._fleet.unresponsive, ended_ns)
        await self._fleet.kill()

    def _quota_granted(self) -> None:
        self._grants += 1
        self._watch_finish()

    def _watch_finish(self) -> None:
        """Reports the end of all quotas that were granted so far."""
        if self._finishing is not None:
            self._finishing.cancel()
        self._finishing = asyncio.create_task(self._report_finish(self._grants), name="finish")

    async def _report_finish(self, grants: int) -> None:
        await self._fleet.finished()
        self._channel.send(Finished(grants))


def agent_hello(version: str) -> AgentHello:
    """The agent's hello with the properties of this host."""
    return AgentHello(
        protocol=PROTOCOL,
        version=version,
        python=platform.python_version(),
        name=socket.gethostname(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        descriptors=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        native=_native_version(),
        namespaces=namespaces(),
    )


def namespaces() -> tuple[str, ...]:
    """The boot of the machine, and the namespaces of network and mounts; empty where the system has none.

    Containers of one machine share its boot, but neither loopback addresses nor sockets.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return (boot, *(os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "mnt")))
    except OSError:
        return ()


def is_same_machine(host: AgentHello) -> bool:
    """Whether the host shares loopback addresses and sockets with this one."""
    here = namespaces()
    return bool(here) and here == host.namespaces


def _native_version() -> str:
    native = module()
    return str(getattr(native, "__version__", "") or "installed") if native is not None else ""
