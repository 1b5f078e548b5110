"""mysqlslap's test: schema, clients, all iterations for each engine and number of clients.

    each iteration    drop, create, fill ──> pre-query ──> clients, timed ──> post-query
    at the end        drop, unless it is to stay

As in mysqlslap, the time includes logins and disconnects, but not the start of processes.

mysqlslap drops an existing `--create-schema` without a check. Here, it is dropped only if it has mysqlslap's
default name, contains nothing but mysqlslap's table, or if `--drop-schema` allows it.

A lost connection ends the test, as in mysqlslap. The schema of the test is then dropped over a new
connection. If the server does not answer in time, the error is an unreachable server instead of a failed run;
the schema remains, and a message contains the statement that drops it.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import NamedTuple

import msgspec

from tuibench.base.clock import NS_PER_SECOND, Clock, SystemClock
from tuibench.base.errors import (
    ConnectionLostError,
    RunError,
    ServerUnreachableError,
    SQLError,
    TuibenchError,
    UsageError,
)
from tuibench.base.units import shorten
from tuibench.features.slap.sql import (
    COMMIT,
    SLAP_PROFILE,
    TABLE,
    Keys,
    QueryCycle,
    SlapScript,
    StorageEngine,
    client_program,
)
from tuibench.load.connections import is_transient
from tuibench.load.fleet import Fleet, WorkerPool, worker_count
from tuibench.load.native_engine import choose
from tuibench.metrics.series import ratio
from tuibench.model.plan import EngineChoice, RunPlan
from tuibench.model.server import Flavour, Target
from tuibench.model.summary import OWN_QUERIES, QueryTotals, SlapBenchmark
from tuibench.model.tick import ERROR, STATEMENT, Tick, merge_histograms, total_tick
from tuibench.mysql.connection import CHARSET, Connection, connect
from tuibench.mysql.errors import UNREACHABLE_CODES
from tuibench.mysql.info import READ_ONLY_BYPASS_WARNING, detect_flavour, is_read_only
from tuibench.observe.status import kept_status
from tuibench.session.account import Account
from tuibench.session.load import LoadController
from tuibench.workload.program import Program

DEFAULT_SCHEMA = "mysqlslap"
SYSTEM_SCHEMAS = frozenset({"mysql", "information_schema", "performance_schema", "sys"})
DATABASE_EXISTS, NO_SUCH_DATABASE = 1007, 1049
COLUMN_NAMES = ("id", "intcol", "charcol")

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = {schema}"
_COLUMNS = (
    "SELECT column_name FROM information_schema.columns "
    "WHERE table_schema = {schema} AND table_name = {table}"
)


def quote_schema(name: str) -> str:
    """A schema's name, quoted for SQL."""
    return f"`{name.replace('`', '``')}`"


def check_not_system_schema(name: str) -> None:
    """Raises UsageError for a system schema."""
    if name.lower() in SYSTEM_SCHEMAS:
        raise UsageError(
            f"'{name}' is a system schema: nothing is created or dropped in it",
            "choose another one with --create-schema",
        )


