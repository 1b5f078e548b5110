"""Every check says ok when all is well, and what it sees, how much it matters and what helps otherwise."""

from typing import NamedTuple

import msgspec

from tests import examples as model_examples
from tests.tables import for_each
from tests.unit.tuning.preflight.examples import GIB, client, facts, grants
from tuibench.model.measurements.finding import Severity
from tuibench.model.server import Flavour
from tuibench.tuning.preflight.checks import CHECKS, run_all_checks, run_checks_before_run
from tuibench.tuning.preflight.facts import DataFacts, Facts

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
    case("table_open_cache", "note", "not visible", without=("table_open_cache",)),
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
    case("binary_log", "note", "30 days", "PURGE", variables={"binlog_expire_logs_seconds": "2592000"}),
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
