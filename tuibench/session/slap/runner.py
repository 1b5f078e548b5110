"""Runner of mysqlslap's test: all iterations for each engine and number of clients.

    each iteration    drop, create, fill ──> pre-query ──> clients, timed ──> post-query
    at the end        drop, unless it is to stay

Whatever happens, a schema that we have made does not stay behind.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import NamedTuple

from tuibench.clock import Clock, SystemClock
from tuibench.errors import RunError, SQLError
from tuibench.load.engine.choice import choose
from tuibench.load.worker_report import Counters
from tuibench.load.workers.pool import WorkerPool
from tuibench.metrics.histogram import merge_histograms
from tuibench.model.results.summary import QueryTotals, SlapBenchmark
from tuibench.mysql.connection import Connection, connect
from tuibench.mysql.info import READ_ONLY_BYPASS_WARNING, detect_flavour, is_read_only
from tuibench.observe.server.status_reading import kept_status
from tuibench.session.slap.clients import IterationResult, SlapClients, iteration_plan
from tuibench.session.slap.schema import SchemaCleanup, SlapSchema, raise_as_lost
from tuibench.session.slap.spec import SlapSpec
from tuibench.workload.slap.generated_sql import TABLE
from tuibench.workload.slap.script import COMMIT, Keys, StorageEngine, client_program

KEYS_SQL = f"SELECT id FROM {TABLE} ORDER BY id"  # noqa: S608 (a name of our own)
NO_AUTOCOMMIT = "SET SESSION autocommit=0"
STAYS_OPEN = "SET SESSION wait_timeout=28800"
"""Ours is silent while the clients work, for longer than a server may bear."""

SHOWN_CHARACTERS = 200
Report = Callable[[str], None]


class _Iteration(NamedTuple):
    """What one iteration gave."""

    played: IterationResult
    server: dict[str, int]


class SlapRunner:
    """Runs a slap. `report` receives warnings, `note` the time of each iteration."""

    def __init__(
        self, spec: SlapSpec, report: Report, clock: Clock | None = None, note: Report = lambda _: None
    ) -> None:
        self._spec = spec
        self._report = report
        self._note = note
        self._clock = clock or SystemClock()
        self._connection: Connection
        self._schema: SlapSchema
        self._charset: str
        self._pool = WorkerPool()
        self._warned = False

    async def run(self) -> AsyncIterator[SlapBenchmark]:
        """One benchmark after the other. Raises TuibenchError for what goes wrong, with the SQL that did."""
        spec = self._spec
        dial = partial(connect, spec.target, use_database=False)
        self._connection = await dial()
        async with SchemaCleanup(self._connection, dial, self._report, self._clock) as ending, self._pool:
            await self._connection.execute(STAYS_OPEN)
            self._charset = spec.charset(detect_flavour(self._connection.version_text))
            self._schema = SlapSchema(self._connection, spec.target.database)
            if spec.drops:
                ending.schema = self._schema
                await self._schema.check_droppable(may_drop=spec.may_drop)
            elif not spec.script.create:
                await self._schema.enter()
            for engine in spec.engines or (None,):
                for clients in spec.clients:
                    yield await self._benchmark(engine, clients)

    async def _benchmark(self, engine: StorageEngine | None, clients: int) -> SlapBenchmark:
        spec, done = self._spec, []
        for number in range(spec.iterations):
            doing = f"iteration {number + 1} of {spec.iterations} with {clients} client{'s' * (clients != 1)}"
            with raise_as_lost(spec.target, doing):
                done.append(await self._iteration(engine, clients, number))
        return _summed(spec, engine, clients, done)

    async def _iteration(self, engine: StorageEngine | None, clients: int, number: int) -> _Iteration:
        spec = self._spec
        await self._fill(engine)
        keys = await self._keys(engine)
        rhythm = spec.rhythm(clients)
        program = client_program(spec.script, rhythm, keys)
        turns = program.turns.total if program.turns is not None else 0
        plan = iteration_plan(spec, clients, turns, spec.seed + number)
        crowd = SlapClients(
            spec.target,
            program,
            plan,
            self._clock,
            is_native=(await choose(plan.engine, program, spec.target)).is_native,
            charset=self._charset,
            pool=self._pool,
        )
        try:
            await crowd.ready((spec.init_sql,) * bool(spec.init_sql) + (NO_AUTOCOMMIT,) * bool(spec.commit))
            await self._shell(spec.hooks.before, "pre-system")
            await self._send_all(spec.script.before)
            before = await self._counters()
            played = await crowd.play()
        finally:
            await crowd.kill()
        grown = _grown(before, await self._counters())
        await self._send_all(spec.script.after)
        await self._shell(spec.hooks.after, "post-system")
        self._note(f"{clients} clients, iteration {number + 1} of {spec.iterations}: {played.seconds:.3f} s")
        return _Iteration(played, grown)

    async def _fill(self, engine: StorageEngine | None) -> None:
        """Recreates the schema and its contents."""
        script = self._spec.script
        if self._spec.drops or self._schema.is_ours:
            await self._schema.drop()
        if not script.create:
            return
        await self._schema.make()
        if not self._warned and await is_read_only(self._connection):
            self._report(f"warning: {READ_ONLY_BYPASS_WARNING}")
        self._warned = True
        statements = script.creation(engine)
        await self._send(next(statements))
        if script.writes:
            await self._connection.execute("BEGIN")
        for sql in statements:
            await self._send(sql)
        if script.writes:
            await self._connection.execute("COMMIT")

    async def _keys(self, engine: StorageEngine | None) -> Keys:
        if not self._spec.script.wants_keys:
            return ()
        rows = await self._connection.query(KEYS_SQL)
        if rows:
            return [row[0] for row in rows]
        name = engine.name if engine is not None else "this engine"
        raise RunError(
            f"{name} stores no rows, so there is no key to select",
            "use --auto-generate-sql-load-type=write",
        )

    async def _send_all(self, statements: tuple[str, ...]) -> None:
        for sql in statements:
            await self._send(sql)

    async def _send(self, sql: str) -> None:
        try:
            await self._connection.execute(sql)
        except SQLError as error:
            raise type(error)(
                error.code, f"cannot run {_shortened(sql)}: {error.message}", error.hint
            ) from error

    async def _shell(self, command: str, name: str) -> None:
        """Runs a command of the user's; its failure is reported and ends nothing, as in mysqlslap."""
        if not command:
            return
        process = await asyncio.create_subprocess_shell(command, stdout=sys.stderr)
        if code := await process.wait():
            self._report(f"--{name} ended with exit code {code}")

    async def _counters(self) -> dict[str, int]:
        return kept_status(await self._connection.query("SHOW GLOBAL STATUS"))


