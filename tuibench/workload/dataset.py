"""Data sets by name; their base class (tables, columns, sizes, SQL, row sources); fast encoding of rows.

To add a data set, add a subclass of `DataSet` and an entry in `DATA_SETS`, or in the `data_sets` of a
feature. A data set executes no statements.

Two encodings are fast enough for loading. Rows of random digits have one width (numbers in text are padded
with spaces), so a batch is one block of random digits, into which a strided assignment copies each constant
column (`DigitRows`): half a microsecond per row instead of ten. Other rows are encoded by one format
operation with a template for the whole batch (`encode_rows`): a tenth of a microsecond per value.
"""

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, Self

import msgspec

from tuibench.base.errors import UsageError, did_you_mean
from tuibench.base.feature import Reference, installed, resolve
from tuibench.model.plan import OptionValue
from tuibench.workload.options import ProfileOption, command_line_name
from tuibench.workload.program import Program
from tuibench.workload.values import GROUP_DIGITS, Digits

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext


class RowFormat(StrEnum):
    """Encoding of rows: values of an INSERT, lines for LOAD DATA, or parameters of a bulk statement."""

    SQL = "sql"
    TABBED = "tabbed"
    BULK = "bulk"


INSERT_TEMPLATES: dict[RowFormat, str] = {
    RowFormat.SQL: "INSERT INTO {table} ({columns}) VALUES ",
    RowFormat.TABBED: "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET {charset} ({columns})",
    RowFormat.BULK: "INSERT INTO {table} ({columns}) VALUES ({marks})",
}


def insert_statement(row_format: RowFormat, table: str, columns: Sequence[str], charset: str) -> str:
    """The statement for rows of these columns in a row format."""
    marks = ", ".join("?" * len(columns))
    return INSERT_TEMPLATES[row_format].format(
        table=table, columns=", ".join(columns), marks=marks, charset=charset
    )


class SizeCheck(NamedTuple):
    """A cheap query for the size of a table, whose result is a number or null."""

    sql: str
    wanted: int
    """The size with which the tables are created."""
    least: int
    """The size that a run needs."""
    what: str
    """What the query counts, in the plural."""
    option: str
    """The option that adapts a run to tables of another size."""
    is_for_use: bool = False
    """True if a run that uses only a part of the tables reports it."""


class RowSource(Protocol):
    """Encodes the rows of a load in one format."""

    parameters: str
    """For each column `i` (32-bit integer) or `s` (text of at most 250 bytes)."""

    @property
    def row_bytes(self) -> int:
        """The encoded size of one row, or a little more than the average."""
        ...

    def sql(self, table: str, charset: str) -> str:
        """The statement for the rows; a text INSERT is followed by the rows.

        `charset` is the connection's character set; the rows are ASCII.
        """
        ...

    def block(self, first: int, count: int) -> bytes:
        """The encoded rows with numbers from `first` on."""
        ...


class NoRows:
    """The rows of an empty table."""

    row_bytes = 1
    parameters = ""

    def sql(self, table: str, charset: str) -> str:
        raise ValueError(f"{table} has no rows")

    def block(self, first: int, count: int) -> bytes:
        raise ValueError("there are no rows")


ENGINE_OPTION = {
    "mysql_storage_engine": ProfileOption(type="text", default="innodb", help="storage engine of the tables")
}


class Tally(NamedTuple):
    """Counts of a data set by their names in a tick: those that its tables keep, and those that the readers
    among its transactions report by an intended ROLLBACK.
    """

    sql: str
    """A SELECT of one row with a whole number for each of `names`, from one snapshot."""
    names: tuple[str, ...]
    transaction: str
    """The transaction each of whose commits adds 1 to `committed`, one of `names`."""
    committed: str
    lost: str
    """The one of `names` that also counts acknowledged commits of `transaction` that the tables lack."""
    seen: Mapping[str, str]
    """Transactions whose intended rollbacks are counted, with the name of the count."""


