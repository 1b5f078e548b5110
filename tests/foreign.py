"""Numbers and texts of any shape from servers, kernels and exporters, to every reader of them.

A round takes a genuine answer, replaces some of its cells or words, and lets the source read it twice, as a
run does: the figures of the tick are computed, and it is written and read as JSON. What a source raises ends
a run, so nothing may be raised; a status with one cell replaced has all its other figures.

By hand for an hour: python -m tests.foreign --seconds 3600
"""

import argparse
import asyncio
import datetime
import random
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from tests import examples
from tests.fakes import FakeClock
from tests.paths import DATA
from tests.unit.observe import captured
from tests.unit.observe.fakes import STATUS, TARGET, VARIABLES
from tests.unit.tuning import preflight_examples, test_preflight
from tuibench.base.errors import SQLError, TuibenchError
from tuibench.metrics.costs import CostLedger, resource_use
from tuibench.metrics.figures import all_values
from tuibench.metrics.wait_classes import BINARY_LOG_EVENT, DATA_EVENT, REDO_EVENT
from tuibench.model.server import Flavour, ServerInfo, Target, Transport
from tuibench.model.settings import SettingRole, SettingState
from tuibench.model.tick import HOST, Tick, total_tick
from tuibench.mysql import info
from tuibench.mysql.connection import Connection
from tuibench.mysql.rows import Row
from tuibench.observe import digests, host, host_facts, proc_text, remote_host
from tuibench.observe.sessions import ActivitySampler
from tuibench.observe.statement_times import QueryTimer
from tuibench.observe.statements import StatementSampler, statement_rows
from tuibench.observe.status import StatusSampler
from tuibench.observe.wait_sampler import TimeSampler
from tuibench.session import replicas
from tuibench.tuning import preflight

TEXTS = (
    "²", "٣", "1²3", "1" * 5000, "-1", "-0", "+7", " 7 ", "", " ", "NaN", "nan", "Inf", "-Infinity", "1e5",
    "1e400", "1e-400", "1E+9999", "0x10", "1_000", "1,5", "7.5", ".", "-", "9" * 18, "9223372036854775807",
    "9223372036854775808", "18446744073709551615", "1" * 79, "0" * 5000, "true", "NULL", "ON", "\x00",
    "\x1b[2J", "a:b", "a b c", "(", "%s", "`", "e" * 70_000,
)  # fmt: skip
VALUES: tuple[object, ...] = (
    *TEXTS, None, True, 0, -1, 2**63, -(2**63), 2**64, 10**400, 0.5, float("nan"), float("inf"), 1e308,
    Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e999999"), Decimal("-7.25"), b"12",
    b"\xff\xfe", datetime.datetime(2024, 2, 29), datetime.timedelta(hours=-5),
)  # fmt: skip

CHARACTERS = "09-.e²٣\n\t \u2028"
DEADLOCKS = sorted(DATA.glob("innodb-deadlock-*.txt"))

Rows = Sequence[Row]


class Mutator:
    """Replaces cells and words; `shapes` if it may also change the number of columns and rows."""

    def __init__(self, rng: random.Random, *, shapes: bool = True) -> None:
        self._rng = rng
        self._shapes = shapes and rng.random() < 0.3

    def value(self) -> object:
        if self._rng.random() < 0.7:
            return self._rng.choice(VALUES)
        return "".join(self._rng.choices(CHARACTERS, k=self._rng.choice((1, 3, 20))))

    def rows(self, rows: Rows) -> Rows:
        """The rows, with about one cell in eight replaced."""
        found = [tuple(self.value() if self._rng.random() < 0.12 else cell for cell in row) for row in rows]
        if self._shapes and found:
            place = self._rng.randrange(len(found))
            row = found[place]
            found[place] = self._rng.choice(((), row[:-1], (*row, None), row[::-1]))
            found *= self._rng.choice((0, 1, 1, 2))
        return found

    def text(self, text: str) -> str:
        """The text, with some of its words replaced."""
        words = text.split(" ")
        for _ in range(self._rng.randint(1, 4)):
            words[self._rng.randrange(len(words))] = str(self.value())
        cut = self._rng.randrange(len(text) + 1) if self._shapes else None
        return " ".join(words)[:cut]


