"""What the load's connections wait for: the sampler on the server, and the account of a tick's time.

Up to nine times a second one query lists the load's connections. The list names the wait of a blocked thread,
but it cannot tell whether a thread runs: a connection in Sleep may have its next statement in the socket's
buffer and wait for a processor. So the time on a processor and the time in its queue are read from the
kernel's cumulative, exact counts for each thread (/proc/PID/task/TID/schedstat). The rest of a connection's
time is blocked, and is divided in proportion to the samples.

Without the kernel's counts (a server on another host or in another user's container, or a thread pool), a
statement whose state names no wait counts as CPU, less the reads that the server counts as pending; a
connection in Sleep counts as waiting for its next statement.

The sampler knows how long the server's threads waited for the next statement; the client's histograms know
how long its statements took. Time that a thread waited while the client had a statement in flight was spent
on the way:

    connection × time = in a statement (client's histograms) + between statements
                      = in the server (classes)              + waiting for the next statement

The client counts a statement when it ends. So the elapsed time of the statements in flight at the end of a
tick is added to that tick, and subtracted from the next one.

Nothing is enabled on the server.
"""

import asyncio
import os
import platform
import random
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence, Set
from functools import partial
from typing import NamedTuple

from tuibench.base import numerals
from tuibench.base.clock import NS_PER_SECOND, Clock
from tuibench.base.errors import MOMENTARY_ERRORS, SQLError
from tuibench.base.numerals import MOST_TIMER
from tuibench.metrics.wait_classes import (
    BINARY_LOG_EVENT,
    DATA_EVENT,
    LOCK_WAIT,
    QUEUED,
    REDO_EVENT,
    SLEEPERS,
    TIME,
    WRITES,
    ObservedConnection,
    WaitClass,
    file_event,
    is_asleep,
    may_be_file,
    slept_for,
    wait_of,
)
from tuibench.model.server import Flavour, ServerInfo, Target
from tuibench.model.tick import STATEMENT, Tick
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.rows import Row
from tuibench.observe.kept_files import KeptFiles
from tuibench.observe.lock_watch import LOCKS, LockWatch
from tuibench.observe.sessions import SOURCES, among
from tuibench.observe.statement_times import QueryTimer, timed
from tuibench.observe.status import Connect, MonitoringConnection, log_in
from tuibench.observe.wait_detail import DETAIL_CHARACTERS, Detail

EVERY_SECONDS, RAREST_SECONDS = 0.115, 2.0
"""The shortest and the longest pause between samples."""
MOST_SHARE, PART_OF_ANSWER = 0.013, 0.05
"""The share of a core that samples may cost, here and in the server's thread of the sampler's connection;
where that thread cannot be seen, `PART_OF_ANSWER` of the time until the answer counts as its cost.
"""
IDS_EVERY_SECONDS = 1.0
"""How often slow facts are read again: the list of connections, the limits, the times of files."""
JITTER = 0.1
"""The pause varies at random by this share, so that samples do not stay at one phase of a periodic load. It
stays above 0.1 s, the age up to which InnoDB answers from its cache of transactions.
"""
TIMEOUT_SECONDS, GIVE_UP_SECONDS = 2.0, 15.0
NS_PER_US = 1000

_THREADS = """
SELECT t.PROCESSLIST_ID, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, 1000 * t.PROCESSLIST_TIME,
  t.THREAD_OS_ID{info}
FROM performance_schema.threads t WHERE {ours}
"""
_THREADS_WITH_WAITS = """
SELECT t.PROCESSLIST_ID, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, 1000 * t.PROCESSLIST_TIME,
  t.THREAD_OS_ID, w.EVENT_NAME, w.OPERATION{info}
FROM performance_schema.threads t LEFT JOIN performance_schema.events_waits_current w
  ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL WHERE {ours}
"""
"""A thread has a row for each wait event under way, the innermost one last: the event of a table encloses
that of its file.
"""
_MYSQL_LIST = """
SELECT ID, COMMAND, STATE, 1000 * TIME, NULL{info} FROM information_schema.PROCESSLIST WHERE {ours}
"""
_MARIADB_LIST = """
SELECT ID, COMMAND, STATE, TIME_MS, TID{info} FROM information_schema.PROCESSLIST WHERE {ours}
"""
_CLIENTS = """
SELECT ID FROM {source} WHERE COMMAND NOT IN
  ('Daemon', 'Connect', 'Connect Out', 'Binlog Dump', 'Binlog Dump GTID',
   'Slave_IO', 'Slave_SQL', 'Slave_worker')
  AND USER NOT IN ('system user', 'event_scheduler') AND NOT ({ours})
"""
"""The sessions of all clients except ours; threads of the server and of its replicas are not among them."""
WAITS_ENABLED = (
    "SELECT COUNT(*) FROM performance_schema.setup_consumers "
    "WHERE NAME = 'events_waits_current' AND ENABLED = 'YES'"
)
INNODB_SQL = f"""
SELECT trx_mysql_thread_id, LOWER(trx_state), LOWER(trx_operation_state) FROM information_schema.INNODB_TRX
WHERE trx_state = '{LOCK_WAIT}' OR trx_operation_state IN {QUEUED}
"""  # noqa: S608 (names of our own)

