"""Table and statements of `--auto-generate-sql`, identical to mysqlslap's."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from random import Random

import msgspec

TABLE = "t1"
TEXT_LENGTH = 126
LARGEST_INTEGER = 2**31 - 1
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTWXYZabcdefghijklmnopqrstuvwxyz"
"""mysqlslap's alphabet, without U and V."""


class LoadType(StrEnum):
    """The load types: alternating INSERTs and SELECTs, one of them, SELECTs by key, or UPDATEs."""

    MIXED = "mixed"
    UPDATE = "update"
    WRITE = "write"
    KEY = "key"
    READ = "read"


class SlapQuery(msgspec.Struct, frozen=True):
    """One statement of a client. With `by_key`, the key of a row is appended."""

    sql: str
    by_key: bool = False


class SlapColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of the table, and their indexes."""

    autoincrement: bool = False
    guid: bool = False
    secondary_indexes: int = 0
    integers: int = 1
    integers_indexed: bool = False
    texts: int = 1
    texts_indexed: bool = False

    @property
    def has_key(self) -> bool:
        return self.autoincrement or self.guid

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read and updated."""
        integers = [f"intcol{number}" for number in range(1, self.integers + 1)]
        return (*integers, *(f"charcol{number}" for number in range(1, self.texts + 1)))


def create_sql(columns: SlapColumns) -> str:
    """The CREATE TABLE statement, without an engine."""
    parts = ["id serial"] * columns.autoincrement + ["id varchar(36) primary key"] * columns.guid
    parts += [f"id{number} varchar(36) unique key" for number in range(columns.secondary_indexes)]
    for name in columns.names:
        is_text = name.startswith("charcol")
        indexed = columns.texts_indexed if is_text else columns.integers_indexed
        blank = " " if is_text == indexed else ""
        parts.append(f"{name} {_column_type(is_text)}" + (f", INDEX({name})" if indexed else "") + blank)
    return f"CREATE TABLE `{TABLE}` ({','.join(parts)})"


def _column_type(is_text: bool) -> str:
    return "VARCHAR(128)" if is_text else "INT(32)"


def insert_query(columns: SlapColumns, stream: Random) -> SlapQuery:
    """An INSERT of one row of random values."""
    values = ["NULL"] * columns.autoincrement + ["uuid()"] * columns.guid
    values += ["uuid()"] * columns.secondary_indexes
    values += [value for _, value in _drawn(columns, stream)]
    return SlapQuery(f"INSERT INTO {TABLE} VALUES ({','.join(values)})")  # noqa: S608 (generated values)


def update_query(columns: SlapColumns, stream: Random) -> SlapQuery:
    """An UPDATE of a row by its key, or of all rows of a table without one."""
    assignments = ",".join(f"{name} = {value}" for name, value in _drawn(columns, stream))
    where = " WHERE id = " if columns.has_key else ""
    return SlapQuery(f"UPDATE {TABLE} SET {assignments}{where}", columns.has_key)  # noqa: S608 (generated)


def select_query(columns: SlapColumns, *, by_key: bool) -> SlapQuery:
    """A SELECT of a row by its key, if there is one and it is requested, or of the whole table."""
    has_key = by_key and columns.has_key
    where = " WHERE id = " if has_key else ""
    return SlapQuery(f"SELECT {','.join(columns.names)} FROM {TABLE}{where}", has_key)  # noqa: S608 (generated)


def generate_queries(
    load_type: LoadType, columns: SlapColumns, count: int, stream: Random
) -> tuple[SlapQuery, ...]:
    """The statements of each client, in order: `count` plus one, as in mysqlslap."""
    return tuple(_queries(load_type, columns, range(count + 1), stream))


def _queries(
    load_type: LoadType, columns: SlapColumns, numbers: Iterable[int], stream: Random
) -> Iterator[SlapQuery]:
    for number in numbers:
        match load_type:
            case LoadType.READ:
                yield select_query(columns, by_key=False)
            case LoadType.KEY:
                yield select_query(columns, by_key=True)
            case LoadType.UPDATE:
                yield update_query(columns, stream)
            case LoadType.WRITE:
                yield insert_query(columns, stream)
            case LoadType.MIXED:
                yield select_query(columns, by_key=True) if number % 2 else insert_query(columns, stream)


def _drawn(columns: SlapColumns, stream: Random) -> Iterator[tuple[str, str]]:
    """Each column with a random value, as SQL."""
    for name in columns.names:
        if name.startswith("intcol"):
            yield name, str(stream.randint(0, LARGEST_INTEGER))
        else:
            yield name, "'" + "".join(stream.choices(LETTERS, k=TEXT_LENGTH)) + "'"
