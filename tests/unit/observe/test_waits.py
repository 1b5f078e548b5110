"""The account of time: names of waits, samples of a scripted server and its threads, the sums of a tick."""

import platform
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.examples import SERVER
from tests.fakes import FakeClock
from tests.tables import for_each
from tuibench.base.errors import DeniedError, SQLError
from tuibench.metrics.figures import FIGURES
from tuibench.metrics.wait_changes import because_text, time_changes
from tuibench.metrics.wait_classes import (
    BINARY_LOG_EVENT,
    DATA_EVENT,
    EVENTS,
    KERNEL,
    REDO_EVENT,
    STATES,
    WaitClass,
    file_event,
    slept_for,
    wait_of,
)
from tuibench.metrics.wait_classes import (
    ObservedConnection as Seen,
)
from tuibench.model.server import Flavour, Target
from tuibench.model.tick import STATEMENT, Histogram, Tick, total_tick
from tuibench.mysql.connection import Connection, OwnConnections
from tuibench.mysql.rows import Row
from tuibench.observe.statement_times import QueryTimer
from tuibench.observe.wait_sampler import (
    EVERY_SECONDS,
    FILE_CALLS,
    FREE_WAITS,
    PROLONGS,
    RAREST_SECONDS,
    SLEEP_CALLS,
    TimeSampler,
    account_sums,
)
from tuibench.tui.panels.waits import SLOW_PACE

MARIADB, MYSQL = Flavour.MARIADB, Flavour.MYSQL
NANOSLEEP, READING = "hrtimer_nanosleep", "__iomap_dio_rw"
DATA_FILE = "wait/io/file/innodb/innodb_data_file"
CALLS = {
    name: number for number, name in FILE_CALLS.get(platform.machine(), {74: "sync", 18: "write"}).items()
}
SYNC, WRITE = CALLS["sync"], CALLS["write"]
FUTEX, POLL = "futex_do_wait", "poll_schedule_timeout.constprop.0"


@for_each(
    ("flavour", "seen", "wait"),
    [
        (MARIADB, Seen("Sleep", ""), None),
        (MARIADB, Seen("Sleep", "", kernel=POLL, is_blocked=True), None),
        (MARIADB, Seen("Execute", "Updating", is_blocked=False), WaitClass.CPU),
        (MARIADB, Seen("Execute", "Commit", kernel=POLL, is_blocked=True), None),
        (MARIADB, Seen("Execute", "Commit", kernel=FUTEX, is_blocked=True), WaitClass.COMMIT),
        (MYSQL, Seen("Execute", "Commit", kernel=FUTEX, is_blocked=True), WaitClass.MUTEX),
        (MYSQL, Seen("Query", "waiting for handler commit"), WaitClass.COMMIT),
        (MYSQL, Seen("Query", "Waiting for table metadata lock"), WaitClass.METADATA_LOCK),
        (MARIADB, Seen("Query", "User sleep", kernel=FUTEX, is_blocked=True), WaitClass.SLEEP),
        (MARIADB, Seen("Query", "Updating", innodb="lock wait"), WaitClass.ROW_LOCK),
        (MYSQL, Seen("Query", "updating", "sleeping before entering innodb"), WaitClass.ADMISSION),
        (MARIADB, Seen("Execute", "Statistics", kernel="folio_wait_bit", is_blocked=True),
         WaitClass.PAGE_READ),
        (MARIADB, Seen("Execute", "Writing to net", kernel=FUTEX, is_blocked=True), WaitClass.MUTEX),
        (MARIADB, Seen("Execute", "Writing to net", kernel="sk_stream_wait_memory", is_blocked=True),
         WaitClass.NETWORK),
        (MARIADB, Seen("Execute", "Statistics", is_blocked=True), WaitClass.OTHER),
        (MYSQL, Seen("Query", "executing", kernel=NANOSLEEP, is_blocked=True), WaitClass.MUTEX),
        (MARIADB, Seen("Execute", "Waiting for semi-sync ACK from slave", kernel=FUTEX, is_blocked=True),
         WaitClass.SEMI_SYNC),
        (MYSQL, Seen("Query", "Waiting for semi-sync ACK from replica"), WaitClass.SEMI_SYNC),
        (MARIADB, Seen("Query", "executing", kernel=NANOSLEEP, is_blocked=True), WaitClass.MUTEX),
        (MARIADB, Seen("Query", "Statistics", kernel=READING, is_blocked=True), WaitClass.PAGE_READ),
        (MARIADB, Seen("Execute", "Statistics"), WaitClass.CPU),
        (MYSQL, Seen("Query", "statistics", event=DATA_FILE, operation="read"),
         WaitClass.PAGE_READ),
        (MYSQL, Seen("Query", "updating", event=DATA_FILE, operation="sync"),
         WaitClass.PAGE_WRITE),
        (MYSQL, Seen("Query", "waiting for handler commit", event="wait/io/file/sql/binlog",
                         operation="sync"), WaitClass.BINARY_LOG),
        (MYSQL, Seen("Query", "waiting for handler commit", event="wait/synch/mutex/innodb/log_mutex"),
         WaitClass.COMMIT),
        (MYSQL, Seen("Query", "updating", event="wait/synch/mutex/innodb/log_writer_mutex"),
         WaitClass.COMMIT),
        (MYSQL, Seen("Query", "updating", event="wait/synch/sxlock/innodb/index_tree_rw_lock"),
         WaitClass.MUTEX),
    ],
)  # fmt: skip
def test_what_a_connection_waits_for(flavour: Flavour, seen: Seen, wait: WaitClass | None) -> None:
    assert wait_of(seen, flavour) is wait


