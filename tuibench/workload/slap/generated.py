"""The table and the statements that `--auto-generate-sql` makes up, word for word as mysqlslap does."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from random import Random

import msgspec

TABLE = "t1"
TEXT_LENGTH = 126
LARGEST_INTEGER = 2**31 - 1
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTWXYZabcdefghijklmnopqrstuvwxyz"
"""mysqlslap's, without U and V."""


class LoadType(StrEnum):
    """What the clients do: INSERTs and SELECTs by turns, one of them, SELECTs by key, or UPDATEs."""

    MIXED = "mixed"
    UPDATE = "update"
    WRITE = "write"
    KEY = "key"
    READ = "read"


class Query(msgspec.Struct, frozen=True):
    """One statement of a client. With `by_key`, the key of a row is put behind it."""

    sql: str
    by_key: bool = False


class Columns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of the table, and which of them are indexed."""

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


def create_sql(columns: Columns) -> str:
    """The CREATE TABLE statement, without an engine."""
    parts = ["id serial"] * columns.autoincrement + ["id varchar(36) primary key"] * columns.guid
    parts += [f"id{number} varchar(36) unique key" for number in range(columns.secondary_indexes)]
    for name in columns.names:
        is_text = name.startswith("charcol")
        indexed = columns.texts_indexed if is_text else columns.integers_indexed
        blank = " " if is_text == indexed else ""
        parts.append(f"{name} {_type(is_text)}" + (f", INDEX({name})" if indexed else "") + blank)
    return f"CREATE TABLE `{TABLE}` ({','.join(parts)})"


def _type(is_text: bool) -> str:
    return "VARCHAR(128)" if is_text else "INT(32)"


def insert(columns: Columns, stream: Random) -> Query:
    """An INSERT of one row of random values."""
    values = ["NULL"] * columns.autoincrement + ["uuid()"] * columns.guid
    values += ["uuid()"] * columns.secondary_indexes
    values += [value for _, value in _drawn(columns, stream)]
    return Query(f"INSERT INTO {TABLE} VALUES ({','.join(values)})")  # noqa: S608 (values of our own)


def update(columns: Columns, stream: Random) -> Query:
    """An UPDATE of a row by its key, or of all rows of a table without one."""
    assignments = ",".join(f"{name} = {value}" for name, value in _drawn(columns, stream))
    where = " WHERE id = " if columns.has_key else ""
    return Query(f"UPDATE {TABLE} SET {assignments}{where}", columns.has_key)  # noqa: S608 (our own)


def select(columns: Columns, *, by_key: bool) -> Query:
    """A SELECT of a row by its key, if there is one and it is wanted, or of the whole table."""
    has_key = by_key and columns.has_key
    where = " WHERE id = " if has_key else ""
    return Query(f"SELECT {','.join(columns.names)} FROM {TABLE}{where}", has_key)  # noqa: S608 (our own)


def queries(load_type: LoadType, columns: Columns, count: int, stream: Random) -> tuple[Query, ...]:
    """What each client sends, in its order: one more than `count`, as mysqlslap has it."""
    return tuple(_queries(load_type, columns, range(count + 1), stream))


def _queries(
    load_type: LoadType, columns: Columns, numbers: Iterable[int], stream: Random
) -> Iterator[Query]:
    for number in numbers:
        match load_type:
            case LoadType.READ:
                yield select(columns, by_key=False)
            case LoadType.KEY:
                yield select(columns, by_key=True)
            case LoadType.UPDATE:
                yield update(columns, stream)
            case LoadType.WRITE:
                yield insert(columns, stream)
            case LoadType.MIXED:
                yield select(columns, by_key=True) if number % 2 else insert(columns, stream)


def _drawn(columns: Columns, stream: Random) -> Iterator[tuple[str, str]]:
    """Each column with a random value as SQL."""
    for name in columns.names:
        if name.startswith("intcol"):
            yield name, str(stream.randint(0, LARGEST_INTEGER))
        else:
            yield name, "'" + "".join(stream.choices(LETTERS, k=TEXT_LENGTH)) + "'"