class SlapSchema:
    """The schema, over one connection. `is_ours` is True if this run has created it, or may have."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self.is_ours = False

    async def check_droppable(self, *, may_drop: bool) -> None:
        """Raises RunError if the schema exists and must not be dropped: it contains other tables."""
        if may_drop or self._name == DEFAULT_SCHEMA:
            return
        tables = await self._names(_TABLES)
        if not tables:
            return
        # A single table with mysqlslap's columns only is the rest of an earlier test.
        if tables == [TABLE] and all(name.startswith(COLUMN_NAMES) for name in await self._names(_COLUMNS)):
            return
        raise RunError(
            f"the schema '{self._name}' exists with {_table_list(tables)}: mysqlslap would drop it",
            "choose another one with --create-schema, or add --drop-schema to allow it",
        )

    @property
    def quoted(self) -> str:
        return quote_schema(self._name)

    async def drop(self, connection: Connection | None = None) -> None:
        """Drop the schema, over another connection if one is given."""
        await (connection or self._connection).execute(f"DROP SCHEMA IF EXISTS {self.quoted}")
        self.is_ours = False

    async def make(self) -> None:
        """Create and select the schema. Raises RunError if it exists."""
        try:
            await self._connection.execute(f"CREATE SCHEMA {self.quoted}")
        except ConnectionLostError:
            self.is_ours = True  # The server may have created it.
            raise
        except SQLError as error:
            if error.code != DATABASE_EXISTS:
                raise
            raise RunError(
                f"the schema '{self._name}' already exists", "drop it first, or leave out --no-drop"
            ) from error
        self.is_ours = True
        await self.enter()

    async def enter(self) -> None:
        """Select the schema. Raises RunError if it does not exist."""
        try:
            await self._connection.execute(f"USE {self.quoted}")
        except SQLError as error:
            if error.code != NO_SUCH_DATABASE:
                raise
            raise RunError(
                f"the schema '{self._name}' does not exist",
                "name an existing one with --create-schema, or create tables with --create or -a",
            ) from error

    async def _names(self, sql: str) -> list[str]:
        quote = self._connection.quote
        rows = await self._connection.query(sql.format(schema=quote(self._name), table=quote(TABLE)))
        return [str(name) for (name,) in rows]


def _table_list(tables: Iterable[str]) -> str:
    names = list(tables)
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"the table{'s' * (len(names) > 1)} {some}"


CLEANUP_TIMEOUT_SECONDS = 20.0
"""Maximum duration of the cleanup after an error."""

RETRY_SECONDS = 0.5
SEE_THE_LOG = (
    "its error log says whether it was restarted, crashed, or killed a connection; run the test again"
)

Dial = Callable[[], Awaitable[Connection]]
"""Opens a new connection to the server, without a database."""


class ConnectionLostInTestError(RunError):
    """The test has lost a connection, which was killed, or whose server has ended."""


@contextmanager
def raise_as_lost(target: Target, doing: str) -> Iterator[None]:
    """Raises ConnectionLostInTestError for a lost connection, with the address and the current operation."""
    try:
        yield
    except ConnectionLostError as error:
        raise ConnectionLostInTestError(
            f"the server at {target.where} closed the connection during {doing}: {error.message}", SEE_THE_LOG
        ) from error


class SchemaCleanup:
    """Drops the schema at the end of a test; `schema` is set before it is created.

    After an error, the time for the drop is limited.
    """

    def __init__(
        self, connection: Connection, dial: Dial, report: Callable[[str], None], clock: Clock
    ) -> None:
        self.schema: SlapSchema | None = None
        self._connection = connection
        self._dial = dial
        self._where = connection.target.where
        self._report = report
        self._clock = clock

    async def __aenter__(self) -> "SchemaCleanup":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop the schema. Raises ServerUnreachableError if the server was lost and does not answer in time.

        If the test failed with another error, that error is raised.
        """
        try:
            async with asyncio.timeout(None if error is None else CLEANUP_TIMEOUT_SECONDS):
                await self._clear(is_lost=isinstance(error, ConnectionLostInTestError))
        except asyncio.CancelledError:
            self._report_leftover()
            raise
        except (TuibenchError, TimeoutError) as failure:
            self._report_leftover()
            if error is None or isinstance(error, ConnectionLostInTestError):
                raise self._final_error(error, failure) from failure
        finally:
            # After an error, the server may not answer.
            if error is None:
                await self._connection.close()
            else:
                self._connection.abort()

    async def _clear(self, *, is_lost: bool) -> None:
        """Drop the schema; after the loss of the connection, over a new one."""
        if not is_lost:
            try:
                return await self._drop(self._connection)
            except ConnectionLostError:
                pass
        async with asyncio.timeout(CLEANUP_TIMEOUT_SECONDS):
            again = await self._back()
            try:
                await self._drop(again)
            finally:
                await again.close()

    async def _drop(self, connection: Connection) -> None:
        if self.schema is not None and self.schema.is_ours:
            await self.schema.drop(connection)

    async def _back(self) -> Connection:
        """A new connection, as soon as the server accepts one."""
        is_reported = False
        while True:
            try:
                return await self._dial()
            except (ServerUnreachableError, SQLError) as error:
                if isinstance(error, SQLError) and not is_transient(error):
                    raise
                if not is_reported:
                    self._report(
                        f"waiting up to {CLEANUP_TIMEOUT_SECONDS:.0f} s for the server: {error.message}"
                    )
                is_reported = True
            await self._clock.sleep(RETRY_SECONDS)

    def _report_leftover(self) -> None:
        if self.schema is not None and self.schema.is_ours:
            name = self.schema.quoted
            self._report(
                f"the schema {name} was not removed at {self._where}; to remove it: DROP SCHEMA {name}"
            )

    def _final_error(self, lost: BaseException | None, failure: BaseException) -> TuibenchError:
        """The error of a test whose schema could not be dropped, or whose server did not answer in time."""
        if isinstance(failure, SQLError) and not isinstance(failure, ConnectionLostError):
            return failure
        what = (
            lost.message
            if isinstance(lost, ConnectionLostInTestError)
            else f"lost the connection to the server at {self._where}"
        )
        return ServerUnreachableError(
            f"{what}; it did not come back within {CLEANUP_TIMEOUT_SECONDS:.0f} s",
            "check that it is running, and its error log",
        )


