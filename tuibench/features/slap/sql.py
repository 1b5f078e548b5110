"""Statements and tables of mysqlslap's test, compiled to a program; `--auto-generate-sql`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import cycle as endless
from itertools import islice
from math import lcm
from random import Random
from typing import ClassVar

import msgspec

from tuibench.base.errors import UsageError
from tuibench.model.plan import OptionValue
from tuibench.workload.dataset import (
    ALPHANUMERICS,
    ENGINE_OPTION,
    DataSet,
    RandomCharacters,
    RowFormat,
    SizeCheck,
    encode_rows,
    engine_name,
    insert_statement,
)
from tuibench.workload.expressions import Expression, Operation, Variable, literal
from tuibench.workload.options import ProfileOption, integer_option
from tuibench.workload.program import Program, ProgramStep, Statement, Transaction, Turns
from tuibench.workload.sbtest import row_count_check
from tuibench.workload.sql import StatementClass, statement_class, strip_literals
from tuibench.workload.values import Formula, Uniform, Value

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
    """One statement of a client."""

    sql: str
    by_key: bool = False
    """Whether the key of a row is appended."""


class SlapColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of the table, and their indexes."""

    autoincrement: bool = False
    """Whether the key is an AUTO_INCREMENT column."""
    guid: bool = False
    """Whether the key is a GUID."""
    secondary_indexes: int = 0
    integers: int = 1
    """The number of INT columns."""
    integers_indexed: bool = False
    texts: int = 1
    """The number of VARCHAR columns."""
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
        parts.append(
            f"{name} {'VARCHAR(128)' if is_text else 'INT(32)'}"
            + (f", INDEX({name})" if indexed else "")
            + blank
        )
    return f"CREATE TABLE `{TABLE}` ({','.join(parts)})"


def insert_query(columns: SlapColumns, stream: Random) -> SlapQuery:
    """An INSERT of one row of random values."""
    values = ["NULL"] * columns.autoincrement + ["uuid()"] * columns.guid
    values += ["uuid()"] * columns.secondary_indexes
    values += [value for _, value in _drawn(columns, stream)]
    return SlapQuery(f"INSERT INTO {TABLE} VALUES ({','.join(values)})")  # noqa: S608 (generated values)


def select_query(columns: SlapColumns, *, by_key: bool) -> SlapQuery:
    """A SELECT of the whole table, or with `by_key` of a row by its key, if the table has one."""
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
                # An UPDATE of a row by its key, or of all rows of a table without one.
                assignments = ",".join(f"{name} = {value}" for name, value in _drawn(columns, stream))
                where = " WHERE id = " if columns.has_key else ""
                sql = f"UPDATE {TABLE} SET {assignments}{where}"  # noqa: S608 (generated)
                yield SlapQuery(sql, columns.has_key)
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


SLAP_PROFILE = "slap"
MAX_TURNS = 2_000_000
"""Maximum length of a cycle of queries and commits."""

MAX_LITERAL_STATEMENTS = 2_000
"""Maximum number of statements with a literal key; if there would be more, keys are parameters."""

COMMIT = Transaction(
    name="commit",
    weight=1.0,
    explicit=False,
    steps=(
        ProgramStep(
            repeat=1,
            let={},
            statements=(Statement(name="commit", cls=StatementClass.OTHER, sql=("COMMIT",), prepared=False),),
        ),
    ),
)

Keys = Sequence[int] | Sequence[str]
"""The keys of the rows that exist when the clients start."""


class StorageEngine(msgspec.Struct, frozen=True):
    """A storage engine, and table options."""

    name: str
    options: str = ""

    @property
    def clause(self) -> str:
        """The end of the CREATE TABLE statement."""
        return f" Engine = {self.name}" + (f" {self.options}" if self.options else "")


