"""Reads the sessions, transactions and lock waits of a server several times a second, at a bounded cost.

The pause between two readings follows from their cost: the processor time of the session, and that of the
server's thread of this connection. So a server with a thousand connections is read less often. InnoDB's
status and the threads of the server's process are read once a second; the threads at every reading while the
server does not answer.

Who waits for whom is read at most twice a second, and only if a connection waits in two readings in a row.
"""

import os
import time
import types
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence, Set
from functools import partial
from statistics import median
from typing import Any, TypeVar

import msgspec

from tuibench.base import numerals
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import MOMENTARY_ERRORS, SQLError
from tuibench.features.blackbox.frames import Frame, SessionRow, innodb_excerpt
from tuibench.model.server import Flavour, LockWait, OpenTransaction, Target
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.info import Queries
from tuibench.mysql.rows import Row
from tuibench.observe.kept_files import KeptFiles
from tuibench.observe.lock_waits import LockReader
from tuibench.observe.sessions import NO_TABLE_CODES, SOURCES, among, ranges
from tuibench.observe.statement_times import QueryTimer, timed
from tuibench.observe.status import Connect, MonitoringConnection, log_in
from tuibench.observe.wait_sampler import Threads

EVERY_SECONDS, RAREST_SECONDS = 0.125, 5.0
"""The shortest and the longest pause between readings."""
MOST_SHARE, PART_OF_ANSWER = 0.008, 0.05
"""The share of a core that readings may cost, here and in the server's thread each; and the part of the time
until an answer that counts as the server's where its thread cannot be seen.
"""
COSTS = 9
"""The pause follows from the median cost of so many readings."""
THREADS_SHARE = 0.002
"""The share of a core that reading the threads' states may cost: a thousand threads take 20 ms."""
TRANSACTIONS = "open transactions"
SLOW_EVERY_SECONDS, GRAPH_EVERY_SECONDS = 1.0, 0.5
TIMEOUT_SECONDS, GIVE_UP_SECONDS = 1.0, 15.0
MOST_SESSIONS, MOST_TRANSACTIONS, MOST_THREADS = 120, 100, 4_000
STATEMENT_CHARACTERS = 200

SEPARATOR = "\x01"
_ELAPSED_MS = {Flavour.MARIADB: "TIME_MS", Flavour.MYSQL: "1000 * TIME"}
_SESSIONS = """
(SELECT CONCAT_WS(CHAR(1), ID, {elapsed}, COMMAND, IFNULL(STATE, ''), USER, HOST,
  IFNULL(LEFT(INFO, {characters}), '')) FROM {source}
WHERE COMMAND <> 'Daemon' AND NOT ({session}) AND (COMMAND <> 'Sleep' OR NOT ({load}) OR ID IN ({holders}))
ORDER BY COMMAND = 'Sleep', IF(COMMAND = 'Sleep', TIME, -TIME), ID LIMIT {most})
"""
"""Those that execute something first, the longest first; then those that have executed something last. Each
row is one text, because decoding its columns would take most of the time.
"""
_TRANSACTIONS = f"""
(SELECT CONCAT_WS(CHAR(1), trx_state, trx_mysql_thread_id,
  TIMESTAMPDIFF(SECOND, trx_started, CONVERT_TZ(NOW(), @@time_zone, 'SYSTEM')),
  trx_rows_locked, trx_rows_modified)
FROM information_schema.INNODB_TRX
WHERE trx_state = 'LOCK WAIT'
  OR trx_started < CONVERT_TZ(NOW(), @@time_zone, 'SYSTEM') - INTERVAL 1 SECOND
ORDER BY trx_started LIMIT {MOST_TRANSACTIONS})
"""  # noqa: S608 (numbers of our own)
_COUNT = "SELECT COUNT(*) FROM {source} WHERE COMMAND <> 'Daemon' AND NOT ({session})"
_THREAD = {
    Flavour.MARIADB: "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()",
    Flavour.MYSQL: """
SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()
""",
}
LOCK_WAIT = "LOCK WAIT"
WAITS = ("Waiting for ", "User lock")
"""Beginnings of the states of those that wait for a lock, among others."""
T = TypeVar("T")
INNODB_SQL = "SHOW ENGINE INNODB STATUS"

