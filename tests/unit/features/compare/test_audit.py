"""The audit of a comparison: unfair pairs are named, equal ones raise nothing, the axis is no caveat."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests import examples, versions
from tests.unit.record.steady import steady
from tuibench.features.compare.audit import AUDITED, PROGRAM, audit, audit_table, caveat, decided_by
from tuibench.features.compare.comparison import compare_runs, comparison_text
from tuibench.features.sweep.formats import versions_text
from tuibench.features.sweep.tables import version_comparisons
from tuibench.model.server import DiskFacts, Environment, Flavour, HostConditions, HostFacts
from tuibench.model.summary import SetupDifference
from tuibench.model.sweep import Sweep, SweepEnvironment
from tuibench.observe.host_facts import plain_definition
from tuibench.record.reader import load_run

MIB = 2**20
VARIABLES = {
    "binlog_format": "MIXED",
    "binlog_row_image": "FULL",
    "innodb_adaptive_hash_index": "OFF",
    "innodb_buffer_pool_size": str(256 * MIB),
    "innodb_doublewrite": "ON",
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_flush_method": "O_DIRECT",
    "innodb_log_file_size": str(96 * MIB),
    "innodb_page_size": "16384",
    "innodb_use_native_aio": "ON",
    "large_pages": "OFF",
    "log_bin": "ON",
    "performance_schema": "ON",
    "query_cache_size": str(MIB),
    "query_cache_type": "OFF",
    "sync_binlog": "1",
    "tx_isolation": "REPEATABLE-READ",
    "version_comment": "Debian 12",
    "version_compile_machine": "x86_64",
    "version_malloc_library": "system",
}
IN_EFFECT = {
    "connection_collation": "utf8mb4_general_ci",
    "consumers": "events_statements_current, global_instrumentation, statements_digest",
    "instruments": "idle, statement, transaction, wait/io",
    "tables": "4",
    "rows": "394721",
    "definitions": "0123456789ab",
    "table_collations": "utf8mb4_general_ci",
    "tables_with_statistics": "4",
    "rows_in_statistics": "394721",
    "statistics_age_seconds": "311",
}
HOST = HostFacts(
    cores=2,
    cpu_model="Xeon 8375C",
    memory_bytes=8 * 2**30,
    conditions=HostConditions(governors=("performance",), huge_pages="madvise"),
)
DISK = DiskFacts(mount="/var", file_system="ext4", kind="SSD", options=("rw", "relatime", "data=ordered"))


def around(
    variables: Mapping[str, str | None] | None = None,
    seen: dict[str, str] | None = None,
    host: HostFacts = HOST,
    disk: DiskFacts | None = DISK,
    **server: Any,
) -> SweepEnvironment:
    """A start of MariaDB; a variable that is None is one that the server does not have."""
    every = {**VARIABLES, **(variables or {})}
    return SweepEnvironment(
        server=replace(examples.SERVER, flavour=Flavour.MARIADB, **server),
        environment=Environment(
            tuibench="1.0",
            location="local",
            host=host,
            disk=disk,
            variables={name: value for name, value in every.items() if value is not None},
            in_effect={**IN_EFFECT, **(seen or {})},
        ),
    )


UNFAIR = {
    "redo log capacity": around({"innodb_log_file_size": str(8 * MIB)}),
    "doublewrite": around({"innodb_doublewrite": "OFF"}),
    "durability": around({"sync_binlog": "0"}),
    "binary log": around({"binlog_format": "ROW"}),
    "flush method": around({"innodb_flush_method": "fsync"}),
    "buffer pool": around({"innodb_buffer_pool_size": str(1024 * MIB)}),
    "adaptive hash index": around({"innodb_adaptive_hash_index": "ON"}),
    "native I/O": around({"innodb_use_native_aio": "OFF"}),
    "thread handling": around({"thread_handling": "pool-of-threads"}),
    "page size": around({"innodb_page_size": "8192"}),
    "isolation": around({"tx_isolation": "READ-COMMITTED"}),
    "performance_schema": around(seen={"instruments": f"{IN_EFFECT['instruments']}, wait/synch"}),
    "query cache": around({"query_cache_type": "ON"}),
    "tables' collation": around(seen={"table_collations": "latin1_swedish_ci"}),
    "connection's character set": around(seen={"connection_collation": "latin1_swedish_ci"}),
    "table definitions": around(seen={"definitions": "ba9876543210"}),
    "rows": around(seen={"rows": "394", "rows_in_statistics": "394"}),
    "table statistics": around(seen={"rows_in_statistics": "1000"}),
    "huge pages": around(host=replace(HOST, conditions=replace(HOST.conditions, huge_pages="always"))),
    "CPU": around(host=replace(HOST, conditions=replace(HOST.conditions, governors=("powersave",)))),
    "memory": around(host=replace(HOST, memory_limit_bytes=2 * 2**30)),
    "file system": around(disk=replace(DISK, options=("rw", "relatime", "data=ordered", "nobarrier"))),
    "build": around({"version_comment": "Source distribution"}),
    "server version": around(version="10.6.1", version_text="10.6.1-MariaDB"),
}
"""Pairs with `around()` that differ in one respect, which the audit must name."""

EQUAL = {
    "the same": around(),
    "several files of the redo log": around(
        {"innodb_log_file_size": str(48 * MIB), "innodb_log_files_in_group": "2"}
    ),
    "another variable for the redo log": around(
        {"innodb_log_file_size": None}, {"innodb_redo_log_capacity_resized": str(100 * MIB)}
    ),
    "another word for doublewrite": around({"innodb_doublewrite": "DETECT_AND_RECOVER"}),
    "another name of the isolation level": around(
        {"tx_isolation": None, "transaction_isolation": "REPEATABLE-READ"}
    ),
    "a query cache without memory": around({"query_cache_type": "ON", "query_cache_size": "0"}),
    "one thread per connection": around({"thread_handling": "one-thread-per-connection"}),
    "no query cache": around({"query_cache_type": None, "query_cache_size": None}),
    "an estimate of the rows": around(seen={"rows": "401200", "rows_in_statistics": "400100"}),
    "rounded buffer pool": around({"innodb_buffer_pool_size": str(260 * MIB)}),
    "mount options without effect": around(disk=replace(DISK, options=("rw", "noatime", "data=ordered"))),
    "a setting in other letters": around({"innodb_flush_method": "o_direct"}),
    "a later start": around(seen={"statistics_age_seconds": "7200"}, uptime_seconds=12),
}
"""Pairs with `around()` that differ in text at most."""


def audited(*sides: SweepEnvironment, intended: Any = ()) -> tuple[SetupDifference, ...]:
    return audit([[side] for side in sides], intended)


@pytest.mark.parametrize("name", UNFAIR)
def test_an_unfair_pair_is_named(name: str) -> None:
    found = audited(around(), UNFAIR[name])
    assert [one.path for one in found if one.has_weight and not one.intended] == [name]
    assert found[0].worth
    assert caveat(found, 1) == f"but {name} differs"


def test_each_fact_has_an_unfair_pair() -> None:
    assert {fact.name for fact in AUDITED if fact.has_weight} == UNFAIR.keys()


@pytest.mark.parametrize("name", EQUAL)
def test_an_equal_pair_raises_nothing(name: str) -> None:
    assert audited(around(), EQUAL[name]) == ()


def test_without_a_binary_log_its_flushes_do_not_count() -> None:
    off = {"log_bin": "OFF"}
    assert audited(around(off), around({**off, "sync_binlog": "0", "binlog_format": "ROW"})) == ()


def test_the_axis_is_intended_and_no_caveat() -> None:
    small = around({"innodb_log_file_size": str(8 * MIB), "innodb_doublewrite": "OFF"})
    found = audited(around(), small, intended=decided_by(["innodb-log-file-size"]))
    assert [(one.path, one.intended) for one in found] == [
        ("redo log capacity", True),
        ("doublewrite", False),
    ]
    assert found[0].values == ("96 MiB", "8 MiB")
    assert caveat(found, 1) == "but doublewrite differs"


def test_a_side_whose_starts_differ_is_named_on_each_other_side() -> None:
    one, other = around(), UNFAIR["redo log capacity"]
    found = audit([[one, other], [one]])
    assert found[0].values == ("96 MiB / 8 MiB", "96 MiB")
    assert caveat(found, 1) == "but redo log capacity differs"
    assert caveat(audit([[one], [one, other]]), 1) == "but redo log capacity differs"


def test_what_is_unknown_on_one_side_is_listed_without_weight() -> None:
    found = audited(around(), around(disk=None))
    assert [(one.path, one.values, one.has_weight) for one in found] == [
        ("file system", ("ext4, SSD, data=ordered", "unknown"), False)
    ]
    assert audited(around(disk=None), around(disk=None)) == ()


def test_a_side_without_an_environment_is_unknown() -> None:
    assert audit([[], [around()]]) == audit([[around()], []]) == audit([[], []]) == ()
    found = audit([[], [around()], [around(variables={"sync_binlog": "0"})]])
    assert [one.values[0] for one in found] == ["unknown"]
    assert not any(one.has_weight for one in found)


def test_many_differences_are_counted() -> None:
    far = around(
        {"innodb_doublewrite": "OFF", "innodb_page_size": "8192", "sync_binlog": "0", "log_bin": "OFF"}
    )
    assert caveat(audited(around(), far), 1) == "but doublewrite, durability, binary log and 1 more differ"


def test_long_lists_show_what_is_not_common() -> None:
    found = audited(around(), UNFAIR["performance_schema"])
    assert found[0].values == ("–", "wait/synch")
    off = audited(around({"performance_schema": "OFF"}), around())
    assert off[0].values[1].startswith("on, consumers events_statements_current, ")
    assert audit_table(off, "AB").rows[0][1:3] == ("off", "on, consumers events_statements_current…")


MARIADB_TABLE = """CREATE TABLE `sbtest1` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `k` int(11) NOT NULL DEFAULT 0,
  `c` char(120) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  KEY `k_1` (`k`)
) ENGINE=InnoDB AUTO_INCREMENT=1001 DEFAULT CHARSET=latin1 COLLATE=latin1_swedish_ci"""
MYSQL_TABLE = """CREATE TABLE `sbtest1` (
  `id` int NOT NULL AUTO_INCREMENT,
  `k` int NOT NULL DEFAULT '0',
  `c` char(120) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  KEY `k_1` (`k`)
) ENGINE=InnoDB AUTO_INCREMENT=9 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"""


def test_a_table_is_the_same_however_a_server_writes_it() -> None:
    assert plain_definition(MARIADB_TABLE) == plain_definition(MYSQL_TABLE)
    assert plain_definition(MYSQL_TABLE) != plain_definition(MYSQL_TABLE.replace("KEY `k_1` (`k`)", ""))
    assert plain_definition(MYSQL_TABLE) != plain_definition(MYSQL_TABLE.replace("char(120)", "char(100)"))
    assert plain_definition(MYSQL_TABLE) != plain_definition(MYSQL_TABLE.replace("InnoDB", "MyISAM"))


# In the verdicts


def recorded(path: Path, name: str, around: SweepEnvironment, each: int) -> Path:
    made = steady(path, name, each=each)
    (made / "environment.json").write_bytes(msgspec.json.encode(around.environment))
    return made


def test_a_verdict_of_compare_has_the_caveat_in_its_line(tmp_path: Path) -> None:
    small = UNFAIR["redo log capacity"]
    runs = [
        load_run(recorded(tmp_path, name, side, each))
        for name, side, each in (("a", around(), 50), ("b", small, 100), ("c", around(), 50))
    ]
    pair = compare_runs([[runs[0]], [runs[1]]])
    assert pair.caveats == ("but redo log capacity differs",)
    lines = comparison_text(pair).splitlines()
    assert any(
        line.startswith("  TPS") and line.endswith("better, but redo log capacity differs") for line in lines
    )
    assert any(line.split()[:6] == ["redo", "log", "capacity", "96", "MiB", "8"] for line in lines)
    three = comparison_text(compare_runs([[run] for run in runs])).splitlines()
    ratios = next(line for line in three if line.startswith("  TPS"))
    assert "1.98  !" in ratios
    assert any(line.strip() == "! B: but redo log capacity differs" for line in three)
    equal = compare_runs([[runs[0]], [runs[2]]])
    assert (equal.audit, equal.caveats) == ((), ("",))


def test_the_isolation_of_the_plan_is_what_is_in_effect(tmp_path: Path) -> None:
    level = {"tx_isolation": "READ-COMMITTED"}
    runs = [
        load_run(recorded(tmp_path, name, side, 50)) for name, side in (("a", around()), ("b", around(level)))
    ]
    assert [one.path for one in compare_runs([[run] for run in runs]).audit] == ["isolation"]
    chosen = [
        replace(run, plan=replace(run.plan, plan=replace(run.plan.plan, isolation="serializable")))
        for run in runs
    ]
    assert compare_runs([[run] for run in chosen]).audit == ()


def compared(**new: Any) -> Sweep:
    """A comparison of versions whose second build had these surroundings."""
    sweep = versions.comparison()
    second = around(**{"version": "10.6.1", **new})
    starts = [replace(start, around=second if start.build == "new" else around()) for start in sweep.starts]
    return replace(sweep, starts=tuple(starts))


def test_versions_have_the_caveat_beside_each_ratio() -> None:
    sweep = compared(variables={"performance_schema": "OFF"})
    assert {one.caveat for one in version_comparisons(sweep) if one.build == "new"} == {
        "but performance_schema differs"
    }
    text = versions_text(sweep)
    row = next(line for line in text.splitlines() if line.startswith("oltp_read_only"))
    assert row.endswith("!")
    assert "! new: but performance_schema differs" in text
    assert "intended" in next(line for line in text.splitlines() if line.startswith("server version"))
    assert "What differs in effect" in versions_text(sweep, "html")
    assert "but performance_schema differs" in versions_text(sweep, "csv")


def test_versions_that_differ_in_nothing_else_have_no_caveat() -> None:
    text = versions_text(compared())
    assert "!" not in text
    assert PROGRAM[0] in text