class DataSet(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of one run; by default without rows, secondary indexes and constraints."""

    engine: str = "innodb"
    is_empty: bool = False

    OPTIONS: ClassVar[dict[str, ProfileOption]] = {}
    """Its own options, in addition to those of every profile (`compiler.SHARED_OPTIONS`, with `threads`)."""
    TABLE_NAME_CONDITION: ClassVar[str] = "FALSE"
    """SQL condition on `t.table_name` that is true for all names of its tables."""
    TALLY: ClassVar[Tally | None] = None
    """The counts that a run reads at every tick; None for tables that keep none."""

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> Self:
        """The data set with resolved options. Raises UsageError for invalid ones."""
        raise NotImplementedError

    def without_rows(self) -> Self:
        """The same tables without rows."""
        return msgspec.structs.replace(self, is_empty=True)

    def table_names(self) -> tuple[str, ...]:
        """The tables, in an order for dropping."""
        raise NotImplementedError

    def is_table_name(self, table: str) -> bool:
        """True if a data set of this kind, of any size, has a table with this name."""
        return table in self.table_names()

    def columns(self, table: str) -> dict[str, str]:
        """The columns that identify the table, with their types without display widths."""
        raise NotImplementedError

    def size(self, table: str) -> int:
        return 0

    def chunk_rows(self, table: str) -> int:
        """The number of rows that a connection loads at a time; 0 for all."""
        return 0

    def size_checks(self) -> dict[str, SizeCheck]:
        """Cheap queries for the sizes of the tables."""
        return {}

    @property
    def row_data_bytes(self) -> int:
        """The approximate encoded size of all rows."""
        return 0

    def describe(self) -> str:
        """The size of the data in words, such as `4 × 100,000 rows`."""
        raise NotImplementedError

    def create_sql(self, table: str) -> str:
        raise NotImplementedError

    def index_sql(self, table: str) -> str:
        """The CREATE INDEX statement after loading; empty if there is none."""
        return ""

    def constraint_sql(self) -> tuple[str, ...]:
        """Statements to execute after all tables are loaded and indexed."""
        return ()

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> RowSource:
        """A source of the table's rows in a format, with values from `stream`."""
        return NoRows()

    def prepare_command(self, profile: str) -> str:
        """The command that creates these tables."""
        raise NotImplementedError

    def cleanup_command(self, profile: str) -> str:
        return f"tuibench cleanup {profile}"

    def engine_words(self) -> list[str]:
        """The option for another storage engine than InnoDB, in the command that creates the tables."""
        return [f"--mysql-storage-engine={self.engine}"] * (self.engine.lower() != "innodb")


DATA_SETS: dict[str, Reference] = {
    "sbtest": "tuibench.workload.sbtest:Sbtest",
    "bulk": "tuibench.workload.sbtest:BulkInsertTables",
    "tpcc": "tuibench.workload.tpcc:Tpcc",
    "ycsb": "tuibench.workload.benchmarks:Ycsb",
    "tatp": "tuibench.workload.benchmarks:Tatp",
    "smallbank": "tuibench.workload.benchmarks:SmallBank",
    "ibench": "tuibench.workload.benchmarks:InsertBenchmark",
    "none": "tuibench.workload.sbtest:NoTables",
    "script": "tuibench.workload.script:ScriptTables",
}
"""The data sets of the core."""

DEFAULT_PROFILES = {
    "sbtest": "oltp_read_write",
    "bulk": "bulk_insert",
    "tpcc": "tpcc",
    "ycsb": "ycsb.a",
    "tatp": "tatp",
    "smallbank": "smallbank",
    "ibench": "ibench.li1",
}
"""The default profile of a data set, unless it has its name."""


def data_sets() -> dict[str, Reference]:
    """The data sets of the core and of all features, by name."""
    return DATA_SETS | {name: made for one in installed() for name, made in one.data_sets.items()}


def data_set_class(name: str, source: str) -> type[DataSet]:
    """The data set with this name; `source` names the profile in errors. Raises UsageError."""
    known = data_sets()
    if name not in known:
        raise UsageError(f"{source}: data_set: unknown data set '{name}'", did_you_mean(name, known))
    found: type[DataSet] = resolve(known[name])
    return found


METER = "anomalies"
"""The profile that can run beside another one, and its data set."""
WITH_METER = "with_anomalies"
"""The option of a program with the meter beside its load."""
METER_PREFIX = "anomaly_"
"""Beginning of the meter's own options."""


class BothDataSets(DataSet, frozen=True, kw_only=True):
    """The tables of a load and of the meter beside it."""

    load: DataSet
    meter: DataSet
    words: tuple[str, ...]
    """The options of the meter on a command line."""

    @classmethod
    def of(cls, load: DataSet, options: Mapping[str, OptionValue]) -> "BothDataSets":
        meter = data_set_class(METER, METER)
        names = (name for name in meter.OPTIONS if name.startswith(METER_PREFIX))
        words = [f"{command_line_name(name)}={options[name]}" for name in names]
        return cls(
            load=load,
            meter=meter.from_options(options),
            words=(command_line_name(WITH_METER), *words),
            engine=load.engine,
        )

    @property
    def TABLE_NAME_CONDITION(self) -> str:  # type: ignore[override]  # noqa: N802
        return f"({self.load.TABLE_NAME_CONDITION} OR {self.meter.TABLE_NAME_CONDITION})"

    @property
    def TALLY(self) -> Tally | None:  # type: ignore[override]  # noqa: N802
        return self.meter.TALLY

    def _of(self, table: str) -> DataSet:
        return self.meter if self.meter.is_table_name(table) else self.load

    def without_rows(self) -> "BothDataSets":
        """The load's tables without rows; the meter's keep them, because it counts in them."""
        return msgspec.structs.replace(self, load=self.load.without_rows())

    def table_names(self) -> tuple[str, ...]:
        return (*self.load.table_names(), *self.meter.table_names())

    def is_table_name(self, table: str) -> bool:
        return self.load.is_table_name(table) or self.meter.is_table_name(table)

    def columns(self, table: str) -> dict[str, str]:
        return self._of(table).columns(table)

    def size(self, table: str) -> int:
        return self._of(table).size(table)

    def chunk_rows(self, table: str) -> int:
        return self._of(table).chunk_rows(table) or max(1, self.size(table))

    def size_checks(self) -> dict[str, SizeCheck]:
        return self.load.size_checks() | self.meter.size_checks()

    @property
    def row_data_bytes(self) -> int:
        return self.load.row_data_bytes + self.meter.row_data_bytes

    def describe(self) -> str:
        return f"{self.load.describe()}, {self.meter.describe()}"

    def create_sql(self, table: str) -> str:
        return self._of(table).create_sql(table)

    def index_sql(self, table: str) -> str:
        return self._of(table).index_sql(table)

    def constraint_sql(self) -> tuple[str, ...]:
        return (*self.load.constraint_sql(), *self.meter.constraint_sql())

    def rows(self, table: str, stream: Random, row_format: RowFormat) -> RowSource:
        return self._of(table).rows(table, stream, row_format)

    def prepare_command(self, profile: str) -> str:
        return " ".join((self.load.prepare_command(profile), *self.words))

    def cleanup_command(self, profile: str) -> str:
        return " ".join((self.load.cleanup_command(profile), *self.words))


def build_data_set(program: Program) -> DataSet:
    """The tables of a program, including those of the anomaly meter beside its load."""
    load = data_set_of_load(program)
    if not program.options.get(WITH_METER):
        return load
    return BothDataSets.of(load, program.options)


def data_set_of_load(program: Program) -> DataSet:
    """The tables of a program's profile alone."""
    made = data_set_class(program.data_set, program.profile).from_options(program.options)
    return made.without_rows() if program.empty else made


_ENGINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def engine_name(value: object) -> str:
    """The engine's name. Raises UsageError if it is not a valid name."""
    engine = str(value)
    if not _ENGINE.fullmatch(engine):
        raise UsageError(f"--mysql-storage-engine: '{engine}' is not a name")
    return engine


DIGITS = b"0123456789"
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ALPHANUMERICS = DIGITS + LETTERS + LETTERS.lower()

KEY_BYTES, BLOCK_BYTES = 16, 16


class RandomCharacters:
    """An endless stream of uniformly distributed characters of an alphabet.

    The bytes are the key stream of AES in counter mode: reproducible, and twenty times faster than Python's
    generator.
    """

    def __init__(self, alphabet: bytes, key: bytes) -> None:
        size = len(alphabet)
        usable = 256 - 256 % size
        self._written = bytes(alphabet[byte % size] for byte in range(256))
        self._unusable = bytes(range(usable, 256))
        self._more_than_needed = 256 / usable * 1.025
        self._key = key
        self._zeros = b""

    @classmethod
    def of(cls, alphabet: bytes, stream: Random) -> "RandomCharacters":
        """A stream whose key is the next bytes of a random stream."""
        return cls(alphabet, stream.randbytes(KEY_BYTES))

    @cached_property
    def _cipher(self) -> "CipherContext":
        """AES in counter mode. Its library is imported only in a process that generates rows."""
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        return Cipher(AES(self._key), CTR(bytes(BLOCK_BYTES))).encryptor()

    def take(self, size: int) -> bytearray:
        """The next characters."""
        block = bytearray()
        while len(block) < size:
            wanted = int((size - len(block)) * self._more_than_needed) + 64
            if len(self._zeros) < wanted:
                self._zeros = bytes(wanted)
            drawn = self._cipher.update(memoryview(self._zeros)[:wanted])
            block += drawn.translate(self._written, self._unusable)
        del block[size:]
        return block

    def texts(self, lengths: Sequence[int]) -> list[bytes]:
        """A text for each length."""
        ends = list(accumulate(lengths, initial=0))
        block = bytes(self.take(ends[-1]))
        return [block[start:end] for start, end in pairwise(ends)]

    def equal(self, count: int, length: int) -> list[bytes]:
        block = bytes(self.take(count * length))
        return [block[start : start + length] for start in range(0, count * length, length)]


class NumberField(NamedTuple):
    """An integer as text of this width, or as four bytes, little-endian."""

    width: int
    is_binary: bool = False


RowField = bytes | NumberField | Digits[int]
"""A part of a row: constant bytes, an integer, or random digits."""


class DigitRows:
    """Rows of constant parts, integers and random digits; the digits of all rows come from one key, drawn
    from `stream`.
    """

    def __init__(self, parts: Sequence[RowField], stream: Random) -> None:
        self._digits = RandomCharacters.of(DIGITS, stream)
        self._fixed: dict[int, int] = {}
        self._numbers: list[tuple[int, NumberField]] = []
        self.row_bytes = 0
        for part in parts:
            self.row_bytes += self._place(part, self.row_bytes)

    def _place(self, part: RowField, place: int) -> int:
        """Add the part's constant bytes; return its width."""
        match part:
            case bytes():
                self._fixed.update(enumerate(part, place))
                return len(part)
            case Digits(most_characters=width):
                for dash in range(GROUP_DIGITS, width, GROUP_DIGITS + 1):
                    self._fixed[place + dash] = ord("-")
                return width
            case NumberField(width=width):
                self._numbers.append((place, part))
                return width

    def rows(self, *numbers: Sequence[int]) -> bytearray:
        """One row per number; `numbers` has a sequence for each number column."""
        count = len(numbers[0])
        width = self.row_bytes
        block = self._digits.take(count * width)
        for place, byte in self._fixed.items():
            block[place::width] = bytes((byte,)) * count
        for (place, (size, is_binary)), column in zip(self._numbers, numbers, strict=True):
            if is_binary:
                text = struct.pack(f"<{count}i", *column)
            else:
                text = ((f"%{size}d" * count) % tuple(column)).encode()
            for offset in range(size):
                block[place + offset :: width] = text[offset::size]
        return block


ColumnScalar = int | bytes | None
"""A number, an ASCII text (also a date or an exact number), or null."""

ColumnValues = ColumnScalar | list[int] | list[bytes]

SHORT_TEXT_BYTES = 251
"""Texts shorter than this have a length prefix of one byte."""

MAX_TEXT_BYTES = 500
"""The maximum length of a text."""

_DELIMITERS = {
    RowFormat.SQL: (b"(", b",", b"),"),
    RowFormat.TABBED: (b"", b"\t", b"\n"),
    RowFormat.BULK: (b"", b"", b""),
}
_NULLS = {RowFormat.SQL: b"NULL", RowFormat.TABBED: b"\\N", RowFormat.BULK: b"\1"}
_TEXTS = {RowFormat.SQL: b"'%b'", RowFormat.TABBED: b"%b", RowFormat.BULK: b"\0%b"}
_INT = struct.Struct("<i")


def encode_rows(row_format: RowFormat, count: int, columns: Sequence[ColumnValues]) -> bytes:
    """`count` encoded rows, each with its terminator: in an INSERT, a comma follows the last row, too."""
    before, between, after = _DELIMITERS[row_format]
    cells = [_cell_template(row_format, column) for column in columns]
    row = before + between.join(cells) + after
    lists = [_encoded_column(row_format, column) for column in columns if isinstance(column, list)]
    values: list[object] = [None] * (count * len(lists))
    for place, column in enumerate(lists):
        values[place :: len(lists)] = column
    return row * count % tuple(values)


RowBlock = tuple[int, list[ColumnValues]]
"""The number of rows, and their columns."""


class EncodedRows(ABC):
    """Encodes the rows of one table in one format, as a RowSource; a subclass generates them as columns."""

    def __init__(self, columns: Mapping[str, str], row_bytes: int, row_format: RowFormat) -> None:
        # The type codes of bulk statements.
        self.parameters = "".join("i" if kind == "INT" else "s" for kind in columns.values())
        self.row_bytes = row_bytes
        self._columns = tuple(columns)
        self._row_format = row_format

    def sql(self, table: str, charset: str) -> str:
        return insert_statement(self._row_format, table, self._columns, charset)

    def block(self, first: int, count: int) -> bytes:
        rows = b"".join(encode_rows(self._row_format, *each) for each in self.blocks(first, count))
        return rows[:-1] if self._row_format is RowFormat.SQL else rows

    @abstractmethod
    def blocks(self, first: int, count: int) -> Iterable[RowBlock]:
        """The rows with numbers from `first` on."""


def _cell_template(row_format: RowFormat, column: ColumnValues) -> bytes:
    """A column's placeholder in the template, or its value if it is constant."""
    if column is None:
        return _NULLS[row_format]
    if isinstance(column, list):
        is_text = row_format is RowFormat.BULK or isinstance(column[0], bytes)
        return _TEXTS[row_format] if is_text else b"%d"
    if isinstance(column, int):
        value = _INT.pack(column) if row_format is RowFormat.BULK else b"%d" % column
        return (b"\0" + value if row_format is RowFormat.BULK else value).replace(b"%", b"%%")
    return (
        _TEXTS[row_format]
        % (_LENGTH_PREFIXES[len(column)] + column if row_format is RowFormat.BULK else column)
    ).replace(b"%", b"%%")


def _encoded_column(row_format: RowFormat, column: list[int] | list[bytes]) -> Sequence[object]:
    if row_format is not RowFormat.BULK:
        return column
    if isinstance(column[0], bytes):
        return [_LENGTH_PREFIXES[len(text)] + text for text in column if isinstance(text, bytes)]
    packed = struct.pack(f"<{len(column)}i", *column)
    return [packed[place : place + _INT.size] for place in range(0, len(packed), _INT.size)]


def _length_prefix(size: int) -> bytes:
    """The length prefix of a text in a bulk statement."""
    return bytes((size,)) if size < SHORT_TEXT_BYTES else b"\xfc" + size.to_bytes(2, "little")


_LENGTH_PREFIXES = [_length_prefix(size) for size in range(MAX_TEXT_BYTES + 1)]