@for_each(
    ("limits", "wait"),
    [
        ({}, WaitClass.MUTEX),
        ({"innodb_max_purge_lag": 0, "innodb_thread_concurrency": 0}, WaitClass.MUTEX),
        ({"innodb_max_purge_lag": 1000, "innodb_thread_concurrency": 0}, WaitClass.PURGE_LAG),
        ({"innodb_thread_concurrency": 4}, WaitClass.ADMISSION),
        ({"innodb_max_purge_lag": 1000, "innodb_thread_concurrency": 4}, WaitClass.PURGE_LAG),
    ],
)
def test_what_a_thread_sleeps_for_depends_on_the_limits_of_innodb(
    limits: dict[str, int], wait: WaitClass
) -> None:
    sleeping = Seen("Query", "updating", kernel=NANOSLEEP, is_blocked=True)
    assert wait_of(sleeping, MYSQL, slept_for(limits)) is wait
    queued = sleeping._replace(innodb="sleeping before entering innodb")
    assert wait_of(queued, MYSQL, slept_for(limits)) is WaitClass.ADMISSION
    assert wait_of(sleeping._replace(innodb="lock wait"), MYSQL, slept_for(limits)) is WaitClass.ROW_LOCK


def test_no_name_hides_a_later_one() -> None:
    """The first beginning that matches counts, so a shorter one comes later."""
    tables = [[*EVENTS], [*KERNEL]]
    tables += [[state.name for state in STATES if flavour in state.flavours] for flavour in Flavour]
    for names in tables:
        for place, name in enumerate(names):
            assert name == name.lower()
            assert not any(name.startswith(earlier) for earlier in names[:place]), name


OWN_ID = 77


