"""Loads of which the cause is known: the account of time names it first, and its parts add up.

One server of each flavour, with a buffer pool that is smaller than the larger tables, and a disk that can be
made slow (`slow_disk.c`).
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from tests.faults.proxy import Proxy
from tests.integration.support import sbtest
from tests.integration.support.session_process import FULL_SPEED_MS, session_spec
from tests.integration.support.shared import Starter, Templates
from tests.trials import assert_holds
from tuibench.load.tables import prepare_tables
from tuibench.metrics.wait_changes import because_text, time_changes
from tuibench.metrics.wait_classes import BINARY_LOG_EVENT, REDO_EVENT, STATES, WaitClass
from tuibench.model.effect import Effect
from tuibench.model.event import Event
from tuibench.model.message import ApplyPreset, SessionSpec
from tuibench.model.server import Flavour, Target, TimeReport
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.mysql.connection import Connection
from tuibench.observe.statement_times import QueryTimer
from tuibench.observe.wait_sampler import TimeSampler, account_sums
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer
from tuibench.session.load_run import LoadRun

MIB = 1 << 20
OPTIONS = (
    "--innodb-buffer-pool-size=8M",
    "--loose-innodb-buffer-pool-chunk-size=1M",
    "--innodb-use-native-aio=0",
    "--innodb-doublewrite=0",
    "--max-connections=200",
    "--log-bin=binlog",
    "--server-id=1",
    "--sync-binlog=0",
)
ENOUGH_TICKS, ENOUGH_SAMPLES, ENOUGH_TRANSACTIONS = 6, 16, 100
"""The first tick is left out. A busy machine takes longer for it, so a run ends by what it has seen."""
MORE_TICKS = {
    WaitClass.METADATA_LOCK: 36,
    WaitClass.CPU: 12,
    WaitClass.ADMISSION: 12,
    WaitClass.PAGE_WRITE: 12,
    WaitClass.SEMI_SYNC: 24,
}
"""Causes of which single ticks differ much: a table is locked for over two ticks, a queue is uneven."""
LONGEST_SECONDS = 30.0
LARGE: dict[str, Any] = {"tables": 2, "table_size": 40_000, "rand_type": "uniform"}
ONE_STATEMENT = """
name = "one-statement"
summary = "one statement again and again"
data_set = "sbtest"

[[transactions]]
name = "one"
autocommit = true
think_seconds = {think}