def _summed(
    spec: SlapSpec, engine: StorageEngine | None, clients: int, done: list[_Iteration]
) -> SlapBenchmark:
    """All iterations of a benchmark in one."""
    books = [each.played.accounting for each in done]
    totals = sum((book.totals for book in books), Counters())
    latency = merge_histograms(
        histogram for book in books for name, histogram in book.statements.items() if name != COMMIT.name
    )
    seconds = tuple(each.played.seconds for each in done)
    return SlapBenchmark(
        engine=engine.name if engine is not None else "",
        load_type=spec.load_type,
        clients=clients,
        queries_per_client=spec.rhythm(clients).queries,
        seconds=seconds,
        queries=QueryTotals(
            read=totals.reads,
            write=totals.writes,
            other=latency.count - totals.reads - totals.writes,
            total=latency.count,
            per_second=latency.count / (sum(seconds) or 1e-9),
        ),
        latency_ms=latency.latency(),
        errors={str(code): times for code, times in totals.errors.items()},
        retries=totals.retries,
        server=_added([each.server for each in done]),
        cpu_share=max(each.played.cpu_share for each in done),
    )


def _added(readings: list[dict[str, int]]) -> dict[str, int]:
    return {name: sum(each.get(name, 0) for each in readings) for name in readings[0]}


def _grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: value - before[name] for name, value in after.items() if name in before}


def _shortened(sql: str) -> str:
    return sql if len(sql) <= SHOWN_CHARACTERS else sql[: SHOWN_CHARACTERS - 1] + "…"
