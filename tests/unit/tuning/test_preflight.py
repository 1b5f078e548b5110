"""Checks before a run."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from tests import examples
from tests import examples as model_examples
from tests.tables import for_each
from tests.unit.tuning.preflight_examples import GIB, client, facts, grants
from tuibench.base.errors import ConnectionLostError, SQLError
from tuibench.model.findings import Finding, Severity
from tuibench.model.plan import RunPlan
from tuibench.model.server import DiskFacts, DiskSpeed, Flavour, Target
from tuibench.mysql.connection import Connection
from tuibench.mysql.rows import Row
from tuibench.tuning.preflight import (
    CHECKS,
    LARGEST_PREPARED_LIMIT,
    DataFacts,
    Facts,
    check_connections,
    count_prepared_statements,
    disk_findings,
    load_requirements,
    production_signs,
    read_server,
    read_writes_again,
    run_all_checks,
    run_checks_before_run,
    statement_kinds,
)
from tuibench.tuning.preflight import check_prepared_statements as room
from tuibench.workload import library

# Every check says ok when all is well, and what it sees, how much it matters and what helps otherwise.


MYSQL = msgspec.structs.replace(model_examples.SERVER, flavour=Flavour.MYSQL, version="9.7.1")
REMOTE = msgspec.structs.replace(model_examples.SERVER, is_local=False)
NOT_THERE = DataFacts(
    described="4 × 100 rows", ready=False, problem="sbtest1: no such table", remedy="tuibench prepare"
)
UNTRIED = DataFacts(described="4 × 100 rows", ready=True)
REPLICA = client(user="repl", command="Binlog Dump", statement="")


class Case(NamedTuple):
    """Facts, and what the check of that id makes of them: words of the finding, words of the remedy."""

    id: str
    facts: Facts
    severity: Severity
    found: str
    remedy: str = ""


def case(id: str, severity: str, found: str, remedy: str = "", **changes: object) -> Case:
    return Case(id, facts(**changes), Severity(severity), found, remedy)  # type: ignore[arg-type]


CASES = (
    case("data_set", "stop", "sbtest1: no such table", "tuibench prepare", data=NOT_THERE),
    case(
        "data_set",
        "next",
        "sbtest1: no such table",
        "tuibench prepare",
        data=msgspec.structs.replace(NOT_THERE, is_creatable=True),
    ),
    case(
        "privileges_load",
        "stop",
        "refused: INSERT command denied",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON `sbtest`.* TO `app`@`localhost`",
        data=DataFacts(described="", ready=True, refusal="INSERT command denied"),
    ),
    case(
        "privileges_load",
        "stop",
        "no UPDATE, DELETE privilege on the whole database",
        "GRANT UPDATE, DELETE ON",
        data=UNTRIED,
        server={"grants": grants("SELECT", database=("INSERT",))},
    ),
    case(
        "privileges_load",
        "note",
        "privilege on the whole database",
        "GRANT",
        data=UNTRIED,
        server={"grants": grants("SELECT", partly=True)},
    ),
    case("privileges_load", "ok", "has SELECT, INSERT", data=UNTRIED),
    case(
        "privileges_load",
        "note",
        "not visible to this login: its own privileges",
        data=UNTRIED,
        server={"grants": None},
    ),
    case(
        "privileges_settings",
        "note",
        "cannot change",
        "ON *.* TO `app`@`localhost`",
        server={"grants": grants("PROCESS")},
    ),
    case("privileges_settings", "note", "not visible", server={"grants": None}),
    case(
        "privileges_process",
        "note",
        "lock waits are not visible",
        "GRANT PROCESS ON *.* TO `app`@`localhost`",
        server={"grants": grants("SUPER")},
    ),
    case("privileges_process", "note", "not visible", server={"grants": None}),
    case(
        "max_connections",
        "warning",
        "4 connections of tuibench, plus 2 of other clients; the server accepts 151: 3 will be refused",
        "SET GLOBAL max_connections = 164",
        requirements={"threads": 148},
    ),
    case("max_connections", "note", "0 are left for you", "= 161", requirements={"threads": 145}),
    case("max_connections", "note", "9 are left for you", requirements={"threads": 136}),
    case("max_connections", "ok", "135 threads", requirements={"threads": 135}),
    case(
        "max_connections",
        "warning",
        "the account may have 19 (max_user_connections): up to 1 will be refused",
        "SET GLOBAL max_user_connections = 20",
        variables={"max_user_connections": "19"},
        server={"user_connections": 19},
    ),
    case("max_connections", "note", "not visible", without=("max_connections",)),
    case(
        "max_prepared_stmt_count",
        "warning",
        "16 connections × 36 prepared statements are 576, the server keeps 575",
        "SET GLOBAL max_prepared_stmt_count=576",
        variables={"max_prepared_stmt_count": "575"},
    ),
    case("max_prepared_stmt_count", "note", "not visible", server={"status": {}}),
    case(
        "table_open_cache",
        "note",
        "16 threads × 4 tables are 64 open tables, the server keeps 63: some",
        "SET GLOBAL table_open_cache = 64",
        variables={"table_open_cache": "63"},
    ),
    case("table_open_cache", "ok", "keeps 64", variables={"table_open_cache": "64"}),
    case("table_open_cache", "warning", "all the time", variables={"table_open_cache": "15"}),
    case(
        "table_open_cache",
        "warning",
        "all the time",
        variables={"table_open_cache": "400"},
        requirements={"threads": 2, "tables": 401},
    ),
    case("table_open_cache", "note", "not visible", without=("table_open_cache",)),
    case(
        "table_definition_cache",
        "ok",
        "uses 4 tables, the server keeps 4 definitions",
        variables={"table_definition_cache": "4"},
    ),
    case(
        "table_definition_cache",
        "warning",
        "the run uses 5 tables, the server keeps 4 definitions: they are read again",
        "SET GLOBAL table_definition_cache = 10",
        variables={"table_definition_cache": "4"},
        requirements={"tables": 5},
    ),
    case("table_definition_cache", "note", "not visible", without=("table_definition_cache",)),
    case(
        "open_files_limit",
        "warning",
        "may open 123 files, connections and tables need about 124",
        "open_files_limit=248",
        variables={"open_files_limit": "123"},
    ),
    case("open_files_limit", "ok", "124", variables={"open_files_limit": "124"}),
    case("open_files_limit", "note", "not visible", without=("open_files_limit",)),
    case(
        "read_only",
        "stop",
        "read-only, the load does INSERT, UPDATE, DELETE",
        "run on the primary",
        variables={"read_only": "ON"},
        server={"grants": grants("SELECT")},
    ),
    case("read_only", "warning", "may be a replica", variables={"read_only": "ON"}),
    case(
        "read_only",
        "stop",
        "the load does",
        variables={"read_only": "ON"},
        server={"grants": grants("SUPER")},
    ),
    case(
        "read_only",
        "warning",
        "may be a replica",
        variables={"read_only": "ON"},
        server={"grants": grants("READ_ONLY ADMIN")},
    ),
    case("read_only", "stop", "the load does", variables={"read_only": "ON", "super_read_only": "ON"}),
    case("read_only", "stop", "the load does", variables={"innodb_read_only": "ON"}),
    case(
        "read_only",
        "note",
        "so is the load",
        variables={"read_only": "ON"},
        requirements={"kinds": ("SELECT",)},
    ),
    case("read_only", "note", "not visible", without=("read_only",)),
    case("replicas", "warning", "1 replica attached", "without replicas", server={"clients": (REPLICA,)}),
    case("replicas", "warning", "2 replicas attached", server={"registered_replicas": 2}),
    case(
        "replicas", "note", "attached", server={"registered_replicas": 2}, requirements={"kinds": ("SELECT",)}
    ),
    case("replicas", "note", "not visible", "GRANT PROCESS", server={"grants": grants("SUPER")}),
    case("replicas", "note", "does not list its sessions", server={"clients": None}),
    case(
        "other_clients",
        "warning",
        "2 active connections of other users (shop@web1 in shop; ann@pc in no database)",
        "SHOW PROCESSLIST",
        server={"clients": (client(), client(user="ann", host="pc", database=""))},
    ),
    case("other_clients", "ok", "1 other connection", server={"clients": (client(command="Sleep"),)}),
    case("other_clients", "ok", "none", server={"clients": (client(user="system user"), REPLICA)}),
    case(
        "other_clients",
        "warning",
        "other clients changed data 5 times in 0.5 s",
        server={"writes": {"Com_insert": 2}, "writes_later": {"Com_insert": 7}, "watched_seconds": 0.5},
    ),
    case("other_clients", "note", "not visible", server={"clients": None}),
    case("other_clients", "note", "of other users", server={"grants": grants("SUPER")}),
    case(
        "long_query_time",
        "warning",
        "over 0.01 s: nearly all",
        "SET GLOBAL long_query_time = 1",
        variables={"slow_query_log": "ON", "long_query_time": "0.010000"},
    ),
    case("long_query_time", "ok", "is off", variables={"long_query_time": "0"}),
    case("long_query_time", "ok", "over 10 s", variables={"slow_query_log": "ON"}),
    case("long_query_time", "note", "not visible", without=("long_query_time",)),
    case("wait_timeout", "ok", "idle connections for 28,800 s"),
    case("wait_timeout", "ok", "idle connections for 2 s", variables={"wait_timeout": "2"}),
    case(
        "wait_timeout",
        "ok",
        "idle connections for 2 s",
        requirements={"rate": 100.0},
        variables={"wait_timeout": "2"},
    ),
    case(
        "wait_timeout",
        "warning",
        "at 4 transactions/s 16 connections may be idle for 20 s, the server closes them after 2 s",
        "SET GLOBAL wait_timeout=40",
        requirements={"rate": 4.0},
        variables={"wait_timeout": "2"},
    ),
    case("wait_timeout", "note", "not visible", without=("wait_timeout",)),
    case("general_log", "warning", "every statement", "general_log = OFF", variables={"general_log": "ON"}),
    case("performance_schema", "note", "is on", variables={"performance_schema": "ON"}),
    case("performance_schema", "note", "lock waits cannot be shown", server={"info": MYSQL}),
    case("performance_schema", "note", "not visible", without=("performance_schema",)),
    case(
        "binary_log",
        "note",
        "never purged",
        "PURGE BINARY LOGS",
        variables={"binlog_expire_logs_seconds": "0"},
    ),
    case(
        "binary_log",
        "note",
        "30 days",
        "point-in-time recovery",
        variables={"binlog_expire_logs_seconds": "2592000"},
    ),
    case(
        "binary_log",
        "note",
        "7 days",
        variables={"expire_logs_days": "7"},
        without=("binlog_expire_logs_seconds",),
    ),
    case("binary_log", "ok", "is off", variables={"log_bin": "OFF"}),
    case("binary_log", "ok", "writes nothing", requirements={"kinds": ("SELECT",)}),
    case("binary_log", "note", "not visible", without=("log_bin",)),
    case(
        "disk",
        "stop",
        "50 MiB of 100 GiB are free, the data set needs about 95.4 MiB",
        "--table-size",
        machine={"disk_free_bytes": 50 << 20},
        data=NOT_THERE,
    ),
    case(
        "disk",
        "warning",
        "grow while the load writes",
        "free some space",
        machine={"disk_free_bytes": 4 * GIB},
    ),
    case("disk", "ok", "4 GiB", machine={"disk_free_bytes": 4 * GIB}, requirements={"kinds": ("SELECT",)}),
    case("disk", "note", "from another host", server={"info": REMOTE}),
    case("disk", "note", "not visible", machine={"disk_free_bytes": None}),
    case(
        "file_descriptors",
        "stop",
        "a worker needs 1,064 open files, this account may have 1,063",
        "ulimit -Hn 1064",
        requirements={"open_files": 1064},
        machine={"files_hard": 1063},
    ),
    case(
        "file_descriptors",
        "ok",
        "this account may have 1,024, raised to 1,064",
        requirements={"open_files": 1064},
        machine={"files_hard": 1064},
    ),
    case("file_descriptors", "ok", "any number", machine={"files_soft": None, "files_hard": None}),
    case(
        "file_descriptors",
        "ok",
        "each within its own limit",
        requirements={"open_files": None},
        machine={"files_soft": 10, "files_hard": 10},
    ),
    case("clock", "note", "2.5 s ahead of", "set-ntp", server={"clock_ahead_seconds": 2.5}),
    case("clock", "note", "90.0 s behind", server={"clock_ahead_seconds": -90.0}),
    case("clock", "note", "not visible", server={"clock_ahead_seconds": None}),
    case("clocksource", "note", "source is hpet", "echo tsc", machine={"clocksource": "hpet"}),
    case("clocksource", "ok", "unknown", machine={"clocksource": ""}),
    case("timers", "note", "1 ms late", machine={"fine_timers": False}, requirements={"rate": 10.0}),
    case("timers", "ok", "", machine={"fine_timers": False}),
    case("host_busy", "ok", "3 % of 4 cores are in use"),
    case("host_busy", "warning", "60 % of 4 cores", "with top", machine={"busy_share": 0.6}),
    case("host_busy", "warning", "5 % steal", "another time", machine={"steal_share": 0.05}),
    case("host_busy", "note", "not visible", machine={"busy_share": None}),
    case("swap", "note", "512 MiB of 1 GiB", "swapoff", machine={"swap_used_bytes": GIB // 2}),
    case("swap", "ok", "no swap", machine={"swap_total_bytes": 0}),
    case("swap", "note", "not visible", machine={"swap_total_bytes": None}),
    case("cpu_governor", "note", "'powersave'", "cpupower", machine={"governors": ("powersave",)}),
    case("cpu_governor", "ok", "unknown", machine={"governors": ()}),
)


@for_each("case", CASES)
def test_what_a_check_makes_of_the_facts(case: Case) -> None:
    (finding,) = [finding for finding in run_all_checks(case.facts) if finding.id == case.id]
    assert finding.severity is case.severity, finding
    assert case.found in finding.found
    assert case.remedy in finding.remedy
    assert bool(finding.remedy) >= (finding.severity in (Severity.WARNING, Severity.STOP))


def test_without_problems_nothing_is_reported_before_a_run() -> None:
    findings = run_all_checks(facts())
    assert {finding.severity for finding in findings} == {Severity.OK}
    assert len({finding.id for finding in findings}) == len(findings) == len(CHECKS)
    assert run_checks_before_run(facts()) == ()


def test_every_check_that_can_find_something_is_tried() -> None:
    assert {case.id for case in CASES} == {finding.id for finding in run_all_checks(facts())} - {"server"}


def test_a_run_reports_only_warnings_and_stops() -> None:
    with_warnings = facts(
        variables={"general_log": "ON", "max_connections": "10", "performance_schema": "ON"},
        machine={"governors": ("powersave",)},
    )
    assert [finding.id for finding in run_checks_before_run(with_warnings)] == [
        "max_connections",
        "general_log",
    ]


# What a disk's speed means: the commits that it allows, and when it cannot be believed.


def findings(kind: str = "SSD", **changes: Any) -> dict[str, Finding]:
    measured = {
        "folder": "/data",
        "flushes_per_second": 2000.0,
        "flush_p50_us": 480.0,
        "flush_p95_us": 700.0,
        "flush_p99_us": 900.0,
        "flush_max_us": 12_000.0,
        "reads_per_second": 9000.0,
        "reads_per_second_parallel": 80_000.0,
        "readers": 16,
    }
    facts = DiskFacts(mount="/", file_system="ext4", kind=kind)
    return {one.id: one for one in disk_findings(facts, DiskSpeed(**{**measured, **changes}))}


def test_flushes_say_how_many_commits_are_possible() -> None:
    found = findings()
    assert found["disk_flush"].found.startswith("2,000 flushes/s of 4 KiB in sequence, each 480 µs")
    assert "max 12 ms" in found["disk_flush"].found
    assert "commits at most 1,000 times/s with a binary log (sync_binlog=1) and 2,000" in (
        found["disk_commits"].found
    )
    assert "16,000 and 32,000" in found["disk_commits"].found
    assert "9,000 random reads/s of 16 KiB, and 80,000 with 16 readers" in found["disk_reads"].found
    assert {one.severity for one in found.values()} == {Severity.OK}


@pytest.mark.parametrize(
    ("kind", "median_us", "lies"),
    [
        ("HDD", 900.0, True),
        ("HDD", 6000.0, False),
        ("SSD", 9.0, True),
        ("SSD", 40.0, False),
        ("NVMe SSD", 9.0, False),
        ("NVMe SSD", 2.0, True),
        ("virtual disk", 9.0, True),
        ("memory", 900.0, True),
        ("", 2.0, True),
    ],
)
def test_a_flush_faster_than_the_medium_is_a_lie(kind: str, median_us: float, lies: bool) -> None:
    found = findings(kind, flush_p50_us=median_us, flush_p99_us=median_us)["disk_truth"]
    assert (found.severity is Severity.WARNING) is lies
    if lies and kind != "memory":
        assert found.found.startswith("this disk confirms flushes too early: a flush takes")


def test_stalls_and_missing_reads_are_reported() -> None:
    found = findings(flush_p99_us=20_000.0, reads_per_second=None)
    assert found["disk_flush"].severity is Severity.NOTE
    assert "20 times as long as usual" in found["disk_flush"].found
    assert "they were not measured" in found["disk_reads"].found


# One round of questions: what is refused is a gap, what is written meanwhile is noticed.


OWN_ID = 7
PROCESS_COLUMNS = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info", "Progress")
ANSWERS: dict[str, Sequence[Row]] = {
    "SHOW GLOBAL VARIABLES": [("max_connections", "151"), ("read_only", "OFF")],
    "SHOW GLOBAL STATUS": [("Threads_connected", "3"), ("Com_insert", "10"), ("Com_update", "5")],
    "SHOW GRANTS": [("GRANT PROCESS ON *.* TO `app`@`%`",)],
    "SHOW PROCESSLIST": [
        (OWN_ID, "app", "localhost", "sbtest", "Query", 0, "", "SHOW PROCESSLIST", 0.0),
        (8, "shop", "web:1", "shop", "Query", 2, "updating", "UPDATE t SET a=1", 0.0),
        (9, "idle", "web:2", None, "Sleep", 60, "", None, 0.0),
    ],
    "SELECT @@SESSION.max_user_connections": [(20,)],
    "SHOW SLAVE HOSTS": [(2, "r1", 3306, 1)],
    "SHOW REPLICAS": [(2, "r1", 3306, 1, "uuid")],
    "SELECT UNIX_TIMESTAMP": [(1_700_000_003.5,)],
}


class Asked(Connection):
    """Answers by the beginning of the statement; what is not in `answers` is refused."""

    def __init__(self, answers: dict[str, Sequence[Row]]) -> None:
        super().__init__(None, Target(user="app", database="sbtest"))
        self.answers = dict(answers)
        self.sent: list[str] = []
        self.lost = False

    @property
    def thread_id(self) -> int:
        return OWN_ID

    async def query(self, sql: str) -> Sequence[Row]:
        self.sent.append(sql)
        if self.lost:
            raise ConnectionLostError(2013, "gone")
        for beginning, rows in self.answers.items():
            if sql.startswith(beginning):
                wanted = set(re.findall(r"'(\w+)'", sql))
                return [row for row in rows if not wanted or row[0] in wanted]
        raise SQLError(1227, "access denied")

    async def query_named(self, sql: str) -> list[dict[str, Any]]:
        return [dict(zip(PROCESS_COLUMNS, row, strict=True)) for row in await self.query(sql)]


def times(*values: float) -> Any:
    """A clock that says these times."""
    return iter(values).__next__


async def test_all_facts_in_one_round() -> None:
    connection = Asked(ANSWERS)
    facts = await read_server(
        connection,
        examples.SERVER,
        wall_seconds=times(1_700_000_000, 1_700_000_002),
        monotonic_seconds=times(5.0),
    )
    assert len(connection.sent) == 7
    assert facts.variables["max_connections"] == "151"
    assert facts.status == {"Threads_connected": 3}
    assert facts.writes == {"Com_insert": 10, "Com_update": 5}
    assert [(client.id, client.is_busy) for client in facts.clients or ()] == [(8, True), (9, False)]
    assert (facts.replicas, facts.clock_ahead_seconds, facts.database) == (1, 2.5, "sbtest")
    assert facts.sees_all
    assert (facts.user, facts.user_connections) == ("app", 20)


@pytest.mark.parametrize(
    ("flavour", "version", "words"),
    [
        (Flavour.MARIADB, "11.8.2", "SHOW SLAVE HOSTS"),
        (Flavour.MYSQL, "8.0.21", "SHOW SLAVE HOSTS"),
        (Flavour.MYSQL, "9.7.1", "SHOW REPLICAS"),
    ],
)
async def test_each_server_is_asked_for_replicas_in_its_words(
    flavour: Flavour, version: str, words: str
) -> None:
    connection = Asked(ANSWERS)
    await read_server(connection, msgspec.structs.replace(examples.SERVER, flavour=flavour, version=version))
    assert words in connection.sent


async def test_what_may_not_be_seen_is_a_gap() -> None:
    facts = await read_server(Asked({}), examples.SERVER)
    assert (facts.variables, facts.status, facts.grants, facts.clients) == ({}, {}, None, None)
    assert (facts.replicas, facts.clock_ahead_seconds, facts.written) == (0, None, 0)


async def test_a_lost_connection_is_reported() -> None:
    connection = Asked(ANSWERS)
    connection.lost = True
    with pytest.raises(ConnectionLostError):
        await read_server(connection, examples.SERVER)


async def test_a_second_look_notices_writes_and_keeps_who_was_busy_before() -> None:
    connection = Asked(ANSWERS)
    facts = await read_server(connection, examples.SERVER, monotonic_seconds=times(5.0))
    connection.answers["SHOW GLOBAL STATUS"] = [("Com_insert", "14"), ("Com_update", "2")]
    connection.answers["SHOW PROCESSLIST"] = [(9, "idle", "web:2", "shop", "Query", 0, "", "SELECT 1", 0.0)]
    later = await read_writes_again(connection, facts, monotonic_seconds=times(5.75))
    assert (later.written, later.watched_seconds) == (4, 0.75)
    assert sorted(client.id for client in later.busy) == [8, 9]
    assert len(connection.sent) == 7 + 2


# Whether the prepared statements of a run fit into the server.


def found(limit: int, in_use: int, threads: int, statements: int) -> Finding:
    return room(
        facts(
            variables={"max_prepared_stmt_count": str(limit)},
            server={"status": {"Prepared_stmt_count": in_use}},
            requirements={"threads": threads, "statements": statements},
        )
    )


@pytest.mark.parametrize(
    ("limit", "in_use", "fits"),
    [(160, 0, True), (161, 1, True), (160, 1, False), (0, 0, False), (10, 12, False)],
)
def test_the_last_statement_decides(limit: int, in_use: int, fits: bool) -> None:
    assert (found(limit, in_use, 16, 10).severity is Severity.OK) == fits


def test_the_warning_has_the_figures_and_the_remedy() -> None:
    finding = found(16_382, 2, 2000, 9)
    assert (
        "2,000 connections × 9 prepared statements are 18,000, the server keeps 16,382, 2 are in use"
        in finding.found
    )
    assert finding.remedy == "SET GLOBAL max_prepared_stmt_count=18002, or run with --db-ps-mode=disable"


def test_a_limit_that_cannot_be_raised_is_not_advised() -> None:
    assert found(16_382, 0, LARGEST_PREPARED_LIMIT, 2).remedy == "run with --db-ps-mode=disable"


OWN_LIMIT = "ALTER USER `app`@`localhost` WITH MAX_USER_CONNECTIONS"
OF_EACH = "SET GLOBAL max_user_connections ="


@pytest.mark.parametrize(
    ("most", "of_each", "others", "severity", "words", "remedy"),
    [
        (None, 0, 0, Severity.OK, "the server accepts 151", ""),
        (0, 0, 9, Severity.OK, "the server accepts 151", ""),
        (-1, -1, 9, Severity.OK, "the server accepts 151", ""),
        (20, 0, 0, Severity.OK, "the server accepts 151", ""),
        (152, 0, 0, Severity.OK, "the server accepts 151", ""),
        (19, 0, 0, Severity.WARNING, "may have 19 (its MAX_USER_CONNECTIONS): up to 1", f"{OWN_LIMIT} 20"),
        (20, 0, 3, Severity.WARNING, "plus 3 of the same user, the account may have 20", f"{OWN_LIMIT} 23"),
        (9, 9, 0, Severity.WARNING, "have 9 (max_user_connections): up to 11 will be", f"{OF_EACH} 20"),
        (3, 0, 0, Severity.WARNING, "up to 17 will be refused", f"{OWN_LIMIT} 20"),
        (2, 0, 0, Severity.STOP, "a run takes 2 connections in addition to its load", f"{OWN_LIMIT} 20"),
        (1, 1, 0, Severity.STOP, "the account may have 1 (max_user_connections)", f"{OF_EACH} 20"),
    ],
)
def test_the_accounts_own_limit(
    most: int | None, of_each: int, others: int, severity: Severity, words: str, remedy: str
) -> None:
    """16 threads and 4 connections of tuibench; the server accepts 151."""
    clients = [client(id=number, user="app") for number in range(others)]
    finding = check_connections(
        facts(
            variables={"max_user_connections": str(of_each)},
            server={"user": "app", "user_connections": most, "clients": (*clients, client())},
        )
    )
    assert (finding.id, finding.severity, finding.remedy) == ("max_connections", severity, remedy)
    assert words in finding.found


def test_where_the_server_takes_too_few_the_lower_limit_counts() -> None:
    def found(in_all: int, most: int) -> str:
        return check_connections(
            facts(variables={"max_connections": str(in_all)}, server={"user_connections": most})
        ).found

    assert "the server accepts 10: 12 will be refused" in found(10, 15)
    assert "the account may have 9" in found(10, 9)


def test_what_a_connection_prepares() -> None:
    assert count_prepared_statements(library.load_program("oltp_point_select", {})) == 1
    assert count_prepared_statements(library.load_program("oltp_read_write", {})) >= 9


@pytest.mark.parametrize(
    ("profile", "wanted"),
    [
        ("oltp_point_select", ("SELECT",)),
        ("oltp_read_write", ("SELECT", "INSERT", "UPDATE", "DELETE")),
        ("oltp_insert", ("INSERT",)),
    ],
)
def test_the_privileges_that_a_profile_takes(profile: str, wanted: tuple[str, ...]) -> None:
    assert statement_kinds(library.load_program(profile, {})) == wanted


@pytest.mark.parametrize("profile", ["oltp_read_write", "bulk_insert"])
def test_the_requirements_of_a_plan(profile: str) -> None:
    program = library.load_program(profile, {"threads": 8})
    requirements = load_requirements(RunPlan(profile=profile, threads=8, prepared=False), program, 72)
    assert (requirements.threads, requirements.open_files, requirements.statements) == (8, 72, 0)
    assert requirements.stems == ("sbtest",)
    assert (requirements.data_bytes > 1_000_000) == (profile == "oltp_read_write")


# What makes a server look as if somebody lived on it.


WRITTEN = {"writes": {"Com_insert": 1}, "writes_later": {"Com_insert": 41}, "watched_seconds": 0.4}
LOAD = client(database="sbtest", statement="UPDATE sbtest3 SET k=k+1 WHERE id=5")


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ({}, ()),
        ({"registered_replicas": 2}, ("2 replicas attached",)),
        ({"clients": (client(), client())}, ("2 active connections of other users (shop)",)),
        ({"clients": (client(command="Sleep"),)}, ()),
        (WRITTEN, ("other clients changed data 40 times in 0.4 s",)),
        ({**WRITTEN, "clients": (LOAD,)}, ()),
        ({"clients": (LOAD, client(database="sbtest", statement="COMMIT"))}, ()),
        (
            {"clients": (client(database="sbtest", statement="DELETE FROM orders"),)},
            ("1 active connection of other users (shop)",),
        ),
        (
            {**WRITTEN, "clients": (client(), client(command="Binlog Dump GTID"))},
            (
                "1 replica attached",
                "1 active connection of other users (shop)",
                "other clients changed data 40 times in 0.4 s",
            ),
        ),
    ],
)
def test_signs(server: dict[str, Any], expected: tuple[str, ...]) -> None:
    found = facts(server=server)
    assert production_signs(found.server, found.requirements.stems) == expected