[[transactions.steps]]
statements = [{{ name = "one", sql = "{sql}" }}]
"""


class Truths:
    """The server, and how to make it slow."""

    def __init__(self, server: PrivateServer, slow: Path) -> None:
        self.server = server
        self.slow = slow
        self.usual: Accounts | None = None

    @property
    def flavour(self) -> Flavour:
        return self.server.binary.flavour

    def spec(
        self,
        profile: str = "oltp_read_write",
        *,
        threads: int = 8,
        sql: str = "",
        think: float = 0.0,
        text: str = "",
        **options: int,
    ) -> SessionSpec:
        if sql:
            profile, text = "one-statement", ONE_STATEMENT.format(sql=sql, think=think)
        spec = session_spec(
            self.server.target,
            profile,
            threads=threads,
            interval_seconds=0.25,
            delay_ms=FULL_SPEED_MS,
            **options,
        )
        return replace(spec, plan=replace(spec.plan, seconds=LONGEST_SECONDS, profile_text=text))

    @asynccontextmanager
    async def slow_files(self, *kinds: str, **settings: str) -> AsyncIterator[None]:
        for kind in kinds:
            (self.slow / kind).touch()
        async with self.settings(**settings):
            yield
        for kind in kinds:
            (self.slow / kind).unlink()

    @asynccontextmanager
    async def table_locked(self) -> AsyncIterator[None]:
        """A lock that another session holds now and then, for longer than a tick.

        Of the only table of the load: a lock of several is a deadlock with transactions that wait for each
        other's rows, which the server does not see.
        """

        over = asyncio.Event()

        async def hold() -> None:
            async with sbtest.connected(self.server.target) as other:
                while not over.is_set():
                    await other.execute("LOCK TABLES sbtest1 WRITE")
                    await asyncio.sleep(0.6)
                    await other.execute("UNLOCK TABLES")
                    await asyncio.sleep(0.05)

        holding = asyncio.create_task(hold())
        yield
        over.set()
        await holding

    @asynccontextmanager
    async def unacknowledged(self) -> AsyncIterator[None]:
        """Semi-synchronous replication without a replica: each commit waits until the timeout, which switches
        it off; then it is switched on again.
        """
        is_mysql = self.flavour is Flavour.MYSQL
        side = "source" if is_mysql else "master"
        over = asyncio.Event()
        async with sbtest.connected(self.server.target) as other:
            if is_mysql:
                await other.execute("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")

            async def switch_on() -> None:
                while not over.is_set():
                    rows = await other.query(f"SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_{side}_status'")
                    if rows[0][1] == "OFF":
                        for value in ("OFF", "ON"):
                            await other.execute(f"SET GLOBAL rpl_semi_sync_{side}_enabled = {value}")
                    await asyncio.sleep(0.01)

            async with sbtest.set_global(other, f"rpl_semi_sync_{side}_timeout", "200"):
                switching = asyncio.create_task(switch_on())
                yield
                over.set()
                await switching
                await other.execute(f"SET GLOBAL rpl_semi_sync_{side}_enabled = OFF")
            if is_mysql:
                await other.execute("UNINSTALL PLUGIN rpl_semi_sync_source")

    @asynccontextmanager
    async def purge_behind(self) -> AsyncIterator[None]:
        """A read view holds the purge back, and each change is delayed by 50 ms."""
        limits = {"innodb_max_purge_lag_delay": "50000", "innodb_max_purge_lag": "1"}
        async with sbtest.connected(self.server.target) as other:
            await other.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            await other.query("SELECT COUNT(*) FROM sbtest1")
            async with self.settings(**limits):
                yield

    @asynccontextmanager
    async def one_core(self) -> AsyncIterator[None]:
        """The server has one core, and the client the others."""
        tasks, cores = Path(f"/proc/{self.server.pid}/task"), os.sched_getaffinity(self.server.pid)
        for chosen in ({min(cores)}, cores):
            for task in tasks.iterdir():
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task.name), chosen)
            if chosen != cores:
                yield

    @asynccontextmanager
    async def settings(self, **values: str) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            other = await stack.enter_async_context(sbtest.connected(self.server.target))
            for name, value in values.items():
                await stack.enter_async_context(sbtest.set_global(other, name, value))
            yield

    @asynccontextmanager
    async def wait_events(self) -> AsyncIterator[Connection]:
        """A connection to a MySQL that counts all waits of its threads, and whose commits wait in events.

        Its log writers would flush for them, and a wait for these has no event.
        """
        async with sbtest.connected(self.server.target) as other:
            for state in ("YES", "NO"):
                await other.execute(
                    f"UPDATE performance_schema.setup_instruments SET ENABLED='{state}', TIMED='{state}' "
                    "WHERE NAME LIKE 'wait/synch/%'"
                )
                await other.execute(
                    f"UPDATE performance_schema.setup_consumers SET ENABLED='{state}' "
                    "WHERE NAME = 'events_waits_current'"
                )
                await other.execute(
                    f"SET GLOBAL innodb_log_writer_threads={'OFF' if state == 'YES' else 'ON'}"
                )
                if state == "YES":
                    yield other

    @asynccontextmanager
    async def behind_a_queue(self, spec: SessionSpec) -> AsyncIterator[SessionSpec]:
        """The same load through a proxy that serves one request after the other."""
        proxy = Proxy(self.server.target)
        proxy.requests_per_second = 200
        async with proxy.listening() as port:
            yield replace(spec, target=replace(spec.target, socket="", host="127.0.0.1", port=port))


@pytest.fixture(scope="module")
def slow_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that makes the disk slow, with the library in it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here, for a disk that can be made slow")
    folder = tmp_path_factory.mktemp("slow-disk")
    source = Path(__file__).with_name("slow_disk.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", folder / "slow_disk.so", source, "-ldl"], check=True
    )
    return folder


@pytest.fixture(scope="module")
def truths(binary: Binary, templates: Templates, slow_disk: Path) -> Iterator[Truths]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOW_DISK", str(slow_disk))
        patch.setenv("LD_PRELOAD", str(slow_disk / "slow_disk.so"))
        # A private server writes nowhere else than into folders of its options.
        options = (*OPTIONS, f"--slow-query-log-file={slow_disk / 'slow.log'}")
        server = asyncio.run(Starter(templates)(binary, options=options))
    try:
        asyncio.run(_prepare(server.target))
        yield Truths(server, slow_disk)
    finally:
        asyncio.run(server.stop())


async def _prepare(target: Target) -> None:
    async with sbtest.connected(target) as connection:
        await connection.execute("CREATE DATABASE large")
    await prepare_tables(target, sbtest.program(table_size=500))
    await prepare_tables(sbtest.in_database(target, "large"), sbtest.program("oltp_point_select", **LARGE))


class Accounts(NamedTuple):
    """The accounts of one run, tick by tick without the first: as tuibench gives it on the server's host, and
    from a second sampler that does not see the server's threads.
    """

    local: list[Tick]
    remote: list[Tick]


async def accounts(
    spec: SessionSpec, during: AbstractAsyncContextManager[object], enough: int = ENOUGH_TICKS
) -> Accounts:
    found = Accounts([], [])
    async with LoadRun(spec) as run:
        watcher = run.watcher
        assert watcher.fleet is not None
        remote = TimeSampler(
            spec.target, watcher.server, watcher.clock, watcher.fleet.connection_ids, lambda: None
        )

        def take(message: object) -> None:
            if isinstance(message, Sample) and message.load is not None:
                found.local.append(message.tick)
                seen = remote.collect()
                found.remote.append(Tick(sums=account_sums(seen, message.load), missing=seen.missing))
                if all(_is_enough(ticks[1:], enough) for ticks in found):
                    run.request_stop()

        watcher.bus.listeners.append(take)
        async with during:
            sampling = asyncio.create_task(remote.run())
            try:
                await run.run()
            finally:
                sampling.cancel()
                await asyncio.wait({sampling})
                await remote.close()
    return Accounts(found.local[1:], found.remote[1:])


async def usual_accounts(truths: Truths) -> Accounts:
    """What a load without any of the causes waits for, run once."""
    if truths.usual is None:
        truths.usual = await accounts(truths.spec(sql="SELECT 1", think=0.0005, threads=2), nullcontext())
    return truths.usual


def _is_enough(ticks: Sequence[Tick], enough: int = ENOUGH_TICKS) -> bool:
    known = [tick.sums for tick in ticks if tick.sums.get("time.samples")]
    samples, completed = (sum(each[f"time.{name}"] for each in known) for name in ("samples", "completed"))
    return len(known) >= enough and samples >= ENOUGH_SAMPLES and completed >= ENOUGH_TRANSACTIONS


def shares(ticks: Iterable[Tick]) -> dict[str, float]:
    """The part of each class in connections × seconds, the largest first; they add up. CPU and its queue are
    one.
    """
    whole = total_tick(tick for tick in ticks if "time.connections_us" in tick.sums)
    everything = whole.sums["time.connections_us"]
    found = {str(wait): whole.sums[wait.key] / everything for wait in WaitClass}
    assert sum(found.values()) == pytest.approx(1.0, abs=0.05)
    found[WaitClass.CPU] += found.pop(WaitClass.RUN_QUEUE)
    return dict(sorted(found.items(), key=lambda each: -each[1]))


Cause = Callable[[Truths], tuple[SessionSpec, AbstractAsyncContextManager[object]]]
"""A load, and what is done to the server during it."""


def _large(truths: Truths, profile: str, threads: int = 8, **options: Any) -> SessionSpec:
    spec = truths.spec(profile, threads=threads, **(LARGE | options))
    return replace(spec, target=sbtest.in_database(spec.target, "large"))


CAUSES: dict[WaitClass, Cause] = {
    WaitClass.ROW_LOCK: lambda truths: (
        truths.spec(sql="UPDATE sbtest1 SET k=k+1 WHERE id=1", threads=16), truths.slow_files("redo")
    ),
    WaitClass.METADATA_LOCK: lambda truths: (truths.spec(tables=1), truths.table_locked()),
    WaitClass.COMMIT: lambda truths: (_large(truths, "oltp_update_non_index"), truths.slow_files("redo")),
    WaitClass.BINARY_LOG: lambda truths: (
        _large(truths, "oltp_update_non_index"),
        truths.slow_files("binlog", sync_binlog="1", innodb_flush_log_at_trx_commit="0"),
    ),
    WaitClass.SEMI_SYNC: lambda truths: (truths.spec("oltp_update_non_index"), truths.unacknowledged()),
    WaitClass.PURGE_LAG: lambda truths: (truths.spec("oltp_update_non_index"), truths.purge_behind()),
    WaitClass.PAGE_READ: lambda truths: (_large(truths, "oltp_point_select"), truths.slow_files("reads")),
    WaitClass.PAGE_WRITE: lambda truths: (
        _large(truths, "oltp_write_only", 16, non_index_updates=8, index_updates=0, delete_inserts=0),
        truths.slow_files("writes", innodb_flush_log_at_trx_commit="0"),
    ),
    WaitClass.ADMISSION: lambda truths: (
        truths.spec(sql="SELECT COUNT(*) FROM sbtest1 a JOIN sbtest1 b ON a.c <> b.pad", threads=12),
        truths.settings(innodb_thread_concurrency="1"),
    ),
    WaitClass.CPU: lambda truths: (
        truths.spec("select_random_points", random_points=1000), truths.one_core()
    ),
    WaitClass.SLEEP: lambda truths: (truths.spec(sql="SELECT SLEEP(0.04)"), nullcontext()),
    WaitClass.CLIENT: lambda truths: (truths.spec(sql="SELECT 1", think=0.05), nullcontext()),
    WaitClass.ON_THE_WAY: lambda truths: (truths.spec("oltp_point_select"), nullcontext()),
}  # fmt: skip

NAMED_BY_THREADS = {
    Flavour.MARIADB: {WaitClass.BINARY_LOG, WaitClass.PAGE_WRITE},
    Flavour.MYSQL: {WaitClass.ADMISSION, WaitClass.PAGE_WRITE, WaitClass.PURGE_LAG},
}
"""Causes that only the threads of the server tell."""

LOOKS_LIKE = {WaitClass.CPU: (WaitClass.ON_THE_WAY,)}
"""Without the threads, what waits for a processor before it reads its request is on the way."""


CERTAIN = {
    WaitClass.ROW_LOCK, WaitClass.METADATA_LOCK, WaitClass.COMMIT, WaitClass.SEMI_SYNC, WaitClass.PURGE_LAG,
    WaitClass.SLEEP, WaitClass.CLIENT,
}  # fmt: skip
"""Causes that are most of the time by construction, however busy the machine."""
IN_EVERY_RUN = {WaitClass.ROW_LOCK, WaitClass.COMMIT}
"""What `make test` looks at of them; `make test-all` has the others."""
TRIALS, CHANCE = 5, 0.95


@pytest.mark.one_flavour
@pytest.mark.parametrize(
    "cause",
    [
        pytest.param(cause, marks=() if cause in IN_EVERY_RUN else pytest.mark.whole)
        for cause in CAUSES
        if cause in CERTAIN
    ],
)
async def test_a_certain_cause_is_named_first(truths: Truths, cause: WaitClass) -> None:
    if cause is WaitClass.PURGE_LAG and truths.flavour is Flavour.MARIADB:
        pytest.skip("MariaDB does not delay changes while a read view holds the purge back")
    await assert_named_first(truths, cause)


@pytest.mark.whole
@pytest.mark.parametrize("cause", [cause for cause in CAUSES if cause not in CERTAIN])
async def test_a_likely_cause_is_named_first_in_most_trials(truths: Truths, cause: WaitClass) -> None:
    """Other programs take processors and the disk, which moves the share of such a cause."""
    if cause is WaitClass.ADMISSION and truths.flavour is Flavour.MARIADB:
        pytest.skip("MariaDB has no innodb_thread_concurrency")
    await assert_holds(lambda: assert_named_first(truths, cause), trials=TRIALS, chance=CHANCE)


async def assert_named_first(truths: Truths, cause: WaitClass) -> None:
    spec, during = CAUSES[cause](truths)
    is_queued = cause is WaitClass.ON_THE_WAY
    async with truths.behind_a_queue(spec) if is_queued else nullcontext(spec) as given:
        found = await accounts(given, during, MORE_TICKS.get(cause, ENOUGH_TICKS))
    usual = await usual_accounts(truths)
    local, remote = shares(found.local), shares(found.remote)
    assert next(iter(local)) == cause, local
    assert_sentence(usual.local, found.local, {cause})
    if cause not in NAMED_BY_THREADS[truths.flavour]:
        looks = {cause, *LOOKS_LIKE.get(cause, ())}
        assert next(iter(remote)) in looks, remote
        assert_sentence(usual.remote, found.remote, looks)
    assert "not told apart" in total_tick(found.remote).missing[WaitClass.RUN_QUEUE.key]


def assert_sentence(usual: Sequence[Tick], found: Sequence[Tick], causes: set[WaitClass]) -> None:
    """The sentence on the difference to the usual load names one of the causes first."""
    sentence = because_text(time_changes(usual, found)).replace("probably ", "")
    named = {WaitClass.RUN_QUEUE, *causes} if WaitClass.CPU in causes else causes
    starts = tuple(
        f"because: {'commit (binary log)' if wait is WaitClass.BINARY_LOG else wait.label} " for wait in named
    )
    assert sentence.startswith(starts), sentence or shares(found)


async def test_the_servers_know_the_names_of_the_states(truths: Truths) -> None:
    """MySQL lists its states, and those of a plugin that is there; MariaDB's are words of its program."""
    if truths.flavour is Flavour.MYSQL:
        async with truths.unacknowledged(), sbtest.connected(truths.server.target) as connection:
            rows = await connection.query(
                "SELECT LOWER(NAME) FROM performance_schema.setup_instruments WHERE NAME LIKE 'stage/%'"
            )
        known = "\n".join(row[0].rpartition("/")[2] for row in rows)
    else:
        known = Path(f"/proc/{truths.server.pid}/exe").read_bytes().decode("latin-1").lower()
    unknown = [each.name for each in STATES if truths.flavour in each.flavours and each.name not in known]
    assert not unknown