UNNAMED = frozenset(
    (WaitClass.CPU, WaitClass.OTHER, WaitClass.MUTEX, WaitClass.ADMISSION, WaitClass.PURGE_LAG)
)
"""Classes under which a connection may be found that, according to InnoDB's list of transactions, waits for a
row lock or is queued.
"""
LIMITS_SQL = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN {tuple(map(str, SLEEPERS))}"
METRIC_SQL = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = '{name}'"
READS, FREE_WAITS = "os_pending_reads", "buffer_pool_wait_free"
"""Metrics of InnoDB: pending reads, and how often a thread found no free page."""
FILE_TIMES_SQL = f"""
SELECT EVENT_NAME, SUM_TIMER_READ, SUM_TIMER_WRITE + SUM_TIMER_MISC
FROM performance_schema.file_summary_by_event_name
WHERE EVENT_NAME IN ('{REDO_EVENT}', '{BINARY_LOG_EVENT}', '{DATA_EVENT}')
"""  # noqa: S608 (names of our own)
PS_PER_SECOND = 1e12
FILE_EVENTS = frozenset((REDO_EVENT, BINARY_LOG_EVENT, DATA_EVENT))
LOGS = {REDO_EVENT: WaitClass.COMMIT, BINARY_LOG_EVENT: WaitClass.BINARY_LOG}
"""Events of the two logs, and the class of a commit that waits for each."""
FILE_CALLS = {
    "x86_64": {0: "read", 17: "read", 1: "write", 18: "write", 74: "sync", 75: "sync", 277: "sync"},
    "aarch64": {63: "read", 67: "read", 64: "write", 68: "write", 82: "sync", 83: "sync", 84: "sync"},
}
"""Numbers of the system calls on a file: read, pread, write, pwrite, fsync, fdatasync, sync_file_range."""
SLEEP_CALLS = {"x86_64": 230, "aarch64": 115}
"""Number of the system call clock_nanosleep."""
PROLONGS = 0x74_7569_6469_736B
"""Fifth argument of a sleep that prolongs a call on a file (`native/disk`, a simulated disk). The sixth is
the number of that call and the file's descriptor, of 32 bits each.
"""
FADING = 0.9
"""With each sample, earlier observations of the logs keep this share of their weight."""
FEW = 8
"""A latch may be held by a running thread if at least one runs for this many that wait."""

NO_PROC = "CPU and the wait for it are not told apart, nor waits that the server does not name: {why}"
NO_INNODB = "row locks need the PROCESS privilege"