class Scripted(Connection):
    """Answers by a word of the statement, each answer mutated anew."""

    is_encrypted = is_compressed = False
    transport = Transport()
    thread_id = 7
    version_text = "9.7.1"

    def __init__(self, mutate: Mutator, answers: dict[str, Rows], names: Sequence[str] = ()) -> None:
        super().__init__(None, Target(user="ann", database="sbtest"))
        self._mutate = mutate
        self.answers = answers
        self._names = names

    async def query(self, sql: str) -> Rows:
        self.statements += 1
        for word, rows in self.answers.items():
            if word in sql:
                return self._mutate.rows(rows)
        raise SQLError(1146, "no such table")

    async def query_named(self, sql: str) -> list[dict[str, Any]]:
        return [dict(zip(self._names, row, strict=False)) for row in await self.query(sql)]

    def quote(self, value: object) -> str:
        return repr(value)

    async def log_in(self, target: Target) -> Connection:
        return self

    async def close(self) -> None: ...

    def abort(self) -> None: ...


SETTINGS = tuple(
    SettingState(name=name, value=value, original="1", meaning="", at_risk=False, roles=(SettingRole.COST,))
    for name, value in (("sync_binlog", "²"), ("innodb_flush_log_at_trx_commit", "1" * 5000))
)


def digest(*ticks: Tick | None) -> None:
    """What a session makes of ticks: figures, costs, the record, the sum of the run."""
    known = [tick for tick in ticks if tick is not None]
    ledger = CostLedger()
    for tick in (*known, total_tick(known)):
        all_values(tick)
        resource_use(tick)
        ledger.add(tick, SETTINGS)
        written = msgspec.json.encode(tick)
        assert msgspec.json.decode(written, type=Tick).levels.keys() == tick.levels.keys()
    msgspec.json.encode(ledger.costs)


INNODB = [("trx_rseg_history_len", 7), ("lock_deadlocks", 1)]


async def of_status(rng: random.Random, mutate: Mutator) -> None:
    """SHOW STATUS and VARIABLES, InnoDB's metrics, the binary log's file, the group's member."""
    clock = FakeClock()
    present = {"performance_schema": "ON", "log_bin": "ON", "group_replication_group_name": "g"}
    variables = VARIABLES | present
    server = Scripted(
        mutate,
        {
            "innodb_metrics": INNODB,
            "replication_group": [(3, 4)],
            "file_summary": [(50, 70)],
            "histogram_global": [(0, 2_000_000, 5), (2_000_000, 4_000_000, 3)],
            "STATUS": [(name, str(value)) for name, value in STATUS.items()],
            "VARIABLES": list(variables.items()),
        },
    )
    sampler = StatusSampler(TARGET, clock, log_in=server.log_in, timer=rng.choice((None, QueryTimer())))
    seen = []
    for _ in range(3):
        seen.append(await sampler.sample(rng.randrange(100)))
        clock.advance(1.0)
    await sampler.variables()
    await sampler.info()
    digest(*(each.tick for each in seen), *(each.traffic for each in seen))


async def of_one_figure(rng: random.Random, mutate: Mutator) -> None:
    """A status with one cell replaced has its other figures, and says why the one is missing."""
    name, value = rng.choice(list(STATUS)), mutate.value()
    clock = FakeClock()
    status = {each: str(number) for each, number in STATUS.items()} | {name: value}
    answers: dict[str, Rows] = {"STATUS": list(status.items()), "VARIABLES": list(VARIABLES.items())}
    server = Scripted(mutate, answers)
    server.query = lambda sql: _plain(answers, sql)  # type: ignore[method-assign]
    seen = await StatusSampler(TARGET, clock, log_in=server.log_in).sample(0)
    assert seen.tick is not None, (name, value, seen.last_error)
    assert {each: seen.tick.levels[each] for each in STATUS if each != name} == {
        each: number for each, number in STATUS.items() if each != name
    }
    assert (name in seen.tick.levels) is not (name in seen.tick.missing), (name, value)
    digest(seen.tick)


async def _plain(answers: dict[str, Rows], sql: str) -> Rows:
    return next((rows for word, rows in answers.items() if word in sql), ())