async def test_who_waits_is_told_of_the_load_and_of_all_traffic(truths: Truths) -> None:
    """A hot row: the statement, the table and who holds it, by the load's connections and by all sessions."""
    spec, during = CAUSES[WaitClass.ROW_LOCK](truths)
    reports: list[TimeReport] = []
    traffic: list[Tick] = []
    async with LoadRun(spec) as run:
        watcher = run.watcher

        async def nobody() -> set[int]:
            return set()

        everyone = TimeSampler(
            spec.target, watcher.server, watcher.clock, nobody, lambda: truths.server.pid, timer=QueryTimer()
        )

        def take(message: object) -> None:
            if isinstance(message, Sample):
                watcher.sampler.watch_time()
                traffic.append(Tick(sums=account_sums(everyone.collect(), Tick(seconds=1.0, sums=DONE))))
            if isinstance(message, TimeReport):
                reports.append(message)
                if len(reports) > ENOUGH_TICKS and named(WaitClass.ROW_LOCK, "object"):
                    run.request_stop()

        def named(wait: WaitClass, kind: str) -> list[str]:
            return [part.name for part in reports[-1].parts if (part.wait, part.kind) == (wait, kind)]

        watcher.bus.listeners.append(take)
        async with during:
            sampling = asyncio.create_task(everyone.run())
            try:
                await run.run()
            finally:
                sampling.cancel()
                await asyncio.wait({sampling})
                await everyone.close()
    assert "sbtest1, held by" in named(WaitClass.ROW_LOCK, "object")[0]
    assert named(WaitClass.ROW_LOCK, "statement")[0] == "UPDATE sbtest1 SET k=k+? WHERE id=?"
    assert len(named(WaitClass.ROW_LOCK, "connection")) > 1
    whole = total_tick(tick for tick in traffic if tick.sums)
    parts = {wait: whole.sums[wait.key] for wait in WaitClass}
    assert sum(parts.values()) == pytest.approx(whole.sums["time.connections_us"], rel=0.05)
    assert (
        max((each for each in parts if each is not WaitClass.CLIENT), key=parts.__getitem__)
        is WaitClass.ROW_LOCK
    )