class Threads:
    """The threads of the server's process, as seen in /proc."""

    def __init__(self, pid: int, proc: str = "/proc", files: KeptFiles | None = None) -> None:
        self.pid = pid
        self._process = f"{proc}/{pid}"
        self._tasks = f"{self._process}/task"
        self._files = files or KeptFiles()
        self._calls = FILE_CALLS.get(platform.machine(), {})
        self._sleep = SLEEP_CALLS.get(platform.machine())
        self._every: Sequence[int] = ()
        self._listed_ns: int | None = None

    def times(self, tid: int) -> tuple[int, int] | None:
        """Nanoseconds of a thread so far, on a processor and in its queue; None if the thread has ended or
        cannot be read.
        """
        parts = [numerals.count(part) for part in self._text(tid, "schedstat").split()]
        if len(parts) != 3 or parts[0] is None or parts[1] is None:
            return None
        return parts[0], parts[1]

    def blocked(self, tid: int) -> tuple[str, bool | None]:
        """The kernel function in which a thread is blocked, empty if unknown; and whether it is blocked, None
        if unknown.
        """
        for is_last in (False, True):
            function = self._text(tid, "wchan")
            if function not in ("", "0"):
                return function, True
            state = self._text(tid, "stat").rpartition(")")[2].strip()[:1]
            if is_last or state not in ("S", "D"):  # it may have been blocked since
                break
        return "", state in ("S", "D") if state else None

    def file_wait(self, tid: int) -> tuple[str, str, str]:
        """Wait event and operation of a thread that is blocked in a system call on a file, and the file's
        name; empty strings if unknown.
        """
        call = self._text(tid, "syscall").split()
        number = numerals.count(call[0]) if len(call) > 1 else None
        try:
            descriptor = int(call[1], 16) if number is not None else 0
            if number is not None and number == self._sleep:
                is_prolonged = len(call) > 6 and int(call[5], 16) == PROLONGS
                number, descriptor = divmod(int(call[6], 16), 1 << 32) if is_prolonged else (None, 0)
        except ValueError:
            number = None
        operation = self._calls.get(number, "") if number is not None else ""
        if not operation:
            return "", "", ""
        try:
            path = os.readlink(f"{self._process}/fd/{descriptor}")
        except (OSError, ValueError):
            return "", "", ""
        event = file_event(name := os.path.basename(path))
        return event, operation if event else "", name

    def writes_pages(self, others: Set[int], now_ns: int) -> bool:
        """True if a thread of the server that is not in `others` is blocked in a write to a data file."""
        if self._listed_ns is None or now_ns - self._listed_ns > IDS_EVERY_SECONDS * NS_PER_SECOND:
            try:
                names = os.listdir(self._tasks)
            except OSError:
                names = []
            self._listed_ns = now_ns
            self._every = [tid for name in names if (tid := numerals.count(name)) is not None]
        for tid in self._every:
            if tid not in others and (kernel := self._text(tid, "wchan")) not in ("", "0"):
                event, operation, _ = self.file_wait(tid) if may_be_file(kernel) else ("", "", "")
                if event == DATA_EVENT and operation in WRITES:
                    return True
        return False

    def _text(self, tid: int, name: str) -> str:
        return self._files.text(f"{self._tasks}/{tid}/{name}", 1024)


class ProcessRow(NamedTuple):
    """A row of the process list."""

    id: int
    command: str
    state: str
    elapsed_ms: float
    tid: int
    """The thread's id in the operating system; 0 if unknown."""
    event: str
    """The current wait event, empty if unknown."""
    operation: str
    statement: str
    """Empty unless the detail is read."""


class Baseline(NamedTuple):
    """The times of a connection's thread at their last reading."""

    tid: int
    at_ns: int
    cpu_ns: int
    queue_ns: int