STATES = {
    "R": "running",
    "S": "sleeping",
    "I": "sleeping",
    "D": "in disk wait",
    "T": "stopped",
    "t": "stopped",
}


def thread_states(pid: int, files: KeptFiles, proc: str = "/proc") -> dict[str, int] | None:
    """The number of threads of a process by state; None if it has ended or cannot be read."""
    found: Counter[str] = Counter()
    try:
        with os.scandir(f"{proc}/{pid}/task") as threads:
            for count, thread in enumerate(threads):
                if count >= MOST_THREADS:
                    break
                found[_state(files.text(f"{thread.path}/stat", 256))] += 1
    except OSError:
        return None
    del found[""]
    return dict(found)


def _state(stat: str) -> str:
    letter = stat.rpartition(")")[2].strip()[:1]
    return STATES.get(letter, "other") if letter else ""


class CpuMeter:
    """Counts the processor time of a coroutine's own steps, without what its thread does while it waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @types.coroutine
    def of(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Runs the coroutine."""
        step: Callable[[], Any] = partial(coroutine.send, None)
        while True:
            before = time.thread_time()
            try:
                awaited = step()
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self.seconds += time.thread_time() - before
            try:
                step = partial(coroutine.send, (yield awaited))
            except BaseException as error:
                step = partial(coroutine.throw, error)


class SampledRows(msgspec.Struct, frozen=True, array_like=True):
    """One reading as it is kept in memory: the rows are not parsed."""

    at_seconds: float
    rows: tuple[str, ...] = ()
    load: tuple[tuple[int, int], ...] = ()
    """The ids of the load's connections, as ranges."""
    connections: int = 0
    waits: tuple[LockWait, ...] = ()
    innodb: str = ""
    threads: dict[str, int] | None = None
    gap: str = ""


def frame_of(reading: SampledRows) -> Frame:
    """A reading, parsed. Rows that cannot be parsed are left out."""
    sessions, transactions, waiting = [], [], []

    def is_ours(id: int) -> bool:
        return any(low <= id <= high for low, high in reading.load)

    for row in reading.rows:
        first, *parts = row.split(SEPARATOR, 6)
        number = numerals.count(first)
        if number is not None and len(parts) == 6:
            elapsed, command, state, user, host, statement = parts
            sessions.append(
                SessionRow(
                    id=number,
                    command=command,
                    elapsed_ms=int(numerals.amount(elapsed) or 0),
                    state=state,
                    statement=statement,
                    user=user,
                    host=host,
                    is_ours=is_ours(number),
                )
            )
        elif number is None and len(parts) == 4:
            connection, seconds, locked, changed = (numerals.count(each) or 0 for each in parts)
            if first == LOCK_WAIT:
                waiting.append(connection)
            transactions.append(
                OpenTransaction(
                    connection=connection,
                    seconds=seconds,
                    rows_locked=locked,
                    rows_changed=changed,
                    is_ours=is_ours(connection),
                )
            )
    return Frame(
        at_seconds=reading.at_seconds,
        gap=reading.gap,
        sessions=tuple(sessions),
        connections=reading.connections,
        transactions=tuple(transactions),
        waiting=tuple(waiting),
        waits=reading.waits,
        threads=reading.threads,
        innodb=reading.innodb,
    )