DONE = {"completed": 7.0}


LONG_TICKS = 40
"""Ticks before a change: the windows of an effect are as long as what came before it allows."""


@pytest.mark.whole
async def test_the_effect_of_unsafe_names_the_commit_in_most_trials(truths: Truths) -> None:
    await assert_holds(lambda: assert_commit_is_named(truths), trials=TRIALS, chance=CHANCE)


async def assert_commit_is_named(truths: Truths) -> None:
    spec = _large(truths, "oltp_read_write")
    effects: list[Effect] = []
    async with LoadRun(replace(spec, plan=replace(spec.plan, seconds=None))) as run:
        ticks: list[Tick] = []
        told: list[asyncio.Task[str]] = []

        def take(message: object) -> None:
            if isinstance(message, Sample) and message.load is not None:
                ticks.append(message.tick)
                if _is_enough(ticks) and len(ticks) >= LONG_TICKS and not told:
                    told.append(asyncio.create_task(run.submit(ApplyPreset("unsafe"))))
            if isinstance(message, Event) and message.effect is not None:
                effects.append(message.effect)
                run.request_stop()

        run.watcher.bus.listeners.append(take)
        async with truths.slow_files("redo"):
            await run.run()
    text = because_text(effects[0].because).replace("probably ", "")
    assert text.startswith("because: commit −"), effects[0]