class SlapScript(msgspec.Struct, frozen=True, kw_only=True):
    """The statements of one test."""

    create: tuple[str, ...] = ()
    """Statements that fill the schema; the first one is the CREATE TABLE that gets the storage engine."""
    writes: int = 0
    """How many statements of `create` to execute, the first one once and the others repeatedly; 0 executes
    each one once.
    """
    queries: tuple[SlapQuery, ...] = ()
    """The list of queries of each client."""
    before: tuple[str, ...] = ()
    """Statements executed before the clients start."""
    after: tuple[str, ...] = ()
    """Statements executed after the clients have ended."""
    wants_keys: bool = False
    """Whether queries use the key of a row."""

    def creation(self, engine: StorageEngine | None) -> Iterator[str]:
        """The statements that fill the schema, in order."""
        if not self.create:
            return
        table, *rows = self.create
        yield table + (engine.clause if engine is not None else "")
        if not self.writes:
            yield from rows
        elif rows:
            yield from islice(endless(rows), self.writes - 1)


class QueryCycle(msgspec.Struct, frozen=True, kw_only=True):
    """The sequence of a client's queries, commits and reconnects."""

    queries: int
    """The number of queries."""
    commit: int = 0
    """The number of queries between two commits; 0 for no commits."""
    detach: int = 0
    """The client reconnects before each query of its list whose index is a multiple of it; 0 for never."""


def client_program(script: SlapScript, rhythm: QueryCycle, keys: Keys) -> Program:
    """The program of every client. Raises UsageError for a commit interval that does not fit the list."""
    distinct = list(dict.fromkeys(script.queries))
    places = [distinct.index(query) for query in script.queries]
    literals = _key_literals(distinct, keys)
    transactions = [_transaction(number, query, keys, literals) for number, query in enumerate(distinct, 1)]
    return Program(
        profile=SLAP_PROFILE,
        data_set="none",
        tables=literals,
        options={},
        transactions=(*transactions, *[COMMIT] * bool(rhythm.commit)),
        turns=client_turns(places, rhythm, len(distinct)),
    )