class BlackBoxSampler:
    """Takes readings. Its methods never raise for errors of the server."""

    def __init__(
        self,
        target: Target,
        flavour: Flavour,
        clock: Clock,
        own: OwnConnections,
        load_ids: Callable[[], Awaitable[Set[int]]],
        server_pid: Callable[[], int | None],
        timer: QueryTimer | None = None,
        *,
        log_in: Connect = log_in,
    ) -> None:
        self._connection = MonitoringConnection(
            target,
            clock,
            timeout_seconds=TIMEOUT_SECONDS,
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=log_in,
            own=own,
        )
        self._flavour = flavour
        self._clock = clock
        self._own = own
        self._load_ids = load_ids
        self._server_pid = server_pid
        self._timer = timer
        self._sources = list(SOURCES[flavour])
        self._load: frozenset[int] = frozenset()
        self._connections = 0
        self._holders: tuple[int, ...] = ()
        self._reader = LockReader(flavour)
        self._waiting: set[str] = set()
        self._graph_due_ns = 0
        self._slow_ns: int | None = None
        self._refused: dict[str, str] = {}
        self._costs: deque[float] = deque(maxlen=COSTS)
        self._slow_costs: deque[float] = deque(maxlen=COSTS)
        self._files = KeptFiles()
        self._threads_due_ns = 0
        self._thread = 0
        self._thread_of = 0
        self._thread_cpu_ns = 0
        self.pause_seconds = EVERY_SECONDS
        """The pause before the next reading."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the login may not read, and why."""
        return tuple(f"{what}: {why}" for what, why in self._refused.items())

    async def log_in(self) -> None:
        """Connects, before a load that may use up the server's connections."""
        await self._connection.run(_nothing)

    async def close(self) -> None:
        await self._connection.close()

    async def read(self, elapsed: Callable[[], float]) -> SampledRows:
        """One reading; adapts the pause to its cost. Its time is that of the answer, without one that of the
        question.
        """
        asked_seconds = elapsed()
        now_ns, meter = self._clock.now_ns(), CpuMeter()
        is_slow_due = self._slow_ns is None or now_ns - self._slow_ns >= SLOW_EVERY_SECONDS * NS_PER_SECOND
        if is_slow_due:
            self._slow_ns = now_ns
            self._load = frozenset(await self._load_ids())
        sent_ns = self._clock.now_ns()
        reading = await self._connection.run(
            lambda connection: meter.of(self._ask(connection, is_whole=is_slow_due))
        )
        answered_ns = self._clock.now_ns()
        pid = self._server_pid()
        threads = None
        if pid is not None and (reading is None or (is_slow_due and now_ns >= self._threads_due_ns)):
            before = time.thread_time()
            threads = thread_states(pid, self._files)
            cost = time.thread_time() - before
            self._threads_due_ns = now_ns + int(cost / THREADS_SHARE * NS_PER_SECOND)
        if reading is None:
            gap = self._connection.last_error or "no answer"
            return SampledRows(asked_seconds, gap=gap, threads=threads)
        reading = msgspec.structs.replace(reading, at_seconds=elapsed(), threads=threads)
        server = self._server_seconds(pid)
        if server is None:
            server = PART_OF_ANSWER * (answered_ns - sent_ns) / NS_PER_SECOND
        costs = self._slow_costs if is_slow_due else self._costs
        costs.append(max(meter.seconds, server))
        slow_share = median(self._slow_costs or (0.0,)) / SLOW_EVERY_SECONDS
        needed = median(self._costs or self._slow_costs) / max(MOST_SHARE - slow_share, MOST_SHARE / 4)
        self.pause_seconds = min(max(EVERY_SECONDS, needed), RAREST_SECONDS)
        return reading

    def _server_seconds(self, pid: int | None) -> float | None:
        """The processor time of the server's thread of this connection since the last call; None if it is
        unknown.
        """
        times = None
        if pid is not None and self._thread:
            times = Threads(pid, files=self._files).times(self._thread)
        if times is None:
            return None
        before, self._thread_cpu_ns = self._thread_cpu_ns, times[0]
        return (times[0] - before) / NS_PER_SECOND if before else None

    async def _ask(self, connection: Connection, *, is_whole: bool) -> SampledRows:
        queries = timed(connection, self._timer)
        if self._thread_of != self._connection.logins:
            self._thread_of, self._thread_cpu_ns = self._connection.logins, 0
            found = await self._allowed(queries, _THREAD[self._flavour], "the thread of this connection")
            self._thread = (numerals.count(found[0][0]) or 0) if found else 0
        session = among(frozenset(self._own.ids | {connection.thread_id}))
        rows = tuple(str(row[0]) for row in await self._listed(queries, session))
        open_ones = [row.split(SEPARATOR, 2) for row in rows if not row[:1].isdigit()]
        self._holders = tuple(number for row in open_ones if (number := numerals.count(row[1])))
        waits = await self._graph(queries, rows, open_ones, connection.thread_id)
        status = ""
        if is_whole:
            count = await queries.query(_COUNT.format(source=self._sources[0], session=session))
            self._connections = numerals.count(count[0][0]) or 0
            found = await self._allowed(queries, INNODB_SQL, "InnoDB's status")
            status = innodb_excerpt(str(found[0][2])) if found and len(found[0]) > 2 else ""
        connections = max(self._connections, len(rows) - len(open_ones))
        return SampledRows(0.0, rows, tuple(ranges(self._load)), connections, waits, status)

    async def _graph(
        self, queries: Queries, rows: Sequence[str], open_ones: Sequence[Sequence[str]], own_id: int
    ) -> tuple[LockWait, ...]:
        """Who waits for whom; empty if nobody waits for long, or if it was read just before."""
        waiting = {row[1] for row in open_ones if row[0] == LOCK_WAIT}
        seen: dict[int, str] = {}
        for row in rows:
            if row[:1].isdigit():
                id, _, _, state, *_, statement = row.split(SEPARATOR, 6)
                number = numerals.count(id) or 0
                if known := statement or self._reader.seen.get(number, ""):
                    seen[number] = known
                if state.startswith(WAITS):
                    waiting.add(id)
        self._reader.seen = seen
        lasting, self._waiting = waiting & self._waiting, waiting
        now_ns = self._clock.now_ns()
        if not lasting or now_ns < self._graph_due_ns:
            return ()
        self._graph_due_ns = now_ns + int(GRAPH_EVERY_SECONDS * NS_PER_SECOND)
        monitors = self._own.ids | {own_id}
        found = await self._reader.read(queries.query, self._load | monitors, monitors)
        for gap in found.gaps:
            what, _, why = gap.partition(": ")
            self._refused[what] = why
        return found.waits

    async def _listed(self, queries: Queries, session: str) -> Sequence[Row]:
        """Sessions and transactions. The list comes from the cheapest source of this server; one that is off
        exists, but is empty.
        """
        while True:
            source, is_last = self._sources[0], len(self._sources) == 1
            sql = _SESSIONS.format(
                elapsed=_ELAPSED_MS[self._flavour],
                characters=STATEMENT_CHARACTERS,
                source=source,
                session=session,
                load=among(self._load),
                holders=", ".join(map(str, self._holders)) or "0",
                most=MOST_SESSIONS,
            )
            try:
                if not is_last and await queries.query(f"SELECT 1 FROM {source} LIMIT 1"):  # noqa: S608
                    del self._sources[1:]
                    is_last = True
                if is_last:
                    rows = await self._allowed(queries, f"{_TRANSACTIONS} UNION ALL {sql}", TRANSACTIONS)
                    return rows or await queries.query(sql)
            except SQLError as error:
                if error.code not in NO_TABLE_CODES or is_last:
                    raise
            del self._sources[0]

    async def _allowed(self, queries: Queries, sql: str, what: str) -> Sequence[Row]:
        """The rows; none, now and later, if the server refuses the query."""
        if what in self._refused:
            return ()
        try:
            return await queries.query(sql)
        except MOMENTARY_ERRORS:
            raise
        except SQLError as error:
            self._refused[what] = error.message
            return ()


async def _nothing(connection: Connection) -> bool:
    return True