async def of_activity(rng: random.Random, mutate: Mutator) -> None:
    """The processlist, lock waits and transactions, the text of InnoDB's status."""
    text = mutate.text(rng.choice(DEADLOCKS).read_text())
    session = (9, "shop", "web:1", "shop", "Query", "updating", 3, "UPDATE orders SET paid=1")
    server = Scripted(
        mutate,
        {
            "COUNT(*) FROM information_schema.INNODB_TRX": [(1234,)],
            "COUNT(*) FROM": [(1,)],
            "GROUP BY": [("Execute", "updating", 8, 2)],
            "ORDER BY COMMAND": [session] * rng.choice((1, 200)),
            "trx_started": [(9, 75, 12, 4), (21, 2, 40, 3)],
            "TIMESTAMPDIFF": [(9, 21, "`sbtest`.`sbtest1`", 4, "UPDATE t SET k=k+1 WHERE id=5", None)],
            "INNODB STATUS": [("InnoDB", "", text)],
        },
    )
    sampler = ActivitySampler(TARGET, FakeClock(), rng.choice(list(Flavour)), log_in=server.log_in)
    if (found := await sampler.look({21, 22})) is not None:
        msgspec.json.encode(found)


async def of_statements(rng: random.Random, mutate: Mutator) -> None:
    """Digests, prepared statements, distributions."""
    sums = [
        ("sbtest abc", "SELECT ?", 5, 7_000_000_000, 10, 20, 30),
        ("sbtest def", "UPDATE t SET c = ?", 1, 2, 3, 4, 5),
    ]
    server = Scripted(
        mutate,
        {
            "performance_schema'": [("performance_schema", "ON")],
            "histogram_by_digest": [("sbtest abc", 2_000_000, 5), ("sbtest abc", 10**12, 1)],
            "summary_by_digest": sums,
            "prepared_statements": [("SELECT 1", 5, 6, 7, 8, 9)],
        },
    )
    sampler = StatementSampler(TARGET, FakeClock(), rng.choice(list(Flavour)), log_in=server.log_in)
    first, second = await sampler.read(), await sampler.read(("sbtest abc",))
    if first is not None and second is not None:
        msgspec.json.encode(statement_rows(first.totals, None, second.totals))
        msgspec.json.encode(statement_rows({}, first.totals, second.totals))


async def of_times(rng: random.Random, mutate: Mutator) -> None:
    """The server's statement times from each source, and the traffic of its clients."""
    clock = FakeClock()
    chosen = rng.choice(
        (
            {"performance_schema": "ON", "version": "9.7.1"},
            {"query_response_time_stats": "ON", "version": "10.11.2-MariaDB"},
            {"performance_schema": "ON", "version": "10.11.2-MariaDB"},
        )
    )
    rows = [("0.000001", "0", "0.0"), ("0.001", "12", "0.5"), ("TOO LONG", "1", "TOO LONG")]
    server = Scripted(
        mutate,
        {
            "histogram_global": [(0, 2_000_000, 5), (2_000_000, 4_000_000, 3)],
            "RESPONSE_TIME": rows,
            "summary_global": [(100, 10**15)],
            "STATUS": [(name, str(value)) for name, value in STATUS.items()],
            "VARIABLES": list({**VARIABLES, **chosen}.items()),
        },
    )
    sampler = StatusSampler(TARGET, clock, log_in=server.log_in, timer=QueryTimer())
    seen = []
    for _ in range(3):
        seen.append(await sampler.sample(None))
        clock.advance(1.0)
    digest(*(each.tick for each in seen), *(each.traffic for each in seen))


async def of_replicas(rng: random.Random, mutate: Mutator) -> None:
    """Replication: the replicas, their state, positions and files of the binary log."""
    named = {
        "Seconds_Behind_Source": "3", "Relay_Source_Log_File": "bin.1", "Exec_Source_Log_Pos": "400",
        "Replica_IO_Running": "Yes", "Replica_SQL_Running": "Yes", "Replica_SQL_Running_State": "",
        "Last_SQL_Error": "", "File": "bin.2", "Position": "900", "Log_name": "bin.1", "File_size": "5000",
        "Host": "db2", "Port": "3307", "Server_Id": "2", "HOST": "db2:1",
    }  # fmt: skip
    row, names = tuple(named.values()), tuple(named)
    server = Scripted(mutate, {"SHOW": [row], "SELECT": [row]}, names)
    reader = replicas.ReplicaReader(TARGET, FakeClock(), connect=server.log_in)
    for job in (replicas.attached_replicas, replicas.log_end):
        await reader._connection.run(job)
    status = await reader.read()

    async def measure(connection: Connection) -> int | None:
        end = await replicas.log_end(connection)
        replayed = status.replayed if status is not None else None
        return await replicas.bytes_between(connection, replayed, end) if replayed and end else None

    await reader._connection.run(measure)
    if status is not None:
        msgspec.json.encode(status)