class TimeSampler:
    """Samples the connections whose ids `own_ids` returns. With `timer`, which counts the session's own
    statements, it samples the sessions of all other clients. `server_pid` returns None for a server on
    another host.
    """

    def __init__(
        self,
        target: Target,
        server: ServerInfo,
        clock: Clock,
        own_ids: Callable[[], Awaitable[Set[int]]],
        server_pid: Callable[[], int | None],
        *,
        timer: QueryTimer | None = None,
        log_in: Connect = log_in,
        proc: str = "/proc",
        own: OwnConnections | None = None,
    ) -> None:
        self.lock = asyncio.Lock()
        """Held during a sample, so that a reader of the server's counters can wait for its end."""
        self._timer = timer
        self._own_connections = own or OwnConnections()
        self._connection = MonitoringConnection(
            target,
            clock,
            timeout_seconds=TIMEOUT_SECONDS,
            give_up_seconds=GIVE_UP_SECONDS,
            log_in=log_in,
            own=self._own_connections,
        )
        self._flavour = server.flavour
        self._clock = clock
        self._own_ids = own_ids
        self._sources = list(SOURCES[server.flavour]) if timer is not None else []
        self.locks = LockWatch(server.flavour, clock, timer)
        self.detail = Detail(server.flavour, self.locks)
        self._server_pid = server_pid
        self._proc = proc
        self._jitter = random.Random(1961)
        self._lists = [_MARIADB_LIST] if server.flavour is Flavour.MARIADB else [_THREADS, _MYSQL_LIST]
        self._has_checked_waits = server.flavour is Flavour.MARIADB
        self._ids: frozenset[int] = frozenset()
        self._threads: Threads | None = None
        self._known: dict[int, Baseline] = {}
        self._own: tuple[int, int] | None = None
        self._own_cpu_ns = 0
        self._innodb_gap = ""
        self._logs: dict[WaitClass, float] = {}
        self._has_file_times = self._is_log_seen = server.flavour is Flavour.MYSQL
        self._files: dict[str, tuple[float, float]] = {}
        self._files_ns: int | None = None
        self._reading = self._reading_share = 0.0
        self._limits: dict[str, int] = {}
        self._limits_ns: int | None = None
        self._leaders: Counter[WaitClass | None] = Counter()
        self._is_written = self._is_page_awaited = False
        self._free_waits: float | None = None
        self._free_waits_ns = -NS_PER_SECOND * 10
        self.pause_seconds = EVERY_SECONDS
        """The present mean time between samples."""
        self._flight_us = 0.0
        self._begun_ns = 0
        self._reset()

    async def log_in(self) -> None:
        """Connect before the load starts, which may use up the server's connections."""
        await self._connection.run(_nothing)

    async def run(self) -> None:
        await self.begin()
        ids_ns = self._begun_ns
        while True:
            shift = 1 + JITTER * (2 * self._jitter.random() - 1)
            await self._clock.sleep(self.pause_seconds * shift)
            if self._clock.now_ns() - ids_ns > IDS_EVERY_SECONDS * NS_PER_SECOND:
                ids_ns, self._ids = self._clock.now_ns(), await self._accounted()
            async with self.lock:
                await self.sample()

    def watch_detail(self) -> None:
        """Read who waits for the next `LEASE_SECONDS`."""
        self.detail.renew(self._clock.now_ns())

    async def close(self) -> None:
        async with self.lock:
            await self._connection.close()

    async def begin(self) -> None:
        self._ids = await self._accounted()
        self._begun_ns = self._clock.now_ns()
        if self._has_file_times:
            async with self.lock:
                await self._take_files(self._begun_ns)

    async def _accounted(self) -> frozenset[int]:
        """The connections whose time is accounted for."""
        own = frozenset(await self._own_ids())
        if not self._sources:
            return own
        async with self.lock:
            found = await self._connection.run(
                partial(self._read_clients, own=own | self._own_connections.ids)
            )
        return self._ids if found is None else found

    async def _read_clients(self, connection: Connection, own: frozenset[int]) -> frozenset[int]:
        queries = timed(connection, self._timer)
        while True:
            try:
                rows = await queries.query(_CLIENTS.format(source=self._sources[0], ours=among(own)))
                return frozenset(id for row in rows if (id := numerals.count(row[0])) is not None)
            except MOMENTARY_ERRORS:
                raise
            except SQLError:
                if len(self._sources) == 1:
                    raise
            del self._sources[0]

    async def sample(self) -> None:
        """Classify all connections once, and adapt the pause to the cost."""
        if not self._ids:
            return
        sent_ns, cpu_before = self._clock.now_ns(), time.thread_time()
        rows = await self._connection.run(self._read)
        if rows is None:
            return
        innermost = {row.id: row for row in rows}
        now_ns = self._clock.now_ns()
        everyone: list[tuple[int, ObservedConnection]] = []
        texts: dict[int, str] = {}
        files: dict[int, str] = {}
        flight_ms = 0.0
        for id, command, state, elapsed_ms, tid, name, operation, statement in innermost.values():
            if self.detail.is_read:
                texts[id] = statement
            if id not in self._ids:
                self._own = id, tid
                continue
            kernel, is_blocked = self._look(id, tid, now_ns)
            if not name and self._threads is not None and is_blocked and may_be_file(kernel):
                name, operation, files[id] = self._threads.file_wait(tid)
            everyone.append((id, ObservedConnection(command, state, "", name, operation, kernel, is_blocked)))
            if command != "Sleep":
                flight_ms += elapsed_ms
        await self._read_limits(everyone, now_ns)
        waiting = await self._innodb(everyone)
        named = [(seen, self._wait_of(seen._replace(innodb=waiting.get(id, "")))) for id, seen in everyone]
        await self._read_shared(named, now_ns)
        if self.detail.is_read:
            self.detail.count_sample()
        monitors = frozenset(self._own_connections.ids)
        await self.locks.look(
            self._connection,
            waiting=sum(wait in LOCKS for _, wait in named),
            active=sum(wait is not None for _, wait in named),
            ours=monitors if self._sources else monitors | self._ids,
            monitors=monitors,
        )
        self._samples += 1
        self._in_flight_us = flight_ms * 1000
        self._is_written = self._is_behind_writes(named, now_ns)
        for (id, _), (seen, wait) in zip(everyone, named, strict=True):
            if id in texts and (wait is not None or seen.is_blocked is False):
                awaited = files.get(id) or seen.event.removeprefix("wait/")
                self.detail.add(id, texts[id], awaited, self._parts(wait or WaitClass.CPU, seen))
            self._unseen += seen.is_blocked is None
            if wait is None:
                self._idle += seen.is_blocked is None
            elif seen.is_blocked is not False:
                counts = self._blocked if seen.is_blocked else self._stated
                for each, part in self._parts(wait, seen):
                    counts[each] += part
        server = self._server_seconds()
        if server is None:
            server = PART_OF_ANSWER * (now_ns - sent_ns) / NS_PER_SECOND
        needed = max(EVERY_SECONDS, (time.thread_time() - cpu_before + server) / MOST_SHARE)
        self.pause_seconds = min(0.8 * self.pause_seconds + 0.2 * needed, RAREST_SECONDS)

    def collect(self) -> Tick:
        """The findings since the last call, with the keys that `account_sums` reads; no sums without a
        sample.
        """
        if not self._samples:
            return Tick(missing={"time": self._connection.last_error} if self._connection.last_error else {})
        now_ns = self._clock.now_ns()
        missing = {}
        cpu_us = queue_us = whole_us = 0.0
        for id, before in list(self._known.items()):
            times = self._threads.times(before.tid) if self._threads else None
            if times is None or id not in self._ids:
                del self._known[id]
                continue
            now = Baseline(before.tid, now_ns, *times)
            cpu_us += (now.cpu_ns - before.cpu_ns) / NS_PER_US
            queue_us += (now.queue_ns - before.queue_ns) / NS_PER_US
            whole_us += (now_ns - before.at_ns) / NS_PER_US
            self._known[id] = now
        each_us = (now_ns - self._begun_ns) / NS_PER_US / self._samples
        blocked_us = max(0.0, whole_us - cpu_us - queue_us)
        blocked = sum(self._blocked.values())
        sampled_us = each_us * blocked
        named_us = min(blocked_us, sampled_us)
        idle_us = each_us * self._idle + blocked_us - named_us
        sums = {wait: each_us * count for wait, count in self._stated.items()}
        for wait, count in self._blocked.items():
            sums[wait] = sums.get(wait, 0.0) + named_us * count / blocked
        sums[WaitClass.CPU] = sums.get(WaitClass.CPU, 0.0) + cpu_us
        if whole_us:
            sums[WaitClass.RUN_QUEUE] = queue_us
        if self._unseen:
            missing[WaitClass.RUN_QUEUE.key] = NO_PROC.format(why=self._why_unseen())
        if self._innodb_gap:
            missing[WaitClass.ROW_LOCK.key] = self._innodb_gap
        growth_us, self._flight_us = self._in_flight_us - self._flight_us, self._in_flight_us
        found = Tick(
            sums={
                TIME + "seconds": (now_ns - self._begun_ns) / NS_PER_SECOND,
                TIME + "samples": self._samples,
                TIME + "seen_us": whole_us + each_us * self._unseen,
                TIME + "idle_us": idle_us,
                TIME + "flight_us": growth_us,
                **{wait.key: us for wait, us in sums.items()},
            },
            missing=missing,
        )
        self._begun_ns = now_ns
        self._reset()
        if self.detail.is_read:
            self.detail.end_tick(now_ns)
        return found

    def _server_seconds(self) -> float | None:
        """CPU time of the sampler's own thread in the server since the last call; None if it cannot
        be seen.
        """
        found = self._threads.times(self._own[1]) if self._threads is not None and self._own else None
        if found is None:
            return None
        before, self._own_cpu_ns = self._own_cpu_ns, found[0]
        return (found[0] - before) / NS_PER_SECOND if 0 < before <= found[0] else None

    def _why_unseen(self) -> str:
        if self._threads is None:
            return "the server's process is not on this host, or was not found"
        return "its threads cannot be seen from here (a container, or a pool of threads)"

    def _reset(self) -> None:
        self._samples = 0
        self._idle = self._unseen = 0
        self._in_flight_us = self._flight_us
        self._blocked: dict[WaitClass, float] = defaultdict(float)
        self._stated: dict[WaitClass, float] = defaultdict(float)

    def _look(self, id: int, tid: int, now_ns: int) -> tuple[str, bool | None]:
        """The kernel's view of a connection's thread, as `Threads.blocked` returns it; the first look begins
        the reading of its times.
        """
        pid = self._server_pid()
        if pid != (self._threads.pid if self._threads else None):
            self._threads, self._known = (Threads(pid, self._proc) if pid else None), {}
        if self._threads is None or not tid:
            return "", None
        if (known := self._known.get(id)) is None or known.tid != tid:
            times = self._threads.times(tid)
            if times is None:
                return "", None
            self._known[id] = Baseline(tid, now_ns, *times)
        return self._threads.blocked(tid)

    def _wait_of(self, seen: ObservedConnection) -> WaitClass | None:
        return wait_of(seen, self._flavour, slept_for(self._limits))

    async def _read_limits(self, everyone: Sequence[tuple[int, ObservedConnection]], now_ns: int) -> None:
        """Read the limits for which threads sleep, if a thread sleeps."""
        is_old = self._limits_ns is None or now_ns - self._limits_ns > IDS_EVERY_SECONDS * NS_PER_SECOND
        if is_old and any(is_asleep(seen.kernel) for _, seen in everyone):
            self._limits_ns = now_ns
            self._limits = await self._connection.run(self._ask_limits) or self._limits

    async def _ask_limits(self, connection: Connection) -> dict[str, int]:
        return numerals.readable(
            (str(name), value) for name, value in await timed(connection, self._timer).query(LIMITS_SQL)
        ).found

    async def _innodb(self, everyone: Sequence[tuple[int, ObservedConnection]]) -> dict[int, str]:
        """Transactions that wait in InnoDB, by connection; read only if some connection's state does not name
        its wait.
        """
        if self._innodb_gap or not any(
            seen.is_blocked is not False and self._wait_of(seen) in UNNAMED for _, seen in everyone
        ):
            return {}
        return await self._connection.run(self._read_innodb) or {}

    async def _read_shared(
        self, named: Sequence[tuple[ObservedConnection, WaitClass | None]], now_ns: int
    ) -> None:
        """Read what divides waits that several connections share: how commits divide between the logs,
        pending reads, whether threads wait for free pages.
        """
        guessed = sum(seen.is_blocked is None and wait is WaitClass.CPU for seen, wait in named)
        leaders = Counter(wait for seen, wait in named if wait is WaitClass.SEMI_SYNC or seen.event in LOGS)
        self._leaders = leaders if leaders[WaitClass.SEMI_SYNC] else Counter()
        if self._has_file_times:
            is_wanted = guessed or any(wait is WaitClass.COMMIT for _, wait in named)
            since_ns = now_ns - (self._files_ns or 0)
            if is_wanted and (not self._logs or since_ns > IDS_EVERY_SECONDS * NS_PER_SECOND):
                await self._take_files(now_ns)
        else:
            found = Counter(wait for seen, wait in named if seen.event in LOGS)
            self._is_log_seen = bool(found)
            if found:
                self._logs = {log: FADING * self._logs.get(log, 0.0) + found[log] for log in LOGS.values()}
            if guessed and not self._innodb_gap:
                self._reading = await self._innodb_metric(READS) or 0.0
        self._reading_share = min(1.0, self._reading / guessed) if guessed else 0.0
        is_old = now_ns - self._free_waits_ns > IDS_EVERY_SECONDS * NS_PER_SECOND
        if is_old and not self._innodb_gap and any(wait is WaitClass.MUTEX for _, wait in named):
            before, self._free_waits_ns = self._free_waits, now_ns
            self._free_waits = await self._innodb_metric(FREE_WAITS)
            self._is_page_awaited = None not in (before, self._free_waits) and before != self._free_waits

    async def _take_files(self, now_ns: int) -> None:
        """Take the times of the server's files since the last reading: of writes and flushes of the logs, and
        of reads of data files.
        """
        found = await self._connection.run(self._read_files) or {}
        before, before_ns = self._files, self._files_ns
        self._files, self._files_ns = found, now_ns
        if before_ns is None or before_ns == now_ns or not before.keys() & found.keys() >= FILE_EVENTS:
            return
        self._logs = {log: max(0.0, found[event][1] - before[event][1]) for event, log in LOGS.items()}
        read_ps = max(0.0, found[DATA_EVENT][0] - before[DATA_EVENT][0])
        self._reading = read_ps / PS_PER_SECOND / (now_ns - before_ns) * NS_PER_SECOND

    def _is_behind_writes(
        self, named: Sequence[tuple[ObservedConnection, WaitClass | None]], now_ns: int
    ) -> bool:
        """True if connections that wait for a latch in fact wait for a thread that writes pages, of the load
        or of the server itself: the buffer pool has no free pages, or hardly any thread runs that could hold
        the latch. Commits count with them if no thread is seen in a log.
        """
        shared = (WaitClass.MUTEX,) if self._is_log_seen else (WaitClass.MUTEX, WaitClass.COMMIT)
        counts = Counter(wait for _, wait in named)
        waiting = sum(counts[wait] for wait in shared)
        is_held = FEW * counts[WaitClass.CPU] > waiting and not self._is_page_awaited
        if self._threads is None or not waiting or is_held:
            return False
        ours = {each.tid for each in self._known.values()}
        return counts[WaitClass.PAGE_WRITE] > 0 or self._threads.writes_pages(ours, now_ns)

    def _parts(self, wait: WaitClass, seen: ObservedConnection) -> Sequence[tuple[WaitClass, float]]:
        """The classes of a connection with their shares, which add up to 1.

        A connection in a commit often waits for the one that does the work. While a thread waits for the
        acknowledgement of a replica, the others in a commit wait for it, or for the log in which another
        thread is seen. Otherwise commits are divided in proportion to the writes and flushes of the two logs:
        by the time of the files, which MySQL counts, or by the files on which commits are seen to be blocked.
        """
        is_commit = wait is WaitClass.COMMIT and not seen.event
        if is_commit and (leaders := self._leaders.total()):
            return [(each, count / leaders) for each, count in self._leaders.items() if each is not None]
        if self._is_written and (wait is WaitClass.MUTEX or (is_commit and not self._is_log_seen)):
            return [(WaitClass.PAGE_WRITE, 1.0)]
        if is_commit and (whole := sum(self._logs.values())):
            return [(log, part / whole) for log, part in self._logs.items()]
        if wait is WaitClass.CPU and seen.is_blocked is None:
            return [(WaitClass.PAGE_READ, self._reading_share), (wait, 1.0 - self._reading_share)]
        return [(wait, 1.0)]

    async def _read(self, connection: Connection) -> Sequence[ProcessRow]:
        """The load's connections, from the best list that this login may read; including the sampler's own
        connection until its thread is known.
        """
        own = connection.thread_id
        is_known = self._threads is None or (self._own is not None and self._own[0] == own)
        ids = self._ids if is_known else self._ids | {own}
        queries = timed(connection, self._timer)
        while True:
            name = "t.PROCESSLIST_ID" if self._lists[0] in (_THREADS, _THREADS_WITH_WAITS) else "ID"
            try:
                if not self._has_checked_waits:
                    self._has_checked_waits = True
                    if numerals.count((await queries.query(WAITS_ENABLED))[0][0]):
                        self._lists.insert(0, _THREADS_WITH_WAITS)
                        continue
                columns = "t.PROCESSLIST_INFO" if name.startswith("t.") else "INFO"
                info = f", LEFT({columns}, {DETAIL_CHARACTERS})" if self.detail.is_read else ""
                rows = await queries.query(self._lists[0].format(ours=among(ids, name), info=info))
                if rows or len(self._lists) == 1:
                    return _listed(rows, has_statement=bool(info))
            except MOMENTARY_ERRORS:
                raise
            except SQLError:
                if len(self._lists) == 1:
                    raise
            del self._lists[0]

    async def _read_files(self, connection: Connection) -> dict[str, tuple[float, float]]:
        """Picoseconds of reads, and of writes and flushes, by file event."""
        try:
            rows = await timed(connection, self._timer).query(FILE_TIMES_SQL)
        except MOMENTARY_ERRORS:
            raise
        except SQLError:
            self._has_file_times = False
            return {}
        return {
            str(name): (read, other)
            for name, read_ps, other_ps in rows
            if (read := numerals.amount(read_ps, MOST_TIMER)) is not None
            and (other := numerals.amount(other_ps, MOST_TIMER)) is not None
        }

    async def _innodb_metric(self, name: str) -> float | None:
        return await self._connection.run(partial(self._read_innodb_metric, name=name))

    async def _read_innodb_metric(self, connection: Connection, name: str) -> float | None:
        rows = await self._of_innodb(connection, METRIC_SQL.format(name=name))
        return numerals.amount(rows[0][0]) if rows else None

    async def _read_innodb(self, connection: Connection) -> dict[int, str]:
        """State or operation of the transactions that wait in InnoDB, by connection."""
        return {
            number: str(state if state == LOCK_WAIT else operation)
            for id, state, operation in await self._of_innodb(connection, INNODB_SQL)
            if (number := numerals.count(id)) is not None
        }

    async def _of_innodb(self, connection: Connection, sql: str) -> Sequence[Row]:
        try:
            return await timed(connection, self._timer).query(sql)
        except MOMENTARY_ERRORS:
            raise
        except SQLError:
            self._innodb_gap = NO_INNODB
            return ()