MIXED = """
name = "mixed"
summary = "a page is read, a row is locked that others want, the log is flushed"
data_set = "sbtest"

[[transactions]]
name = "mixed"

[[transactions.steps]]
repeat = 2
let.id = { make = "key", high = "table_size" }
statements = [{ name = "read", sql = "SELECT c FROM sbtest2 WHERE id=?", bind = ["id"] }]

[[transactions.steps]]
let.hot = { make = "uniform", high = 16 }
statements = [
  { name = "write", sql = "UPDATE sbtest1 SET k=k+1 WHERE id=?", bind = ["hot"] },
]
"""
LOCK, PAGES, LOG = "lock", "pages", "log"
GROUPS: dict[str, tuple[tuple[WaitClass, ...], tuple[str, ...]]] = {
    LOCK: ((WaitClass.ROW_LOCK, WaitClass.METADATA_LOCK), ("lock time",)),
    LOG: (
        (WaitClass.COMMIT, WaitClass.BINARY_LOG),
        (REDO_EVENT, BINARY_LOG_EVENT, "wait/synch/cond/sql/mysql_bin_log",
         "wait/synch/mutex/sql/mysql_bin_log", "wait/synch/mutex/innodb/log_"),
    ),
    PAGES: ((WaitClass.PAGE_READ, WaitClass.PAGE_WRITE), ("wait/io/file/innodb/",)),
}  # fmt: skip
"""Classes of the account, and the beginnings of the server's names of the same waits; the first that matches
counts. A row lock has no wait event, but the lock time of its statement. `wait/io/table` encloses others.
"""
WAITED_SQL = """
SELECT LOWER(w.EVENT_NAME), SUM(w.SUM_TIMER_WAIT)
FROM performance_schema.events_waits_summary_by_thread_by_event_name w
JOIN performance_schema.threads t ON t.THREAD_ID = w.THREAD_ID
WHERE t.PROCESSLIST_ID IN ({ids}) AND w.COUNT_STAR > 0 GROUP BY 1
UNION ALL SELECT 'lock time', SUM(s.SUM_LOCK_TIME)
FROM performance_schema.events_statements_summary_by_thread_by_event_name s
JOIN performance_schema.threads t ON t.THREAD_ID = s.THREAD_ID WHERE t.PROCESSLIST_ID IN ({ids})
"""
AGREEMENT_SECONDS, WITHIN, SUBSTANTIAL = 60.0, 0.06, 0.1
AGREEMENTS: dict[str, Cause] = {
    LOCK: CAUSES[WaitClass.ROW_LOCK],
    PAGES: CAUSES[WaitClass.PAGE_READ],
    LOG: CAUSES[WaitClass.COMMIT],
    "mixed": lambda truths: (
        _large(truths, "mixed", 16, text=MIXED), truths.slow_files("redo", "reads")
    ),
}  # fmt: skip


