"""Fleet of a run: its worker processes, and the share of connections, rate and quota of each.

`load.cluster.host_fleet` is the equivalent for hosts: each of them has its own fleet.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from tuibench.clock import NS_PER_MS
from tuibench.load import messages
from tuibench.load.worker_report import Reassign, WorkerReport
from tuibench.load.workers.assignment import ConnectionAssignment, split_by_weight, split_quota
from tuibench.load.workers.link import AnyLink, WorkerGoneError
from tuibench.load.workers.pool import WorkerPool
from tuibench.load.workers.replacement import SEED_STEP, Loss, can_begin_again, closed, loss_of
from tuibench.load.workers.worker_process import WorkerProcess
from tuibench.model.cluster.host import LoadHost
from tuibench.model.plan import RunPlan
from tuibench.model.target import Target
from tuibench.mysql.connection import CHARSET
from tuibench.mysql.login.first_login import first_logins
from tuibench.workload.program.program import Program, with_weights

LAST_REPORT_SECONDS = 5.0


class Fleet:
    """All workers of a run; their number grows with the threads up to `most`.

    Connections use `charset`; with `is_native` the native engine runs them. Workers come from `pool` and are
    released to it at the end.
    """

    def __init__(
        self,
        plan: RunPlan,
        target: Target,
        program: Program,
        most: int,
        *,
        charset: str = CHARSET,
        is_native: bool = False,
        pool: WorkerPool | None = None,
    ) -> None:
        self._plan = plan
        self._target = target
        self._program = program
        self._most = most
        self._charset = charset
        self._is_native = is_native
        self._pool = pool
        self._rate = plan.rate
        self._delay_ns = round(plan.client_delay_ms * NS_PER_MS)
        self._paused = False
        self._session = messages.ApplySessionSql(())
        self._is_over = False
        self._growing = asyncio.Lock()
        self._assignment = ConnectionAssignment()
        self._workers: list[AnyLink] = []
        self._known: dict[AnyLink, WorkerReport] = {}
        self._scheduled_before: dict[AnyLink, int] = {}
        self._limits_hold = not plan.warmup_seconds
        self._has_begun = False
        self.losses: list[Loss] = []

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def pids(self) -> list[int]:
        """The processes on this host."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    @property
    def worker_count(self) -> int:
        """The number of worker processes, on all hosts."""
        return len(self._workers)

    @property
    def hosts(self) -> tuple[LoadHost, ...]:
        """A line for each host; empty for a load from this host alone."""
        return ()

    @property
    def ended_ns(self) -> int | None:
        """The end of the load, None for the present time: hosts report it late."""
        return None

    def take_notices(self) -> list[str]:
        """Messages for the operator since the last call."""
        return []

    async def start(self) -> None:
        """Starts the processes for the plan's threads, without connections."""
        await self._grow(self._plan.threads)

    async def set_threads(self, threads: int) -> None:
        """Distributes the connections over the workers; with a transaction limit no worker is added."""
        if self._plan.events is None:
            await self._grow(threads)
        if self._is_over:
            return
        self._send_spread(self._assignment.spread(threads, len(self._workers)))

    def set_rate(self, rate_per_second: float) -> None:
        """Sets the rate of the whole load; 0 for a closed loop."""
        self._rate = rate_per_second
        self._pace_again()

    def set_weights(self, weights: Sequence[float]) -> None:
        """Sets the weights of the program's transactions, in their order."""
        self._program = with_weights(self._program, weights)
        self._broadcast(messages.ApplyWeights(tuple(weights)))

    def set_delay(self, milliseconds: float) -> None:
        """Sets the simulated network delay; 0 for none."""
        self.set_delay_ns(round(milliseconds * NS_PER_MS))

    def set_delay_ns(self, nanoseconds: int) -> None:
        """Sets the simulated network delay in nanoseconds."""
        self._delay_ns = nanoseconds
        self._broadcast(messages.ApplyDelay(nanoseconds))

    def set_session(self, statements: tuple[str, ...]) -> None:
        """Makes every connection execute these statements, including connections of later workers.

        Does nothing after the end of the load: settings are restored when the workers have ended.
        """
        self._session = messages.ApplySessionSql(statements)
        if not self._is_over:
            self._broadcast(self._session)

    def reset_stats(self) -> None:
        """Ends the warm-up: drops the backlog, resets the connections' statistics, applies the limits."""
        for worker, limit in zip(self._workers, self.limits(len(self._workers)), strict=True):
            worker.grant_quota(messages.ResetLoadStats(limit))
            if worker in self._known:
                self._scheduled_before[worker] = self._known[worker].counters.scheduled
        self._limits_hold = True

    def pause(self) -> None:
        self._paused = True
        self._broadcast(messages.PauseLoad())

    def resume(self) -> None:
        self._paused = False
        self._broadcast(messages.ResumeLoad())

    async def finished(self) -> None:
        """Waits until every worker has finished its quota."""
        while unfinished := [worker for worker in self._workers if not worker.finished.is_set()]:
            await unfinished[0].finished.wait()

    async def report(self, *, checkpoint: bool = False) -> list[WorkerReport]:
        """One report from every worker that responds in time.

        A worker that has ended is replaced and added to `losses`. Raises RunError if it cannot be replaced,
        after all others have responded or timed out.
        """
        for worker in self._workers:
            worker.request_report(checkpoint=checkpoint)
        answers = await asyncio.gather(
            *(worker.report_in_time() for worker in self._workers), return_exceptions=True
        )
        reports = []
        for worker, answer in zip(list(self._workers), answers, strict=False):
            if isinstance(answer, WorkerGoneError):
                last = await self.replace(worker, answer)
                reports += [last] if last is not None else []
            elif isinstance(answer, BaseException):
                raise answer
            elif answer is not None:
                self._known[worker] = answer
                self._has_begun |= answer.connections > 0
                reports.append(answer)
        return reports

    async def replace(self, gone: AnyLink, error: WorkerGoneError) -> WorkerReport | None:
        """Replaces a process that ended; returns its final report, None if it had never reported.

        A process that ended before its first report is not replaced: the new one would end, too.
        """
        known = self._known.pop(gone, None)
        if known is None or self._is_over or not can_begin_again(self._program):
            raise error
        place = self._workers.index(gone)
        new = await self.take()
        if self._has_ended():
            await self._release([new])
            raise error
        self.losses.append(loss_of(gone.name, known))
        self._workers[place] = new
        self.introduce(new, self._heir_of(gone, place, known))
        self.spread_again()
        gone.finished.set()
        await gone.end()
        return closed(known)

    def _heir_of(self, gone: AnyLink, place: int, known: WorkerReport) -> messages.StartLoad:
        """The new worker's first message: another seed, and the rest of the old worker's limit."""
        limits: list[int | None] = [None] * len(self._workers)
        if self._limits_hold:
            limits = self.limits(len(self._workers))
        limit, done = limits[place], known.counters.scheduled - self._scheduled_before.get(gone, 0)
        begin = self.begin(place, limits)
        return msgspec.structs.replace(
            begin,
            worker=self.worker_number(len(self._workers) + len(self.losses) - 1),
            seed=begin.seed + SEED_STEP * len(self.losses),
            limit=None if limit is None else max(0, limit - done + known.counters.backlog),
            is_replacement=True,
        )

    def spread_again(self) -> None:
        """Sends each worker its connections and its share of the rate again."""
        self._send_spread(self._assignment.shares(len(self._workers)))

    def _send_spread(self, spread: Sequence[tuple[int, ...]]) -> None:
        for worker, numbers in zip(self._workers, spread, strict=True):
            worker.send(messages.AssignConnections(numbers))
        self._pace([len(numbers) for numbers in spread])

    @property
    def overdue(self) -> tuple[str, ...]:
        """The names of those with an overdue report."""
        return tuple(worker.name for worker in self._workers if worker.is_overdue)

    @property
    def silent(self) -> tuple[str, ...]:
        """The names of those with an overdue report that do not run."""
        return tuple(worker.name for worker in self._workers if worker.is_silent)

    @property
    def unresponsive(self) -> tuple[str, ...]:
        """The names of those that did not report the end of their load."""
        return tuple(worker.name for worker in self._workers if not worker.has_reported)

    async def expect_kill(self, connection_id: int) -> None:
        """Makes the transaction of a killed query be retried; waits until all workers know."""
        self._broadcast(messages.ExpectKill(connection_id))
        await self.connection_ids()

    async def connection_ids(self) -> set[int]:
        """The server's ids of all connections of the load."""
        by_worker = await asyncio.gather(*(worker.connection_ids() for worker in self._workers))
        return {id for ids in by_worker for id in ids}

    async def finish(self, grace_seconds: float) -> list[WorkerReport]:
        """Ends the load; returns the last reports of the workers that respond in time.

        Call `kill` afterwards.
        """
        self._broadcast(messages.FinishLoad(grace_seconds))
        seconds = grace_seconds + LAST_REPORT_SECONDS
        by_worker = await asyncio.gather(*(worker.last_reports(seconds) for worker in self._workers))
        return [report for reports in by_worker for report in reports]

    async def kill(self) -> None:
        """Ends the processes, except those returned to the pool.

        Raises the first error after all of them were asked to end.
        """
        self._is_over = True
        async with self._growing:
            await self._release(self._workers)

    async def _release(self, workers: Sequence[AnyLink]) -> None:
        results = await asyncio.gather(*map(self.release, workers), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _grow(self, threads: int) -> None:
        """Starts the processes that this many threads need, up to the most there may be.

        Raises the first error; then none was added.
        """
        wanted = self.wanted_workers(threads)
        unlimited: list[int | None] = [None] * wanted
        limits = unlimited if self._plan.warmup_seconds else self.limits(wanted)
        async with self._growing:
            if self._is_over:
                return
            for worker in await self._take_all(wanted - len(self._workers)):
                self.introduce(worker, self.begin(len(self._workers), limits))
                self._workers.append(worker)

    def wanted_workers(self, threads: int) -> int:
        """The number of workers for these threads."""
        return max(1, min(threads, self._most))

    async def _take_all(self, count: int) -> list[AnyLink]:
        """Starts workers; if one fails, releases the others and raises its error."""
        starting = [asyncio.create_task(self.take(), name="start a worker") for _ in range(count)]
        try:
            return await asyncio.gather(*starting)
        except BaseException:
            for task in starting:
                task.cancel()
            results = await asyncio.gather(*starting, return_exceptions=True)
            await self._release([result for result in results if not isinstance(result, BaseException)])
            raise

    def _has_ended(self) -> bool:
        """Whether the fleet was ended; checked again after each wait for a process."""
        return self._is_over

    async def take(self) -> AnyLink:
        """A new worker."""
        if self._pool is not None:
            return await self._pool.acquire(self.forward)
        return await WorkerProcess.start(self.forward)

    async def release(self, worker: AnyLink) -> None:
        """Ends a worker, or returns it to the pool."""
        if self._pool is not None and isinstance(worker, WorkerProcess):
            await self._pool.release(worker)
        else:
            await worker.end()

    def worker_number(self, index: int) -> int:
        """The number of the worker that is the index-th to start: it selects its stream of arrivals."""
        return index

    def introduce(self, worker: AnyLink, begin: messages.StartLoad) -> None:
        """Sends a new worker the present state."""
        worker.grant_quota(begin)
        if self._delay_ns:
            worker.send(messages.ApplyDelay(self._delay_ns))
        if self._session.statements:
            worker.send(self._session)
        if self._paused:
            worker.send(messages.PauseLoad())

    def forward(self, work: Reassign) -> None:
        """Passes the work of a worker without connections to the worker with the most connections."""
        if not self._is_over:
            self._workers[self._assignment.busiest].grant_quota(work)

    def begin(self, number: int, limits: list[int | None]) -> messages.StartLoad:
        """The first message of a worker."""
        return messages.StartLoad(
            worker=self.worker_number(number),
            workers=len(limits),
            target=self._target,
            program=self._program,
            seed=self._plan.seed,
            execution=messages.execution_options(self._plan),
            arrival=self._plan.arrival,
            limit=limits[number],
            charset=self._charset,
            is_native=self._is_native,
            has_begun=self._has_begun,
            first_logins=first_logins().all(),
        )

    def _pace_again(self) -> None:
        self._pace([len(numbers) for numbers in self._assignment.shares(len(self._workers))])

    @property
    def held_connections(self) -> int:
        """Connections of the load that no worker has at the moment; their share of the rate is not sent to
        others.
        """
        return 0

    def _pace(self, connections: list[int]) -> None:
        """Divides the rate, the users and the extra connections in proportion to the connections."""
        total, plan = sum(connections) + self.held_connections or 1, self._plan
        users = split_by_weight(plan.users, connections)
        idle = split_by_weight(plan.idle_connections, connections)
        for place, (worker, number) in enumerate(zip(self._workers, connections, strict=True)):
            worker.send(messages.ApplyRate(self._rate * number / total))
            if plan.users:
                worker.send(messages.ApplyUsers(users[place]))
            if plan.idle_connections or plan.connect_rate:
                worker.send(messages.ApplyExtraConnections(idle[place], plan.connect_rate * number / total))

    def _broadcast(self, message: msgspec.Struct) -> None:
        for worker in self._workers:
            worker.send(message)

    def limits(self, workers: int) -> list[int | None]:
        """Divides the quota of transactions by the planned threads."""
        return split_quota(self._plan.events, self._plan.threads, workers)
