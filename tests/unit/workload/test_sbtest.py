"""The SQL of sysbench's tables, and how their rows are shared out."""

from random import Random

import pytest

from tuibench.workload import library
from tuibench.workload.datasets import data_set, describe
from tuibench.workload.datasets.sbtest import Sbtest


def sbtest(**options: object) -> Sbtest:
    return data_set(library.program("oltp_read_write", options))


def test_a_table_is_made_as_sysbench_makes_it() -> None:
    assert sbtest().create_sql("sbtest3").split("\n") == [
        "CREATE TABLE sbtest3(",
        "  id INTEGER NOT NULL AUTO_INCREMENT,",
        "  k INTEGER DEFAULT '0' NOT NULL,",
        "  c CHAR(120) DEFAULT '' NOT NULL,",
        "  pad CHAR(60) DEFAULT '' NOT NULL,",
        "  PRIMARY KEY (id)",
        ") /*! ENGINE = innodb */ ",
    ]
    assert sbtest().index_sql("sbtest3") == "CREATE INDEX k_3 ON sbtest3(k)"


def test_options_change_the_table() -> None:
    spec = sbtest(
        auto_inc="off", secondary="on", create_secondary="off", mysql_storage_engine="aria",
        mysql_table_options="ROW_FORMAT=DYNAMIC",
    )  # fmt: skip
    assert "id INTEGER NOT NULL,\n" in spec.create_sql("sbtest1")
    assert "KEY xid (id)\n) /*! ENGINE = aria */ ROW_FORMAT=DYNAMIC" in spec.create_sql("sbtest1")
    assert spec.index_sql("sbtest1") == ""


def test_rows_have_their_ids_and_keys_within_the_table() -> None:
    sql = sbtest(table_size=1000).rows(Random(1)).insert_sql("sbtest2", 991, 10)
    assert sql.startswith("INSERT INTO sbtest2 (id, k, c, pad) VALUES (")
    rows = [row.split(",") for row in sql.partition("VALUES ")[2][1:-1].split("),(")]
    assert [int(row[0]) for row in rows] == list(range(991, 1001))
    assert all(1 <= int(row[1]) <= 1000 for row in rows)


def test_the_data_in_words_and_as_a_command() -> None:
    program = library.program("oltp_read_write", {"tables": 4, "table_size": 100_000})
    assert describe(program) == "4 × 100,000 rows"
    command = data_set(program).prepare_command("oltp_read_write")
    assert command == "tuibench prepare oltp_read_write --tables=4 --table-size=100000"


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("auto_inc", "off", "--auto-inc=off"),
        ("secondary", "on", "--secondary=on"),
        ("create_secondary", "off", "--create-secondary=off"),
        ("mysql_storage_engine", "aria", "--mysql-storage-engine=aria"),
    ],
)
def test_the_command_makes_the_same_tables(name: str, value: str, part: str) -> None:
    assert sbtest(**{name: value}).prepare_command("oltp_insert").endswith(f" {part}")