class Agreement(NamedTuple):
    """Shares of connections × seconds by group: of the server's own account, and of tuibench's, which has the
    run queue, too.
    """

    told: dict[str, float]
    account: dict[str, float]


async def agreement(truths: Truths, load: str, *, with_events: bool) -> Agreement:
    """One sampler at a time: InnoDB shows its transactions anew after 0.1 s without a reader."""
    spec, during = AGREEMENTS[load](truths)
    ticks: list[Tick] = []
    known, is_enough = asyncio.Event(), asyncio.Event()
    async with LoadRun(replace(spec, plan=replace(spec.plan, seconds=None, no_waits=with_events))) as run:
        watcher = run.watcher
        fleet = watcher.fleet
        assert fleet is not None
        sampler = TimeSampler(
            spec.target, watcher.server, watcher.clock, fleet.connection_ids, lambda: truths.server.pid
        )

        def take(message: object) -> None:
            if isinstance(message, Sample) and message.load is not None:
                own = (
                    Tick(sums=account_sums(sampler.collect(), message.load)) if with_events else message.tick
                )
                ticks.append(own)
                if "time.seconds" in own.sums:
                    known.set()
                if _seconds(ticks) >= AGREEMENT_SECONDS:
                    is_enough.set()

        async def compare() -> dict[str, float]:
            async with truths.wait_events() as other:
                sampling = asyncio.create_task(sampler.run() if with_events else asyncio.sleep(0))
                await known.wait()
                known.clear()
                await known.wait()
                ids = ",".join(map(str, await fleet.connection_ids()))
                before: dict[str, Decimal] = dict(await other.query(WAITED_SQL.format(ids=ids)))
                ticks.clear()
                await is_enough.wait()
                after: dict[str, Decimal] = dict(await other.query(WAITED_SQL.format(ids=ids)))
                sampling.cancel()
                await asyncio.wait({sampling})
                await sampler.close()
            run.request_stop()
            return {name: float(after[name]) - float(before.get(name, 0)) for name in after}

        watcher.bus.listeners.append(take)
        async with during:
            comparing = asyncio.create_task(compare())
            await run.run()
            waited = await comparing
    whole_ps = total_tick(ticks).sums["time.connections_us"] * 1e6
    told = dict.fromkeys(GROUPS, 0.0)
    for name, ps in waited.items():
        group = next((each for each, (_, starts) in GROUPS.items() if name.startswith(starts)), None)
        if group is not None:
            told[group] += ps / whole_ps
    return Agreement(told, _grouped(ticks))