CHARSETS = {Flavour.MARIADB: "latin1", Flavour.MYSQL: CHARSET}
"""mysqlslap's character set, which does not depend on the server's default. The server converts texts in
another character set than the table's, which takes a twentieth of the time on MariaDB with latin1 tables.
"""


class SlapSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One mysqlslap test on one server."""

    target: Target
    """The server; its database is the schema of the test."""
    script: SlapScript
    clients: tuple[int, ...] = (1,)
    """The numbers of clients, one benchmark each."""
    iterations: int = 1
    engines: tuple[StorageEngine, ...] = ()
    """The storage engines, one benchmark each; empty for the server's default."""
    load_type: str = OWN_QUERIES
    queries_in_all: int = 0
    """The number of queries of all clients together; 0 if not given."""
    queries_per_client: int = 0
    """0 if not given; if both are 0, each client runs its list of queries once."""
    commit: int = 0
    """Commit after this number of queries; 0 for never."""
    detach: int = 0
    """Reconnect after this number of queries; 0 for never."""
    drops: bool = True
    """Whether to drop an existing schema at the start, and the test's own at the end."""
    may_drop: bool = False
    """Whether an existing schema may be dropped that contains other tables."""
    pre_system: str = ""
    """A shell command, run before the clients start."""
    post_system: str = ""
    """A shell command, run after the clients have ended."""
    init_sql: str = ""
    """SQL that each client runs after its login."""
    seed: int = 0
    workers: int | None = None
    """The number of worker processes; None to derive it from the number of cores."""
    load_engine: EngineChoice = EngineChoice.AUTO

    def rhythm(self, clients: int) -> QueryCycle:
        """The sequence of each client's queries; without a number of queries, its list once, as in
        mysqlslap.
        """
        queries = self.queries_per_client or self.queries_in_all // clients
        return QueryCycle(queries=queries or len(self.script.queries), commit=self.commit, detach=self.detach)

    def charset(self, flavour: Flavour) -> str:
        """The clients' character set: mysqlslap's, if all statements are ASCII."""
        sent = (self.init_sql, *(query.sql for query in self.script.queries))
        return CHARSETS[flavour] if all(text.isascii() for text in sent) else CHARSET


REPORT_SECONDS = 1.0
"""The interval of the checks for refused and lost connections."""

DRAIN_SECONDS = 2.0


class IterationResult(NamedTuple):
    """The result of one iteration."""

    seconds: float
    total: Tick
    """The sum of all clients."""
    workers: int
    server: dict[str, int]
    """The growth of the server's counters."""

    @property
    def cpu_share(self) -> float:
        """The mean CPU usage of a worker, as a share of a core."""
        return (ratio(self.total.sums.get("worker_cpu_seconds"), self.seconds) or 0.0) / self.workers


def check_no_connection_lost(errors: Mapping[str, float]) -> None:
    """Raises ConnectionLostError if the error codes mean that a client lost its connection."""
    lost = {int(code): times for code, times in errors.items() if int(code) in UNREACHABLE_CODES}
    if lost:
        words = ", ".join(f"error {code} ({times:g} ×)" for code, times in lost.items())
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


KEYS_SQL = f"SELECT id FROM {TABLE} ORDER BY id"  # noqa: S608 (a name of our own)
NO_AUTOCOMMIT = "SET SESSION autocommit=0"
STAYS_OPEN = "SET SESSION wait_timeout=28800"
"""Prevents a timeout of the runner's own connection, which is idle while the clients work."""

SHOWN_CHARACTERS = 200
Report = Callable[[str], None]


