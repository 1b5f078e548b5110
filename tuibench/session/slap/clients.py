"""Clients of one iteration: login, queries, disconnect, timed.

As in mysqlslap, the time includes logins and disconnects, but not the start of processes.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tuibench.clock import NS_PER_SECOND, Clock
from tuibench.errors import ConnectionLostError, RunError
from tuibench.load.workers.fleet import Fleet
from tuibench.load.workers.pool import WorkerPool
from tuibench.load.workers.worker_count import worker_count
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target
from tuibench.mysql.errors import UNREACHABLE_CODES
from tuibench.session.load.load_controller import LoadController
from tuibench.session.slap.spec import SlapSpec
from tuibench.session.totals.report_aggregation import LoadTotals
from tuibench.workload.program.program import Program
from tuibench.workload.slap.script import SLAP_PROFILE

REPORT_SECONDS = 1.0
DRAIN_SECONDS = 2.0


class IterationResult(NamedTuple):
    """The duration of an iteration, and what the clients did."""

    seconds: float
    accounting: LoadTotals
    workers: int

    @property
    def cpu_share(self) -> float:
        """How busy the workers were, of one core each."""
        return self.accounting.cpu_seconds / (self.seconds or 1e-9) / self.workers


class SlapClients:
    """The clients of one iteration, in the `pool` processes of the previous one."""

    def __init__(
        self,
        target: Target,
        program: Program,
        plan: RunPlan,
        clock: Clock,
        *,
        is_native: bool,
        charset: str,
        pool: WorkerPool,
    ) -> None:
        most = worker_count(plan, is_beside_server=target.is_local, is_native=is_native)
        fleet = Fleet(plan, target, program, most, charset=charset, is_native=is_native, pool=pool)
        self._load = LoadController(plan, program, fleet, clock)
        self._clock = clock

    async def ready(self, session_sql: Sequence[str]) -> None:
        """Start the processes; each connection will begin with these statements."""
        await self._load.fleet.start()
        if session_sql:
            self._load.fleet.set_session(tuple(session_sql))

    async def play(self) -> IterationResult:
        """Start the clients; returns when the last connection is closed. Raises an error that prevents their
        work.
        """
        load, fleet = self._load, self._load.fleet
        began_ns = await load.begin()
        await fleet.set_threads(load.threads)
        ended_ns = await self._end()
        workers = len(fleet)
        await load.finish(DRAIN_SECONDS)
        return IterationResult((ended_ns - began_ns) / NS_PER_SECOND, load.accounting, workers)

    async def kill(self) -> None:
        """End the remaining processes."""
        await self._load.fleet.kill()

    async def _end(self) -> int:
        """The time at which all have done their work; looks now and then whether they still can."""
        finished = asyncio.create_task(self._finished())
        try:
            while not finished.done():
                await asyncio.wait({finished}, timeout=REPORT_SECONDS)
                ended_ns = finished.result() if finished.done() else 0
                await self._check_clients()
            return ended_ns or finished.result()
        finally:
            finished.cancel()

    async def _finished(self) -> int:
        await self._load.fleet.finished()
        return self._clock.now_ns()

    async def _check_clients(self) -> None:
        """Raises what keeps them from their work: as in mysqlslap, none may lose its connection."""
        load = self._load
        if refused := (await load.tick()).refused:
            raise RunError(f"not all clients could log in: {refused}", load.refusal_remedy)
        check_no_connection_lost(load.accounting.totals.errors)


def check_no_connection_lost(errors: Mapping[int, int]) -> None:
    """Raises ConnectionLostError if the error codes mean that a client lost its connection."""
    lost = {code: times for code, times in errors.items() if code in UNREACHABLE_CODES}
    if lost:
        words = ", ".join(f"error {code} ({times} ×)" for code, times in lost.items())
        raise ConnectionLostError(min(lost), words)


def iteration_plan(spec: SlapSpec, clients: int, turns: int, seed: int) -> RunPlan:
    """The plan of an iteration with this number of queries per client. Statements are sent as text."""
    return RunPlan(
        profile=SLAP_PROFILE,
        threads=clients,
        seconds=None,
        events=clients * turns,
        seed=seed,
        prepared=False,
        workers=spec.workers,
        engine=spec.load_engine,
    )