class Machine:
    """A server's list of connections, and the kernel's files of its threads."""

    def __init__(self, proc: Path, pid: int = 7) -> None:
        self.clock = FakeClock()
        self.rows: list[Row] = []
        self.own: Row = (OWN_ID, "Query", "Filling schema table", 0.0, 900)
        self.innodb: list[Row] | SQLError = []
        self.readers = self.free_waits = 0
        self.files: list[Row] = []
        self.limits: dict[str, str] = {}
        self.sent: list[str] = []
        self.query_seconds = 0.002
        self.has_events = False
        self.proc = proc
        self.pid: int | None = pid

    async def log_in(self, target: Target) -> Connection:
        return Listed(self)

    def thread(
        self,
        tid: int,
        cpu_ms: float,
        queue_ms: float,
        state: str,
        kernel: str = "0",
        call: int | None = None,
        file: str = "",
    ) -> None:
        """A thread that is blocked in a `call` on a `file` has it open as number 7."""
        folder = self.proc / "7" / "task" / str(tid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schedstat").write_text(f"{cpu_ms * 1e6:.0f} {queue_ms * 1e6:.0f} 3\n")
        (folder / "stat").write_text(f"{tid} (connection) x) {state} 1 1\n")
        (folder / "wchan").write_text(kernel)
        (folder / "syscall").write_text(f"{call} 0x7 0x0\n" if call is not None else "202 0x1 0x0\n")
        if file:
            opened = self.proc / "7" / "fd" / "7"
            opened.parent.mkdir(exist_ok=True)
            opened.unlink(missing_ok=True)
            opened.symlink_to(f"/var/lib/{file}")

    def sampler(
        self,
        flavour: Flavour = MARIADB,
        timer: QueryTimer | None = None,
        own: OwnConnections | None = None,
    ) -> TimeSampler:
        """Of all connections, or with a `timer` of those of the clients."""

        async def ids() -> set[int]:
            return {int(row[0]) for row in self.rows}

        info, proc = replace(SERVER, flavour=flavour), str(self.proc)
        return TimeSampler(
            Target(),
            info,
            self.clock,
            ids,
            lambda: self.pid,
            timer=timer,
            log_in=self.log_in,
            proc=proc,
            own=own,
        )


class Listed(Connection):
    def __init__(self, machine: Machine) -> None:
        super().__init__(None, Target())
        self._machine = machine

    @property
    def thread_id(self) -> int:
        return OWN_ID

    async def query(self, sql: str) -> Sequence[Row]:
        machine = self._machine
        machine.sent.append(sql)
        self.statements += 1
        self.selects += sql.lstrip().startswith("SELECT")
        machine.clock.advance(machine.query_seconds)
        if "Variable_name" in sql:
            return list(machine.limits.items())
        if "INNODB_METRICS" in sql:
            return [(machine.free_waits if FREE_WAITS in sql else machine.readers,)]
        if "file_summary" in sql:
            return machine.files
        if "INNODB_TRX" in sql:
            if isinstance(machine.innodb, SQLError):
                raise machine.innodb
            return machine.innodb
        if "setup_consumers" in sql:
            return [(int(machine.has_events),)]
        if "performance_schema.threads" in sql and not machine.has_events:
            raise DeniedError(1142, "SELECT command denied")
        return [*machine.rows, machine.own] if f"{OWN_ID} AND {OWN_ID}" in sql else machine.rows

    async def close(self) -> None: ...


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def sampled(machine: Machine, sampler: TimeSampler, seconds: float) -> Tick:
    """One sample at the beginning, and one after so long."""
    await sampler.begin()
    await sampler.sample()
    sampler.collect()
    machine.clock.advance(seconds)
    await sampler.sample()
    return sampler.collect()


@pytest.mark.parametrize("flavour", Flavour)
async def test_its_own_statements_are_measured_where_those_of_the_clients_are(
    machine: Machine, flavour: Flavour
) -> None:
    """They are not those of the server's clients, whose times are read together with them."""
    timer, own = QueryTimer(), OwnConnections()
    machine.pid = None
    machine.rows = [(11, "Execute", "Updating", 3.0, 101, "UPDATE t SET c = 1")]
    machine.files = [(BINARY_LOG_EVENT, 0, 1), (REDO_EVENT, 0, 1), (DATA_EVENT, 0, 0)]
    sampler = machine.sampler(flavour, timer, own)
    sampler.watch_detail()
    await sampled(machine, sampler, 1.5)
    assert own.selects == len(timer.take()) == len(machine.sent) == own.statements > 3


async def test_the_kernel_divides_what_runs_and_the_list_what_is_blocked(machine: Machine) -> None:
    machine.rows = [
        (11, "Execute", "Commit", 3.0, 101),
        (12, "Sleep", "", 0.4, 102),
        (13, "Execute", "Statistics", 1.0, 103),
    ]
    for tid in (101, 102, 103):
        machine.thread(tid, 1000, 50, "S")
    sampler = machine.sampler()
    await sampler.begin()
    await sampler.sample()
    assert set(sampler.collect().sums) >= {"time.seconds"}
    machine.clock.advance(0.498)
    machine.thread(101, 1100, 60, "S", FUTEX)
    machine.thread(102, 1010, 50, "S", POLL)
    machine.thread(103, 1200, 250, "R")
    await sampler.sample()
    found = sampler.collect()
    assert found.missing == {}
    assert found.sums["time.seconds"] == pytest.approx(0.5)
    assert found.sums["time.cpu_us"] == pytest.approx(310_000)
    assert found.sums["time.run_queue_us"] == pytest.approx(210_000)
    assert found.sums["time.commit_us"] == pytest.approx(500_000, rel=0.01)
    assert found.sums["time.idle_us"] == pytest.approx(480_000, rel=0.01)
    assert found.sums["time.seen_us"] == pytest.approx(1_500_000)
    assert sum("INNODB_TRX" in sql for sql in machine.sent) == 1, "at first, 103 waited for something unnamed"


async def test_without_the_threads_the_list_says_it_alone(machine: Machine) -> None:
    machine.pid = None
    machine.rows = [
        (11, "Execute", "Statistics", 3.0, 101),
        (12, "Sleep", "", 0.4, 102),
        (13, "Execute", "Updating", 1.0, 103),
    ]
    machine.innodb = [(13, "lock wait", "")]
    found = await sampled(machine, machine.sampler(), 0.25)
    each_us = 1e6 * found.sums["time.seconds"]
    assert found.sums["time.cpu_us"] == pytest.approx(each_us)
    assert found.sums["time.row_lock_us"] == pytest.approx(each_us)
    assert found.sums["time.idle_us"] == pytest.approx(each_us)
    assert "time.run_queue_us" not in found.sums
    assert "not on this host" in found.missing["time.run_queue_us"]


async def test_without_the_threads_reads_are_those_that_the_server_counts(machine: Machine) -> None:
    machine.pid = None
    machine.rows = [(id, "Execute", "Statistics", 3.0, 100 + id) for id in range(11, 15)]
    machine.readers = 3
    found = await sampled(machine, machine.sampler(), 0.25)
    each_us = 1e6 * found.sums["time.seconds"]
    assert found.sums["time.page_read_us"] == pytest.approx(3 * each_us)
    assert found.sums["time.cpu_us"] == pytest.approx(each_us)


async def test_a_commit_is_divided_by_the_logs_that_others_flush(machine: Machine) -> None:
    """One of ten is blocked in the flush for all, three times of four in that of the binary log."""
    machine.rows = [(id, "Execute", "Commit", 3.0, 100 + id) for id in range(10)]
    for tid in range(101, 110):
        machine.thread(tid, 0, 0, "S", FUTEX)
    sampler = machine.sampler()
    await sampler.begin()
    for name in ("master-bin.000017", "ib_logfile0", "master-bin.000017", "master-bin.000018"):
        machine.thread(100, 0, 0, "D", "jbd2_log_wait_commit", SYNC, name)
        machine.clock.advance(0.1)
        await sampler.sample()
    sampler.collect()
    machine.thread(100, 0, 0, "S", FUTEX)
    for _ in range(7):
        machine.clock.advance(0.1)
        await sampler.sample()
    found = sampler.collect()
    whole_us = 1e7 * found.sums["time.seconds"]
    assert found.sums["time.binary_log_us"] == pytest.approx(0.75 * whole_us, rel=0.1)
    assert found.sums["time.commit_us"] == pytest.approx(0.25 * whole_us, rel=0.3)
    assert found.sums["time.seen_us"] == pytest.approx(whole_us)


async def test_commits_wait_for_the_acknowledgement_that_one_of_them_waits_for(machine: Machine) -> None:
    """Its leader says what a group commit waits for; another group may be in a log meanwhile."""
    leader = (11, "Query", "Waiting for semi-sync ACK from replica", 3.0, 101)
    followers = [(id, "Query", "waiting for handler commit", 3.0, id + 90) for id in (12, 13, 14)]
    machine.rows = [leader, *followers]
    machine.files = [(REDO_EVENT, 0, 10**12), (BINARY_LOG_EVENT, 0, 10**12), (DATA_EVENT, 0, 0)]
    for tid in (101, 102, 103, 104):
        machine.thread(tid, 1000, 50, "S", FUTEX)
    found = await sampled(machine, machine.sampler(MYSQL), 0.5)
    assert found.sums["time.semi_sync_us"] == pytest.approx(2_000_000, rel=0.01)
    assert "time.commit_us" not in found.sums
    machine.rows = [leader, followers[0], followers[1], (14, "Query", "waiting for handler commit", 3.0, 104)]
    machine.thread(104, 1000, 50, "D", "jbd2_log_wait_commit", SYNC, "binlog.000001")
    found = await sampled(machine, machine.sampler(MYSQL), 0.5)
    assert found.sums["time.semi_sync_us"] == pytest.approx(1_000_000, rel=0.01)
    assert found.sums["time.binary_log_us"] == pytest.approx(1_000_000, rel=0.01)


def blocked(found: Tick) -> set[WaitClass]:
    """The waits of a tick."""
    return {wait for wait in WaitClass if found.sums.get(wait.key)} - {WaitClass.CPU, WaitClass.RUN_QUEUE}


@pytest.mark.parametrize("flavour", Flavour)
async def test_the_delay_of_a_purge_that_is_behind_is_no_admission(
    machine: Machine, flavour: Flavour
) -> None:
    machine.rows = [(11, "Query", "updating", 3.0, 101)]
    machine.thread(101, 1000, 50, "S", NANOSLEEP)
    machine.limits = {"innodb_max_purge_lag": "0", "innodb_thread_concurrency": "0"}
    found = await sampled(machine, sampler := machine.sampler(flavour), 0.5)
    assert blocked(found) == {WaitClass.MUTEX}
    machine.limits = {"innodb_max_purge_lag": "1000"}
    machine.clock.advance(1.2)
    await sampler.sample()
    sampler.collect()
    machine.clock.advance(0.5)
    await sampler.sample()
    found = sampler.collect()
    assert blocked(found) == {WaitClass.PURGE_LAG}, "the limit is read again"
    assert sum("innodb_max_purge_lag" in sql for sql in machine.sent) == 2


@for_each(
    ("call", "file", "wait"),
    [
        ("read", "sbtest/sbtest1.ibd", WaitClass.PAGE_READ),
        ("write", "sbtest/sbtest1.ibd", WaitClass.PAGE_WRITE),
        ("sync", "ib_logfile0", WaitClass.COMMIT),
        ("sync", "binlog.000001", WaitClass.BINARY_LOG),
        ("", "sbtest/sbtest1.ibd", WaitClass.MUTEX),
    ],
)
async def test_a_sleep_that_prolongs_a_call_on_a_file_is_that_call(
    machine: Machine, call: str, file: str, wait: WaitClass
) -> None:
    """A simulated disk sleeps in the server's threads, and says in an argument for which file."""
    machine.rows = [(11, "Query", "updating", 3.0, 101)]
    machine.thread(101, 1000, 50, "S", NANOSLEEP, 0, file)
    told = f"{PROLONGS:#x} {CALLS[call] << 32 | 7:#x}" if call else "0x0 0x7"
    syscall = f"{SLEEP_CALLS[platform.machine()]} 0x1 0x1 0x7ffc0 0x0 {told} 0x7ffc8 0x7f00\n"
    (machine.proc / "7" / "task" / "101" / "syscall").write_text(syscall)
    found = await sampled(machine, machine.sampler(), 0.5)
    assert blocked(found) == {wait}


async def test_mysql_counts_the_time_of_its_logs_itself(machine: Machine) -> None:
    machine.rows = [(id, "Execute", "waiting for handler commit", 3.0, None) for id in range(4)]
    sampler = machine.sampler(MYSQL)
    await sampler.begin()
    machine.clock.advance(1.1)
    for binary_log_ps, redo_ps in ((10e12, 30e12), (10.6e12, 30.2e12)):
        machine.files = [(BINARY_LOG_EVENT, 0, binary_log_ps), (REDO_EVENT, 0, redo_ps), (DATA_EVENT, 0, 0)]
        await sampler.sample()
        found = sampler.collect()
        machine.clock.advance(1.1)
    assert found.sums["time.binary_log_us"] == pytest.approx(3 * found.sums["time.commit_us"])


@for_each(("state", "running", "is_page_write"), [("D", 0, True), ("D", 2, False), ("S", 0, False)])
async def test_a_latch_that_nobody_could_hold_waits_for_the_pages_being_written(
    machine: Machine, state: str, running: int, is_page_write: bool
) -> None:
    machine.rows = [(id, "Execute", "Updating", 3.0, 100 + id) for id in range(11)]
    for tid in range(100, 111):
        machine.thread(tid, 0, 0, "R" if tid < 100 + running else "S", "0" if tid < 100 + running else FUTEX)
    machine.thread(90, 0, 0, state, "folio_wait_bit" if state == "D" else FUTEX, SYNC, "sbtest1.ibd")
    found = await sampled(machine, machine.sampler(), 0.25)
    assert (found.sums.get("time.page_write_us", 0.0) > 0) is is_page_write
    assert (found.sums.get("time.mutex_us", 0.0) > 0) is not is_page_write


async def test_without_free_pages_a_latch_waits_for_the_thread_that_makes_one(machine: Machine) -> None:
    """One of the load's threads writes a page, two run: they do not hold what the others wait for."""
    machine.rows = [(id, "Execute", "Updating", 3.0, 100 + id) for id in range(11)]
    for tid in range(100, 111):
        machine.thread(tid, 0, 0, "S", FUTEX)
    machine.thread(100, 0, 0, "D", "submit_bio_wait", WRITE, "sbtest1.ibd")
    machine.thread(101, 0, 0, "R")
    machine.thread(102, 0, 0, "R")
    sampler = machine.sampler(MYSQL)
    await sampler.begin()
    waited = []
    for machine.free_waits in (7, 7, 9):
        machine.clock.advance(1.1)
        await sampler.sample()
        found = sampler.collect()
        waited.append(found.sums.get("time.mutex_us", 0.0) / 1e6 / found.sums["time.seconds"])
    assert waited[1:] == pytest.approx([8.0, 0.0], abs=0.2)
    assert found.sums["time.page_write_us"] > 8e6 * found.sums["time.seconds"]


def test_files_of_the_server_have_events() -> None:
    names = (
        "ib_logfile0",
        "#ib_redo79",
        "master-bin.000017",
        "t.ibd",
        "#ib_16384_0.dblwr",
        "undo_001",
        "t.frm",
    )
    assert [file_event(name) for name in names] == [
        REDO_EVENT, REDO_EVENT, BINARY_LOG_EVENT, DATA_EVENT, DATA_EVENT, DATA_EVENT, "",
    ]  # fmt: skip


async def test_a_missing_privilege_is_said_and_not_asked_for_again(machine: Machine) -> None:
    machine.rows = [(11, "Execute", "Updating", 3.0, 101)]
    machine.thread(101, 1, 1, "S", FUTEX)
    machine.innodb = DeniedError(1227, "you need PROCESS")
    found = await sampled(machine, machine.sampler(), 0.25)
    assert found.missing == {"time.row_lock_us": "row locks need the PROCESS privilege"}
    assert found.sums["time.mutex_us"] > 0
    assert sum("INNODB_TRX" in sql for sql in machine.sent) == 1


async def test_mysql_without_its_performance_schema_has_an_older_list(machine: Machine) -> None:
    machine.rows = [(11, "Query", "User sleep", 3000, None)]
    found = await sampled(machine, machine.sampler(MYSQL), 0.25)
    assert found.sums["time.sleep_us"] == pytest.approx(1e6 * found.sums["time.seconds"])
    assert sum("performance_schema.threads" in sql for sql in machine.sent) == 1


async def test_of_wait_events_within_each_other_the_innermost_counts_and_a_connection_once(
    machine: Machine,
) -> None:
    machine.has_events, machine.pid = True, None
    machine.rows = [
        (11, "Query", "executing", 0.0, None, "wait/io/table/sql/handler", "fetch"),
        (11, "Query", "executing", 0.0, None, DATA_FILE, "read"),
        (12, "Query", "updating", 0.0, None, None, None),
    ]
    found = await sampled(machine, machine.sampler(MYSQL), 0.25)
    each_us = 1e6 * found.sums["time.seconds"]
    assert found.sums["time.page_read_us"] == pytest.approx(each_us)
    assert found.sums["time.seen_us"] == pytest.approx(2 * each_us)


async def test_slow_answers_make_samples_rarer(machine: Machine) -> None:
    machine.rows = [(11, "Sleep", "", 3.0, 101)]
    sampler = machine.sampler()
    await sampler.begin()
    for _ in range(40):
        await sampler.sample()
    assert sampler.pause_seconds == pytest.approx(EVERY_SECONDS, rel=0.1)
    machine.query_seconds = 0.2
    for _ in range(40):
        await sampler.sample()
    assert 4 * EVERY_SECONDS < sampler.pause_seconds <= RAREST_SECONDS


async def test_what_a_sample_costs_the_server_counts_and_not_how_long_a_busy_one_takes(
    machine: Machine,
) -> None:
    machine.rows = [(11, "Sleep", "", 3.0, 101)]
    machine.thread(101, 1, 1, "S", POLL)
    machine.query_seconds = 0.5
    sampler = machine.sampler()
    await sampler.begin()
    paces = []
    for each_ms in (0.2, 20.0):
        for number in range(60):
            machine.thread(900, (1000 if each_ms > 1 else 1) + number * each_ms, 50, "S")
            await sampler.sample()
        paces.append(sampler.pause_seconds)
    assert paces[0] == pytest.approx(EVERY_SECONDS, rel=0.3)
    assert paces[1] > 1.0
    assert sum(str(OWN_ID) in sql for sql in machine.sent) == 1, "its thread is looked for once"


@pytest.mark.whole
async def test_a_thousand_connections_are_sampled_so_seldom_that_the_screen_says_so(machine: Machine) -> None:
    machine.rows = [(id, "Execute", "Updating", 3.0, 1000 + id) for id in range(1000)]
    for row in machine.rows:
        machine.thread(int(row[4]), 1, 1, "S", FUTEX)
    sampler = machine.sampler()
    await sampler.begin()
    for _ in range(12):
        machine.clock.advance(sampler.pause_seconds)
        await sampler.sample()
    sampler.collect()
    assert EVERY_SECONDS < sampler.pause_seconds <= RAREST_SECONDS
    for _ in range(2):
        machine.clock.advance(sampler.pause_seconds)
        await sampler.sample()
    found = sampler.collect()
    assert 0 < found.sums["time.samples"] < SLOW_PACE * found.sums["time.seconds"]
    assert waits(account_sums(found, load(found.sums["time.seconds"], 1000, 7)))["mutex"] > 900


def load(seconds: float, connections: int, statements_us: int, **levels: float) -> Tick:
    return Tick(
        seconds=seconds,
        sums={"completed": 20 * seconds},
        levels={"connections": connections, **levels},
        hists={STATEMENT + "select": Histogram({}, 7, statements_us)},
    )


def found_tick(seconds: float, seen: float, idle: float, flight: float = 0.0, **waits: float) -> Tick:
    names = {"seconds": seconds, "samples": 9, "seen_us": seen, "idle_us": idle, "flight_us": flight}
    return Tick(sums={f"time.{name}": value for name, value in (names | waits).items()})


def waits(sums: dict[str, float]) -> dict[str, float]:
    """The classes that took time, in seconds."""
    return {wait: sums[wait.key] / 1e6 for wait in WaitClass if sums[wait.key]}


def test_what_waits_for_a_statement_in_flight_is_on_the_way() -> None:
    found = found_tick(0.5, 2e6, 1.2e6, commit_us=0.5e6, cpu_us=0.3e6)
    sums = account_sums(found, load(0.5, 4, 1_300_000))
    assert waits(sums) == pytest.approx({"cpu": 0.3, "commit": 0.5, "client": 0.7, "on_the_way": 0.5})
    assert sum(waits(sums).values()) == pytest.approx(sums["time.connections_us"] / 1e6)


def test_statements_that_outlast_a_tick_count_where_they_ran() -> None:
    """Four connections behind a table lock for 1.5 s: nothing ends in the first tick, all in the second."""
    first = account_sums(found_tick(1.0, 4e6, 0.0, 4e6, metadata_lock_us=4e6), load(1.0, 4, 0))
    assert waits(first) == pytest.approx({"metadata_lock": 4.0})
    later = account_sums(found_tick(1.0, 4e6, 2e6, -4e6, metadata_lock_us=2e6), load(1.0, 4, 6_000_000))
    assert waits(later) == pytest.approx({"metadata_lock": 2.0, "client": 2.0})


def test_idle_connections_are_not_the_loads_and_unseen_ones_are_other() -> None:
    sums = account_sums(found_tick(3.0, 12e6, 9e6, cpu_us=3e6), load(3.0, 3, 3_000_000, idle=2))
    assert waits(sums) == pytest.approx({"cpu": 3.0, "client": 3.0, "other": 3.0})


def test_a_tick_without_samples_or_without_a_load_has_no_account() -> None:
    assert account_sums(Tick(), load(1.0, 4, 0)) == {}
    assert account_sums(found_tick(1.0, 1.0, 1.0), Tick()) == {}


def ticks(seconds: float, commit_ms: float, queue_ms: float, count: int = 12) -> list[Tick]:
    """Ticks whose transactions take so much time, with some noise and unequal weights."""
    made = []
    for number in range(count):
        trx = (40 + 7 * (number % 3)) * seconds
        noise = 1 + 0.02 * ((number * 5) % 7 - 3)
        sums = {wait.key: 0.0 for wait in WaitClass}
        sums |= {"time.completed": trx, "time.seconds": seconds, "completed": trx}
        sums |= {"time.commit_us": 1e3 * commit_ms * noise * trx, "time.run_queue_us": 1e3 * queue_ms * trx}
        sums |= {"time.cpu_us": 2e3 * trx / noise}
        sums["time.connections_us"] = sum(sums[wait.key] for wait in WaitClass)
        made.append(Tick(end=seconds * (number + 1), seconds=seconds, sums=sums))
    return made


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
def test_what_changed_is_named_with_its_interval(seconds: float) -> None:
    changes = time_changes(ticks(seconds, 5.1, 1.0), ticks(seconds, 2.1, 1.4))
    assert [one.figure for one in changes] == [FIGURES["time_commit"].key, FIGURES["time_run_queue"].key]
    commit = changes[0]
    assert commit.low < commit.delta < commit.high < 0
    assert commit.delta == pytest.approx(-3.0, abs=0.15)
    text = because_text(changes)
    assert text.startswith("because: commit −3.0 ms (−3.")
    assert text.endswith("; run queue +0.4 ms")
    assert " of 5.1; " in text


@pytest.mark.parametrize("known", [3, 4])
def test_the_sentence_does_not_need_an_account_of_every_tick(known: int) -> None:
    """On a busy host some ticks have no sample; windows of a private server have six."""
    before, after = ticks(0.5, 5.1, 1.0, 6), ticks(0.5, 1.1, 1.0, 6)
    for side in (before, after):
        side[:] = [tick if place < known else Tick(seconds=0.5) for place, tick in enumerate(side)]
    assert because_text(time_changes(before, after)).startswith("because: commit −4.0 ms (")
    assert time_changes(before[known - 2 :], after) == (), "two ticks do not tell the noise"


@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_what_changed_most_is_probable_if_only_the_whole_is_sure(seconds: float) -> None:
    """The wait for a processor is now in one class, now in the other."""
    sides = []
    for factor in (1.0, 2.0):
        side = ticks(seconds, 0.0, 0.0)
        for number, tick in enumerate(side):
            trx, share = tick.sums["time.completed"], (0.1, 0.9, 0.6)[number * number % 3]
            waited = 1e3 * factor * trx
            tick.sums.update(
                {"time.run_queue_us": share * waited, "time.on_the_way_us": (1 - share) * waited}
            )
            tick.sums["time.connections_us"] += waited
        sides.append(side)
    found = time_changes(*sides)
    assert len(found) == 1
    assert because_text(found).startswith("because: probably ")
    assert time_changes(sides[0], sides[0]) == ()
    for factor, side in zip((0.4, 0.1), sides, strict=True):
        for tick in side:
            tick.sums["time.client_us"] = factor * 1e3 * tick.sums["time.completed"]
            tick.sums["time.connections_us"] += tick.sums["time.client_us"]
    with_client = time_changes(*sides)
    assert [one.figure for one in with_client] == [found[0].figure, FIGURES["time_client"].key]


def test_what_did_not_change_is_not_named() -> None:
    assert time_changes(ticks(0.5, 5.1, 1.0), ticks(0.5, 5.1, 1.0)) == ()
    assert time_changes([], ticks(0.5, 5.1, 1.0)) == ()
    assert time_changes([Tick(seconds=1.0)] * 12, [Tick(seconds=1.0)] * 12) == ()
    assert because_text(()) == ""


def test_figures_of_the_account_do_not_depend_on_ticks_without_it() -> None:
    whole = total_tick([*ticks(0.5, 4.0, 1.0), Tick(end=9.0, seconds=3.0, sums={"completed": 5000.0})])
    assert FIGURES["time_commit"].value(whole) == pytest.approx(4.0, rel=0.02)