def _seconds(ticks: Iterable[Tick]) -> float:
    return sum(tick.sums.get("time.seconds", 0.0) for tick in ticks)


def _grouped(ticks: Iterable[Tick]) -> dict[str, float]:
    """Shares of the groups, of the run queue, and of what is in neither."""
    whole = total_tick(tick for tick in ticks if "time.connections_us" in tick.sums)
    parts = {wait: whole.sums[wait.key] / whole.sums["time.connections_us"] for wait in WaitClass}
    found = {group: sum(parts.pop(wait) for wait in waits) for group, (waits, _) in GROUPS.items()}
    return found | {str(wait): part for wait, part in parts.items()}


@pytest.mark.whole
@pytest.mark.parametrize("with_events", [False, True], ids=["sampling", "events"])
@pytest.mark.parametrize("load", AGREEMENTS)
async def test_the_account_agrees_with_the_wait_events_of_mysql(
    truths: Truths, load: str, with_events: bool
) -> None:
    """A wait event lasts until its thread runs again: the run queue may be in it."""
    if truths.flavour is not Flavour.MYSQL:
        pytest.skip("MariaDB's performance schema is off")
    told, account = found = await agreement(truths, load, with_events=with_events)
    substantial = GROUPS if load == "mixed" else (load,)
    assert all(told[group] > SUBSTANTIAL for group in substantial), found
    queue = account[WaitClass.RUN_QUEUE]
    for group in GROUPS:
        assert -WITHIN <= told[group] - account[group] <= WITHIN + queue, found
    assert sum(told[group] - account[group] for group in GROUPS) <= 2 * WITHIN + queue, found