def client_turns(places: Sequence[int], rhythm: QueryCycle, commit: int) -> Turns:
    """The order of one client's transactions; `places` are the indices of the queries in its list, `commit`
    is that of the COMMIT. Raises UsageError if the cycle is too long.
    """
    length, every = len(places), rhythm.commit
    period = min(lcm(length, every) if every else length, rhythm.queries)
    if period > MAX_TURNS:
        raise UsageError(
            f"{length:,} queries and a commit after every {every:,} of them: the combined sequence is too "
            "long",
            "use a --commit that is a multiple of the number of queries",
        )
    dealt: list[int] = []
    reconnect_at = set()
    for number in range(period):
        if rhythm.detach and number % length % rhythm.detach == 0:
            reconnect_at.add(len(dealt))
        dealt.append(places[number % length])
        if every and (number + 1) % every == 0:
            dealt.append(commit)
    count = rhythm.queries + (rhythm.queries // every if every else 0)
    return Turns(
        cycle=tuple(dealt),
        count=count,
        ending=(commit,) if every else (),
        reconnect_at=frozenset(reconnect_at),
    )


def split_user_statements(text: str, delimiter: str) -> tuple[str, ...]:
    """The statements separated by the delimiter. Raises UsageError for a statement with a placeholder."""
    found = tuple(part.strip() for part in text.split(delimiter) if part.strip())
    for sql in found:
        if "?" in strip_literals(sql):
            raise UsageError(f"'{sql[:60]}' has a placeholder without a value")
    return found


def _key_literals(queries: Sequence[SlapQuery], keys: Keys) -> tuple[str, ...]:
    """The keys as SQL literals, for each of which a statement is expanded, as for a program's tables.

    Empty if there would be more than `MAX_LITERAL_STATEMENTS`.
    """
    by_key = sum(query.by_key for query in queries)
    if by_key * len(keys) > MAX_LITERAL_STATEMENTS:
        return ()
    return tuple("'" + str(key).replace("'", "''") + "'" for key in keys)


def _transaction(number: int, query: SlapQuery, keys: Keys, literals: tuple[str, ...]) -> Transaction:
    name = f"{query.sql.split(maxsplit=1)[0].lower()} {number}"
    is_bound = query.by_key and not literals
    behind = [f" {literal}" for literal in literals or ("?",)] if query.by_key else [""]
    statement = Statement(
        name=name,
        cls=statement_class(query.sql),
        sql=tuple(query.sql + each for each in behind),
        bind=("key",) if is_bound else (),
        prepared=False,
    )
    step = ProgramStep(repeat=1, let=_key(keys) if is_bound else {}, statements=(statement,))
    return Transaction(name=name, weight=1.0, explicit=False, steps=(step,))


def _key(keys: Keys) -> dict[str, Value]:
    """The generator of a uniformly distributed key; consecutive numbers need no list."""
    first, last = keys[0], keys[-1]
    if isinstance(first, int) and isinstance(last, int) and last - first == len(keys) - 1:
        return {"key": Uniform(low=first, high=last)}
    place: Value = Uniform(low=0, high=len(keys) - 1)
    chosen: Expression = Operation("pick", (literal(tuple(keys)), Variable("place")))
    return {"place": place, "key": Formula(chosen)}


COLUMNS = {"id": "bigint unsigned", "intcol1": "int", "charcol1": "varchar(128)"}
INTEGER_BITS = LARGEST_INTEGER.bit_length()
NUMBER_BYTES = 11


class SlapTable(DataSet, frozen=True, kw_only=True):
    """The data set: one table."""

    table_size: int
    """The number of rows."""

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {
        "table_size": integer_option(100, "rows of the table", minimum=1),
        **ENGINE_OPTION,
    }
    TABLE_NAME_CONDITION: ClassVar[str] = f"t.table_name = '{TABLE}'"

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> "SlapTable":
        return cls(table_size=int(values["table_size"]), engine=engine_name(values["mysql_storage_engine"]))

    def without_rows(self) -> "SlapTable":
        return msgspec.structs.replace(self, table_size=0)

    def table_names(self) -> tuple[str, ...]:
        return (TABLE,)

    def columns(self, table: str) -> dict[str, str]:
        return COLUMNS

    def size(self, table: str) -> int:
        return self.table_size

    def size_checks(self) -> dict[str, SizeCheck]:
        return {TABLE: row_count_check(TABLE, self.table_size)}

    @property
    def row_data_bytes(self) -> int:
        return self.table_size * SlapRows.row_bytes

    def describe(self) -> str:
        return f"{self.table_size:,} rows"

    def create_sql(self, table: str) -> str:
        """mysqlslap's statement."""
        return f"{create_sql(SlapColumns(autoincrement=True))} ENGINE = {self.engine}"

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> "SlapRows":
        return SlapRows(row_format, stream)

    def prepare_command(self, profile: str) -> str:
        created = f"tuibench prepare {profile} --table-size={self.table_size}"
        return " ".join((created, *self.engine_words()))


class SlapRows:
    """The rows of the table: consecutive ids, a random number, a text of mysqlslap's length."""

    parameters = "iis"
    row_bytes = 2 * NUMBER_BYTES + TEXT_LENGTH + len("(,,''),")

    def __init__(self, row_format: RowFormat, stream: Random) -> None:
        self._row_format = row_format
        self._stream = stream
        self._characters = RandomCharacters.of(ALPHANUMERICS, stream)

    def sql(self, table: str, charset: str) -> str:
        return insert_statement(self._row_format, table, tuple(COLUMNS), charset)

    def block(self, first: int, count: int) -> bytes:
        numbers = [self._stream.getrandbits(INTEGER_BITS) for _ in range(count)]
        texts = self._characters.equal(count, TEXT_LENGTH)
        rows = encode_rows(self._row_format, count, (list(range(first, first + count)), numbers, texts))
        return rows[:-1] if self._row_format is RowFormat.SQL else rows
