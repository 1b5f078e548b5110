"""Data sets, and the library of profiles."""

import errno
import os
import re
import struct
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tuibench.base.errors import UsageError
from tuibench.workload import library
from tuibench.workload.benchmarks import OF_FACILITY, OF_SUBSCRIBER, ChildCycle, DeclaredDataSet
from tuibench.workload.dataset import (
    DIGITS,
    DigitRows,
    NumberField,
    RandomCharacters,
    RowField,
    RowFormat,
    build_data_set,
    data_set_class,
    data_sets,
)
from tuibench.workload.sbtest import Sbtest
from tuibench.workload.values import Digits

# Data sets declared as tables of columns: rows in every format, sizes, keys.


CLASSES = {name: data_set_class(name, "") for name in data_sets()}
DECLARED = {name: cls for name, cls in CLASSES.items() if issubclass(cls, DeclaredDataSet)}
OPTIONS = {
    "ycsb": {"records": 50},
    "tatp": {"subscribers": 10},
    "smallbank": {"accounts": 50},
    "anomalies": {"anomaly_rows": 50},
    "ibench": {"table_size": 50, "tables": 3, "secondary": True},
}


def made(name: str, **options: object) -> DeclaredDataSet:
    data_set = DECLARED[name].from_options({"mysql_storage_engine": "innodb", **OPTIONS[name], **options})  # type: ignore[dict-item]
    assert isinstance(data_set, DeclaredDataSet)
    return data_set


@pytest.mark.parametrize("name", DECLARED)
def test_rows_have_a_value_for_each_column_in_every_format(name: str) -> None:
    spec = made(name)
    for table in spec.table_names():
        columns = len(spec.columns(table))
        rows = spec.size(table)
        tabbed = spec.rows(table, Random(1), RowFormat.TABBED).block(1, rows)
        assert [line.count(b"\t") for line in tabbed.splitlines()] == [columns - 1] * rows
        source = spec.rows(table, Random(1), RowFormat.SQL)
        inserted = source.block(1, rows)
        assert inserted.startswith(b"(")
        assert inserted.endswith(b")")
        assert len(inserted) <= rows * source.row_bytes * 1.1
        assert len(source.parameters) == columns
        assert spec.rows(table, Random(1), RowFormat.BULK).block(1, rows)


@pytest.mark.parametrize("name", DECLARED)
def test_the_rows_of_a_table_are_those_of_its_parts(name: str) -> None:
    """Keys and numbers of rows do not depend on how a load is divided."""
    spec = made(name)
    for table in spec.table_names():
        rows = spec.size(table)
        whole = spec.rows(table, Random(1), RowFormat.TABBED).block(1, rows).splitlines()
        parts = [spec.rows(table, Random(1), RowFormat.TABBED).block(row, 1) for row in range(1, rows + 1)]
        assert [row.split(b"\t")[0] for row in whole] == [part.split(b"\t")[0].strip() for part in parts]


@pytest.mark.parametrize("name", DECLARED)
def test_sizes_are_checked_by_the_scale(name: str) -> None:
    spec = made(name)
    checks = spec.size_checks()
    assert {check.wanted for check in checks.values()} == {spec.scale}
    assert {check.wanted for check in spec.without_rows().size_checks().values()} == {0}
    assert spec.prepare_command(name).startswith(f"tuibench prepare {name} --{spec.SCALE.replace('_', '-')}=")
    assert all(spec.is_table_name(table) for table in spec.table_names())


def test_the_insert_benchmark_has_its_indexes_on_demand() -> None:
    assert made("ibench").index_sql("pi1").count("ADD INDEX") == 3
    bare = made("ibench", secondary=False)
    assert bare.index_sql("pi1") == ""
    assert bare.prepare_command("ibench.li0").endswith("--tables=3 --secondary=off")


@pytest.mark.parametrize("parents", [1, 4, 7, 10])
def test_a_cycle_numbers_each_child_once(parents: int) -> None:
    for cycle in (OF_SUBSCRIBER, OF_FACILITY, ChildCycle(2)):
        children = [cycle.child(row) for row in range(1, cycle.rows(parents) + 1)]
        assert len(set(children)) == len(children)
        assert all(1 <= parent <= parents for parent, _ in children)


def test_tatps_means_are_the_specifications() -> None:
    assert (OF_SUBSCRIBER.rows(1000), OF_FACILITY.rows(2500)) == (2500, 3750)
    assert OF_SUBSCRIBER.child(1) == (1, 0)


# The SQL of sysbench's tables, and how their rows are shared out.


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


