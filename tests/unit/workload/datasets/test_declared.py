"""Data sets declared as tables of columns: rows in every format, sizes, keys."""

from random import Random

import pytest

from tuibench.workload.datasets import DATA_SETS
from tuibench.workload.datasets.base import RowFormat
from tuibench.workload.datasets.declared.tables import DeclaredDataSet
from tuibench.workload.datasets.declared.tatp import OF_FACILITY, OF_SUBSCRIBER, Child, ChildCycle

DECLARED = {name: cls for name, cls in DATA_SETS.items() if issubclass(cls, DeclaredDataSet)}
OPTIONS = {
    "ycsb": {"records": 50},
    "tatp": {"subscribers": 10},
    "smallbank": {"accounts": 50},
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
        assert all(1 <= child.parent <= parents for child in children)


def test_tatps_means_are_the_specifications() -> None:
    assert (OF_SUBSCRIBER.rows(1000), OF_FACILITY.rows(2500)) == (2500, 3750)
    assert OF_SUBSCRIBER.child(1) == Child(1, 0)