class SlapRunner:
    """Runs a test. `report` is called with warnings, `note` with the time of each iteration."""

    def __init__(self, spec: SlapSpec, report: Report, note: Report = lambda _: None) -> None:
        self._spec = spec
        self._report = report
        self._note = note
        self._clock = SystemClock()
        self._connection: Connection
        self._schema: SlapSchema
        self._charset: str
        self._pool = WorkerPool()
        self._warned = False

    async def run(self) -> AsyncIterator[SlapBenchmark]:
        """Run and yield one benchmark after the other. Raises TuibenchError with the statement that
        failed.
        """
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

    async def _iteration(self, engine: StorageEngine | None, clients: int, number: int) -> IterationResult:
        spec = self._spec
        await self._fill(engine)
        keys = await self._keys(engine)
        program = client_program(spec.script, spec.rhythm(clients), keys)
        turns = program.turns.total if program.turns is not None else 0
        plan = iteration_plan(spec, clients, turns, spec.seed + number)
        load = await self._load(plan, program)
        try:
            await load.fleet.start()
            await self._shell(spec.pre_system, "pre-system")
            await self._send_all(spec.script.before)
            played = await self._play(load)
        except BaseException:
            # A load that has ended has returned its processes to the pool already.
            await load.fleet.kill()
            raise
        await self._send_all(spec.script.after)
        await self._shell(spec.post_system, "post-system")
        self._note(f"{clients} clients, iteration {number + 1} of {spec.iterations}: {played.seconds:.3f} s")
        return played

    async def _load(self, plan: RunPlan, program: Program) -> LoadController:
        """The load of an iteration; its processes are those of the previous one."""
        spec, target = self._spec, self._spec.target
        is_native = (await choose(plan.engine, program, target)).is_native
        most = worker_count(plan, is_beside_server=target.is_local, is_native=is_native)
        fleet = Fleet(
            plan, target, program, most, charset=self._charset, is_native=is_native, pool=self._pool
        )
        fleet.set_session((spec.init_sql,) * bool(spec.init_sql) + (NO_AUTOCOMMIT,) * bool(spec.commit))
        return LoadController(plan, program, fleet, self._clock)

    async def _play(self, load: LoadController) -> IterationResult:
        """Start the clients, and wait until the last connection is closed; then end the load.

        Raises RunError if a client cannot log in, ConnectionLostError if it loses its connection.
        """
        account, before = Account(), await self._counters()
        began_ns = await load.begin()
        await load.fleet.set_threads(load.threads)
        ended = asyncio.create_task(self._ended_ns(load.fleet))
        try:
            while not ended.done():
                await asyncio.wait({ended}, timeout=REPORT_SECONDS)
                reported = await load.tick()
                if reported.refused:
                    raise RunError(f"not all clients could log in: {reported.refused}", load.refusal_remedy)
                if reported.tick is not None:
                    account.add(reported.tick)
                    # As in mysqlslap, no client may lose its connection.
                    check_no_connection_lost(reported.tick.counts(ERROR))
        finally:
            ended.cancel()
        await load.finish(DRAIN_SECONDS)
        if (remainder := load.remainder()) is not None:
            account.add(remainder)
        after = await self._counters()
        return IterationResult(
            seconds=(ended.result() - began_ns) / NS_PER_SECOND,
            total=account.total(),
            workers=len(load.fleet),
            server={name: value - before[name] for name, value in after.items() if name in before},
        )

    async def _ended_ns(self, fleet: Fleet) -> int:
        """The time at which all clients have finished."""
        await fleet.finished()
        return self._clock.now_ns()

    async def _fill(self, engine: StorageEngine | None) -> None:
        """Recreate the schema and its contents."""
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
                error.code, f"cannot run {shorten(sql, SHOWN_CHARACTERS)}: {error.message}", error.hint
            ) from error

    async def _shell(self, command: str, name: str) -> None:
        """Run a shell command of the user; a failure is reported, and the test continues, as in mysqlslap."""
        if not command:
            return
        process = await asyncio.create_subprocess_shell(command, stdout=sys.stderr)
        if code := await process.wait():
            self._report(f"--{name} ended with exit code {code}")

    async def _counters(self) -> dict[str, int]:
        return kept_status(await self._connection.query("SHOW GLOBAL STATUS")).found


def _summed(
    spec: SlapSpec, engine: StorageEngine | None, clients: int, done: list[IterationResult]
) -> SlapBenchmark:
    """The benchmark that all these iterations form."""
    total = total_tick(each.total for each in done)
    latency = merge_histograms(
        histogram for name, histogram in total.named(STATEMENT).items() if name != COMMIT.name
    )
    reads, writes = round(total.sums.get("reads", 0)), round(total.sums.get("writes", 0))
    seconds = tuple(each.seconds for each in done)
    return SlapBenchmark(
        engine=engine.name if engine is not None else "",
        load_type=spec.load_type,
        clients=clients,
        queries_per_client=spec.rhythm(clients).queries,
        seconds=seconds,
        queries=QueryTotals(
            read=reads,
            write=writes,
            other=latency.count - reads - writes,
            total=latency.count,
            per_second=ratio(latency.count, sum(seconds)) or 0.0,
        ),
        latency_ms=latency.latency(),
        errors={code: round(times) for code, times in total.counts(ERROR).items()},
        retries=round(total.sums.get("retries", 0)),
        server={name: sum(each.server.get(name, 0) for each in done) for name in done[0].server},
        cpu_share=max(each.cpu_share for each in done),
    )
