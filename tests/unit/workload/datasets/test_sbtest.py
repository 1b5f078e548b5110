"""The SQL of sysbench's tables, and how their rows are shared out."""

import re
import struct
from random import Random

import pytest

from tuibench.workload import library
from tuibench.workload.datasets import build_data_set
from tuibench.workload.datasets.base import RowFormat
from tuibench.workload.datasets.sbtest import Sbtest


def sbtest(**options: object) -> Sbtest:
    made = build_data_set(library.load_program("oltp_read_write", options))
    assert isinstance(made, Sbtest)
    return made


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


def check(ids: list[int], ks: list[int], texts: list[tuple[str, str]]) -> None:
    assert ids == list(range(991, 1001))
    assert all(1 <= k <= 1000 for k in ks)
    assert all(re.fullmatch(r"(\d{11}-){9}\d{11}", c) for c, _ in texts)
    assert all(re.fullmatch(r"(\d{11}-){4}\d{11}", pad) for _, pad in texts)
    assert len(set(texts)) == len(texts)


def test_rows_as_the_values_of_an_insert() -> None:
    rows = sbtest(table_size=1000).rows("sbtest2", Random(1), RowFormat.SQL)
    assert rows.sql("sbtest2", "latin1") == "INSERT INTO sbtest2 (id, k, c, pad) VALUES "
    values = rows.block(991, 10).decode()[1:-1].split("),(")
    split = [value.split(",") for value in values]
    check(
        [int(row[0]) for row in split],
        [int(row[1]) for row in split],
        [(row[2].strip("'"), row[3].strip("'")) for row in split],
    )


def test_rows_as_lines_for_load_data() -> None:
    rows = sbtest(table_size=1000).rows("sbtest2", Random(1), RowFormat.TABBED)
    assert rows.sql("sbtest2", "latin1").startswith(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE sbtest2 CHARACTER SET latin1 (id"
    )
    split = [line.split("\t") for line in rows.block(991, 10).decode().splitlines()]
    check([int(row[0]) for row in split], [int(row[1]) for row in split], [(r[2], r[3]) for r in split])


def test_rows_as_parameters() -> None:
    rows = sbtest(table_size=1000).rows("sbtest2", Random(1), RowFormat.BULK)
    assert rows.sql("sbtest2", "latin1").endswith("VALUES (?, ?, ?, ?)")
    split = list(struct.iter_unpack("<xixixB119sxB59s", rows.block(991, 10)))
    assert {(row[2], row[4]) for row in split} == {(119, 59)}
    check([r[0] for r in split], [r[1] for r in split], [(r[3].decode(), r[5].decode()) for r in split])


def test_the_data_in_words_and_as_a_command() -> None:
    program = library.load_program("oltp_read_write", {"tables": 4, "table_size": 100_000})
    assert build_data_set(program).describe() == "4 × 100,000 rows"
    command = build_data_set(program).prepare_command("oltp_read_write")
    assert command == "tuibench prepare oltp_read_write --tables=4 --table-size=100000"


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("auto_inc", "off", "--auto-inc=off"),
        ("secondary", "on", "--secondary=on"),
        ("create_secondary", "off", "--create-secondary=off"),
        ("mysql_storage_engine", "aria", "--mysql-storage-engine=aria"),
        ("mysql_table_options", "ROW_FORMAT=DYNAMIC x", "--mysql-table-options='ROW_FORMAT=DYNAMIC x'"),
    ],
)
def test_the_command_makes_the_same_tables(name: str, value: str, part: str) -> None:
    assert sbtest(**{name: value}).prepare_command("oltp_insert").endswith(f" {part}")
