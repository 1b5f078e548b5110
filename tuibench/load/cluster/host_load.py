"""The load of one host under its agent: executes the session's commands on local workers, and reports.

Reports are collected in a separate task, because a silent worker would delay the commands.
"""

import asyncio
from collections.abc import Callable
from typing import assert_never

from tuibench.clock import Clock
from tuibench.errors import TuibenchError
from tuibench.load import messages
from tuibench.load.cluster.agent_fleet import AgentFleet
from tuibench.load.cluster.merging import ReportMerger
from tuibench.load.cluster.messages import AgentChannel, AgentFailed, HostReport, StartHost
from tuibench.load.cluster.packing import pack_report
from tuibench.load.worker_report import Finished, Reassign, WorkerReport
from tuibench.model.tick import Tick

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
            case messages.AssignConnections(numbers=numbers):
                await fleet.set_connections(numbers)
            case messages.ApplyRate(rate=rate):
                fleet.set_rate(rate)
            case messages.ApplyUsers(users=users):
                fleet.set_users(users)
            case messages.ApplyExtraConnections(idle=idle, logins_per_second=logins):
                fleet.set_extra_connections(idle, logins)
            case messages.ApplyWeights(weights=weights):
                fleet.set_weights(weights)
            case messages.ApplyDelay(delay_ns=delay_ns):
                fleet.set_delay_ns(delay_ns)
            case messages.ApplySessionSql(statements=statements):
                fleet.set_session(statements)
            case messages.ResetLoadStats(limit=limit):
                fleet.reset_with(limit)
                self._quota_granted()
            case Reassign():
                fleet.take_over(command)
                self._quota_granted()
            case messages.PauseLoad():
                fleet.pause()
            case messages.ResumeLoad():
                fleet.resume()
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