async def of_exporter(rng: random.Random, mutate: Mutator) -> None:
    """The page of a node_exporter."""
    readings = []
    for _ in range(2):
        try:
            readings.append(remote_host.parse_page(mutate.text(captured.exporter_page())))
        except ValueError:
            readings.append(None)
    digest(_host_tick(readings))


def _host_tick(readings: Sequence[host.HostCounters | None]) -> Tick | None:
    before, after = readings
    if before is None or after is None:
        return None
    tick = host.host_tick(before, after, cores=max(len(after.cores), 1), origin="db1")
    return None if tick is None else tick.moved("", HOST)


async def of_proc(rng: random.Random, mutate: Mutator) -> None:
    """/proc of another host, over ssh."""
    facts = proc_text.parse_facts(mutate.text("\n".join(captured.FACTS)).splitlines(), INFO)
    proc_text.request_line(1, facts)
    known = proc_text.parse_facts(captured.FACTS, INFO)
    for chosen in (facts, known):
        lines = ["\n".join(captured.reading(second)) for second in (1.0, 2.0)]
        digest(_host_tick([proc_text.parse_totals(mutate.text(text).splitlines(), chosen) for text in lines]))


async def of_this_host(rng: random.Random, mutate: Mutator) -> None:
    """/proc and /sys of this host."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in {
            "proc/7/task/7/status": "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\n",
            "proc/7/task/x/status": "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t9\n",
            "proc/7/io": "rchar: 5\nread_bytes: 4096\nwrite_bytes: 8192\n",
            "own": "0::/a/b\n",
            "cgroup/a/b/cpu.max": "150000 100000\n",
            "cgroup/a/memory.max": "1048576\n",
            "cgroup/a/b/cpu.stat": "usage_usec 1\nthrottled_usec 5000\n",
            "cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "server.pid": "77\n",
        }.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(mutate.text(text), "utf-8", errors="replace")
        host.thread_switches(7, root / "proc")
        host.storage_bytes(7, root / "proc")
        host.own_limits(root / "own", root / "cgroup")
        host.throttled_seconds(root / "own", root / "cgroup")
        list(host._by_pid_file(msgspec.structs.replace(INFO, pid_file=str(root / "server.pid"))))


async def of_waits(rng: random.Random, mutate: Mutator) -> None:
    """The account of time: the list of connections, InnoDB's transactions, files, the kernel's threads."""
    clock, flavour = FakeClock(), rng.choice(list(Flavour))
    row: Row = (
        11,
        "Execute",
        rng.choice(("Commit", "Updating", "", None)),
        3.0,
        101,
        "wait/x",
        "write",
        "UPDATE t",
    )
    rows = [row[:width] for width in (rng.choice((5, 7, 8)),)]
    server = Scripted(
        mutate,
        {
            "INNODB_METRICS": [(3,)],
            "file_summary": [(BINARY_LOG_EVENT, 5, 10**12), (REDO_EVENT, 0, 1), (DATA_EVENT, 7, 8)],
            "INNODB_TRX w": [(9, 21, "`t`", 4, "UPDATE t", None)],
            "INNODB_TRX": [(11, "lock wait", None)],
            "metadata_locks": [(11, "sbtest.t", 12)],
            "setup_consumers": [(rng.choice((0, 1)),)],
            "performance_schema.threads": rows,
            "PROCESSLIST": rows,
        },
    )

    async def ids() -> set[int]:
        return {11}

    with tempfile.TemporaryDirectory() as folder:
        thread = Path(folder) / "7" / "task" / "101"
        thread.mkdir(parents=True)
        for name, text in {
            "schedstat": "5000 700 3",
            "stat": "1 (x) S 1",
            "wchan": "fsync",
            "syscall": "74 0x7",
        }.items():
            (thread / name).write_text(mutate.text(text), errors="replace")
        timer = rng.choice((None, QueryTimer()))
        sampler = TimeSampler(
            TARGET, msgspec.structs.replace(INFO, flavour=flavour), clock, ids, lambda: 7, timer=timer,
            log_in=server.log_in, proc=folder,
        )  # fmt: skip
        if rng.random() < 0.5:
            sampler.watch_detail()
        await sampler.begin()
        for _ in range(3):
            await sampler.sample()
            clock.advance(1.2)
            digest(sampler.collect())
        sampler.detail.report()


async def of_start(rng: random.Random, mutate: Mutator) -> None:
    """What is read before a run: identity, preflight, facts of a comparison, digests; rows of their width."""
    answers = {word: rows for word, rows in test_preflight.ANSWERS.items() if "STATUS" not in word}
    present = {"long_query_time": "0.5", "slow_query_log": "ON", "log_bin": "ON"}
    waiting = (7, "a", "h", "d", "Query", 5, "Waiting for table metadata lock", "ALTER")
    connection = Scripted(
        Mutator(rng, shapes=False),
        {
            "Uptime": [("Uptime", "77")],
            "STATUS": [(name, str(value)) for name, value in STATUS.items()],
            **answers,
            "VARIABLES": list((preflight_examples.VARIABLES | present).items()),
            "FULL PROCESSLIST": [waiting],
            "processlist": [waiting],
            "TABLE_ROWS": [("sbtest1", 100)],
            "innodb_table_stats": [("sbtest1", 100, 7)],
            "summary_by_digest": [("abc", "SELECT ?", 5, 1_700_000_000.5, 1_700_000_009.0)],
            "information_schema.COLUMNS": [
                ("sbtest1", "id", "int", 0, "PRI"),
                ("sbtest1", "c", "int", 9, ""),
            ],
            "MIN(": [(1, 100)],
            "SELECT * FROM": [(5, "7")],
        },
    )
    facts = await preflight.read_server(
        connection, INFO, wall_seconds=lambda: 1.0, monotonic_seconds=lambda: 2.0
    )
    later = await preflight.read_writes_again(connection, facts, monotonic_seconds=lambda: 3.0)
    preflight.run_all_checks(
        preflight_examples.facts(server={"status": later.status}, variables=later.variables)
    )
    msgspec.json.encode(later)
    msgspec.json.encode(await info.server_info(connection))
    await info.lock_wait(connection, 7)
    await host_facts.read_in_effect(connection, INFO, {"performance_schema": "OFF"}, ["sbtest1"])
    await digests.read_digests(connection, "sbtest", 0.0, FakeClock())
    await digests.read_tables(connection, "sbtest", ["sbtest1"])


INFO: ServerInfo = msgspec.structs.replace(
    examples.SERVER, datadir="/srv/mysql/data/", pid_file="/srv/mysql/server.pid", uptime_seconds=15
)
SOURCES: tuple[Callable[[random.Random, Mutator], Awaitable[None]], ...] = (
    of_status, of_one_figure, of_activity, of_statements, of_times, of_replicas, of_exporter, of_proc,
    of_this_host, of_waits, of_start,
)  # fmt: skip


async def fault(number: int) -> str:
    """What a round raises that ends a run; empty if it raises nothing."""
    rng = random.Random(number)
    source = SOURCES[number % len(SOURCES)]
    begun = time.monotonic()
    try:
        await source(rng, Mutator(rng))
    except TuibenchError:
        return ""
    except Exception:
        return f"round {number}, {source.__name__}: {traceback.format_exc()}"
    took = time.monotonic() - begun
    return f"round {number}, {source.__name__}: {took:.0f} s" if took > LONGEST_SECONDS else ""


LONGEST_SECONDS = 60.0


async def faults(first: int, rounds: int | None, seconds: float) -> list[str]:
    """The faults of these rounds, or of as many as there is time for."""
    begun, told, done, found = time.monotonic(), 0.0, 0, list[str]()
    while (rounds is None or done < rounds) and (elapsed := time.monotonic() - begun) < seconds:
        if elapsed >= told:
            print(f"{elapsed:.0f} s: {done:,} rounds, {len(found)} faults", flush=True)
            told = elapsed + 60
        if text := await fault(first + done):
            print(text, flush=True)
            found.append(text)
        done += 1
    print(f"{time.monotonic() - begun:.0f} s: {done:,} rounds, {len(found)} faults", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.foreign", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--first", type=int, default=0, help="number of the first round [0]")
    parser.add_argument("--rounds", type=int, help="[as many as there is time for]")
    options = parser.parse_args()
    if asyncio.run(faults(options.first, options.rounds, options.seconds)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