def _listed(rows: Sequence[Row], *, has_statement: bool) -> list[ProcessRow]:
    """The rows of the process list, of which the last columns are optional; a row whose id cannot be read is
    left out.
    """
    found = []
    for id, command, state, elapsed_ms, tid, *further in rows:
        statement = further.pop() if has_statement else ""
        event, operation = further or ("", "")
        if (number := numerals.count(id)) is not None:
            texts = (str(text or "") for text in (event, operation, statement))
            elapsed = numerals.amount(elapsed_ms) or 0.0
            thread = numerals.count(tid) or 0
            found.append(ProcessRow(number, str(command or ""), str(state or ""), elapsed, thread, *texts))
    return found


async def _nothing(connection: Connection) -> None:
    """A job that needs only the login."""


US_PER_SECOND = 1e6


def account_sums(found: Tick, load: Tick) -> dict[str, float]:
    """The account's sums of a tick, from the sampler's findings and the load's tick; empty if either is
    missing.

    For a watched server nothing is known of its clients: a session that waits for its next statement counts
    as the client's time.
    """
    seconds = found.sums.get(TIME + "seconds", 0.0)
    if not seconds or not load.seconds:
        return {}
    sums = {wait: found.sums.get(wait.key, 0.0) for wait in WaitClass}
    if "connections" in load.levels:
        per_connection = seconds * US_PER_SECOND
        beside_us = load.levels.get("idle", 0.0) * per_connection
        whole_us = load.levels["connections"] * per_connection
        idle_us = max(0.0, found.sums[TIME + "idle_us"] - beside_us)
        statements_us = sum(each.sum_us for each in load.named(STATEMENT).values())
        in_statements_us = statements_us * seconds / load.seconds + found.sums[TIME + "flight_us"]
        client_us = min(max(0.0, whole_us - in_statements_us), idle_us)
        sums[WaitClass.ON_THE_WAY] += idle_us - client_us
        sums[WaitClass.OTHER] += max(0.0, whole_us + beside_us - found.sums[TIME + "seen_us"])
    else:
        whole_us, client_us = found.sums[TIME + "seen_us"], found.sums[TIME + "idle_us"]
    sums[WaitClass.CLIENT] += client_us
    return {
        TIME + "seconds": seconds,
        TIME + "samples": found.sums[TIME + "samples"],
        TIME + "completed": load.sums["completed"] * seconds / load.seconds,
        TIME + "connections_us": whole_us,
        **{wait.key: us for wait, us in sums.items()},
    }
