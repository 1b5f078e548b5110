"""Failovers from a private source to its replica under load, one after the other, and their comparison.

All servers get the same data once, and begin each failover with it, so that a source that has diverged is set
up anew:

    restore data ── replicate ── load with ledger ── kill -9 ── promote ── load goes on ── old source back

The load runs on the asyncio engine in this process, as that of a crash; its connections go to the new primary
as soon as there is one. A further connection reads the ledger on the source while the load runs: what it has
read and the new primary lacks, others could have read, too.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from random import Random
from typing import NamedTuple

from tuibench.base.clock import NS_PER_SECOND, SystemClock
from tuibench.base.errors import ConnectionLostError, RunError
from tuibench.features.crash.runner import (
    SHOWN,
    Disk,
    EngineLoad,
    connected,
    crash_order,
    create_ledger,
    read_ledger,
    wait_for_recovery,
)
from tuibench.features.failover.dialect import Dialect
from tuibench.features.failover.modes import WAIT_POINTS, Mode
from tuibench.features.failover.result import Failover, FailoverReport, SemisyncCounts
from tuibench.features.failover.topology import (
    MissingTransactions,
    Replicas,
    Topology,
    TopologySettings,
    build_topology,
)
from tuibench.load.commit_ledger import (
    LEDGER_TABLE,
    CommitLedger,
    Key,
    first_after,
    judge_commits,
    rate_between,
    recovered_at,
)
from tuibench.model.plan import RunPlan
from tuibench.mysql.connection import Connection
from tuibench.mysql.info import server_info
from tuibench.servers.server import PrivateServer, make_password
from tuibench.workload.dataset import build_data_set
from tuibench.workload.program import Program

READ_SECONDS = 0.01
"""The pause between two readings of the ledger on the source."""

LAST_READ_SQL = f"SELECT connection, kind, MAX(number) FROM {LEDGER_TABLE} GROUP BY connection, kind"  # noqa: S608
"""The last transaction of each connection and kind that can be read; found in the primary key."""

GROUP_SHOWN = ("group_replication_consistency", "group_replication_member_expel_timeout")


class FailoverRunner:
    """Failovers of a source, the first of the servers, `repeats` times in each mode.

    `program` is one of `with_ledger`. The servers were started with the options of the dialect.
    """

    def __init__(
        self,
        servers: Sequence[PrivateServer],
        dialect: Dialect,
        plan: RunPlan,
        program: Program,
        modes: Sequence[Mode],
        repeats: int,
        *,
        lag_seconds: float,
        semisync_timeout_seconds: float,
        disk: Disk | None = None,
    ) -> None:
        """With a `disk`, which contains the data of the source, the source loses the power of this disk."""
        self._servers = servers
        self._plan = plan
        self._program = program
        self._modes = modes
        self._disk = disk
        self._order = list(crash_order(modes, repeats))
        self._settings = TopologySettings(dialect, make_password(), lag_seconds, semisync_timeout_seconds)

    @property
    def planned(self) -> int:
        return len(self._order)

    async def prepare(self) -> None:
        """Give all servers the data of the source, and save it. Raises RunError if they do not replicate."""
        dialect, password = self._settings.dialect, self._settings.password
        for server in self._servers:
            async with connected(server.target) as connection:
                await dialect.prepare(connection, password, self._modes)
        settings = self._settings._replace(lag_seconds=0.0)
        async with Replicas(self._servers, Mode.ASYNC, settings) as replicas:
            await replicas.set_up()
            await replicas.catch_up()
            for server in replicas.replicas:
                await dialect.detach(replicas.admin(server))
        await asyncio.gather(*(server.save_data() for server in self._servers))

    async def failovers(self) -> AsyncIterator[FailoverReport]:
        """Fail over; yields the report so far after each failover.

        Raises RunError if the load commits nothing, or if the replication fails.
        """
        async with connected(self._servers[0].target) as connection:
            info = await server_info(connection)
        done: list[Failover] = []
        for mode, repeat in self._order:
            done.append(await self._restore_and_fail_over(mode, repeat))
            yield FailoverReport(
                server=f"{info.flavour} {info.version_text}",
                profile=self._program.profile,
                data=build_data_set(self._program).describe(),
                threads=self._plan.threads,
                seconds=self._plan.seconds or 0.0,
                replicas=len(self._servers) - 1,
                lag_seconds=self._settings.lag_seconds,
                semisync_timeout_seconds=self._settings.semisync_timeout_seconds,
                limited=self._servers[0].limited,
                seed=self._plan.seed,
                is_power_loss=self._disk is not None,
                planned=self.planned,
                failovers=tuple(done),
            )

    async def _restore_and_fail_over(self, mode: Mode, repeat: int) -> Failover:
        await asyncio.gather(*(server.restore_data() for server in self._servers))
        if self._disk is not None:
            await self._disk.sync()
        seed = self._plan.seed + repeat
        async with build_topology(self._servers, mode, self._settings) as topology:
            return await fail_over(
                topology,
                EngineLoad(self._plan, self._program, topology.source.target, seed),
                repeat,
                partial(self._disk.cut_power, self._servers[0]) if self._disk else self._servers[0].kill,
                warmup_seconds=self._plan.warmup_seconds,
                seconds=(self._plan.seconds or 0.0) + Random(f"{seed}:{mode}").random(),
            )


async def fail_over(
    topology: Topology,
    load: EngineLoad,
    repeat: int,
    kill: Callable[[], Awaitable[None]],
    *,
    warmup_seconds: float,
    seconds: float,
) -> Failover:
    """Set the servers up, begin the load, `kill` the source after the measured `seconds`, promote a replica,
    start the old source again, and compare.

    Raises RunError if the load commits nothing.
    """
    now_ns = SystemClock.now_ns
    source, dialect = topology.source, topology.dialect
    await topology.set_up()
    values = await create_ledger(topology.admin(source), _shown(topology))
    await topology.catch_up()
    counts = await topology.semisync()
    async with connected(source.target) as connection:
        reader = LedgerReader(connection)
        await load.begin()
        try:
            await reader.read_for(warmup_seconds)
            begun_ns = now_ns()
            await reader.read_for(seconds)
            await load.read()
            measured_ns = now_ns()
            share = load.ledger_share
            tps = rate_between(load.ledger.acknowledged.values(), begun_ns, measured_ns)
            if not tps:
                raise RunError("no transaction that writes was committed before the kill")
            before = Before(await topology.backlog(), await topology.semisync())
            topology.cut()
            killed_ns = now_ns()
            reading = asyncio.create_task(reader.read_to_the_end())
            try:
                await kill()
                await reading
            finally:
                reading.cancel()
            primary = await topology.promote()
            promoted_ns = now_ns()
            load.target = primary.target
            await wait_for_recovery(load, promoted_ns, tps)
        finally:
            await load.end()
    await source.start_again()
    present = await read_ledger(primary.target)
    async with connected(source.target) as back:
        errant = await dialect.executed(back) - await dialect.executed(topology.admin(primary))
    old = await read_ledger(source.target)
    acknowledged_ns = sorted(load.ledger.acknowledged.values())
    first_ns = first_after(acknowledged_ns, promoted_ns)
    recovered_ns = recovered_at(acknowledged_ns, promoted_ns, tps)
    phantoms = reader.phantoms(load.ledger, present)
    return Failover(
        mode=topology.mode,
        repeat=repeat,
        values=values,
        tps=tps,
        ledger_share=share,
        commits=judge_commits(load.ledger, present, killed_ns, promoted_ns),
        phantoms=len(phantoms),
        unacknowledged_phantoms=len(phantoms - load.ledger.acknowledged.keys()),
        errant=len(errant),
        errant_rows=len(old - present),
        not_received=before.backlog.not_received,
        not_applied=before.backlog.not_applied,
        semisync=_since(counts, before.semisync),
        promoted_seconds=(promoted_ns - killed_ns) / NS_PER_SECOND,
        outage_seconds=None
        if first_ns is None
        else (first_ns - max(at_ns for at_ns in acknowledged_ns if at_ns < promoted_ns)) / NS_PER_SECOND,
        recovered_seconds=None if recovered_ns is None else (recovered_ns - killed_ns) / NS_PER_SECOND,
    )


class Before(NamedTuple):
    """What the servers say directly before the kill."""

    backlog: MissingTransactions
    semisync: SemisyncCounts | None


def _shown(topology: Topology) -> Sequence[str]:
    """The variables that determine what a failover loses."""
    if topology.mode is Mode.GROUP:
        return (*SHOWN, *GROUP_SHOWN)
    if topology.mode not in WAIT_POINTS:
        return SHOWN
    name = f"rpl_semi_sync_{topology.dialect.semisync_source}"
    return (*SHOWN, f"{name}_wait_point", f"{name}_timeout")


def _since(first: SemisyncCounts | None, last: SemisyncCounts | None) -> SemisyncCounts | None:
    """The counts between two readings."""
    if first is None or last is None:
        return None
    return SemisyncCounts(
        acknowledged=last.acknowledged - first.acknowledged,
        unacknowledged=last.unacknowledged - first.unacknowledged,
        fallbacks=last.fallbacks - first.fallbacks,
        is_on=last.is_on,
    )


class LedgerReader:
    """Reads on the source, again and again, which transactions another connection can see."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last: dict[tuple[int, int], int] = {}

    async def read_for(self, seconds: float) -> None:
        """Read for that long. Raises RunError if the source ends meanwhile."""
        end_ns = SystemClock.now_ns() + round(seconds * NS_PER_SECOND)
        try:
            while SystemClock.now_ns() < end_ns:
                await self._read()
                await asyncio.sleep(READ_SECONDS)
        except ConnectionLostError as error:
            raise RunError(f"the source ended before it was killed: {error.message}") from error

    async def read_to_the_end(self) -> None:
        """Read without a pause until the source has ended."""
        with contextlib.suppress(ConnectionLostError):
            while True:
                await self._read()

    async def _read(self) -> None:
        for connection, kind, number in await self._connection.query(LAST_READ_SQL):
            self._last[int(connection), int(kind)] = int(number)

    def phantoms(self, ledger: CommitLedger, present: set[Key]) -> set[Key]:
        """The transactions that were read on the source and are not `present`.

        Whoever reads a transaction can also read the earlier ones of its connection, because a connection
        begins a transaction after the end of the one before.
        """
        return {
            key
            for key in ledger.sent
            if key not in ledger.refused and key[2] <= self._last.get(key[:2], 0) and key not in present
        }