# Strings of random digits, one at a time and by the block.


@pytest.mark.parametrize(("groups", "length"), [(1, 11), (5, 59), (10, 119)])
def test_digit_groups_have_sysbenchs_form(groups: int, length: int) -> None:
    draw = Digits[int](groups=groups).function(Random(1), 0, 0)
    values = {draw() for _ in range(200)}
    assert len(values) == 200
    for value in values:
        assert len(value) == length
        assert re.fullmatch(r"\d{11}(-\d{11})*", value)


def test_every_digit_is_equally_likely_in_every_place() -> None:
    draw = Digits[int](groups=5).function(Random(2), 0, 0)
    values = [draw() for _ in range(20_000)]
    for place in (0, 1, 10, 12, 58):
        digits = Counter(value[place] for value in values)
        assert set(digits) == set("0123456789")
        assert all(count == pytest.approx(2000, rel=0.1) for count in digits.values())


TEN, FIVE = Digits[int](groups=10), Digits[int](groups=5)
ROW: tuple[RowField, ...] = (b"<", NumberField(4), NumberField(4, is_binary=True), TEN, b"|", FIVE, b">")


def test_rows_have_the_given_numbers_and_digits_of_their_own() -> None:
    layout = DigitRows(ROW, Random(3))
    block = bytes(layout.rows([1, 22, 4444], [7, -8, 2**31 - 1]))
    assert len(block) == 3 * layout.row_bytes
    rows = list(struct.iter_unpack("<x4si119sx59sx", block))
    assert [(int(row[0]), row[1]) for row in rows] == [(1, 7), (22, -8), (4444, 2**31 - 1)]
    assert all(re.fullmatch(rb"(\d{11}-){9}\d{11}", row[2]) for row in rows)
    assert len({row[2] for row in rows}) == len({row[3] for row in rows}) == 3


def test_digits_are_equally_likely_and_the_keys_own() -> None:
    digits = Counter(RandomCharacters(DIGITS, bytes(16)).take(220_000))
    assert set(digits) == set(b"0123456789")
    assert all(count == pytest.approx(22_000, rel=0.03) for count in digits.values())
    assert (
        RandomCharacters(DIGITS, bytes(16)).take(100)
        == RandomCharacters(DIGITS, bytes(16)).take(100)
        != RandomCharacters(DIGITS, bytes(range(16))).take(100)
    )


def test_digits_do_not_repeat_from_batch_to_batch() -> None:
    digits = RandomCharacters(DIGITS, bytes(16))
    assert len({bytes(digits.take(20)) for _ in range(1000)}) == 1000


# Where profiles are found.


BUILT_IN = ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only"]


def test_all_built_in_profiles_are_valid_and_called_as_their_file() -> None:
    assert set(BUILT_IN) <= set(library.available_profiles())
    for name, path in library.available_profiles().items():
        assert library.load_profile(name).name == path.stem


def test_sysbenchs_suffix_is_tolerated() -> None:
    assert library.find_profile("oltp_read_write.lua") == library.find_profile("oltp_read_write")


def test_an_unknown_profile_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError) as error:
        library.load_profile("oltp_read_wirte")
    assert error.value.message == "there is no profile 'oltp_read_wirte'"
    assert error.value.hint == "did you mean 'oltp_read_write'?"


def own(folder: Path, summary: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = library.find_profile("oltp_read_only").read_text().replace("sysbench's", summary, 1)
    path = folder / "oltp_read_only.toml"
    path.write_text(text)
    return path


def test_a_user_profile_precedes_the_built_in_one(tuibench_home: Path) -> None:
    own(tuibench_home / "config" / "profiles", "my own")
    assert library.load_profile("oltp_read_only").summary.startswith("my own")


def test_a_profile_may_be_given_by_path(tmp_path: Path) -> None:
    assert library.load_profile(str(own(tmp_path, "by path"))).summary.startswith("by path")


@pytest.mark.parametrize("name", ["/nowhere/x.toml", "nowhere.toml", "some/dir", f"/{'9' * 5000}"])
def test_a_missing_file_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="there is no profile file"):
        library.load_profile(name)


def test_a_file_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot read the profile"):
        library.load_profile(str(path))


def test_a_folder_of_profiles_that_may_not_be_looked_at_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    status = os.stat

    def refuse(path: Any, *rest: Any, **words: Any) -> os.stat_result:
        if str(path) == str(library.user_profiles_dir()):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return status(path, *rest, **words)

    monkeypatch.setattr(os, "stat", refuse)
    assert set(BUILT_IN) <= set(library.available_profiles())
